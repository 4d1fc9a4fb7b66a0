/* Chains of the model, recorded in a graph of the library without a detour through text. Sizes are numbers.
 */
#ifndef VIEWFOLD_TEST_VIEW_RECORD_H
#define VIEWFOLD_TEST_VIEW_RECORD_H

#include "ir/ir.h"
#include "test/lib/view_model.h"

/* An input of this shape; serial distinguishes inputs of one graph. */
ir_ref view_record_base(ir_graph *g, const model_shape *shape, int serial);
/* One step; 0 after an error. No merges, splits and gathers. */
ir_ref view_record_step(ir_graph *g, ir_ref x, const model_step *step);
ir_ref view_record_chain(ir_graph *g, const model_chain *chain);

#endif
