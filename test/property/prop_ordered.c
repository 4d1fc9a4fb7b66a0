/* Cumulative operations and sorting over long axes, compiled, against the reference evaluator.
 *
 *   prop_ordered --seed S --count N
 *   prop_ordered --case SEED        one case again, by the seed in its report
 *
 * A case is one operation over one axis of a tensor of up to three axes, of any dtype, the axis of up to a
 * few thousand elements: several levels of blocks for a cumulative operation, many comparator stages of a
 * sorting network, which targets without sorting steps have (prop_sort.c tests these). Elements have few
 * different values, so that there are ties, and special ones; floats to be added are small integers, so that
 * every sum is exact. Every third axis has a symbolic size. Results are compared bit for bit, NaNs as a
 * class. */
#include "passes/ops/ops.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>

enum { LONGEST = 3000, RUNS = 2 };

static long elements;

typedef struct problem {
  trial t;
  ir_op op;
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {0, 1, 15, 16, 17, 255, 256, 257, 1024, 1025};
  return pick(p, 0, 2) ? pick(p, 2, pick(p, 0, 1) ? 40 : LONGEST) : edges[pick(p, 0, 9)];
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &t->g;
  ir_dtype dtype = trial_dtype(t);
  uint32_t rank = (uint32_t)pick(p, 1, 3);
  ir_ref dims[3];
  p->op = (ir_op)pick(p, IR_OP_CUMSUM, IR_OP_ARGSORT);
  uint32_t axis = (uint32_t)pick(p, 0, rank - 1);
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(g, k == axis ? some_size(p) : pick(p, 1, 3));
  if (pick(p, 0, 2) == 0) dims[axis] = t->var = ir_var(g, "n", 1, 0, some_size(p), 1);
  ir_ref x = trial_input(t, dtype, dims, rank);
  bool flag = pick(p, 0, 1), other = pick(p, 0, 1), sums = p->op <= IR_OP_CUMPROD;
  t->result_count = 1;
  t->result[0] = p->op >= IR_OP_SORT ? op_sort(g, p->op, x, axis, flag)
                                     : op_cumulative(g, p->op, x, axis, sums && other, flag);
  return t->result[0] != 0;
}

static double some_float(problem *p) {
  static const double specials[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-40, -5e-324, 65504, -1e19};
  if (p->op == IR_OP_CUMSUM) return (double)pick(p, -4, 4);
  if (p->op == IR_OP_CUMPROD)
    return pick(p, 0, 999) ? (double)(1 - 2 * pick(p, 0, 1)) : (double)pick(p, 0, 2);
  return pick(p, 0, 9) ? (double)pick(p, -99, 99) / 8 : specials[pick(p, 0, 8)];
}

static ir_value element(trial *t, ir_dtype dtype) {
  problem *p = (problem *)t;
  ir_value v = {.i = dtype == IR_BOOL ? pick(p, 0, 1) : pick(p, -20, 20)};
  if (ir_is_float(dtype)) v.f = some_float(p);
  else if (dtype != IR_BOOL && pick(p, 0, 1)) v.i = (int64_t)random_next(&t->state) >> pick(p, 0, 63);
  return v;
}

static void run(trial *t) { elements += trial_evaluate(t, &(trial_check){.runs = RUNS, .element = element}); }

static void report(const cases *c) { printf("%ld operations, %ld elements", c->done, elements); }

TRIAL_MAIN("ordered", 60, &(case_machine){.target = "sort=0"}, 1, sizeof(problem), record, run, report, NULL)
