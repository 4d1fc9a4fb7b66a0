/* `viewfold run --profile`. */
#ifndef VIEWFOLD_FRONTEND_CLI_EXPLAIN_PROFILE_H
#define VIEWFOLD_FRONTEND_CLI_EXPLAIN_PROFILE_H

#include <stdio.h>

#include "frontend/cli/bind.h"
#include "runtime/runtime.h"

/* What is profiled: the buffers and values of the runs are those of rt_program_run. */
typedef struct cli_profiled {
  rt_context *context;
  const rt_program *program;
  ir_graph *graph;
  const ir_parsed_graph *block;
  const fe_statements *statements;
  void *const *in, *const *out;
  const int64_t *values;
} cli_profiled;

/* Run it again for 0.2 s, and print the profile of these runs in the form: text ("" stands for it), json or
 * trace. */
ir_status cli_profile(const cli_profiled *profiled, const char *form, FILE *to, ir_error *error);
/* The exit status for a word after `--profile=`; not CLI_OK after a message. */
int cli_profile_check(const char *form);

#endif
