/* Rare values, compiled for several sets of features: vectors in which only some lanes need the rare value,
 * unrolled vectors, values shared with other code, rare values in each other and in reductions. */
#include <math.h>

#include "test/lib/kernels.h"
#include "test/lib/unit.h"

enum { N = 256, LANES = 16, UNROLL = 4, STEP = LANES * UNROLL };

static ir_error error;
static ir_graph *const g = &k_graph;
static ir_ref f32(double value) { return ir_float(g, IR_F32, value); }
static ir_ref below(ir_ref x, double limit) { return ir_binary(g, IR_OP_LT, x, f32(limit)); }

/* N elements in one of the loop shapes: a scalar loop, vectors, unrolled vectors */
typedef struct lanes {
  ir_ref at, loops[3];
  int bindings[3], count;
} lanes;
enum { VARIANTS = 3 };
static lanes loops_of(int variant) {
  static const int64_t extents[VARIANTS][3] = {{N}, {N / LANES, LANES}, {N / STEP, UNROLL, LANES}};
  static const int bindings[VARIANTS][3] = {
      {IR_SERIAL}, {IR_SERIAL, IR_VECTOR}, {IR_SERIAL, IR_UNROLL, IR_VECTOR}};
  lanes l = {.count = variant + 1, .at = ir_index(g, 0)};
  for (int i = 0; i <= variant; i++) {
    l.loops[i] = k_range(g, ir_index(g, extents[variant][i]), i);
    l.bindings[i] = bindings[variant][i];
    l.at = k_sum(g, k_times(g, l.at, extents[variant][i]), l.loops[i]);
  }
  return l;
}
static ir_ref inside(const lanes *l, ir_ref effect) {
  for (int i = l->count; i-- > 0;) effect = k_loop(g, l->loops[i], l->bindings[i], effect);
  return effect;
}

/* Blocks of one vector in which no lane, one, several and all need the rare value, rarely or often. */
static float argument(int i) {
  int kind = i / LANES % 5, lane = i % LANES;
  bool wanted = kind == 1   ? lane == i / STEP
                : kind == 2 ? lane % 3 == 0
                            : kind == 3 || (kind == 4 && i >= N / 2);
  float size = 0.25f + (float)(i * 37 % 101) / 64;
  return wanted ? -size : size;
}

/* out = x < 0 ? 2 sqrt(|x|) + (x < -1 ? x*x : x) : x + 1, and out2 = sqrt(|x|) */
static void test_values(void **state) {
  for (int variant = 0; variant < VARIANTS; variant++)
    for (int shared = 0; shared < 2; shared++) {
      k_begin();
      lanes l = loops_of(variant);
      ir_ref p[] = {k_param(g, IR_F32, 0, N), k_param(g, IR_F32, 1, N), k_param(g, IR_F32, 2, N)};
      ir_ref x = k_load(g, p[2], l.at), root = ir_unary(g, IR_OP_SQRT, ir_unary(g, IR_OP_ABS, x));
      ir_ref inner = ir_rare(g, below(x, -1), ir_binary(g, IR_OP_MUL, x, x), x);
      ir_ref wanted = ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_MUL, f32(2), root), inner);
      ir_ref y = ir_rare(g, below(x, 0), wanted, ir_binary(g, IR_OP_ADD, x, f32(1)));
      ir_ref stores[] = {k_store(g, p[0], l.at, y), k_store(g, p[1], l.at, shared ? root : f32(0))};
      ir_ref kernel = k_kernel(g, inside(&l, ir_make(g, IR_OP_SEQ, IR_NONE, 0, stores, 2)), p, 3);
      K_SOME_TARGETS(t) {
        static float in[N], out[N], second[N];
        for (int i = 0; i < N; i++) in[i] = argument(i);
        int64_t status = 0;
        k_code code = k_compile(g, kernel, &t.target);
        code.run((void *[]){out, second, in, &status}, NULL, 0, 0, code.scratch);
        for (int i = 0; i < N; i++) {
          float v = in[i], root_v = sqrtf(fabsf(v));
          float want = v < 0 ? 2 * root_v + (v < -1 ? v * v : v) : v + 1;
          if (out[i] != want)
            fail_msg("%s: element %d of variant %d is %a, not %a", t.name, i, variant, out[i], want);
          assert_true(second[i] == (shared ? root_v : 0));
        }
      }
    }
}

