/* The folder passes/cost. Costs of a kernel.
 *
 *   in      its expression, before its loops are shaped
 *   out     bytes, operations and trip counts, as index expressions
 *   holds   they depend on what is computed, not on how it is vectorised */

/* What a kernel costs, counted on its expression before its loops are shaped: bytes moved, operations,
 * positions. Each is an index expression of the graph's variables. */
#ifndef VIEWFOLD_PASSES_COST_COST_H
#define VIEWFOLD_PASSES_COST_COST_H

#include "ir/ir.h"

/* work.c: bytes moved plus scalar operations of a whole kernel, as an index expression. */
ir_ref pass_work(ir_graph *g, ir_ref store);
/* flops.c: operations on floats (+ - * / % sqrt min max; a fused multiply-add is two) of a whole kernel, each
 * once for every position of the ranges that it depends on. */
ir_ref pass_flops(ir_graph *g, ir_ref effect);
int64_t pass_flops_of(const ir_node *node); /* of one node, once */
/* trip_count.c: how many positions nested ranges have together. An extent that depends on another of them is
 * added up over its positions where these are few enough numbers; otherwise it counts as the most that it can
 * be. */
ir_ref pass_trip_count(ir_graph *g, const ir_ref *ranges, uint32_t count);

#endif
