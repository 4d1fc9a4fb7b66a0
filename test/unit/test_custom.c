/* Custom operations, through the public API alone: the operations registered here are used from text and from
 * C, evaluated, compiled, differentiated, repeated and shared between threads. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "test/lib/api.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

typedef void (*any_function)(void);
static vf_error error;

/* Of one operand and one result, unless the description says otherwise */
static void add_op(vf_context *c, vf_op_description d) {
  d.size = sizeof d;
  if (!d.operands) d.operands = 1;
  if (!d.results) d.results = 1;
  if (vf_register_op(c, &d, &error) != VF_OK) fail_msg("%s", error.message);
}

/* The program and the evaluator give `want`, and the text parses back to the same text. */
static void check_runs(vf_context *c, vf_graph *g, const void *const *inputs, const int64_t *vars,
                       int outputs, int count, const float want[][8]) {
  float out[4][8];
  void *at[4] = {out[0], out[1], out[2], out[3]};
  for (int compiled = 0; compiled < 2; compiled++) {
    memset(out, 0, sizeof out);
    if (compiled) api_run(api_compile(g), inputs, at, vars);
    else api_evaluate(g, inputs, at, vars);
    for (int k = 0; k < outputs; k++)
      for (int i = 0; i < count; i++)
        if (fabs((double)out[k][i] - (double)want[k][i]) > 1e-6)
          fail_msg("compiled %d, output %d, element %d: %g, not %g", compiled, k, i, (double)out[k][i],
                   (double)want[k][i]);
  }
  api_check_text(c, g);
}

/* operations */

static void scale(const float *x, float *y, int64_t n, float factor, bool negate) {
  for (int64_t i = 0; i < n; i++) y[i] = (negate ? -x[i] : x[i]) * factor;
}
static const vf_op_attribute scale_attributes[] = {{"factor", VF_F64, false, {.f = 0}},
                                                   {"negate", VF_BOOL, true, {.i = 0}}};
static bool scale_pull(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                       vf_value *gradients) {
  double factor = call->attributes[1].i ? -call->attributes[0].f : call->attributes[0].f;
  gradients[0] = vf_mul(cotangents[0], vf_number(call->graph, factor));
  return true;
}
static bool scale_push(const vf_op_call *call, const vf_value *results, const vf_value *tangents,
                       vf_value *varied) {
  return scale_pull(call, results, tangents, varied);
}
static void add_scale(vf_context *c) {
  add_op(c, (vf_op_description){.name = "scale",
                                .attribute_count = 2,
                                .attributes = scale_attributes,
                                .function = (any_function)scale,
                                .signature = "void(in0, out0, i64 in0.count, float factor, bool negate)",
                                .vjp = scale_pull,
                                .jvp = scale_push,
                                .sharding = "d[:] -> d[:]",
                                .partial = VF_PARTIAL_ALWAYS,
                                .flops = 1});
}

/* For each row of a matrix: its sum and the index of its greatest element. */
static int rows(const float *x, int rows_, size_t columns, float *sum, int64_t *where) {
  for (int r = 0; r < rows_; r++) {
    sum[r] = 0, where[r] = 0;
    for (size_t k = 0; k < columns; k++) {
      sum[r] += x[(size_t)r * columns + k];
      if (x[(size_t)r * columns + k] > x[(size_t)r * columns + (size_t)where[r]]) where[r] = (int64_t)k;
    }
  }
  return 0;
}
static bool rows_shape(const vf_op_call *call, vf_op_type *results) {
  if (vf_value_rank(call->operands[0]) != 2) {
    snprintf(call->message, 256, "the operand is a matrix, not of rank %d", vf_value_rank(call->operands[0]));
    return false;
  }
  results[0] = (vf_op_type){VF_F32, 1, {vf_op_size(call->operands[0], 0)}};
  results[1] = (vf_op_type){VF_I64, 1, {vf_op_size(call->operands[0], 0)}};
  return true;
}
static bool rows_pull(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                      vf_value *gradients) {
  if (vf_ok(cotangents[1])) return false; /* indices have no cotangent */
  gradients[0] =
      vf_mul(vf_unsqueeze(cotangents[0], 1),
             vf_add(vf_mul(call->operands[0], vf_number(call->graph, 0)), vf_number(call->graph, 1)));
  return true;
}
static void add_rows(vf_context *c) {
  add_op(c, (vf_op_description){.name = "rows",
                                .results = 2,
                                .shape = rows_shape,
                                .function = (any_function)rows,
                                .signature = "int(in0, int in0[0], size_t in0[1], out0, out1)",
                                .vjp = rows_pull,
                                .sharding = "r k -> r, r"});
}

static bool bump(const vf_op_call *call, vf_value *results) {
  vf_value x = call->operands[0];
  results[0] = vf_mul(x, vf_sigmoid(vf_mul(x, vf_number(call->graph, call->attributes[0].f))));
  return true;
}
static const vf_op_attribute beta = {"beta", VF_F64, true, {.f = 1}};
static void add_bump(vf_context *c) {
  add_op(c, (vf_op_description){.name = "bump", .attribute_count = 1, .attributes = &beta, .compose = bump});
}

/* tests */

