/* What the files of the pass that makes batches physical share. */
#ifndef VIEWFOLD_PASSES_BATCH_PHYSICALIZE_H
#define VIEWFOLD_PASSES_BATCH_PHYSICALIZE_H

#include "ir/cause.h"

typedef struct physical {
  ir_graph *g;
  ir_ref *map; /* physical counterpart of each node */
  size_t map_size;
  ir_ref batch;  /* of the node being processed, or of its results; 0: none */
  uint32_t rank; /* number of its axes */
  bool target;   /* the node is a view of a target, and the map has its operand in that batch */
  ir_ref src[2 + 4 * IR_MAX_RANK];
} physical;

/* The physical counterpart of x, with the batch of the node being processed. */
ir_ref pass_physical_aligned(const physical *p, ir_ref x);
/* A physical x with axis `from` moved to place `to`. */
ir_ref pass_physical_moved(ir_graph *g, ir_ref x, uint32_t from, uint32_t to);

/* call.c: the physical counterpart of a node that calls functions, with operands in the batch p->batch: a
 * TUPLE of its results in that batch. */
ir_ref pass_physical_call(physical *p, ir_ref node);
/* A custom operation, likewise. */
ir_ref pass_physical_custom(physical *p, ir_ref node);

/* guard.c: a version of the function that may be computed for inactive elements. It has one more parameter at
 * the end, a bool of rank 0. If that is false, the results mean nothing, but no index is out of range and no
 * loop without a bound begins. Returns the function itself if neither can happen; 0 on failure. */
ir_ref pass_guard(ir_graph *g, ir_ref func);

#endif
