/* Queries on index expressions and the ranges in them. Nodes are read as they are: nothing is built or
 * simplified, except that a constant may be made. */
#ifndef VIEWFOLD_PASSES_INDEX_AFFINE_H
#define VIEWFOLD_PASSES_INDEX_AFFINE_H

#include "ir/ir.h"

/* The extent of a range; where it depends on another range, its upper bound as a constant. */
ir_ref affine_most_extent(ir_graph *g, ir_ref range);
bool affine_depends(ir_graph *g, ir_ref root, ir_ref range);
/* Coefficient of range in an index expression that is affine in it; false when it is not. */
bool affine_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *stride);
/* Nodes of op reachable from root, ascending, at most `room` of them. */
uint32_t affine_find_range(ir_graph *g, ir_ref root, ir_op op, ir_ref *out, uint32_t room);
/* Array of g->count flags, by ref: the nodes that the roots need if no IR_OP_RARE takes its rare value
 * (source 1). `live`: the nodes reachable from the roots, in topological order; of others nothing is said.
 * The caller frees the array; NULL when memory is short. */
bool *affine_always_needed(ir_graph *g, const ir_ref *roots, uint32_t root_count, const ir_ref *live,
                           size_t count);

#endif
