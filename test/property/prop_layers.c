/* Layers of a network over the same rows, compiled, against the reference evaluator, for several machines.
 *
 *   prop_layers --seed S --count N
 *   prop_layers --case SEED         one case again, by the seed in its report
 *   prop_layers --show SEED         its graph as text, not compiled
 *
 * A case is a sequence of matrix products, each of the previous one's rows with weights; the weights are
 * stored by columns or by rows, may be computed, may have a batch axis, or may serve two products. Biases,
 * gates, activations and residual sums follow the products; a reduction of the last axis, a softmax or a
 * layer norm may come last. Scheduling fuses products into one loop over rows where it can. Some row counts
 * are symbolic, some elements NaN or infinite; all others are small multiples of 1/2, so that every order of
 * additions gives the same sum. Results must be exact as long as that holds; after functions like tanh they
 * must be close to what the evaluator has, NaN where it has NaN. The bits must be the same for 1 and 4
 * threads. The test prints how many graphs had several products in one kernel. */
#include "passes/ops/compose/compose.h"
#include "test/lib/row_groups.h"
#include "test/lib/trial.h"

#include <math.h>
#include <stdio.h>

enum { CONTEXTS = 6, VALUES = 6, WEIGHTS = 6 };

static const case_machine machines[CONTEXTS] = {{1, NULL},
                                                {4, NULL},
                                                {1, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"},
                                                {2, "vector_bytes=32 registers=16 l1=32768 l2=262144"},
                                                {2, "vector_bytes=16 lanes=64 local=32768"},
                                                {1, "vector_bytes=16 lanes=16 local=4096"}};
static long elements, fused, transposed;

typedef struct weight { /* the tensor as [in, out] */
  ir_ref tensor;
  int64_t in, out;
} weight;

typedef struct problem {
  trial t;
  ir_dtype dtype;
  ir_ref value[VALUES], shape[2]; /* the axes of a value: the first `rank` of shape, and a last one */
  weight weights[WEIGHTS];
  uint32_t value_count, weight_count, rank; /* rank: of `shape` */
  bool hidden;                              /* the inner layers have more units than there are rows */
  bool special;                             /* NaN and infinities among the data */
  bool exact, exact_result[TRIAL_RESULTS];  /* the sum does not depend on the order of additions: so far, and
                                               for each result */
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return trial_pick(&p->t, lo, hi); }

/* The width of a product with so many rows and terms. */
static int64_t some_width(problem *p, int64_t rows, int64_t terms, int64_t least, int64_t most) {
  static const int64_t edges[] = {1,   2,   3,   7,   8,   15,  16,  17,  24,  31,  32,
                                  33,  48,  63,  64,  65,  80,  96,  100, 112, 127, 128,
                                  129, 144, 160, 192, 200, 256, 257, 300, 384, 512};
  int64_t size = 0;
  for (int tries = 0; tries < 20 && (size < least || size > most); tries++)
    size = edges[pick(p, 0, 3) ? pick(p, 6, 31) : pick(p, 0, 31)];
  while (rows * size * terms > 6 << 20) size = (size + 1) / 2;
  return size;
}

static int64_t width_of(problem *p, ir_ref x) {
  int64_t width = 1;
  ir_is_const(&p->t.g, ir_dim(&p->t.g, x, ir_rank(&p->t.g, x) - 1), &width);
  return width;
}

static ir_ref swapped(problem *p, ir_ref x) { return op_swap_axes(&p->t.g, x, -1, -2); }

static ir_ref vector_of(problem *p, ir_dtype dtype, int64_t width) {
  ir_ref size = ir_index(&p->t.g, width);
  return trial_input(&p->t, dtype, &size, 1);
}

/* x itself, or an elementwise function of x. */
static ir_ref maybe_computed(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  switch (pick(p, 0, 9)) {
  case 0: return op_unary(g, IR_OP_NEG, x);
  case 1: return op_binary(g, IR_OP_MUL, x, ir_is_float(ir_dtype_of(g, x)) ? op_literal_float(g, 0.5) : x);
  case 2: return op_binary(g, IR_OP_SUB, x, vector_of(p, ir_dtype_of(g, x), width_of(p, x)));
  default: return x;
  }
}

/* The weight of an earlier product, as it is or transposed, or a new one, mostly stored as [out, in]. */
static ir_ref some_weight(problem *p, int64_t in, int64_t out) {
  ir_graph *g = &p->t.g;
  for (uint32_t i = 0; i < p->weight_count; i++) {
    const weight *w = &p->weights[i];
    bool same = w->in == in && w->out == out, transposed = w->in == out && w->out == in;
    if ((same || transposed) && pick(p, 0, 1)) return same ? w->tensor : swapped(p, w->tensor);
  }
  bool by_columns = pick(p, 0, p->hidden ? 15 : 3) > 0, in_batches = p->rank == 2 && pick(p, 0, 7) == 0;
  ir_ref sizes[] = {p->shape[0], ir_index(g, by_columns ? out : in), ir_index(g, by_columns ? in : out)};
  ir_ref w = maybe_computed(p, trial_input(&p->t, p->dtype, sizes + !in_batches, 2 + in_batches));
  if (by_columns) w = swapped(p, w);
  if (p->weight_count < WEIGHTS && !in_batches) p->weights[p->weight_count++] = (weight){w, in, out};
  return w;
}

static ir_ref activation(problem *p, ir_ref x) {
  ir_graph *g = &p->t.g;
  bool real = ir_is_float(ir_dtype_of(g, x));
  int64_t roll = pick(p, 0, real ? 12 : 7);
  p->exact &= roll < 8 || roll == 12;
  switch (roll) {
  case 0: return op_unary(g, IR_OP_ABS, x);
  case 1: return op_clip(g, x, op_literal_int(g, -3), op_literal_int(g, 40));
  case 2:
  case 3: return x;
  case 8: return op_unary(g, IR_OP_TANH, x);
  case 9: return op_unary(g, IR_OP_SIGMOID, x);
  case 10: return op_gelu(g, x, true);
  case 11: return op_silu(g, x);
  case 12: return op_leaky_relu(g, x, 0.5);
  default: return op_unary(g, IR_OP_RELU, x);
  }
}

/* A product of x, which is [..., in], and the elementwise operations after it. */
static ir_ref layer(problem *p, ir_ref x, int64_t out, bool last) {
  ir_graph *g = &p->t.g;
  int64_t in = width_of(p, x);
  ir_ref y = op_matmul(g, x, some_weight(p, in, out));
  if (!y) return 0;
  if (pick(p, 0, 2)) y = op_binary(g, IR_OP_ADD, y, vector_of(p, ir_dtype_of(g, y), out));
  if (!last || pick(p, 0, 3) == 0) y = activation(p, y);
  if (p->value_count == 1 && pick(p, 0, 7) == 0) /* a gate: only once, as magnitudes grow */
    y = op_binary(g, IR_OP_MUL, y, op_matmul(g, x, some_weight(p, in, out)));
  if (!ir_is_float(p->dtype) && pick(p, 0, 1)) y = op_cast(g, y, p->dtype);
  for (uint32_t i = 0; i < p->value_count && pick(p, 0, 2); i++)
    if (width_of(p, p->value[i]) == out) {
      y = op_binary(g, pick(p, 0, 3) ? IR_OP_ADD : IR_OP_SUB, y, p->value[i]);
      break;
    }
  ir_ref shape[] = {p->shape[0], p->rank == 2 ? p->shape[1] : ir_index(g, out), ir_index(g, out)};
  if (last && pick(p, 0, 3) == 0)
    y = op_binary(g, IR_OP_ADD, y, trial_input(&p->t, ir_dtype_of(g, y), shape, p->rank + 1));
  return y;
}

/* An operation along the last axis after the last layer, or none. */
static ir_ref last_operation(problem *p, ir_ref y) {
  ir_graph *g = &p->t.g;
  ir_ref last = ir_index(g, p->rank), x[] = {y, 0, 0};
  bool real = ir_is_float(ir_dtype_of(g, y)), keeps = pick(p, 0, 1);
  int64_t roll = pick(p, 0, real ? 8 : 3), width = width_of(p, y);
  p->exact &= roll < 4;
  switch (roll) {
  case 2: return op_reduce(g, IR_OP_SUM, y, &last, 1, keeps);
  case 3: return op_reduce(g, IR_OP_REDUCE_MAX, y, &last, 1, keeps);
  case 4: return op_softmax(g, y, -1);
  case 5: return op_rms_norm(g, x, 1, -1, 1e-3);
  case 6:
  case 7:
    x[1] = vector_of(p, ir_dtype_of(g, y), width), x[2] = vector_of(p, ir_dtype_of(g, y), width);
    return op_layer_norm(g, x, 3, -1, 1e-3);
  case 8: return op_reduce(g, IR_OP_MEAN, y, &last, 1, keeps);
  default: return y;
  }
}

static void want(problem *p, ir_ref result) {
  p->exact_result[p->t.result_count] = p->exact;
  p->t.result[p->t.result_count++] = result;
}

static bool record(trial *t) {
  problem *p = (problem *)t;
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F32, IR_F32, IR_F64, IR_BF16, IR_F16, IR_I8, IR_I32};
  static const int64_t counts[] = {1,   3,   16,  17,  48,  63,  64,  65,  96,  100, 127, 128,
                                   129, 150, 191, 192, 200, 255, 256, 257, 300, 320, 384, 400};
  ir_graph *g = &p->t.g;
  p->exact = true;
  p->hidden = pick(p, 0, 1);
  p->dtype = dtypes[pick(p, 0, p->hidden ? 4 : 8)];
  p->special = ir_is_float(p->dtype) && pick(p, 0, 7) == 0;
  p->rank = (uint32_t)pick(p, 1, 2);
  int64_t batch = p->rank == 2 ? pick(p, 1, 4) : 1;
  int64_t rows = counts[pick(p, 0, 5) ? pick(p, batch > 1 ? 10 : 18, 23) : pick(p, 0, 23)];
  if (batch > 1 && rows > 200) rows = (rows + 1) / 2;
  p->shape[0] = ir_index(g, batch), p->shape[p->rank - 1] = ir_index(g, rows);
  if (!p->hidden && pick(p, 0, 4) == 0) p->shape[p->rank - 1] = p->t.var = ir_var(g, "n", 1, 1, rows, 1);
  int64_t width = some_width(p, batch * rows, 16, p->hidden ? 16 : 1,
                             p->hidden       ? 33
                             : pick(p, 0, 3) ? 64
                                             : 200);
  int64_t layers = pick(p, 0, 2) ? 2 : pick(p, 1, 4);
  ir_ref shape[] = {p->shape[0], p->rank == 2 ? p->shape[1] : ir_index(g, width), ir_index(g, width)};
  ir_ref x = maybe_computed(p, trial_input(&p->t, p->dtype, shape, p->rank + 1));
  if (pick(p, 0, 5) == 0) x = activation(p, x);
  p->value[p->value_count++] = x;
  for (int64_t i = 0; i < layers && x; i++) {
    bool last = i == layers - 1;
    int64_t in = width_of(p, x);
    bool wide = pick(p, 0, 6) ? i % 2 == 0 : pick(p, 0, 1); /* the layer's result is wider than its operand */
    int64_t least = !wide ? 1 : p->hidden && batch * rows <= 512 ? batch * rows : 2 * in;
    int64_t out = last && pick(p, 0, 1) ? width : some_width(p, batch * rows, in, least, wide ? 512 : in);
    x = layer(p, x, out, last);
    if (!x) return false;
    p->value[p->value_count++] = x;
    if (!last && pick(p, 0, 4) == 0 && p->t.result_count + 1 < TRIAL_RESULTS) want(p, x);
  }
  want(p, last_operation(p, x));
  return !t->error.status;
}

