/* The arena's layout: intermediates that are live at the same time do not overlap, every offset is aligned,
 * and the arena is not much larger than the greatest sum of live sizes. */
#include "runtime/memory/layout.h"
#include "test/lib/unit.h"

static uint32_t seed = 1;
static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)seed * below >> 32);
}

static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static void check(const rt_span *s, size_t count, size_t total) {
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(s[i].offset % RT_LAYOUT_ALIGN, 0);
    assert_true(s[i].offset + s[i].bytes <= total);
    for (size_t k = 0; k < i; k++) {
      bool together = s[i].first <= s[k].last && s[k].first <= s[i].last;
      bool apart = s[i].offset + s[i].bytes <= s[k].offset || s[k].offset + s[k].bytes <= s[i].offset;
      if (s[i].bytes && s[k].bytes) assert_true(!together || apart);
    }
  }
}

/* The greatest sum of sizes that are live at one launch: no layout is smaller. */
static size_t worst_moment(const rt_span *s, size_t count, uint32_t launches) {
  size_t worst = 0;
  for (uint32_t t = 0; t < launches; t++) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
      if (s[i].first <= t && t <= s[i].last) sum += rounded(s[i].bytes);
    if (sum > worst) worst = sum;
  }
  return worst;
}

static void nothing_and_one(void **state) {
  size_t total = 7;
  assert_true(rt_layout(NULL, 0, 0, &total));
  assert_int_equal(total, 0);
  rt_span one = {.bytes = 65, .first = 0, .last = 3};
  assert_true(rt_layout(&one, 1, 0, &total));
  assert_int_equal(one.offset, 0);
  assert_int_equal(total, 128);
}

static void a_chain_takes_two_buffers(void **state) {
  enum { N = 20 };
  rt_span s[N];
  size_t total;
  for (uint32_t i = 0; i < N; i++) s[i] = (rt_span){.bytes = 1000, .first = i, .last = i + 1};
  assert_true(rt_layout(s, N, 0, &total));
  check(s, N, total);
  assert_int_equal(total, 2 * rounded(1000));
}

static void small_ones_fit_into_tightest_gap(void **state) {
  /* three large buffers, of which the first and third die before the small ones are needed: gaps of 640 and
   * 320 below the top */
  rt_span s[] = {{.bytes = 640, .first = 0, .last = 1},
                 {.bytes = 6400, .first = 0, .last = 9},
                 {.bytes = 320, .first = 2, .last = 9},
                 {.bytes = 320, .first = 2, .last = 9},
                 {.bytes = 64, .first = 0, .last = 1}};
  size_t total;
  assert_true(rt_layout(s, 5, 0, &total));
  check(s, 5, total);
  assert_int_equal(total, 6400 + 640 + 64);
}

static void empty_ones_take_nothing(void **state) {
  rt_span s[] = {{.bytes = 0, .first = 0, .last = 9},
                 {.bytes = 64, .first = 0, .last = 9},
                 {.bytes = 0, .first = 3, .last = 3}};
  size_t total;
  assert_true(rt_layout(s, 3, 0, &total));
  check(s, 3, total);
  assert_int_equal(total, 64);
}

static void too_large_is_refused(void **state) {
  rt_span s[] = {{.bytes = (size_t)PTRDIFF_MAX - 1000, .first = 0, .last = 0},
                 {.bytes = 2000, .first = 0, .last = 0}};
  size_t total;
  assert_false(rt_layout(s, 2, 0, &total));
  s[0].bytes = SIZE_MAX;
  assert_false(rt_layout(s, 1, 0, &total));
}

static void random_ones_do_not_overlap(void **state) {
  enum { MOST = 60 };
  rt_span s[MOST], again[MOST];
  double ratio = 0;
  int iterations = 2000;
  for (int iteration = 0; iteration < iterations; iteration++) {
    size_t count = draw(MOST), total, total_again;
    uint32_t launches = 1 + draw(40);
    for (size_t i = 0; i < count; i++) {
      uint32_t first = draw(launches), last = first + draw(1 + draw(launches - first));
      s[i] = (rt_span){.bytes = draw(4) ? draw(5000) : draw(200000), .first = first, .last = last};
    }
    memcpy(again, s, sizeof s);
    assert_true(rt_layout(s, count, 0, &total));
    check(s, count, total);
    assert_true(rt_layout(again, count, 0, &total_again));
    assert_int_equal(total, total_again);
    for (size_t i = 0; i < count; i++) assert_int_equal(s[i].offset, again[i].offset);
    size_t least = worst_moment(s, count, launches);
    assert_true(total >= least);
    ratio += least ? (double)total / (double)least : 1;
  }
  assert_true(ratio / iterations < 1.05);
}

static void none_crosses_a_boundary(void **state) {
  enum { MOST = 60, BOUNDARY = 4096 };
  rt_span s[MOST];
  double ratio = 0;
  int iterations = 2000;
  for (int iteration = 0; iteration < iterations; iteration++) {
    size_t count = draw(MOST), total;
    uint32_t launches = 1 + draw(40);
    for (size_t i = 0; i < count; i++) {
      uint32_t first = draw(launches), last = first + draw(1 + draw(launches - first));
      s[i] = (rt_span){
          .bytes = draw(20) ? draw(BOUNDARY + 1) : draw(5 * BOUNDARY), .first = first, .last = last};
    }
    assert_true(rt_layout(s, count, BOUNDARY, &total));
    check(s, count, total);
    for (size_t i = 0; i < count; i++)
      if (s[i].bytes <= BOUNDARY) assert_true(s[i].offset % BOUNDARY + s[i].bytes <= BOUNDARY);
      else assert_int_equal(s[i].offset % BOUNDARY, 0);
    size_t least = worst_moment(s, count, launches);
    ratio += least ? (double)total / (double)least : 1;
  }
  assert_true(ratio / iterations < 1.3);
}

UNIT_TESTS(nothing_and_one, a_chain_takes_two_buffers, empty_ones_take_nothing,
           small_ones_fit_into_tightest_gap, too_large_is_refused, none_crosses_a_boundary,
           random_ones_do_not_overlap)
