/* Control flow compiled: results of cond, while and scan, their cost in memory and kernels, symbolic sizes,
 * errors inside, several runs at once, warm starts. */

#include "test/lib/flow.h"
#include "test/lib/unit.h"

/* s += x over xs, from s0, with s * 2 stacked */
static ir_ref running_sum(flow *f, ir_ref s0, ir_ref xs, ir_ref length, bool reverse) {
  ir_graph *g = &f->g;
  ir_ref scalar = flow_shape(f, 0), s = flow_param(f, IR_F32, scalar), x = flow_param(f, IR_F32, scalar);
  ir_ref next = ir_binary(g, IR_OP_ADD, s, x), twice = ir_binary(g, IR_OP_MUL, next, flow_number(f, 2));
  ir_ref body = ir_func(g, FLOW_LIST(next, twice), FLOW_LIST(s, x));
  return flow_scan(f, body, length, (ir_scan_state){1, 1, reverse}, FLOW_LIST(s0, xs));
}

static void a_scan_carries_slices_and_stacks(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  for (int64_t n = 0; n < 8; n++)
    for (int reverse = 0; reverse < 2; reverse++) {
      flow *f = flow_begin();
      ir_ref s0 = flow_input(f, "s", IR_F32, flow_shape(f, 0)),
             xs = flow_input(f, "x", IR_F32, flow_shape(f, 1, n));
      ir_ref scan = running_sum(f, s0, xs, ir_index(&f->g, n), reverse);
      rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0), flow_result(f, scan, 1)));
      float s = 10, x[8] = {1, 2, 4, 8, 16, 32, 64, 128}, last = -1, sums[9], want = 10;
      for (int i = 0; i < 9; i++) sums[i] = -1;
      p_run(p, (void *[]){&s, x}, (void *[]){&last, sums}, NULL);
      for (int64_t i = 0; i < n; i++) {
        int64_t at = reverse ? n - 1 - i : i;
        want += x[at];
        assert_true(sums[at] == 2 * want);
      }
      assert_true(last == want && sums[n] == -1 && s == 10);
      unit_release(p);
    }
}

/* A state of 1000 floats, xs computed inside the graph, only the state as a result: memory does not depend on
 * the length. */
static void a_long_scan_is_no_larger_than_a_short_one(void **state) {
  static const int64_t lengths[] = {10, 10000, 1000000};
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  int64_t temp_bytes = 0;
  uint32_t kernels = 0;
  size_t steps = 0;
  int compiled = 0;
  for (int i = 0; i < 3; i++) {
    flow *f = flow_begin();
    ir_graph *g = &f->g;
    ir_ref shape = flow_shape(f, 1, (int64_t)16), scalar = flow_shape(f, 0);
    ir_ref s0 = flow_input(f, "s", IR_F32, shape),
           xs = flow_input(f, "x", IR_F32, flow_shape(f, 1, lengths[i]));
    ir_ref s = flow_param(f, IR_F32, shape), x = flow_param(f, IR_F32, scalar);
    ir_ref total = ir_make_tensor(g, IR_OP_SUM, IR_F32, scalar, 0, (ir_ref[]){s, ir_index(g, 0)}, 2);
    ir_ref mean = ir_binary(g, IR_OP_MUL, ir_binary(g, IR_OP_ADD, total, x), flow_number(f, 1. / 16));
    ir_ref body = ir_func(g, FLOW_LIST(flow_expand(f, mean, shape)), FLOW_LIST(s, x));
    ir_ref scan =
        flow_scan(f, body, ir_index(g, lengths[i]), (ir_scan_state){1, 1, false}, FLOW_LIST(s0, xs));
    int before = p_compilations();
    rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0)));
    rt_cost cost;
    ir_error error = {0};
    assert_int_equal(rt_program_cost(p, NULL, &cost, &error), IR_OK);
    if (i == 0) {
      temp_bytes = cost.temp_bytes;
      kernels = rt_program_stats(p).kernels;
      steps = f->plan.step_count;
      compiled = p_compilations() - before;
      assert_true(compiled > 0);
    }
    assert_int_equal(cost.temp_bytes, temp_bytes);
    assert_true(temp_bytes <= 256);
    assert_int_equal(rt_program_stats(p).kernels, kernels);
    assert_int_equal(f->plan.step_count, steps);
    if (i) assert_int_equal(rt_program_stats(p).compiled, 0); /* the very same kernels */
    float *in = malloc((size_t)lengths[i] * sizeof *in), start[16] = {32}, out[16];
    for (int64_t k = 0; k < lengths[i]; k++) in[k] = (float)(k % 3) - 1;
    p_run(p, (void *[]){start, in}, (void *[]){out}, NULL);
    double want = 2;
    for (int64_t k = 0; k < lengths[i]; k++) {
      float sum = k ? (float)want * 16 : 32;
      want = (double)((sum + in[k]) * 0.0625f);
    }
    for (int k = 0; k < 16; k++) assert_true(out[k] == (float)want);
    free(in);
    unit_release(p);
  }
}