/* spec: F21 */
static void test_text_and_attributes(void **state) {
  vf_context *c = api_context();
  add_scale(c);
  vf_graph *g =
      api_parse(c, "graph @g(%x: f32[2,2]) {\n%y = scale %x factor=2.5\n%z = scale %y factor=-1 negate=true\n"
                   "%w = add %z, 1\nreturn %y, %w\n}\n");
  const float x[4] = {1, -2, 3, 4};
  check_runs(c, g, (const void *[]){x}, NULL, 2, 4,
             (const float[][8]){{2.5f, -5, 7.5f, 10}, {3.5f, -4, 8.5f, 11}});
}

/* spec: F20 F21 */
static void test_several_results(void **state) {
  vf_context *c = api_context();
  add_rows(c);
  vf_graph *g = api_parse(
      c, "graph @g(n=1..4, %x: f32[n,3]) {\n%s, %p = rows %x\n%q = cast %p dtype=f32\nreturn %s, %q\n}\n");
  const float x[6] = {1, 5, 2, 7, 0, 3};
  check_runs(c, g, (const void *[]){x}, (const int64_t[]){2}, 2, 2, (const float[][8]){{8, 10}, {1, 0}});
  /* from C, where only the second result is used */
  g = api_graph(c, "one");
  vf_value v = vf_input(g, "x", VF_F32, VF_LIST(2, 3)), both[2];
  assert_int_equal(vf_apply_all(g, "rows", &v, 1, NULL, 2, both), 2);
  vf_output(g, "p", vf_cast(both[1], VF_F32));
  check_runs(c, g, (const void *[]){x}, NULL, 1, 2, (const float[][8]){{1, 0}});
}

static double evaluate_at(vf_graph *g, const float *x, int output) {
  float out[3][8];
  api_evaluate(g, (const void *[]){x}, (void *[]){out[0], out[1], out[2]}, NULL);
  return (double)out[output][0];
}

/* Compares the gradient, and the derivative along t, of the sum of tanh of the operation's result with
 * differences. */
static void check_derivative(vf_context *c, const char *body, bool forward) {
  char text[256];
  float x[6] = {0.3f, -0.7f, 0.2f, 0.9f, -0.1f, 0.5f}, t[6] = {1, -2, 0.5f, 0.25f, 3, -1}, out[8], grad[8],
        push[8];
  snprintf(text, sizeof text, "graph @g(%%x: f32[2,3]) {\n%s\n%%z = tanh %%y\n%%s = sum %%z\nreturn %%s\n}\n",
           body);
  vf_graph *g = api_parse(c, text);
  vf_value in = vf_graph_find(g, "x"), y = vf_graph_find(g, "s"), dx, dy,
           along = vf_data(g, VF_F32, VF_LIST(2, 3), t);
  vf_grad(y, 1, &in, &dx);
  vf_output(g, "dx", dx);
  if (forward) vf_jvp(1, &y, 1, &in, &along, &dy);
  vf_output(g, "dy", forward ? dy : y);
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  api_run(api_compile(g), (const void *[]){x}, (void *[]){out, grad, push}, NULL);
  double sum = 0;
  for (int i = 0; i < 6; i++) {
    float before = x[i], step = 1e-2f;
    x[i] = before + step;
    double up = evaluate_at(g, x, 0);
    x[i] = before - step;
    double down = evaluate_at(g, x, 0);
    x[i] = before;
    if (fabs((up - down) / (2 * (double)step) - (double)grad[i]) > 2e-3)
      fail_msg("%s: %g, not %g", body, (double)grad[i], (up - down) / (2 * (double)step));
    sum += (double)grad[i] * (double)t[i];
  }
  if (forward) assert_true(fabs(sum - (double)push[0]) < 1e-4);
}

/* spec: F20.U F21 */
static void test_derivatives(void **state) {
  vf_context *c = api_context();
  add_scale(c), add_rows(c), add_bump(c);
  check_derivative(c, "%y = scale %x factor=1.5", true);
  check_derivative(c, "%a = scale %x factor=0.5\n%y = scale %a factor=1.5 negate=true", true);
  check_derivative(c, "%y = bump %x", true);
  check_derivative(c, "%y = bump %x beta=2", true);
  check_derivative(c, "%y, %p = rows %x", false);
}

static void test_derivatives_that_are_not_there(void **state) {
  vf_context *c = api_context();
  add_rows(c);
  add_op(c, (vf_op_description){
                .name = "plain", .function = (any_function)scale, .signature = "void(in0, out0)"});
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 2)),
           y = vf_sum(vf_apply(g, "plain", &x, 1, NULL), VF_ALL, false), d;
  vf_grad(y, 1, &x, &d);
  api_check_reason(vf_graph_message(g),
                   "plain: the custom operation has no vjp; register one, compose it of other "
                   "operations, or keep derivatives away with stop_gradient");
  vf_graph_clear_error(g);
  vf_jvp(1, &y, 1, &x, &x, &d);
  api_check_reason(vf_graph_message(g),
                   "plain: the custom operation has no jvp; register one, or compose it of other operations");
}

