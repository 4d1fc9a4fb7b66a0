/* Plans with control flow: damaged ones, costs, custom operations, limits, failing allocations. */
#include "test/lib/flow.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

/* ---- damage */

/* A scan of copies alone, with a cond inside: (s, which, x) -> (x, which ? x : s). Runs without any
 * kernel. */
static void copies_in_a_scan(flow *f, int64_t n) {
  ir_graph *g = &f->g;
  ir_ref four = flow_shape(f, 1, (int64_t)4), truth = flow_shape(f, 0);
  ir_ref s0 = flow_input(f, "s", IR_F32, four),
         xs = flow_input(f, "x", IR_F32, flow_shape(f, 2, n, (int64_t)4)),
         ws = flow_input(f, "w", IR_BOOL, flow_shape(f, 1, n));
  ir_ref s = flow_param(f, IR_F32, four), x = flow_param(f, IR_F32, four), w = flow_param(f, IR_BOOL, truth);
  ir_ref cond = flow_cond(f, ir_func(g, FLOW_LIST(x), FLOW_LIST(s, x)),
                          ir_func(g, FLOW_LIST(s), FLOW_LIST(s, x)), FLOW_LIST(w, s, x));
  ir_ref body = ir_func(g, FLOW_LIST(x, flow_result(f, cond, 0)), FLOW_LIST(s, x, w));
  f->inputs[3] = flow_scan(f, body, ir_index(g, n), (ir_scan_state){1, 2, true}, FLOW_LIST(s0, xs, ws));
}

/* Runs on buffers of exactly the program's sizes, so that the sanitizer sees accesses past the end. */
static void run_in_bounds(rt_program *p) {
  const rt_plan *plan = &p->plan;
  void *in[8], *out[8];
  size_t total = 0;
  for (uint32_t i = 0; i < plan->head->slots; i++)
    total += p->frame.bytes[i] < 1 << 20 ? p->frame.bytes[i] : 1 << 24;
  for (size_t i = 0; i < p->frame.step_count; i++)
    if (p->frame.steps[i].count > 1000 || plan->steps[p->frame.steps[i].number].kind == IR_STEP_WHILE)
      total = 1 << 24;
  if (total >= 1 << 24 || p->input_count > 8 || plan->head->results > 8) return;
  for (size_t i = 0; i < p->input_count; i++)
    in[i] = calloc(1, p->frame.bytes[p->inputs[i]] + !p->frame.bytes[p->inputs[i]]);
  for (uint32_t i = 0; i < plan->head->results; i++) out[i] = calloc(1, p->frame.bytes[plan->results[i]] + 1);
  ir_error error = {0};
  ir_status status = rt_program_constant_count(p) ? IR_ERR_INTERNAL : IR_OK; /* it is not bound to any */
  assert_int_equal(rt_program_run(p, in, out, NULL, &error), status);
  for (size_t i = 0; i < p->input_count; i++) free(in[i]);
  for (uint32_t i = 0; i < plan->head->results; i++) free(out[i]);
}

static void damaged_plans_of_copies_stay_in_bounds(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  copies_in_a_scan(f, 6);
  ir_ref scan = f->inputs[3];
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0), flow_result(f, scan, 1)));
  assert_int_equal(rt_program_stats(p).kernels, 0);
  float s[4] = {-1, -2, -3, -4}, x[24], last[4], all[24];
  uint8_t w[6] = {1, 0, 1, 1, 0, 0};
  for (int i = 0; i < 24; i++) x[i] = (float)i;
  p_run(p, (void *[]){s, x, w}, (void *[]){last, all}, NULL);
  assert_memory_equal(last, x, sizeof last);
  for (int i = 0; i < 6; i++)
    assert_memory_equal(all + 4 * i, w[i] ? x + 4 * i : i == 5 ? s : x + 4 * (i + 1), 16);
  unit_release(p);
  rt_plan_bytes made;
  assert_int_equal(rt_plan_make(&ir_mem_libc, "test", &f->g, &f->plan, &made, &f->error), IR_OK);
  uint8_t *copy = aligned_alloc(64, made.size);
  int refused = 0, ran = 0;
  for (size_t i = 0; i < made.size * 8; i++) {
    rt_code code = {0};
    ir_error error = {0};
    memcpy(copy, made.bytes, made.size);
    copy[i / 8] ^= (uint8_t)(1 << i % 8);
    if (rt_program_make(c, copy, made.size, &code, &p, &error)) {
      refused++;
      continue;
    }
    run_in_bounds(p);
    rt_program_release(p);
    ran++;
  }
  assert_true(refused > 1000 && ran > 100);
  free(copy);
  rt_plan_bytes_free(&ir_mem_libc, &made);
}

