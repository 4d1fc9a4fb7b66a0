/* Derivatives along one axis in its order, of cumulative operations and of sorting. Lines are [before, n,
 * behind]. What every earlier element does to every later result is a square, [before, n, n, behind], of
 * element and result: for one of n elements these derivatives take O(n^2) operations. */
#include "derivative.h"
#include "passes/ops/compose/impl.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

enum { ELEMENT = 1, RESULT = 2, SQUARE = 4 };

static int64_t axis_of(const op_call *c) { return ir_arg_int(c->n); }

/* element CMP result, by their positions, in a shape that broadcasts to the square of these lines. */
static ir_ref compare(ir_graph *g, ir_op cmp, ir_ref lines) {
  ir_ref one = ir_index(g, 1), n = lines ? ir_dim(g, lines, 1) : 0, dims[] = {one, n, n, one};
  if (!n) return 0;
  return op_binary(g, cmp, op_iota(g, IR_I64, dims, SQUARE, ELEMENT),
                   op_iota(g, IR_I64, dims, SQUARE, RESULT));
}

/* Lines of elements, or of results, at every place of the square that they stand for. */
static ir_ref elements(ir_graph *g, ir_ref lines) { return op_unsqueeze(g, lines, RESULT); }
static ir_ref results(ir_graph *g, ir_ref lines) { return op_unsqueeze(g, lines, ELEMENT); }

/* The square added up: over results for a cotangent, which goes to elements; over elements for a tangent. */
static ir_ref added(ir_graph *g, ir_ref square, bool forward) {
  ir_ref axis = ir_index(g, forward ? ELEMENT : RESULT);
  return square ? op_reduce(g, IR_OP_SUM, square, &axis, 1, false) : 0;
}
static ir_ref direction(ir_graph *g, ir_ref d, bool forward) {
  return forward ? elements(g, d) : results(g, d);
}

RULE(cumsum) {
  (void)i;
  return op_cumulative(c->g, IR_OP_CUMSUM, d, axis_of(c), false, true);
}

/* dy_i / dx_j, j <= i, is the product of all elements up to i but j: of those before j, and of those behind j
 * up to i. Nothing is divided, so zeros, and derivatives of this, come out right. */
RULE(cumprod) {
  ir_graph *g = c->g;
  ir_dtype dtype = (ir_dtype)c->n->dtype, wide = op_wide(dtype);
  ir_ref one = ir_float(g, wide, 1), zero = ir_float(g, wide, 0);
  ir_ref x = op_lines(g, op_cast(g, c->n->src[i], wide), axis_of(c));
  ir_ref before = elements(g, op_cumulative(g, IR_OP_CUMPROD, x, 1, true, false));
  ir_ref behind = op_where(g, compare(g, IR_OP_LT, x), results(g, x), one);
  behind = behind ? op_cumulative(g, IR_OP_CUMPROD, behind, RESULT, false, false) : 0;
  d = direction(g, op_lines(g, op_cast(g, d, wide), axis_of(c)), c->forward);
  d = op_mul(g, d, op_mul(g, before, behind));
  d = added(g, op_where(g, compare(g, IR_OP_LE, x), d, zero), c->forward);
  return op_cast(g, op_unlines(g, d, c->y), dtype);
}

/* Each result is shared equally by the elements up to it that are the extremum; by the NaNs where that is
 * NaN. */
RULE(cumulative_extremum) {
  ir_graph *g = c->g;
  ir_dtype dtype = (ir_dtype)c->n->dtype, wide = op_wide(dtype);
  ir_ref x = op_lines(g, c->n->src[i], axis_of(c)), y = op_lines(g, c->y, axis_of(c));
  ir_ref element = elements(g, x), zero = ir_float(g, wide, 0);
  ir_ref is_it = op_logical(g, IR_OP_OR, op_binary(g, IR_OP_EQ, element, results(g, y)),
                            op_binary(g, IR_OP_NE, element, element));
  is_it = op_logical(g, IR_OP_AND, is_it, compare(g, IR_OP_LE, x));
  ir_ref shares = is_it ? op_cast(g, added(g, op_cast(g, is_it, IR_I64), true), wide) : 0;
  d = op_lines(g, op_cast(g, d, wide), axis_of(c));
  if (!c->forward) d = op_div(g, d, shares);
  d = added(g, op_where(g, is_it, direction(g, d, c->forward), zero), c->forward);
  if (c->forward) d = op_div(g, d, shares);
  return op_cast(g, op_unlines(g, d, c->y), dtype);
}

/* Along the permutation that sorts, or its inverse, which is the one that sorts the permutation itself. */
RULE(sort) {
  ir_graph *g = c->g;
  int64_t axis = axis_of(c);
  ir_ref at = op_sort(g, IR_OP_ARGSORT, c->n->src[i], axis, ir_arg_mode(c->n) != 0);
  if (!c->forward) at = op_sort(g, IR_OP_ARGSORT, op_cast(g, at, IR_U32), axis, false);
  d = op_take_lines(g, op_lines(g, d, axis), op_lines(g, at, axis));
  return op_unlines(g, d, c->y);
}
