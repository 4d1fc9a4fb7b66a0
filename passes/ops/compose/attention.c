/* Attention (Vaswani et al. 2017): softmax(q k^T scale + mask) v. As in softmax, the maximum score of a row
 * is subtracted, so that nothing overflows; the result does not depend on it, so derivatives treat it as a
 * constant. Rows are divided by their sums at the end; a row without a key becomes 0 / 1. */
#include "impl.h"

#include <math.h>

enum { Q, K, V, MASK };

typedef struct attention {
  ir_ref x[4]; /* in the dtype to compute in, except the mask */
  size_t n;
  ir_dtype dtype; /* of the result */
} attention;

static ir_ref from_end(ir_graph *g, ir_ref x, uint32_t i) { return ir_dim(g, x, ir_rank(g, x) - i); }

/* Checks ranks and the last axes of q, k and v; false after failing. */
static bool check_ranks(ir_graph *g, const attention *a) {
  const ir_ref *x = a->x;
  for (int i = Q; i <= V; i++) {
    if (ir_rank(g, x[i]) >= 2) continue;
    op_refuse(g, "attention: %c has shape %s; takes rank 2 or more: positions and features", "qkv"[i],
              OP_TYPE(x[i]));
    return false;
  }
  ir_ref width = from_end(g, x[Q], 1), other = from_end(g, x[K], 1);
  if (!op_decided(g, IR_OP_EQ, width, other)) {
    op_refuse(g, "attention: q has shape %s, k has shape %s; their last sizes, %s and %s, must be equal%s",
              OP_TYPE(x[Q]), OP_TYPE(x[K]), OP_EXPR(width), OP_EXPR(other), OP_FACT(IR_OP_EQ, width, other));
    return false;
  }
  ir_ref keys = from_end(g, x[K], 2), values = from_end(g, x[V], 2);
  if (op_decided(g, IR_OP_EQ, keys, values)) return true;
  op_refuse(g,
            "attention: k has shape %s, v has shape %s; the keys, %s, and the values, %s, must be as many%s",
            OP_TYPE(x[K]), OP_TYPE(x[V]), OP_EXPR(keys), OP_EXPR(values), OP_FACT(IR_OP_EQ, keys, values));
  return false;
}

/* Axes before the last two broadcast; false after failing. */
static bool check_batch(ir_graph *g, const attention *a) {
  for (int k = K; k <= V; k++) {
    uint32_t lead = ir_rank(g, a->x[Q]) < ir_rank(g, a->x[k]) ? ir_rank(g, a->x[Q]) : ir_rank(g, a->x[k]);
    for (uint32_t i = 3; i <= lead; i++) {
      ir_ref mine = from_end(g, a->x[Q], i), other = from_end(g, a->x[k], i);
      if (op_is_one(g, mine) || op_is_one(g, other) || op_decided(g, IR_OP_EQ, mine, other)) continue;
      op_refuse(
          g,
          "attention: q has shape %s, %c has shape %s; the axes before the last two, batch and heads, must "
          "be "
          "equal or 1, and positions and features come last: heads behind positions are put before them by "
          "permute %%q order=[0,2,1,3]%s",
          OP_TYPE(a->x[Q]), "qkv"[k], OP_TYPE(a->x[k]), OP_FACT(IR_OP_EQ, mine, other));
      return false;
    }
  }
  return true;
}

/* A mask broadcasts to [..., queries, keys]; false after failing. */
static bool mask_fits(ir_graph *g, const attention *a) {
  ir_ref mask = a->x[MASK];
  ir_dtype dtype = ir_dtype_of(g, mask);
  if (dtype != IR_BOOL && !ir_is_float(dtype)) {
    op_refuse(
        g,
        "attention: the mask has shape %s; a mask is bool, true where a key takes part, or a float that is "
        "added to the score",
        OP_TYPE(mask));
    return false;
  }
  const ir_ref wanted[] = {from_end(g, a->x[K], 2), from_end(g, a->x[Q], 2)};
  for (uint32_t i = 1; i <= 2 && i <= ir_rank(g, mask); i++) {
    ir_ref size = from_end(g, mask, i);
    if (op_is_one(g, size) || op_decided(g, IR_OP_EQ, size, wanted[i - 1])) continue;
    op_refuse(
        g,
        "attention: the mask has shape %s; q has shape %s, k has shape %s; the mask's last sizes are those "
        "of the queries and the keys, %s and %s, or 1%s",
        OP_TYPE(mask), OP_TYPE(a->x[Q]), OP_TYPE(a->x[K]), OP_EXPR(wanted[1]), OP_EXPR(wanted[0]),
        OP_FACT(IR_OP_EQ, size, wanted[i - 1]));
    return false;
  }
  return true;
}

