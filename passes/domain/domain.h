/* The folder passes/domain. The iteration domain of a kernel.
 *
 *   in      a STORE over free ranges
 *   out     a SEQ of STOREs over other ranges
 *   holds   together they store the same values to the same places; inside each few masks are tested and
 *           few quotients computed */

/* The iteration domain of a kernel. In comes an effect over free ranges; out comes one whose domain is cut,
 * and whose axes are chosen, so that inside each piece few masks are left to test and few quotients to
 * compute. What is stored where, and what it is, does not change. */
#ifndef VIEWFOLD_PASSES_DOMAIN_DOMAIN_H
#define VIEWFOLD_PASSES_DOMAIN_DOMAIN_H

#include "ir/ir.h"
#include "ir/target.h"

/* peel.c: the store in pieces, a SEQ of STOREs, cut where comparisons of one axis with a number say. */
ir_ref pass_crop(ir_graph *g, ir_ref store);

/* refine.c: each store over other axes, chosen so that indices and masks divide as little as they can. */
ir_ref pass_refine(ir_graph *g, ir_ref effect);

/* peel.c: each store in pieces, so that inside each no mask is left to test and no quotient to compute.
 * Pieces that share their outer ranges share those loops. */
ir_ref pass_peel(ir_graph *g, ir_ref effect);
/* coalesce_rows.c: short rows that lie in pieces become runs again, with loads under masks. */
ir_ref pass_coalesce_rows(ir_graph *g, ir_ref effect, const ir_target *target);

#endif
