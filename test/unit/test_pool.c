/* The thread pool: every index once, for all sizes; loops from many threads and nested ones; sleeping and
 * waking; creation and destruction. Run with SAN=thread to see that it is free of races. */
#include "runtime/system/pool.h"
#include "ir/timer.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct job {
  unsigned char *hits; /* not atomic: a chunk that runs twice, or is unordered with the caller, is a race */
  int64_t grain;
  atomic_int bad_begin, chunks;
} job;

static void mark(void *context, int worker, int64_t begin, int64_t end) {
  job *j = context;
  atomic_fetch_add(&j->chunks, 1);
  if (begin % j->grain) atomic_fetch_add(&j->bad_begin, 1);
  for (int64_t i = begin; i < end; i++) j->hits[i]++;
}

static void cover(rt_pool *pool, int64_t count, int64_t grain) {
  job j = {.hits = calloc(1, (size_t)count + 1), .grain = grain};
  rt_pool_run(pool, mark, &j, count, grain, 0);
  for (int64_t i = 0; i < count; i++) assert_int_equal(j.hits[i], 1);
  assert_int_equal(j.hits[count], 0);
  assert_int_equal(atomic_load(&j.bad_begin), 0);
  assert_true(atomic_load(&j.chunks) <= (count + grain - 1) / grain);
  free(j.hits);
}

static rt_pool *make(int threads) {
  ir_error error = {0};
  rt_pool *pool = rt_pool_create(&ir_mem_libc, threads, &error);
  assert_non_null(pool);
  return pool;
}

static void every_index_once(void **state) {
  static const int64_t grains[] = {1, 2, 7, 64, 1000};
  for (int threads = 1; threads <= 5; threads++) {
    rt_pool *pool = make(threads);
    assert_int_equal(rt_pool_threads(pool), threads);
    for (int64_t count = 0; count < 70; count++)
      for (int g = 0; g < 5; g++) cover(pool, count, grains[g]);
    cover(pool, 100003, 16);
    rt_pool_destroy(pool);
  }
}

static void add_span(void *context, int worker, int64_t begin, int64_t end) {
  atomic_fetch_add((_Atomic int64_t *)context, end - begin);
}

static void huge_counts_do_not_overflow(void **state) {
  static const int64_t grains[] = {1, 3, INT64_MAX / 2 + 1, INT64_MAX - 1, INT64_MAX, 0, -5};
  rt_pool *pool = make(3);
  for (int g = 0; g < 7; g++) {
    _Atomic int64_t total = 0;
    rt_pool_run(pool, add_span, &total, INT64_MAX, grains[g], 0);
    assert_int_equal(total, INT64_MAX);
  }
  _Atomic int64_t total = 0;
  rt_pool_run(pool, add_span, &total, -3, 1, 0);
  assert_int_equal(total, 0);
  rt_pool_destroy(pool);
}

typedef struct numbers {
  atomic_bool inside[4]; /* a chunk is running under this number */
  atomic_int out_of_range, shared;
} numbers;
static void enter_number(void *context, int worker, int64_t begin, int64_t end) {
  numbers *n = context;
  if (worker < 0 || worker >= 4) atomic_fetch_add(&n->out_of_range, 1);
  else if (atomic_exchange(&n->inside[worker], true)) atomic_fetch_add(&n->shared, 1);
  for (volatile int i = 0; i < 200; i++) {}
  if (worker >= 0 && worker < 4) atomic_store(&n->inside[worker], false);
}

static void no_two_chunks_at_one_time_have_one_number(void **state) {
  rt_pool *pool = make(4);
  for (int iteration = 0; iteration < 2000; iteration++) {
    numbers n = {0};
    rt_pool_run(pool, enter_number, &n, 16, 1, 0);
    assert_int_equal(n.out_of_range, 0);
    assert_int_equal(n.shared, 0);
  }
  rt_pool_destroy(pool);
}

typedef struct meeting {
  atomic_int here;
  int expected;
} meeting;

static void meet(void *context, int worker, int64_t begin, int64_t end) {
  meeting *m = context;
  atomic_fetch_add(&m->here, 1);
  for (int i = 0; i < 4000000 && atomic_load(&m->here) < m->expected; i++) {
    struct timespec t = {0, 100000};
    nanosleep(&t, NULL);
  }
}

/* Two chunks that wait for each other end only when two threads run at once; also after the workers went to
 * sleep. */
