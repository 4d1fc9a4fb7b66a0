/* The folder passes/ops/derivative. Derivatives of single operations.
 *
 *   in      a node, and the cotangent of its result or the tangents of its operands
 *   out     the cotangents of its operands, or the tangent of its result
 *   holds   one rule serves both directions */

/* The derivative of each recorded operation, y = op(x0, x1, ...), as a graph of recorded operations, so that
 * it can be differentiated again. One rule serves both directions; passes/autodiff/vjp.c and
 * passes/autodiff/jvp.c combine the rules. */
#ifndef VIEWFOLD_PASSES_OPS_DERIVATIVE_DERIVATIVE_H
#define VIEWFOLD_PASSES_OPS_DERIVATIVE_DERIVATIVE_H

#include "passes/ops/check.h"

/* What the rule returns for operand i and a direction d.
 *   ELEMENTWISE  d times the partial derivative of y by operand i, element by element; d is a cotangent or
 *                a tangent
 *   REDUCE       d, which has the operand's shape, times the partial derivative of y by each element of the
 *                operand
 *   LINEAR       the transpose: the contribution of the cotangent d of y to that of operand i. A tangent goes
 *                through the operation itself, which is linear in all its float operands together
 *   BILINEAR     likewise, but the operation is linear in each operand alone
 *   DIRECTED     likewise, but the rule also maps a tangent: where c->forward, it is the derivative, not its
 *                transpose
 *   NONE         there is no rule: the derivative is zero wherever it exists, or the result is no float
 *   CONTROL      several results: passes/autodiff/control.c derives it, there is no rule here */
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
  const ir_node *n; /* the node of y */
  /* concat: number of operands that precede `offset`; rules are called for operands in ascending order. */
  uint32_t passed;
  ir_ref offset;
  bool forward; /* d is a tangent */
} op_call;

/* The rules, each in the file of its kind of operations. */
#define RECORDED(name, text, operands, cls, level, infix, precedence, attributes, verify, kind, dtype,       \
                 shape, batch, derivative, rule, ...)                                                        \
  ir_ref op_derivative_##rule(op_call *c, uint32_t i, ir_ref d);
#include "ir/ops.def"

/* derivative.c: both directions of a node, by its row */
op_call op_call_of(ir_graph *g, ir_ref y);
/* The contribution of the cotangent of y to that of operand i, in the operand's shape and dtype. To be called
 * for operands in ascending order. */
ir_ref op_pull(op_call *c, uint32_t i, ir_ref cotangent);
/* The tangent of y from the tangents of its operands; 0 means zero, and at least one is not 0. */
ir_ref op_push(op_call *c, const ir_ref *tangents);
/* Zeros in the shape and dtype of x. */
ir_ref op_zeros_like(ir_graph *g, ir_ref x);
/* f32 for f16 and bf16, which are too narrow to count and accumulate in. */
ir_dtype op_wide(ir_dtype dtype);
/* Writes the sizes with an axis split into a and b; returns the index of a. All other axes stay if the rank
 * allows one more; otherwise those before it and those behind it are merged, which gives four axes. */
uint32_t op_split_axis(ir_graph *g, const ir_ref *dims, uint32_t rank, uint32_t axis, ir_ref a, ir_ref b,
                       ir_ref *out); /* room for IR_MAX_RANK */
/* batch.c: for the derivative of a view of physical axes of x: d repeated along the axes of x's batch that it
 * lacks. 0 after failing: the batch of d has other axes. */
ir_ref op_physical_like(ir_graph *g, ir_ref d, ir_ref x);
/* reduce.c: spreads a value of y's shape to the shape of its operand: each element gets the value of its
 * result. */
ir_ref op_spread(const op_call *c, ir_ref value);

#endif