/* A custom operation inside a scan's body. */
static void test_inside_scan(void **state) {
  vf_context *c = api_context();
  add_scale(c);
  const char *text =
      "graph @step(%s: f32[2], %x: f32[2]) {\n%t = scale %s factor=0.5\n%u = add %t, %x\nreturn %u, %t\n}\n"
      "graph @g(%s: f32[2], %xs: f32[3,2]) {\n%end, %all = scan %s, %xs do=@step carries=1\nreturn %end, "
      "%all\n}\n";
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "test", "g", &error);
  if (!g) fail_msg("%s", error.message);
  const float s[2] = {8, 16}, xs[6] = {1, 1, 2, 2, 3, 3};
  float end[2][2], all[2][6];
  vf_program *p = api_compile(g);
  for (int compiled = 0; compiled < 2; compiled++) {
    void *out[] = {end[compiled], all[compiled]};
    if (compiled) api_run(p, (const void *[]){s, xs}, out, NULL);
    else api_evaluate(g, (const void *[]){s, xs}, out, NULL);
    assert_memory_equal(end[compiled], ((float[]){5.25f, 6.25f}), sizeof end[compiled]);
    assert_memory_equal(all[compiled], ((float[]){4, 8, 2.5f, 4.5f, 2.25f, 3.25f}), sizeof all[compiled]);
  }
  vf_graph_destroy(g);
}

/* A batching rule: one call for the whole batch, also of a vmap inside another; invalid results are
 * refused. */
static atomic_int doubled_calls;
static void doubled(const float *x, float *out, int64_t n) {
  atomic_fetch_add(&doubled_calls, 1);
  for (int64_t i = 0; i < n; i++) out[i] = 2 * x[i];
}
static bool doubled_batch(const vf_op_call *call, int batch_dims, vf_value *results) {
  results[0] = batch_dims == *(int *)call->user ? vf_apply(call->graph, "doubled", call->operands, 1, NULL)
                                                : vf_number(call->graph, 0);
  return true;
}
static bool doubled_pull(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                         vf_value *gradients) {
  gradients[0] = vf_mul(cotangents[0], vf_number(call->graph, 2));
  return true;
}
static void double_it(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_apply(arguments[0].graph, "doubled", arguments, 1, NULL);
}
static void double_each(void *user, const vf_value *arguments, vf_value *results) {
  vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .axis_size = -1};
  vf_vmap(arguments[0].graph, &map, double_it, NULL, arguments, results);
}

static void test_rule_for_batches(void **state) {
  vf_context *c = api_context();
  int lead = 2;
  add_op(c, (vf_op_description){.name = "doubled",
                                .user = &lead,
                                .function = (any_function)doubled,
                                .signature = "void(in0, out0, i64 in0.count)",
                                .vjp = doubled_pull,
                                .batch = doubled_batch});
  vf_graph *g = api_graph(c, "batch");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3, 2)), y, gradient;
  vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .axis_size = -1};
  assert_true(vf_vmap(g, &map, double_each, NULL, &x, &y));
  vf_grad(vf_sum(vf_mul(y, x), VF_ALL, false), 1, &x, &gradient);
  vf_output(g, "y", y), vf_output(g, "gradient", gradient);
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  float in[12], out[12], slope[12];
  for (int i = 0; i < 12; i++) in[i] = (float)i;
  atomic_store(&doubled_calls, 0);
  api_run(api_compile(g), (const void *[]){in}, (void *[]){out, slope}, NULL);
  assert_int_equal(atomic_load(&doubled_calls), 1);
  for (int i = 0; i < 12; i++) assert_true(out[i] == 2 * in[i] && slope[i] == 4 * in[i]);
  lead = 7;
  assert_false(vf_vmap(g, &map, double_it, NULL, &x, &y));
  api_check_reason(vf_graph_message(g),
                   "doubled: its rule for batches gave a result of shape f32[]; the first "
                   "1 axes are those of the batch");
}

/* Without a batching rule, one call for each element of a batch: of a vmap, of a vmap inside another, and for
 * an operand without the batch. */
static void pair_sum(const float *x, const float *y, float *out, int64_t n) {
  *out = 0;
  for (int64_t i = 0; i < n; i++) *out += x[i] * y[i] * (float)(i + 1);
}
static bool scalar_shape(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){.dtype = VF_F32, .rank = 0};
  return vf_value_rank(call->operands[0]) == 1;
}
static bool pair_pull(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                      vf_value *gradients) {
  const float weights[] = {1, 2};
  vf_value w = vf_mul(vf_data(call->graph, VF_F32, VF_LIST(2), weights), cotangents[0]);
  gradients[0] = vf_mul(w, call->operands[1]);
  gradients[1] = vf_mul(w, call->operands[0]);
  return true;
}
static void pair_of(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_apply(arguments[0].graph, "pair", arguments, 2, NULL);
}
static void gradient_of(void *user, const vf_value *arguments, vf_value *results) {
  vf_value y = vf_apply(arguments[0].graph, "pair", arguments, 2, NULL);
  vf_grad(y, 2, arguments, results);
}
/* spec: F20.U */
static void test_batches(void **state) {
  vf_context *c = api_context();
  add_op(c, (vf_op_description){.name = "pair",
                                .operands = 2,
                                .shape = scalar_shape,
                                .function = (any_function)pair_sum,
                                .signature = "void(in0, in1, out0, i64 in0[0])",
                                .vjp = pair_pull});
  vf_graph *g = api_graph(c, "batch");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3, 2)), y = vf_input(g, "y", VF_F32, VF_LIST(2)), out[4];
  vf_value both[2] = {x, y};
  const int axes[] = {0, VF_NOT_MAPPED};
  vf_map one = {.size = sizeof one, .arguments = 2, .results = 1, .in_axes = axes, .axis_size = -1};
  vf_map two = {.size = sizeof two, .arguments = 2, .results = 2, .in_axes = axes, .axis_size = -1};
  assert_true(vf_vmap(g, &one, pair_of, NULL, both, out));
  assert_true(vf_vmap(g, &two, gradient_of, NULL, both, out + 1));
  vf_value whole = vf_sum(out[0], VF_ALL, false);
  vf_grad(whole, 1, &y, &out[3]);
  vf_output(g, "p", out[0]), vf_output(g, "dx", out[1]), vf_output(g, "dy", out[2]),
      vf_output(g, "sum", out[3]);
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  const float xs[6] = {1, 2, 3, 4, 5, 6}, ys[2] = {10, 1};
  /* p = x0*10 + 2*x1; dx = (10, 2) in each row; dy = (x0, 2*x1); and that summed over the rows */
  check_runs(c, g, (const void *[]){xs, ys}, NULL, 1, 3, (const float[][8]){{14, 38, 62}});
  float p[3], dx[6], dy[6], sum[2];
  api_run(api_compile(g), (const void *[]){xs, ys}, (void *[]){p, dx, dy, sum}, NULL);
  assert_memory_equal(dx, ((float[]){10, 2, 10, 2, 10, 2}), sizeof dx);
  assert_memory_equal(dy, ((float[]){1, 4, 3, 8, 5, 12}), sizeof dy);
  assert_memory_equal(sum, ((float[]){9, 24}), sizeof sum);
}

