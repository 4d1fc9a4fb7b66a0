/* Programs made from plans written by hand: what they compute, symbolic sizes, results that share a buffer,
 * errors at run time, several threads, queries. */

#include "passes/index/index.h"
#include "test/lib/plans.h"
#include "test/lib/unit.h"

static void a_temporary_between_two_kernels(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, P_MOST));
  rt_context *c = p_context_with((rt_options){0});
  assert_null(p_find(c, "two"));
  rt_program *p = p_build(c, m, "two");
  rt_stats stats = rt_program_stats(p);
  assert_int_equal(stats.launches, 2);
  assert_int_equal(stats.kernels, 2);
  assert_int_equal(stats.compiled, 2);
  for (int i = 0; i < 3; i++) p_check_two_kernels(p, P_MOST, NULL, (float)i);

  rt_program *again = p_find(c, "two");
  assert_ptr_equal(again, p);
  assert_null(p_find(c, "tw"));
  unit_release(again);
  unit_release(p);
  unit_release(c);

  int before =
      p_compilations(); /* another context, like another process, finds it on disk and compiles nothing */
  c = p_context_with((rt_options){.no_compile = true});
  p = p_find(c, "two");
  assert_non_null(p);
  stats = rt_program_stats(p);
  assert_int_equal(stats.from_disk, 2);
  assert_int_equal(stats.compiled, 0);
  assert_string_equal(rt_program_name(p), "test");
  p_check_two_kernels(p, P_MOST, NULL, 5);
  assert_int_equal(p_compilations(), before);
}

static void p_says(const rt_program *p, const int64_t *vars, const char *message) {
  ir_error error = {0};
  assert_int_equal(rt_program_run(p, NULL, NULL, vars, &error), IR_ERR_INVALID);
  assert_string_equal(error.text, message);
}

static void sizes_come_with_the_run(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){0});
  rt_program *p = p_build(c, m, "symbolic");
  for (int pass = 0; pass < 2; pass++) {
    static const int64_t sizes[] = {4, 64, 64, 8, 4, 60};
    for (int i = 0; i < 6; i++) p_check_two_kernels(p, sizes[i], &sizes[i], (float)i);
    p_says(p, NULL, "graph @test: no value for variable n, and 1 in all");
    p_says(p, &(int64_t){68}, "graph @test: variable n = 68 is out of its bounds; accepted are 4 to 64");
    p_says(p, &(int64_t){0}, "graph @test: variable n = 0 is out of its bounds; accepted are 4 to 64");
    p_says(p, &(int64_t){10}, "graph @test: variable n = 10 is no multiple of 4, as it was declared to be");
    p_check_two_kernels(p, 12, &(int64_t){12}, 9); /* a refused run has no effect on the next */
    int64_t dims[1];
    ir_error error = {0};
    assert_int_equal(rt_program_output_shape(p, 0, &(int64_t){16}, dims, &error), IR_OK);
    assert_int_equal(dims[0], 16);
    assert_int_equal(rt_program_input_shape(p, 1, &(int64_t){17}, dims, &error), IR_ERR_INVALID);
    unit_release(p);
    unit_release(c);
    c = p_context_with((rt_options){.no_compile = true});
    p = p_find(c, "symbolic");
    assert_non_null(p);
  }
}

static void what_can_be_asked(void **state) {
  p_maker *m = p_begin();
  ir_ref n = p_variable(m);
  p_two_kernels(m, n);
  m->p.steps[0].flops = n;
  m->p.steps[1].flops = pass_mul_int(&m->g, n, 2);
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *p = p_build(c, m, "");
  assert_int_equal(rt_program_input_count(p), 2);
  assert_int_equal(rt_program_output_count(p), 1);
  assert_int_equal(rt_program_variable_count(p), 1);
  assert_string_equal(rt_program_input(p, 1).name, "y");
  assert_int_equal(rt_program_input(p, 1).dtype, IR_F32);
  assert_int_equal(rt_program_output(p, 0).rank, 1);
  rt_variable v = rt_program_variable(p, 0);
  assert_string_equal(v.name, "n");
  assert_int_equal(v.lo, 4);
  assert_int_equal(v.hi, 64);
  assert_int_equal(v.divisor, 4);
  rt_cost cost;
  ir_error error = {0};
  assert_int_equal(rt_program_cost(p, &(int64_t){16}, &cost, &error), IR_OK);
  assert_int_equal(cost.bytes, 16 * 4 * 5);
  assert_int_equal(cost.flops, 16 * 3);
  assert_int_equal(cost.temp_bytes, 0); /* the intermediate lies in the result's buffer */
}

