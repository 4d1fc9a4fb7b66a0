/* Sorting steps: the functions for each kind of machine against the C library's qsort, what a plan says, and
 * the order of NaNs and zeros. */
#include "passes/ops/ops.h"
#include "passes/passes.h"
#include "runtime/cpu/target.h"
#include "runtime/opencl/device.h"
#include "runtime/sort/sort.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

#include <string.h>

enum { MOST = 9000 };

static int by_u32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}
static int by_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Element i of n in a pattern: all equal; two values; few; ascending; descending; up and down; the greatest
 * key, but for one; where pivots are looked for the least keys; at random. */
enum { PATTERNS = 9 };
static uint64_t element(int pattern, size_t i, size_t n, uint64_t *state) {
  switch (pattern) {
  case 0: return 7;
  case 1: return random_next(state) % 2 ? UINT64_MAX : 0;
  case 2: return random_next(state) % 5;
  case 3: return i * 0x100000001;
  case 4: return (n - i) * 0x100000001;
  case 5: return (i < n / 2 ? i : n - i) * 0x100000001;
  case 6: return i ? UINT64_MAX : 3;
  case 7: return i % (n / 8 + 1) < 16 ? i * 0x100000001 : ~(uint64_t)i * 0x100000001;
  default: return random_next(state);
  }
}

static uint32_t narrow[MOST + RT_SORT_SPARE], narrow_room[MOST + RT_SORT_SPARE], narrow_want[MOST];
static uint64_t wide[MOST + RT_SORT_SPARE], wide_room[MOST + RT_SORT_SPARE], wide_want[MOST];

static void check_sorts(const rt_sort_machine *m, size_t n, int pattern) {
  uint64_t state = n;
  for (size_t i = 0; i < n; i++)
    narrow[i] = narrow_want[i] = (uint32_t)(wide[i] = wide_want[i] = element(pattern, i, n, &state));
  narrow[n] = 1, wide[n] = 1; /* stays as it is */
  m->sort_u32(narrow, n, narrow_room);
  m->sort_u64(wide, n, wide_room);
  qsort(narrow_want, n, sizeof *narrow, by_u32);
  qsort(wide_want, n, sizeof *wide, by_u64);
  assert_memory_equal(narrow, narrow_want, n * sizeof *narrow);
  assert_memory_equal(wide, wide_want, n * sizeof *wide);
  assert_true(narrow[n] == 1 && wide[n] == 1);
  for (size_t i = 0; i < n; i++) wide[i] = wide_want[i] = (uint64_t)narrow_room[i % 97] << 32 | i;
  m->sort_halves(wide, n, wide_room);
  qsort(wide_want, n, sizeof *wide, by_u64);
  assert_memory_equal(wide, wide_want, n * sizeof *wide);
}

/* Entries with indices below keys of one and of two bytes, as they are where indices are sorted. */
static void check_narrow(size_t n) {
  uint64_t state = n;
  for (size_t bytes = 1; bytes <= 2; bytes++) {
    for (size_t i = 0; i < n; i++)
      wide[i] = wide_want[i] = random_next(&state) >> (64 - 8 * bytes) << (64 - 8 * bytes) | i;
    rt_sort_narrow(wide, n, wide_room, bytes);
    qsort(wide_want, n, sizeof *wide, by_u64);
    assert_memory_equal(wide, wide_want, n * sizeof *wide);
  }
}

/* Entries of keys, their lower halves, and the bits in which keys differ: what the portable code has. */
static void check_entries(const rt_sort_machine *m, size_t n) {
  uint64_t state = n;
  for (size_t i = 0; i < n; i++) narrow[i] = (uint32_t)(wide[i] = element(PATTERNS, i, n, &state));
  assert_true(m->differing(wide, n, 5) == rt_sort_portable.differing(wide, n, 5));
  for (unsigned moved = 0; moved < 64; moved += 21) {
    memcpy(wide_want, wide, n * sizeof *wide);
    rt_sort_portable.entries_u64(wide_want, n, moved);
    m->entries_u64(wide, n, moved);
    assert_memory_equal(wide, wide_want, n * sizeof *wide);
  }
  m->entries_u32(wide, narrow, n, 77);
  rt_sort_portable.entries_u32(wide_want, narrow, n, 77);
  assert_memory_equal(wide, wide_want, n * sizeof *wide);
  m->indices(wide, wide, n);
  for (size_t i = 0; i < n; i++) assert_int_equal(wide[i], 77 + i);
}

/* `lines` lines of n keys, of each of which `first` are wanted. */
static void check_lines(const rt_sort_machine *m, size_t lines, size_t n, size_t first) {
  uint64_t state = n;
  size_t count = n * lines;
  for (size_t i = 0; i < count + n; i++)
    narrow[i] = narrow_want[i] = (uint32_t)(wide[i] = wide_want[i] = element(PATTERNS, i, n, &state));
  m->lines_u32(narrow, lines, n, first);
  m->lines_u64(wide, lines, n, first);
  for (size_t i = 0; i < count; i += n) {
    qsort(narrow_want + i, n, sizeof *narrow, by_u32);
    qsort(wide_want + i, n, sizeof *wide, by_u64);
    assert_memory_equal(narrow + i, narrow_want + i, first * sizeof *narrow);
    assert_memory_equal(wide + i, wide_want + i, first * sizeof *wide);
  }
  assert_memory_equal(narrow + count, narrow_want + count, n * sizeof *narrow);
  assert_memory_equal(wide + count, wide_want + count, n * sizeof *wide);
}

