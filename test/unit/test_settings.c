/* Settings that are measured: what is decided from given ratios, that the same machine gives the same cache
 * keys, and that contexts find what was kept. Nothing is timed here. */
#include "frontend/cli/bench/settings.h"
#include "runtime/cpu/target.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

#include <string.h>

#define MIB ((int64_t)1 << 20)

/* A machine whose cache keeps `keeps` bytes of what is copied. From there on ordinary stores take `slower` as
 * long as non-temporal ones; non-temporal prefetches make reading faster by `gain`, or by `near_gain` up to
 * four times as much as the cache keeps, unless that is 0; others sums of two rows at a time by `rows_gain`;
 * gather instructions make reading at any places faster by `gather_gain`. */
typedef struct model {
  int64_t keeps, most_asked;
  double kept, slower, gain, near_gain, rows_gain, gather_gain;
} model;

static double ratio(void *user, int pair, int64_t bytes) {
  model *m = user;
  if (bytes > m->most_asked) m->most_asked = bytes;
  if (pair == BENCH_PROBE_ROWS) return m->rows_gain;
  if (pair == BENCH_PROBE_GATHER) return m->gather_gain;
  if (pair == BENCH_PROBE_READ) return bytes <= 4 * m->keeps && m->near_gain ? m->near_gain : m->gain;
  return bytes <= m->keeps ? m->kept : m->slower;
}

static ir_target decided(model m, int64_t l3, bool reads_past) {
  ir_target t = {.l2_bytes = 2 * MIB, .l3_bytes = l3, .reads_past = reads_past};
  bench_settings_decide(&(bench_probe){&m, ratio}, &t);
  assert_true(m.most_asked <= BENCH_PROBE_BYTES);
  return t;
}

