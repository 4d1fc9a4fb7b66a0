/* Moves kept in the cache for kernels: which graphs use them, and what they change. */
#include "frontend/api/compile.h"
#include "runtime/program/tuned.h"
#include "test/lib/flow.h"
#include "test/lib/unit.h"

enum { SIZE = 100 };
static const char moves[] = "split a0 20; unroll a0.1";

/* x * x + 1; with `more` a second kernel before it, and other names */
typedef struct small {
  flow f;
  ir_ref results;
} small;

static void begin(small *s, bool more) {
  flow_init(&s->f);
  ir_graph *g = &s->f.g;
  ir_ref shape = flow_shape(&s->f, 1, (int64_t)SIZE), list[2];
  uint32_t count = 0;
  if (more) {
    ir_ref u = flow_input(&s->f, "u", IR_F32, flow_shape(&s->f, 1, (int64_t)7));
    list[count++] = ir_binary(g, IR_OP_SUB, u, flow_number(&s->f, 3));
  }
  ir_ref x = flow_input(&s->f, more ? "other" : "x", IR_F32, shape);
  list[count++] = ir_binary(g, IR_OP_ADD, ir_binary(g, IR_OP_MUL, x, x), flow_number(&s->f, 1));
  s->results = ir_tuple(g, list, count);
  assert_true(s->results != 0);
}

static fe_request request_of(small *s) {
  return (fe_request){.graph = &s->f.g,
                      .results = s->results,
                      .inputs = s->f.inputs,
                      .input_count = s->f.input_count,
                      .name = "small"};
}

static rt_program *compile(rt_context *c, small *s) {
  fe_request request = request_of(s);
  rt_program *p;
  ir_error error = {0};
  if (fe_compile(c, &request, &p, &error) != IR_OK) fail_msg("%s", error.text);
  return p;
}

/* The key of a compilation's first kernel. */
typedef struct told {
  rt_kernel_key key;
} told;

static void enter(void *user, uint32_t kernel, const ir_graph *g, ir_ref effect) {
  told *t = user;
  if (kernel == 0) assert_int_equal(rt_effect_key_make(&ir_mem_libc, g, effect, &t->key, NULL), IR_OK);
}

static void find_key(rt_context *c, small *s, told *t) {
  pass_shaping shaping = {.user = t, .enter = enter};
  fe_request request = request_of(s);
  rt_program *p;
  ir_error error = {0};
  *t = (told){0};
  request.shaping = &shaping;
  assert_int_equal(fe_compile(c, &request, &p, &error), IR_OK);
  rt_program_release(p);
}

static bool keep(rt_context *c, const told *t) {
  char text[100];
  snprintf(text, sizeof text, "kernel k of @small\nnest 0: %s\n", moves);
  return rt_tuned_put(c, &t->key, text);
}

/* Compiles and runs, and checks how many kernels were compiled rather than found in the cache. */
static void expect_compiled(small *s, uint32_t compiled) {
  rt_context *c = p_context_with((rt_options){0});
  rt_program *p = compile(c, s);
  assert_int_equal(rt_program_stats(p).compiled, compiled);
  float x[SIZE], u[7] = {0}, y[SIZE], v[7];
  for (int i = 0; i < SIZE; i++) x[i] = (float)i, y[i] = -1;
  bool more = s->f.input_count == 2;
  p_run(p, more ? (void *[]){u, x} : (void *[]){x}, more ? (void *[]){v, y} : (void *[]){y}, NULL);
  for (int i = 0; i < SIZE; i++) assert_true(y[i] == x[i] * x[i] + 1);
  rt_program_release(p);
}

