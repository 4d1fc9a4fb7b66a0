/* Control flow through the C API: what is recorded, what is refused, values of derivatives, the session, and
 * memory. test/property/prop_control.c compares random functions with the same functions written out. */
#include <math.h>

#include "test/lib/api.h"
#include "test/lib/level.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static vf_error error;

static void evaluate(vf_graph *g, const void *const *in, void *const *out) {
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  api_evaluate(g, in, out, NULL);
}

/* functions */

static void running_sum(void *user, const vf_value *a, vf_value *r) { r[0] = r[1] = vf_add(a[0], a[1]); }
/* state * slice * the value that `user` points to */
static void scaled(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_mul(vf_mul(a[0], a[1]), *(vf_value *)user);
  r[1] = vf_exp(*(vf_value *)user);
}
static void square(void *user, const vf_value *a, vf_value *r) { r[0] = vf_mul(a[0], a[0]); }
static void cube(void *user, const vf_value *a, vf_value *r) { r[0] = vf_mul(vf_mul(a[0], a[0]), a[0]); }
static void flat(void *user, const vf_value *a, vf_value *r) { r[0] = vf_exp(*(vf_value *)user); }
static void nothing(void *user, const vf_value *a, vf_value *r) {}
static void wrong(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_permute(a[0], 1, (const int64_t[]){7});
}
static void larger(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_stack((vf_value[]){a[0], a[0]}, 2, 0);
}
static void below(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_lt(a[0], vf_number(a[0].graph, 100));
}
static void count_below(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_lt(a[0], vf_integer(a[0].graph, *(int *)user));
}
static void count_and_square(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_add(a[0], vf_integer(a[0].graph, 1));
  r[1] = vf_mul(a[1], a[1]);
}

/* recording */

static void test_constants_take_the_dtype_that_iterations_give(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), zero = vf_integer(g, 0), sum, sums;
  vf_scan(running_sum, NULL, 1, &zero, 1, &x, 1, -1, true, &sum, &sums);
  assert_int_equal(vf_value_dtype(sum), VF_F32);
  vf_output(g, "sum", sum), vf_output(g, "sums", sums);
  float in[3] = {1, 2, 3}, total, all[3];
  evaluate(g, (const void *[]){in}, (void *[]){&total, all});
  assert_true(total == 6 && all[0] == 6 && all[1] == 5 && all[2] == 3);
}

static void three(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_integer(user, 3), r[1] = vf_boolean(user, true);
}
static void half(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_number(user, 2.5), r[1] = vf_boolean(user, false);
}
static void three_twice(void *user, const vf_value *a, vf_value *r) { r[0] = r[1] = vf_integer(user, 3); }

/* Constants of two branches: in either order, one dtype that holds both; and a number is no bool. */
static void test_constants_of_branches(void **state) {
  for (int k = 0; k < 2; k++) {
    vf_context *c = api_context();
    vf_graph *g = api_graph(c, "g");
    vf_value p = vf_input(g, "p", VF_BOOL, 0, NULL), y[2];
    vf_cond(p, 0, NULL, k ? half : three, k ? three : half, g, 2, y);
    assert_int_equal(vf_value_dtype(y[0]), VF_F32);
    assert_int_equal(vf_value_dtype(y[1]), VF_BOOL);
    vf_output(g, "y", y[0]);
    for (int holds = 0; holds < 2; holds++) {
      bool in = holds;
      float out;
      evaluate(g, (const void *[]){&in}, (void *[]){&out});
      assert_true(out == (holds != k ? 3 : 2.5F));
    }
    vf_cond(p, 0, NULL, k ? three_twice : three, k ? three : three_twice, g, 2, y);
    api_check_reason(vf_graph_message(g), k ? "cond: result 2 is i64[] in the first branch, bool[] in the "
                                              "second; both must have the same shape and dtype"
                                            : "cond: result 2 is i64[] in the second branch, bool[] in "
                                              "the first; both must have the same shape and dtype");
  }
}

/* One use of a function that reads exp of an outer value: exp is recorded once, before a scan, or inside the
 * branch of a cond. */
