/* The folder frontend/api/mesh. Meshes in the C API.
 *
 *   in      axes as text, graphs, parts of arrays
 *   out     values with specs, programs on meshes
 *   holds   a mesh is copied by whatever is given it */

/* Meshes of the C API, for the files of frontend/api. */
#ifndef VIEWFOLD_FRONTEND_API_MESH_MESH_H
#define VIEWFOLD_FRONTEND_API_MESH_MESH_H

#include "frontend/api/api.h"
#include "ir/mesh/mesh.h"

/* Axes and devices; valid as long as the mesh. */
const ir_mesh *fe_mesh_axes(const vf_mesh *mesh);
ir_mesh *fe_mesh_own_axes(vf_mesh *mesh); /* to change latencies and bandwidths */
vf_context *fe_mesh_context(const vf_mesh *mesh);
/* The number of the axis of that name; -1: there is none, or the mesh is none. */
int fe_mesh_axis(const vf_mesh *mesh, const char *axis);

#endif
