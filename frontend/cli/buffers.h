/* The inputs and outputs of a run of a program. */
#ifndef VIEWFOLD_FRONTEND_CLI_BUFFERS_H
#define VIEWFOLD_FRONTEND_CLI_BUFFERS_H

#include "frontend/cli/bind.h"
#include "runtime/runtime.h"

typedef struct cli_buffers {
  void **in, **out;  /* for rt_program_run */
  fe_array *outputs; /* allocated here, one per result */
  size_t output_count;
} cli_buffers;

/* Inputs are the values of the block's parameters, which stay the caller's; outputs are allocated. References
 * are copied to their outputs, which are inputs as well.
 * IR_ERR_MEMORY names the result that does not fit. */
ir_status cli_buffers_open(cli_buffers *out, const rt_program *program, const ir_parsed_graph *block,
                           const cli_binding *values, ir_error *error);
void cli_buffers_close(cli_buffers *buffers); /* also after a failure */

#endif
