/* Products of f16 and bf16 on targets with matrix instructions, compiled, against the reference evaluator.
 *
 *   prop_matrix --seed S --count N
 *   prop_matrix --case SEED         one case again, by the seed in its report
 *
 * A case multiplies matrices, with or without a batch; operands are views, other operations follow the sum.
 * Sizes are multiples of the tiles, or such that the last tile overlaps the previous one or terms remain. On
 * the processor this tests how work-items divide a product. On an OpenCL device without such instructions
 * (VIEWFOLD_DEVICE=opencl) the kernel's text emulates them: each work-item reads the registers of the others
 * in the layout that NVIDIA documents for mma.m16n8k16, so that a work-item that holds the wrong elements or
 * sums gives wrong results. Results are
 *
 *   exact     equal to the evaluator's bit for bit: elements are small multiples of a power of two
 *   bounded   floats of any size: no farther from the sum in f64 than k u times the sum of magnitudes */
#include "codegen/codegen.h"
#include "passes/ops/compose/compose.h"
#include "passes/passes.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MACHINES = 3, MATRIX = 1, RESULTS = 3, ENOUGH = 6 };
static const case_machine machines[MACHINES] = {
    {1, NULL},
    {2, "vector_bytes=16 lanes=256 local=32768 together=32 matrix=16 fma=1"},
    {1, "vector_bytes=16 lanes=64 local=16384 together=32 matrix=16 fma=1"}};

static long by_matrix; /* cases compiled to matrix instructions */

typedef struct problem {
  trial t;
  ir_dtype dtype;
  bool bounded;
  int64_t terms;
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }
static bool one_in(problem *p, int64_t n) { return pick(p, 1, n) == 1; }

static ir_ref input(problem *p, const int64_t *size, uint32_t rank) {
  ir_ref dims[3];
  for (uint32_t i = 0; i < rank; i++) dims[i] = ir_index(&p->t.g, size[i]);
  return trial_input(&p->t, p->dtype, dims, rank);
}

/* A matrix of rows x columns, in a batch if batch > 1: plain, transposed, a slice of a larger one, or
 * reversed. */
static ir_ref operand(problem *p, int64_t batch, int64_t rows, int64_t columns) {
  ir_graph *g = &p->t.g;
  int kind = (int)pick(p, 0, 4);
  uint32_t rank = batch > 1 ? 3 : 2;
  int64_t size[] = {batch, kind == 1 ? columns : rows, kind == 1 ? rows : columns};
  if (kind == 2) size[1] += 3, size[2] += 5;
  ir_ref x = input(p, size + 3 - rank, rank), bounds[6], steps[3];
  if (kind == 1) x = op_swap_axes(g, x, -1, -2);
  for (uint32_t i = 0; i < rank; i++) {
    bool last = i + 2 >= rank;
    bounds[2 * i] = ir_index(g, last ? 2 : 0);
    bounds[2 * i + 1] = ir_index(g, i + 1 == rank ? columns + 2 : i + 2 == rank ? rows + 2 : batch);
    steps[i] = ir_index(g, i + 1 == rank ? -1 : 1);
  }
  if (kind == 2) x = op_shrink(g, x, bounds, rank);
  if (kind == 3) x = op_stride(g, x, steps, rank);
  static const char *const kinds[] = {"plain", "transposed", "sliced", "reversed", "plain"};
  size_t at = strlen(p->t.what);
  snprintf(p->t.what + at, sizeof p->t.what - at, " %s[%" PRId64 ",%" PRId64 ",%" PRId64 "]", kinds[kind],
           batch, rows, columns);
  return x;
}

static void follow(problem *p, int64_t columns) {
  ir_graph *g = &p->t.g;
  if (one_in(p, 3)) p->t.result[0] = op_binary(g, IR_OP_ADD, p->t.result[0], input(p, &columns, 1));
  if (one_in(p, 3)) p->t.result[0] = op_unary(g, IR_OP_RELU, p->t.result[0]);
  if (one_in(p, 5)) p->t.result[0] = op_swap_axes(g, p->t.result[0], -1, -2);
}

static int64_t size_near(problem *p, int64_t step, int64_t most) {
  int64_t size = step * pick(p, 1, most / step);
  return one_in(p, 2) ? size : size + pick(p, 0, step);
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &p->t.g;
  p->bounded = one_in(p, 3);
  p->dtype = one_in(p, 2) ? IR_F16 : IR_BF16;
  snprintf(t->what, sizeof t->what, "%s %s:", p->bounded ? "bounded" : "exact", ir_dtypes[p->dtype].name);
  int64_t batch = one_in(p, 4) ? pick(p, 2, 3) : 1, rows = size_near(p, 16, 288),
          columns = size_near(p, 8, 96);
  p->terms = one_in(p, 2) ? 32 * pick(p, 4, 7) : pick(p, 120, 230);
  ir_ref a = operand(p, batch, rows, p->terms), b = operand(p, batch, p->terms, columns);
  for (int i = 0; i < (p->bounded ? RESULTS : 1); i++) {
    ir_dtype wide = i ? IR_F64 : IR_F32;
    ir_ref x = p->bounded ? op_cast(g, a, wide) : a, y = p->bounded ? op_cast(g, b, wide) : b;
    if (i == 2) x = op_unary(g, IR_OP_ABS, x), y = op_unary(g, IR_OP_ABS, y);
    p->t.result[i] = op_matmul(g, x, y);
  }
  if (t->result[0] && !p->bounded) follow(p, columns);
  t->result_count = 1, t->exact_count = p->bounded ? 2 : 0;
  if (p->bounded) t->bound = trial_sum_bound(p->terms);
  return t->result[0] && (!p->bounded || t->result[2]);
}

static ir_value element(trial *t, ir_dtype dtype) {
  problem *p = (problem *)t;
  ir_value v = {.f = ldexp((double)pick(p, -4, 4), -2)};
  if (p->bounded) v.f = ldexp((double)pick(p, -255, 255), (int)pick(p, -20, -4)); /* some are subnormal */
  return v;
}

/* Does a kernel compiled for the machine that has matrix instructions use them? */
static bool has_matrix(trial *t) {
  ir_plan plan;
  ir_error error = {0};
  if (!trial_plan(t, MATRIX, &plan)) return false;
  bool any = false;
  for (ir_ref i = 1, count = t->g.count; i < count && !any; i++) {
    cg_blob blob;
    if (ir_op_of(&t->g, i) != IR_OP_KERNEL ||
        cg_opencl(&t->g, i, "k", trial_target(MATRIX), &blob, &error) != IR_OK)
      continue;
    any = strstr(blob.bytes, "VF_MATRIX(") != NULL;
    cg_blob_free(&blob);
  }
  ir_plan_free(&plan);
  return any;
}

static void run(trial *t) {
  trial_evaluate(t, &(trial_check){1, element, NULL, NULL});
  if (!*t->wrong) by_matrix += has_matrix(t);
}

static void tell(const cases *c) { printf("%ld products, %ld by matrix instructions", c->done, by_matrix); }

static bool enough(const cases *c) {
  const ir_target *target = trial_target(MATRIX); /* another target where one is given */
  return !target || !target->matrix || c->done < ENOUGH || 2 * by_matrix > c->done;
}

TRIAL_MAIN("matrix", 60, machines, MACHINES, sizeof(problem), record, run, tell, enough)