static void test_values_from_outside_are_operands(void **state) {
  vf_context *c = api_context();
  for (int branch = 0; branch < 2; branch++) {
    vf_graph *g = api_graph(c, "g");
    vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), w = vf_input(g, "w", VF_F32, 0, NULL);
    vf_value p = vf_input(g, "p", VF_BOOL, 0, NULL), one = vf_number(g, 1), y, z = {0};
    if (branch) vf_cond(p, 1, &w, flat, square, &w, 1, &y);
    else vf_scan(scaled, &w, 1, &one, 1, &x, 1, -1, false, &y, &z);
    vf_output(g, "y", y);
    if (!branch) vf_output(g, "z", z);
    char *text = vf_graph_text(g, &error);
    assert_non_null(text);
    const char *exp = strstr(text, "= exp"), *last = strstr(text, "graph @g(");
    assert_true(exp && last);
    assert_int_equal(exp < last, branch); /* once, before the scan; or only in the branch that reads it */
    vf_text_free(c, text);
    float in[3] = {1, 2, 3}, weight = 2, out, stack[3] = {0};
    bool holds = true;
    evaluate(g, (const void *[]){in, &weight, &holds}, (void *[]){&out, stack});
    if (branch) assert_true(fabsf(out - expf(2)) < 1e-5);
    else assert_true(out == 48 && fabsf(stack[2] - expf(2)) < 1e-5);
  }
}

typedef struct refusal {
  const char *what, *message;
} refusal;

static void escaping(void *user, const vf_value *a, vf_value *r) { r[0] = *(vf_value *)user = vf_neg(a[0]); }
static void foreign(void *user, const vf_value *a, vf_value *r) { r[0] = *(vf_value *)user; }
static void a_size(void *user, const vf_value *a, vf_value *r) {
  r[0] = vf_variable(a[0].graph, "n", 1, 8, 1);
}
static void errs(void *user, const vf_value *a, vf_value *r) { r[0] = (vf_value){.graph = a[0].graph}; }
static void with_old(void *user, const vf_value *a, vf_value *r) { r[0] = vf_neg(a[0]), r[1] = a[0]; }
static void without_end(void *user, const vf_value *a, vf_value *r) {
  vf_scan(without_end, user, 1, a, 0, NULL, 0, 2, false, r, NULL);
}

