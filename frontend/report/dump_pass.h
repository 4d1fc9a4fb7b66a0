/* What one step of the pipeline makes of a text: for `viewfold pass`. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_PASS_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_PASS_H

#include "ir/parse/parse.h"
#include "passes/passes.h"

/* Append the text that the step makes of a block, with an empty line before it when out holds text already.
 * The block is a tensor graph for steps over graphs and those of the plan, an index block for other steps
 * over kernels. The step works on a copy, and the verifier looks at what it leaves. */
ir_status fe_dump_pass(ir_graph *graph, const ir_parsed_graph *block, const pass_info *step,
                       const ir_target *target, const ir_observer *observer, ir_text *out, ir_error *error);

#endif
