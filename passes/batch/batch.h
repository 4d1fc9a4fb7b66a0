/* The folder passes/batch. Batches made physical.
 *
 *   in      a graph whose values may have batch axes
 *   out     one in which these are ordinary leading axes, functions included
 *   holds   each element of the batch has the bits that it would have alone */

/* Batches made physical. In comes a graph whose values may have batch axes; out comes one in which these are
 * ordinary leading axes, and in which every function is of whole batches. */
#ifndef VIEWFOLD_PASSES_BATCH_BATCH_H
#define VIEWFOLD_PASSES_BATCH_BATCH_H

#include "ir/ir.h"

/* physicalize.c: batch axes become ordinary leading axes. Replaces each root (a TUPLE of tensors, or a leaf)
 * by what it is then; a graph without batches stays as it is. False after failing. */
bool pass_physicalize(ir_graph *g, ir_ref *roots, size_t n);
/* Has the operation a rule of its own for that? Otherwise its operands and attributes gain the axes in front.
 */
bool pass_batches_by_rule(ir_op op);
/* What an INPUT or BUFFER is then: the leaf of the same name, or serial number, without a batch. */
ir_ref pass_physical_leaf(ir_graph *g, ir_ref leaf);

#endif