/* (a, b) -> (b, a + b) while b < limit; limit is carried and never changes */
static ir_ref fibonacci(flow *f, ir_ref a0, ir_ref b0, ir_ref limit, int64_t bound) {
  ir_graph *g = &f->g;
  ir_ref scalar = flow_shape(f, 0), a = flow_param(f, IR_I32, scalar), b = flow_param(f, IR_I32, scalar),
         top = flow_param(f, IR_I32, scalar);
  ir_ref condition = ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_LT, b, top)), FLOW_LIST(a, b, top));
  ir_ref body = ir_func(g, FLOW_LIST(b, ir_binary(g, IR_OP_ADD, a, b), top), FLOW_LIST(a, b, top));
  return flow_while(f, condition, body, bound, 3, FLOW_LIST(a0, b0, limit));
}

static void a_while_ends_by_itself_or_at_its_bound(void **state) {
  static const struct {
    int64_t bound;
    int32_t limit, a, b;
  } cases[] = {{-1, 100, 89, 144}, {-1, 1, 0, 1},  {-1, 2, 1, 2},  {-1, 13, 8, 13},
               {0, 100, 0, 1},     {1, 100, 1, 1}, {4, 100, 3, 5}, {1000, 100, 89, 144}};
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    flow *f = flow_begin();
    ir_ref scalar = flow_shape(f, 0), a = flow_input(f, "a", IR_I32, scalar),
           b = flow_input(f, "b", IR_I32, scalar), limit = flow_input(f, "limit", IR_I32, scalar);
    ir_ref loop = fibonacci(f, a, b, limit, cases[i].bound);
    rt_program *p = flow_compile(
        f, c, NULL, FLOW_LIST(flow_result(f, loop, 0), flow_result(f, loop, 1), flow_result(f, loop, 2)));
    int32_t in[3] = {0, 1, cases[i].limit}, out[3] = {-1, -1, -1};
    p_run(p, (void *[]){&in[0], &in[1], &in[2]}, (void *[]){&out[0], &out[1], &out[2]}, NULL);
    assert_int_equal(out[0], cases[i].a);
    assert_int_equal(out[1], cases[i].b);
    assert_int_equal(out[2], cases[i].limit);
    unit_release(p);
  }
}

/* then: (x[at], x, x[at]); else: (y, x + y, y). The second result has further uses. */
static ir_ref choice(flow *f, ir_ref which, ir_ref x0, ir_ref at0, ir_ref y0) {
  ir_graph *g = &f->g;
  ir_ref four = flow_shape(f, 1, (int64_t)4), x = flow_param(f, IR_F32, four),
         at = flow_param(f, IR_I32, four), y = flow_param(f, IR_F32, four);
  ir_ref taken =
      ir_make_tensor(g, IR_OP_GATHER, IR_F32, four, ir_pack_arg(0, IR_GATHER_CHECK), (ir_ref[]){x, at}, 2);
  ir_ref then = ir_func(g, FLOW_LIST(taken, x, taken), FLOW_LIST(x, at, y));
  ir_ref other = ir_func(g, FLOW_LIST(y, ir_binary(g, IR_OP_ADD, x, y), y), FLOW_LIST(x, at, y));
  return flow_cond(f, then, other, FLOW_LIST(which, x0, at0, y0));
}

