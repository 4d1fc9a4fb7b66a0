/* A program's arrays: what a run is given. */
#ifndef VIEWFOLD_FRONTEND_CLI_BUFFERS_H
#define VIEWFOLD_FRONTEND_CLI_BUFFERS_H

#include "frontend/cli/bind.h"
#include "runtime/runtime.h"

typedef struct cli_buffers {
  void **in, **out;  /* for rt_program_run */
  fe_array *outputs; /* new ones, by result */
  size_t output_count;
} cli_buffers;

/* The program of the block, whose parameters have these values. IR_ERR_MEMORY names the result. */
ir_status cli_buffers_open(cli_buffers *out, const rt_program *program, const ir_parsed_graph *block,
                           const cli_binding *values, ir_error *error);
void cli_buffers_close(cli_buffers *buffers); /* in any case */

#endif