static void record_refused(vf_context *c, vf_graph *g, const char *what) {
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), s = vf_input(g, "s", VF_F32, 0, NULL), y, z,
           zero = vf_number(g, 0);
  vf_value p = vf_input(g, "p", VF_BOOL, 0, NULL), i = vf_integer(g, 0);
  int three = 3;
  if (strcmp(what, "unset") == 0) vf_cond(p, 1, &x, nothing, square, NULL, 1, &y);
  if (strcmp(what, "inside") == 0) vf_cond(p, 1, &x, wrong, square, NULL, 1, &y);
  if (strcmp(what, "null") == 0) vf_cond(p, 1, &x, NULL, square, NULL, 1, &y);
  if (strcmp(what, "branches") == 0) vf_cond(p, 1, &x, larger, square, NULL, 1, &y);
  if (strcmp(what, "state") == 0) vf_while_loop(below, larger, NULL, 1, &s, 5, &y);
  if (strcmp(what, "condition") == 0) vf_while_loop(square, square, NULL, 1, &s, 5, &y);
  if (strcmp(what, "length") == 0) vf_scan(running_sum, NULL, 1, &zero, 1, &x, 1, 4, false, &y, &z);
  if (strcmp(what, "axis") == 0) vf_scan(running_sum, NULL, 1, &zero, 1, &s, 1, -1, false, &y, &z);
  if (strcmp(what, "foreign") == 0) {
    vf_graph *other = api_graph(c, "other");
    vf_value q = vf_input(other, "q", VF_F32, 0, NULL);
    vf_checkpoint(foreign, &q, 1, &x, 1, &y);
  }
  if (strcmp(what, "size") == 0) vf_checkpoint(a_size, NULL, 1, &x, 1, &y);
  if (strcmp(what, "error") == 0) vf_checkpoint(errs, NULL, 1, &x, 1, &y);
  if (strcmp(what, "none") == 0) vf_checkpoint(nothing, NULL, 1, &x, 0, NULL);
  if (strcmp(what, "itself") == 0) without_end(NULL, &x, &y);
  if (strcmp(what, "ranks") == 0) {
    vf_value all = vf_zeros(g, VF_F32, VF_LIST(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
    vf_scan(with_old, NULL, 1, &all, 0, NULL, 1, 2, false, &y, &z);
  }
  if (strcmp(what, "endless") == 0) {
    vf_value init[2] = {i, s}, out[2], gradient;
    vf_while_loop(count_below, count_and_square, &three, 2, init, -1, out);
    vf_grad(out[1], 1, &s, &gradient);
  }
}

static void test_refused(void **state) {
  static const refusal cases[] = {
      {"unset", "cond: result 1 was not given; a function sets all its results"},
      {"inside",
       "permute: order [7] has 7, which is no axis; x has shape f32[3]; an order lists each of the axes 0..0 "
       "exactly once"},
      {"null", "cond: function 1 is NULL"},
      {"branches", "cond: result 1 is f32[3] in the second branch, f32[2,3] in the first; both must have the "
                   "same shape and dtype"},
      {"state", "while_loop: value 1 of the state is f32[2] after an iteration, f32[] before; both must have "
                "the same shape and dtype"},
      {"condition",
       "while_loop: the condition has 1 result, the first one f32[]; it must have one, a bool of rank 0"},
      {"length", "scan: operand 2 is f32[3], the length is 4; the first axis of an operand to slice must "
                 "have that size"},
      {"axis", "scan: operand 2 has no axis; a slice is taken along the first one"},
      {"foreign",
       "checkpoint: result 1 belongs to graph @other, others to @g; results belong to one graph; what "
       "another "
       "graph computes comes in as an input, vf_input, whose elements that graph's program writes"},
      {"size", "checkpoint: result 1 is an expression of sizes, not a tensor"},
      {"error", "checkpoint: result 1 is the error value of a failure that was cleared"},
      {"none", "checkpoint: there are no results; a function has at least one"},
      {"itself", "scan: functions are nested 65 deep; they nest at most 64 deep"},
      {"ranks", "scan: result 2 is f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]; stacked, it has one more axis, and "
                "a tensor has at most 16 axes"},
      {"endless", "grad: while_loop has no declared bound; its reverse-mode derivative keeps the state of "
                  "each iteration, so it needs one: declare the largest number of iterations, max_trips, "
                  "which is bound=N in text"},
  };
  vf_context *c = api_context();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    vf_graph *g = api_graph(c, "g");
    record_refused(c, g, cases[k].what);
    api_check_reason(vf_graph_message(g), cases[k].message);
  }
}

