/* Whole arrays for each process of a mesh, of the parts that all devices have. */
#ifndef VIEWFOLD_RUNTIME_MESH_GATHER_H
#define VIEWFOLD_RUNTIME_MESH_GATHER_H

#include "runtime/mesh/ranks.h"
#include "runtime/mesh_run.h"

/* All processes call it alike. As rt_ranks_run, of which it is one. */
ir_status rt_ranks_gather(rt_ranks *ranks, const rt_mesh_array *arrays, size_t count, ir_error *error);

#endif