static void threads_really_work_together(void **state) {
  rt_pool *pool = make(2);
  for (int iteration = 0; iteration < 20; iteration++) {
    meeting m = {.expected = 2};
    rt_pool_run(pool, meet, &m, 2, 1, RT_POOL_LONG);
    assert_int_equal(m.here, 2);
    struct timespec t = {0, iteration % 2 ? 2000000 : 10000};
    nanosleep(&t, NULL);
  }
  rt_pool_destroy(pool);
}

/* Threads that wait on a condition, and signals so far: the linker wraps these functions (Makefile). */
static atomic_int asleep, signals;
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __real_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
  atomic_fetch_add(&asleep, 1);
  int status = __real_pthread_cond_wait(condition, lock);
  atomic_fetch_sub(&asleep, 1);
  return status;
}
int __wrap_pthread_cond_signal(pthread_cond_t *condition) {
  atomic_fetch_add(&signals, 1);
  return __real_pthread_cond_signal(condition);
}

enum { TRIES = 2000000 };
static void wait_until_asleep(int threads) {
  struct timespec t = {0, 100000};
  for (int i = 0; i < TRIES && atomic_load(&asleep) < threads; i++) nanosleep(&t, NULL);
  assert_int_equal(atomic_load(&asleep), threads);
  atomic_store(&signals, 0);
}

/* *context: nanoseconds that each iteration takes at least. */
static void take_time(void *context, int worker, int64_t begin, int64_t end) {
  int64_t start = ir_now_ns();
  while (ir_now_ns() - start < *(int64_t *)context * (end - begin)) {}
}

static rt_pool *make_asleep(int threads) {
  _Atomic int64_t total = 0;
  rt_pool *pool = make(threads);
  rt_pool_run(pool, add_span, &total, 100, 1, 0);
  wait_until_asleep(threads - 1);
  return pool;
}

/* A caller that is interrupted takes its loop for a long one: some try is not. */
static void a_short_loop_wakes_nobody(void **state) {
  bool quiet = false;
  for (int i = 0; i < 500 && !quiet; i++) {
    rt_pool *pool = make_asleep(2);
    _Atomic int64_t total = 0;
    rt_pool_run(pool, add_span, &total, 100, 1, 0);
    assert_int_equal(total, 100);
    quiet = atomic_load(&signals) == 0;
    rt_pool_destroy(pool);
  }
  assert_true(quiet);
}

/* A thread that an interrupted caller of make_asleep has signalled, and that still sleeps, needs no other
 * signal: some try finds none. */
static void a_long_loop_wakes_threads(void **state) {
  bool woken = false;
  for (int i = 0; i < 500 && !woken; i++) {
    rt_pool *pool = make_asleep(2);
    int64_t each = 1000000;
    rt_pool_run(pool, take_time, &each, 8, 1, 0);
    woken = atomic_load(&signals) > 0;
    rt_pool_destroy(pool);
  }
  assert_true(woken);
}

static void many_short_loops_wake_threads(void **state) {
  rt_pool *pool = make_asleep(2);
  int64_t each = 2000;
  for (int i = 0; i < TRIES && atomic_load(&signals) == 0; i++) rt_pool_run(pool, take_time, &each, 8, 1, 0);
  assert_true(atomic_load(&signals) > 0);
  rt_pool_destroy(pool);
}

/* Each iteration waits for all of the threads. */
static void all_threads_wake(void **state) {
  rt_pool *pool = make_asleep(12);
  meeting m = {.expected = 12};
  rt_pool_run(pool, meet, &m, 12, 1, RT_POOL_LONG);
  assert_int_equal(m.here, 12);
  rt_pool_destroy(pool);
}

static void many_short_loops(void **state) {
  rt_pool *pool = make(3);
  int64_t expected = 0;
  _Atomic int64_t total = 0;
  for (int i = 0; i < 20000; i++) {
    rt_pool_run(pool, add_span, &total, i % 11, 1, 0);
    expected += i % 11;
  }
  assert_int_equal(total, expected);
  rt_pool_destroy(pool);
}

/* The caller's own data, written without atomics before the loop and read after it: the pool must order
 * both. */
typedef struct plain {
  int64_t in[64], out[64];
} plain;
static void twice(void *context, int worker, int64_t begin, int64_t end) {
  plain *p = context;
  for (int64_t i = begin; i < end; i++) p->out[i] = 2 * p->in[i];
}

