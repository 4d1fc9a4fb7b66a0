/* A graph on a mesh as text: how its values are divided, and the program of a device. */
#ifndef VIEWFOLD_FRONTEND_REPORT_MESH_DUMP_SHARD_H
#define VIEWFOLD_FRONTEND_REPORT_MESH_DUMP_SHARD_H

#include "frontend/report/dump.h"

/* Appends FE_STAGE_SHARD or FE_STAGE_SPMD of the block, which the pass is run for on a copy. The former with
 * options->why is a list of collectives, with their bytes and what asks for them. */
void fe_dump_shard(ir_graph *g, const ir_parsed_graph *block, const fe_dump_options *options, ir_text *out,
                   ir_error *error);

#endif
