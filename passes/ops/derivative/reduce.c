/* Derivatives of reductions and of matrix products. */
#include "derivative.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

static bool is_reduced(const op_call *c, uint32_t axis) {
  for (uint32_t k = 1; k < c->n->nsrc; k++)
    if (ir_get(c->g, c->n->src[k])->arg == axis) return true;
  return false;
}

ir_ref op_spread(const op_call *c, ir_ref value) {
  ir_graph *g = c->g;
  ir_ref dims[IR_MAX_RANK] = {0}, x = c->n->src[0];
  for (uint32_t k = 0; k < ir_rank(g, x); k++) dims[k] = is_reduced(c, k) ? ir_index(g, 1) : ir_dim(g, x, k);
  value = op_reshape_known(g, value, dims, ir_rank(g, x));
  return value ? op_grow(g, value, op_dims(g, x), ir_rank(g, x)) : 0;
}

/* The number of the operand's elements with a true `mask` that go into each result, in the shape of y. */
static ir_ref count_true(const op_call *c, ir_ref mask, ir_dtype dtype) {
  ir_ref ones = op_cast(c->g, mask, IR_I64);
  ones = op_reduce(c->g, IR_OP_SUM, ones, c->n->src + 1, c->n->nsrc - 1, ir_arg_mode(c->n));
  return op_cast(c->g, ones, dtype);
}

/* a op b, computed in f32 where the operands are narrower. */
static ir_ref op_in_wide_dtype(const op_call *c, ir_op op, ir_ref a, ir_ref b) {
  ir_dtype dtype = (ir_dtype)c->n->dtype, wide = op_wide(dtype);
  return op_cast(c->g, op_binary(c->g, op, op_cast(c->g, a, wide), op_cast(c->g, b, wide)), dtype);
}

RULE(sum) {
  (void)i;
  return op_spread(c, d);
}

RULE(mean) {
  ir_graph *g = c->g;
  ir_ref x = c->n->src[i], count = ir_index(g, 1);
  int64_t value;
  for (uint32_t k = 1; k < c->n->nsrc; k++)
    count = pass_mul(g, count, ir_dim(g, x, (uint32_t)ir_get(g, c->n->src[k])->arg));
  if (!count) return 0;
  ir_dtype wide = op_wide((ir_dtype)c->n->dtype);
  if (ir_is_const(g, count, &value)) count = ir_float(g, wide, (double)value);
  else count = count_true(c, op_full(g, ir_bool(g, true), op_dims(g, x), ir_rank(g, x)), wide);
  return op_spread(c, op_in_wide_dtype(c, IR_OP_DIV, d, count));
}

/* d is split equally among the elements that equal the extremum; among the NaNs where that is NaN. */
RULE(reduce_extremum) {
  ir_graph *g = c->g;
  ir_ref x = c->n->src[i], zero = ir_const(g, (ir_dtype)c->n->dtype, (ir_value){.i = 0});
  ir_ref is_it =
      op_logical(g, IR_OP_OR, op_binary(g, IR_OP_EQ, x, op_spread(c, c->y)), op_binary(g, IR_OP_NE, x, x));
  ir_ref shares = op_spread(c, count_true(c, is_it, op_wide((ir_dtype)c->n->dtype)));
  return op_where(g, is_it, op_in_wide_dtype(c, IR_OP_DIV, d, shares), zero);
}

/* The last axis of n elements padded with ones to the even number 2 * half, then split into half pairs. */
static ir_ref paired(ir_graph *g, ir_ref x, ir_ref half) {
  ir_ref dims[IR_MAX_RANK], pads[2 * IR_MAX_RANK], zero = ir_index(g, 0), two = ir_index(g, 2);
  uint32_t last = ir_rank(g, x) - 1;
  for (uint32_t k = 0; k <= last; k++) {
    dims[k] = ir_dim(g, x, k);
    pads[2 * k] = pads[2 * k + 1] = zero;
  }
  pads[2 * last + 1] = pass_sub(g, pass_mul_int(g, half, 2), dims[last]);
  dims[last] = half, dims[last + 1] = two;
  return op_reshape_known(g, op_pad_known(g, x, pads, ir_float(g, ir_dtype_of(g, x), 1)), dims, last + 2);
}

