/* The thread pool.
 *
 * The word `state` controls a loop: the flag OPEN is set while chunks remain to be claimed, and the low bits
 * count the threads that have joined. A thread joins by incrementing the count while OPEN is set, claims
 * chunks until none are left, then clears OPEN and leaves by decrementing the count. The caller does the same
 * and waits for the count to reach zero; threads that never woke are not waited for. The description of the
 * loop is plain memory, written before OPEN is set and read only between joining and leaving.
 *
 * The chunks are divided into contiguous shares, and each thread begins with its own: if several loops in a
 * row go over the same elements, a thread gets the same range in each, which is in its cache. Afterwards it
 * claims chunks from the other shares. The counter of a share contains the number of its loop, so that a new
 * loop need not reset it. */
#include "runtime/system/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "ir/timer.h"
#include "runtime/system/stack.h"

enum { OPEN = 1 << 30, QUIT = 1 << 29, WAITING = 1 << 28, JOINED_MASK = (1 << 28) - 1 };
enum { CHUNKS_PER_THREAD = 4, MAX_THREADS = 4096, MOST_SHARES = 16, CACHE_LINE = 128 };

/* claimed: the number of a loop, above SHARE_BITS bits with the number of chunks claimed in it. */
typedef struct share {
  alignas(CACHE_LINE) _Atomic uint64_t claimed;
} share;
enum { SHARE_BITS = 20 };

typedef struct worker {
  rt_pool *pool;
  pthread_t handle;
  int number; /* from 1; the calling thread is 0 */
} worker;

/* On a cache line of its own, which no thread reads before there is a loop. */
typedef struct loop {
  alignas(CACHE_LINE) rt_pool_work work;
  void *context;
  int64_t count, chunk; /* chunk: iterations of one, a multiple of the grain */
  int32_t chunks, shares;
  uint64_t number; /* from 1 */
} loop;

struct rt_pool {
  const ir_mem *mem;
  void *raw;          /* as allocated */
  atomic_int threads; /* 0: not looked up yet */
  atomic_bool busy;   /* a loop is in progress; its owner alone uses the fields from here to `loop` */
  bool started;
  int workers;
  pid_t owner;
  worker *list;
  loop loop;
  alignas(CACHE_LINE) atomic_uint state;
  atomic_int sleepers; /* sleeping threads that no wake-up has been promised to */
  share share[MOST_SHARES];
  alignas(CACHE_LINE) pthread_mutex_t lock; /* for sleeping only */
  pthread_cond_t wake, left;
  int wakes; /* wake-ups promised and not yet consumed; under `lock` */
};

static void relax(void) {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("yield");
#endif
}

/* Spin until some bit of `bits` is set in the state (or all are clear, when `set` is false); false when time
 * is up. */
static bool spin(rt_pool *pool, unsigned bits, bool set) {
  int64_t start = 0;
  for (unsigned turn = 0;; turn++) {
    if (((atomic_load_explicit(&pool->state, memory_order_acquire) & bits) != 0) == set) return true;
    relax();
    if (turn % 32 != 31) continue;
    int64_t now = ir_now_ns();
    if (!start) start = now;
    if (now - start > RT_POOL_SPIN_NS) return false;
  }
}

/* Claims a chunk of a share; -1 if none is left. */
static int32_t claim_chunk(rt_pool *pool, int32_t number) {
  const loop *l = &pool->loop;
  int32_t first = (int32_t)((int64_t)number * l->chunks / l->shares),
          end = (int32_t)((number + (int64_t)1) * l->chunks / l->shares);
  _Atomic uint64_t *claimed = &pool->share[number].claimed;
  uint64_t before = atomic_load_explicit(claimed, memory_order_relaxed), fresh = l->number << SHARE_BITS,
           next;
  int32_t chunk;
  do {
    next = (before >> SHARE_BITS == l->number ? before : fresh) + 1;
    chunk = first + (int32_t)(next - 1 - fresh);
    if (chunk >= end) return -1;
  } while (!atomic_compare_exchange_weak_explicit(claimed, &before, next, memory_order_relaxed,
                                                  memory_order_relaxed));
  return chunk;
}