static void a_choice_runs_one_branch(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_ref four = flow_shape(f, 1, (int64_t)4), which = flow_input(f, "which", IR_BOOL, flow_shape(f, 0)),
         x = flow_input(f, "x", IR_F32, four), at = flow_input(f, "at", IR_I32, four);
  ir_ref y = ir_binary(&f->g, IR_OP_MUL, x, flow_number(f, 3)), cond = choice(f, which, x, at, y);
  ir_ref used = ir_binary(&f->g, IR_OP_SUB, flow_result(f, cond, 1), y);
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, cond, 0), used, flow_result(f, cond, 2)));
  float in[4] = {1, 2, 3, 4}, out[3][4];
  int32_t good[4] = {3, 0, -1, 1}, bad[4] = {0, 4, 0, 0};
  static const float taken[4] = {4, 1, 4, 2};
  void *results[] = {out[0], out[1], out[2]};
  p_run(p, (void *[]){&(uint8_t){1}, in, good}, results, NULL);
  for (int i = 0; i < 4; i++)
    assert_true(out[0][i] == taken[i] && out[2][i] == taken[i] && out[1][i] == -2 * in[i]);
  p_run(p, (void *[]){&(uint8_t){0}, in, bad}, results, NULL); /* the other branch loads nothing */
  for (int i = 0; i < 4; i++)
    assert_true(out[0][i] == 3 * in[i] && out[2][i] == 3 * in[i] && out[1][i] == in[i]);
  ir_error error = {0};
  assert_int_equal(rt_program_run(p, (void *[]){&(uint8_t){1}, in, bad}, results, NULL, &error),
                   IR_ERR_RANGE);
  assert_non_null(strstr(error.text, "read an index that is out of range"));
  p_run(p, (void *[]){&(uint8_t){1}, in, good}, results, NULL); /* and the error does not persist */
  assert_true(out[0][0] == 4);
}

/* In every iteration r of a while: for even r a scan adds xs[i] * r to half of v for each i in turn, from the
 * end; for odd r v is doubled. */
static ir_ref nested(flow *f, ir_ref v0, ir_ref xs0, ir_ref iterations0, ir_ref length) {
  ir_graph *g = &f->g;
  ir_ref scalar = flow_shape(f, 0), shape = ir_shape(g, v0);
  ir_ref v = flow_param(f, IR_F32, shape), x = flow_param(f, IR_F32, scalar),
         k = flow_param(f, IR_F32, scalar);
  ir_ref sum = ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_MUL, v, flow_number(f, 0.5)),
                         flow_expand(f, ir_binary(g, IR_OP_MUL, x, k), shape));
  ir_ref step = ir_func(g, FLOW_LIST(sum), FLOW_LIST(v, x, k));
  ir_ref v1 = flow_param(f, IR_F32, shape), xs1 = flow_param(f, IR_F32, ir_shape(g, xs0)),
         k1 = flow_param(f, IR_F32, scalar);
  ir_ref scan = flow_scan(f, step, length, (ir_scan_state){1, 1, true}, FLOW_LIST(v1, xs1, k1));
  ir_ref then = ir_func(g, FLOW_LIST(flow_result(f, scan, 0)), FLOW_LIST(v1, xs1, k1));
  ir_ref other =
      ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_MUL, v1, flow_number(f, 2))), FLOW_LIST(v1, xs1, k1));
  ir_ref r = flow_param(f, IR_I32, scalar), v2 = flow_param(f, IR_F32, shape),
         iterations = flow_param(f, IR_I32, scalar), xs2 = flow_param(f, IR_F32, ir_shape(g, xs0));
  ir_ref even =
      ir_binary(g, IR_OP_EQ, ir_binary(g, IR_OP_MOD, r, ir_int(g, IR_I32, 2)), ir_int(g, IR_I32, 0));
  ir_ref cond = flow_cond(f, then, other, FLOW_LIST(even, v2, xs2, ir_cast(g, r, IR_F32)));
  ir_ref more = ir_binary(g, IR_OP_ADD, r, ir_int(g, IR_I32, 1));
  ir_ref body = ir_func(g, FLOW_LIST(more, flow_result(f, cond, 0)), FLOW_LIST(r, v2, iterations, xs2));
  ir_ref test =
      ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_LT, r, iterations)), FLOW_LIST(r, v2, iterations, xs2));
  return flow_while(f, test, body, -1, 2, FLOW_LIST(ir_int(g, IR_I32, 0), v0, iterations0, xs0));
}

static void nested_by_hand(float *v, int size, const float *xs, int64_t n, int iterations) {
  for (int r = 0; r < iterations; r++)
    for (int64_t i = r % 2 ? 0 : n - 1; r % 2 ? i < 1 : i >= 0; i += r % 2 ? 1 : -1)
      for (int k = 0; k < size; k++) v[k] = r % 2 ? v[k] * 2 : v[k] * 0.5f + xs[i] * (float)r;
}

static rt_program *compile_nested(flow *f, rt_context *c, const char *key) {
  ir_ref n = ir_var(&f->g, "n", 1, 0, 20, 1);
  ir_ref v = flow_input(f, "v", IR_F32, flow_shape(f, 1, (int64_t)5)),
         xs = flow_input(f, "x", IR_F32, ir_tuple(&f->g, &n, 1)),
         iterations = flow_input(f, "iterations", IR_I32, flow_shape(f, 0));
  ir_ref loop = nested(f, ir_binary(&f->g, IR_OP_ADD, v, v), xs, iterations, n);
  ir_ref last = ir_binary(&f->g, IR_OP_ADD, flow_result(f, loop, 1), v);
  return flow_compile(f, c, key, FLOW_LIST(last, flow_result(f, loop, 0)));
}

