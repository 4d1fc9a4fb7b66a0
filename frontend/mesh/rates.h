/* How fast the devices of a mesh are against one another. */
#ifndef VIEWFOLD_FRONTEND_MESH_RATES_H
#define VIEWFOLD_FRONTEND_MESH_RATES_H

#include "ir/mesh/mesh.h"
#include "runtime/context.h"

/* Operations in a second of each device, `rates`, as measured with a product on all of them at once; all 0
 * where there is nothing to measure: one process, whose devices are of one name. Several processes call it
 * alike, and get the same. Fails as fe_sharded_make. */
ir_status fe_mesh_rates(rt_context *context, const ir_mesh *mesh, double *rates, ir_error *error);

#endif
