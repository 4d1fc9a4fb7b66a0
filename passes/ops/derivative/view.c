/* Transposes of views: each element of the operand gets the sum of the cotangents of the elements that read
 * it. */
#include "derivative.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

/* The slice [begin, end) of one axis of x; the other axes stay whole. */
static ir_ref window(ir_graph *g, ir_ref x, uint32_t axis, ir_ref begin, ir_ref end) {
  if (!x) return 0;
  ir_ref bounds[2 * IR_MAX_RANK];
  for (uint32_t k = 0; k < ir_rank(g, x); k++) {
    bounds[2 * k] = k == axis ? begin : ir_index(g, 0);
    bounds[2 * k + 1] = k == axis ? end : ir_dim(g, x, k);
  }
  return op_shrink_known(g, x, bounds);
}

/* Pads one axis with zeros. */
static ir_ref margin(ir_graph *g, ir_ref x, uint32_t axis, ir_ref before, ir_ref after) {
  if (!x) return 0;
  ir_ref pads[2 * IR_MAX_RANK];
  for (uint32_t k = 0; k < ir_rank(g, x); k++) {
    pads[2 * k] = k == axis ? before : ir_index(g, 0);
    pads[2 * k + 1] = k == axis ? after : ir_index(g, 0);
  }
  return op_pad_known(g, x, pads, 0);
}

static ir_ref sum_over(ir_graph *g, ir_ref x, uint32_t axis, bool keepdims) {
  ir_ref at = ir_index(g, axis);
  return x && at ? op_reduce(g, IR_OP_SUM, x, &at, 1, keepdims) : 0;
}

static ir_ref flipped(ir_graph *g, ir_ref x, uint32_t axis) {
  ir_ref at = ir_index(g, axis);
  return x && at ? op_flip(g, x, &at, 1) : 0;
}

/* x with the axis split into a and b; *at is the index of a. */
static ir_ref split_axis(ir_graph *g, ir_ref x, uint32_t axis, ir_ref a, ir_ref b, uint32_t *at) {
  ir_ref dims[IR_MAX_RANK];
  *at = 0;
  if (!x) return 0;
  uint32_t rank = ir_rank(g, x);
  *at = op_split_axis(g, op_dims(g, x), rank, axis, a, b, dims);
  return op_reshape_known(g, x, dims, rank < IR_MAX_RANK ? rank + 1 : 4);
}

/* x reshaped to the shape of `like`, except that the axis has the given size. */
static ir_ref merge_axes(ir_graph *g, ir_ref x, ir_ref like, uint32_t axis, ir_ref size) {
  ir_ref dims[IR_MAX_RANK];
  for (uint32_t k = 0; k < ir_rank(g, like); k++) dims[k] = k == axis ? size : ir_dim(g, like, k);
  return op_reshape_known(g, x, dims, ir_rank(g, like));
}

RULE(permute) {
  ir_ref inverse[IR_MAX_RANK];
  uint32_t rank = ir_rank(c->g, d);
  for (uint32_t k = 0; k < rank; k++) inverse[ir_get(c->g, c->n->src[1 + k])->arg] = ir_index(c->g, k);
  (void)i;
  return op_permute(c->g, d, inverse, rank);
}

RULE(expand) {
  ir_ref axes[IR_MAX_RANK], x = c->n->src[i];
  size_t count = 0;
  for (uint32_t k = 0; k < ir_rank(c->g, d); k++)
    if (ir_dim(c->g, x, k) != ir_dim(c->g, d, k)) axes[count++] = ir_index(c->g, k);
  return op_reduce(c->g, IR_OP_SUM, d, axes, count, true);
}

RULE(reshape) {
  ir_ref x = c->n->src[i];
  return op_reshape_known(c->g, d, op_dims(c->g, x), ir_rank(c->g, x));
}

RULE(shrink) {
  ir_ref pads[2 * IR_MAX_RANK];
  uint32_t rank = ir_rank(c->g, d);
  for (uint32_t k = 0; k < rank; k++) {
    pads[2 * k] = c->n->src[1 + 2 * k];
    pads[2 * k + 1] = pass_sub(c->g, ir_dim(c->g, c->n->src[i], k), c->n->src[2 + 2 * k]);
  }
  return op_pad_known(c->g, d, pads, 0);
}

/* Places the m elements of an axis `step` apart, with zeros between, n elements in all. For a step of n or
 * more only the first element is used, so such a step is reduced. */
static ir_ref spaced(ir_graph *g, ir_ref d, uint32_t axis, ir_ref n, int64_t step) {
  int64_t most = ir_bounds_of(g, n).hi;
  if (step > most) step = most > 1 ? most : 1;
  ir_ref m = ir_dim(g, d, axis), like = d, all = pass_mul_int(g, m, step);
  uint32_t at;
  d = split_axis(g, d, axis, m, ir_index(g, 1), &at);
  d = margin(g, d, at + 1, ir_index(g, 0), ir_index(g, step - 1));
  d = d ? merge_axes(g, d, like, axis, all) : 0;
  return window(g, d, axis, ir_index(g, 0), n);
}

