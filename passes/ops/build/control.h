/* The folder passes/ops/build. Builders of single operations.
 *
 *   in      operands and attributes, as ops.h declares them
 *   out     one node, with the conversions and views that recording makes explicit
 *   holds   everything is checked here, once; a 0 among operands gives 0 */

/* Control flow: builders of nodes that call functions (ir/function.c), and functions closed over the values
 * that a user records. */
#ifndef VIEWFOLD_PASSES_OPS_BUILD_CONTROL_H
#define VIEWFOLD_PASSES_OPS_BUILD_CONTROL_H

#include "passes/ops/ops.h"

/* control.c. Operands must match the parameters: weak constants are converted, anything else must have their
 * dtype and shape; the same holds for results that must agree with others. Each builder returns a TUPLE of
 * the results, of which there is at least one. */
/* The results of `then` or `otherwise`, which both take all operands. Where the predicate, a bool of rank 0,
 * is a constant: of that branch alone. */
ir_ref op_cond(ir_graph *g, ir_ref predicate, const ir_ref *x, size_t n, ir_ref then, ir_ref otherwise);
/* The first `carries` of n operands, the state, after the loop: `body` maps it to the next state while
 * `condition`, a bool of rank 0, holds, for at most `bound` iterations (-1: no limit). Both functions take
 * all n operands; those that are not state do not change. */
ir_ref op_while(ir_graph *g, const ir_ref *x, size_t n, size_t carries, ir_ref condition, ir_ref body,
                int64_t bound);
/* Calls `body` once for each index of the first axis of the sliced operands, from the last one if reverse.
 * The body takes the state, a slice of each sliced operand, and the other operands; it returns the next state
 * and values that are stacked along a new first axis, each at its index. Results: the last state, the stacks.
 * length 0: the length of the sliced operands. If the length is zero, the state is returned unchanged. */
ir_ref op_scan(ir_graph *g, const ir_ref *x, size_t n, ir_scan_state state, ir_ref body, ir_ref length);

/* Has the function neither parameters nor results in a batch? A function works on single elements; a call
 * applies it to each element of the batch of its operands, and all results get this batch. False after
 * failing. */
bool op_is_function(ir_graph *g, const char *who, ir_ref func);

/* Result `number` of a control node, as a RESULT node with its type. */
ir_ref op_result(ir_graph *g, ir_ref control, uint32_t number);

/* passes/ops/compose/checkpoint.c: the results of body as a scan of length 1; the derivative recomputes its
 * values from the operands instead of keeping them. The first `carries` results are next versions of the
 * first operands, which may be changed in place. */
ir_ref op_checkpoint(ir_graph *g, const ir_ref *x, size_t n, uint32_t carries, ir_ref body);

/* control_close.c. A function as recorded: results in terms of parameters, which are BUFFERs, and of any
 * other nodes of the graph. Nodes older than `floor` are outside of the function. */
typedef struct op_recorded {
  const ir_ref *results, *params;
  uint32_t result_count, param_count;
  ir_ref floor;
  uint32_t level; /* batch axes of the vmaps around the call; further ones belong to a vmap inside of the
                     function */
} op_recorded;
/* Outside values that functions use: they become operands after those that the functions have parameters
 * for. */
typedef struct op_captured {
  ir_ref *x;
  size_t count, cap;
} op_captured;
/* Makes funcs[0..n), functions that all take the same captured values as additional parameters. Small
 * expressions of constants alone stay inside. hoist: also capture every value that does not depend on
 * parameters, wherever it was recorded, for a function that is called many times. The caller frees
 * `captured`, also after failure. */
bool op_close(ir_graph *g, const op_recorded *recorded, size_t n, bool hoist, ir_ref *funcs,
              op_captured *captured);

#endif
