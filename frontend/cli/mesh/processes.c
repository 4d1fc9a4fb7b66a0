#include "frontend/cli/mesh/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/machine/agree.h"
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

/* What a process says of itself. */
typedef struct introduction {
  char host[65], device[128];
} introduction;

ir_status cli_processes_text(rt_context *context, const char *device, ir_text *out, ir_error *error) {
  rt_post *post = rt_context_post(context);
  rt_mesh *mesh = NULL;
  unsigned char *all = NULL;
  introduction own = {0};
  ir_mesh axes;
  if (!post) return IR_OK;
  uint32_t count = rt_post_transport(post)->processes;
  if (gethostname(own.host, sizeof own.host - 1)) strcpy(own.host, "?");
  snprintf(own.device, sizeof own.device, "%.*s", (int)strcspn(device, "\n"), device);
  ir_mesh_init(&axes, &ir_mem_libc);
  ir_status status = ir_mesh_add(&axes, "process", 7, count, error) ? IR_OK : error->status;
  if (!status) status = rt_mesh_make(&ir_mem_libc, &axes, false, post, NULL, &mesh, error);
  if (!status) status = fe_gather_rows(mesh, &ir_mem_libc, &own, sizeof own, &all, error);
  for (uint32_t i = 0; i < count && !status; i++) {
    memcpy(&own, all + i * sizeof own, sizeof own);
    ir_textf(out, "process %u of %u on %s, %s\n", i, count, own.host, own.device);
  }
  ir_free(&ir_mem_libc, all, count * sizeof own);
  rt_mesh_free(mesh);
  ir_mesh_free(&axes);
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
