/* Checks of what the library says that a chain of views reads, against the model's map, at every index. */
#ifndef VIEWFOLD_TEST_VIEW_CHECK_H
#define VIEWFOLD_TEST_VIEW_CHECK_H

#include "ir/ir.h"
#include "test/lib/view_model.h"

/* The message of the last failure. */
extern char view_check_why[2048];
bool view_check_failed(const char *format, ...) __attribute__((format(printf, 1, 2))); /* false */

/* An index and its validity, printed, and evaluated by the test's own evaluator. size: elements of the
 * buffer; n: the value of the variable. Where the access is valid, the index must be the map's and lie in the
 * buffer. */
bool view_check_access(ir_graph *g, const char *form, ir_ref index, ir_ref valid, const model_array *want,
                       int64_t size, int64_t n);
/* The sizes of a node's axes. */
bool view_check_shape(ir_graph *g, ir_ref node, const model_shape *want, int64_t n);
/* The chain of views of a node whose sizes are numbers. */
bool view_check_views(ir_graph *g, ir_ref node, const model_array *want);
/* Simplifying a canonical expression must return the same node and make no node; under: the same for the
 * index simplified under its validity. */
bool view_check_canonical(ir_graph *g, ir_ref index, ir_ref valid, bool under);

#endif
