/* VIEWFOLD_DEBUG and --trace-rules, which prints each rewrite to standard error when it happens. */
#ifndef VIEWFOLD_FRONTEND_CLI_TRACE_H
#define VIEWFOLD_FRONTEND_CLI_TRACE_H

#include "frontend/api/watch.h"

/* Read VIEWFOLD_DEBUG. The exit status; not CLI_OK after a message. */
int cli_debug(const char *command, fe_debug *out);
/* Set up a watch by VIEWFOLD_DEBUG; trace: it prints each rewrite. The exit status; not CLI_OK after a
 * message. */
int cli_trace_init(fe_watch *watch, const char *command, bool trace);

#endif
