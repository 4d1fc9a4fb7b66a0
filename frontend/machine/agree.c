#include "frontend/machine/agree.h"

#include <string.h>

#include "runtime/mesh/ranks.h"
#include "runtime/mpi/mpi.h"

ir_status fe_gather_rows(rt_mesh *mesh, const ir_mem *mem, void *own, size_t count, unsigned char **all,
                         ir_error *error) {
  uint32_t devices = rt_mesh_axes(mesh)->device_count;
  ir_box *boxes = ir_alloc(mem, devices * sizeof *boxes);
  void **parts = ir_alloc(mem, devices * sizeof *parts);
  *all = ir_alloc(mem, devices * count);
  ir_status status = boxes && parts && *all ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory");
  for (uint32_t d = 0; d < devices && !status; d++) {
    boxes[d] = (ir_box){.rank = 2, .lo = {d}, .hi = {d + 1, (int64_t)count}};
    parts[d] = own;
    memcpy(*all + d * count, own, count);
  }
  rt_mesh_array rows = {1, {.rank = 2, .hi = {devices, (int64_t)count}}, boxes, parts, *all};
  if (!status) status = rt_mesh_gather(mesh, &rows, 1, error);
  ir_free(mem, boxes, devices * sizeof *boxes);
  ir_free(mem, parts, devices * sizeof *parts);
  return status;
}

ir_status fe_first_row(rt_context *context, rt_mesh *mesh, const ir_mem *mem, void *bytes, size_t count,
                       ir_error *error) {
  const ir_mesh *axes = rt_mesh_axes(mesh);
  rt_post *post = rt_context_post(context);
  uint32_t processes = post ? rt_post_transport(post)->processes : 1, first = 0;
  unsigned char *all;
  ir_status status = fe_gather_rows(mesh, mem, bytes, count, &all, error);
  while (rt_process_of(axes, processes, first)) first++;
  if (!status) memcpy(bytes, all + first * count, count);
  ir_free(mem, all, axes->device_count * count);
  return status;
}

ir_status fe_mesh_agree(rt_context *context, const ir_mesh *mesh, void *bytes, size_t count,
                        ir_error *error) {
  rt_mesh *devices = NULL;
  rt_post *post = rt_context_post(context);
  if (!post) return IR_OK;
  ir_status status = rt_mesh_make(mesh->mem, mesh, false, post, NULL, &devices, error);
  if (!status) status = fe_first_row(context, devices, mesh->mem, bytes, count, error);
  rt_mesh_free(devices);
  return status;
}
