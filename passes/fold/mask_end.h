/* Inside passes over slabs: from which position on the scores of a round are -inf (mask_end.c). */
#ifndef VIEWFOLD_PASSES_FOLD_MASK_END_H
#define VIEWFOLD_PASSES_FOLD_MASK_END_H

#include "ir/ir.h"

enum { FUSE_MASK_TILE = 64 };

bool fuse_is_infinite(const ir_graph *g, ir_ref value); /* the constant -inf */
/* where(..., -inf, ...) that is -inf from position *start of the range on? */
bool fuse_masked_from(ir_graph *g, ir_ref value, ir_ref range, ir_ref *start);
/* The most that a position is over all ranges but `round`, as a multiple of FUSE_MASK_TILE from
 * FUSE_MASK_TILE to `most`; 0: it is not known. */
ir_ref fuse_last_unmasked(ir_graph *g, ir_ref start, ir_ref iteration, int64_t most);

#endif
