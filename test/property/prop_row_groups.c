/* Chains of kernels over the same rows, compiled, against the reference evaluator, for several numbers of
 * threads.
 *
 *   prop_row_groups --seed S --count N
 *   prop_row_groups --case SEED         one case again, by the seed in its report
 *   prop_row_groups --show SEED         its graph as text, not compiled
 *
 * A case is what scheduling may fuse into one loop over rows (a fused row group): reductions over the same
 * axes, one on top of the other, with elementwise operations, views and cumulative operations in between,
 * values that are also results, one symbolic size; or an attention with sizes around those of its blocks,
 * perhaps causal, with a mask, or with some elements NaN and infinite. Integer results must be exact, floats
 * close to what the evaluator has, NaN where it has NaN; all results must have the same bits for 1, 2 and 4
 * threads. The test prints how many of the kernels were fused row groups. */
#include "passes/ops/compose/compose.h"
#include "test/lib/row_groups.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>

enum { INPUTS = 4, VALUES = 24, RESULTS = 3, RUNS = 2 };

static long elements, row_groups, kernels;

typedef struct problem {
  trial t;
  ir_dtype dtype;
  ir_ref value[VALUES], shape[IR_MAX_RANK];
  uint32_t value_count, rank, reduced; /* reduced: the axes of most reductions, as a set */
  bool special;                        /* NaN and infinities among the data */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {1, 2, 3, 5, 8, 15, 16, 17, 24, 31, 33, 48, 63, 64, 65, 100, 128, 130, 600};
  return edges[pick(p, 0, 18)];
}

static ir_ref some_value(problem *p) {
  uint32_t back = (uint32_t)pick(p, 1, p->value_count < 4 ? p->value_count : 4);
  return p->value[pick(p, 0, 2) ? p->value_count - back : (uint32_t)pick(p, 0, p->value_count - 1)];
}

static bool is_float(const problem *p) { return ir_is_float(p->dtype); }

static ir_ref reduction(problem *p, ir_ref x) {
  static const ir_op ops[] = {IR_OP_SUM, IR_OP_REDUCE_MAX, IR_OP_REDUCE_MIN, IR_OP_MEAN};
  ir_ref axes[IR_MAX_RANK];
  uint32_t count = 0, set = pick(p, 0, 3) ? p->reduced : (uint32_t)pick(p, 1, (1 << p->rank) - 1);
  for (uint32_t a = 0; a < p->rank; a++)
    if (set >> a & 1) axes[count++] = ir_index(&p->t.g, a);
  return op_reduce(&p->t.g, ops[pick(p, 0, is_float(p) ? 3 : 2)], x, axes, count, true);
}

/* An elementwise operation whose results stay small. */
static ir_ref elementwise(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  static const ir_op ops[] = {IR_OP_ADD, IR_OP_SUB, IR_OP_MIN, IR_OP_MAX, IR_OP_SUB};
  if (pick(p, 0, 2)) return op_binary(g, ops[pick(p, 0, 4)], x, some_value(p));
  if (!is_float(p)) return op_unary(g, pick(p, 0, 1) ? IR_OP_NEG : IR_OP_ABS, x);
  switch (pick(p, 0, 3)) {
  case 0: return op_unary(g, IR_OP_TANH, x);
  case 1: return op_unary(g, IR_OP_EXP, op_unary(g, IR_OP_NEG, op_unary(g, IR_OP_ABS, x)));
  case 2: return op_unary(g, IR_OP_SIGMOID, x);
  default: return op_unary(g, IR_OP_NEG, x);
  }
}