static ir_value element(trial *t, ir_dtype dtype) {
  ir_value v = {.i = trial_pick(t, -9, 9)};
  if (ir_is_float(dtype)) v.f = (double)trial_pick(t, -2, 2) / 2;
  return v;
}

static void make_special(trial *t, const trial_data *data) {
  static const double specials[] = {NAN, INFINITY, -INFINITY};
  if (((problem *)t)->special && ir_is_float(data->dtype)) trial_sprinkle(t, data, specials, 3);
}

/* The greatest magnitude in a result: an element may be a small difference of large terms, each of which is
 * rounded. */
static double largest(const ir_eval_result *r) {
  double most = 0;
  for (int64_t i = 0; i < r->count; i++) {
    double x = fabs(
        ir_value_load((const unsigned char *)r->data + (size_t)i * ir_dtypes[r->dtype].bytes, r->dtype).f);
    if (isfinite(x) && x > most) most = x;
  }
  return most;
}

static bool is_right(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i,
                     const void *got) {
  const problem *p = (const problem *)t;
  ir_dtype dtype = want[result].dtype;
  const void *at = (const unsigned char *)want[result].data + (size_t)i * ir_dtypes[dtype].bytes;
  if (trial_same(at, got, dtype)) return true;
  if (!ir_is_float(dtype) || p->exact_result[result]) return false;
  double a = ir_value_load(at, dtype).f, b = ir_value_load(got, dtype).f;
  double tolerance = p->dtype == IR_F64 ? 1e-8 : ir_dtypes[p->dtype].bytes < 4 ? 2e-2 : 2e-3;
  if (!isfinite(a) || !isfinite(b)) return a == b;
  return fabs(a - b) <= tolerance * (1 + fabs(a)) || fabs(a - b) <= tolerance * largest(&want[result]);
}

static void run(trial *t) {
  elements += (long)trial_evaluate(t, &(trial_check){t->var ? 2 : 1, element, make_special, is_right});
  if (*t->wrong) return;
  row_group_counts groups = row_groups_of(t);
  fused += groups.products > 1, transposed += groups.transposed > 0;
}

static void tell(const cases *c) {
  printf("%ld graphs, %ld with several products in one kernel, %ld with transposed rows, %ld elements",
         c->done, fused, transposed, elements);
}

/* Of ENOUGH cases some must have transposed rows, except on targets with work-items. */
static bool enough(const cases *c) {
  enum { ENOUGH = 200 };
  const ir_target *target = trial_target(0);
  return !target || target->group_items || c->done < ENOUGH || transposed > 0;
}

TRIAL_MAIN("layers", 60, machines, CONTEXTS, sizeof(problem), record, run, tell, enough)