static bool start_attention(ir_graph *g, attention *a, const ir_ref *x, size_t n, double scale) {
  a->n = n;
  for (size_t i = 0; i < n; i++) a->x[i] = x[i];
  if (!op_compose_begin(g, "attention", a->x, n) || !check_ranks(g, a) || !check_batch(g, a) ||
      (n > MASK && !mask_fits(g, a)))
    return false;
  if (!isfinite(scale)) {
    op_refuse(g, "attention: scale is %g; takes a finite number, 0 for 1 / sqrt(%s)", scale,
              OP_EXPR(from_end(g, a->x[Q], 1)));
    return false;
  }
  ir_dtype common = op_common(g, "attention", a->x, 3);
  if (common == IR_NONE) return false;
  a->dtype = op_float_result(common);
  for (int i = Q; i <= V; i++) a->x[i] = op_convert(g, "attention", a->x[i], op_float_wide(a->dtype));
  return a->x[Q] && a->x[K] && a->x[V];
}

/* scale, or 1 / sqrt(features) */
static ir_ref factor(ir_graph *g, const attention *a, double scale) {
  ir_dtype wide = op_float_wide(a->dtype);
  ir_ref features = from_end(g, a->x[Q], 1);
  int64_t n;
  if (scale != 0) return ir_float(g, wide, scale);
  if (ir_is_const(g, features, &n)) return ir_float(g, wide, n ? 1 / sqrt((double)n) : 1);
  return op_div(g, ir_float(g, wide, 1), op_unary(g, IR_OP_SQRT, op_size_value(g, wide, features)));
}

/* The scores of the keys that take part, -inf for the others */
static ir_ref masked(ir_graph *g, const attention *a, ir_ref scores, bool causal) {
  ir_ref none = ir_float(g, op_float_wide(a->dtype), -INFINITY);
  if (a->n > MASK && ir_dtype_of(g, a->x[MASK]) == IR_BOOL) scores = op_where(g, a->x[MASK], scores, none);
  else if (a->n > MASK)
    scores = op_add(g, scores, op_convert(g, "attention", a->x[MASK], op_float_wide(a->dtype)));
  if (!causal) return scores;
  ir_ref shape[] = {from_end(g, a->x[Q], 2), from_end(g, a->x[K], 2)};
  ir_ref query = op_iota(g, IR_I64, shape, 2, 0), key = query ? op_iota(g, IR_I64, shape, 2, 1) : 0;
  return op_where(g, op_binary(g, IR_OP_LE, key, query), scores, none);
}

ir_ref op_attention(ir_graph *g, const ir_ref *x, size_t n, double scale, bool causal) {
  attention a = {.n = 0};
  if (!start_attention(g, &a, x, n, scale)) return 0;
  ir_dtype wide = op_float_wide(a.dtype);
  ir_ref last = ir_index(g, -1), zero = ir_float(g, wide, 0), one = ir_float(g, wide, 1);
  ir_ref products = op_matmul(g, a.x[Q], op_swap_axes(g, a.x[K], -1, -2));
  ir_ref scores = products ? masked(g, &a, op_mul(g, products, factor(g, &a, scale)), causal) : 0;
  ir_ref most = scores ? op_reduce(g, IR_OP_REDUCE_MAX, scores, &last, 1, true) : 0;
  ir_ref nothing = op_binary(g, IR_OP_EQ, most, ir_float(g, wide, -INFINITY));
  ir_ref shift = op_stop_gradient(g, op_where(g, nothing, zero, most));
  ir_ref weights = op_unary(g, IR_OP_EXP, op_sub(g, scores, shift));
  ir_ref sum = weights ? op_reduce(g, IR_OP_SUM, weights, &last, 1, true) : 0;
  ir_ref whole = op_where(g, op_binary(g, IR_OP_EQ, sum, zero), one, sum);
  ir_ref y = op_div(g, op_matmul(g, weights, a.x[V]), whole);
  return op_compose_end(g, "attention", op_cast(g, y, a.dtype));
}
