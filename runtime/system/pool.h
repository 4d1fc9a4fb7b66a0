/* The folder runtime/system. Threads, stacks and files of the operating system.
 *
 *   in      loops to be shared, stack sizes, bytes to be written
 *   out     the same done
 *   holds   nothing here knows a graph or a program */

/* A pool of threads that run one loop at a time, together with the thread that asks.
 *
 * Threads are started by the first loop that is worth splitting. After a loop they spin for RT_POOL_SPIN_NS,
 * where the next one reaches them within tens of nanoseconds, and then sleep, where waking takes tens of
 * microseconds: nobody ever waits for a sleeper, whoever is awake does the work. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_POOL_H
#define VIEWFOLD_RUNTIME_SYSTEM_POOL_H

#include "ir/base.h"

#define RT_POOL_SPIN_NS 50000

typedef struct rt_pool rt_pool;

/* A piece [begin, end) of the loop. `begin` is a multiple of the grain. `worker` is the thread's number in
 * this loop, from 0 and below rt_pool_threads: no two pieces run at one time under one number. */
typedef void (*rt_pool_work)(void *context, int worker, int64_t begin, int64_t end);

/* A pool of `threads` threads, the caller of rt_pool_run included; 0 means rt_pool_default_threads(), looked
 * up when first needed. NULL when memory is short. Starts nothing. */
rt_pool *rt_pool_create(const ir_mem *mem, int threads, ir_error *error);

/* Ends the threads. No rt_pool_run may be in progress. */
void rt_pool_destroy(rt_pool *pool);

/* Threads a loop may be spread over. Fewer take part when the system refuses to start them. */
int rt_pool_threads(rt_pool *pool);

/* Call work on pieces that cover [0, count) once each, in any order, on any threads, and return when all have
 * returned. Pieces are at least `grain` long (but for the last) and there are at most four per thread. Cannot
 * fail. While one loop runs, others asked of the same pool, from other threads or from inside work, run as
 * one piece on the thread that asks. A child made by fork has no threads: its loops run on the caller alone.
 */
void rt_pool_run(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain);

/* Processors this process may use: its affinity mask, reduced by the CPU quota of its control groups (rounded
 * up), at least 1. Reads files; takes tens of microseconds. (runtime/system/cores.c) */
int rt_pool_default_threads(void);

/* `most`, or fewer where the quota of the process's control groups is less: as the files under `root` say,
 * which is "" but for tests. (runtime/system/cores.c) */
int rt_cores_quota(const char *root, int most);

#endif
