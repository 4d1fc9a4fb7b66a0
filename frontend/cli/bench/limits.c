#include "frontend/cli/bench/limits.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

#include "frontend/cli/bench/bench.h"

enum {
  MOST_SAMPLES = 9,
  LEAST_SAMPLES = 1,
  PATIENCE = 1 << 14,
  SAMPLES_NS = 6000000 /* of one loop and footprint; there are 48, so that all take about half a second */
};
#define SAMPLE_BYTES  2.5e7
#define MULTIPLY_ADDS (1 << 26)
#define GIGA          1e9

typedef struct survey {
  const bench_kit *kit;
  float *data;
  atomic_int arrived;
  int samples;                /* of this loop and footprint; written by thread 0 between two barriers */
  _Atomic int64_t longest[2]; /* processor time of the slowest thread of a sample, in turn: ns */
  fe_roofline *out;
} survey;

/* A barrier of `count` threads. *arrivals: how many barriers this thread has arrived at, 0 at first. */
static void wait_for_team(survey *s, int count, int *arrivals) {
  int wanted = ++*arrivals * count;
  atomic_fetch_add(&s->arrived, 1);
  for (int spins = 0; atomic_load(&s->arrived) < wanted; spins++)
    if (spins > PATIENCE) sched_yield();
}

enum { LINES = FE_STREAMS };
typedef struct loop_plan {
  int stream, loop, arrays; /* arrays: 2 where the loop copies from one to another */
  bool reads;               /* writes nothing but a result */
} loop_plan;

static void raise_to(_Atomic int64_t *most, int64_t value) {
  int64_t old = atomic_load(most);
  while (old < value && !atomic_compare_exchange_weak(most, &old, value)) {}
}

/* Seconds in which all threads together run a loop `repeats` times, over n floats of each array: the least of
 * some samples, after one that brings the arrays to the caches and says how many there is time for. A sample
 * is the processor time of its slowest thread, so that a thread that waits while other programs run takes no
 * longer. */
static double seconds(survey *s, int number, int count, int *arrivals, const loop_plan *p, size_t n,
                      int repeats) {
  float result[BENCH_CHUNK] __attribute__((aligned(64)));
  float *from = s->data + (size_t)number * n,
        *to = p->reads ? result : from + (p->arrays > 1 ? (size_t)count * n : 0);
  double least = INFINITY;
  for (int i = -1; i < 0 || i < s->samples; i++) {
    _Atomic int64_t *longest = &s->longest[i & 1]; /* the other one is read until the next barrier */
    if (number == 0) atomic_store(longest, 0);
    wait_for_team(s, count, arrivals);
    int64_t before = bench_thread_now();
    for (int k = 0; k < repeats; k++) s->kit->loops[p->loop](to, from, n);
    raise_to(longest, bench_thread_now() - before);
    wait_for_team(s, count, arrivals);
    int64_t taken = atomic_load(longest);
    if (i >= 0) least = fmin(least, (double)taken * 1e-9);
    else if (number == 0)
      s->samples = (int)fmin(fmax((double)SAMPLES_NS / (double)(taken + 1), LEAST_SAMPLES), MOST_SAMPLES);
    if (i < 0) wait_for_team(s, count, arrivals);
  }
  return least;
}

/* Cycles in a ns: of operations that wait for each other, each takes one on every processor. No compiler can
 * combine exclusive ors and additions of a number that it does not know. */
static double measure_clock(void) {
  enum { OPERATIONS = 1 << 18, AT_ONCE = 16, CLOCK_SAMPLES = 15 };
  volatile uint64_t unknown = 1;
  uint64_t x = 1, number = unknown;
  int64_t least = INT64_MAX;
  for (int sample = 0; sample < CLOCK_SAMPLES; sample++) {
    int64_t before = bench_thread_now();
    for (int i = 0; i < OPERATIONS / AT_ONCE; i++)
      for (int k = 0; k < AT_ONCE; k += 2) x = (x ^ number) + number;
    unknown = x;
    int64_t taken = bench_thread_now() - before;
    if (taken > 0 && taken < least) least = taken;
  }
  return (double)OPERATIONS / (double)least;
}

static void survey_all(void *user, int number, int count) {
  static const loop_plan plan[] = {{FE_STREAM_READ, BENCH_READ, 1, true},
                                   {FE_STREAM_COPY, BENCH_COPY, 2, false},
                                   {FE_STREAM_COPY, BENCH_COPY_NONTEMPORAL, 2, false},
                                   {FE_STREAM_FILL, BENCH_FILL, 1, false},
                                   {FE_STREAM_FILL, BENCH_FILL_NONTEMPORAL, 1, false},
                                   {LINES, BENCH_READ_LINES, 1, true}},
                         multiply_add = {0, BENCH_MULTIPLY_ADD, 1, true};
  survey *s = user;
  int arrivals = 0;
  for (size_t p = 0; p < sizeof plan / sizeof *plan; p++)
    for (int f = 0; f < FE_FOOTPRINTS; f++) {
      size_t n = (size_t)(fe_footprints[f] / 4 / plan[p].arrays / count) / BENCH_CHUNK * BENCH_CHUNK;
      int repeats = 1 + (int)(SAMPLE_BYTES / fe_footprints[f]);
      double time = seconds(s, number, count, &arrivals, &plan[p], n, repeats);
      double gbs = 4.0 * (double)n * plan[p].arrays * count * repeats / time / GIGA;
      double *kept = plan[p].stream == LINES ? s->out->lines : s->out->gbs[plan[p].stream];
      if (number == 0) kept[f] = fmax(kept[f], gbs);
    }
  if (number == 0) s->out->ghz = measure_clock();
  double time = seconds(s, 0, count, &arrivals, &multiply_add, MULTIPLY_ADDS, 1);
  if (number == 0) s->out->gflops = 2.0 * MULTIPLY_ADDS * count / time / GIGA;
}

bool bench_limits_measure(const int *threads, int count, fe_roofline *out) {
  bench_array array;
  size_t most = (size_t)fe_footprints[FE_FOOTPRINTS - 1];
  if (!bench_array_make(&array, most)) return false;
  float *data = array.a.data;
  for (size_t i = 0; i < most / sizeof *data; i++) data[i] = 1;
  for (int i = 0; i < count; i++) {
    out[i] = (fe_roofline){0};
    survey s = {.kit = bench_kit_here(), .data = data, .out = &out[i]};
    bench_team(threads[i], survey_all, &s);
  }
  bench_array_free(&array);
  return true;
}
