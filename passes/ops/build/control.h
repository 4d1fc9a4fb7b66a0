/* The folder passes/ops/build. Builders of single operations.
 *
 *   in      operands and attributes, as ops.h declares them
 *   out     one node, with what recording makes explicit around it
 *   holds   everything is checked here, once; a 0 among operands gives 0 */

/* Control flow: builders of nodes that call functions (ir/function.c), and functions made of what a user
 * records. */
#ifndef VIEWFOLD_PASSES_OPS_BUILD_CONTROL_H
#define VIEWFOLD_PASSES_OPS_BUILD_CONTROL_H

#include "passes/ops/ops.h"

/* control.c. Operands are taken as the parameters have them: weak constants get their dtype, anything else is
 * of that dtype and shape; likewise results that must agree with others. A TUPLE of the results, of which
 * there is at least one. */
/* The results of `then` or `otherwise`, which both take the operands: of the branch alone where the
 * predicate, a bool of rank 0, is a constant. */
ir_ref op_cond(ir_graph *g, ir_ref predicate, const ir_ref *x, size_t n, ir_ref then, ir_ref otherwise);
/* The first `carries` of n operands, the state, as rounds of `body` leave it: one more while `condition`, a
 * bool of rank 0, holds, and at most `bound` of them unless that is -1. Both take all n operands; the others
 * stay as they are. */
ir_ref op_while(ir_graph *g, const ir_ref *x, size_t n, size_t carries, ir_ref condition, ir_ref body,
                int64_t bound);
/* `body` once for each position of the first axis of the operands that are sliced, from the last if reverse.
 * It takes the state, a slice of each, the other operands; it returns the next state and values that are
 * stacked along a new first axis, each at its position. Results: the last state, the stacks. length 0: that
 * of what is sliced. Of length 0 the state stays. */
ir_ref op_scan(ir_graph *g, const ir_ref *x, size_t n, ir_scan_state state, ir_ref body, ir_ref length);

/* Has it neither parameters nor results in a batch? A function is of single elements; a call of it is of
 * those of the batch that its operands have together, which all results get. False after failing. */
bool op_is_function(ir_graph *g, const char *who, ir_ref func);

/* The RESULT of a node, and its type. */
ir_ref op_result(ir_graph *g, ir_ref control, uint32_t number);

/* passes/ops/compose/checkpoint.c: the results of body, whose values are not kept for the derivative but
 * computed again from the operands: a scan of length 1. */
ir_ref op_checkpoint(ir_graph *g, const ir_ref *x, size_t n, ir_ref body);

/* control_close.c. What a user recorded: results in terms of parameters, which are BUFFERs, and of anything
 * else in the graph. What is older than `floor` is from outside. */
typedef struct op_recorded {
  const ir_ref *results, *params;
  uint32_t result_count, param_count;
  ir_ref floor;
  uint32_t level; /* batch axes of the vmaps around the call: more are of a vmap inside of the function */
} op_recorded;
/* Values from outside that functions use: operands behind those that they have parameters for. */
typedef struct op_captured {
  ir_ref *x;
  size_t count, cap;
} op_captured;
/* funcs[0..n) are functions that take the captured values too, all the same ones. Small expressions of
 * constants alone stay inside. hoist: so is what does not depend on parameters captured, wherever it was
 * recorded, for a function that is called many times. `captured` is to be freed, after failing too. */
bool op_close(ir_graph *g, const op_recorded *recorded, size_t n, bool hoist, ir_ref *funcs,
              op_captured *captured);

#endif
