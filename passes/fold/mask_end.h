/* Inside passes over slabs: from which position on the scores of a round are -inf (mask_end.c). */
#ifndef VIEWFOLD_PASSES_FOLD_MASK_END_H
#define VIEWFOLD_PASSES_FOLD_MASK_END_H

#include "ir/ir.h"

enum { SLAB_TILE = 64 };

bool slab_is_infinite(const ir_graph *g, ir_ref value); /* the constant -inf */
/* where(..., -inf, ...) that is -inf from position *start of the range on? */
bool slab_ends(ir_graph *g, ir_ref value, ir_ref range, ir_ref *start);
/* The most that a position is over all ranges but `round`, as a multiple of SLAB_TILE from SLAB_TILE to
 * `most`; 0: it is not known. */
ir_ref slab_latest(ir_graph *g, ir_ref start, ir_ref round, int64_t most);

#endif