static int fails_above(const float *x, float *y, int64_t n, const double *limit, char *message) {
  for (int64_t i = 0; i < n; i++) {
    y[i] = x[i];
    if ((double)x[i] > *limit) {
      snprintf(message, 256, "element %d is above %g", (int)i, *limit);
      return 7;
    }
  }
  return 0;
}

static int releases;
static void released(void *user) { releases += user != NULL; }

/* By the rule `r k -> r, r` rows may be split into shards: the shards' results, one after another, are the
 * whole. test_sharding.c reads the rule. spec: F20.U F21.U */
static void test_shards(void **state) {
  vf_context *c = api_context();
  add_rows(c);
  vf_graph *g = api_parse(c, "graph @g(n=1..5, %x: f32[n,3]) {\n%s, %p = rows %x\nreturn %s, %p\n}\n");
  const float x[15] = {1, 5, 2, 7, 0, 3, -1, -2, -3, 4, 4, 9, 0, 1, 0};
  const float sums[5] = {8, 10, -6, 17, 1};
  const int64_t places[5] = {1, 0, 0, 2, 1};
  for (int64_t rows_each = 1; rows_each <= 5; rows_each++) {
    float sum[5] = {0};
    int64_t place[5] = {0};
    for (int64_t at = 0; at < 5; at += rows_each) {
      int64_t n = at + rows_each < 5 ? rows_each : 5 - at;
      api_evaluate(g, (const void *[]){x + 3 * at}, (void *[]){sum + at, place + at}, &n);
    }
    assert_memory_equal(sum, sums, sizeof sum);
    assert_memory_equal(place, places, sizeof place);
  }
}

static void test_failures_are_told(void **state) {
  vf_context *c = vf_context_create(NULL, &error);
  double limit = 2;
  releases = 0;
  add_op(c, (vf_op_description){.name = "guard",
                                .function = (any_function)fails_above,
                                .user = &limit,
                                .release = released,
                                .signature = "int(in0, out0, i64 in0.count, user, message)"});
  static const char text[] = "graph @g(%x: f32[3]) {\n%y = guard %x\n%z = add %y, 1\nreturn %z\n}\n";
  vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "test", NULL, &error);
  vf_program *p = vf_compile(g, &error);
  float good[3] = {0, 1, 2}, bad[3] = {0, 3, 4}, out[3];
  assert_int_equal(vf_program_run(p, (const void *[]){bad}, (void *[]){out}, NULL, &error), VF_ERR_DEVICE);
  assert_non_null(strstr(error.message, "guard: the operation failed with 7: element 1 is above 2"));
  assert_int_equal(vf_evaluate(g, (const void *[]){bad}, (void *[]){out}, NULL, &error), VF_ERR_DEVICE);
  assert_string_equal(error.message, "guard: the operation failed with 7: element 1 is above 2");
  assert_int_equal(vf_program_run(p, (const void *[]){good}, (void *[]){out}, NULL, &error), VF_OK);
  assert_float_equal(out[2], 3, 0);
  assert_int_equal(releases, 0);
  vf_graph_destroy(g), vf_context_destroy(c);
  assert_int_equal(releases, 0); /* the program may still run */
  assert_int_equal(vf_program_run(p, (const void *[]){good}, (void *[]){out}, NULL, &error), VF_OK);
  vf_program_destroy(p);
  assert_int_equal(releases, 1);
}

static const char cube_source[] =
    "int cube(const float *x, float *y, long n) {\n"
    "  for (long i = 0; i < n; i++) y[i] = x[i] * x[i] * x[i];\n  return 0;\n}\n";

static void run_cube(uint32_t flags, vf_status want, const char *source) {
  vf_context *c = api_context_with((vf_options){.flags = flags});
  add_op(c, (vf_op_description){
                .name = "cube", .source = source, .signature = "int(in0, out0, long in0.count)"});
  vf_graph *g = api_parse(c, "graph @g(%x: f32[3]) {\n%y = cube %x\nreturn %y\n}\n");
  float x[3] = {1, 2, -3}, y[3] = {0};
  assert_int_equal(vf_evaluate(g, (const void *[]){x}, (void *[]){y}, NULL, &error), want);
  if (want == VF_OK) assert_memory_equal(y, ((float[]){1, 8, -27}), sizeof y);
}

