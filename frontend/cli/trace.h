/* VIEWFOLD_DEBUG, and --trace-rules: each rewrite on standard error, as it is taken. */
#ifndef VIEWFOLD_FRONTEND_CLI_TRACE_H
#define VIEWFOLD_FRONTEND_CLI_TRACE_H

#include "frontend/api/watch.h"

/* What VIEWFOLD_DEBUG asks for. The exit status; not CLI_OK after a message. */
int cli_debug(const char *command, fe_debug *out);
/* The same of rewrites, and tracing. The exit status; not CLI_OK after a message. */
int cli_trace_init(fe_watch *watch, const char *command, bool trace);

#endif