static void damaged_plans_of_kernels_are_refused_or_whole(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  flow *f = flow_begin();
  ir_graph *g = &f->g;
  ir_ref n = ir_var(g, "n", 1, 0, 9, 1), scalar = flow_shape(f, 0);
  ir_ref s0 = flow_input(f, "s", IR_F32, scalar), xs = flow_input(f, "x", IR_F32, ir_tuple(g, &n, 1));
  ir_ref s = flow_param(f, IR_F32, scalar), x = flow_param(f, IR_F32, scalar);
  ir_ref test = ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_LT, s, x)), FLOW_LIST(s, x));
  ir_ref more = ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_ADD, s, flow_number(f, 1))), FLOW_LIST(s, x));
  ir_ref inner = flow_result(f, flow_while(f, test, more, 5, 1, FLOW_LIST(s, x)), 0);
  ir_ref body = ir_func(g, FLOW_LIST(inner, inner), FLOW_LIST(s, x));
  ir_ref scan = flow_scan(f, body, n, (ir_scan_state){1, 1, false}, FLOW_LIST(s0, xs));
  rt_program *p = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, scan, 0), flow_result(f, scan, 1)));
  float start = 0, in[9] = {1.5f, 9, 3, 20, 0, 0, 0, 0, 0}, last, all[9];
  p_run(p, (void *[]){&start, in}, (void *[]){&last, all}, &(int64_t){4});
  assert_true(all[0] == 2 && all[1] == 7 && all[2] == 7 && all[3] == 12 && last == 12);
  rt_plan_bytes made;
  assert_int_equal(rt_plan_make(&ir_mem_libc, "test", g, &f->plan, &made, &f->error), IR_OK);
  uint8_t *copy = aligned_alloc(64, made.size);
  int refused = 0, whole = 0;
  for (size_t i = 0; i < made.size * 3; i++) {
    static const uint8_t flips[3] = {1, 0x80, 0xff};
    rt_code code;
    rt_program *q;
    rt_cost cost;
    ir_error error = {0};
    memcpy(copy, made.bytes, made.size);
    copy[i / 3] ^= flips[i % 3];
    assert_int_equal(rt_image_map(p->code.base, p->code.size, &code, &error), IR_OK);
    if (rt_program_make(c, copy, made.size, &code, &q, &error)) {
      refused++;
      continue;
    }
    for (int64_t size = 0; size < 10 && q->plan.head->vars == 1; size++)
      rt_program_cost(q, &size, &cost, NULL);
    rt_program_release(q);
    whole++;
  }
  assert_true(refused > 1000 && whole > 100);
  free(copy);
  rt_plan_bytes_free(&ir_mem_libc, &made);
}

/* ---- costs */

static rt_cost cost_of(const rt_program *p, const int64_t *vars) {
  rt_cost cost;
  ir_error error = {0};
  if (rt_program_cost(p, vars, &cost, &error)) fail_msg("%s", error.text);
  return cost;
}