/* A value of a function has no value outside it: reported when it is read, in a graph and in the session. */
static void test_what_escapes_is_told(void **state) {
  static const char want[] =
      ": an argument of a function is used outside of that function (of a scan, a cond, a loop, a "
      "checkpoint), where it has no value; use the results of the function";
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, 0, NULL), kept_inside, y;
  vf_checkpoint(escaping, &kept_inside, 1, &x, 1, &y);
  vf_output(g, "y", vf_add(y, kept_inside));
  assert_null(vf_compile(g, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_non_null(strstr(error.message, want));
  assert_non_null(strstr(error.message, "; it is needed by neg f32[]"));
  float one = 1;
  vf_tensor *t = vf_tensor_create(c, VF_F32, 0, NULL, &one, &error);
  x = vf_tensor_value(t);
  vf_checkpoint(escaping, &kept_inside, 1, &x, 1, &y);
  vf_tensor *sum = vf_tensor_keep(vf_add(y, kept_inside), &error);
  assert_null(vf_tensor_data(sum, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_string_equal(strstr(error.message, ": an argument"), want);
  vf_tensor_release(sum), vf_tensor_release(t);
}

static void declaring(void *user, const vf_value *a, vf_value *r) {
  vf_value twice = vf_graph_find(a[0].graph, "w");
  r[0] = vf_mul(a[0], vf_ok(twice) ? twice : vf_input(a[0].graph, "w", VF_F32, 0, NULL));
}

/* An input that a function declares is an input of the graph, as if it had been declared before. */
static void test_inputs_declared_inside(void **state) {
  for (int kind = 0; kind < 3; kind++) {
    vf_context *c = api_context();
    vf_graph *g = api_graph(c, "g");
    vf_value x = vf_input(g, "x", VF_F32, 0, NULL), p = vf_gt(x, vf_number(g, 0)), y;
    if (kind == 0) vf_checkpoint(declaring, NULL, 1, &x, 1, &y);
    if (kind == 1) vf_cond(p, 1, &x, square, declaring, NULL, 1, &y);
    if (kind == 2) vf_scan(declaring, NULL, 1, &x, 0, NULL, 0, 1, false, &y, NULL);
    vf_output(g, "y", y);
    vf_program *program = api_compile(g);
    float in = -3, weight = 2, out = 0;
    api_run(program, (const void *[]){&in, &weight}, (void *[]){&out}, NULL);
    assert_true(out == -6);
  }
}

/* derivatives */

static void test_derivatives_of_a_while_loop(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  int iterations = 3; /* x to the eighth */
  vf_value x = vf_input(g, "x", VF_F64, 0, NULL), init[2] = {vf_integer(g, 0), x}, y[2], first, second,
           forward;
  vf_while_loop(count_below, count_and_square, &iterations, 2, init, 5, y);
  vf_grad(y[1], 1, &x, &first);
  vf_grad(first, 1, &x, &second);
  vf_output(g, "y", y[1]), vf_output(g, "first", first), vf_output(g, "second", second);
  vf_value open[2], one = vf_number(g, 1); /* without a bound there is forward mode only */
  vf_while_loop(count_below, count_and_square, &iterations, 2, init, -1, open);
  vf_jvp(1, &open[1], 1, &x, &one, &forward);
  vf_output(g, "forward", forward);
  double in = 1.5, out[4];
  evaluate(g, (const void *[]){&in}, (void *[]){&out[0], &out[1], &out[2], &out[3]});
  assert_true(fabs(out[0] - pow(1.5, 8)) < 1e-9);
  assert_true(fabs(out[1] - 8 * pow(1.5, 7)) < 1e-9);
  assert_true(fabs(out[2] - 56 * pow(1.5, 6)) < 1e-8);
  assert_true(fabs(out[3] - 8 * pow(1.5, 7)) < 1e-9);
}

static void test_derivatives_of_a_cond(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F64, 0, NULL), p = vf_input(g, "p", VF_BOOL, 0, NULL), y, first, second;
  vf_cond(p, 1, &x, square, cube, NULL, 1, &y);
  vf_grad(y, 1, &x, &first);
  vf_grad(first, 1, &x, &second);
  vf_output(g, "first", first), vf_output(g, "second", second);
  for (int k = 0; k < 2; k++) {
    bool holds = k;
    double in = 3, out[2];
    evaluate(g, (const void *[]){&in, &holds}, (void *[]){&out[0], &out[1]});
    assert_true(out[0] == (k ? 6 : 27) && out[1] == (k ? 2 : 18));
  }
}

/* A derivative recomputes in a function of its own: sin appears in both. */
static void sine(void *user, const vf_value *a, vf_value *r) { r[0] = vf_sin(vf_sin(a[0])); }
static void test_checkpoint_computes_again(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F64, VF_LIST(2)), y, gradient;
  vf_checkpoint(sine, NULL, 1, &x, 1, &y);
  y = vf_sum(y, VF_ALL, false);
  vf_output(g, "y", y);
  vf_grad(y, 1, &x, &gradient);
  vf_output(g, "gradient", gradient);
  char *text = vf_graph_text(g, &error);
  int sines = 0;
  for (const char *at = text; (at = strstr(at, "= sin ")) != NULL; at++) sines++;
  assert_int_equal(sines, 3); /* two in the function, one recomputed for its derivative */
  const char *last = strstr(text, "graph @g(");
  assert_null(strstr(last, "sin "));
  vf_text_free(c, text);
  double in[2] = {0.5, -1}, out, slope[2];
  evaluate(g, (const void *[]){in}, (void *[]){&out, slope});
  assert_true(fabs(out - sin(sin(0.5)) - sin(sin(-1))) < 1e-12);
  assert_true(fabs(slope[1] - cos(sin(-1)) * cos(-1)) < 1e-12);
}

/* The values of a scan and the states that its derivative needs come from one forward scan; a second scan
 * goes back. */
static void test_iterations_are_run_once(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(50, 8)), w = vf_input(g, "w", VF_F32, VF_LIST(8)), y, z,
           both[2];
  vf_scan(scaled, &w, 1, &w, 1, &x, 1, -1, false, &y, &z);
  vf_value loss = vf_add(vf_sum(y, VF_ALL, false), vf_sum(z, VF_ALL, false));
  vf_grad(loss, 2, (vf_value[]){w, x}, both);
  vf_output(g, "loss", loss), vf_output(g, "dw", both[0]), vf_output(g, "dx", both[1]);
  char *text = vf_graph_dump(g, "kernels", &error);
  if (!text) fail_msg("%s", error.message);
  int scans = 0;
  for (const char *at = text; (at = strstr(at, "\nscan")) != NULL; at++) scans++;
  assert_int_equal(scans, 2);
  vf_text_free(c, text);
}

