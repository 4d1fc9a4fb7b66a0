/* Chains of kernels over the same rows, compiled, against the reference evaluator, for several numbers of
 * threads.
 *
 *   prop_slab --seed S --count N
 *   prop_slab --case SEED         one case again, by the seed in its report
 *   prop_slab --show SEED         its graph as text, not compiled
 *
 * A case is what scheduling may put into one loop over rows: reductions over the same axes, one on top of the
 * other, with elementwise work and views in between, results that others read as well, one symbolic size; or
 * an attention with sizes around those of its blocks, perhaps causal, with a mask, or with NaN and infinities
 * here and there; or layers: products of the same rows with weights, one behind the other, with biases,
 * activations and residuals, of numbers for which every order of additions gives the same. Such floats and
 * integers must be right to the bit, other floats close to what the evaluator has, NaN where it has NaN; and
 * the bits the same for 1, 2 and 4 threads. Says how many kernels were slabs, and how many of the layers had
 * several products in one. */
#include "frontend/compile.h"
#include "frontend/reader.h"
#include "ir/eval.h"
#include "ir/parse.h"
#include "passes/ops/compose.h"
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CONTEXTS = 7,
  INPUTS = 20,
  FEW_INPUTS = 4,
  VALUES = 24,
  RESULTS = 5,
  FEW_RESULTS = 3,
  RUNS = 2,
  WEIGHTS = 6
};