/* Claims and runs chunks until none are left. */
static void run_chunks(rt_pool *pool, int worker_number) {
  const loop *l = &pool->loop;
  int32_t own = (int32_t)((int64_t)worker_number * l->shares / (pool->workers + 1));
  for (int32_t i = 0; i < l->shares; i++)
    for (int32_t chunk; (chunk = claim_chunk(pool, (own + i) % l->shares)) >= 0;) {
      int64_t begin = chunk * l->chunk;
      l->work(l->context, worker_number, begin, chunk + 1 < l->chunks ? begin + l->chunk : l->count);
    }
}

/* Clears OPEN, because no chunk is left, and leaves the loop. Signals the caller if it sleeps and this was
 * the last thread. */
static void leave_loop(rt_pool *pool) {
  unsigned before = atomic_load_explicit(&pool->state, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&pool->state, &before, (before & ~(unsigned)OPEN) - 1,
                                                memory_order_acq_rel, memory_order_relaxed)) {}
  if (!(before & WAITING) || (before & JOINED_MASK) != 1) return;
  pthread_mutex_lock(&pool->lock);
  pthread_cond_signal(&pool->left);
  pthread_mutex_unlock(&pool->lock);
}

/* Sleep until a loop is posted. The order "count as asleep, then look at the state" mirrors the poster's "set
 * the state, then look for sleepers": one of the two sees the other. */
static void sleep_until_woken(rt_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_add(&pool->sleepers, 1);
  if (atomic_load(&pool->state) & (OPEN | QUIT)) {
    atomic_fetch_sub(&pool->sleepers, 1);
  } else {
    while (!pool->wakes && !(atomic_load(&pool->state) & QUIT)) pthread_cond_wait(&pool->wake, &pool->lock);
    if (pool->wakes) pool->wakes--;
  }
  pthread_mutex_unlock(&pool->lock);
}

static void *thread_main(void *argument) {
  const worker *self = argument;
  rt_pool *pool = self->pool;
  for (;;) {
    if (!spin(pool, OPEN | QUIT, true)) {
      sleep_until_woken(pool);
      continue;
    }
    unsigned state = atomic_load_explicit(&pool->state, memory_order_relaxed);
    if (state & QUIT) return NULL;
    if (!(state & OPEN) || !atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1,
                                                                  memory_order_acq_rel, memory_order_relaxed))
      continue;
    run_chunks(pool, self->number);
    leave_loop(pool);
  }
}

static void wake_sleepers(rt_pool *pool, int64_t wanted) {
  if (getpid() != pool->owner) return;
  pthread_mutex_lock(&pool->lock);
  int asleep = atomic_load(&pool->sleepers), count = wanted < asleep ? (int)wanted : asleep;
  atomic_fetch_sub(&pool->sleepers, count);
  pool->wakes += count;
  for (int i = 0; i < count; i++) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->lock);
}

/* Starts the threads with all signals blocked: signals are for the program's own threads. Where threads
 * cannot be started, the pool has fewer. */