/* spec: F20 */
static void test_source(void **state) {
  char once[sizeof cube_source + 64]; /* a text that no earlier run has left in the cache */
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(once, sizeof once, "%s/* %lld.%09ld */\n", cube_source, (long long)now.tv_sec, now.tv_nsec);
  run_cube(VF_NO_COMPILE, VF_ERR_COMPILE, once);
  assert_string_equal(error.message, "cube: its source is not compiled yet, and compiling is forbidden");
  run_cube(VF_NO_DISK, VF_OK, once);
  run_cube(0, VF_OK, once);
  run_cube(VF_NO_COMPILE, VF_OK, once); /* from the cache */
  run_cube(0, VF_ERR_COMPILE, "int cube(const float *x) { return y; }\n");
  assert_non_null(strstr(error.message, "cube: `cc` cannot compile its source: "));
  run_cube(0, VF_ERR_COMPILE, "static int other;\nint cubes(void) { return other; }\n");
  assert_string_equal(error.message, "cube: its source has no function cube that is not static");
}

static void test_opencl_alone(void **state) {
  vf_context *c = api_context();
  add_op(c,
         (vf_op_description){.name = "far_away",
                             .signature = "void(in0, out0)",
                             .opencl = "void far_away(global const float *x, global float *y) { *y = *x; }"});
  vf_graph *g = api_parse(c, "graph @g(%x: f32[1]) {\n%y = far_away %x\nreturn %y\n}\n");
  float x = 1, y;
  assert_int_equal(vf_evaluate(g, (const void *[]){&x}, (void *[]){&y}, NULL, &error), VF_ERR_UNSUPPORTED);
  assert_string_equal(error.message, "far_away: the operation has OpenCL source alone, which the CPU does "
                                     "not run; register a function or C source");
}

/* refusals */

static void test_signatures_refused(void **state) {
  static const char *const cases[][2] = {
      {"", "at 'the end': a function returns void or int"},
      {"float(in0)", "at 'float(in0)': a function returns void or int"},
      {"int", "at 'the end': expected '('"},
      {"int(f32 *in0)",
       "at '*in0)': expected a parameter after its type; arrays are written without *, as in f32 in0"},
      {"int(in0", "at 'the end': expected ',' or ')'"},
      {"int(in0,)", "at ')': expected a parameter"},
      {"int(in0) x", "at 'x': expected the end"},
      {"int(in1)", "at ')': the operation has fewer operands"},
      {"int(out1)", "at ')': the operation has fewer results"},
      {"int(in)", "at 'in)': expected in0, out0 and so on, an attribute, user or message"},
      {"int(in0[16])", "at '])': a tensor has at most 16 axes"},
      {"int(i64 in0[k])", "at '])': expected an axis in brackets, such as 0"},
      {"int(i64 in0[0)", "at ')': expected ']'"},
      {"int(i64 in0.size)", "at ')': an array has .count, .rank and .shape"},
      {"int(in0[0])", "at 'in0[0])': a number needs a type before it, such as i64"},
      {"int(factor)", "at 'factor)': a number needs a type before it, such as i64"},
      {"int(i64 in0.shape)", "at 'i64 in0.shape)': a pointer takes no type"},
      {"int(int user)", "at 'int user)': a pointer takes no type"},
      {"int(f16 factor)", "at 'f16 factor)': C has no such type; use f32 or f64"},
      {"int(int factor)", "at 'int factor)': the attribute is no integer"},
      {"int(in0, i64 out0.count)", "at 'the end': the function gets no pointer to one of its results; each "
                                   "one of out0, out1 and so on is "
                                   "a parameter"},
      {"int(other)", "at 'other)': expected in0, out0 and so on, an attribute, user or message"},
  };
  vf_context *c = api_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char want[300];
    vf_op_description d = {.size = sizeof d,
                           .name = "f",
                           .operands = 1,
                           .results = 1,
                           .attribute_count = 1,
                           .attributes = scale_attributes,
                           .function = (any_function)scale,
                           .signature = cases[i][0]};
    snprintf(want, sizeof want, "f: signature '%s': %s", cases[i][0], cases[i][1]);
    assert_int_equal(vf_register_op(c, &d, &error), VF_ERR_INVALID);
    assert_string_equal(error.message, want);
  }
}

static bool as_doubles(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){.dtype = VF_F64};
  return true;
}

/* Dtypes that a signature says are those that its operands and results must have. */
static void test_dtypes_of_signatures(void **state) {
  vf_context *c = api_context();
  vf_op_description d = {.size = sizeof d,
                         .name = "typed",
                         .operands = 2,
                         .results = 1,
                         .source = "void typed(const float *x, const short *h, float *y, long n) {"
                                   "  for (long i = 0; i < n; i++) y[i] = 2 * x[i]; }",
                         .signature = "void(f32 in0, bf16 in1, float out0, i64 in0.count)"};
  assert_int_equal(vf_register_op(c, &d, &error), VF_OK);
  d.name = "widened", d.symbol = "typed", d.shape = as_doubles;
  assert_int_equal(vf_register_op(c, &d, &error), VF_OK);
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), h = vf_input(g, "h", VF_BF16, VF_LIST(2));
  assert_true(vf_ok(vf_apply(g, "typed", (vf_value[]){x, h}, 2, NULL)));
  assert_false(vf_ok(vf_apply(g, "typed", (vf_value[]){h, h}, 2, NULL)));
  api_check_reason(
      vf_graph_message(g),
      "typed: operand 0 has dtype bf16, but the signature says f32 in0; cast the operand to f32");
  vf_graph_clear_error(g);
  assert_false(vf_ok(vf_apply(g, "widened", (vf_value[]){x, h}, 2, NULL)));
  api_check_reason(
      vf_graph_message(g),
      "widened: result 0 would have dtype f64, but the signature says f32 out0; its function for "
      "shapes must give that dtype");
}

