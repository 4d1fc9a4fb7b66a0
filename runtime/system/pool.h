/* The folder runtime/system. Threads, stacks and files of the operating system.
 *
 *   in      loops to run on several threads, work that needs a large stack, bytes to write, files to read
 *   out     the loop or the work done, the bytes written, the file in memory
 *   holds   nothing here depends on a graph or a program */

/* A pool of threads that run one loop at a time, together with the calling thread.
 *
 * The threads are started by the first loop that is worth splitting. After a loop they spin for
 * RT_POOL_SPIN_NS, during which the next loop reaches them within tens of nanoseconds. Then they sleep, and
 * waking them takes tens of microseconds: only a loop wakes them that takes several times as long, or one of
 * many that follow one another. A loop never waits for sleeping threads: those that are awake do all the
 * work. */
#ifndef VIEWFOLD_RUNTIME_SYSTEM_POOL_H
#define VIEWFOLD_RUNTIME_SYSTEM_POOL_H

#include "ir/base.h"

#define RT_POOL_SPIN_NS 50000

typedef struct rt_pool rt_pool;

/* Runs the iterations [begin, end) of the loop, one chunk. `begin` is a multiple of the grain. `worker` is
 * the thread's number in this loop, below rt_pool_threads: two chunks that run at the same time have
 * different ones. */
typedef void (*rt_pool_work)(void *context, int worker, int64_t begin, int64_t end);

/* Makes a pool of `threads` threads, including the caller of rt_pool_run; 0 means rt_pool_default_threads(),
 * which is called when first needed. NULL when memory is short. Starts no threads. */
rt_pool *rt_pool_create(const ir_mem *mem, int threads, ir_error *error);

/* Ends the threads. No rt_pool_run may be in progress. */
void rt_pool_destroy(rt_pool *pool);

/* The number of threads that a loop may be divided among. If the system refuses to start some, fewer take
 * part. */
int rt_pool_threads(rt_pool *pool);

/* Calls work on chunks that cover [0, count) exactly once, in any order and on any threads, and returns when
 * all calls have returned. Each chunk but the last has at least `grain` iterations, and there are at most 64
 * chunks per thread. least_ns: nanoseconds that the loop surely takes on one thread, or 0; where these are
 * worth waking threads, they are woken at once, else when the chunks so far have taken so long that what is
 * left is. Cannot fail. While a loop is in progress, any other loop on the same pool, from
 * another thread or from inside work, runs as one chunk on its calling thread. A child process made by fork
 * has no threads: its loops run on the caller alone. */
void rt_pool_run(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain,
                 int64_t least_ns);
/* least_ns of a loop that takes milliseconds. */
#define RT_POOL_LONG INT64_MAX

/* The number of processors this process may use: its affinity mask, reduced by the CPU quota of its control
 * groups (rounded up), at least 1. Reads files; takes tens of microseconds. (runtime/system/cores.c) */
int rt_pool_default_threads(void);

/* `most`, or the quota of the process's control groups if that is less. Reads the files under `root`, which
 * is "" but for tests. (runtime/system/cores.c) */
int rt_cores_quota(const char *root, int most);

#endif