static const case_machine machines[CONTEXTS] = {{1, NULL},
                                                {2, NULL},
                                                {4, NULL},
                                                {1, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"},
                                                {2, "vector_bytes=32 registers=16 l1=32768 l2=262144"},
                                                {2, "vector_bytes=16 lanes=64 local=32768"},
                                                {1, "vector_bytes=16 lanes=16 local=4096"}};
static rt_context *contexts[CONTEXTS];
static long elements, slabs, kernels, layered, shared;

typedef struct weight { /* seen as [in, out] */
  ir_ref tensor;
  int64_t in, out;
} weight;

typedef struct problem {
  uint64_t state;
  ir_graph g;
  ir_error error;
  ir_dtype dtype;
  ir_ref input[INPUTS], value[VALUES], result[RESULTS], var, shape[IR_MAX_RANK];
  uint32_t input_count, value_count, result_count, rank, reduced; /* reduced: the set of axes mostly taken */
  bool special;                                                   /* NaN and infinities among the data */
  bool layers, dyadic;                                            /* small multiples of 1/2 */
  bool exact, exact_result[RESULTS];
  weight weights[WEIGHTS];
  uint32_t weight_count;
  double tolerance;
  char what[4000];
} problem;

static int64_t pick(problem *p, int64_t lo, int64_t hi) { return random_between(&p->state, lo, hi); }

static int64_t some_size(problem *p) {
  static const int64_t edges[] = {1, 2, 3, 5, 8, 15, 16, 17, 24, 31, 33, 48, 63, 64, 65, 100, 128, 130, 600};
  return edges[pick(p, 0, 18)];
}

static ir_ref add_input(problem *p, ir_dtype dtype, const ir_ref *shape, uint32_t rank) {
  char name[2] = {(char)('a' + (int)p->input_count), 0};
  return p->input[p->input_count++] = op_input(&p->g, name, 1, dtype, shape, rank);
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
    if (set >> a & 1) axes[count++] = ir_index(&p->g, a);
  return op_reduce(&p->g, ops[pick(p, 0, is_float(p) ? 3 : 2)], x, axes, count, true);
}

/* Of numbers that stay small. */
static ir_ref elementwise(problem *p, ir_ref x) {
  ir_graph *g = &p->g;
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

/* The same type, other positions. */
static ir_ref view(problem *p, ir_ref x) {
  ir_graph *g = &p->g;
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
  return p->rank >= 2 && !p->var ? op_tril(&p->g, x, pick(p, -3, 3)) : x;
}

static ir_ref next_value(problem *p) {
  ir_graph *g = &p->g;
  ir_ref x = some_value(p);
  bool full = true;
  for (uint32_t a = 0; a < p->rank; a++) full &= ir_dim(g, x, a) == p->shape[a];
  int64_t roll = pick(p, 0, 11);
  if (roll < 4) return reduction(p, full ? x : elementwise(p, p->value[0]));
  if (roll < 8) return elementwise(p, x);
  if (roll == 8) return view(p, x);
  if (roll == 9) return full ? below_diagonal(p, x) : x;
  if (!is_float(p) || !full) return elementwise(p, x);
  int64_t axis = pick(p, 0, p->rank - 1);
  return roll == 10 ? op_softmax(g, x, axis) : op_layer_norm(g, &x, 1, axis, 1e-3);
}

static void record_rows(problem *p) {
  ir_graph *g = &p->g;
  static const ir_dtype dtypes[] = {IR_F32, IR_F64, IR_I32, IR_I64, IR_F32};
  p->dtype = dtypes[pick(p, 0, 4)];
  p->rank = (uint32_t)pick(p, 2, 4);
  int64_t all = 1, symbolic = pick(p, 0, 2) ? -1 : pick(p, 0, p->rank - 1);
  for (uint32_t a = 0; a < p->rank; a++) {
    int64_t size = some_size(p);
    while (all * size > 40000) size = (size + 1) / 2;
    all *= size;
    p->shape[a] = ir_index(g, size);
    if (a == symbolic) p->shape[a] = p->var = ir_var(g, "n", 1, pick(p, 0, 1), size, 1);
  }
  p->reduced = (uint32_t)pick(p, 1, (1 << p->rank) - 1);
  if (p->reduced == (1u << p->rank) - 1) p->reduced &= ~(1u << pick(p, 0, p->rank - 1));
  p->value[p->value_count++] = add_input(p, p->dtype, p->shape, p->rank);
  ir_ref last = p->shape[p->rank - 1];
  if (pick(p, 0, 1)) p->value[p->value_count++] = add_input(p, p->dtype, p->shape, p->rank);
  if (pick(p, 0, 1)) p->input_count < FEW_INPUTS ? (void)add_input(p, p->dtype, &last, 1) : (void)0;
  for (int64_t steps = pick(p, 3, 12); steps > 0 && p->value_count < VALUES; steps--) {
    ir_ref made = next_value(p);
    if (made) p->value[p->value_count++] = made;
    else if (p->var) ir_error_clear(&p->error); /* an extremum of what may be empty */
    else break;
  }
  p->result_count = (uint32_t)pick(p, 1, FEW_RESULTS);
  for (uint32_t k = 0; k < p->result_count; k++)
    p->result[k] = k ? some_value(p) : p->value[p->value_count - 1];
}

static void record_attention(problem *p) {
  ir_graph *g = &p->g;
  static const int64_t counts[] = {1, 3, 16, 63, 64, 65, 96, 128, 192, 256};
  p->dtype = pick(p, 0, 3) ? IR_F32 : IR_F64;
  int64_t queries = counts[pick(p, 0, 9)], keys = pick(p, 0, 1) ? queries : counts[pick(p, 0, 9)],
          width = pick(p, 1, 40), columns = pick(p, 0, 1) ? width : pick(p, 1, 70);
  ir_ref batch = ir_index(g, pick(p, 1, 2)), heads = ir_index(g, pick(p, 1, 3));
  ir_ref q[] = {batch, heads, ir_index(g, queries), ir_index(g, width)};
  ir_ref k[] = {batch, heads, ir_index(g, keys), ir_index(g, width)};
  ir_ref v[] = {batch, heads, ir_index(g, keys), ir_index(g, columns)};
  p->special = pick(p, 0, 3) == 0;
  ir_ref x[] = {add_input(p, p->dtype, q, 4), add_input(p, p->dtype, k, 4), add_input(p, p->dtype, v, 4), 0};
  size_t n = 3;
  if (pick(p, 0, 2) == 0)
    x[n++] = add_input(p, pick(p, 0, 1) ? IR_BOOL : p->dtype, (ir_ref[]){q[2], k[2]}, 2);
  p->result[p->result_count++] = op_attention(g, x, n, 0, pick(p, 0, 3) > 0);
}

/* layers: every value has the axes p->shape and a last one */

/* Of a product with so many rows and terms. */
static int64_t some_width(problem *p, int64_t rows, int64_t terms, int64_t least, int64_t most) {
  static const int64_t edges[] = {1,  2,  3,  7,  8,   15,  16,  17,  24,  31,  32,  33,  48,  63,
                                  64, 65, 80, 96, 100, 112, 127, 128, 129, 144, 160, 192, 200, 256};
  int64_t size = 0;
  for (int tries = 0; tries < 20 && (size < least || size > most); tries++)
    size = edges[pick(p, 0, 3) ? pick(p, 6, 27) : pick(p, 0, 27)];
  while (rows * size * terms > 6 << 20) size = (size + 1) / 2;
  return size;
}

static int64_t width_of(problem *p, ir_ref x) {
  int64_t width = 1;
  ir_is_const(&p->g, ir_dim(&p->g, x, ir_rank(&p->g, x) - 1), &width);
  return width;
}

static ir_ref swapped(problem *p, ir_ref x) { return op_swap_axes(&p->g, x, -1, -2); }

static ir_ref vector_of(problem *p, ir_dtype dtype, int64_t width) {
  ir_ref size = ir_index(&p->g, width);
  return add_input(p, dtype, &size, 1);
}

/* As it is given, or computed from that. */
static ir_ref maybe_computed(problem *p, ir_ref x) {
  ir_graph *g = &p->g;
  switch (pick(p, 0, 9)) {
  case 0: return op_unary(g, IR_OP_NEG, x);
  case 1: return op_binary(g, IR_OP_MUL, x, ir_is_float(ir_dtype_of(g, x)) ? op_literal_float(g, 0.5) : x);
  case 2: return op_binary(g, IR_OP_SUB, x, vector_of(p, ir_dtype_of(g, x), width_of(p, x)));
  default: return x;
  }
}

/* Another product's, the same or turned, or a new one, mostly stored as [out, in]. */
static ir_ref some_weight(problem *p, int64_t in, int64_t out) {
  ir_graph *g = &p->g;
  for (uint32_t i = 0; i < p->weight_count; i++) {
    const weight *w = &p->weights[i];
    bool same = w->in == in && w->out == out, turned = w->in == out && w->out == in;
    if ((same || turned) && pick(p, 0, 1)) return same ? w->tensor : swapped(p, w->tensor);
  }
  bool by_columns = pick(p, 0, 3) > 0, in_batches = p->rank == 2 && pick(p, 0, 7) == 0;
  ir_ref sizes[] = {p->shape[0], ir_index(g, by_columns ? out : in), ir_index(g, by_columns ? in : out)};
  ir_ref w = maybe_computed(p, add_input(p, p->dtype, sizes + !in_batches, 2 + in_batches));
  if (by_columns) w = swapped(p, w);
  if (p->weight_count < WEIGHTS && !in_batches) p->weights[p->weight_count++] = (weight){w, in, out};
  return w;
}

static ir_ref activation(problem *p, ir_ref x) {
  ir_graph *g = &p->g;
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

/* A product with what stands behind it, x being [..., in]. */
static ir_ref layer(problem *p, ir_ref x, int64_t out, bool last) {
  ir_graph *g = &p->g;
  int64_t in = width_of(p, x);
  ir_ref y = op_matmul(g, x, some_weight(p, in, out));
  if (!y) return 0;
  if (pick(p, 0, 2)) y = op_binary(g, IR_OP_ADD, y, vector_of(p, ir_dtype_of(g, y), out));
  if (!last || pick(p, 0, 3) == 0) y = activation(p, y);
  if (p->value_count == 1 && pick(p, 0, 7) == 0) /* a gate: only once, as numbers grow */
    y = op_binary(g, IR_OP_MUL, y, op_matmul(g, x, some_weight(p, in, out)));
  if (!ir_is_float(p->dtype) && pick(p, 0, 1)) y = op_cast(g, y, p->dtype);
  for (uint32_t i = 0; i < p->value_count && pick(p, 0, 2); i++)
    if (width_of(p, p->value[i]) == out) {
      y = op_binary(g, pick(p, 0, 3) ? IR_OP_ADD : IR_OP_SUB, y, p->value[i]);
      break;
    }
  ir_ref shape[] = {p->shape[0], p->rank == 2 ? p->shape[1] : ir_index(g, out), ir_index(g, out)};
  if (last && pick(p, 0, 3) == 0)
    y = op_binary(g, IR_OP_ADD, y, add_input(p, ir_dtype_of(g, y), shape, p->rank + 1));
  return y;
}

/* What may follow along the last axis. */
static ir_ref tail(problem *p, ir_ref y) {
  ir_graph *g = &p->g;
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
  p->exact_result[p->result_count] = p->exact;
  p->result[p->result_count++] = result;
}

static void record_layers(problem *p) {
  static const ir_dtype dtypes[] = {IR_F32, IR_F32, IR_F32, IR_F32, IR_F64, IR_BF16, IR_F16, IR_I8, IR_I32};
  static const int64_t counts[] = {1,   3,   16,  17,  48,  63,  64,  65,  96,  100, 127, 128,
                                   129, 150, 191, 192, 200, 255, 256, 257, 300, 320, 384, 400};
  ir_graph *g = &p->g;
  p->layers = p->exact = p->dyadic = true;
  p->dtype = dtypes[pick(p, 0, 8)];
  p->special = ir_is_float(p->dtype) && pick(p, 0, 7) == 0;
  p->rank = (uint32_t)pick(p, 1, 2);
  int64_t batch = p->rank == 2 ? pick(p, 1, 4) : 1;
  int64_t rows = counts[pick(p, 0, 3) ? pick(p, batch > 1 ? 10 : 18, 23) : pick(p, 0, 23)];
  if (batch > 1 && rows > 200) rows = (rows + 1) / 2;
  p->shape[0] = ir_index(g, batch), p->shape[p->rank - 1] = ir_index(g, rows);
  if (pick(p, 0, 5) == 0) p->shape[p->rank - 1] = p->var = ir_var(g, "n", 1, 1, rows, 1);
  int64_t width = some_width(p, batch * rows, 16, 1, pick(p, 0, 3) ? 64 : 200);
  int64_t layers = pick(p, 0, 2) ? 2 : pick(p, 1, 4);
  ir_ref shape[] = {p->shape[0], p->rank == 2 ? p->shape[1] : ir_index(g, width), ir_index(g, width)};
  ir_ref x = maybe_computed(p, add_input(p, p->dtype, shape, p->rank + 1));
  if (pick(p, 0, 5) == 0) x = activation(p, x);
  p->value[p->value_count++] = x;
  for (int64_t i = 0; i < layers && x; i++) {
    bool last = i == layers - 1;
    int64_t in = width_of(p, x);
    bool wide = pick(p, 0, 4) ? i % 2 == 0 : pick(p, 0, 1); /* what is handed on is more than what is read */
    int64_t out =
        last && pick(p, 0, 1) ? width : some_width(p, batch * rows, in, wide ? 2 * in : 1, wide ? 256 : in);
    x = layer(p, x, out, last);
    if (!x) return;
    p->value[p->value_count++] = x;
    if (!last && pick(p, 0, 4) == 0 && p->result_count + 1 < RESULTS) want(p, x);
  }
  if (x) want(p, tail(p, x));
}

static void describe(problem *p) {
  ir_text text;
  ir_text_init(&text, p->g.mem);
  ir_print_graph(&p->g, "slab", ir_tuple(&p->g, p->result, p->result_count), &text);
  snprintf(p->what, sizeof p->what, "%s", ir_text_get(&text));
  ir_text_free(&text);
}

static size_t count_of(problem *p, ir_ref tensor, int64_t n) {
  size_t count = 1;
  for (uint32_t a = 0; a < ir_rank(&p->g, tensor); a++) {
    int64_t size = n;
    ir_is_const(&p->g, ir_dim(&p->g, tensor, a), &size);
    count *= (size_t)size;
  }
  return count;
}

static unsigned char *data_of(problem *p, ir_ref input, int64_t n) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, 1e30};
  ir_dtype t = ir_dtype_of(&p->g, input);
  size_t size = ir_dtypes[t].bytes, count = count_of(p, input, n);
  unsigned char *data = calloc(count + 1, size);
  for (size_t i = 0; i < count; i++) {
    ir_value v = {.i = t == IR_BOOL ? pick(p, 0, 4) > 0 : pick(p, -9, 9)};
    if (ir_is_float(t)) v.f = p->dyadic ? (double)pick(p, -2, 2) / 2 : (double)pick(p, -1000, 1000) / 500;
    ir_value_store(data + i * size, t, v);
  }
  for (int64_t k = p->special && ir_is_float(t) ? pick(p, 0, 2) : 0; k > 0 && count; k--)
    ir_value_store(data + (size_t)pick(p, 0, (int64_t)count - 1) * size, t,
                   (ir_value){.f = specials[pick(p, 0, p->dyadic ? 2 : 3)]});
  return data;
}

/* NaNs as a class */
static bool same_element(const unsigned char *a, const unsigned char *b, ir_dtype t) {
  if (memcmp(a, b, ir_dtypes[t].bytes) == 0) return true;
  return ir_is_float(t) && isnan(ir_value_load(a, t).f) && isnan(ir_value_load(b, t).f);
}

static bool same_bits(const unsigned char *a, const unsigned char *b, const ir_eval_result *type) {
  size_t size = ir_dtypes[type->dtype].bytes;
  bool same = true;
  for (size_t i = 0; i < type->bytes && same; i += size) same = same_element(a + i, b + i, type->dtype);
  return same;
}

static bool is_right(const problem *p, uint32_t result, const unsigned char *want, const unsigned char *got,
                     ir_dtype t) {
  if (same_element(want, got, t)) return true;
  if (!ir_is_float(t) || p->exact_result[result]) return false;
  double a = ir_value_load(want, t).f, b = ir_value_load(got, t).f;
  if (!isfinite(a) || !isfinite(b)) return a == b;
  return fabs(a - b) <= p->tolerance * (1 + fabs(a));
}

static void compare(problem *p, uint32_t result, const ir_eval_result *want,
                    unsigned char *const got[CONTEXTS], char *wrong, size_t room) {
  size_t size = ir_dtypes[want->dtype].bytes;
  for (int k = 1; k < CONTEXTS && !*wrong; k++)
    if (cases_same_order(&machines[k]) && !same_bits(got[0], got[k], want))
      cases_tell_bits(&machines[k], wrong, room);
  for (int k = 0; k < CONTEXTS; k++)
    for (int64_t i = 0; i < want->count && !*wrong && (k == 0 || !cases_same_order(&machines[k])); i++) {
      const unsigned char *w = (const unsigned char *)want->data + (size_t)i * size;
      if (is_right(p, result, w, got[k] + (size_t)i * size, want->dtype)) continue;
      snprintf(wrong, room, "element %" PRId64 " of %" PRId64 " is %.9g, expected %.9g%s%s", i, want->count,
               ir_value_load(got[k] + (size_t)i * size, want->dtype).f, ir_value_load(w, want->dtype).f,
               k ? " with " : "", k ? machines[k].target : "");
    }
  elements += want->count;
}

static void run_once(problem *p, rt_program *const programs[CONTEXTS], char *wrong, size_t room) {
  ir_error error = {0};
  ir_eval_result want[RESULTS] = {{0}};
  ir_binding_input bound[INPUTS];
  void *inputs[INPUTS];
  unsigned char *out[RESULTS][CONTEXTS] = {{NULL}};
  int64_t n = p->var ? pick(p, ir_bounds_of(&p->g, p->var).lo, ir_bounds_of(&p->g, p->var).hi) : 0;
  ir_var_value value = {p->var, n};
  for (uint32_t k = 0; k < p->input_count; k++)
    bound[k] = (ir_binding_input){p->input[k], inputs[k] = data_of(p, p->input[k], n)};
  ir_status status =
      ir_eval(&p->g, p->result, p->result_count, bound, p->input_count, &value, p->var != 0, want, &error);
  for (int c = 0; c < CONTEXTS && status == IR_OK; c++) {
    void *outputs[RESULTS];
    for (uint32_t k = 0; k < p->result_count; k++) outputs[k] = out[k][c] = calloc(1, want[k].bytes + 1);
    status = rt_program_run(programs[c], inputs, outputs, &n, &error);
  }
  if (status != IR_OK) snprintf(wrong, room, "%.150s", error.text);
  for (uint32_t k = 0; k < p->result_count && status == IR_OK; k++)
    compare(p, k, &want[k], out[k], wrong, room);
  ir_eval_free(&p->g, want, p->result_count);
  for (uint32_t k = 0; k < p->input_count; k++) free(inputs[k]);
  for (uint32_t k = 0; k < p->result_count; k++)
    for (int c = 0; c < CONTEXTS; c++) free(out[k][c]);
}

/* The listing of a kernel parses back to the same listing. */
static void check_text(problem *p, ir_ref kernel, char *wrong, size_t room) {
  ir_text first, second;
  ir_text_init(&first, &ir_mem_libc), ir_text_init(&second, &ir_mem_libc);
  ir_print_graph(&p->g, "k", kernel, &first);
  ir_graph again;
  ir_error error = {0};
  ir_module module = {0};
  ir_graph_init(&again, &ir_mem_libc, &error);
  if (ir_parse_module(&again, &fe_builder, "k", ir_text_get(&first), first.len, &module) != IR_OK) {
    snprintf(wrong, room, "a listing does not parse: %.150s", error.text);
  } else {
    ir_print_graph(&again, "k", module.graphs[0].root, &second);
    if (strcmp(ir_text_get(&first), ir_text_get(&second)) != 0)
      snprintf(wrong, room, "a listing changes when parsed");
  }
  ir_module_free(&module);
  ir_graph_free(&again);
  ir_text_free(&first), ir_text_free(&second);
}

static bool is_in_memory(const ir_plan *plan, ir_ref node) {
  for (size_t i = 0; i < plan->stored_count; i++)
    if (plan->stored[i].node == node) return true;
  return false;
}

/* Is there a sum of products in what computes the value from memory and other members of the slab? */
static bool has_product(const ir_graph *g, const ir_plan *plan, const ir_slab *slab, ir_ref value) {
  ir_ref todo[VALUES * VALUES] = {value};
  uint32_t count = 1;
  for (uint32_t next = 0; next < count; next++) {
    const ir_node *n = ir_get(g, todo[next]);
    bool stops = next && is_in_memory(plan, todo[next]);
    for (uint32_t i = 0; i < slab->count && next; i++) stops |= slab->values[i].value == todo[next];
    if (stops) continue;
    const ir_node *term = n->op == IR_OP_SUM ? ir_get(g, n->src[0]) : NULL;
    bool of_two =
        term && term->nsrc > 1 && term->src[0] != term->src[1] && ir_op_of(g, term->src[1]) != IR_OP_CONST;
    if (of_two && (term->op == IR_OP_FMA || term->op == IR_OP_MUL || term->op == IR_OP_DOT2)) return true;
    for (uint32_t i = 0; i < ir_operand_count(n) && count < VALUES * VALUES; i++) todo[count++] = n->src[i];
  }
  return false;
}

static uint32_t products(problem *p, const ir_plan *plan, const ir_slab *slab) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < slab->count; i++) count += has_product(&p->g, plan, slab, slab->values[i].value);
  return count;
}

