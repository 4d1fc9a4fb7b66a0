/* The first and the last value of an index expression of RANGEs. */
#ifndef VIEWFOLD_PASSES_VIEW_INTERVAL_H
#define VIEWFOLD_PASSES_VIEW_INTERVAL_H

#include "ir/ir.h"

typedef struct view_interval {
  ir_ref lo, hi; /* index expressions; both 0 when memory is short */
} view_interval;

/* ranges[]: of each RANGE, by its number. */
view_interval view_interval_of(ir_graph *g, ir_ref e, const view_interval *ranges);

/* The axis of sizes dims[0 .. rank) that an index of RANGEs, numbered as the axes, follows: half of it leaves
 * out most of what the index runs over. Axes in the set `taken` and those of size 1 do not count. -1: half of
 * none leaves out anything. */
int view_followed(ir_graph *g, ir_ref index, const ir_ref *dims, uint32_t rank, uint32_t taken);
/* The RANGEs of all indices of an array of these sizes; the constant 0 where the size is 1. */
void view_ranges(ir_graph *g, const ir_ref *dims, uint32_t rank, ir_ref *out);

#endif
