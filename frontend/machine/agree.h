/* What several processes have to agree about before they make one program. */
#ifndef VIEWFOLD_FRONTEND_MACHINE_AGREE_H
#define VIEWFOLD_FRONTEND_MACHINE_AGREE_H

#include "runtime/context.h"
#include "runtime/mesh_run.h"

/* Rows of so many bytes, one of each device, in *all, which is freed with ir_free(mem, *all, devices *
 * count): the devices of this process have `own`. All processes call it alike. */
ir_status fe_gather_rows(rt_mesh *mesh, const ir_mem *mem, void *own, size_t count, unsigned char **all,
                         ir_error *error);
/* Gives each process the bytes that process 0 has. All processes call it alike. */
ir_status fe_first_row(rt_context *context, rt_mesh *mesh, const ir_mem *mem, void *bytes, size_t count,
                       ir_error *error);
/* The same, where there is no such mesh yet. In one process: nothing. */
ir_status fe_mesh_agree(rt_context *context, const ir_mesh *mesh, void *bytes, size_t count, ir_error *error);

#endif
