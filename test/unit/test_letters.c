/* Letters of axes in C: names, functions by letter, vmap, derivatives, the session, and what they cost. */
#include "ir/letters.h"

#include "frontend/api/api.h"
#include "test/lib/api.h"
#include "test/lib/data_view.h"
#include "test/lib/unit.h"

static void lettered(vf_value x, const char *want) {
  char letters[VF_MOST_AXES + 1];
  if (!vf_ok(x)) fail_msg("%s", vf_graph_message(data_session()));
  assert_int_equal(vf_value_letters(x, letters), strlen(want));
  assert_string_equal(letters, want);
}
static vf_value named(const char *letters, int rank, const int64_t *shape) {
  return vf_name_axes(data_counting(VF_F32, rank, shape), letters);
}
/* A refusal of the session's builders. */
static void refused(vf_value x, const char *part) {
  assert_false(vf_ok(x));
  const char *message = vf_graph_message(data_session());
  if (!strstr(message, part)) fail_msg("'%s' lacks '%s'", message, part);
  vf_graph_clear_error(data_session());
}

static void test_names(void **state) {
  (void)state;
  vf_value x = named("bc", VF_LIST(2, 3));
  lettered(x, "bc");
  lettered(vf_name_axes(x, "b_"), "b_");
  lettered(vf_name_axes(x, "xy"), "xy");
  lettered(x, "bc");
  lettered(data_counting(VF_F32, VF_LIST(2, 3)), "__"); /* the value that was named has none */
  assert_int_equal(vf_name_axes(x, "bc").id, x.id);
  HOLDS(vf_name_axes(x, "xy"), 0, 1, 2, 3, 4, 5);
  assert_int_equal(vf_value_letters((vf_value){0}, NULL), -1);
  refused(vf_name_axes(data_counting(VF_F32, VF_LIST(2, 3)), "b"), "'b' has 1 letters; x has shape f32[2,3]");
  refused(vf_name_axes(data_counting(VF_F32, VF_LIST(2, 3)), "bb"), "letter 'b' twice; each stands once");
  refused(vf_name_axes(data_counting(VF_F32, VF_LIST(2, 3)), "b1"), "'b1' has '1'; axes are letters");
}

static void test_functions_by_letter(void **state) {
  (void)state;
  vf_value x = named("bhwc", VF_LIST(1, 2, 2, 2));
  lettered(vf_sum(x, VF_BY(x, "hw"), false), "bc");
  HOLDS(vf_sum(x, VF_BY(x, "hw"), false), 12, 16);
  x = named("bhwc", VF_LIST(1, 2, 2, 2));
  HOLDS(vf_reduce_max(x, VF_BY(x, "cb"), false), 1, 3, 5, 7);
  x = named("bhwc", VF_LIST(1, 2, 2, 2));
  lettered(vf_softmax(x, vf_axis(x, 'c')), "bhwc");
  lettered(vf_layer_norm(x, (vf_value){0}, (vf_value){0}, vf_axis(x, 'w'), 1e-5), "bhwc");
  lettered(vf_argmax(x, vf_axis(x, 'h'), false), "bwc");
  HOLDS(vf_sort(x, vf_axis(x, 'h'), true), 4, 5, 6, 7, 0, 1, 2, 3);
  x = named("bhwc", VF_LIST(1, 2, 2, 2));
  vf_value both[] = {x, vf_neg(x)};
  lettered(vf_concat(both, 2, vf_axis(x, 'c')), "bhwc");
  lettered(vf_stack(both, 2, 1), "b_hwc");
  lettered(vf_rearrange(x, "bhwc", "bchw"), "bchw");
  lettered(vf_rearrange(x, "bhwc", "b(hw)c"), "b_c");
  lettered(vf_rearrange(x, "bhwc", "b n=3 hwc"), "bnhwc");
  vf_sum(x, VF_BY(x, "q"), false);
  refused((vf_value){0}, "there is no axis 'q'; x has shape f32[b=1,h=2,w=2,c=2]");
}

/* Axes that meet, also after broadcasting. */
static void test_axes_meet(void **state) {
  (void)state;
  vf_value x = named("bc", VF_LIST(2, 3)), y = named("c", VF_LIST(3));
  lettered(vf_add(x, y), "bc");
  lettered(vf_mul(x, data_counting(VF_F32, VF_LIST(2, 3))), "bc");
  lettered(vf_matmul(x, named("cf", VF_LIST(3, 4))), "bf");
  lettered(vf_where(vf_gt(x, vf_number(data_session(), 0)), x, y), "bc");
  refused(vf_add(x, named("f", VF_LIST(3))),
          "add: axis 'c' meets axis 'f'; operands have shapes f32[b=2,c=3] and "
          "f32[f=3]");
  refused(vf_add(x, named("f", VF_LIST(3))), "axis 'c' meets axis 'f'"); /* once more, recorded already */
  refused(vf_matmul(x, named("df", VF_LIST(3, 4))), "matmul: axis 'c' meets axis 'd'");
  refused(vf_rearrange(x, "cb", "bc"),
          "from 'cb' calls axis 0 'c'; x has shape f32[b=2,c=3], where it is 'b'");
  vf_data_view *v = data_view();
  vf_data_put(v, "bf", x, &data_error);
  data_refused(
      "view 'bf' calls axis 1 'f'; x has shape f32[b=2,c=3], where it is 'c'; both must be the same");
  data_put(v, "bc", x);
}