static void loops_and_choices_nest(void **state) {
  p_empty_cache();
  for (int warm = 0; warm < 2; warm++) {
    rt_context *c = p_context_with((rt_options){.no_compile = warm});
    flow *f = flow_begin();
    rt_program *p = warm ? p_find(c, "nested") : compile_nested(f, c, "nested");
    assert_non_null(p);
    for (int64_t size = 0; size <= 20; size += size < 3 ? 1 : 17)
      for (int32_t r = 0; r < 7; r++) {
        float in[5] = {1, 2, 3, 4, 5}, x[20], out[6] = {0, 0, 0, 0, 0, -1}, want[5];
        int32_t ran = -1;
        for (int i = 0; i < 20; i++) x[i] = (float)(i % 5) * 0.25f;
        for (int i = 0; i < 5; i++) want[i] = 2 * in[i];
        nested_by_hand(want, 5, x, size, r);
        p_run(p, (void *[]){in, x, &r}, (void *[]){out, &ran}, &size);
        for (int i = 0; i < 5; i++) assert_true(out[i] == want[i] + in[i]);
        assert_true(out[5] == -1 && ran == r);
      }
    unit_release(p);
    unit_release(c);
  }
}

/* Enough elements for several threads inside the body. */
static void bodies_are_split_among_threads(void **state) {
  enum { N = 1 << 19, ITERATIONS = 6 };
  rt_context *c = p_context_with((rt_options){.no_disk = true, .threads = 4});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)N), v0 = flow_input(f, "v", IR_F32, shape),
         xs = flow_input(f, "x", IR_F32, flow_shape(f, 1, (int64_t)ITERATIONS)),
         v = flow_param(f, IR_F32, shape), x = flow_param(f, IR_F32, flow_shape(f, 0));
  ir_ref next = ir_binary(g, IR_OP_ADD, v, flow_expand(f, x, shape));
  ir_ref body = ir_func(g, FLOW_LIST(next, next), FLOW_LIST(v, x));
  ir_ref scan = flow_scan(f, body, ir_index(g, ITERATIONS), (ir_scan_state){1, 1, false}, FLOW_LIST(v0, xs));
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0), flow_result(f, scan, 1)));
  float *in = malloc(N * (2 + ITERATIONS) * sizeof *in), *last = in + N, *all = last + N, x0[ITERATIONS];
  for (int i = 0; i < N; i++) in[i] = (float)(i % 1000);
  for (int i = 0; i < ITERATIONS; i++) x0[i] = (float)i;
  p_run(p, (void *[]){in, x0}, (void *[]){last, all}, NULL);
  for (int r = 0, added = 0; r < ITERATIONS; r++) {
    added += r;
    for (int i = 0; i < N; i++) assert_true(all[(size_t)r * N + (size_t)i] == in[i] + (float)added);
    if (r == ITERATIONS - 1) assert_memory_equal(last, all + (size_t)r * N, N * sizeof *last);
  }
  free(in);
}

static void *work(void *argument) {
  p_worker *w = argument;
  w->good = true;
  for (int k = 0; k < 400 && w->good; k++) {
    int64_t size = (w->number * 3 + k) % 20;
    float in[5], x[20], out[5], want[5];
    int32_t ran = -1, iterations = (w->number + k) % 6;
    for (int i = 0; i < 5; i++) want[i] = 2 * (in[i] = (float)(i + k + w->number));
    for (int i = 0; i < 20; i++) x[i] = (float)((i + w->number) % 5) * 0.25f;
    nested_by_hand(want, 5, x, size, iterations);
    w->good = rt_program_run(w->program, (void *[]){in, x, &iterations}, (void *[]){out, &ran}, &size,
                             NULL) == IR_OK;
    for (int i = 0; i < 5; i++) w->good &= out[i] == want[i] + in[i];
  }
  return NULL;
}

static void threads_run_one_program(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true, .threads = 2});
  flow *f = flow_begin();
  rt_program *p = compile_nested(f, c, NULL);
  p_work_in_threads(work, c, p);
}

