/* vf_tap and vf_print: what is shown, when, and in what order, by compiled programs and by the evaluator. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

typedef struct seen {
  char text[2000];
  size_t at;
} seen;

/* name|2,3: 1 2 3 4 5 6; behind | the batch axes. Or the text that is printed. */
static void note(void *user, const vf_tapped *t) {
  seen *s = user;
  int64_t count = 1;
  size_t room = sizeof s->text;
  if (t->text) s->at += (size_t)snprintf(s->text + s->at, room - s->at, "%s\n", t->text);
  if (t->text) return;
  s->at += (size_t)snprintf(s->text + s->at, room - s->at, "%s", t->name);
  for (int k = 0; k < t->rank; k++) {
    count *= t->shape[k];
    s->at += (size_t)snprintf(s->text + s->at, room - s->at, "%c%d", k < t->batch_dims ? '|' : ',',
                              (int)t->shape[k]);
  }
  for (int64_t i = 0; i < count; i++)
    s->at += (size_t)snprintf(s->text + s->at, room - s->at, "%s%g", i ? " " : ": ",
                              (double)((const float *)t->elements)[i]);
  s->at += (size_t)snprintf(s->text + s->at, room - s->at, "\n");
}

/* Running the graph and running what its text says show `want`, and `evaluated` what evaluating it does. */
static void check_each(vf_context *c, seen *s, vf_graph *g, const void *in, const char *evaluated,
                       const char *want) {
  float out[64];
  const void *inputs[1] = {in};
  void *outputs[2] = {out, out + 32};
  for (int way = 0; way < 3; way++) {
    *s = (seen){.at = 0};
    if (way == 0) api_evaluate(g, inputs, outputs, NULL);
    if (way == 1) api_run(api_compile(g), inputs, outputs, NULL);
    if (way == 2) {
      char *text = vf_graph_text(g, &error);
      api_run(api_compile(api_parse(c, text)), inputs, outputs, NULL);
      vf_text_free(c, text);
    }
    const char *wanted = way ? want : evaluated;
    if (strcmp(s->text, wanted) != 0) fail_msg("way %d shows\n%swant\n%s", way, s->text, wanted);
  }
}
static void check_shown(vf_context *c, seen *s, vf_graph *g, const void *in, const char *want) {
  check_each(c, s, g, in, want, want);
}

static vf_context *context(seen *s) {
  return api_context_with((vf_options){.size = sizeof(vf_options), .tap = note, .tap_user = s});
}

/* Needed or not, in the graph itself. */
static void test_values_of_a_graph(void **state) {
  seen s;
  vf_context *c = context(&s);
  vf_graph *g = api_graph(c, "g");
  const float in[2] = {1, 2};
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), y = vf_tap(vf_mul(x, vf_number(g, 2)), "needed");
  vf_tap(vf_add(x, vf_number(g, 10)), "not");
  vf_output(g, "y", vf_neg(y));
  check_shown(c, &s, g, in, "needed,2: 2 4\nnot,2: 11 12\n");
  api_check_text(c, g);
}

static void body(void *user, const vf_value *arguments, vf_value *results) {
  vf_graph *g = arguments[0].graph;
  vf_tap(arguments[1], "x");
  results[0] = vf_add(arguments[0], arguments[1]);
  vf_print(results[0], "sum {};");
  if (!user) vf_tap(vf_full(vf_number(g, 5), 1, (int64_t[]){1}), "same"); /* depends on no argument */
}

/* Each iteration, in order, also from the last to the first. */
static void test_iterations(void **state) {
  static const char *const want[] = {
      "x: 1\nsum 1.0;\nsame,1: 5\nx: 2\nsum 3.0;\nsame,1: 5\nx: 3\nsum 6.0;\nsame,1: 5\n",
      "x: 3\nsum 3.0;\nsame,1: 5\nx: 2\nsum 5.0;\nsame,1: 5\nx: 1\nsum 6.0;\nsame,1: 5\n"};
  const float in[3] = {1, 2, 3};
  for (int reverse = 0; reverse < 2; reverse++) {
    seen s;
    vf_context *c = context(&s);
    vf_graph *g = api_graph(c, "g");
    vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3)), zero = vf_number(g, 0), y;
    vf_scan(body, NULL, 1, &zero, 1, &x, 0, -1, reverse, &y, NULL);
    vf_output(g, "y", y);
    check_shown(c, &s, g, in, want[reverse]);
  }
}

static void below_8(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_lt(arguments[0], vf_number(arguments[0].graph, 8));
}
static void twice(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_tap(vf_add(arguments[0], arguments[0]), "state");
}
static void plus(void *user, const vf_value *arguments, vf_value *results) {
  vf_tap(arguments[0], "plus");
  results[0] = arguments[0];
}
static void minus(void *user, const vf_value *arguments, vf_value *results) {
  vf_tap(arguments[0], "minus");
  results[0] = vf_neg(arguments[0]);
}

