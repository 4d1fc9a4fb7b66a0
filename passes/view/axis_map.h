/* From the axes of a node to those of its operands: which loop walks each of them. */
#ifndef VIEWFOLD_PASSES_VIEW_AXIS_MAP_H
#define VIEWFOLD_PASSES_VIEW_AXIS_MAP_H

#include "ir/ir.h"

enum { VIEW_NO_LOOP = -1 }; /* in place of a loop's number */

/* By axis of a tensor: the loop whose index is the index along that axis, or VIEW_NO_LOOP. */
typedef struct view_axes {
  int8_t loop[IR_MAX_RANK];
  uint32_t strided; /* set of loops that walk an axis with a stride above 1, as one level of a split axis */
} view_axes;

/* The axes of operand number `operand`, given those of the node that uses it. False on failure. */
bool view_axes_below(ir_graph *g, ir_ref node, uint32_t operand, const view_axes *above, view_axes *below);
/* Keeps the loops that both assign to the same axis. */
void view_axes_intersect(view_axes *axes, const view_axes *other);
extern const view_axes view_no_axes;

#endif