static void a_loop_costs_its_iterations(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  for (int64_t bound = -1; bound < 8; bound += 4) {
    flow *f = flow_begin();
    ir_graph *g = &f->g;
    ir_ref n = ir_var(g, "n", 1, 0, 100, 1), eight = flow_shape(f, 1, (int64_t)8), scalar = flow_shape(f, 0);
    ir_ref v0 = flow_input(f, "v", IR_F32, eight), w0 = flow_input(f, "w", IR_BOOL, scalar);
    ir_ref v = flow_param(f, IR_F32, eight), w = flow_param(f, IR_BOOL, scalar);
    ir_ref three =
        ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_ADD, v, v), v)), FLOW_LIST(v));
    ir_ref one = ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_MUL, v, v)), FLOW_LIST(v));
    ir_ref cond =
        flow_cond(f, three, one, FLOW_LIST(w, v)); /* at most 16 operations; two buffers of 32 bytes */
    ir_ref choose = ir_func(g, FLOW_LIST(flow_result(f, cond, 0)), FLOW_LIST(v, w));
    ir_ref scan = flow_scan(f, choose, n, (ir_scan_state){1, 0, false}, FLOW_LIST(v0, w0));
    ir_ref p = flow_param(f, IR_F32, eight), q = flow_param(f, IR_BOOL, scalar);
    ir_ref iteration =
        ir_func(g, FLOW_LIST(ir_binary(g, IR_OP_SUB, p, flow_number(f, 1)), ir_unary(g, IR_OP_NOT, q)),
                FLOW_LIST(p, q));
    ir_ref test = ir_func(g, FLOW_LIST(ir_unary(g, IR_OP_NOT, q)), FLOW_LIST(p, q));
    ir_ref loop = flow_while(f, test, iteration, bound, 2, FLOW_LIST(flow_result(f, scan, 0), w0));
    rt_program *made = flow_compile(f, c, NULL, FLOW_LIST(flow_result(f, loop, 0)));
    int64_t iterations = bound < 0 ? 1 : bound;
    rt_cost cost = cost_of(made, &(int64_t){7});
    assert_int_equal(cost.flops, 7 * 16 + iterations * 8);
    assert_int_equal(cost.bytes, 7 * 64 + iterations * (64 + 2) + (iterations + 1) * 2);
    assert_int_equal(cost_of(made, &(int64_t){0}).flops, iterations * 8);
    unit_release(made);
  }
}

/* ---- custom operations */

typedef struct library {
  int found, ran;
} library;

static const void *find(void *user, const char *name) {
  library *l = user;
  l->found++;
  return strcmp(name, "outer") == 0 ? &l->ran : NULL;
}

/* results[0][i][j] = a[i] * b[j] */
static ir_status run_outer(void *user, const void *found, const rt_call *call, ir_error *error) {
  library *l = user;
  assert_ptr_equal(found, &l->ran);
  assert_int_equal(call->result_count, 1);
  assert_int_equal(call->operand_count, 2);
  assert_int_equal(call->attribute_bytes, 5);
  assert_memory_equal(call->attributes, "a\0b\0c", 5);
  assert_int_equal((uintptr_t)call->attributes % 64, 0);
  const rt_array *a = &call->operands[0], *b = &call->operands[1], *out = call->results;
  assert_true(a->dtype == IR_F32 && b->dtype == IR_F32 && out->dtype == IR_F32 && a->rank == 1 &&
              out->rank == 1);
  assert_int_equal(out->elements, a->elements);
  assert_int_equal(out->dims[0], a->dims[0]);
  l->ran++;
  for (int64_t i = 0; i < a->dims[0]; i++) {
    if (((const float *)a->data)[i] < 0)
      return ir_fail(error, IR_ERR_INVALID, "element %d is negative", (int)i);
    ((float *)out->data)[i] = ((const float *)a->data)[i] * ((const float *)b->data)[i];
  }
  return IR_OK;
}

