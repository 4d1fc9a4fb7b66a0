/* What a graph looks like on its way to code. */
#ifndef VIEWFOLD_FRONTEND_DUMP_H
#define VIEWFOLD_FRONTEND_DUMP_H

#include "frontend/compile.h"

/* Append the text of a stage: "graph" (lowered to nothing: as recorded), "kernels" (one tensor graph for each
 * launch, values in memory being parameters), "index", "loops", "llvm", "asm". IR_ERR_INVALID names the
 * stages when there is no such one. */
ir_status fe_dump(rt_context *context, const fe_request *request, const char *stage, ir_text *out,
                  ir_error *error);

#endif
