/* The folder passes/domain. The iteration domain of a kernel.
 *
 *   in      a STORE over free ranges
 *   out     a SEQ of STOREs over other ranges
 *   holds   together they store the same values to the same places; inside each few masks are tested and
 *           few quotients computed */

/* The iteration domain of a kernel. The domain of an effect over free ranges is split into sub-domains, and
 * its axes are chosen, so that inside each sub-domain few masks are left to test and few quotients to
 * compute. The same values are stored to the same places. All functions return 0 on failure. */
#ifndef VIEWFOLD_PASSES_DOMAIN_DOMAIN_H
#define VIEWFOLD_PASSES_DOMAIN_DOMAIN_H

#include "ir/ir.h"
#include "ir/target.h"

/* peel.c: the store split into sub-domains, a SEQ of STOREs, at comparisons of one axis with a constant.
 * innermost: also where conditions depend on the innermost axis. */
ir_ref pass_crop(ir_graph *g, ir_ref store, bool innermost);

/* refine.c: each store over other axes, chosen so that indices and masks divide as little as they can. */
ir_ref pass_refine(ir_graph *g, ir_ref effect);

/* peel.c: each store split into sub-domains inside which no mask is left to test and no quotient to compute.
 * Sub-domains with the same outer ranges share the loops over these. */
ir_ref pass_peel(ir_graph *g, ir_ref effect);
/* coalesce_rows.c: short rows that are split into sub-domains become contiguous loops, with masked loads. */
ir_ref pass_coalesce_rows(ir_graph *g, ir_ref effect, const ir_target *target);

#endif
