#include "frontend/cli/bench/settings.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/cli/bench/bench.h"
#include "runtime/cpu/target.h"

/* decisions: a row for each measured setting */

/* Is what is stored kept by the cache when so many bytes are touched? A kept size is given up when ordinary
 * stores take a quarter longer; measured again, sizes between these stay. A larger one is taken up to a tenth
 * longer, as the next kernel still gains from finding there what was stored: of 64 MiB, of which copies
 * took 1.05 on a Xeon, a layer norm, a concatenation and a pixel shuffle took 3 to 5 % less with ordinary
 * stores. */
#define GIVEN_UP 1.25
#define TAKEN    1.1

/* Neighbours may fill the cache for a while: a size is given up when that is so each time. */
static bool is_given_up(const bench_probe *p, int64_t bytes) {
  enum { TRIES = 3 };
  int slower = 0;
  while (slower < TRIES && p->ratio(p->user, BENCH_PROBE_COPY, bytes) > GIVEN_UP) slower++;
  return slower == TRIES;
}

static void find_last_cache(const bench_probe *p, ir_target *t) {
  int64_t bytes = t->l3_bytes;
  while (bytes > t->l2_bytes && (bytes > BENCH_PROBE_BYTES || is_given_up(p, bytes))) bytes /= 2;
  if (bytes == t->l3_bytes)
    while (2 * bytes <= BENCH_PROBE_BYTES && p->ratio(p->user, BENCH_PROBE_COPY, 2 * bytes) <= TAKEN)
      bytes *= 2;
  t->l3_bytes = bytes;
}

/* Prefetches are used from a gain of 3 % on, and no longer where there is none. What a share of the cache was
 * measured to be may be a part of it that neighbours left for a moment, and of twice as much some is then
 * still found there: on a Zen 3 with 8 of 32 MiB prefetches gained a tenth at 16 to 32 MiB and cost a quarter
 * from 64 on. So more is read than any processor here has. */
#define GAIN 1.03

static bool gains(const bench_probe *p, const ir_target *t, int pair, bool before) {
  int64_t bytes = 2 * t->l3_bytes; /* so that a pass finds nothing in the cache of the one before */
  if (bytes < BENCH_PROBE_BYTES / 2) bytes = BENCH_PROBE_BYTES / 2;
  if (bytes > BENCH_PROBE_BYTES) bytes = BENCH_PROBE_BYTES;
  double ratio = bytes > t->l3_bytes ? p->ratio(p->user, pair, bytes) : 0;
  return ratio >= (before ? 1 : GAIN);
}

static void find_reads_past(const bench_probe *p, ir_target *t) {
  t->reads_past = gains(p, t, BENCH_PROBE_READ, t->reads_past);
}

static void find_reads_ahead(const bench_probe *p, ir_target *t) {
  t->reads_ahead = gains(p, t, BENCH_PROBE_ROWS, t->reads_ahead);
}

/* Rows of what exceeds the cache, whose elements are taken in any order: on a Zen 4 gathers take a third less
 * time in its caches, and twice as long beyond, where no prefetcher follows them as it does single loads. */
static void find_gathers(const bench_probe *p, ir_target *t) {
  t->gathers = gains(p, t, BENCH_PROBE_GATHER, t->gathers);
}

static void (*const rows[])(const bench_probe *probe, ir_target *target) = {find_last_cache, find_reads_past,
                                                                            find_reads_ahead, find_gathers};

void bench_settings_decide(const bench_probe *probe, ir_target *target) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) rows[i](probe, target);
}

/* measuring */

enum {
  PAIRS = 5, /* of which the least times count: neighbours disturb some */
  /* passes before a loop is timed: after non-temporal stores, a second ordinary copy of 64 MiB still takes a
   * fifth longer than a third. Reading leaves nothing but what the cache holds */
  COPY_WARM = 2,
  READ_WARM = 1,
  SAMPLE_BYTES =
      16 << 20 /* of a sample at least: half a millisecond, a thousand times what the clock takes */
};

typedef struct arrays {
  const bench_kit *kit;
  float *data;
  int64_t touched; /* bytes from the beginning that were written */
} arrays;

