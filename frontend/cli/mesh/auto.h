/* The option --auto: shardings of whatever is open. */
#ifndef VIEWFOLD_FRONTEND_CLI_MESH_AUTO_H
#define VIEWFOLD_FRONTEND_CLI_MESH_AUTO_H

#include "frontend/cli/graph.h"

/* Gives open values of the block the specs of least predicted time, by the usual rates of a device, so that
 * all commands choose alike. Appends a line of what is predicted to `out`, which may be NULL. The exit
 * status.
 */
int cli_mesh_auto(cli_graph *s, rt_context *context, const ir_parsed_graph *block, ir_text *out);

#endif