static void start_threads(rt_pool *pool) {
  int wanted = rt_pool_threads(pool) - 1;
  pool->started = true;
  if (wanted < 1) return;
  pool->list = ir_alloc(pool->mem, (size_t)wanted * sizeof *pool->list);
  if (!pool->list) return;
  pool->owner = getpid();
  sigset_t all, old;
  pthread_attr_t attributes; /* kernels are compiled in these threads as well */
  if (!rt_stack_attributes(&attributes)) return;
  sigfillset(&all);
  sigdelset(&all, SIGBUS); /* kernels read mapped files (bus_error.h) */
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (bool good = true; good && pool->workers < wanted;) {
    worker *w = &pool->list[pool->workers];
    *w = (worker){.pool = pool, .number = pool->workers + 1};
    good = pthread_create(&w->handle, &attributes, thread_main, w) == 0;
    pool->workers += good;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
}

static void wait_for_joined(rt_pool *pool) {
  if (spin(pool, JOINED_MASK, false)) return;
  pthread_mutex_lock(&pool->lock);
  atomic_fetch_or(&pool->state, WAITING);
  while (atomic_load_explicit(&pool->state, memory_order_acquire) & JOINED_MASK)
    pthread_cond_wait(&pool->left, &pool->lock);
  atomic_fetch_and(&pool->state, ~(unsigned)WAITING);
  pthread_mutex_unlock(&pool->lock);
}

/* Divides the loop into at most CHUNKS_PER_THREAD chunks per thread, all of equal length (a multiple of the
 * grain) but for the last. */
static void describe_loop(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain) {
  int32_t threads = pool->workers + 1;
  int64_t units = (count - 1) / grain + 1, each = (units - 1) / ((int64_t)CHUNKS_PER_THREAD * threads) + 1;
  loop *l = &pool->loop;
  l->work = work;
  l->context = context;
  l->count = count;
  l->chunks = (int32_t)((units - 1) / each + 1);
  l->chunk = l->chunks > 1 ? each * grain : count; /* no overflow: less than count */
  l->shares = threads < MOST_SHARES ? threads : MOST_SHARES;
  if (l->shares > l->chunks) l->shares = l->chunks;
  l->number++;
}

void rt_pool_run(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (count <= grain || atomic_load_explicit(&pool->threads, memory_order_relaxed) == 1 ||
      atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
    work(context, 0, 0, count);
    return;
  }
  if (!pool->started) start_threads(pool);
  if (pool->workers == 0) {
    atomic_store_explicit(&pool->busy, false, memory_order_release);
    work(context, 0, 0, count);
    return;
  }
  describe_loop(pool, work, context, count, grain);
  int32_t chunks = pool->loop.chunks;
  atomic_store(&pool->state, OPEN);
  if (atomic_load(&pool->sleepers) > 0) wake_sleepers(pool, chunks - 1);
  run_chunks(pool, 0);
  atomic_fetch_and_explicit(&pool->state, ~(unsigned)OPEN, memory_order_acq_rel);
  wait_for_joined(pool);
  atomic_store_explicit(&pool->busy, false, memory_order_release);
}

int rt_pool_threads(rt_pool *pool) {
  int threads = atomic_load_explicit(&pool->threads, memory_order_relaxed);
  if (threads) return threads;
  threads = rt_pool_default_threads();
  atomic_store_explicit(&pool->threads, threads, memory_order_relaxed);
  return threads;
}

rt_pool *rt_pool_create(const ir_mem *mem, int threads, ir_error *error) {
  if (threads < 0 || threads > MAX_THREADS) {
    ir_fail(error, IR_ERR_INVALID, "threads: %d; give 1 to %d, or 0 for one per processor", threads,
            MAX_THREADS);
    return NULL;
  }
  void *raw = ir_alloc(mem, sizeof(rt_pool) + CACHE_LINE);
  if (!raw) {
    ir_fail(error, IR_ERR_MEMORY, "threads: no memory for a pool");
    return NULL;
  }
  rt_pool *pool = (rt_pool *)(((uintptr_t)raw + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
  memset(pool, 0, sizeof *pool);
  pool->mem = mem;
  pool->raw = raw;
  atomic_init(&pool->threads, threads);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->left, NULL);
  return pool;
}

void rt_pool_destroy(rt_pool *pool) {
  if (!pool) return;
  if (pool->list) {
    bool ours = getpid() == pool->owner;
    if (ours) {
      pthread_mutex_lock(&pool->lock);
      atomic_fetch_or(&pool->state, QUIT);
      pthread_cond_broadcast(&pool->wake);
      pthread_mutex_unlock(&pool->lock);
      for (int i = 0; i < pool->workers; i++) pthread_join(pool->list[i].handle, NULL);
    }
    ir_free(pool->mem, pool->list, (size_t)(rt_pool_threads(pool) - 1) * sizeof *pool->list);
  }
  if (!pool->list || getpid() == pool->owner) {
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
  }
  ir_free(pool->mem, pool->raw, sizeof *pool + CACHE_LINE);
}
