#include "frontend/cli/mesh/processes.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/machine/agree.h"
#include "frontend/machine/hosts.h"
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

ir_status cli_processes_text(rt_context *context, const char *device, ir_text *out, ir_error *error) {
  fe_hosts hosts;
  if (!rt_context_post(context)) return IR_OK;
  ir_status status = fe_hosts_find(context, device, &hosts, error);
  for (uint32_t i = 0; i < hosts.count && !status; i++)
    ir_textf(out, "process %u of %u on %s, %s\n", i, hosts.count, hosts.of[i].name, hosts.of[i].device);
  fe_hosts_free(&hosts);
  return status;
}

ir_status cli_processes_first(fe_sharded *s, void *bytes, size_t count, ir_error *error) {
  return fe_first_row(s->context, s->mesh, s->graph.mem, bytes, count, error);
}

ir_status cli_processes_most(fe_sharded *s, int64_t *number, ir_error *error) {
  unsigned char *all;
  int64_t other;
  ir_status status = fe_gather_rows(s->mesh, s->graph.mem, number, sizeof *number, &all, error);
  for (uint32_t d = 0; d < rt_mesh_axes(s->mesh)->device_count && !status; d++) {
    memcpy(&other, all + d * sizeof other, sizeof other);
    if (other > *number) *number = other;
  }
  ir_free(s->graph.mem, all, rt_mesh_axes(s->mesh)->device_count * sizeof *number);
  return status;
}
