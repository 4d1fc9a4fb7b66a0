/* The folder frontend/cli/mesh. Commands on meshes of devices.
 *
 *   in      options that name axes and specs
 *   out     runs, and what they say of the devices
 *   holds   all else of a command is as on one device */

/* `viewfold run --mesh`: a graph on the devices of a mesh. */
#ifndef VIEWFOLD_FRONTEND_CLI_MESH_RUN_H
#define VIEWFOLD_FRONTEND_CLI_MESH_RUN_H

#include "frontend/cli/buffers.h"
#include "frontend/mesh/sharded.h"

/* Gives the graph the mesh, as in x=2,y=4, which must be that of the text if it declares one, and values of
 * the block the specs of the pairs NAME=SPEC. The exit status. */
int cli_mesh_declare(cli_graph *s, const ir_parsed_graph *block, const char *mesh, const cli_pairs *specs);
/* As cli_buffers_open, of whole arrays: inputs in the order of the parameters. The outputs have shapes, and
 * no memory yet. */
ir_status cli_mesh_buffers(cli_buffers *out, fe_sharded *sharded, const ir_parsed_graph *block,
                           const cli_binding *values, ir_error *error);
/* Memory for the outputs but those that are taken in parts. */
ir_status cli_mesh_fill(cli_buffers *buffers, const ir_parsed_graph *block, const cli_binding *values,
                        const bool *takes, ir_error *error);
/* Runs once, and appends what its exchanges received as members of a JSON object: `"devices":8,
 * "collectives":[{"op":"all_gather","times":1,"recv":N,"total":N}],"recv":N,"total":N`, where recv is the
 * bytes of the device that received most, and total those of all. */
ir_status cli_mesh_count(fe_sharded *sharded, const cli_buffers *buffers, const cli_binding *values,
                         const fe_part_taker *taker, ir_text *out, ir_error *error);
#endif
