/* On which hosts the processes of meshes are. */
#ifndef VIEWFOLD_FRONTEND_MACHINE_HOSTS_H
#define VIEWFOLD_FRONTEND_MACHINE_HOSTS_H

#include "ir/mesh/mesh.h"
#include "runtime/context.h"

/* What a process says of itself. */
typedef struct fe_host {
  char name[65], device[128]; /* device: what the caller said, up to the end of its line */
} fe_host;
typedef struct fe_hosts {
  uint32_t count; /* of processes */
  fe_host *of;    /* by process; with ir_mem_libc */
} fe_hosts;

/* Asks all processes that the context has joined, which call it alike; of one process, NULL or with none
 * joined, this one alone. Free *out in any case. */
ir_status fe_hosts_find(rt_context *context, const char *device, fe_hosts *out, ir_error *error);
void fe_hosts_free(fe_hosts *hosts);
/* The process of a device; NULL: of one that was not started. */
const fe_host *fe_host_of(const fe_hosts *hosts, const ir_mesh *mesh, uint32_t device);
/* `all devices on host a`, or a line for each process: `process 0 on host a: devices 0 to 3, 6`, `no device`
 */
void fe_hosts_put(const fe_hosts *hosts, const ir_mesh *mesh, ir_text *out);

#endif
