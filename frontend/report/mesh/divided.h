/* The folder frontend/report/mesh. What a graph becomes on a mesh.
 *
 *   in      a graph with a mesh
 *   out     specs, exchanges with what they cost, and the program of a device, as text */

/* A graph of a file, divided among the devices of its mesh. */
#ifndef VIEWFOLD_FRONTEND_REPORT_MESH_DIVIDED_H
#define VIEWFOLD_FRONTEND_REPORT_MESH_DIVIDED_H

#include "ir/mesh/sharding.h"
#include "ir/parse/parse.h"
#include "passes/shard/shard.h"
#include "runtime/context.h"

typedef struct fe_divided {
  ir_graph g;         /* a copy with the mesh and all specs, and the program of a device */
  ir_ref *refs, *map; /* the results, then the inputs; map: of the original's nodes */
  size_t count, map_size;
  shard_program program; /* its inputs and results are in the order of the block */
  bool
      kept; /* latency and bandwidth of the mesh are those that were measured before (machine/mesh_costs.h) */
} fe_divided;

/* Runs the pass on a copy of the graph. device: as in shard_request. False after failing, also where there is
 * no mesh; free *out in any case. g->error must be `error`. context: whose kept costs of messages count; or
 * NULL. */
bool fe_divided_make(fe_divided *out, ir_graph *g, const ir_parsed_graph *block, int64_t device,
                     rt_context *context, ir_error *error);
void fe_divided_free(fe_divided *divided); /* accepts one that is all zero */
/* Appends `%name` of a node of the copy, or its operation, where the block gives it no name. */
void fe_divided_name(const fe_divided *divided, const ir_parsed_graph *block, ir_ref node, ir_text *out);

#endif
