/* Meshes of the C API, for the files of frontend/api. */
#ifndef VIEWFOLD_FRONTEND_API_MESH_H
#define VIEWFOLD_FRONTEND_API_MESH_H

#include "frontend/api/api.h"
#include "ir/mesh/mesh.h"

/* Axes and devices; valid as long as the mesh. */
const ir_mesh *fe_mesh_axes(const vf_mesh *mesh);

#endif
