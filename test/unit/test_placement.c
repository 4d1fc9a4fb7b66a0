/* Where intermediates lie: in place of an operand at its last use, in results that are not written yet, else
 * in the arena; and that a repeated run allocates nothing. */
#include "test/lib/memory.h"
#include "test/lib/plans.h"
#include "test/lib/unit.h"

enum { SMALL = 100, LARGE = 20000 }; /* elements of a result; only LARGE ones host intermediates */

static int64_t temp_bytes(const rt_program *p) {
  rt_cost cost;
  ir_error error = {0};
  assert_int_equal(rt_program_cost(p, NULL, &cost, &error), IR_OK);
  return cost.temp_bytes;
}

/* A launch: out[i] = in[size - 1 - i] * factor */
static void reverse(p_maker *m, uint32_t out, uint32_t in, double factor, ir_ref size) {
  ir_graph *g = &m->g;
  ir_ref p[2] = {p_param(m, 0, IR_F32, size), p_param(m, 1, IR_F32, size)}, i = k_range(g, size, 0);
  int64_t n = 0;
  assert_true(ir_is_const(g, size, &n));
  ir_ref from = k_sum(g, k_times(g, i, -1), ir_index(g, n - 1));
  ir_ref value = ir_binary(g, IR_OP_MUL, k_load(g, p[1], from), ir_float(g, IR_F32, factor));
  ir_ref kernel = k_kernel(g, k_loop(g, i, IR_THREAD, k_store(g, p[0], i, value)), p, 2);
  p_launch(m, kernel, size, k_times(g, size, 8), (uint32_t[]){out, in}, 2);
}

typedef struct slots {
  ir_ref size;
  uint32_t x, out, t[3];
} slots;
static slots begin(p_maker *m, int64_t n, int temps) {
  slots s = {.size = ir_index(&m->g, n)};
  s.x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, s.size);
  s.out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, s.size);
  for (int i = 0; i < temps; i++) s.t[i] = p_slot(m, IR_SLOT_TEMP, "t", IR_F32, s.size);
  p_results(m, &s.out, 1);
  return s;
}

/* Runs the program twice on x[i] = i and checks that out[i] = a * x[i] + b * x[n-1-i]. Returns the bytes of
 * its intermediates. */
static int64_t check(p_maker *m, int64_t n, float a, float b) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *p = p_build(c, m, "");
  float *x = malloc((size_t)n * sizeof *x), *out = malloc((size_t)n * sizeof *out);
  for (int iteration = 0; iteration < 2; iteration++) {
    for (int64_t i = 0; i < n; i++) x[i] = (float)i, out[i] = -1;
    p_run(p, (void *[]){x}, (void *[]){out}, NULL);
    for (int64_t i = 0; i < n; i++) {
      assert_true(out[i] == a * (float)i + b * (float)(n - 1 - i));
      assert_true(x[i] == (float)i);
    }
  }
  int64_t bytes = temp_bytes(p);
  free(x);
  free(out);
  return bytes;
}

static int64_t rounded(int64_t n) {
  return (n * 4 + RT_LAYOUT_ALIGN - 1) / RT_LAYOUT_ALIGN * RT_LAYOUT_ALIGN;
}

static void a_chain_lies_in_its_result(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, SMALL, 3);
  p_scale_add(m, s.t[0], s.x, -1, 2, s.size);
  p_scale_add(m, s.t[1], s.t[0], -1, 2, s.size);
  p_scale_add(m, s.t[2], s.t[1], (int)s.x, 2, s.size);
  p_scale_add(m, s.out, s.t[2], -1, 3, s.size);
  assert_int_equal(check(m, SMALL, 27, 0), 0);
}

static void what_is_read_again_stays(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, SMALL, 2);
  p_scale_add(m, s.t[0], s.x, -1, 2, s.size);
  p_scale_add(m, s.t[1], s.t[0], -1, 3, s.size); /* not in place: t0 is read once more */
  p_scale_add(m, s.out, s.t[0], (int)s.t[1], 5, s.size);
  assert_int_equal(check(m, SMALL, 16, 0), rounded(SMALL)); /* one of the two lies in the result */
}

static void what_is_read_elsewhere_is_not_overwritten(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, SMALL, 1);
  p_scale_add(m, s.t[0], s.x, -1, 2, s.size);
  reverse(m, s.out, s.t[0], 3, s.size);
  assert_int_equal(check(m, SMALL, 0, 6), rounded(SMALL));
}

static void results_host_until_they_are_written(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, LARGE, 3);
  reverse(m, s.t[0], s.x, 2, s.size); /* hosted by the result */
  reverse(m, s.t[1], s.t[0], 2, s.size);
  reverse(m, s.t[2], s.t[1], 2, s.size); /* hosted by the result */
  reverse(m, s.t[1], s.t[2], 2, s.size); /* overwrites t1, which lives from the second step to the last */
  reverse(m, s.out, s.t[1], 2, s.size);
  assert_int_equal(check(m, LARGE, 0, 32), rounded(LARGE));
}