/* t = outer(x, y); out = 2 t */
static void plan_call(p_maker *m, ir_ref size, const char *name) {
  uint32_t x = p_slot(m, IR_SLOT_INPUT, "x", IR_F32, size), y = p_slot(m, IR_SLOT_INPUT, "y", IR_F32, size);
  uint32_t t = p_slot(m, IR_SLOT_TEMP, "t", IR_F32, size), out = p_slot(m, IR_SLOT_OUTPUT, "o", IR_F32, size);
  p_launch(m, ir_index(&m->g, 0), ir_index(&m->g, 0), ir_index(&m->g, 0), (uint32_t[]){t, x, y}, 3);
  ir_step *s = &m->p.steps[0];
  s->kind = IR_STEP_CALL;
  s->carries = 1;
  s->name = ir_name(&m->g, name, strlen(name));
  s->attributes = ir_name(&m->g, "a\0b\0c", 5);
  p_scale_add(m, out, t, -1, 2, size);
  p_results(m, &out, 1);
}

static void custom_operations_are_called(void **state) {
  p_empty_cache();
  library l = {0};
  rt_options options = {.calls = {&l, find, run_outer}};
  p_maker *m = p_begin();
  plan_call(m, p_variable(m), "outer");
  for (int warm = 0; warm < 2; warm++) {
    options.no_compile = warm;
    rt_context *c = p_context_with(options);
    rt_program *p = warm ? p_find(c, "custom") : p_build(c, m, "custom");
    assert_int_equal(l.found, warm + 1);
    assert_int_equal(rt_program_stats(p).launches, 1);
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {2, 3, 4, 5, 6, 7, 8, 9}, out[8];
    for (int64_t n = 4; n <= 8; n += 4) {
      p_run(p, (void *[]){x, y}, (void *[]){out}, &n);
      for (int i = 0; i < n; i++) assert_true(out[i] == 2 * x[i] * y[i]);
    }
    ir_error error = {0};
    x[3] = -1;
    assert_int_equal(rt_program_run(p, (void *[]){x, y}, (void *[]){out}, &(int64_t){4}, &error),
                     IR_ERR_INVALID);
    assert_string_equal(error.text, "graph @test: element 3 is negative");
    unit_release(p);
    unit_release(c);
  }
  assert_int_equal(l.ran, 6);
}

static void unknown_custom_operations_are_refused(void **state) {
  p_empty_cache();
  library l = {0};
  p_maker *m = p_begin();
  plan_call(m, ir_index(&m->g, 4), "inner");
  for (int with = 0; with < 2; with++) {
    rt_options options = {.calls = {&l, with ? find : NULL, run_outer}};
    rt_context *c = p_context_with(options);
    rt_program *p;
    ir_error error = {0};
    assert_int_equal(rt_program_build(c, "test", &m->g, &m->p, "k", 1, &p, &error), IR_ERR_UNSUPPORTED);
    assert_string_equal(error.text,
                        "graph @test: it runs the custom operation inner, which this context does not know: "
                        "register it before the graph is compiled");
    assert_null(p);
    unit_release(c);
  }
}

/* ---- limits */

/* x + 1 in `depth` nested scans, each of which contains `calls` of the next one. */
static ir_ref deep(flow *f, ir_ref x0, int depth, int calls) {
  ir_graph *g = &f->g;
  ir_ref scalar = flow_shape(f, 0), x = flow_param(f, IR_F32, scalar),
         value = ir_binary(g, IR_OP_ADD, x, flow_number(f, 1));
  for (int d = 1; d < depth; d++) {
    ir_ref body = ir_func(g, FLOW_LIST(value), FLOW_LIST(x));
    x = flow_param(f, IR_F32, scalar);
    value = x;
    for (int k = 0; k < calls; k++)
      value = flow_result(
          f, flow_scan(f, body, ir_index(g, 1), (ir_scan_state){1, 0, false}, FLOW_LIST(value)), 0);
  }
  ir_ref body = ir_func(g, FLOW_LIST(value), FLOW_LIST(x));
  return flow_result(f, flow_scan(f, body, ir_index(g, 1), (ir_scan_state){1, 0, false}, FLOW_LIST(x0)), 0);
}