static const struct {
  int first, second; /* loops of bench_kit */
  int streams;       /* arrays that they touch: the source is behind the target */
  int warm;          /* passes before a loop is timed */
} pairs[] = {[BENCH_PROBE_COPY] = {BENCH_COPY, BENCH_COPY_NONTEMPORAL, 2, COPY_WARM},
             [BENCH_PROBE_READ] = {BENCH_READ, BENCH_READ_NONTEMPORAL, 1, READ_WARM},
             [BENCH_PROBE_ROWS] = {BENCH_READ_ROWS, BENCH_READ_ROWS_AHEAD, 1, READ_WARM},
             [BENCH_PROBE_GATHER] = {BENCH_READ_PLACES, BENCH_GATHER_PLACES, 1, READ_WARM}};

static int64_t pass_ns(const bench_kit *kit, float *data, int loop, int streams, size_t floats, int repeats) {
  float sink[BENCH_CHUNK] __attribute__((aligned(64)));
  float *to = streams > 1 ? data : sink, *from = streams > 1 ? data + floats : data;
  int64_t before = bench_thread_now();
  for (int i = 0; i < repeats; i++) kit->loops[loop](to, from, floats / BENCH_CHUNK * BENCH_CHUNK);
  return bench_thread_now() - before;
}

double bench_probe_ratio(const bench_kit *kit, float *data, int pair, int64_t bytes) {
  int streams = pairs[pair].streams, repeats = bytes < SAMPLE_BYTES ? (int)(SAMPLE_BYTES / bytes) : 1;
  size_t floats = (size_t)bytes / sizeof(float) / (size_t)streams;
  int64_t least[2] = {INT64_MAX, INT64_MAX};
  for (int i = 0; i < PAIRS; i++)
    for (int k = 0; k < 2; k++) {
      int loop = k ? pairs[pair].second : pairs[pair].first;
      pass_ns(kit, data, loop, streams, floats, pairs[pair].warm);
      int64_t ns = pass_ns(kit, data, loop, streams, floats, repeats);
      if (ns < least[k]) least[k] = ns;
    }
  return (double)least[0] / (double)(least[1] + 1);
}

static double measure_ratio(void *user, int pair, int64_t bytes) {
  arrays *a = user;
  if (bytes > a->touched) memset((char *)a->data + a->touched, 0, (size_t)(bytes - a->touched));
  if (bytes > a->touched) a->touched = bytes;
  return bench_probe_ratio(a->kit, a->data, pair, bytes);
}

static ir_status measure(rt_context *c, ir_error *error) {
  bench_array memory;
  ir_text text;
  const ir_target *target = rt_context_target(c, error);
  if (!target) return error->status;
  ir_target found = *target;
  if (!bench_array_make(&memory, (size_t)BENCH_PROBE_BYTES))
    return ir_fail(error, IR_ERR_MEMORY, "not enough memory to measure the machine");
  arrays a = {.kit = bench_kit_here(), .data = memory.a.data};
  bench_settings_decide(&(bench_probe){&a, measure_ratio}, &found);
  bench_array_free(&memory);
  ir_text_init(&text, &ir_mem_libc);
  rt_target_measured_text(&found, &text);
  if (text.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory measuring the machine");
  else rt_context_keep_measured(c, ir_text_get(&text));
  ir_text_free(&text);
  return error->status;
}

/* again: even if settings are kept */
static ir_status measure_in(const rt_options *options, bool again, ir_error *error) {
  rt_context *c = NULL;
  if (rt_context_create(&ir_mem_libc, options, &c, error) != IR_OK) return error->status;
  const ir_target *target = rt_context_target(c, error);
  bool here = target && target->group_items == 0 && !options->target && rt_context_disk(c, NULL);
  if (here && (again || !rt_context_measured(c))) measure(c, error);
  rt_context_destroy(c);
  return error->status;
}

ir_status bench_settings_measure(const rt_options *options, ir_error *error) {
  return measure_in(options, true, error);
}

ir_status bench_settings_ready(const rt_options *options, ir_error *error) {
  return getenv("VIEWFOLD_MACHINE") ? IR_OK : measure_in(options, false, error);
}
