/* Records chains of the model in a graph of the library directly, not through text. Sizes are numbers. */
#ifndef VIEWFOLD_TEST_VIEW_RECORD_H
#define VIEWFOLD_TEST_VIEW_RECORD_H

#include "ir/ir.h"
#include "test/lib/view_model.h"

/* An input of this shape; `serial` distinguishes the inputs of one graph. */
ir_ref view_record_base(ir_graph *g, const model_shape *shape, int serial);
/* Records one step; 0 after an error. Merges, splits and gathers are not supported. */
ir_ref view_record_step(ir_graph *g, ir_ref x, const model_step *step);
ir_ref view_record_chain(ir_graph *g, const model_chain *chain);

#endif