/* A view of x of the same shape that reads other elements. */
static ir_ref view(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  uint32_t rank = ir_rank(g, x), axis = (uint32_t)pick(p, 0, rank - 1);
  ir_ref at = ir_index(g, axis), shape[IR_MAX_RANK], flat = ir_index(g, -1);
  for (uint32_t a = 0; a < rank; a++) shape[a] = ir_dim(g, x, a);
  switch (pick(p, 0, 2)) {
  case 0: return op_flip(g, x, &at, 1);
  case 1: return op_reshape(g, op_reshape(g, x, &flat, 1), shape, rank);
  default: {
    ir_ref pads[2 * IR_MAX_RANK], bounds[2 * IR_MAX_RANK], zero = ir_index(g, 0);
    for (uint32_t a = 0; a < rank; a++) {
      pads[2 * a] = ir_index(g, a == axis), pads[2 * a + 1] = zero;
      bounds[2 * a] = zero, bounds[2 * a + 1] = shape[a];
    }
    return op_shrink(g, op_pad(g, x, pads, rank, 0, IR_PAD_CONSTANT), bounds, rank);
  }
  }
}

static ir_ref below_diagonal(problem *p, ir_ref x) {
  return p->rank >= 2 && !p->t.var ? op_tril(&p->t.g, x, pick(p, -3, 3)) : x;
}

/* A cumulative operation, which is computed by levels of blocks, each level a view of another. */
static ir_ref cumulative(problem *p, ir_ref x) {
  static const ir_op ops[] = {IR_OP_CUMSUM, IR_OP_CUMMAX, IR_OP_CUMMIN};
  ir_op op = ops[pick(p, 0, 2)];
  return op_cumulative(&p->t.g, op, x, pick(p, 0, p->rank - 1), pick(p, 0, 1) && op == IR_OP_CUMSUM,
                       pick(p, 0, 3) == 0);
}

static ir_ref next_value(problem *p) {
  ir_graph *g = &p->t.g;
  ir_ref x = some_value(p);
  bool full = true;
  for (uint32_t a = 0; a < p->rank; a++) full &= ir_dim(g, x, a) == p->shape[a];
  int64_t roll = pick(p, 0, 12);
  if (roll < 4) return reduction(p, full ? x : elementwise(p, p->value[0]));
  if (roll < 8) return elementwise(p, x);
  if (roll == 8) return view(p, x);
  if (roll == 9) return full ? below_diagonal(p, x) : x;
  if (roll == 10) return full ? cumulative(p, x) : x;
  if (!is_float(p) || !full) return elementwise(p, x);
  int64_t axis = pick(p, 0, p->rank - 1);
  return roll == 11 ? op_softmax(g, x, axis) : op_layer_norm(g, &x, 1, axis, 1e-3);
}

static void record_rows(problem *p) {
  ir_graph *g = &p->t.g;
  static const ir_dtype dtypes[] = {IR_F32, IR_F64, IR_I32, IR_I64, IR_F32};
  p->dtype = dtypes[pick(p, 0, 4)];
  p->rank = (uint32_t)pick(p, 2, 4);
  int64_t all = 1, symbolic = pick(p, 0, 2) ? -1 : pick(p, 0, p->rank - 1);
  for (uint32_t a = 0; a < p->rank; a++) {
    int64_t size = some_size(p);
    while (all * size > 40000) size = (size + 1) / 2;
    all *= size;
    p->shape[a] = ir_index(g, size);
    if (a == symbolic) p->shape[a] = p->t.var = ir_var(g, "n", 1, pick(p, 0, 1), size, 1);
  }
  p->reduced = (uint32_t)pick(p, 1, (1 << p->rank) - 1);
  if (p->reduced == (1u << p->rank) - 1) p->reduced &= ~(1u << pick(p, 0, p->rank - 1));
  p->value[p->value_count++] = trial_input(&p->t, p->dtype, p->shape, p->rank);
  ir_ref last = p->shape[p->rank - 1];
  if (pick(p, 0, 1)) p->value[p->value_count++] = trial_input(&p->t, p->dtype, p->shape, p->rank);
  if (pick(p, 0, 1)) p->t.input_count < INPUTS ? (void)trial_input(&p->t, p->dtype, &last, 1) : (void)0;
  for (int64_t steps = pick(p, 3, 12); steps > 0 && p->value_count < VALUES; steps--) {
    ir_ref made = next_value(p);
    if (made) p->value[p->value_count++] = made;
    else if (p->t.var) ir_error_clear(&p->t.error); /* a maximum or minimum over an axis that may be empty */
    else break;
  }
  p->t.result_count = (uint32_t)pick(p, 1, RESULTS);
  for (uint32_t k = 0; k < p->t.result_count; k++)
    p->t.result[k] = k ? some_value(p) : p->value[p->value_count - 1];
}