RULE(stride) {
  for (uint32_t k = 0; k < ir_rank(c->g, c->y) && d; k++) {
    int64_t step = ir_get(c->g, c->n->src[1 + k])->arg;
    if (step != 1 && step != -1)
      d = spaced(c->g, d, k, ir_dim(c->g, c->n->src[i], k), step < 0 ? -step : step);
    if (step < 0) d = flipped(c->g, d, k);
  }
  return d;
}

RULE(flip) {
  (void)i;
  return op_flip(c->g, d, c->n->src + 1, c->n->nsrc - 1);
}

RULE(point) {
  uint32_t axis = (uint32_t)ir_arg_int(c->n);
  ir_ref at = c->n->src[1],
         after = pass_sub(c->g, ir_dim(c->g, c->n->src[i], axis), pass_add_int(c->g, at, 1));
  return margin(c->g, op_unsqueeze(c->g, d, axis), axis, at, after);
}

/* Cotangents at the indices -before, -before + 1, ... of an axis, summed where the indices are equal modulo
 * the period. */
static ir_ref wrapped(ir_graph *g, ir_ref d, uint32_t axis, ir_ref before, ir_ref period) {
  ir_ref lead = pass_mod(g, pass_sub(g, ir_index(g, 0), before), period), like = d;
  ir_ref size = pass_add(g, lead, ir_dim(g, d, axis)), times = pass_ceil_div(g, size, period);
  d = margin(g, d, axis, lead, pass_sub(g, pass_mul(g, times, period), size));
  uint32_t at;
  d = split_axis(g, d, axis, times, period, &at);
  d = sum_over(g, d, at, false);
  return d ? merge_axes(g, d, like, axis, period) : 0;
}

/* Period 2(n-1): index q >= n within a period reads element 2(n-1) - q, which lies in 1..n-2. */
static ir_ref reflected(ir_graph *g, ir_ref d, uint32_t axis, ir_ref before, ir_ref n) {
  ir_ref one = ir_index(g, 1), two = ir_index(g, 2), zero = ir_index(g, 0);
  if (op_is_one(g, n)) return sum_over(g, d, axis, true);
  if (!op_decided(g, IR_OP_GE, n, two))
    return op_refuse(
        g,
        "pad: mode=reflect of axis %u, of size %s, can be differentiated where the size is known to "
        "be 1, or at least 2%s",
        axis, OP_EXPR(n), OP_FACT(IR_OP_GE, n, two));
  ir_ref period = pass_mul_int(g, pass_add_int(g, n, -1), 2);
  d = wrapped(g, d, axis, before, period);
  ir_ref back = margin(g, flipped(g, window(g, d, axis, n, period), axis), axis, one, one);
  return op_binary(g, IR_OP_ADD, window(g, d, axis, zero, n), back);
}

/* Cotangents outside the axis are added to its first and last element. */
static ir_ref clamped(ir_graph *g, ir_ref d, uint32_t axis, ir_ref before, ir_ref n) {
  ir_ref zero = ir_index(g, 0), end = pass_add(g, before, n), rest = pass_add_int(g, n, -1);
  ir_ref first = sum_over(g, window(g, d, axis, zero, before), axis, true);
  ir_ref last = sum_over(g, window(g, d, axis, end, ir_dim(g, d, axis)), axis, true);
  ir_ref inside =
      op_binary(g, IR_OP_ADD, window(g, d, axis, before, end), margin(g, first, axis, zero, rest));
  return op_binary(g, IR_OP_ADD, inside, margin(g, last, axis, rest, zero));
}

RULE(pad) {
  ir_graph *g = c->g;
  int mode = ir_arg_mode(c->n);
  for (uint32_t k = 0; k < ir_rank(g, c->y) && d; k++) {
    ir_ref before = c->n->src[2 + 2 * k], after = c->n->src[3 + 2 * k], n = ir_dim(g, c->n->src[i], k);
    if (before == ir_index(g, 0) && after == before) continue;
    if (mode == IR_PAD_CONSTANT) d = window(g, d, k, before, pass_add(g, before, n));
    if (mode == IR_PAD_EDGE) d = clamped(g, d, k, before, n);
    if (mode == IR_PAD_REFLECT) d = reflected(g, d, k, before, n);
    if (mode == IR_PAD_WRAP) d = wrapped(g, d, k, before, n);
  }
  return d;
}

RULE(concat) {
  uint32_t axis = (uint32_t)ir_arg_int(c->n);
  if (!c->offset) c->offset = ir_index(c->g, 0);
  for (; c->passed < i; c->passed++)
    c->offset = pass_add(c->g, c->offset, ir_dim(c->g, c->n->src[c->passed], axis));
  return window(c->g, d, axis, c->offset, pass_add(c->g, c->offset, ir_dim(c->g, c->n->src[i], axis)));
}

RULE(stack) { return op_point(c->g, d, ir_index(c->g, i), ir_arg_int(c->n)); }
