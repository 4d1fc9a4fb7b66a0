/* Threads for models that were built ahead of time with --threads (docs/ahead.md): the pool that libviewfold
 * runs its own loops on. In libviewfold, and in libviewfold-pool.a, which needs nothing but the C library:
 *
 *   vf_pool *pool = vf_pool_create(0);
 *   model_host host = {pool, vf_pool_parallel_for};
 *   ... model_run(&arrays, arena, &host) ...           the arena: model_ARENA_BYTES, and model_WORKER_BYTES
 *   vf_pool_destroy(pool);                                for each of vf_pool_threads(pool) threads but one
 */
#ifndef VIEWFOLD_POOL_H
#define VIEWFOLD_POOL_H

#include "viewfold.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_pool vf_pool;

/* A pool of `threads` threads, 1 to 4096, the one that calls included; 0: as many as this process may use
 * processors. They are started by the first loop that is worth it. NULL: no such number, or no memory. */
VF_API vf_pool *vf_pool_create(int threads);
VF_API void vf_pool_destroy(vf_pool *pool); /* accepts NULL. No loop may be in progress */
VF_API int vf_pool_threads(vf_pool *pool);

/* Calls body(argument, worker, begin, end) for parts that together are 0 to count, each of at least `grain`
 * iterations but for the last, and returns when all have returned; worker is below vf_pool_threads, and
 * differs between parts that run at the same time. `pool` is a vf_pool. While one loop is in progress, others
 * on the same pool run on the threads that call. */
VF_API void vf_pool_parallel_for(void *pool,
                                 void (*body)(void *argument, int64_t worker, int64_t begin, int64_t end),
                                 void *argument, int64_t count, int64_t grain);

#ifdef __cplusplus
}
#endif

#endif
