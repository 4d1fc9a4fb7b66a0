/* The limits of the machine for commands, which measure them where they are not known. */
#ifndef VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H
#define VIEWFOLD_FRONTEND_CLI_EXPLAIN_MACHINE_H

#include "frontend/machine/machine.h"

/* As fe_machine_find; values that are missing are measured and kept, if that can be. */
ir_status cli_machine_find(rt_context *context, fe_machine *out, bool *known, ir_error *error);
/* Measure the machine, and keep the values on disk. */
ir_status cli_machine_measure(rt_context *context, fe_machine *out, ir_error *error);

#endif
