/* Programs on a mesh, for the files that run them and count what they receive (run_mesh.c, mesh_traffic.c).
 */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_RUN_MESH_H
#define VIEWFOLD_RUNTIME_PROGRAM_RUN_MESH_H

#include <pthread.h>
#include <string.h>

#include "runtime/mesh/gather.h"
#include "runtime/mesh/threads.h"
#include "runtime/mesh_run.h"
#include "runtime/program/exchange_table.h"

struct rt_mesh {
  const ir_mem *mem;
  ir_mesh axes;
  rt_threads *threads;       /* the engine: of one process, */
  rt_ranks *ranks;           /* or of several, */
  rt_simulation *simulation; /* or what runs them instead */
  pthread_mutex_t lock;      /* one run at a time */
};

struct rt_mesh_program {
  rt_mesh *mesh;
  rt_program **programs;     /* by device */
  rt_exchange_table *tables; /* of each plan, those of the first device first */
  uint32_t table_count;
  uint32_t *table_of;    /* by device */
  rt_routes *routes;     /* by exchange */
  char **words;          /* likewise: what messages call it */
  rt_pieces *pieces;     /* likewise */
  const uint32_t *place; /* by device: which one of this process's; NULL: all are of it */
  uint32_t own_count;
  int64_t *took_ns;     /* by place: of the last run */
  rt_traffic *traffic;  /* by place and exchange */
  rt_traffic *gathered; /* of all devices; NULL: those of this process are all that is known */
  int64_t *vars;        /* by device: the values for which the routes were found */
  size_t exchange_count, var_count;
  bool routed;
  uint64_t key;                       /* of the routes: equal where processes exchange the same */
  const rt_mesh_arguments *arguments; /* of the run in progress */
};

/* The number of devices. */
static inline uint32_t rt_mesh_devices(const rt_mesh_program *m) { return m->mesh->axes.device_count; }

/* What a device has received, by exchange; NULL: not known, it is of another process. */
static inline rt_traffic *rt_mesh_traffic_of(const rt_mesh_program *m, uint32_t device) {
  if (m->gathered) return m->gathered + device * m->exchange_count;
  uint32_t place = m->place ? m->place[device] : device;
  return place == UINT32_MAX ? NULL : m->traffic + place * m->exchange_count;
}

/* What an exchange is called on all devices: its kind, behind which a number may stand, as #3 or @3
 * (passes/shard/shard.h). */
static inline const char *rt_mesh_exchange_name(const rt_mesh_program *m, size_t exchange) {
  return rt_exchange_name(&m->tables[0], (uint32_t)exchange);
}

/* The bytes of the kind, as far as a report has room for it. */
static inline size_t rt_exchange_kind_length(const char *name) {
  size_t length = strcspn(name, "#@"), most = RT_MESH_KIND - 1;
  return length < most ? length : most;
}

/* Fails with IR_ERR_MEMORY. */
static inline ir_status rt_mesh_no_memory(const rt_program *p, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory running it on a mesh", rt_program_name(p));
}

#endif
