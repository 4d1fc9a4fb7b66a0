/* Derivatives of cumulative operations and of sorting along one axis. Lines are [before, n, behind]. The
 * effect of every element on every later result is a square, [before, n, n, behind], indexed by element and
 * result: an axis of n elements takes O(n^2) operations. */
#include "derivative.h"
#include "passes/ops/compose/impl.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

/* Axes of the square [before, ELEMENT, RESULT, behind] of lines; SQUARE: how many there are. */
enum { ELEMENT = 1, RESULT = 2, SQUARE = 4 };

static int64_t axis_of(const op_call *c) { return ir_arg_int(c->n); }

/* element CMP result, by their indices, in a shape that broadcasts to the square of these lines. */
static ir_ref compare_indices(ir_graph *g, ir_op cmp, ir_ref lines) {
  ir_ref one = ir_index(g, 1), n = lines ? ir_dim(g, lines, 1) : 0, dims[] = {one, n, n, one};
  if (!n) return 0;
  return op_binary(g, cmp, op_iota(g, IR_I64, dims, SQUARE, ELEMENT),
                   op_iota(g, IR_I64, dims, SQUARE, RESULT));
}

/* Lines of elements, or of results, broadcast along the other axis of the square. */
static ir_ref elements(ir_graph *g, ir_ref lines) { return op_unsqueeze(g, lines, RESULT); }
static ir_ref results(ir_graph *g, ir_ref lines) { return op_unsqueeze(g, lines, ELEMENT); }

/* Sums the square: over results for a cotangent, which goes to elements; over elements for a tangent. */
static ir_ref sum_square(ir_graph *g, ir_ref square, bool forward) {
  ir_ref axis = ir_index(g, forward ? ELEMENT : RESULT);
  return square ? op_reduce(g, IR_OP_SUM, square, &axis, 1, false) : 0;
}
static ir_ref spread_direction(ir_graph *g, ir_ref d, bool forward) {
  return forward ? elements(g, d) : results(g, d);
}

RULE(cumsum) {
  (void)i;
  return op_cumulative(c->g, IR_OP_CUMSUM, d, axis_of(c), false, true);
}

/* dy_i / dx_j, j <= i, is the product of all elements up to i except j: of those before j, and of those after
 * j up to i. Nothing is divided, so zeros, and derivatives of this derivative, come out right. */
RULE(cumprod) {
  ir_graph *g = c->g;
  ir_dtype dtype = (ir_dtype)c->n->dtype, wide = op_wide(dtype);
  ir_ref one = ir_float(g, wide, 1), zero = ir_float(g, wide, 0);
  ir_ref x = op_lines(g, op_cast(g, c->n->src[i], wide), axis_of(c));
  ir_ref before = elements(g, op_cumulative(g, IR_OP_CUMPROD, x, 1, true, false));
  ir_ref behind = op_where(g, compare_indices(g, IR_OP_LT, x), results(g, x), one);
  behind = behind ? op_cumulative(g, IR_OP_CUMPROD, behind, RESULT, false, false) : 0;
  d = spread_direction(g, op_lines(g, op_cast(g, d, wide), axis_of(c)), c->forward);
  d = op_mul(g, d, op_mul(g, before, behind));
  d = sum_square(g, op_where(g, compare_indices(g, IR_OP_LE, x), d, zero), c->forward);
  return op_cast(g, op_unlines(g, d, c->y), dtype);
}

/* The derivative of each result is split equally among the elements up to it that equal the extremum; among
 * the NaNs where that is NaN. */
RULE(cumulative_extremum) {
  ir_graph *g = c->g;
  ir_dtype dtype = (ir_dtype)c->n->dtype, wide = op_wide(dtype);
  ir_ref x = op_lines(g, c->n->src[i], axis_of(c)), y = op_lines(g, c->y, axis_of(c));
  ir_ref element = elements(g, x), zero = ir_float(g, wide, 0);
  ir_ref is_it = op_logical(g, IR_OP_OR, op_binary(g, IR_OP_EQ, element, results(g, y)),
                            op_binary(g, IR_OP_NE, element, element));
  is_it = op_logical(g, IR_OP_AND, is_it, compare_indices(g, IR_OP_LE, x));
  ir_ref shares = is_it ? op_cast(g, sum_square(g, op_cast(g, is_it, IR_I64), true), wide) : 0;
  d = op_lines(g, op_cast(g, d, wide), axis_of(c));
  if (!c->forward) d = op_div(g, d, shares);
  d = sum_square(g, op_where(g, is_it, spread_direction(g, d, c->forward), zero), c->forward);
  if (c->forward) d = op_div(g, d, shares);
  return op_cast(g, op_unlines(g, d, c->y), dtype);
}

/* Applies the permutation that sorts (forward), or its inverse, which is the argsort of the permutation. */
RULE(sort) {
  ir_graph *g = c->g;
  int64_t axis = axis_of(c);
  ir_ref at = op_sort(g, IR_OP_ARGSORT, c->n->src[i], axis, ir_arg_mode(c->n) != 0);
  if (!c->forward) at = op_sort(g, IR_OP_ARGSORT, op_cast(g, at, IR_U32), axis, false);
  d = op_take_lines(g, op_lines(g, d, axis), op_lines(g, at, axis));
  return op_unlines(g, d, c->y);
}