static void count_slabs(problem *p, const ir_target *target, char *wrong, size_t room) {
  ir_plan plan;
  ir_error error = {0};
  pass_options options = {
      .target = target, .inputs = p->input, .input_count = p->input_count, .verify = true};
  ir_ref results = ir_tuple(&p->g, p->result, p->result_count);
  if (pass_pipeline(&p->g, results, &options, &plan, &error) != IR_OK) {
    snprintf(wrong, room, "%.150s", error.text);
    return;
  }
  uint32_t most = 0;
  for (size_t i = 0; i < plan.step_count; i++) {
    uint32_t here = products(p, &plan, &plan.steps[i].slab);
    if (here > most) most = here;
    kernels += plan.steps[i].kind == IR_STEP_KERNEL;
    slabs += plan.steps[i].slab.count > 0;
    if (plan.steps[i].slab.count && !*wrong) check_text(p, plan.steps[i].kernel, wrong, room);
  }
  layered += p->layers, shared += most > 1;
  ir_plan_free(&plan);
}

static void run(problem *p, char *wrong, size_t room) {
  rt_program *programs[CONTEXTS] = {NULL};
  ir_error error = {0};
  fe_request request = {.graph = &p->g,
                        .results = ir_tuple(&p->g, p->result, p->result_count),
                        .inputs = p->input,
                        .input_count = p->input_count,
                        .vars = &p->var,
                        .var_count = p->var != 0,
                        .name = "slab"};
  for (int c = 0; c < CONTEXTS && !*wrong; c++)
    if (fe_compile(contexts[c], &request, &programs[c], &error) != IR_OK)
      snprintf(wrong, room, "%.150s", error.text);
  for (int k = 0; k < RUNS && !*wrong; k++) run_once(p, programs, wrong, room);
  for (int c = 0; c < CONTEXTS; c++)
    if (programs[c]) rt_program_release(programs[c]);
}