/* Symbolic sizes and lengths, 0 included, compiled and evaluated, with second derivatives. */
static void test_sizes_that_vary(void **state) {
  static const char text[] =
      "graph @f(%c: f32[n=1..8], %x: f32[n], %w: f32[]) {\n %s = mul %c, %x\n %u = mul %s, %w\n"
      " %v = tanh %u\n %m = max %v\n return %v, %m\n}\n"
      "graph @p(%i: i32[], %c: f32[n=1..8]) {\n %k = lt %i, 3\n return %k\n}\n"
      "graph @b(%i: i32[], %c: f32[n=1..8]) {\n %j = add %i, 1\n %d = sin %c\n return %j, %d\n}\n"
      "graph @g(%x: f32[m=0..3,n=1..8], %c: f32[n], %w: f32[]) {\n"
      " %l, %ms = scan %c, %x, %w do=@f carries=1 sliced=1\n"
      " %i, %z = while 0, %l while=@p do=@b bound=5\n"
      " %s = sum %z\n %r = sum %ms\n %y = add %s, %r\n return %y\n}\n";
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, text);
  vf_value y = vf_graph_find(g, "y"), first[3], second[3];
  vf_value in[3] = {vf_graph_find(g, "x"), vf_graph_find(g, "c"), vf_graph_find(g, "w")};
  vf_grad(y, 3, in, first);
  vf_grad(vf_add(vf_sum(vf_mul(first[0], first[0]), VF_ALL, false), first[2]), 3, in, second);
  vf_output(g, "dc", first[1]), vf_output(g, "dw", first[2]), vf_output(g, "ddw", second[2]);
  if (vf_graph_status(g)) fail_msg("%s", vf_graph_message(g));
  vf_program *p = api_compile(g);
  float x[9] = {0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1, 1.1f, 1.2f, 1.3f}, start[3] = {0.5f, -0.3f, 0.8f}, w = 1.2f;
  const void *given[3] = {x, start, &w};
  for (int64_t m = 0; m <= 3; m++) {
    float a[4][3] = {{0}}, b[4][3] = {{0}};
    int64_t variables[2];
    for (int i = 0; i < 2; i++) variables[i] = vf_variable_name(p, i)[0] == 'm' ? m : 3;
    api_run(p, given, (void *[]){a[0], a[1], a[2], a[3]}, variables);
    api_evaluate(g, given, (void *[]){b[0], b[1], b[2], b[3]}, variables);
    for (int i = 0; i < 12; i++)
      if (!(fabsf(a[i / 3][i % 3] - b[i / 3][i % 3]) < 1e-4)) fail_msg("m %d, element %d", (int)m, i);
    assert_true((m == 0) == (a[2][0] == 0)); /* without iterations nothing depends on w */
  }
}

