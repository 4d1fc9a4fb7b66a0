/* The folder passes/batch. Batches made physical.
 *
 *   in      a graph whose values may have batch axes
 *   out     a graph in which these are ordinary leading axes, functions included
 *   holds   each element of the batch has the bits that it would have alone */

/* Batches made physical: in the resulting graph batch axes are ordinary leading axes, and every function
 * computes whole batches. */
#ifndef VIEWFOLD_PASSES_BATCH_BATCH_H
#define VIEWFOLD_PASSES_BATCH_BATCH_H

#include "ir/cause.h"

/* physicalize.c: turns batch axes into ordinary leading axes. Replaces each root (a TUPLE of tensors, or a
 * leaf) by its physical counterpart; a graph without batches is unchanged. False on failure. */
bool pass_physicalize(ir_graph *g, ir_ref *roots, size_t n);
/* Does the operation have its own rule for that? Otherwise its operands and attributes gain the axes in
 * front. */
bool pass_batches_by_rule(ir_op op);
/* The physical counterpart of an INPUT or BUFFER: a leaf of the same name, or serial number, without a
 * batch. */
ir_ref pass_physical_leaf(ir_graph *g, ir_ref leaf);

#endif
