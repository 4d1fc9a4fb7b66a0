/* What is said of a descriptor of a view that a run found wrong. */
#ifndef VIEWFOLD_FRONTEND_BLAME_BLAME_DESCRIPTOR_H
#define VIEWFOLD_FRONTEND_BLAME_BLAME_DESCRIPTOR_H

#include "frontend/blame/blame.h"

/* True, with the error, where the fault is that of a descriptor of create_view:
 *
 *   graph @g: create_view %x, %p, %w: descriptor 0 (%p) is the point 3, but axis 0 has 3 elements; ...
 */
bool fe_blame_descriptor(const fe_blamed *b, const ir_eval_fault *fault, ir_error *error);

#endif