/* The result could host the intermediate that it is computed from; but then an earlier one, which is live
 * together with something larger, could not be hosted. */
static void results_host_where_that_saves_more(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, LARGE, 2);
  uint32_t large = p_slot(m, IR_SLOT_TEMP, "t", IR_F32, ir_index(&m->g, (int64_t)2 * LARGE));
  reverse(m, large, s.x, 2, s.size);
  reverse(m, s.t[0], large, 2, s.size);
  reverse(m, s.t[1], s.t[0], 2, s.size);
  p_scale_add(m, s.out, s.t[1], -1, 3, s.size);
  assert_int_equal(check(m, LARGE, 0, 24), rounded((int64_t)2 * LARGE));
}

static void small_ones_are_not_worth_it(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, SMALL, 2);
  reverse(m, s.t[0], s.x, 2, s.size);
  reverse(m, s.t[1], s.t[0], 2, s.size);
  reverse(m, s.out, s.t[1], 2, s.size);
  assert_int_equal(check(m, SMALL, 0, 8), 2 * rounded(SMALL));
}

static void the_result_of_a_loop_hosts_nothing(void **state) {
  /* state = x; three times: t = state * 2, next = t reversed. The first iteration writes the result already,
   * so the result cannot host t. */
  p_maker *m = p_begin();
  slots s = begin(m, LARGE, 2);
  uint32_t now = p_slot(m, IR_SLOT_ALIAS, "", IR_F32, s.size),
           next = p_slot(m, IR_SLOT_ALIAS, "", IR_F32, s.size);
  p_launch(m, 0, ir_index(&m->g, 3), ir_index(&m->g, 0), (uint32_t[]){s.x, now, next, s.out, s.t[0]}, 5);
  ir_step *scan = &m->p.steps[0];
  scan->kind = IR_STEP_SCAN, scan->carries = 1, scan->function_steps[0] = 2;
  p_scale_add(m, s.t[1], now, -1, 2, s.size);
  reverse(m, next, s.t[1], 1, s.size);
  assert_int_equal(check(m, LARGE, 0, 8), 2 * rounded(LARGE));
}

static void replays_allocate_nothing(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, LARGE, 2);
  reverse(m, s.t[0], s.x, 2, s.size);
  reverse(m, s.t[1], s.t[0], 2, s.size);
  p_scale_add(m, s.out, s.t[1], (int)s.t[0], 2, s.size);
  float *x = calloc(LARGE, sizeof *x), *out = calloc(LARGE, sizeof *out);
  test_memory memory = {0};
  ir_mem mem = {test_memory_hook, &memory};
  ir_error error = {0};
  rt_context *c;
  rt_options options = {.no_disk = true, .compile = p_compile, .threads = 2};
  assert_int_equal(rt_context_create(&mem, &options, &c, &error), IR_OK);
  rt_program *p = p_build(c, m, "");
  p_run(p, (void *[]){x}, (void *[]){out}, NULL);
  long before = atomic_load(&memory.allocations);
  assert_true(before > 0);
  for (int i = 0; i < 100; i++) p_run(p, (void *[]){x}, (void *[]){out}, NULL);
  assert_int_equal(atomic_load(&memory.allocations), before);
  unit_release(p);
  rt_context_destroy(c);
  free(x);
  free(out);
}

/* Of a chain through four intermediates every second one lies where the one before it ended. */
static void places_are_told(void **state) {
  p_maker *m = p_begin();
  slots s = begin(m, SMALL, 3);
  uint32_t last = p_slot(m, IR_SLOT_TEMP, "t", IR_F32, s.size);
  reverse(m, s.t[0], s.x, 2, s.size);
  reverse(m, s.t[1], s.t[0], 2, s.size);
  reverse(m, s.t[2], s.t[1], 2, s.size);
  reverse(m, last, s.t[2], 2, s.size);
  reverse(m, s.out, last, 2, s.size);
  rt_program *p = p_build(p_context_with((rt_options){.no_disk = true}), m, "");
  size_t at[6];
  ir_error error = {0};
  assert_int_equal(rt_program_places(p, NULL, at, 6, &error), IR_OK);
  assert_true(at[s.x] == SIZE_MAX && at[s.out] == SIZE_MAX && at[s.t[0]] != SIZE_MAX);
  assert_true(at[s.t[0]] == at[s.t[2]] && at[s.t[1]] == at[last] && at[s.t[0]] != at[s.t[1]]);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, a_chain_lies_in_its_result, what_is_read_again_stays,
                   what_is_read_elsewhere_is_not_overwritten, results_host_until_they_are_written,
                   results_host_where_that_saves_more, small_ones_are_not_worth_it,
                   the_result_of_a_loop_hosts_nothing, places_are_told, replays_allocate_nothing)
