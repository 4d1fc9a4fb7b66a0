/* The folder passes/ops/derivative. Derivatives of single operations.
 *
 *   in      a node, and the tangent or cotangent at it
 *   out     those of its operands or result
 *   holds   one rule for both directions */

/* The derivative of each recorded operation, y = op(x0, x1, ...), as a graph of recorded operations: so it
 * can be differentiated again. One rule serves both directions; passes/autodiff/vjp.c and
 * passes/autodiff/jvp.c put the rules together. */
#ifndef VIEWFOLD_PASSES_OPS_DERIVATIVE_DERIVATIVE_H
#define VIEWFOLD_PASSES_OPS_DERIVATIVE_DERIVATIVE_H

#include "passes/ops/check.h"

/* What the rule makes of operand i and a direction d.
 *   ELEMENTWISE  d times the partial derivative of y by operand i, element by element: of a cotangent or a
 * tangent REDUCE       d, which has the operand's shape, times the partial derivative by each element of the
 * operand LINEAR       the transpose: operand i's part of the cotangent d of y. A tangent goes through the
 * operation itself, which is linear in all its float operands together BILINEAR     likewise, but linear in
 * each operand alone DIRECTED    likewise, but the rule itself carries a tangent on, too: where c->forward it
 * is the derivative, not its transpose NONE         there is no rule: the derivative is zero wherever there
 * is one, or the result is no float CONTROL     several results: passes/autodiff/control.c says how, and
 * there is no rule here */
typedef enum op_derivative_kind {
  OP_DERIVATIVE_MISSING,
  OP_DERIVATIVE_NONE,
  OP_DERIVATIVE_ELEMENTWISE,
  OP_DERIVATIVE_REDUCE,
  OP_DERIVATIVE_LINEAR,
  OP_DERIVATIVE_BILINEAR,
  OP_DERIVATIVE_DIRECTED,
  OP_DERIVATIVE_CONTROL
} op_derivative_kind;

/* One node being differentiated. */
typedef struct op_call {
  ir_graph *g;
  ir_ref y;
  const ir_node *n; /* of y */
  uint32_t passed;  /* concat: operands that lie before `offset`, for rules that are asked in order */
  ir_ref offset;
  bool forward; /* the direction at hand is a tangent */
} op_call;

/* The rules, each in the file derivative_KIND.c of its operations. */
#define ROW(name, kind, dtype, shape, batch, derivative, rule, ...)                                          \
  ir_ref op_derivative_##rule(op_call *c, uint32_t i, ir_ref d);
#include "passes/ops/registry.def"
#undef ROW

/* derivative.c: both directions of a node, by its row */
op_call op_call_of(ir_graph *g, ir_ref y);
/* What the cotangent of y adds to that of operand i, in the operand's shape and dtype. Operands come in
 * ascending order. */
ir_ref op_pull(op_call *c, uint32_t i, ir_ref cotangent);
/* The tangent of y from those of its operands, of which 0 means zero and at least one is not. */
ir_ref op_push(op_call *c, const ir_ref *tangents);
/* Zero everywhere, in the shape and dtype of x. */
ir_ref op_zeros_like(ir_graph *g, ir_ref x);
/* f32 for f16 and bf16, which are too narrow to count and accumulate in. */
ir_dtype op_wide(ir_dtype dtype);
/* Sizes with an axis split into a and b, at the place returned. All other axes stay if there is room for one
 * more; otherwise those before and those behind become one each, so that there are four. */
uint32_t op_split_axis(ir_graph *g, const ir_ref *dims, uint32_t rank, uint32_t axis, ir_ref a, ir_ref b,
                       ir_ref *out); /* room for IR_MAX_RANK */
/* batch.c: a view of physical axes is of x and what has its type. d, repeated along axes of x's
 * batch that it lacks; 0 after failing: it has others. */
ir_ref op_physical_like(ir_graph *g, ir_ref d, ir_ref x);
/* reduce.c: a value of y's shape at every element of its operand that went into it */
ir_ref op_spread(const op_call *c, ir_ref value);

#endif