static void results_that_share_a_buffer(void **state) {
  p_maker *m = p_begin();
  ir_ref size = ir_index(&m->g, 8);
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, size),
           out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, size);
  p_scale_add(m, out, x, -1, 2, size);
  p_results(m, (uint32_t[]){out, x, out}, 3);
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *p = p_build(c, m, "shared");
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, o[3][8] = {{0}};
  p_run(p, (void *[]){in}, (void *[]){o[0], o[1], o[2]}, NULL);
  for (int i = 0; i < 8; i++) {
    assert_true(o[0][i] == 2 * in[i] && o[2][i] == 2 * in[i]);
    assert_true(o[1][i] == in[i]);
  }
  p_run(p, (void *[]){in}, (void *[]){o[0], in, o[0]}, NULL); /* copying a buffer onto itself is harmless */
}

static void no_kernels_at_all(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_U8, ir_index(&m->g, 3));
  p_results(m, &x, 1);
  for (int pass = 0; pass < 2; pass++) {
    rt_context *c = p_context_with((rt_options){.no_compile = true});
    rt_program *p = pass ? p_find(c, "copy") : p_build(c, m, "copy");
    assert_non_null(p);
    char out[3];
    p_run(p, (void *[]){"abc"}, (void *[]){out}, NULL);
    assert_memory_equal(out, "abc", 3);
    unit_release(p);
    unit_release(c);
  }
}

static void literal_arrays_travel_along(void **state) {
  p_empty_cache();
  p_maker *m = p_begin();
  ir_ref size = ir_index(&m->g, 5);
  static const float numbers[5] = {1, 10, 100, 1000, 10000};
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, size),
           out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, size);
  uint32_t extra = p_slot(m, IR_SLOT_DATA, "", IR_F32, size),
           more = p_slot(m, IR_SLOT_DATA, "", IR_F32, size);
  int64_t bytes = ir_name(&m->g, (const char *)numbers, sizeof numbers);
  m->p.slots[extra].value = m->p.slots[more].value =
      ir_make_tensor(&m->g, IR_OP_DATA, IR_F32, ir_tuple(&m->g, &size, 1), bytes, &size, 1);
  p_scale_add(m, out, more, (int)x, 2, size);
  p_results(m, (uint32_t[]){out, extra}, 2);
  for (int pass = 0; pass < 2; pass++) {
    rt_context *c = p_context_with((rt_options){.no_compile = pass == 1});
    rt_program *p = pass ? p_find(c, "data") : p_build(c, m, "data");
    assert_non_null(p);
    float in[5] = {1, 2, 3, 4, 5}, o[2][5];
    p_run(p, (void *[]){in}, (void *[]){o[0], o[1]}, NULL);
    for (int i = 0; i < 5; i++) assert_true(o[0][i] == 2 * numbers[i] + in[i] && o[1][i] == numbers[i]);
    unit_release(p);
    unit_release(c);
  }
}

static void empty_tensors_need_no_memory(void **state) {
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, 0));
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *p = p_build(c, m, "empty");
  p_run(p, (void *[]){NULL, NULL}, (void *[]){NULL}, NULL);
}

static void huge_sizes_are_refused(void **state) {
  p_maker *m = p_begin();
  ir_ref n = ir_var(&m->g, "n", 1, 1, INT64_MAX / 2, 1);
  ir_ref square = ir_make(&m->g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){n, n}, 2);
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, n), out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, square);
  p_scale_add(m, out, x, -1, 2, n);
  p_results(m, &out, 1);
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *p = p_build(c, m, "huge");
  p_says(p, &(int64_t){(int64_t)1 << 40},
         "graph @test: a result of dtype f32 has a size that memory cannot hold");
  float in = 3, o = 0;
  p_run(p, (void *[]){&in}, (void *[]){&o}, &(int64_t){1});
  assert_true(o == 6);
}