static void refuse_op(vf_context *c, vf_op_description d, const char *want) {
  d.size = sizeof d;
  assert_int_equal(vf_register_op(c, &d, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, want);
}

static void test_registrations_refused(void **state) {
  vf_context *c = api_context();
  vf_op_attribute twice[] = {{"a", VF_F64, true, {.f = 0}}, {"a", VF_I64, true, {.i = 0}}},
                  odd = {"a", VF_I32, true, {.i = 0}};
  add_scale(c);
  const vf_op_description base = {.name = "f",
                                  .operands = 1,
                                  .results = 1,
                                  .function = (any_function)scale,
                                  .signature = "void(in0, out0)"};
  vf_op_description d;
#define REFUSED(changes, want) (d = base, changes, refuse_op(c, d, want))
  REFUSED((d.name = NULL),
          "register: NULL: a name is 1 to 47 letters, digits and _, begins with no digit and is no dtype");
  REFUSED((d.name = "3d"),
          "register: 3d: a name is 1 to 47 letters, digits and _, begins with no digit and is no dtype");
  REFUSED((d.name = "a-b"),
          "register: a-b: a name is 1 to 47 letters, digits and _, begins with no digit and is no dtype");
  REFUSED((d.name = "f32"),
          "register: f32: a name is 1 to 47 letters, digits and _, begins with no digit and is no dtype");
  REFUSED((d.name = "softmax"), "register: softmax: this name belongs to an operation of viewfold");
  REFUSED((d.name = "scale"), "register: scale: this name is registered already");
  REFUSED((d.name = "f", d.results = 17),
          "register: f: an operation has 0 to 16 operands and 1 to 16 results");
  REFUSED((d.name = "f", d.attribute_count = 1),
          "register: f: attribute_count is 0 to 16, the length of the list");
  REFUSED((d.name = "f", d.attribute_count = 2, d.attributes = twice),
          "register: f: two attributes have one name");
  REFUSED(
      (d.name = "f", d.attribute_count = 1, d.attributes = &odd),
      "register: f: an attribute has a name of letters, digits and _, and dtype VF_BOOL, VF_I64 or VF_F64");
  REFUSED((d.name = "f", d.compose = bump),
          "register: f: exactly one of function, source (or opencl alone) and compose says what it computes");
  REFUSED((d.name = "f", d.source = "x"),
          "register: f: exactly one of function, source (or opencl alone) and compose says what it computes");
  REFUSED((d.name = "f", d.function = NULL),
          "register: f: exactly one of function, source (or opencl alone) and compose says what it computes");
  REFUSED((d.name = "f", d.signature = NULL),
          "register: f: a function needs a signature, such as int(in0, out0, i64 in0.count)");
  REFUSED((d.name = "f", d.operands = 0),
          "register: f: without operands, a function for shapes says what the results are");
  REFUSED((d.name = "f", d.sharding = "a b"), "register: f: a sharding rule is `a b -> a b`");
  vf_op_description none = {.size = 3};
  assert_int_equal(vf_register_op(c, &none, &error), VF_ERR_INVALID);
  assert_int_equal(vf_register_op(NULL, &none, &error), VF_ERR_INVALID);
  assert_int_equal(vf_register_op(c, NULL, &error), VF_ERR_INVALID);
}

static bool mute_shape(const vf_op_call *call, vf_op_type *results) { return false; }
static bool sizeless_shape(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){.dtype = VF_F32, .rank = 1};
  return true;
}
static bool forget(const vf_op_call *call, vf_value *results) { return true; }

