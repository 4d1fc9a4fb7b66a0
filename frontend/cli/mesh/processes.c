#include "frontend/cli/mesh/processes.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/mesh/processes.h"
#include "runtime/mesh/ranks.h"
#include "runtime/mpi/mpi.h"

ir_status cli_processes_join(rt_context *context, ir_error *error) {
  const char *text = getenv("VIEWFOLD_MESH_SECONDS");
  char *end = NULL;
  double seconds = text && *text ? strtod(text, &end) : 0;
  if (!rt_mpi_is_launched()) return IR_OK;
  if (end && (*end || !(seconds > 0)))
    return ir_fail(error, IR_ERR_INVALID, "VIEWFOLD_MESH_SECONDS=%s: a number of seconds, above 0", text);
  return fe_processes_join(context, seconds, error);
}

bool cli_process_speaks(const rt_context *context) {
  return !rt_context_post(context) || rt_post_transport(rt_context_post(context))->process == 0;
}

/* Rows of so many bytes, one of each device: this process's are `own`. *all has those of all devices. */
static ir_status gather_rows(fe_sharded *s, void *own, size_t count, unsigned char **all, ir_error *error) {
  uint32_t devices = rt_mesh_axes(s->mesh)->device_count;
  ir_box *boxes = ir_alloc(s->graph.mem, devices * sizeof *boxes);
  void **parts = ir_alloc(s->graph.mem, devices * sizeof *parts);
  *all = ir_alloc(s->graph.mem, devices * count);
  ir_status status = boxes && parts && *all ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory");
  for (uint32_t d = 0; d < devices && !status; d++) {
    boxes[d] = (ir_box){.rank = 2, .lo = {d}, .hi = {d + 1, (int64_t)count}};
    parts[d] = own;
    memcpy(*all + d * count, own, count);
  }
  rt_mesh_array rows = {1, {.rank = 2, .hi = {devices, (int64_t)count}}, boxes, parts, *all};
  if (!status) status = rt_mesh_gather(s->mesh, &rows, 1, error);
  ir_free(s->graph.mem, boxes, devices * sizeof *boxes);
  ir_free(s->graph.mem, parts, devices * sizeof *parts);
  return status;
}

static void free_rows(fe_sharded *s, unsigned char *all, size_t count) {
  ir_free(s->graph.mem, all, rt_mesh_axes(s->mesh)->device_count * count);
}

ir_status cli_processes_first(fe_sharded *s, void *bytes, size_t count, ir_error *error) {
  const ir_mesh *mesh = rt_mesh_axes(s->mesh);
  rt_post *post = rt_context_post(s->context);
  uint32_t processes = post ? rt_post_transport(post)->processes : 1, first = 0;
  unsigned char *all;
  ir_status status = gather_rows(s, bytes, count, &all, error);
  while (rt_process_of(mesh, processes, first)) first++;
  if (!status) memcpy(bytes, all + first * count, count);
  free_rows(s, all, count);
  return status;
}

ir_status cli_processes_most(fe_sharded *s, int64_t *number, ir_error *error) {
  unsigned char *all;
  int64_t other;
  ir_status status = gather_rows(s, number, sizeof *number, &all, error);
  for (uint32_t d = 0; d < rt_mesh_axes(s->mesh)->device_count && !status; d++) {
    memcpy(&other, all + d * sizeof other, sizeof other);
    if (other > *number) *number = other;
  }
  free_rows(s, all, sizeof *number);
  return status;
}