/* the session */

static vf_tensor *kept;
static void realises(void *user, const vf_value *a, vf_value *r) {
  assert_null(vf_tensor_data(user, &error));
  assert_non_null(strstr(error.message, "a function is being recorded"));
  kept = vf_tensor_keep(a[0], &error);
  assert_null(kept);
  assert_int_equal(vf_session_collect(NULL, NULL), VF_ERR_INVALID);
  r[0] = a[0];
}

static void test_session(void **state) {
  vf_context *c = api_context();
  vf_graph *s = vf_session(c, &error);
  float data[3] = {1, 2, 3}, factor = 2;
  vf_tensor *x = vf_tensor_create(c, VF_F32, VF_LIST(3), data, &error);
  vf_tensor *w = vf_tensor_create(c, VF_F32, 0, NULL, &factor, &error);
  for (int k = 0; k < 3; k++) { /* the third time, with values moved to a new graph */
    vf_value xs = vf_tensor_value(x), weight = vf_tensor_value(w), one = vf_number(s, 1), y, z, dw;
    vf_scan(scaled, &weight, 1, &one, 1, &xs, 1, -1, false, &y, &z);
    vf_grad(y, 1, &weight, &dw);
    vf_tensor *t[3] = {vf_tensor_keep(y, &error), vf_tensor_keep(z, &error), vf_tensor_keep(dw, &error)};
    if (!t[0] || !t[1] || !t[2]) fail_msg("%s", error.message);
    if (k == 1) assert_int_equal(vf_session_collect(c, &error), VF_OK);
    if (k == 2) assert_int_equal(vf_tensor_realise(t, 3, &error), VF_OK);
    const float *last = vf_tensor_data(t[0], &error);
    if (!last) fail_msg("%s", error.message);
    assert_true(*last == 48);
    assert_true(fabsf(((const float *)vf_tensor_data(t[1], &error))[1] - expf(2)) < 1e-5);
    const float *slope = vf_tensor_data(t[2], &error);
    if (!slope) fail_msg("%s", error.message);
    assert_true(*slope == 72); /* the derivative of 6 w^3 */
    for (int i = 0; i < 3; i++) vf_tensor_release(t[i]);
  }
  /* a value recorded in a function is computed there, whether or not it is realised elsewhere */
  vf_value one = vf_number(s, 1), ramp = vf_exp(vf_iota(s, VF_F32, VF_LIST(3), 0)), y, z;
  vf_tensor *other = vf_tensor_keep(ramp, &error);
  assert_non_null(vf_tensor_data(other, &error));
  ramp = vf_exp(vf_iota(s, VF_F32, VF_LIST(3), 0));
  vf_value xs = vf_tensor_value(x);
  vf_scan(scaled, &ramp, 1, &one, 1, &xs, 1, -1, false, &y, &z);
  vf_graph_clear_error(s); /* state of rank 0 times a vector: refused */
  vf_value lazy = vf_exp(vf_tensor_value(w));
  vf_tensor *unrealised = vf_tensor_keep(lazy, &error);
  vf_value weight = vf_tensor_value(w);
  vf_checkpoint(realises, unrealised, 1, &weight, 1, &y);
  vf_tensor *same = vf_tensor_keep(y, &error);
  assert_true(*(const float *)vf_tensor_data(same, &error) == 2);
  assert_non_null(vf_tensor_data(unrealised, &error));
  vf_tensor_release(same), vf_tensor_release(unrealised), vf_tensor_release(other);
  vf_tensor_release(x), vf_tensor_release(w);
}

/* memory */

