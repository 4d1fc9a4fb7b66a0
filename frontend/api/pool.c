/* The thread pool, for objects that run without the other parts of the library. This file and what it calls
 * go into libviewfold-pool.a (Makefile, POOL_OBJ). */
#include "frontend/viewfold_pool.h"

#include "runtime/system/pool.h"

typedef struct loop {
  void (*body)(void *argument, int64_t worker, int64_t begin, int64_t end);
  void *argument;
} loop;

static void run_part(void *given, int worker, int64_t begin, int64_t end) {
  const loop *l = given;
  l->body(l->argument, worker, begin, end);
}

vf_pool *vf_pool_create(int threads) {
  ir_error error = {0};
  return (vf_pool *)rt_pool_create(&ir_mem_libc, threads, &error);
}

void vf_pool_destroy(vf_pool *pool) {
  if (pool) rt_pool_destroy((rt_pool *)pool);
}

int vf_pool_threads(vf_pool *pool) { return rt_pool_threads((rt_pool *)pool); }

void vf_pool_parallel_for(void *pool,
                          void (*body)(void *argument, int64_t worker, int64_t begin, int64_t end),
                          void *argument, int64_t count, int64_t grain) {
  loop l = {body, argument};
  rt_pool_run(pool, run_part, &l, count, grain, 0);
}
