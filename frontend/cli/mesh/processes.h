/* Commands that MPI has started as several processes. */
#ifndef VIEWFOLD_FRONTEND_CLI_MESH_PROCESSES_H
#define VIEWFOLD_FRONTEND_CLI_MESH_PROCESSES_H

#include "frontend/mesh/sharded.h"

/* Where a launcher has started this process as one of several, joins them; VIEWFOLD_MESH_SECONDS says after
 * how long a silent one counts as gone. */
ir_status cli_processes_join(rt_context *context, ir_error *error);
/* Is it the process that writes results and says what they are? Process 0; the only one. */
bool cli_process_speaks(const rt_context *context);
/* A line for each process of several: its number, the name of its host, and its processor, which `device`
 * begins with, up to the end of its first line. All call it alike. */
ir_status cli_processes_text(rt_context *context, const char *device, ir_text *out, ir_error *error);
/* Gives each process the bytes that process 0 has. All call it alike. */
ir_status cli_processes_first(fe_sharded *sharded, void *bytes, size_t count, ir_error *error);
/* Gives each process the largest of the numbers that they have. All call it alike. */
ir_status cli_processes_most(fe_sharded *sharded, int64_t *number, ir_error *error);

#endif
