/* Names of values in the text of a graph. */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

/* The text of a graph is `want`, and what it says has the same text. */
static void check_text(vf_context *c, vf_graph *g, const char *want) {
  char *text = vf_graph_text(g, &error);
  if (!text) fail_msg("%s", error.message);
  char *again = vf_graph_text(api_parse(c, text), &error);
  if (!again) fail_msg("%s of\n%s", error.message, text);
  assert_string_equal(text, want);
  assert_string_equal(again, text);
  vf_text_free(c, text);
  vf_text_free(c, again);
}

/* Names that are equal, that others have, and that the text counts. */
static void test_recorded(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "main");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3));
  vf_value hidden = vf_name(vf_exp(x), "hidden"), second = vf_name(vf_sin(hidden), "hidden");
  vf_value third = vf_name(vf_cos(second), "x"), fourth = vf_name(vf_tanh(third), "y");
  vf_value counted = vf_name(vf_neg(fourth), "1"), quoted = vf_name(vf_sqrt(counted), "a b");
  vf_output(g, "y", vf_name(vf_log(vf_sin(quoted)), "result"));
  check_text(c, g,
             "graph @main(%x: f32[2,3]) {\n"
             "  %hidden = exp %x : f32[2,3]\n"
             "  %hidden_1 = sin %hidden : f32[2,3]\n"
             "  %x_1 = cos %hidden_1 : f32[2,3]\n"
             "  %y_1 = tanh %x_1 : f32[2,3]\n"
             "  %0 = neg %y_1 : f32[2,3]\n"
             "  %\"a b\" = sqrt %0 : f32[2,3]\n"
             "  %1 = sin %\"a b\" : f32[2,3]\n"
             "  %y = log %1 : f32[2,3]\n"
             "  return %y\n"
             "}\n");
}

/* Of a text: in functions, of several results, and of the newest version of a reference. */
static void test_read(void **state) {
  static const char text[] = "graph @step(%s: f32[2], %x: f32[2]) {\n"
                             "  %next = add %s, %x\n"
                             "  %both = sin %next\n"
                             "  return %next, %both\n"
                             "}\n"
                             "graph @main(%v: ref f32[2], %x: f32[4,2], %s: f32[2]) {\n"
                             "  %both = exp %s\n"
                             "  %last, %all = scan %both, %x do=@step carries=1 sliced=1 length=4\n"
                             "  %grown = add %v, %last\n"
                             "  %a = address %v\n"
                             "  %v = assign %v, %a, %grown\n"
                             "  %y = sum %all axes=[0]\n"
                             "  return %y\n"
                             "}\n";
  vf_context *c = api_context();
  vf_graph *g = api_parse(c, text);
  check_text(c, g,
             "graph @main_f0(%a0: f32[2], %a1: f32[2]) {\n"
             "  %next = add %a0, %a1 : f32[2]\n"
             "  %both_1 = sin %next : f32[2]\n"
             "  return %next, %both_1\n"
             "}\n"
             "graph @main(%v: ref f32[2], %x: f32[4,2], %s: f32[2]) {\n"
             "  %both = exp %s : f32[2]\n"
             "  %last, %all = scan %both, %x do=@main_f0 length=4 carries=1 sliced=1 : f32[2], f32[4,2]\n"
             "  %grown = add %v, %last : f32[2]\n"
             "  %a = iota shape=[2] axis=0 dtype=i64 : i64[2]\n"
             "  %0 = assign %v, %a, %grown : f32[2]\n"
             "  %y = sum %all axes=[0] : f32[2]\n"
             "  %v = %0 : f32[2]\n"
             "  return %y\n"
             "}\n");
}

static void body(void *user, const vf_value *in, vf_value *results) {
  (void)user;
  results[0] = vf_name(vf_tanh(in[0]), "inside");
}
/* A value that stands in several functions is several values, which have no name. */
static void test_shared(void **state) {
  vf_context *c = api_context();
  vf_graph *g = api_graph(c, "main");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2)), last, total, slope;
  vf_scan(body, NULL, 1, &x, 0, NULL, 0, 3, false, &last, NULL);
  total = vf_sum(vf_name(vf_exp(last), "grown"), VF_ALL, false);
  vf_grad(total, 1, &x, &slope);
  vf_output(g, "y", total);
  vf_output(g, "slope", slope);
  char *text = vf_graph_text(g, &error);
  assert_non_null(strstr(text, "%grown = exp"));
  vf_text_free(c, text);
  api_check_text(c, g);
}

UNIT_TESTS(test_shared, test_recorded, test_read)
