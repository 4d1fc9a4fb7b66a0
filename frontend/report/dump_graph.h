/* A graph as it was read, as a request to compile, and the text of what passes make of it. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_GRAPH_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_GRAPH_H

#include "frontend/api/compile.h"
#include "ir/parse/parse.h"

/* The request for the results of the block, literals among them with firm dtypes. False when memory is short;
 * to be freed then, too. */
bool fe_block_request(ir_graph *g, const ir_parsed_graph *block, const ir_observer *observer,
                      fe_request *out);
void fe_block_request_free(ir_graph *g, const ir_parsed_graph *block, fe_request *request);

/* Print the results, which a pass has left in a copy of the request, under the names of the block. */
void fe_put_graph(const ir_parsed_graph *block, fe_copy *copy, ir_ref results, ir_text *out);

/* Print the kernel of a step of the plan, under the name that dumps give it. */
void fe_put_kernel(const ir_parsed_graph *block, const ir_plan *plan, const ir_graph *g, size_t step,
                   ir_ref kernel, ir_text *out);

#endif
