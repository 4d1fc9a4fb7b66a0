/* Sorting by steps of the runtime, in vectors and by counting, against the reference evaluator.
 *
 *   prop_sort --seed S --count N
 *   prop_sort --case SEED        one case again, by the seed in its report
 *
 * A case sorts a tensor of up to three axes, of any dtype, along one of them, or its indices; or takes the
 * first ones, as topk does; or sorts within a scan. Lines are of up to a few thousand elements, around the
 * sizes at which algorithms change, one or many; every third axis has a symbolic size. Elements are at
 * random, of few values, in order, in reverse, or up and down, with special ones among floats. Results are
 * compared bit for bit, NaNs as a class. */
#include "passes/ops/build/control.h"
#include "passes/ops/ops.h"
#include "test/lib/random_graph.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>

enum { LONGEST = 5000, MOST = 20000, RUNS = 2 };
enum { RANDOM, FEW, ASCENDING, DESCENDING, UP_AND_DOWN, PATTERNS };

static long elements;

typedef struct problem {
  trial t;
  int pattern;
  int64_t counter; /* of elements that were drawn */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {0, 1, 2, 8, 40, 41, 64, 256, 257, 512, 897, 1024, 1025, 1793, 2048, 2049};
  return pick(p, 0, 2) ? pick(p, 2, pick(p, 0, 1) ? 40 : LONGEST) : edges[pick(p, 0, 15)];
}

/* The tensor sorted by a scan of two iterations, the second of which has nothing to do. */
static ir_ref sorted_in_scan(problem *p, ir_ref x, uint32_t axis, bool flag) {
  ir_graph *g = &p->t.g;
  ir_ref param = op_buffer_like(g, x), next = param ? op_sort(g, IR_OP_SORT, param, axis, flag) : 0;
  ir_ref body = next ? ir_func(g, &next, 1, &param, 1) : 0;
  ir_ref made = body ? op_scan(g, &x, 1, (ir_scan_state){.carries = 1}, body, ir_index(g, 2)) : 0;
  return made ? ir_src(g, made, 0) : 0;
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  ir_graph *g = &t->g;
  ir_dtype dtype = trial_dtype(t);
  uint32_t rank = (uint32_t)pick(p, 1, 3), axis = (uint32_t)pick(p, 0, rank - 1);
  ir_ref dims[3];
  int64_t size = some_size(p), lines = size < MOST / 40 ? 40 : 3;
  for (uint32_t k = 0; k < rank; k++) dims[k] = ir_index(g, k == axis ? size : pick(p, 1, lines / rank + 1));
  bool flag = pick(p, 0, 1), symbolic = pick(p, 0, 2) == 0;
  int kind = (int)pick(p, 0, 3);
  if (symbolic && kind < 3) dims[axis] = t->var = ir_var(g, "n", 1, 0, size, 1);
  ir_ref x = trial_input(t, dtype, dims, rank);
  p->pattern = (int)pick(p, 0, PATTERNS - 1);
  t->result_count = 1;
  if (kind == 0) t->result[0] = op_sort(g, IR_OP_SORT, x, axis, flag);
  if (kind == 1) t->result[0] = op_sort(g, IR_OP_ARGSORT, x, axis, flag);
  if (kind == 2) t->result[0] = sorted_in_scan(p, x, axis, flag);
  if (kind < 3) return t->result[0] != 0;
  ir_ref both = op_topk(g, x, pick(p, 0, size < 300 || pick(p, 0, 1) ? size : 20), axis, flag);
  t->result_count = 2;
  for (uint32_t k = 0; k < 2 && both; k++) t->result[k] = ir_src(g, both, k);
  return both != 0;
}

static double some_float(problem *p) {
  static const double specials[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1e-40, -5e-324, 65504, -1e19};
  return pick(p, 0, 9) ? (double)pick(p, -99, 99) / 8 : specials[pick(p, 0, 8)];
}

static ir_value element(trial *t, ir_dtype dtype) {
  problem *p = (problem *)t;
  int64_t i = p->counter++;
  ir_value v = {.i = p->pattern == ASCENDING    ? i
                     : p->pattern == DESCENDING ? -i
                     : p->pattern == FEW        ? pick(p, 0, 3)
                                                : (i & 1023) * (i >> 10 & 1 ? -1 : 1)};
  if (p->pattern == RANDOM) v.i = (int64_t)random_next(&t->state) >> pick(p, 0, 63);
  if (ir_is_float(dtype)) v.f = p->pattern == RANDOM ? some_float(p) : (double)v.i;
  return ir_value_cast(v, ir_is_float(dtype) ? IR_F64 : IR_I64, dtype);
}

static void run(trial *t) { elements += trial_evaluate(t, &(trial_check){.runs = RUNS, .element = element}); }

static void report(const cases *c) { printf("%ld sorts, %ld elements", c->done, elements); }

static const case_machine machines[] = {{2, NULL}, {1, "vector_bytes=16 registers=16"}};

TRIAL_MAIN("sort", 60, machines, 2, sizeof(problem), record, run, report, NULL)