static void test_uses_refused(void **state) {
  static const struct {
    const char *line, *want;
  } cases[] = {
      {"%y = scale %x", "attribute factor is missing; it is a number, such as 0.5"},
      {"%y = scale %x factor=true", "attribute factor takes a number, such as 0.5"},
      {"%y = scale %x factor=1 negate=1", "attribute negate takes true or false"},
      {"%y = scale %x factor=1 bias=2", "scale: there is no attribute bias"},
      {"%y = scale %x, %x factor=1", "scale: 2 operands given; takes 1"},
      {"%a, %b = scale %x factor=1", "wrong number of results"},
      {"%y, %p = rows %x", "rows: the operand is a matrix, not of rank 1"},
      {"%y = tall %x", "tall: its signature asks for the size of axis 1 of operand 0, which has rank 1"},
      {"%y = mute %x", "mute: its function for shapes failed without a reason"},
      {"%y = sizeless %x", "its function for shapes sets no size for axis 0 of result 1"},
      {"%y = forgetful %x", "forgetful: composing it left out a result"},
  };
  vf_context *c = api_context();
  add_scale(c), add_rows(c);
  add_op(c, (vf_op_description){
                .name = "tall", .function = (any_function)scale, .signature = "void(out0, i64 in0[1])"});
  add_op(c, (vf_op_description){.name = "mute",
                                .shape = mute_shape,
                                .function = (any_function)scale,
                                .signature = "void(out0)"});
  add_op(c, (vf_op_description){.name = "sizeless",
                                .shape = sizeless_shape,
                                .function = (any_function)scale,
                                .signature = "void(out0)"});
  add_op(c, (vf_op_description){.name = "forgetful", .compose = forget});
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "graph @g(%%x: f32[3]) {\n%s\nreturn %%x\n}\n", cases[i].line);
    assert_null(vf_graph_parse(c, text, strlen(text), "test", NULL, &error));
    if (!strstr(error.message, cases[i].want)) fail_msg("%s: %s", cases[i].line, error.message);
  }
}
/* An operation that is composed of itself, or whose derivative is, is refused without endless recursion. */
static bool of_itself(const vf_op_call *call, vf_value *results) {
  results[0] = vf_apply(call->graph, "circle", call->operands, 1, NULL);
  return true;
}
static bool pull_of_itself(const vf_op_call *call, const vf_value *results, const vf_value *cotangents,
                           vf_value *gradients) {
  vf_vjp(1, results, cotangents, 1, call->operands, gradients);
  return true;
}
static void test_of_itself(void **state) {
  vf_context *c = api_context();
  add_op(c, (vf_op_description){.name = "circle", .compose = of_itself});
  add_op(c, (vf_op_description){.name = "loop",
                                .function = (any_function)scale,
                                .signature = "void(in0, out0)",
                                .vjp = pull_of_itself});
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, 0, NULL), gradient; /* of rank 0: the result has its type */
  assert_false(vf_ok(vf_apply(g, "circle", &x, 1, NULL)));
  api_check_reason(vf_graph_message(g),
                   "circle: its functions use operations whose functions are nested more than 64 deep; an "
                   "operation is not composed, nor derived, of itself");
  vf_graph_clear_error(g);
  vf_value y = vf_apply(g, "loop", &x, 1, NULL);
  assert_true(vf_ok(y) && vf_value_rank(y) == 0);
  vf_grad(y, 1, &x, &gradient);
  assert_non_null(strstr(vf_graph_message(g), "nested more than 64 deep"));
}

/* An operation that is not registered in the graph's context is unknown. */
static void test_contexts_are_apart(void **state) {
  vf_context *a = api_context(), *b = api_context();
  add_scale(a);
  const char *text = "graph @g(%x: f32[3]) {\n%y = scale %x factor=2\nreturn %y\n}\n";
  assert_null(vf_graph_parse(b, text, strlen(text), "test", NULL, &error));
  assert_non_null(strstr(error.message, "scale: there is no such operation"));
}

/* A result with a symbolic size: one element more than the operand. */
static int grow(const float *x, float *y, int64_t n) {
  for (int64_t i = 0; i <= n; i++) y[i] = i < n ? x[i] : -1;
  return 0;
}
static bool grow_shape(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){vf_value_dtype(call->operands[0]),
                            1,
                            {vf_add(vf_op_size(call->operands[0], 0), vf_integer(call->graph, 1))}};
  return true;
}
static void test_sizes_that_vary(void **state) {
  vf_context *c = api_context();
  add_op(c, (vf_op_description){.name = "grow",
                                .shape = grow_shape,
                                .function = (any_function)grow,
                                .signature = "int(in0, out0, i64 in0[0])"});
  vf_graph *g =
      api_parse(c, "graph @g(n=1..5, %x: f32[n]) {\n%y = grow %x\n%z = grow %y : f32[n+2]\nreturn %z\n}\n");
  const float x[3] = {1, 2, 3};
  check_runs(c, g, (const void *[]){x}, (const int64_t[]){3}, 1, 5, (const float[][8]){{1, 2, 3, -1, -1}});
  check_runs(c, g, (const void *[]){x}, (const int64_t[]){1}, 1, 3, (const float[][8]){{1, -1, -1}});
}

/* Tensors of the session. */
static void test_session(void **state) {
  vf_context *c = api_context();
  add_scale(c), add_rows(c);
  const float xs[4] = {1, 2, 3, 4};
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(2, 2), xs, &error);
  vf_value v = vf_apply(vf_session(c, NULL), "scale", (vf_value[]){vf_tensor_value(x)}, 1, "factor=3"),
           both[2];
  vf_tensor *y = vf_tensor_keep(v, &error);
  assert_int_equal(
      vf_apply_all(vf_session(c, NULL), "rows", (vf_value[]){vf_tensor_value(y)}, 1, NULL, 2, both), 2);
  vf_tensor *s = vf_tensor_keep(both[0], &error), *p = vf_tensor_keep(both[1], &error);
  const float *sums = vf_tensor_data(s, &error);
  if (!sums) fail_msg("%s", error.message);
  assert_float_equal(sums[1], 21, 0);
  assert_int_equal(((const int64_t *)vf_tensor_data(p, &error))[0], 1);
  assert_float_equal(((const float *)vf_tensor_data(y, &error))[3], 12, 0);
  vf_tensor_release(x), vf_tensor_release(y), vf_tensor_release(s), vf_tensor_release(p);
}

