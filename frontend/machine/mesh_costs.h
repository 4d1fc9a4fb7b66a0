/* Latency and bandwidth of meshes, and rates of their devices, as `viewfold mesh calibrate` measured them,
 * kept on disk (kind "mesh") by the machine, the processes, and the axes and devices of the mesh. */
#ifndef VIEWFOLD_FRONTEND_MACHINE_MESH_COSTS_H
#define VIEWFOLD_FRONTEND_MACHINE_MESH_COSTS_H

#include "ir/mesh/sharding.h"
#include "runtime/context.h"

/* Keeps what the mesh has, and the rates of its devices; without a cache, nothing. */
void fe_mesh_keep(rt_context *context, const ir_mesh *mesh, const double *rates);
/* Where the graph's mesh declares no latency and no bandwidth, gives its axes those that are kept, and the
 * mesh its pace (ir_mesh_pace), and sets *taken; taken may be NULL. Not where $VIEWFOLD_MESH_COSTS
 * is `none`; fails where it is something else than that and `kept`. Several processes call it alike: all take
 * what process 0 has, so that they make the same program. */
ir_status fe_mesh_take_kept(rt_context *context, ir_graph *graph, bool *taken, ir_error *error);

#endif
