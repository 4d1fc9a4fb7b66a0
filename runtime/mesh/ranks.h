/* The engine of several processes: the devices of each are threads of it, and what they exchange travels in
 * packets. A packet is copied from the part when it is sent, and to the result when it is waited for, so that
 * a device waits for nobody who needs its part. Large messages are copied once where the system lets
 * processes read each other's memory: then a device waits for its readers. */
#ifndef VIEWFOLD_RUNTIME_MESH_RANKS_H
#define VIEWFOLD_RUNTIME_MESH_RANKS_H

#include "runtime/mesh.h"
#include "runtime/mesh/post.h"
#include "runtime/mesh/threads.h"

typedef struct rt_ranks rt_ranks;

extern const rt_engine rt_rank_engine;

/* The process that has a device: the one that the mesh says, or else each process has as many that follow one
 * another as the next, or one more. */
uint32_t rt_process_of(const ir_mesh *mesh, uint32_t processes, uint32_t device);

/* The engine for the devices of the mesh that this process has; the mesh and the post must outlive it.
 * IR_ERR_INVALID: the mesh has devices on processes that there are not, or none on one of them.
 * IR_ERR_UNSUPPORTED: more than RT_THREAD_DEVICES of one process. */
ir_status rt_ranks_make(const ir_mem *mem, const ir_mesh *mesh, rt_post *post, rt_ranks **out,
                        ir_error *error);
void rt_ranks_free(rt_ranks *ranks);                        /* accepts NULL */
bool rt_ranks_have(const rt_ranks *ranks, uint32_t device); /* is it of this process? */
/* By device: which one of this process's it is, or UINT32_MAX; *count: how many there are. */
const uint32_t *rt_ranks_places(const rt_ranks *ranks, uint32_t *count);

/* As rt_threads_run, for this process's devices; all processes call it alike, in the same order. `program`
 * tells what is run from all else: the same number in all processes, or the run fails. Where `before` is a
 * failure, nothing is run, and the others are told. Returns when the devices of all processes have ended:
 * with the first failure of any, whose message names device and process and who waited for it, or with
 * IR_ERR_DEVICE where a process has not been heard of for as long as the post says. */
ir_status rt_ranks_run(rt_ranks *ranks, uint64_t program, rt_device_work work, void *user, ir_status before,
                       ir_error *error);

#endif
