/* Constants that begin at any address, as arrays in files do: programs, the reference evaluator and custom
 * operations read them, and set_constant takes them. */
#include <stdlib.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { ROWS = 37, COLUMNS = 24, TOKENS = 9, WIDEST = 8 };
static vf_error error;
static uint8_t weight_bytes[ROWS * COLUMNS * sizeof(float) + WIDEST];
static uint8_t index_bytes[TOKENS * sizeof(int64_t) + WIDEST];
static uint8_t scale_bytes[COLUMNS * sizeof(double) + WIDEST];

static float weight_at(int row, int column) { return (float)((5 * row + 3 * column) % 11 - 5); }
static int64_t index_at(int i) { return (11 * i + 4) % ROWS; }
static double scale_at(int column) { return (column % 4 + 1) * 0.5; }

static void fill(int offset, float factor) {
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    float w = factor * weight_at(i / COLUMNS, i % COLUMNS);
    memcpy(weight_bytes + offset + (size_t)i * sizeof w, &w, sizeof w);
  }
  for (int i = 0; i < TOKENS; i++) {
    int64_t at = index_at(i);
    memcpy(index_bytes + offset + (size_t)i * sizeof at, &at, sizeof at);
  }
  for (int i = 0; i < COLUMNS; i++) {
    double s = scale_at(i);
    memcpy(scale_bytes + offset + (size_t)i * sizeof s, &s, sizeof s);
  }
}

/* Rows of w by index, cast and scaled; x times them all; every third column of w; w itself. */
static vf_graph *make_graph(vf_context *c, int offset, vf_value *w) {
  vf_graph *g = api_graph(c, "unaligned");
  int64_t matrix[] = {ROWS, COLUMNS}, tokens[] = {TOKENS}, columns[] = {COLUMNS}, rows[] = {TOKENS, ROWS};
  *w = vf_constant_borrow(g, VF_F32, 2, matrix, weight_bytes + offset, NULL, NULL);
  vf_value indices = vf_constant_borrow(g, VF_I64, 1, tokens, index_bytes + offset, NULL, NULL);
  vf_value scale = vf_constant_borrow(g, VF_F64, 1, columns, scale_bytes + offset, NULL, NULL);
  vf_value x = vf_input(g, "x", VF_F32, 2, rows);
  vf_output(g, "chosen", vf_mul(vf_cast(vf_gather(*w, indices, 0, VF_GATHER_CHECK), VF_F64), scale));
  vf_output(g, "product", vf_matmul(x, *w));
  vf_output(g, "thirds", vf_sum(vf_stride(*w, 2, (int64_t[]){1, 3}), 1, (int64_t[]){1}, false));
  vf_output(g, "same", *w);
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  return g;
}

static float x[TOKENS][ROWS], product[TOKENS][COLUMNS], thirds[ROWS], same[ROWS][COLUMNS];
static double chosen[TOKENS][COLUMNS];
static const void *const inputs[] = {x};
static void *const outputs[] = {chosen, product, thirds, same};

static void expect(float factor) { /* all are small integers, and halves of them */
  for (int i = 0; i < TOKENS; i++)
    for (int k = 0; k < COLUMNS; k++) {
      float sum = 0;
      for (int r = 0; r < ROWS; r++) sum += x[i][r] * factor * weight_at(r, k);
      assert_true(product[i][k] == sum);
      assert_true(chosen[i][k] == (double)(factor * weight_at((int)index_at(i), k)) * scale_at(k));
    }
  for (int r = 0; r < ROWS; r++) {
    float sum = 0;
    for (int k = 0; k < COLUMNS; k++) assert_true(same[r][k] == factor * weight_at(r, k));
    for (int k = 0; k < COLUMNS; k += 3) sum += factor * weight_at(r, k);
    assert_true(thirds[r] == sum);
  }
}

static void forget(void) {
  memset(chosen, 0, sizeof chosen), memset(product, 0, sizeof product);
  memset(thirds, 0, sizeof thirds), memset(same, 0, sizeof same);
}

static void test_any_address(void **state) {
  (void)state;
  vf_context *c = api_context();
  for (int i = 0; i < TOKENS * ROWS; i++) (&x[0][0])[i] = (float)(i % 7 - 3);
  for (int offset = 0; offset < WIDEST; offset++) {
    vf_value w;
    float *other = malloc(sizeof weight_bytes);
    assert_non_null(other);
    fill(offset, 1);
    vf_graph *g = make_graph(c, offset, &w);
    forget(), api_evaluate(g, inputs, outputs, NULL), expect(1);
    vf_program *p = vf_compile(g, &error);
    if (!p) fail_msg("%s", error.message);
    forget(), api_run(p, inputs, outputs, NULL), expect(1);
    uint8_t *moved = (uint8_t *)other + WIDEST - 1 - offset;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
      float twice = 2 * weight_at(i / COLUMNS, i % COLUMNS);
      memcpy(moved + (size_t)i * sizeof twice, &twice, sizeof twice);
    }
    if (vf_program_set_constant(p, w, moved, NULL, NULL, &error)) fail_msg("%s", error.message);
    forget(), api_run(p, inputs, outputs, NULL), expect(2);
    vf_program_destroy(p);
    free(other);
  }
}

/* A function of a custom operation finds its operands aligned. */
static int aligned_sum(const double *operand, int64_t count, double *sum) {
  if ((uintptr_t)operand % sizeof *operand) return 1;
  *sum = 0;
  for (int64_t i = 0; i < count; i++) *sum += operand[i];
  return 0;
}
static bool sum_shape(const vf_op_call *call, vf_op_type *results) {
  (void)call;
  results[0] = (vf_op_type){VF_F64, 0, {{0}}};
  return true;
}

static void test_custom(void **state) {
  (void)state;
  vf_context *c = api_context();
  const vf_op_description d = {.size = sizeof d,
                               .name = "aligned_sum",
                               .operands = 1,
                               .results = 1,
                               .shape = sum_shape,
                               .function = (void (*)(void))aligned_sum,
                               .signature = "int(in0, i64 in0.count, out0)"};
  if (vf_register_op(c, &d, &error)) fail_msg("%s", error.message);
  for (int offset = 0; offset < WIDEST; offset++) {
    vf_graph *g = api_graph(c, "custom");
    double want = 0, got = 0;
    fill(offset, 1);
    for (int i = 0; i < COLUMNS; i++) want += scale_at(i);
    vf_value scale = vf_constant_borrow(g, VF_F64, 1, (int64_t[]){COLUMNS}, scale_bytes + offset, NULL, NULL),
             sum;
    assert_true(vf_ok(sum = vf_apply(g, "aligned_sum", &scale, 1, NULL)));
    vf_output(g, "sum", sum);
    api_evaluate(g, NULL, (void *[]){&got}, NULL);
    assert_true(got == want);
    got = 0;
    api_run(api_compile(g), NULL, (void *[]){&got}, NULL);
    assert_true(got == want);
  }
}

UNIT_TESTS(test_any_address, test_custom)