/* The first keys of an array in two pieces: as a stable sort has them, but for the greatest key. */
static void check_first(const rt_sort_machine *m, size_t n, size_t first, int pattern) {
  uint32_t best[RT_SORT_FIRST], at[RT_SORT_FIRST];
  uint64_t wide_best[RT_SORT_FIRST], wide_at[RT_SORT_FIRST], state = n;
  memset(best, UINT8_MAX, sizeof best), memset(wide_best, UINT8_MAX, sizeof wide_best);
  for (size_t i = 0; i < n; i++) {
    narrow[i] = (uint32_t)(wide[i] = element(pattern, i, n, &state) >> 8);
    narrow_want[i] = narrow[i];
    wide_want[i] = (uint64_t)narrow[i] << 32 | i;
  }
  size_t cut = n / 3, narrow_first = first < m->most_first_u32 ? first : m->most_first_u32;
  size_t wide_first = first < m->most_first_u64 ? first : m->most_first_u64;
  m->select_u32(best, at, narrow_first, narrow, cut, 0);
  m->select_u32(best, at, narrow_first, narrow + cut, n - cut, cut);
  qsort(wide_want, n, sizeof *wide, by_u64);
  for (size_t k = 0; k < narrow_first && k < n && best[k] != UINT32_MAX; k++)
    assert_true(((uint64_t)best[k] << 32 | at[k]) == wide_want[k]);
  for (size_t k = 0; k < narrow_first && k < n; k++) assert_int_equal(best[k], wide_want[k] >> 32);
  m->select_u64(wide_best, wide_at, wide_first, wide, cut, 0);
  m->select_u64(wide_best, wide_at, wide_first, wide + cut, n - cut, cut);
  memcpy(wide_want, wide, n * sizeof *wide);
  qsort(wide_want, n, sizeof *wide, by_u64);
  for (size_t k = 0; k < wide_first && k < n; k++) {
    assert_true(wide_best[k] == wide_want[k] && wide[wide_at[k]] == wide_want[k]);
    assert_true(!k || wide_best[k - 1] < wide_best[k] || wide_at[k - 1] < wide_at[k]);
  }
}

static void check_machine(const rt_sort_machine *m) {
  static const size_t around[] = {40, 256, 512, 896, 1024, 1792, 2048, 4096, MOST};
  for (size_t n = 0; n < 40; n++) check_sorts(m, n, PATTERNS), check_entries(m, n);
  for (size_t k = 0; k < sizeof around / sizeof *around; k++)
    for (int pattern = 0; pattern <= PATTERNS; pattern++)
      for (size_t n = around[k] - 1; n <= around[k] + 1 && n <= MOST; n++) check_sorts(m, n, pattern);
  for (size_t n = 1, lines = 1; n <= m->most_in_line; n += 1 + n / 8, lines = 1 + lines * 5 % RT_SORT_LINES)
    for (size_t first = 1; first <= n; first += 1 + first / 2)
      check_lines(m, first == 1 ? RT_SORT_LINES : lines, n, first), check_lines(m, lines, n, n);
  for (size_t first = 1; first <= m->most_first_u32; first++)
    for (int pattern = 0; pattern <= PATTERNS; pattern++) check_first(m, 37 * first % 400, first, pattern);
}

static void test_sorts(void **state) {
  (void)state;
  check_machine(&rt_sort_portable);
  if (rt_sort_avx512()) check_machine(rt_sort_avx512());
  for (size_t n = 0; n <= MOST; n = 3 * n + 1) check_narrow(n);
}

/* NaNs by their bits and zeros by their signs stay in the order that they have, and all machines agree. */
static void test_order_of_equals(void **state) {
  (void)state;
  enum { N = 300 };
  static const uint32_t specials[] = {0x7fc00001, 0x80000000, 0xffc00002, 0,
                                      0x7f800001, 0x3f800000, 0xbf800000};
  static const uint32_t rank[] = {3, 1, 3, 1, 3, 2, 0}; /* ascending */
  ir_error error = {0};
  rt_pool *pool = rt_pool_create(&ir_mem_libc, 1, &error);
  uint32_t x[N], want[N], out[N];
  _Alignas(64) static uint8_t room[1 << 16];
  const rt_sort_machine *machines[] = {&rt_sort_portable, rt_sort_avx512()};
  for (size_t i = 0; i < N; i++) x[i] = specials[(5 * i + i / 7) % 7];
  for (int descending = 0; descending < 2; descending++) {
    size_t count = 0;
    for (uint32_t r = 0; r < 4; r++)
      for (size_t i = 0; i < N; i++)
        if (rank[(5 * i + i / 7) % 7] == (descending ? 3 - r : r)) want[count++] = x[i];
    rt_sort s = {.x = x,
                 .out = out,
                 .dtype = IR_F32,
                 .descending = descending,
                 .outer = 1,
                 .size = N,
                 .inner = 1,
                 .first = N};
    for (int k = 0; k < 2 && machines[k]; k++) {
      assert_true(rt_sort_room(&s, machines[k]) <= sizeof room);
      rt_sort_run(&s, machines[k], pool, room, sizeof room);
      assert_memory_equal(out, want, sizeof want);
    }
  }
  rt_pool_destroy(pool);
}

