/* Does what is printed parse back to the same text? */
#ifndef VIEWFOLD_TEST_READS_BACK_H
#define VIEWFOLD_TEST_READS_BACK_H

#include "frontend/viewfold.h"
#include "ir/ir.h"

/* NULL, or what is wrong with the text of a graph or kernel, into `room`. */
const char *reads_back(const ir_graph *g, const char *name, ir_ref root, char *wrong, size_t room);
/* The graph that the text of a verified graph gives; NULL, with what is wrong, if its text is another. */
vf_graph *reads_back_as(vf_context *context, vf_graph *g, char *wrong, size_t room);

#endif