static void kept_moves_are_taken_in_every_graph(void **state) {
  p_empty_cache();
  small one, two;
  told t;
  begin(&one, false);
  begin(&two, true);
  expect_compiled(&one, 1);
  expect_compiled(&two, 1);
  rt_context *c = p_context_with((rt_options){0});
  assert_int_equal(rt_tuned_stamp(c), 0);
  find_key(c, &one, &t);
  assert_true(keep(c, &t));
  uint64_t stamp = rt_tuned_stamp(c);
  assert_true(stamp != 0);
  expect_compiled(&one, 1); /* the moves give other code, under another key */
  expect_compiled(&one, 0); /* which is kept */
  expect_compiled(&two, 0); /* and its kernel is found from another graph */
  assert_true(rt_tuned_forget(c, &t.key));
  assert_false(rt_tuned_forget(c, &t.key));
  assert_true(rt_tuned_stamp(c) != stamp);
  expect_compiled(&one, 0); /* the cost model's code, cached above */
  rt_kernel_key_free(&ir_mem_libc, &t.key);
  unit_release(c);
  flow_end(&one.f);
  flow_end(&two.f);
}

static void another_size_or_target_is_another_kernel(void **state) {
  p_empty_cache();
  small s;
  told t;
  begin(&s, false);
  rt_context *c = p_context_with((rt_options){0}),
             *other = p_context_with((rt_options){.target = "l1=16384"});
  find_key(c, &s, &t);
  assert_true(keep(c, &t));
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  assert_true(rt_tuned_get(c, &t.key, &text));
  assert_non_null(strstr(ir_text_get(&text), moves));
  assert_false(rt_tuned_get(other, &t.key, &text));
  t.key.bytes[t.key.size - 1] ^= 1;
  assert_false(rt_tuned_get(c, &t.key, &text));
  ir_text_free(&text);
  rt_kernel_key_free(&ir_mem_libc, &t.key);
  unit_release(c);
  unit_release(other);
  flow_end(&s.f);
}

static void count_entry(void *user, const char *text) {
  assert_non_null(strstr(text, "nest 0: "));
  ++*(int *)user;
}

static void what_is_kept_is_listed_and_forgotten(void **state) {
  p_empty_cache();
  small s;
  told t;
  int count = 0;
  uint64_t forgotten;
  begin(&s, false);
  rt_context *c = p_context_with((rt_options){0});
  find_key(c, &s, &t);
  assert_true(rt_tuned_list(c, count_entry, &count));
  assert_int_equal(count, 0);
  assert_true(keep(c, &t) && keep(c, &t)); /* one entry */
  t.key.bytes[t.key.size - 1] ^= 1;
  assert_true(keep(c, &t));
  assert_true(rt_tuned_list(c, count_entry, &count));
  assert_int_equal(count, 2);
  assert_true(rt_tuned_forget_all(c, &forgotten));
  assert_int_equal(forgotten, 2);
  assert_int_equal(rt_tuned_stamp(c), 0);
  rt_kernel_key_free(&ir_mem_libc, &t.key);
  unit_release(c);
  flow_end(&s.f);
}

/* A schedule given for a compilation replaces kept moves; they are not mixed. */
static void a_schedule_goes_before_what_is_kept(void **state) {
  p_empty_cache();
  small s;
  told t;
  begin(&s, false);
  expect_compiled(&s, 1);
  rt_context *c = p_context_with((rt_options){0});
  find_key(c, &s, &t);
  assert_true(keep(c, &t));
  fe_request request = request_of(&s);
  request.schedule = "";
  rt_program *p;
  ir_error error = {0};
  assert_int_equal(fe_compile(c, &request, &p, &error), IR_OK);
  assert_int_equal(rt_program_stats(p).compiled, 0); /* the cost model's code, cached above */
  rt_program_release(p);
  rt_kernel_key_free(&ir_mem_libc, &t.key);
  unit_release(c);
  flow_end(&s.f);
}

UNIT_TESTS_BETWEEN(p_set_up, p_tear_down, kept_moves_are_taken_in_every_graph,
                   another_size_or_target_is_another_kernel, what_is_kept_is_listed_and_forgotten,
                   a_schedule_goes_before_what_is_kept)
