/* The engine of one process: devices are threads, and read each other's parts where these are. */
#ifndef VIEWFOLD_RUNTIME_MESH_THREADS_H
#define VIEWFOLD_RUNTIME_MESH_THREADS_H

#include "runtime/mesh.h"

typedef struct rt_threads rt_threads;

extern const rt_engine rt_thread_engine;

/* The engine for the devices of a mesh, at most RT_THREAD_DEVICES; the mesh must outlive it. slow: messages
 * arrive as late as latency and bandwidth of the mesh's axes say (ir/mesh/link.h). IR_ERR_UNSUPPORTED: too
 * many devices. */
enum { RT_THREAD_DEVICES = 256 };
ir_status rt_threads_make(const ir_mem *mem, const ir_mesh *mesh, bool slow, rt_threads **out,
                          ir_error *error);
void rt_threads_free(rt_threads *threads); /* accepts NULL */

/* Calls work(user, endpoint) for each device, with all of its fields but `traffic` and `routes` set, each in
 * a thread of its own, and returns when all have. The first failure that work returns cancels the others, and
 * is returned: its message names the device, and a device that waited for it. One call at a time. */
typedef ir_status (*rt_device_work)(void *user, rt_endpoint *endpoint, ir_error *error);
ir_status rt_threads_run(rt_threads *threads, rt_device_work work, void *user, ir_error *error);

#endif
