/* Inside the pass that makes batches physical: what its files share. */
#ifndef VIEWFOLD_PASSES_BATCH_PHYSICALIZE_H
#define VIEWFOLD_PASSES_BATCH_PHYSICALIZE_H

#include "ir/ir.h"

typedef struct physical {
  ir_graph *g;
  ir_ref *map; /* by old node */
  size_t map_size;
  ir_ref batch;  /* of the node at hand, or of its results; 0: none */
  uint32_t rank; /* batch axes of it */
  ir_ref src[2 + 4 * IR_MAX_RANK];
} physical;

/* What x has become, grown to the batch of the node at hand. */
ir_ref pass_physical_aligned(const physical *p, ir_ref x);
/* Axis `from` of a physical x at the place `to`. */
ir_ref pass_physical_moved(ir_graph *g, ir_ref x, uint32_t from, uint32_t to);

/* call.c: a node that calls functions, with operands in the batch p->batch. A TUPLE of its
 * results in that batch. */
ir_ref pass_physical_call(physical *p, ir_ref node);
/* A custom operation, likewise. */
ir_ref pass_physical_custom(physical *p, ir_ref node);

/* guard.c: the function, for elements of which some do not count: it takes one parameter more, a bool of
 * rank 0, behind its others. Where that is false the results mean nothing, but no position is out of range
 * and no loop without a bound begins. The function itself where neither can happen; 0 after failing. */
ir_ref pass_guard(ir_graph *g, ir_ref func);

#endif
