/* From the axes of a node to those of its operands: which loop walks each of them. */
#ifndef VIEWFOLD_PASSES_VIEW_AXIS_MAP_H
#define VIEWFOLD_PASSES_VIEW_AXIS_MAP_H

#include "ir/ir.h"

enum { SLAB_NO_LOOP = -1 };

/* By axis of a tensor: the loop that walks it, position by position, or SLAB_NO_LOOP. */
typedef struct slab_axes {
  int8_t loop[IR_MAX_RANK];
  uint32_t parts; /* set of loops that walk an axis in steps of several positions */
} slab_axes;

/* Axes of the operand of that number, given those of the node that uses it. False on failure. */
bool slab_axes_below(ir_graph *g, ir_ref node, uint32_t operand, const slab_axes *above, slab_axes *below);
/* Axes that both say the same of. */
void slab_axes_join(slab_axes *axes, const slab_axes *other);
extern const slab_axes slab_no_axes;

#endif
