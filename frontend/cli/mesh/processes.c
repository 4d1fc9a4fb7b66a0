#include "frontend/cli/mesh/processes.h"

#include <stdlib.h>

#include "frontend/mesh/processes.h"
#include "runtime/mesh/post.h"
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

ir_status cli_processes_most(fe_sharded *s, int64_t *number, ir_error *error) {
  uint32_t devices = rt_mesh_axes(s->mesh)->device_count;
  ir_box *boxes = ir_alloc(s->graph.mem, devices * sizeof *boxes);
  void **parts = ir_alloc(s->graph.mem, devices * sizeof *parts);
  int64_t *all = ir_alloc(s->graph.mem, devices * sizeof *all);
  ir_status status = boxes && parts && all ? IR_OK : ir_fail(error, IR_ERR_MEMORY, "out of memory");
  for (uint32_t d = 0; d < devices && !status; d++) {
    boxes[d] = (ir_box){.rank = 1, .lo = {d}, .hi = {d + 1}};
    parts[d] = number;
    all[d] = *number;
  }
  rt_mesh_array numbers = {sizeof *number, {.rank = 1, .hi = {devices}}, boxes, parts, all};
  if (!status) status = rt_mesh_gather(s->mesh, &numbers, 1, error);
  for (uint32_t d = 0; d < devices && !status; d++)
    if (all[d] > *number) *number = all[d];
  ir_free(s->graph.mem, boxes, devices * sizeof *boxes);
  ir_free(s->graph.mem, parts, devices * sizeof *parts);
  ir_free(s->graph.mem, all, devices * sizeof *all);
  return status;
}