static void record_all(vf_graph *g) {
  int iterations = 2;
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), w = vf_input(g, "w", VF_F32, 0, NULL), out[8],
           one = vf_number(g, 1);
  vf_value p = vf_lt(w, one), init[2] = {vf_integer(g, 0), w};
  vf_scan(scaled, &w, 1, &one, 1, &x, 1, -1, true, &out[0], &out[1]);
  vf_cond(p, 1, &w, square, flat, &w, 1, &out[2]);
  vf_while_loop(count_below, count_and_square, &iterations, 2, init, 3, &out[3]);
  vf_checkpoint(sine, NULL, 1, &w, 1, &out[5]);
  vf_value loss =
      vf_add(vf_add(out[0], vf_sum(out[1], VF_ALL, false)), vf_add(out[2], vf_add(out[4], out[5])));
  vf_grad(loss, 1, &w, &out[6]);
  vf_jvp(1, &out[6], 1, &w, &one, &out[7]);
  for (int i = 0; i < 8; i++) vf_output(g, (char[]){(char)('a' + i), 0}, out[i]);
}

static long use_everything(long fail_at, int *failures) {
  test_memory memory = {.fail_at = fail_at};
  vf_options options = {.size = sizeof options, .allocator = test_memory_hook, .allocator_user = &memory};
  vf_context *c = vf_context_create(&options, &error);
  vf_graph *g = c ? vf_graph_create(c, "g", &error) : NULL;
  if (g) record_all(g);
  char *text = g ? vf_graph_text(g, &error) : NULL, *again = NULL;
  vf_graph *h = text ? vf_graph_parse(c, text, strlen(text), "g.vf", NULL, &error) : NULL;
  if (h) again = vf_graph_text(h, &error);
  float in[3] = {1, 2, 3}, w = 0.5f, out[8][3];
  int32_t count;
  void *all[8];
  for (int i = 0; i < 8; i++) all[i] = i == 3 ? (void *)&count : out[i];
  bool good = again && vf_evaluate(h, (const void *[]){in, &w}, all, NULL, &error) == VF_OK;
  if (!good && error.status != VF_ERR_MEMORY) fail_msg("allocation %ld: %s", fail_at, error.message);
  if (good) assert_string_equal(text, again);
  if (failures) *failures += !good;
  vf_text_free(c, text), vf_text_free(c, again);
  vf_graph_destroy(g), vf_graph_destroy(h), vf_context_destroy(c);
  assert_int_equal(atomic_load(&memory.wrong_sizes), 0);
  if (atomic_load(&memory.live))
    fail_msg("allocation %ld leaves %zu bytes", fail_at, atomic_load(&memory.live));
  return atomic_load(&memory.allocations);
}

static void test_any_allocation_may_fail(void **state) {
  long allocations = use_everything(0, NULL);
  int failures = 0;
  for (long k = 1; k <= allocations; k += level_step(1 + (int)(allocations / 1000)))
    use_everything(k, &failures);
  assert_true(failures > 100);
}

/* Evaluating a scan allocates memory for its stacked results alone. */
static void test_iterations_take_no_memory(void **state) {
  size_t peaks[2];
  for (int k = 0; k < 2; k++) {
    test_memory memory = {0};
    vf_context *c = test_memory_context(&memory);
    vf_graph *g = vf_graph_create(c, "g", &error);
    vf_value x = vf_input(g, "x", VF_F64, 0, NULL), y;
    vf_scan(sine, NULL, 1, &x, 0, NULL, 0, k ? 10000 : 10, false, &y, NULL);
    vf_output(g, "y", y);
    double in = 1, out;
    evaluate(g, (const void *[]){&in}, (void *[]){&out});
    peaks[k] = atomic_load(&memory.peak);
    vf_graph_destroy(g), vf_context_destroy(c);
  }
  assert_int_equal(peaks[0], peaks[1]);
}

UNIT_TESTS(test_constants_take_the_dtype_that_iterations_give, test_constants_of_branches,
           test_values_from_outside_are_operands, test_refused, test_what_escapes_is_told,
           test_inputs_declared_inside, test_derivatives_of_a_while_loop, test_derivatives_of_a_cond,
           test_checkpoint_computes_again, test_iterations_are_run_once, test_sizes_that_vary, test_session,
           test_any_allocation_may_fail, test_iterations_take_no_memory)