static void row_sum(void *user, const vf_value *arguments, vf_value *results) {
  (void)user;
  lettered(arguments[0], "cd");
  results[0] = vf_mul(vf_sum(arguments[0], VF_BY(arguments[0], "d"), false), arguments[1]);
}

/* The axis that is mapped is gone inside, and where its letter is known, back outside. */
static void test_vmap_by_letter(void **state) {
  (void)state;
  vf_value x = named("cbd", VF_LIST(2, 3, 2)), y;
  vf_value arguments[] = {x, vf_number(data_session(), 2)};
  const int in[] = {vf_axis(x, 'b'), VF_NOT_MAPPED}, out[] = {0};
  vf_map map = {
      .size = sizeof map, .arguments = 2, .results = 1, .in_axes = in, .out_axes = out, .axis_size = -1};
  assert_true(vf_vmap(data_session(), &map, row_sum, NULL, arguments, &y));
  lettered(y, "bc");
  HOLDS(y, 2, 26, 10, 34, 18, 42);
}

/* Gradients of a network whose inputs have letters. */
static void test_derivatives(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_name_axes(vf_input(g, "x", VF_F32, VF_LIST(4, 3, 6, 6)), "bchw");
  vf_value k = vf_input(g, "k", VF_F32, VF_LIST(5, 3, 3, 3)), d[3];
  vf_value w = vf_name_axes(vf_input(g, "w", VF_F32, VF_LIST(80, 7)), "fk"), all[] = {x, k, w};
  vf_value y = vf_relu(vf_conv(x, k, (vf_value){0}, 2, NULL, NULL, NULL, 1));
  vf_value scores = vf_matmul(vf_name_axes(vf_reshape(y, VF_LIST(4, 80)), "bf"), w);
  vf_value loss = vf_mean(vf_logsumexp(scores, VF_BY(scores, "k"), false), VF_ALL, false);
  vf_grad(loss, 3, all, d);
  assert_string_equal(vf_graph_message(g), "");
  for (int i = 0; i < 3; i++) assert_int_equal(vf_value_rank(d[i]), vf_value_rank(all[i]));
  vf_output(g, "dx", d[0]), vf_output(g, "dk", d[1]), vf_output(g, "dw", d[2]);
  api_check_text(data_context, g);
}

/* Tensors keep them when they are realised, and when the session moves. */
static void test_session(void **state) {
  (void)state;
  vf_tensor *t =
      vf_tensor_keep(vf_mul(named("bc", VF_LIST(2, 2)), vf_number(data_session(), 3)), &data_error);
  lettered(vf_tensor_value(t), "bc");
  assert_non_null(vf_tensor_data(t, &data_error));
  lettered(vf_tensor_value(t), "bc");
  assert_int_equal(vf_session_collect(data_context, &data_error), VF_OK);
  lettered(vf_tensor_value(t), "bc");
  lettered(vf_sum(vf_tensor_value(t), VF_BY(vf_tensor_value(t), "b"), false), "c");
  vf_tensor_release(t);
}

static vf_graph *recorded(vf_context *c, bool with_letters) {
  vf_graph *g = api_graph(c, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(8, 3));
  if (with_letters) x = vf_name_axes(x, "bc");
  vf_output(g, "y", vf_softmax(vf_exp(x), 1));
  return g;
}

/* A graph without letters has no table of them, and one with letters is the same program. */
static void test_costs_nothing(void **state) {
  (void)state;
  vf_context *c = api_context();
  vf_graph *plain = recorded(c, false), *with = recorded(c, true);
  assert_int_equal(plain->ir.letters_cap, 0);
  api_compile(plain);
  vf_cache_stats first = {.size = sizeof first}, last = {.size = sizeof last};
  assert_true(vf_cache_statistics(c, &first));
  api_compile(with);
  assert_true(vf_cache_statistics(c, &last));
  assert_int_equal(last.misses, first.misses);
  assert_int_equal(last.memory_hits, first.memory_hits + 1);
}

UNIT_TESTS_BETWEEN(data_begin, data_end, test_names, test_functions_by_letter, test_axes_meet,
                   test_vmap_by_letter, test_derivatives, test_session, test_costs_nothing)