/* The sum over rows of x < 0 ? sum of x^2 over the columns before : x, whose rare value is a loop itself. */
static void test_reductions(void **state) {
  enum { COLUMNS = 7 };
  ir_ref row = k_range(g, ir_index(g, N), 0), column = k_range(g, ir_index(g, COLUMNS), 1),
         before = k_range(g, column, 2);
  ir_ref p[] = {k_param(g, IR_F32, 0, COLUMNS), k_param(g, IR_F32, 1, N)}, zero = f32(0);
  ir_ref x = k_load(g, p[1], row);
  ir_ref iterations = k_fold(g, before, IR_SERIAL, IR_OP_ADD, zero, ir_binary(g, IR_OP_MUL, x, x));
  ir_ref sum = k_fold(g, row, IR_SERIAL, IR_OP_ADD, zero, ir_rare(g, below(x, 0), iterations, x));
  ir_ref kernel = k_kernel(g, k_loop(g, column, IR_SERIAL, k_store(g, p[0], column, sum)), p, 2);
  K_EACH_TARGET(t) {
    static float in[N], out[COLUMNS];
    for (int i = 0; i < N; i++) in[i] = roundf(argument(i) * 4) / 4;
    int64_t status = 0;
    k_code code = k_compile(g, kernel, &t.target);
    code.run((void *[]){out, in, &status}, NULL, 0, 0, code.scratch);
    for (int c = 0; c < COLUMNS; c++) {
      float want = 0;
      for (int i = 0; i < N; i++) want += in[i] < 0 ? (float)c * in[i] * in[i] : in[i];
      assert_true(out[c] == want);
    }
  }
}

/* One branch for all unrolled vectors, with the square root behind it. */
static void test_code(void **state) {
  lanes l = loops_of(VARIANTS - 1);
  ir_ref p[] = {k_param(g, IR_F32, 0, N), k_param(g, IR_F32, 1, N)}, x = k_load(g, p[1], l.at);
  ir_ref y = ir_rare(g, below(x, 0), ir_unary(g, IR_OP_SQRT, ir_unary(g, IR_OP_ABS, x)), x);
  ir_ref kernel = k_kernel(g, inside(&l, k_store(g, p[0], l.at, y)), p, 2);
  k_target t;
  k_target_at(0, &t);
  char *text = k_text(g, kernel, &t.target, CG_LLVM), *branch = strstr(text, "!prof");
  assert_non_null(branch);
  assert_null(strstr(branch + 1, "br i1 %") ? strstr(strstr(branch + 1, "br i1 %"), ", !prof") : NULL);
  *branch = '\0';
  assert_null(strstr(text, "sqrt"));
  free(text);
}

static void test_depth(void **state) {
  ir_ref row = k_range(g, ir_index(g, N), 0), p[] = {k_param(g, IR_F32, 0, N), k_param(g, IR_F32, 1, N)};
  ir_ref x = k_load(g, p[1], row), y = x;
  for (int i = 0; i < 1000; i++) y = ir_rare(g, below(x, i), ir_binary(g, IR_OP_MUL, y, x), x);
  ir_ref kernel = k_kernel(g, k_loop(g, row, IR_SERIAL, k_store(g, p[0], row, y)), p, 2);
  k_target t;
  k_target_at(0, &t);
  rt_module module;
  cg_blob blob;
  assert_int_equal(rt_module_init(&module, NULL, &error), IR_OK);
  assert_int_equal(rt_module_compile(&module, g, kernel, "kernel", &t.target, CG_OBJECT, &blob, &error),
                   IR_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.text, "compile: rare values nest deeper than 64"));
  cg_blob_free(&blob);
  rt_module_free(&module);
}

UNIT_TESTS_EACH(k_enter, k_leave, test_values, test_reductions, test_code, test_depth)