static void what_is_too_deep_or_too_much_is_refused(void **state) {
  static const struct {
    int depth, calls;
    float want;
    const char *message;
  } cases[] = {
      {64, 1, 6, NULL},
      {65, 1, 0, "functions must not nest more than 64 deep"},
      {6, 2, 37, NULL},
      {20, 2, 0, "control flow: functions written out wherever they are called make more than 65536 steps"}};
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  for (int i = 0; i < 4; i++) {
    flow *f = flow_begin();
    ir_ref x = flow_input(f, "x", IR_F32, flow_shape(f, 0)), y = deep(f, x, cases[i].depth, cases[i].calls);
    rt_program *p;
    ir_error error = {0};
    f->g.error = &error;
    ir_status status = flow_try(f, c, NULL, &y, 1, &p, &error);
    if (cases[i].message) {
      assert_int_not_equal(status, IR_OK);
      if (!strstr(error.text, cases[i].message)) fail_msg("%s", error.text);
      assert_null(p);
    } else {
      if (status) fail_msg("%s", error.text);
      float in = 5, out = 0;
      p_run(p, (void *[]){&in}, (void *[]){&out}, NULL);
      assert_true(out == cases[i].want);
    }
    rt_program_release(p);
  }
}

/* ---- memory */

static void memory_may_run_out_anywhere(void **state) {
  rt_context *c = p_context_with((rt_options){.no_disk = true});
  int failed = 0;
  for (long at = 1, done = 0; !done; at += 1 + at / 50) {
    test_memory memory = {0};
    const ir_mem mem = {test_memory_hook, &memory};
    flow f;
    memset(&f, 0, sizeof f);
    assert_int_equal(ir_graph_init(&f.g, &mem, &f.error), IR_OK);
    ir_ref n = ir_var(&f.g, "n", 1, 0, 20, 1), scalar = flow_shape(&f, 0),
           x0 = flow_input(&f, "x", IR_F32, scalar), xs = flow_input(&f, "xs", IR_F32, ir_tuple(&f.g, &n, 1)),
           s = flow_param(&f, IR_F32, scalar), x = flow_param(&f, IR_F32, scalar);
    ir_ref sum = ir_binary(&f.g, IR_OP_ADD, s, x);
    ir_ref cond = flow_cond(&f, ir_func(&f.g, FLOW_LIST(sum), FLOW_LIST(s, x)),
                            ir_func(&f.g, FLOW_LIST(x), FLOW_LIST(s, x)),
                            FLOW_LIST(ir_binary(&f.g, IR_OP_LT, s, x), s, x));
    ir_ref body = ir_func(&f.g, FLOW_LIST(flow_result(&f, cond, 0), sum), FLOW_LIST(s, x));
    ir_ref scan = flow_scan(&f, body, n, (ir_scan_state){1, 1, false}, FLOW_LIST(x0, xs));
    ir_ref results[] = {flow_result(&f, scan, 0), flow_result(&f, scan, 1)};
    memory.fail_at = memory.allocations + at;
    rt_program *p = NULL;
    ir_error error = {0};
    f.g.error = &error;
    ir_status status = flow_try(&f, c, NULL, results, 2, &p, &error);
    done = memory.allocations < memory.fail_at;
    if (status && status != IR_ERR_MEMORY) fail_msg("allocation %ld: %s", at, error.text);
    if (status) assert_null(p);
    failed += status != IR_OK;
    if (!status) {
      float start = 1, in[3] = {2, 1, 4}, last, all[3];
      p_run(p, (void *[]){&start, in}, (void *[]){&last, all}, &(int64_t){3});
      assert_true(last == 5 && all[0] == 3 && all[1] == 4 && all[2] == 5);
    }
    rt_program_release(p);
    flow_end(&f);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.wrong_sizes, 0);
  }
  assert_true(failed > 50);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, damaged_plans_of_copies_stay_in_bounds,
                   damaged_plans_of_kernels_are_refused_or_whole, a_loop_costs_its_iterations,
                   custom_operations_are_called, unknown_custom_operations_are_refused,
                   what_is_too_deep_or_too_much_is_refused, memory_may_run_out_anywhere)