/* Merges pairs into one axis, of which the first n elements remain. */
static ir_ref unpaired(ir_graph *g, ir_ref x, ir_ref n) {
  ir_ref dims[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  if (!x || !n) return 0;
  uint32_t last = ir_rank(g, x) - 2;
  for (uint32_t k = 0; k <= last; k++) {
    dims[k] = k == last ? pass_mul_int(g, ir_dim(g, x, k), 2) : ir_dim(g, x, k);
    bounds[2 * k] = ir_index(g, 0);
    bounds[2 * k + 1] = k == last ? n : dims[k];
  }
  return op_shrink_known(g, op_reshape_known(g, x, dims, last + 1), bounds);
}

/* The product of all the other elements along the last axis of x, by a tree of products: going up, the pairs
 * of each level are multiplied; going down, each half of a pair is multiplied by the other half. Nothing is
 * divided, so zeros, and derivatives of this derivative, come out right. */
static ir_ref product_of_others(ir_graph *g, ir_ref x) {
  enum { LEVELS = 52 }; /* enough for more elements than fit in memory */
  ir_ref pairs[LEVELS + 1], sizes[LEVELS + 1], zero = ir_index(g, 0), one = ir_index(g, 1),
                                               two = ir_index(g, 2);
  ir_ref unit = ir_float(g, ir_dtype_of(g, x), 1), made = 0;
  uint32_t last = ir_rank(g, x) - 1;
  int levels = 0;
  for (; x && ir_bounds_of(g, ir_dim(g, x, last)).hi > 1; levels++) {
    ir_ref n = sizes[levels] = ir_dim(g, x, last), half = pass_ceil_div(g, n, two);
    if (levels == LEVELS)
      return op_refuse(g, "prod: a size of %s elements is too large to differentiate%s", OP_EXPR(sizes[0]),
                       OP_FACT(IR_OP_LE, sizes[0], ir_index(g, (int64_t)1 << LEVELS)));
    x = pairs[levels] = half ? paired(g, x, half) : 0;
    x = op_binary(g, IR_OP_MUL, op_point(g, x, zero, last + 1), op_point(g, x, one, last + 1));
  }
  if (!x) return 0;
  if (levels == 0) return op_full(g, unit, op_dims(g, x), last + 1);
  ir_ref axis = ir_index(g, last + 1);
  while (levels-- > 0) {
    ir_ref swapped = op_flip(g, pairs[levels], &axis, 1);
    if (made) made = op_binary(g, IR_OP_MUL, op_unsqueeze(g, made, last + 1), swapped);
    else made = swapped;
    if (!(made = unpaired(g, made, sizes[levels]))) return 0;
  }
  return made;
}

/* Reduced axes are moved last and merged; the others stay, or are merged where the rank leaves no room for
 * the axis of pairs. */
RULE(prod) {
  ir_graph *g = c->g;
  ir_ref x = c->n->src[i], order[IR_MAX_RANK], inverse[IR_MAX_RANK], flat[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x), kept = 0, at = 0;
  for (int last = 0; last < 2; last++)
    for (uint32_t k = 0; k < rank; k++) {
      if (is_reduced(c, k) != last) continue;
      inverse[k] = ir_index(g, at);
      order[at++] = ir_index(g, k);
      kept += !last;
    }
  ir_ref permuted = op_permute(g, op_cast(g, x, op_wide((ir_dtype)c->n->dtype)), order, rank);
  if (!permuted) return 0;
  const ir_ref *dims = op_dims(g, permuted);
  uint32_t rows = kept + 2 > IR_MAX_RANK ? 1 : kept;
  for (uint32_t k = 0; k < rows; k++) flat[k] = rows == kept ? dims[k] : op_numel(g, dims, kept);
  flat[rows] = op_numel(g, dims + kept, rank - kept);
  ir_ref rest = op_reshape_known(g, permuted, flat, rows + 1);
  rest = rest ? op_reshape_known(g, product_of_others(g, rest), dims, rank) : 0;
  return op_in_wide_dtype(c, IR_OP_MUL, d, op_permute(g, rest, inverse, rank));
}

RULE(matmul) {
  ir_ref other = op_swap_axes(c->g, c->n->src[1 - i], -1, -2);
  return i == 0 ? op_matmul(c->g, d, other) : op_matmul(c->g, other, d);
}