static void an_index_out_of_range_is_told(void **state) {
  p_maker *m = p_begin();
  ir_graph *g = &m->g;
  ir_ref size = ir_index(g, 4), limit = ir_index(g, 10);
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, limit),
           at = p_slot(m, IR_SLOT_INPUT, "at", IR_I32, size);
  uint32_t out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, size);
  ir_ref p[3] = {p_param(m, 0, IR_F32, size), p_param(m, 1, IR_F32, limit), p_param(m, 2, IR_I32, size)};
  ir_ref i = k_range(g, size, 0);
  ir_ref where = ir_make(g, IR_OP_BOUND, IR_INDEX, ir_pack_arg(0, IR_GATHER_CHECK),
                         (ir_ref[]){k_load(g, p[2], i), limit, ir_bool(g, true)}, 3);
  ir_ref kernel = k_kernel(g, k_loop(g, i, IR_THREAD, k_store(g, p[0], i, k_load(g, p[1], where))), p, 3);
  p_launch(m, kernel, size, size, (uint32_t[]){out, x, at}, 3);
  p_results(m, &out, 1);
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  rt_program *program = p_build(c, m, "gather");
  float data[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, o[4];
  int32_t good[4] = {0, 9, -1, -10}, bad[4] = {0, 10, 0, 0};
  p_run(program, (void *[]){data, good}, (void *[]){o}, NULL);
  assert_true(o[0] == 0 && o[1] == 9 && o[2] == 9 && o[3] == 0);
  ir_error error = {0};
  assert_int_equal(rt_program_run(program, (void *[]){data, bad}, (void *[]){o}, NULL, &error), IR_ERR_RANGE);
  assert_non_null(strstr(error.text, "graph @test: launch 1 of 1 (vf_copy_f32_"));
  assert_non_null(strstr(error.text,
                         ") read an index that is out of range; accepted are -n to n-1 for an axis of n "
                         "elements, or any index with mode=\"clip\" or mode=\"fill\". The results are "
                         "unspecified"));
  p_run(program, (void *[]){data, good}, (void *[]){o}, NULL); /* the next run has no error */
}

/* enough work for several threads, in chunks */
static void large_launches_are_split(void **state) {
  enum { N = 1 << 20 };
  p_maker *m = p_begin();
  p_two_kernels(m, ir_index(&m->g, N));
  rt_context *c = p_context_with((rt_options){.no_disk = true, .threads = 3});
  rt_program *p = p_build(c, m, "large");
  assert_true(p->frame.steps[0].grain > 0);
  float *x = malloc(3 * N * sizeof *x), *y = x + N, *out = y + N;
  for (int i = 0; i < N; i++) x[i] = (float)(i % 1000), y[i] = (float)(i % 17), out[i] = -1;
  for (int k = 0; k < 20; k++) p_run(p, (void *[]){x, y}, (void *[]){out}, NULL);
  for (int i = 0; i < N; i++) assert_true(out[i] == x[i] * 6 + y[i]);
  free(x);
}

static void *work(void *argument) {
  p_worker *w = argument;
  w->good = p_run_some(w->program, w->number, 3000);
  return NULL;
}

static void threads_run_one_program(void **state) {
  p_maker *m = p_begin();
  p_two_kernels(m, p_variable(m));
  rt_context *c = p_context_with((rt_options){.no_disk = true, .threads = 2});
  rt_program *p = p_build(c, m, "shared");
  p_work_in_threads(work, c, p);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, a_temporary_between_two_kernels, sizes_come_with_the_run,
                   what_can_be_asked, results_that_share_a_buffer, no_kernels_at_all,
                   literal_arrays_travel_along, empty_tensors_need_no_memory, huge_sizes_are_refused,
                   an_index_out_of_range_is_told, large_launches_are_split, threads_run_one_program)