static void record_attention(problem *p) {
  ir_graph *g = &p->t.g;
  static const int64_t counts[] = {1, 3, 16, 63, 64, 65, 96, 128, 192, 256};
  p->dtype = pick(p, 0, 3) ? IR_F32 : IR_F64;
  int64_t queries = counts[pick(p, 0, 9)], keys = pick(p, 0, 1) ? queries : counts[pick(p, 0, 9)],
          width = pick(p, 1, 40), columns = pick(p, 0, 1) ? width : pick(p, 1, 70);
  ir_ref batch = ir_index(g, pick(p, 1, 2)), heads = ir_index(g, pick(p, 1, 3));
  ir_ref q[] = {batch, heads, ir_index(g, queries), ir_index(g, width)};
  ir_ref k[] = {batch, heads, ir_index(g, keys), ir_index(g, width)};
  ir_ref v[] = {batch, heads, ir_index(g, keys), ir_index(g, columns)};
  p->special = pick(p, 0, 3) == 0;
  ir_ref x[] = {trial_input(&p->t, p->dtype, q, 4), trial_input(&p->t, p->dtype, k, 4),
                trial_input(&p->t, p->dtype, v, 4), 0};
  size_t n = 3;
  if (pick(p, 0, 2) == 0)
    x[n++] = trial_input(&p->t, pick(p, 0, 1) ? IR_BOOL : p->dtype, (ir_ref[]){q[2], k[2]}, 2);
  p->t.result[p->t.result_count++] = op_attention(g, x, n, 0, pick(p, 0, 3) > 0);
}

static bool record(trial *t) {
  if (trial_pick(t, 0, 3)) record_rows((problem *)t);
  else record_attention((problem *)t);
  return !t->error.status;
}

static ir_value element(trial *t, ir_dtype dtype) {
  ir_value v = {.i = dtype == IR_BOOL ? trial_pick(t, 0, 4) > 0 : trial_pick(t, -9, 9)};
  if (ir_is_float(dtype)) v.f = (double)trial_pick(t, -1000, 1000) / 500;
  return v;
}

static void make_special(trial *t, const trial_data *data) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 1e30};
  if (((problem *)t)->special && ir_is_float(data->dtype)) trial_sprinkle(t, data, specials, 4);
}

static bool is_right(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i,
                     const void *got) {
  ir_dtype dtype = want[result].dtype;
  const void *at = (const unsigned char *)want[result].data + (size_t)i * ir_dtypes[dtype].bytes;
  if (trial_same(at, got, dtype)) return true;
  if (!ir_is_float(dtype)) return false;
  double a = ir_value_load(at, dtype).f, b = ir_value_load(got, dtype).f;
  double tolerance = ((const problem *)t)->dtype == IR_F64 ? 1e-8 : 2e-3;
  return isfinite(a) && isfinite(b) ? fabs(a - b) <= tolerance * (1 + fabs(a)) : a == b;
}

static void run(trial *t) {
  elements += (long)trial_evaluate(t, &(trial_check){RUNS, element, make_special, is_right});
  if (*t->wrong) return;
  row_group_counts counts = row_groups_of(t);
  row_groups += counts.row_groups, kernels += counts.kernels;
}

static void tell(const cases *c) {
  printf("%ld graphs, %ld fused row groups among %ld kernels, %ld elements", c->done, row_groups, kernels,
         elements);
}

TRIAL_MAIN("row_groups", 60, case_machines, CASE_MACHINES, sizeof(problem), record, run, tell, NULL)