/* One function called from two places, one inside the other: equal kernels are compiled once. */
static void equal_kernels_in_and_out_of_loops_are_one(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref shape = flow_shape(f, 1, (int64_t)3), v0 = flow_input(f, "v", IR_F32, shape),
         v = flow_param(f, IR_F32, shape);
  ir_ref body = ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_MUL, v, flow_number(f, 3))), FLOW_LIST(v));
  ir_scan_state one = {1, 0, false};
  ir_ref inner = flow_scan(f, body, ir_index(g, 2), one, FLOW_LIST(v));
  ir_ref twice = ir_func(g, FLOW_LIST(flow_result(f, inner, 0)), FLOW_LIST(v));
  ir_ref a = flow_scan(f, twice, ir_index(g, 3), one, FLOW_LIST(v0));
  ir_ref b = flow_scan(f, body, ir_index(g, 1), one, FLOW_LIST(flow_result(f, a, 0)));
  ir_ref out = ir_binary(g, IR_OP_MUL, flow_result(f, b, 0), flow_number(f, 3));
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(out));
  assert_int_equal(rt_program_stats(p).launches, 3);
  assert_int_equal(rt_program_stats(p).kernels, 1);
  float in[3] = {1, 2, 4}, got[3];
  p_run(p, (void *[]){in}, (void *[]){got}, NULL);
  for (int i = 0; i < 3; i++) assert_true(got[i] == in[i] * 6561);
}

/* The time of a function's steps is noted for all iterations together; steps of a branch that is not taken
 * have none. */
static void a_timed_run_notes_each_step(void **state) {
  enum { ITERATIONS = 1000 };
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_ref s0 = flow_input(f, "s", IR_F32, flow_shape(f, 0)),
         xs = flow_input(f, "x", IR_F32, flow_shape(f, 1, (int64_t)ITERATIONS)),
         four = flow_shape(f, 1, (int64_t)4), which = flow_input(f, "which", IR_BOOL, flow_shape(f, 0)),
         v = flow_input(f, "v", IR_F32, four), at = flow_input(f, "at", IR_I32, four);
  ir_ref scan = running_sum(f, s0, xs, ir_index(&f->g, ITERATIONS), false), cond = choice(f, which, v, at, v);
  rt_program *p = flow_compile(
      f, c, NULL, FLOW_LIST(flow_result(f, scan, 0), flow_result(f, scan, 1), flow_result(f, cond, 1)));
  float s = 1, x[ITERATIONS], in[4] = {1, 2, 3, 4}, last, sums[ITERATIONS], out[4];
  int32_t positions[4] = {0};
  uint8_t taken = 0;
  for (int i = 0; i < ITERATIONS; i++) x[i] = 1;
  size_t steps = rt_program_step_count(p);
  assert_int_equal(steps, f->plan.step_count);
  int64_t *ns = malloc(steps * sizeof *ns), in_scan = 0;
  for (size_t i = 0; i < steps; i++) ns[i] = -1;
  ir_error error = {0};
  int64_t before = ir_now_ns();
  assert_int_equal(rt_program_run_timed(p, (void *[]){&s, x, &taken, in, positions},
                                        (void *[]){&last, sums, out}, NULL, ns, &error),
                   IR_OK);
  int64_t all = ir_now_ns() - before, noted = 0;
  assert_true(last == ITERATIONS + 1 && sums[ITERATIONS - 1] == 2 * last && out[0] == 2 && out[3] == 8);
  for (size_t i = 0; i < steps;
       i += 1 + f->plan.steps[i].function_steps[0] + f->plan.steps[i].function_steps[1]) {
    const ir_step *step = &f->plan.steps[i];
    noted += ns[i];
    if (step->kind == IR_STEP_SCAN) {
      for (size_t k = i + 1; k <= i + step->function_steps[0]; k++) {
        assert_true(ns[k] >= ITERATIONS); /* at least a nanosecond for each iteration */
        in_scan += ns[k];
      }
      assert_true(in_scan > 0 && in_scan <= ns[i]);
    }
    if (step->kind == IR_STEP_COND) {
      assert_true(step->function_steps[0] > 0);
      for (size_t k = i + 1; k <= i + step->function_steps[0]; k++) assert_int_equal(ns[k], 0);
    }
  }
  assert_true(in_scan > 0 && noted <= all);
  free(ns);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, a_scan_carries_slices_and_stacks,
                   a_long_scan_is_no_larger_than_a_short_one, a_while_ends_by_itself_or_at_its_bound,
                   a_choice_runs_one_branch, loops_and_choices_nest, bodies_are_split_among_threads,
                   threads_run_one_program, equal_kernels_in_and_out_of_loops_are_one,
                   a_timed_run_notes_each_step)
