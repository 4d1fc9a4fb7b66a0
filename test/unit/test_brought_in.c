/* Messages about values, files and texts that were brought where they are not at home: what brings them in.
 */
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/unit.h"

static vf_graph *begin(vf_context *c, vf_value *x) {
  vf_graph *g = vf_graph_create(c, "g", NULL);
  *x = vf_input(g, "x", VF_F32, VF_LIST(2));
  return g;
}

static void expect_refused(vf_graph *g, vf_value made, const char *text) {
  vf_error e = {0};
  vf_output(g, "y", made);
  assert_null(vf_compile(g, &e));
  assert_non_null(strstr(e.message, text));
  vf_graph_destroy(g);
}

static void test_graphs(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_value x, foreign;
  vf_graph *other = begin(c, &foreign), *g = begin(c, &x);
  (void)state;
  expect_refused(
      g, vf_add(x, foreign),
      "belong to one graph; what another graph computes comes in as an input, vf_input, whose elements "
      "that graph's program writes");
  vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(2), (float[]){1, 2}, NULL);
  g = begin(c, &x);
  expect_refused(
      g, vf_add(x, vf_tensor_value(t)),
      "a tensor comes in as an input: an argument of vf_jit_call, or vf_input, and vf_tensor_data when it "
      "runs");
  vf_add(vf_tensor_value(t), foreign);
  assert_non_null(strstr(vf_graph_message(vf_session(c, NULL)),
                         "a tensor of the session is made of what a program has written: vf_tensor_create"));
  vf_tensor_release(t);
  vf_graph_destroy(other);
  vf_context_destroy(c);
}

static void test_nothing(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_value x;
  (void)state;
  for (int i = 0; i < 2; i++) {
    vf_graph *g = begin(c, &x);
    expect_refused(g, i ? vf_stack(NULL, 0, 0) : vf_concat(&x, 0, 0),
                   "vf_concat or vf_stack was given no values: takes 1 or more");
  }
  vf_context_destroy(c);
}

static vf_value leaked;
static void leak(void *user, const vf_value *in, vf_value *results) {
  (void)user;
  results[0] = leaked = vf_mul(in[0], in[0]);
}
static void test_escaped(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_value x, last;
  vf_graph *g = begin(c, &x);
  (void)state;
  vf_scan(leak, NULL, 1, &x, 0, NULL, 0, 3, false, &last, NULL);
  expect_refused(g, vf_exp(leaked), "use the results of the function; it is needed by mul ");
  vf_context_destroy(c);
}

static void test_text(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  const char *text = "graph @g(%x: f32[2]) {\n  return %x\n}\n";
  vf_error e = {0};
  (void)state;
  assert_null(vf_graph_parse(c, text, 10, "a.vf", NULL, &e));
  assert_non_null(strstr(e.message, "; the text ends after 10 bytes, the length that is given"));
  assert_null(vf_graph_parse(c, text, strlen(text) - 3, "a.vf", NULL, &e));
  assert_non_null(strstr(e.message, "bytes, the length that is given"));
  assert_null(vf_graph_parse(c, "net.vf", 6, NULL, NULL, &e));
  assert_non_null(strstr(e.message, "; this is the text of graphs, not the name of a file"));
  vf_context_destroy(c);
}

static void test_registered(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_value x;
  vf_graph *g = begin(c, &x);
  (void)state;
  expect_refused(
      g, vf_apply(g, "xqzwv", &x, 1, NULL),
      "; those of vf_register_op are of the context in which they are registered, which is not this "
      "graph's");
  vf_context_destroy(c);
}

static void test_attributes(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_value x;
  vf_graph *g = begin(c, &x);
  (void)state;
  expect_refused(
      g, vf_apply(g, "sum", &x, 1, "axes=0,1"),
      "expected a blank before the next one; several values are a list, as in axes=[0,1]; attributes: axis, "
      "axes, keepdims");
  g = begin(c, &x);
  expect_refused(g, vf_apply(g, "pad", &x, 1, "[[1,1]]"),
                 "found '[', expected name=value; attributes: pads, value, mode");
  vf_context_destroy(c);
}

/* Sizes that are no sizes: an array of vf_value, addresses; a slice by its end. */
static void test_sizes(void **state) {
  vf_context *c = vf_context_create(NULL, NULL);
  vf_graph *g = vf_graph_create(c, "g", NULL);
  vf_value n = vf_variable(g, "n", 1, 8, 1), x = vf_input(g, "x", VF_F32, VF_LIST(8));
  int64_t size = 93951829712936;
  (void)state;
  vf_input(g, "y", VF_F32, 1, (const void *)&n);
  api_check_reason(vf_graph_message(g),
                   "input: entry 0 of the shape is the address of the graph, as in an array of "
                   "vf_value; takes int64_t, and functions whose name ends in _sized, such as "
                   "vf_input_sized, take vf_value");
  vf_graph_clear_error(g);
  vf_input(g, "y", VF_F32, 1, &size);
  api_check_reason(vf_graph_message(g), "input: y has more bytes than can be addressed, 2^47: its size 0 is "
                                        "93951829712936; sizes are an array of int64_t, as in VF_LIST(2, 3)");
  vf_graph_clear_error(g);
  vf_slice(x, 1, (int64_t[]){4}, (int64_t[]){8});
  api_check_reason(vf_graph_message(g),
                   "slice: start 4 and size 8 do not fit axis 0; x has shape f32[8]; takes 0 <= start, which "
                   "counts from the end where it is negative, 0 <= size and start + size <= 8; a size is a "
                   "number of elements: from 4 up to 8 it is 4");
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs),    cmocka_unit_test(test_nothing),
                                     cmocka_unit_test(test_escaped),   cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_sizes),     cmocka_unit_test(test_registered),
                                     cmocka_unit_test(test_attributes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