/* A custom function cannot change the session that runs it; it may read realised tensors. */
static vf_tensor *elsewhere, *realised;
static int meddle(const float *x, float *y, int64_t n, void *user, char *message) {
  vf_error inner;
  assert_null(vf_tensor_data(elsewhere, &inner));
  assert_int_equal(inner.status, VF_ERR_INVALID);
  assert_string_equal(inner.message, "realise: called from the function of an operation while tensors are "
                                     "realised; such a function may use its operands only");
  assert_null(vf_tensor_create(user, VF_F32, 0, NULL, NULL, &inner));
  assert_int_equal(vf_session_collect(user, &inner), VF_ERR_INVALID);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + *(const float *)vf_tensor_data(realised, NULL);
  return 0;
}
static void test_session_inside_a_run(void **state) {
  vf_context *c = api_context();
  const float two = 2;
  add_op(c, (vf_op_description){.name = "meddle",
                                .user = c,
                                .function = (any_function)meddle,
                                .signature = "int(in0, out0, i64 in0.count, user, message)"});
  realised = vf_tensor_create(c, VF_F32, 0, NULL, &two, &error);
  vf_value v = vf_tensor_value(realised);
  elsewhere = vf_tensor_keep(vf_mul(v, v), &error);
  vf_tensor *y = vf_tensor_keep(vf_apply(v.graph, "meddle", &v, 1, NULL), &error);
  const float *elements = vf_tensor_data(y, &error);
  if (!elements) fail_msg("%s", error.message);
  assert_float_equal(*elements, 4, 0);
  assert_float_equal(*(const float *)vf_tensor_data(elsewhere, &error), 4, 0);
  vf_tensor_release(y), vf_tensor_release(elsewhere), vf_tensor_release(realised);
}

/* threads */

typedef struct worker {
  vf_program *program;
  float factor;
  bool good;
} worker;
enum { ITERATIONS = 200, WIDE = 64 };
static void *work(void *argument) {
  worker *w = argument;
  float x[WIDE], y[WIDE];
  w->good = true;
  for (int r = 0; r < ITERATIONS && w->good; r++) {
    for (int i = 0; i < WIDE; i++) x[i] = (float)(i + r);
    w->good = vf_program_run(w->program, (const void *[]){x}, (void *[]){y}, NULL, NULL) == VF_OK;
    for (int i = 0; i < WIDE; i++) w->good &= y[i] == x[i] * w->factor + 1;
  }
  return NULL;
}
static void test_threads(void **state) {
  vf_context *c = api_context();
  add_scale(c);
  pthread_t threads[4];
  worker workers[4];
  vf_program *programs[2];
  for (int i = 0; i < 2; i++) {
    char text[128];
    snprintf(text, sizeof text,
             "graph @g(%%x: f32[%d]) {\n%%y = scale %%x factor=%d\n%%z = add %%y, 1\nreturn %%z\n}\n", WIDE,
             i + 2);
    vf_graph *g = api_parse(c, text);
    programs[i] = api_compile(g);
  }
  for (int i = 0; i < 4; i++) {
    workers[i] = (worker){programs[i % 2], (float)(i % 2 + 2), false};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_true(workers[i].good);
  }
}

/* memory */

static bool use_all(test_budget *b) {
  vf_options o = {.size = sizeof o,
                  .allocator = test_budget_hook,
                  .allocator_user = b,
                  .flags = VF_NO_DISK,
                  .threads = 1};
  vf_context *c = vf_context_create(&o, &error);
  if (!c) return false;
  vf_op_description d = {.size = sizeof d,
                         .name = "rows",
                         .operands = 1,
                         .results = 2,
                         .shape = rows_shape,
                         .function = (any_function)rows,
                         .signature = "int(in0, int in0[0], size_t in0[1], out0, out1)",
                         .vjp = rows_pull};
  bool good = vf_register_op(c, &d, &error) == VF_OK;
  vf_graph *g = good ? vf_graph_create(c, "g", &error) : NULL;
  float x[6] = {1, 2, 3, 4, 5, 6}, s[2], dx[6];
  if (g) {
    vf_value v = vf_input(g, "x", VF_F32, VF_LIST(2, 3)), both[2], grad;
    vf_apply_all(g, "rows", &v, 1, NULL, 2, both);
    vf_value sum = vf_sum(both[0], VF_ALL, false);
    vf_grad(sum, 1, &v, &grad);
    vf_output(g, "s", both[0]), vf_output(g, "d", grad);
    good = vf_graph_status(g) == VF_OK &&
           vf_evaluate(g, (const void *[]){x}, (void *[]){s, dx}, NULL, &error) == VF_OK;
    if (vf_graph_status(g)) error.status = vf_graph_status(g);
    if (good) assert_float_equal(s[1], 15, 0);
  }
  good = good && g;
  vf_graph_destroy(g), vf_context_destroy(c);
  return good;
}
static void test_short_memory(void **state) {
  bool done = false;
  for (long n = 0; !done && n < 2000; n++) {
    test_budget b = {n, 0};
    done = use_all(&b);
    if (!done) assert_int_equal(error.status, VF_ERR_MEMORY);
    assert_int_equal(atomic_load(&b.live), 0);
  }
  assert_true(done);
}

UNIT_TESTS(test_text_and_attributes, test_several_results, test_derivatives,
           test_derivatives_that_are_not_there, test_inside_scan, test_batches, test_rule_for_batches,
           test_shards, test_failures_are_told, test_source, test_opencl_alone, test_signatures_refused,
           test_dtypes_of_signatures, test_registrations_refused, test_uses_refused, test_of_itself,
           test_contexts_are_apart, test_sizes_that_vary, test_session, test_session_inside_a_run,
           test_threads, test_short_memory)
