/* References of a graph: inputs that a run changes in the caller's memory. */
#ifndef VIEWFOLD_FRONTEND_API_REFERENCES_H
#define VIEWFOLD_FRONTEND_API_REFERENCES_H

#include "ir/parse/parse.h"
#include "passes/passes.h"

/* The node that is compiled for a result, in its firm dtype. The newest version of a reference becomes a
 * write of the reference, if it is none yet. 0 after failing. */
ir_ref fe_firm_result(ir_graph *graph, const ir_named *params, size_t param_count, const ir_named *result);
/* Lists the parameters that are references with a newest version among the results; out: room for
 * param_count. Returns how many. */
size_t fe_list_references(const ir_named *params, size_t param_count, const ir_named *results,
                          size_t result_count, pass_reference *out);

#endif
