/* Where a chain of views and literal gathers reads its leaf, in a choice of index arithmetic. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_ACCESS_H
#define VIEWFOLD_FRONTEND_VIEWS_ACCESS_H

#include "passes/view/index_map.h"

/* The index into the leaf's elements, row-major, and where it is valid, over ranges ridx0, ridx1, ... of the
 * chain's axes. A gather by literal indices reads as a variable named like the look-up, such as
 * `[2,0,2][ridx0]`. Nothing valid: index 0, valid False. False on failure. */
bool pass_access(ir_graph *g, const pass_arith *arith, ir_ref chain, ir_ref *index, ir_ref *valid);
bool pass_has_gather(const ir_graph *g, ir_ref chain);

#endif
