/* From which key on the scores of an iteration of a fused row group are -inf (mask_end.c). */
#ifndef VIEWFOLD_PASSES_FOLD_MASK_END_H
#define VIEWFOLD_PASSES_FOLD_MASK_END_H

#include "ir/ir.h"

/* Keys of which a row that ends early computes a multiple: four of the widest vectors of f32, so that the
 * loops over keys have no remainder. */
enum { FOLD_MASK_TILE = 64 };

bool fold_is_infinite(const ir_graph *g, ir_ref value); /* the constant -inf */
/* Is the value a where(..., -inf, ...) that is -inf from index *start of the range on? */
bool fold_masked_from(ir_graph *g, ir_ref value, ir_ref range, ir_ref *start);
/* The greatest value of `start` over all ranges but `iteration`, rounded up to a multiple of FOLD_MASK_TILE,
 * at least FOLD_MASK_TILE and at most `most`; 0: not known. */
ir_ref fold_last_unmasked(ir_graph *g, ir_ref start, ir_ref iteration, int64_t most);

#endif
