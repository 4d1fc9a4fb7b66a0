/* The folder passes/cost. Costs of a kernel.
 *
 *   in      its expression, before its loops are shaped; or its loops
 *   out     bytes, operations and trip counts, as index expressions of the graph's variables; the time of the
 *           loops on a target (kernel_time.h)
 *   holds   the former depend on what is computed, not on how it is vectorised; no time reaches what a
 * program computes */

#ifndef VIEWFOLD_PASSES_COST_COST_H
#define VIEWFOLD_PASSES_COST_COST_H

#include "ir/ir.h"

/* Ranges of one kernel that are told apart, one for each bit of a set [17 in the workloads]. Those past the
 * limit count as one iteration, so that work and operations, which are estimates, are less than they are. */
enum { COST_MAX_RANGES = 64 };

/* Costs of accesses, for each element, in operations of one instruction for each vector. */
enum {
  COST_GATHERING = 16, /* an index, a mask and a load for each element */
  COST_MASKING = 4,    /* two comparisons, a mask, and a selection */
  COST_WRITING = 2,    /* a store, and what its reader waits for it */
  COST_MOST = 1 << 10  /* where values are shared, sums along all paths grow without limit */
};

/* element.c: cost of one element of a node, without that of its operands, in elementwise operations of one
 * instruction for each vector. */
int pass_element_cost(const ir_node *node);
/* work.c: bytes moved plus scalar operations of a whole kernel, as an index expression. */
ir_ref pass_work(ir_graph *g, ir_ref store);
/* flops.c: floating-point operations (+ - * / % sqrt min max; a fused multiply-add counts twice) of a whole
 * kernel, each counted once for every iteration point of the ranges that it depends on. */
ir_ref pass_flops(ir_graph *g, ir_ref effect);
int64_t pass_flops_of(const ir_node *node); /* of one evaluation of a node */
/* trip_count.c: the trip count of nested ranges. An extent that depends on another of these ranges is summed
 * over that range, if the outer extent is a constant and small enough; otherwise the extent counts as its
 * upper bound. */
ir_ref pass_trip_count(ir_graph *g, const ir_ref *ranges, uint32_t count);

#endif