static bool check(uint64_t seed, bool shown, const ir_target *target) {
  problem p = {.state = seed};
  char wrong[200] = "";
  ir_graph_init(&p.g, &ir_mem_libc, &p.error);
  switch (pick(&p, 0, 5)) {
  case 0: record_attention(&p); break;
  case 1:
  case 2: record_layers(&p); break;
  default: record_rows(&p);
  }
  p.tolerance = p.dtype == IR_F64 ? 1e-8 : ir_dtypes[p.dtype].bytes < 4 ? 2e-2 : 2e-3;
  if (shown) {
    describe(&p);
    printf("%s", p.what);
    ir_graph_free(&p.g);
    return true;
  }
  if (p.error.status) snprintf(wrong, sizeof wrong, "%.150s", p.error.text);
  else run(&p, wrong, sizeof wrong);
  if (!*wrong) count_slabs(&p, target, wrong, sizeof wrong);
  if (*wrong) describe(&p);
  if (*wrong) fprintf(stderr, "%s%s\n(prop_slab --case %" PRIu64 ")\n", p.what, wrong, seed);
  ir_graph_free(&p.g);
  return !*wrong;
}

static bool shows;
static const ir_target *described; /* this machine */

static bool check_case(uint64_t seed) { return check(seed, shows, described); }

int main(int argc, char **argv) {
  cases c = cases_read(argc, argv, 60);
  ir_error error = {0};
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], "--show") == 0)
      c.seed = strtoull(argv[i + 1], NULL, 0), c.count = 1, c.again = shows = true;
  if (!cases_open(machines, CONTEXTS, contexts)) return 1;
  described = rt_context_target(contexts[0], &error);
  cases_run(&c, check_case);
  cases_close(contexts, CONTEXTS);
  printf(
      "prop_slab: %ld graphs, %ld slabs among %ld kernels, %ld of %ld layers with several products in one, "
      "%ld elements, %ld failed, seed %" PRIu64 "\n",
      c.done, slabs, kernels, shared, layered, elements, c.failed, c.seed);
  return c.failed != 0;
}
