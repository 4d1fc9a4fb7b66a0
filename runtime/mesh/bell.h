/* What a device sleeps on, which others ring. Ringing a device that does not sleep is one atomic addition. */
#ifndef VIEWFOLD_RUNTIME_MESH_BELL_H
#define VIEWFOLD_RUNTIME_MESH_BELL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct rt_bell {
  atomic_uint_fast64_t rings;
  atomic_bool sleeps;
  pthread_mutex_t lock;
  pthread_cond_t cond;
} rt_bell;

/* A bell that nobody has rung. */
static inline void rt_bell_init(rt_bell *bell) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  atomic_init(&bell->rings, 0);
  atomic_init(&bell->sleeps, false);
  pthread_mutex_init(&bell->lock, NULL);
  pthread_cond_init(&bell->cond, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/* Nobody sleeps on it, or rings it any more. */
static inline void rt_bell_destroy(rt_bell *bell) {
  pthread_cond_destroy(&bell->cond);
  pthread_mutex_destroy(&bell->lock);
}

/* How often it was rung. Who reads it before looking for something, and sleeps with that number, is woken by
 * a ring after the look. */
static inline uint64_t rt_bell_rings(rt_bell *bell) { return atomic_load(&bell->rings); }

/* How long a device looks for what it waits for before it sleeps, where each has a processor. A device that
 * runs answers within RT_SPIN_NS; then the device yields between looks, since the other one may be on the
 * same processor, until RT_YIELD_NS: several times what a sleep takes, so that two that sleep in turns, each
 * when the other wakes, meet again. */
enum { RT_SPIN_NS = 3000, RT_YIELD_NS = 300000 };
/* Where devices share processors: as long as a sleep takes. */
enum { RT_SHORT_NS = 20000 };

/* Between two looks, so long after the first: true, or false where it is time to sleep. spin_ns: 0 where the
 * other device may be on this processor, and does nothing until this one yields. */
static inline bool rt_bell_look_again(int64_t since_ns, int64_t spin_ns, int64_t most_ns) {
  if (since_ns >= most_ns) return false;
  if (since_ns >= spin_ns) sched_yield();
  return true;
}

/* The sleeper says that it sleeps, then looks at the rings; who rings counts, then looks whether it sleeps:
 * one of them sees the other. */
static inline void rt_bell_ring(rt_bell *bell) {
  atomic_fetch_add(&bell->rings, 1);
  if (!atomic_load(&bell->sleeps)) return;
  pthread_mutex_lock(&bell->lock);
  pthread_cond_signal(&bell->cond);
  pthread_mutex_unlock(&bell->lock);
}

/* Sleeps until it has been rung more often than `rings` times, or until the time by ir_now_ns; 0: for any
 * time. For the one thread that the bell is of. */
static inline void rt_bell_sleep(rt_bell *bell, uint64_t rings, int64_t until_ns) {
  struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
  pthread_mutex_lock(&bell->lock);
  atomic_store(&bell->sleeps, true);
  while (atomic_load(&bell->rings) == rings)
    if (!until_ns) pthread_cond_wait(&bell->cond, &bell->lock);
    else if (pthread_cond_timedwait(&bell->cond, &bell->lock, &until)) break;
  atomic_store(&bell->sleeps, false);
  pthread_mutex_unlock(&bell->lock);
}

#endif
