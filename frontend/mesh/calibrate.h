/* What messages between the devices of a mesh cost. */
#ifndef VIEWFOLD_FRONTEND_MESH_CALIBRATE_H
#define VIEWFOLD_FRONTEND_MESH_CALIBRATE_H

#include "ir/mesh/mesh.h"
#include "runtime/context.h"

/* Gives each axis of more than one device the latency and the bandwidth of messages between its devices, as
 * measured on them: all send at once, each to the next along the axis. A mesh that names no devices has the
 * context's device everywhere. Takes about a tenth of a second for each axis. Several processes call it
 * alike, and take what process 0 has measured. rates: by device, of unlike ones (frontend/mesh/rates.h). It
 * is kept for meshes that declare nothing (machine/mesh_costs.h). Fails as fe_sharded_make, and then leaves
 * the mesh as it is. */
ir_status fe_mesh_calibrate(rt_context *context, ir_mesh *mesh, double *rates, ir_error *error);

#endif
