/* Cumulative operations and sorting over long axes, compiled, against the reference evaluator.
 *
 *   prop_ordered --seed S --count N
 *   prop_ordered --case SEED        one case again, by the seed in its report
 *
 * A case is one operation over one axis of a tensor of up to three axes, of any dtype, the axis of up to a
 * few thousand elements: several levels of blocks for a cumulative operation, many comparator stages of a
 * sorting network. Elements have few different values, so that there are ties, and special ones; floats to be
 * added are small integers, so that every sum is exact. Every third axis has a symbolic size. Results are
 * compared bit for bit, NaNs as a class. */
#include "frontend/api/compile.h"
#include "ir/eval/eval.h"
#include "passes/ops/ops.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 3000, RUNS = 2 };

static rt_context *context;
static long elements;

typedef struct problem {
  uint64_t state;
  ir_graph g;
  ir_error error;
  ir_ref x, y, var;
  ir_op op;
  uint32_t axis;
  char what[200];
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return random_between(&p->state, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {0, 1, 15, 16, 17, 255, 256, 257, 1024, 1025};
  return pick(p, 0, 2) ? pick(p, 2, pick(p, 0, 1) ? 40 : LONGEST) : edges[pick(p, 0, 9)];
}

static bool record(problem *p) {
  static const ir_dtype dtypes[] = {IR_BOOL, IR_I8,  IR_U8,  IR_I16,  IR_U16, IR_I32, IR_U32,
                                    IR_I64,  IR_U64, IR_F16, IR_BF16, IR_F32, IR_F64};
  ir_graph *g = &p->g;
  ir_dtype dtype = dtypes[pick(p, 0, 12)];
  uint32_t rank = (uint32_t)pick(p, 1, 3);
  ir_ref dims[3];
  p->op = (ir_op)pick(p, IR_OP_CUMSUM, IR_OP_ARGSORT);
  p->axis = (uint32_t)pick(p, 0, rank - 1);
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(g, k == p->axis ? some_size(p) : pick(p, 1, 3));
  if (pick(p, 0, 2) == 0) dims[p->axis] = p->var = ir_var(g, "n", 1, 0, some_size(p), 1);
  p->x = op_input(g, "x", 1, dtype, dims, rank);
  bool flag = pick(p, 0, 1), other = pick(p, 0, 1), sums = p->op <= IR_OP_CUMPROD;
  p->y = p->op >= IR_OP_SORT ? op_sort(g, p->op, p->x, p->axis, flag)
                             : op_cumulative(g, p->op, p->x, p->axis, sums && other, flag);
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_print_type(g, p->x, &text);
  snprintf(p->what, sizeof p->what, "%s of %s axis=%u %s%s", ir_ops[p->op].text, ir_text_get(&text), p->axis,
           flag ? "backwards" : "", sums && other ? " exclusive" : "");
  ir_text_free(&text);
  return p->y != 0;
}

static double some_float(problem *p) {
  static const double specials[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-40, -5e-324, 65504, -1e19};
  if (p->op == IR_OP_CUMSUM) return (double)pick(p, -4, 4);
  if (p->op == IR_OP_CUMPROD)
    return pick(p, 0, 999) ? (double)(1 - 2 * pick(p, 0, 1)) : (double)pick(p, 0, 2);
  return pick(p, 0, 9) ? (double)pick(p, -99, 99) / 8 : specials[pick(p, 0, 8)];
}

static void *data_of(problem *p, size_t count) {
  ir_dtype t = ir_dtype_of(&p->g, p->x);
  size_t size = ir_dtypes[t].bytes;
  unsigned char *data = calloc(count + 1, size);
  for (size_t i = 0; i < count; i++) {
    ir_value v = {.i = t == IR_BOOL ? pick(p, 0, 1) : pick(p, -20, 20)};
    if (ir_is_float(t)) v.f = some_float(p);
    else if (t != IR_BOOL && pick(p, 0, 1)) v.i = (int64_t)random_next(&p->state) >> pick(p, 0, 63);
    ir_value_store(data + i * size, t, v);
  }
  return data;
}

static bool same_element(const unsigned char *a, const unsigned char *b, ir_dtype t) {
  if (memcmp(a, b, ir_dtypes[t].bytes) == 0) return true;
  return ir_is_float(t) && isnan(ir_value_load(a, t).f) && isnan(ir_value_load(b, t).f);
}

/* Compares the results for one size of the axis. Writes to `wrong` what is wrong, or leaves it empty. */
static void run_once(problem *p, const rt_program *program, char *wrong, size_t room) {
  size_t count = 1;
  int64_t size = 0, n = p->var ? pick(p, 0, ir_bounds_of(&p->g, p->var).hi) : 0;
  for (uint32_t k = 0; k < ir_rank(&p->g, p->x); k++)
    count *= (size_t)(ir_is_const(&p->g, ir_dim(&p->g, p->x, k), &size) ? size : n);
  void *x = data_of(p, count), *out = NULL;
  ir_binding_input bound = {p->x, x};
  ir_var_value var = {p->var, n};
  ir_eval_result want = {0};
  ir_error error = {0};
  if (ir_eval(&p->g, &p->y, 1, &bound, 1, &var, p->var != 0, &want, &error) == IR_OK) {
    out = calloc(1, want.bytes + 1);
    rt_program_run(program, (void *[]){x}, (void *[]){out}, &n, &error);
  }
  if (error.status) snprintf(wrong, room, "%.150s", error.text);
  size_t bytes = ir_dtypes[want.dtype].bytes;
  for (int64_t i = 0; out && i < want.count && !*wrong; i++)
    if (!same_element((unsigned char *)want.data + (size_t)i * bytes,
                      (unsigned char *)out + (size_t)i * bytes, want.dtype))
      snprintf(wrong, room, "element %" PRId64 " of %" PRId64 " differs, n=%" PRId64, i, want.count, n);
  elements += want.count;
  ir_eval_free(&p->g, &want, 1);
  free(out);
  free(x);
}

static bool check(uint64_t seed) {
  problem p = {.state = seed};
  char wrong[200] = "";
  rt_program *program = NULL;
  ir_graph_init(&p.g, &ir_mem_libc, &p.error);
  if (!record(&p)) snprintf(wrong, sizeof wrong, "%.150s", p.error.text);
  else {
    ir_error error = {0};
    fe_request request = {.graph = &p.g,
                          .results = ir_tuple(&p.g, &p.y, 1),
                          .inputs = &p.x,
                          .input_count = 1,
                          .vars = &p.var,
                          .var_count = p.var != 0,
                          .name = "ordered"};
    if (fe_compile(context, &request, &program, &error) != IR_OK)
      snprintf(wrong, sizeof wrong, "%.150s", error.text);
  }
  for (int k = 0; k < RUNS && !*wrong; k++) run_once(&p, program, wrong, sizeof wrong);
  if (program) rt_program_release(program);
  if (*wrong) fprintf(stderr, "%s: %s\n(prop_ordered --case %" PRIu64 ")\n", p.what, wrong, seed);
  ir_graph_free(&p.g);
  return !*wrong;
}

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 60);
  if (!cases_open(&(case_machine){0}, 1, &context)) return 1;
  cases_run(&c, check);
  cases_close(&context, 1);
  printf("prop_ordered: %ld operations, %ld elements, %ld failed, seed %" PRIu64 "\n", c.done, elements,
         c.failed, c.seed);
  return c.failed != 0;
}
