#include "frontend/machine/hosts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/machine/agree.h"
#include "runtime/mesh/ranks.h"

static void introduce(fe_host *own, const char *device) {
  *own = (fe_host){.name = ""};
  if (gethostname(own->name, sizeof own->name - 1)) strcpy(own->name, "?");
  snprintf(own->device, sizeof own->device, "%.*s", (int)strcspn(device, "\n"), device);
}

ir_status fe_hosts_find(rt_context *context, const char *device, fe_hosts *out, ir_error *error) {
  rt_post *post = context ? rt_context_post(context) : NULL;
  rt_mesh *mesh = NULL;
  unsigned char *all = NULL;
  fe_host own;
  ir_mesh axes;
  *out = (fe_hosts){.count = post ? rt_post_transport(post)->processes : 1};
  introduce(&own, device);
  if (!(out->of = ir_alloc(&ir_mem_libc, out->count * sizeof own)))
    return ir_fail(error, IR_ERR_MEMORY, "out of memory for the names of hosts");
  if (!post) return *out->of = own, IR_OK;
  ir_mesh_init(&axes, &ir_mem_libc);
  ir_status status = ir_mesh_add(&axes, "process", 7, out->count, error) ? IR_OK : error->status;
  if (!status) status = rt_mesh_make(&ir_mem_libc, &axes, false, post, NULL, &mesh, error);
  if (!status) status = fe_gather_rows(mesh, &ir_mem_libc, &own, sizeof own, &all, error);
  if (!status) memcpy(out->of, all, out->count * sizeof own);
  ir_free(&ir_mem_libc, all, out->count * sizeof own);
  rt_mesh_free(mesh);
  ir_mesh_free(&axes);
  return status;
}

void fe_hosts_free(fe_hosts *hosts) {
  ir_free(&ir_mem_libc, hosts->of, hosts->count * sizeof *hosts->of);
  *hosts = (fe_hosts){0};
}

const fe_host *fe_host_of(const fe_hosts *hosts, const ir_mesh *mesh, uint32_t device) {
  uint32_t process = rt_process_of(mesh, hosts->count, device);
  return process < hosts->count ? &hosts->of[process] : NULL;
}

/* Of one process, as runs of devices that follow each other. */
static void put_devices(const fe_hosts *hosts, const ir_mesh *mesh, uint32_t process, ir_text *out) {
  const char *before = " ";
  uint32_t count = 0;
  for (uint32_t d = 0; d < mesh->device_count; d++) count += rt_process_of(mesh, hosts->count, d) == process;
  ir_text_str(out, count == 0 ? "no device" : count == 1 ? "device" : "devices");
  for (uint32_t d = 0; d < mesh->device_count; d++) {
    uint32_t end = d;
    while (end < mesh->device_count && rt_process_of(mesh, hosts->count, end) == process) end++;
    if (end == d) continue;
    ir_textf(out, "%s%u", before, d), before = ", ";
    if (end > d + 1) ir_textf(out, " to %u", end - 1);
    d = end;
  }
}

void fe_hosts_put(const fe_hosts *hosts, const ir_mesh *mesh, ir_text *out) {
  bool here = true;
  for (uint32_t d = 0; d < mesh->device_count && hosts->count == 1; d++)
    here &= rt_process_of(mesh, 1, d) == 0;
  if (hosts->count == 1 && here) {
    ir_textf(out, "all devices on host %s\n", hosts->of->name);
    return;
  }
  for (uint32_t p = 0; p < hosts->count; p++) {
    ir_textf(out, "process %u on host %s: ", p, hosts->of[p].name);
    put_devices(hosts, mesh, p, out);
    ir_text_str(out, "\n");
  }
}
