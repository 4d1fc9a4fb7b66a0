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
 * loop need not reset it.
 *
 * Waking a thread costs the caller a system call, and what the thread does begins later still. So while all
 * threads sleep, the caller of a loop begins alone, looks at the clock after 1, 2, 4, ... chunks, and posts
 * what is left once that is worth waking them for, by the time so far and by what waking has cost. Many short
 * loops in a row count together. Of threads to be woken the caller signals a few, and these the others. */
#include "runtime/system/pool.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "ir/timer.h"
#include "runtime/system/stack.h"

enum { OPEN = 1 << 30, QUIT = 1 << 29, WAITING = 1 << 28, JOINED_MASK = (1 << 28) - 1 };
enum {
  /* At the end of a loop a thread waits for another one's last chunk, and where threads sleep the first chunk
   * tells how long the loop takes. On two cores sums of columns take 1 to 5 % less time than with 4, other
   * kernels of 2 ms 0 to 2 %; with 16, chunks of 2 MiB, 3 % more. */
  CHUNKS_PER_THREAD = 64,
  MAX_THREADS = 4096,
  MOST_SHARES = 16,
  CACHE_LINE = 128
};
/* Waking. On two cores of a virtual machine the call takes 15 us, and the thread begins 45 us after it: one
 * that is woken saves something of what takes 90 us, six times as long as the call. */
enum {
  WAKE_NS = 15000,       /* the call, before it is measured */
  MAX_WAKE_NS = WAKE_NS, /* more is not believed: the caller was interrupted */
  WORTH_WAKING = 6,
  SIGNALS = 2 /* to threads that wait, by the caller and by each thread that is woken */
};

/* claimed: the number of a loop, above SHARE_BITS bits with the number of chunks claimed in it. */
typedef struct share {
  alignas(CACHE_LINE) _Atomic uint64_t claimed;
} share;
enum { SHARE_BITS = 20 };
enum { TAIL_NS = 4 * RT_POOL_SPIN_NS }; /* a chunk of a loop of 25 ms on two threads */

typedef struct worker {
  rt_pool *pool;
  pthread_t handle;
  int number; /* from 1; the calling thread is 0 */
} worker;