static void test_loops_and_branches(void **state) {
  seen s;
  vf_context *c = context(&s);
  vf_graph *g = api_graph(c, "g");
  const float in = 1;
  vf_value x = vf_input(g, "x", VF_F32, 0, NULL), y, z;
  vf_while_loop(below_8, twice, NULL, 1, &x, -1, &y);
  vf_cond(vf_gt(y, vf_number(g, 0)), 1, &y, plus, minus, NULL, 1, &z);
  vf_output(g, "z", z);
  check_shown(c, &s, g, &in, "state: 2\nstate: 4\nstate: 8\nplus: 8\n");
}

static void of_row(void *user, const vf_value *arguments, vf_value *results) {
  vf_graph *g = arguments[0].graph;
  vf_tap(vf_neg(arguments[0]), "row");
  vf_value zero = vf_number(g, 0);
  vf_scan(body, results, 1, &zero, 1, &arguments[0], 0, -1, false, &results[0], NULL);
}

/* All elements of a batch at once, also in a loop inside of it, which the evaluator runs for each element. */
static void test_batches(void **state) {
  seen s;
  vf_context *c = context(&s);
  vf_graph *g = api_graph(c, "g");
  const float in[4] = {1, 2, 3, 4};
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 2)), y;
  const vf_map map = {.size = sizeof map, .arguments = 1, .results = 1, .axis_size = -1};
  assert_true(vf_vmap(g, &map, of_row, NULL, &x, &y));
  vf_output(g, "y", y);
  check_each(c, &s, g, in,
             "row|2,2: -1 -2 -3 -4\n"
             "x: 1\nsum 1.0;\nx: 2\nsum 3.0;\n"
             "x: 3\nsum 3.0;\nx: 4\nsum 7.0;\n",
             "row|2,2: -1 -2 -3 -4\n"
             "x|2: 1 3\nsum [1.0, 3.0];\nx|2: 2 4\nsum [3.0, 7.0];\n");
}

static void square(void *user, const vf_value *arguments, vf_value *results) {
  results[0] = vf_tap(vf_mul(arguments[0], arguments[0]), "square");
}

/* The derivatives are those of the identity, and the forward pass is shown once. */
static void test_derivatives(void **state) {
  seen s;
  vf_context *c = context(&s);
  vf_graph *g = api_graph(c, "g");
  const float in = 2;
  float out[2] = {0};
  vf_value x = vf_input(g, "x", VF_F32, 0, NULL), y, dx;
  vf_scan(square, NULL, 1, &x, 0, NULL, 0, 2, false, &y, NULL);
  vf_grad(y, 1, &x, &dx);
  vf_output(g, "y", y);
  vf_output(g, "dx", dx);
  s = (seen){.at = 0};
  api_run(api_compile(g), (const void *[]){&in}, (void *[]){&out[0], &out[1]}, NULL);
  assert_string_equal(s.text, "square: 4\nsquare: 16\n");
  assert_true(out[0] == 16 && out[1] == 32);
}

static void test_refused(void **state) {
  seen s;
  vf_context *c = context(&s);
  char longest[200];
  memset(longest, 'a', sizeof longest);
  longest[199] = '\0';
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2));
  assert_false(vf_ok(vf_tap(x, NULL)));
  api_check_reason(vf_graph_message(g), "tap: the name is NULL");
  vf_graph_clear_error(g);
  assert_false(vf_ok(vf_print(x, longest)));
  api_check_reason(vf_graph_message(g),
                   "print: attribute text takes a text of fewer than 128 bytes, such as \"loss\"");
  vf_graph_clear_error(g);
  assert_int_equal(vf_register_op(c,
                                  &(vf_op_description){.size = sizeof(vf_op_description),
                                                       .name = "tap",
                                                       .operands = 1,
                                                       .results = 1,
                                                       .compose = NULL,
                                                       .source = "",
                                                       .signature = "void(in0, out0)"},
                                  &error),
                   VF_ERR_INVALID);
}

/* Nobody looks. */
static void test_without_a_function(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "g");
  const float in[2] = {1, 2};
  float out[2];
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2));
  vf_print(x, "x");
  vf_output(g, "y", vf_tap(vf_neg(x), "y"));
  api_run(api_compile(g), (const void *[]){in}, (void *[]){out}, NULL);
  assert_true(out[0] == -1 && out[1] == -2);
}

UNIT_TESTS(test_values_of_a_graph, test_iterations, test_loops_and_branches, test_batches, test_derivatives,
           test_refused, test_without_a_function)