static void the_share_of_the_last_cache_is_found(void **state) {
  static const struct {
    int64_t keeps, from, share;
  } rows[] = {{64 * MIB, 32 * MIB, 64 * MIB},  {8 * MIB, 32 * MIB, 8 * MIB},
              {32 * MIB, 32 * MIB, 32 * MIB},  {100 * MIB, 32 * MIB, 64 * MIB},
              {0, 32 * MIB, 2 * MIB},          {1024 * MIB, 32 * MIB, 256 * MIB},
              {96 * MIB, 512 * MIB, 64 * MIB}, {1024 * MIB, 512 * MIB, 256 * MIB}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(decided((model){rows[i].keeps, 0, 0.7, 2, 0.5, 0, 0, 0}, rows[i].from, false).l3_bytes,
                     rows[i].share);
}

/* Measured again among other neighbours, keys stay: at the edge either answer of the probe keeps the size. */
static void small_differences_change_nothing(void **state) {
  static const double near[] = {1.12, 1.17, 1.22};
  for (size_t i = 0; i < sizeof near / sizeof *near; i++)
    for (int64_t l3 = 4 * MIB; l3 <= 128 * MIB; l3 *= 2)
      assert_int_equal(decided((model){0, 0, 0, near[i], 0.5, 0, 0, 0}, l3, false).l3_bytes, l3);
  assert_false(decided((model){32 * MIB, 0, 0.7, 2, 1.01, 0, 0, 0}, 32 * MIB, false).reads_past);
  assert_true(decided((model){32 * MIB, 0, 0.7, 2, 1.01, 0, 0, 0}, 32 * MIB, true).reads_past);
}

/* Every second answer is that of a cache which neighbours have filled. */
static double disturbed(void *user, int pair, int64_t bytes) {
  int *asked = user;
  return pair != BENCH_PROBE_COPY || ++*asked % 2 == 0 ? 1.02 : 2;
}

static void a_disturbance_gives_nothing_up(void **state) {
  int asked = 0;
  ir_target t = {.l2_bytes = 2 * MIB, .l3_bytes = 32 * MIB};
  bench_settings_decide(&(bench_probe){&asked, disturbed}, &t);
  assert_int_equal(t.l3_bytes, 32 * MIB);
}

static void prefetches_are_used_where_they_gain(void **state) {
  assert_true(decided((model){32 * MIB, 0, 0.7, 2, 1.06, 0, 0, 0}, 32 * MIB, false).reads_past);
  assert_false(decided((model){32 * MIB, 0, 0.7, 2, 0.5, 0, 0, 0}, 32 * MIB, true).reads_past);
  /* what gains while a part is still found in the cache, and costs beyond, is not used */
  assert_false(decided((model){8 * MIB, 0, 0.7, 2, 0.8, 1.2, 0, 0}, 32 * MIB, false).reads_past);
  /* each kind by its own gain */
  assert_true(decided((model){32 * MIB, 0, 0.7, 2, 0.8, 0, 1.06, 0}, 32 * MIB, false).reads_ahead);
  assert_false(decided((model){32 * MIB, 0, 0.7, 2, 0.8, 0, 1.06, 0}, 32 * MIB, false).reads_past);
  assert_false(decided((model){32 * MIB, 0, 0.7, 2, 1.06, 0, 0.8, 0}, 32 * MIB, false).reads_ahead);
  /* nothing exceeds the cache: there is nothing to read past it */
  assert_false(decided((model){1024 * MIB, 0, 0.7, 2, 1.5, 0, 0, 0}, 256 * MIB, true).reads_past);
}

static void gathers_are_used_where_they_gain(void **state) {
  static const struct {
    double gain;
    bool before, after;
  } rows[] = {{0.4, true, false}, {1.01, false, false}, {1.01, true, true}, {1.5, false, true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    model m = {.keeps = 32 * MIB, .kept = 0.7, .slower = 2, .gather_gain = rows[i].gain};
    ir_target t = {.l2_bytes = 2 * MIB, .l3_bytes = 32 * MIB, .gathers = rows[i].before};
    bench_settings_decide(&(bench_probe){&m, ratio}, &t);
    assert_int_equal(t.gathers, rows[i].after);
  }
}

/* The order in which the loops of a pair run. */
static char order[256];
static void ordinary(float *to, const float *from, size_t n) { strcat(order, "o"); }
static void nontemporal(float *to, const float *from, size_t n) { strcat(order, "n"); }

static void each_loop_is_timed_after_itself(void **state) {
  bench_kit kit = {{NULL}};
  kit.loops[BENCH_COPY] = ordinary, kit.loops[BENCH_COPY_NONTEMPORAL] = nontemporal;
  float data[1] = {0};
  *order = 0;
  bench_probe_ratio(&kit, data, BENCH_PROBE_COPY, 64 * MIB);
  assert_int_equal(strlen(order) % 6, 0);
  assert_true(strlen(order) > 0);
  for (size_t i = 0; order[i]; i += 6) assert_memory_equal(order + i, "ooonnn", 6);
}

static rt_context *context_in(const char *folder) {
  rt_options options = {.cache_dir = folder};
  rt_context *c = NULL;
  ir_error error = {0};
  assert_int_equal(rt_context_create(&ir_mem_libc, &options, &c, &error), IR_OK);
  return c;
}

static void contexts_find_what_was_kept(void **state) {
  static const char *const refused[] = {"l3=8388608 vector_bytes=16", "l3=5", "", "l3"};
  char folder[256];
  assert_true(test_folder_make(folder, sizeof folder));
  rt_context *c = context_in(folder);
  ir_target unmeasured = *rt_context_target(c, NULL);
  assert_true(unmeasured.l3_bytes <= 32 * MIB); /* whatever the processor says */
  assert_false(unmeasured.reads_past);
  assert_false(rt_context_measured(c));
  assert_true(rt_context_keep_measured(c, "l3=134217728 read_past=1"));
  assert_int_equal(rt_context_target(c, NULL)->l3_bytes, unmeasured.l3_bytes); /* this one stays as it is */
  rt_context_destroy(c);

  c = context_in(folder);
  assert_true(rt_context_measured(c));
  assert_int_equal(rt_context_target(c, NULL)->l3_bytes, 128 * MIB);
  assert_true(rt_context_target(c, NULL)->reads_past);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_true(rt_context_keep_measured(c, refused[i]));
    rt_context *other = context_in(folder);
    assert_int_equal(rt_context_target(other, NULL)->l3_bytes, unmeasured.l3_bytes);
    assert_int_equal(rt_context_target(other, NULL)->vector_bytes, unmeasured.vector_bytes);
    rt_context_destroy(other);
  }
  rt_context_destroy(c);
  test_folder_remove(folder);
}

UNIT_TESTS(the_share_of_the_last_cache_is_found, small_differences_change_nothing,
           prefetches_are_used_where_they_gain, gathers_are_used_where_they_gain,
           each_loop_is_timed_after_itself, a_disturbance_gives_nothing_up, contexts_find_what_was_kept)