/* The first indices of short lines of 64 bits whose keys are equal in the upper half and out of order in the
 * lower one. */
static void test_first_of_lower_halves(void **state) {
  (void)state;
  enum { LINES = 16, N = 20, FIRST = 7 };
  static int64_t x[LINES][N], out[LINES][N];
  _Alignas(64) static uint8_t room[1 << 16];
  ir_error error = {0};
  rt_pool *pool = rt_pool_create(&ir_mem_libc, 1, &error);
  const rt_sort_machine *machines[] = {&rt_sort_portable, rt_sort_avx512()};
  for (int64_t i = 0; i < N; i++) /* each third one is above the others */
    for (int k = 0; k < LINES; k++) x[k][i] = ((int64_t)(i % 3 == 0) << 40) + N - i;
  rt_sort s = {.x = x,
               .out = out,
               .dtype = IR_I64,
               .positions = true,
               .outer = LINES,
               .size = N,
               .inner = 1,
               .first = FIRST};
  for (int m = 0; m < 2 && machines[m]; m++) {
    assert_true(rt_sort_room(&s, machines[m]) <= sizeof room);
    rt_sort_run(&s, machines[m], pool, room, sizeof room);
    for (int k = 0; k < LINES; k++)
      for (int64_t i = N - 1, found = 0; found < FIRST; i--) {
        if (i % 3) assert_int_equal(out[k][found++], i);
      }
  }
  rt_pool_destroy(pool);
}

/* A sort is one step without kernels; of topk no more than the first elements are wanted; where the target
 * has no sorting steps there are kernels. */
static void test_plans(void **state) {
  (void)state;
  for (int sorts = 0; sorts < 2; sorts++) {
    ir_error error = {0};
    ir_graph g;
    ir_plan plan = {0};
    ir_graph_init(&g, &ir_mem_libc, &error);
    ir_target target = {.triple = "x86_64-unknown-linux-gnu",
                        .vector_bytes = 32,
                        .registers = 16,
                        .l1_bytes = 32768,
                        .l2_bytes = 1 << 20,
                        .l3_bytes = 1 << 25,
                        .sorts = sorts};
    ir_ref dims[] = {ir_index(&g, 100), ir_index(&g, 50)}, x = op_buffer(&g, IR_F32, dims, 2);
    ir_ref both = op_topk(&g, x, 3, 1, true);
    ir_ref results[] = {op_sort(&g, IR_OP_SORT, x, 0, false), ir_src(&g, both, 0), ir_src(&g, both, 1)};
    pass_options options = {.target = &target, .inputs = &x, .input_count = 1, .verify = true};
    assert_int_equal(pass_pipeline(&g, ir_tuple(&g, results, 3), &options, &plan, &error), IR_OK);
    uint32_t found[IR_STEP_KINDS] = {0};
    for (size_t i = 0; i < plan.step_count; i++) {
      const ir_step *s = &plan.steps[i];
      int64_t count;
      found[s->kind]++;
      if (!ir_is_sort_step(s->kind)) continue;
      assert_true(ir_is_const(&g, s->count, &count));
      assert_int_equal(count, s->kind == IR_STEP_SORT ? 100 : 3);
      assert_int_equal(s->axis, s->kind == IR_STEP_SORT ? 0 : 1);
      assert_int_equal(s->reverse, s->kind == IR_STEP_ARGSORT);
    }
    assert_int_equal(found[IR_STEP_SORT], sorts);
    assert_int_equal(found[IR_STEP_ARGSORT], sorts);
    if (sorts) assert_int_equal(found[IR_STEP_KERNEL], 2); /* what topk takes of values and of indices */
    else assert_true(found[IR_STEP_KERNEL] > 20);
    ir_plan_free(&plan);
    ir_graph_free(&g);
  }
}

/* A device has no steps on memory of the host, though a processor is described as the one that runs this. */
static void test_devices_have_no_steps(void **state) {
  (void)state;
  ir_target target;
  for (int cpu = 0; cpu < 2; cpu++) {
    rt_cl_describe(&(rt_cl_properties){.cpu = cpu, .group = 64, .vector_floats = 4}, &target);
    assert_false(target.sorts);
  }
  rt_target_host(&target);
  assert_true(target.sorts);
}

UNIT_TESTS(test_sorts, test_order_of_equals, test_first_of_lower_halves, test_plans,
           test_devices_have_no_steps)
