/* Meshes of several processes. */
#ifndef VIEWFOLD_FRONTEND_MESH_PROCESSES_H
#define VIEWFOLD_FRONTEND_MESH_PROCESSES_H

#include "runtime/runtime.h"

/* Joins the processes that MPI has started with this one: meshes of the context are of all of them from now
 * on. seconds: after how long a silent process counts as gone; 0: 10. */
ir_status fe_processes_join(rt_context *context, double seconds, ir_error *error);

#endif