/* On a cache line of its own, which no thread reads before there is a loop. */
typedef struct loop {
  alignas(CACHE_LINE) rt_pool_work work;
  void *context;
  int64_t first, count, chunk; /* iterations first to count - 1; those of a chunk, a multiple of the grain */
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
  int64_t wake_ns;  /* what waking threads costs the caller: a running mean */
  int64_t alone_ns; /* taken by loops while threads slept, each soon after the one before; ... */
  int64_t alone_to; /* ... and when the last of them ended */
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
 * is up. While a loop is in progress, time is TAIL_NS: the next one may follow soon after its last chunk. */
static bool spin(rt_pool *pool, unsigned bits, bool set) {
  int64_t start = 0;
  for (unsigned turn = 0;; turn++) {
    if (((atomic_load_explicit(&pool->state, memory_order_acquire) & bits) != 0) == set) return true;
    relax();
    if (turn % 32 != 31) continue;
    int64_t now = ir_now_ns();
    if (!start) start = now;
    bool busy = now - start < TAIL_NS && atomic_load_explicit(&pool->busy, memory_order_relaxed);
    if (now - start > RT_POOL_SPIN_NS && !busy) return false;
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
      int64_t begin = l->first + chunk * l->chunk;
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

/* Under the lock. */
static void signal_some(rt_pool *pool, int wakes) {
  for (int i = 0; i < wakes && i < SIGNALS; i++) pthread_cond_signal(&pool->wake);
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
    signal_some(pool, pool->wakes);
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
  int64_t start = ir_now_ns();
  pthread_mutex_lock(&pool->lock);
  int asleep = atomic_load(&pool->sleepers), count = wanted < asleep ? (int)wanted : asleep;
  atomic_fetch_sub(&pool->sleepers, count);
  pool->wakes += count;
  signal_some(pool, count);
  pthread_mutex_unlock(&pool->lock);
  int64_t took = ir_now_ns() - start;
  pool->wake_ns += ((took < MAX_WAKE_NS ? took : MAX_WAKE_NS) - pool->wake_ns) / 4;
}

/* What is worth waking threads, in nanoseconds of one thread. */
static int64_t worth_waking(const rt_pool *pool) { return WORTH_WAKING * pool->wake_ns; }

/* Did loops take long enough while threads slept, each soon after the one before, the next from `now` on? */
static bool waited_long(rt_pool *pool, int64_t now) {
  if (now - pool->alone_to > RT_POOL_SPIN_NS) pool->alone_ns = 0;
  return pool->alone_ns > worth_waking(pool);
}

static void count_alone(rt_pool *pool, int64_t start, int64_t taken) {
  pool->alone_ns += taken;
  pool->alone_to = start + taken;
}

/* Iterations of the shortest chunk, a multiple of the grain. */
static int64_t least_chunk(const rt_pool *pool, int64_t count, int64_t grain) {
  int64_t units = (count - 1) / grain + 1, most = (int64_t)CHUNKS_PER_THREAD * (pool->workers + 1);
  return units > most ? ((units - 1) / most + 1) * grain : grain;
}

/* All threads sleep: the caller runs iterations, from the first on, until those that are left are worth
 * waking them. Returns how many it ran, a multiple of the grain or all. */
static int64_t run_alone(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain) {
  int64_t start = ir_now_ns(), taken = 0, done = 0, step = least_chunk(pool, count, grain);
  if (waited_long(pool, start)) return 0;
  while (done < count) {
    int64_t end = step < count - done ? done + step : count;
    work(context, 0, done, end);
    done = step = end;
    taken = ir_now_ns() - start;
    if ((double)taken / (double)done * (double)(count - done) > (double)worth_waking(pool)) return done;
  }
  count_alone(pool, start, taken);
  return done;
}

/* Where threads cannot be started, the pool has fewer. */
static void start_threads(rt_pool *pool) {
  int wanted = rt_pool_threads(pool) - 1;
  pool->started = true;
  if (wanted < 1) return;
  pool->list = ir_alloc(pool->mem, (size_t)wanted * sizeof *pool->list);
  if (!pool->list) return;
  pool->owner = getpid();
  for (bool good = true; good && pool->workers < wanted;) {
    worker *w = &pool->list[pool->workers];
    *w = (worker){.pool = pool, .number = pool->workers + 1};
    good = rt_thread_start(&w->handle, thread_main, w);
    pool->workers += good;
  }
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

/* Divides the iterations from `first` on into chunks, all of equal length but for the last. */
static void describe_loop(rt_pool *pool, rt_pool_work work, void *context, int64_t first, int64_t count,
                          int64_t grain) {
  loop *l = &pool->loop;
  l->work = work;
  l->context = context;
  l->first = first;
  l->count = count;
  l->chunk = least_chunk(pool, count - first, grain);
  l->chunks = (int32_t)((count - first - 1) / l->chunk + 1);
  l->shares = pool->workers + 1 < MOST_SHARES ? pool->workers + 1 : MOST_SHARES;
  if (l->shares > l->chunks) l->shares = l->chunks;
  l->number++;
}

/* Runs the iterations from `first` on on all threads that are awake, and wakes the others if `wake`. */
static void run_together(rt_pool *pool, rt_pool_work work, void *context, int64_t first, int64_t count,
                         int64_t grain, bool wake) {
  describe_loop(pool, work, context, first, count, grain);
  atomic_store(&pool->state, OPEN);
  if (wake && atomic_load(&pool->sleepers) > 0) {
    pool->alone_ns = 0;
    wake_sleepers(pool, pool->loop.chunks - 1);
  }
  run_chunks(pool, 0);
  atomic_fetch_and_explicit(&pool->state, ~(unsigned)OPEN, memory_order_acq_rel);
  wait_for_joined(pool);
}

/* Some threads sleep, but not all: it is not known how long these would take, only what loops took before. */
static void run_with_some(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain) {
  int64_t start = ir_now_ns();
  bool wake = waited_long(pool, start);
  run_together(pool, work, context, 0, count, grain, wake);
  if (!wake) count_alone(pool, start, ir_now_ns() - start);
}

void rt_pool_run(rt_pool *pool, rt_pool_work work, void *context, int64_t count, int64_t grain,
                 int64_t least_ns) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (count <= grain || atomic_load_explicit(&pool->threads, memory_order_relaxed) == 1 ||
      atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
    work(context, 0, 0, count);
    return;
  }
  if (!pool->started) start_threads(pool);
  int asleep = atomic_load(&pool->sleepers);
  if (pool->workers == 0) {
    work(context, 0, 0, count);
  } else if (asleep == 0 || least_ns > worth_waking(pool)) {
    run_together(pool, work, context, 0, count, grain, true);
  } else if (asleep < pool->workers) {
    run_with_some(pool, work, context, count, grain);
  } else {
    int64_t done = run_alone(pool, work, context, count, grain);
    if (done < count) run_together(pool, work, context, done, count, grain, true);
  }
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
  pool->wake_ns = WAKE_NS;
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