static void data_is_ordered(void **state) {
  rt_pool *pool = make(4);
  plain p;
  for (int64_t iteration = 0; iteration < 3000; iteration++) {
    for (int i = 0; i < 64; i++) p.in[i] = iteration + i;
    rt_pool_run(pool, twice, &p, 64, 1, 0);
    for (int i = 0; i < 64; i++) assert_int_equal(p.out[i], 2 * (iteration + i));
  }
  rt_pool_destroy(pool);
}

typedef struct nested {
  rt_pool *pool;
  _Atomic int64_t total;
} nested;
static void inner_loop(void *context, int worker, int64_t begin, int64_t end) {
  nested *n = context;
  for (int64_t i = begin; i < end; i++) rt_pool_run(n->pool, add_span, &n->total, 10, 1, 0);
}

static void nested_loops_run_inline(void **state) {
  nested n = {.pool = make(3)};
  for (int i = 0; i < 200; i++) rt_pool_run(n.pool, inner_loop, &n, 20, 1, 0);
  assert_int_equal(n.total, 200 * 20 * 10);
  rt_pool_destroy(n.pool);
}

static void *run_many(void *argument) {
  rt_pool *pool = argument;
  _Atomic int64_t total = 0;
  for (int i = 0; i < 2000; i++) rt_pool_run(pool, add_span, &total, 100, 7, 0);
  return (void *)(intptr_t)(total == 200000);
}

static void several_threads_share_a_pool(void **state) {
  rt_pool *pool = make(3);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_many, pool), 0);
  for (int i = 0; i < 4; i++) {
    void *good;
    pthread_join(threads[i], &good);
    assert_true((intptr_t)good);
  }
  rt_pool_destroy(pool);
}

static void lives_and_dies(void **state) {
  for (int i = 0; i < 200; i++) {
    rt_pool *pool = make(1 + i % 4);
    _Atomic int64_t total = 0;
    if (i % 3) rt_pool_run(pool, add_span, &total, 40, 1, 0);
    if (i % 7 == 0) {
      struct timespec t = {0, 300000}; /* so that the workers are asleep when the pool is destroyed */
      nanosleep(&t, NULL);
    }
    rt_pool_destroy(pool);
  }
  rt_pool_destroy(NULL);
}

static void default_count_is_used(void **state) {
  int count = rt_pool_default_threads();
  assert_true(count >= 1 && count <= sysconf(_SC_NPROCESSORS_CONF));
  rt_pool *pool = make(0);
  assert_int_equal(rt_pool_threads(pool), count);
  cover(pool, 1000, 1);
  rt_pool_destroy(pool);
}

static void child_of_fork_runs_alone(void **state) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(THREAD_SANITIZER)
  skip(); /* ThreadSanitizer does not follow a fork of a threaded process */
#endif
  rt_pool *pool = make(3);
  cover(pool, 1000, 1);
  struct timespec t = {0, 1000000};
  nanosleep(&t, NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(1000);
    _Atomic int64_t total = 0;
    for (int i = 0; i < 100; i++) rt_pool_run(pool, add_span, &total, 100, 1, 0);
    rt_pool_destroy(pool);
    _exit(total == 10000 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  cover(pool, 1000, 1);
  rt_pool_destroy(pool);
}

static void short_of_memory(void **state) {
  test_budget budget = {0, 0};
  ir_mem mem = {test_budget_hook, &budget};
  ir_error error = {0};
  assert_null(rt_pool_create(&mem, 2, &error));
  assert_int_equal(error.status, IR_ERR_MEMORY);
  budget.left = 1; /* enough for the pool, but not for its threads: everything runs on the caller */
  rt_pool *pool = rt_pool_create(&mem, 4, &error);
  assert_non_null(pool);
  cover(pool, 100, 1);
  rt_pool_destroy(pool);
}

static void bad_counts_are_refused(void **state) {
  ir_error error = {0};
  assert_null(rt_pool_create(&ir_mem_libc, -1, &error));
  assert_int_equal(error.status, IR_ERR_INVALID);
  assert_string_equal(error.text, "threads: -1; give 1 to 4096, or 0 for one per processor");
}

UNIT_TESTS(every_index_once, huge_counts_do_not_overflow, no_two_chunks_at_one_time_have_one_number,
           threads_really_work_together, a_short_loop_wakes_nobody, a_long_loop_wakes_threads,
           many_short_loops_wake_threads, all_threads_wake, many_short_loops, data_is_ordered,
           nested_loops_run_inline, several_threads_share_a_pool, lives_and_dies, default_count_is_used,
           child_of_fork_runs_alone, short_of_memory, bad_counts_are_refused)
