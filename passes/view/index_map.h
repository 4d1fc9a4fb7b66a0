/* The folder passes/view. Views as maps of indices.
 *
 *   in      a view operation, and an index vector of its result or the loops around it
 *   out     the index vector of its operand, and where it is valid, or the loops that walk it
 *   holds   the one place that knows what each view operation means */

/* What a view does to an index vector: the one place that knows the meaning of every view operation. */
#ifndef VIEWFOLD_PASSES_VIEW_INDEX_MAP_H
#define VIEWFOLD_PASSES_VIEW_INDEX_MAP_H

#include "ir/ir.h"

/* Index builders, so that one description serves the canonical folding and the textbook one. */
typedef struct pass_arith {
  ir_ref (*add)(ir_graph *g, ir_ref a, ir_ref b);
  ir_ref (*mul)(ir_graph *g, ir_ref a, ir_ref b);
  ir_ref (*div)(ir_graph *g, ir_ref a, ir_ref b);
  ir_ref (*mod)(ir_graph *g, ir_ref a, ir_ref b);
  /* flat // unit % size, given flat // unit and flat // (unit * size); NULL: mod is used */
  ir_ref (*digit)(ir_graph *g, ir_ref quotient, ir_ref size, ir_ref next);
  ir_ref (*compare)(ir_graph *g, ir_op op, ir_ref a, ir_ref b);
  ir_ref (*both)(ir_graph *g, ir_ref a, ir_ref b);
} pass_arith;
extern const pass_arith pass_canonical;

/* A point of a tensor: an index expression for each axis. */
typedef struct pass_point {
  uint32_t rank;
  ir_ref at[IR_MAX_RANK];
} pass_point;

/* Rewrites a point of the result of `view` (one operand, any VIEW operation but concat and stack) into the
 * point of its operand that it reads. Returns the condition under which that point is valid: true except for
 * pads with a constant; 0 on failure. */
ir_ref pass_view_index(ir_graph *g, const pass_arith *arith, ir_ref view, pass_point *position);

/* The row-major flat index of a point. */
ir_ref pass_flatten(ir_graph *g, const pass_arith *arith, ir_ref shape, const pass_point *position);

#endif
