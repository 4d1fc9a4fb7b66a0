/* Views of data in graphs that are compiled: what they cost, and that they are what one would write by hand.
 */
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_error error;

static vf_data_view *kept(vf_data_view *v) {
  if (!v) fail_msg("%s", error.message);
  return unit_keep(v, (void (*)(void *))vf_data_view_destroy);
}
static vf_value must(vf_value x) {
  if (!vf_ok(x)) fail_msg("%s", error.message);
  return x;
}

static vf_stats stats_of(vf_graph *g) {
  vf_stats stats = {.size = sizeof stats};
  assert_true(vf_program_stats(api_compile(g), &stats));
  return stats;
}

/* A conversion is part of the kernel that reads, in another dtype as well. spec: D19 */
static void test_conversion_is_read(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(8, 4, 4, 3));
  vf_data_view *v = kept(vf_image_view_of("bhwc", x, &error));
  vf_output(g, "y", vf_mul(must(vf_data_get(v, "chwb", VF_F64, &error)), vf_number(g, 2)));
  assert_int_equal(stats_of(g).launches, 1);
}

/* A value, as one and the other way of writing it. */
typedef struct written {
  bool by_views;
  vf_graph *g;
  vf_value image, kernel, dense, labels;
} written;

static vf_value by_hand(vf_value x, int64_t a, int64_t b, int64_t c, int64_t d) {
  return vf_permute(x, VF_LIST(a, b, c, d));
}

static vf_value convolved(const written *w, vf_value planes) {
  return vf_relu(vf_conv(planes, w->kernel, (vf_value){0}, 2, NULL, (int64_t[]){1, 1}, NULL, 1));
}
static vf_value scored(const written *w, vf_value rows) { return vf_matmul(rows, w->dense); }
static vf_value loss_of(vf_value scores, vf_value labels) {
  vf_value classes = vf_iota(scores.graph, VF_I32, VF_LIST(10), 0);
  vf_value is_label = vf_eq(vf_unsqueeze(labels, 1), classes);
  return vf_neg(
      vf_sum(vf_where(is_label, vf_log_softmax(scores, 1), vf_number(scores.graph, 0)), VF_ALL, false));
}

/* Each model gets what it asks for, puts what it makes, and gives the gradient of what it got. */
static void record_by_views(written *w) {
  vf_data_view *image = kept(vf_image_view_of("bhwc", w->image, &error));
  vf_data_view *features = kept(vf_image_view_create(w->g, &error));
  vf_data_view *scores = kept(vf_data_view_create(w->g, &error));
  vf_data_view *classes = kept(vf_class_view_of("b", w->labels, &error));
  vf_value planes = must(vf_data_get(image, "bchw", VF_NONE, &error)), d[2];
  vf_value made = convolved(w, planes);
  assert_int_equal(vf_data_put(features, "bchw", made, &error), VF_OK);
  vf_value rows = must(vf_data_get(features, "bf", VF_NONE, &error));
  vf_value out = scored(w, rows);
  assert_int_equal(vf_data_put(scores, "bf", out, &error), VF_OK);
  vf_value read = must(vf_data_get(scores, "bf", VF_NONE, &error)), dread;
  vf_value loss = loss_of(read, must(vf_data_get(classes, "b", VF_NONE, &error)));
  vf_grad(loss, 1, &read, &dread);
  assert_int_equal(vf_data_backward_put(scores, "bf", dread, &error), VF_OK);
  vf_value dout = must(vf_data_backward_get(scores, NULL, VF_NONE, &error));
  vf_vjp(1, &out, &dout, 2, (vf_value[]){rows, w->dense}, d);
  vf_output(w->g, "d_dense", d[1]);
  assert_int_equal(vf_data_backward_put(features, "bf", d[0], &error), VF_OK);
  vf_value dmade = must(vf_data_backward_get(features, NULL, VF_NONE, &error));
  vf_vjp(1, &made, &dmade, 2, (vf_value[]){planes, w->kernel}, d);
  vf_output(w->g, "d_kernel", d[1]);
  assert_int_equal(vf_data_backward_put(image, "bchw", d[0], &error), VF_OK);
  vf_output(w->g, "d_image", must(vf_data_backward_get(image, NULL, VF_NONE, &error)));
  vf_output(w->g, "loss", loss);
}

static void record_by_hand(written *w) {
  vf_value planes = by_hand(w->image, 0, 3, 1, 2), d[2], dread;
  vf_value made = convolved(w, planes), rows = vf_reshape(made, VF_LIST(6, 512)), out = scored(w, rows);
  vf_value loss = loss_of(out, w->labels);
  vf_grad(loss, 1, &out, &dread);
  vf_vjp(1, &out, &dread, 2, (vf_value[]){rows, w->dense}, d);
  vf_output(w->g, "d_dense", d[1]);
  vf_value dmade = vf_reshape(d[0], VF_LIST(6, 8, 8, 8));
  vf_vjp(1, &made, &dmade, 2, (vf_value[]){planes, w->kernel}, d);
  vf_output(w->g, "d_kernel", d[1]);
  vf_output(w->g, "d_image", by_hand(d[0], 0, 2, 3, 1));
  vf_output(w->g, "loss", loss);
}

static vf_graph *recorded(vf_context *context, bool by_views) {
  written w = {.g = api_graph(context, "network"), .by_views = by_views};
  w.image = vf_input(w.g, "image", VF_F32, VF_LIST(6, 8, 8, 3));
  w.kernel = vf_input(w.g, "kernel", VF_F32, VF_LIST(8, 3, 3, 3));
  w.dense = vf_input(w.g, "dense", VF_F32, VF_LIST(512, 10));
  w.labels = vf_input(w.g, "labels", VF_I32, VF_LIST(6));
  if (by_views) record_by_views(&w);
  else record_by_hand(&w);
  return w.g;
}

/* Producer and consumers together are one program, forwards and backwards, with the kernels that the graph
 * has without views. spec: D38 D38.U */
static void test_network(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *views = recorded(context, true), *hand = recorded(context, false);
  assert_string_equal(vf_graph_message(views), "");
  char *texts[2] = {vf_graph_dump(views, "loops", &error), vf_graph_dump(hand, "loops", &error)};
  assert_non_null(texts[0]);
  assert_non_null(texts[1]);
  assert_string_equal(texts[0], texts[1]);
  vf_cache_stats first = {.size = sizeof first}, last = {.size = sizeof last};
  uint32_t launches = stats_of(hand).launches;
  assert_true(vf_cache_statistics(context, &first));
  assert_int_equal(stats_of(views).launches, launches);
  assert_true(vf_cache_statistics(context, &last));
  assert_int_equal(last.misses, first.misses);
  vf_text_free(context, texts[0]), vf_text_free(context, texts[1]);
}

/* Recorded again, a call makes nothing that is not there, and takes no memory. spec: D22.cost */
static void test_calls_allocate_nothing(void **state) {
  (void)state;
  vf_context *context = api_counted_context();
  vf_graph *g = api_graph(context, "g");
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(32, 8, 8, 3)), at = vf_input(g, "at", VF_I32, VF_LIST(8));
  vf_data_view *v = kept(vf_image_view_create(g, &error)), *part = kept(vf_image_view_create(g, &error));
  long before = 0;
  for (int i = 0; i < 100; i++) {
    assert_int_equal(vf_data_put(v, "bhwc", x, &error), VF_OK);
    must(vf_data_get(v, "bchw", VF_F16, &error));
    must(vf_data_get(v, "bf", VF_NONE, &error));
    assert_non_null(vf_data_index(v, at, part, &error));
    assert_non_null(vf_data_sub(v, 8, 16, part, &error));
    if (i == 0) before = atomic_load(&api_memory.allocations);
  }
  assert_int_equal(atomic_load(&api_memory.allocations), before);
}

/* Nothing is compiled or run for what is put, got and taken apart, before somebody reads. spec: D19.launches
 */
static void test_calls_launch_nothing(void **state) {
  (void)state;
  vf_context *context = api_context();
  vf_graph *g = vf_session(context, &error);
  vf_cache_stats first = {.size = sizeof first}, last = {.size = sizeof last};
  assert_true(vf_cache_statistics(context, &first));
  vf_data_view *v = kept(vf_image_view_of("bhwc", vf_zeros(g, VF_U8, VF_LIST(32, 8, 8, 3)), &error));
  vf_data_view *part = kept(vf_data_index(v, vf_zeros(g, VF_I32, VF_LIST(8)), NULL, &error));
  vf_tensor *all[] = {vf_tensor_keep(must(vf_data_get(v, "chwb", VF_F16, &error)), &error),
                      vf_tensor_keep(must(vf_data_get(part, "bf", VF_F32, &error)), &error)};
  assert_non_null(vf_data_sub(v, 8, 16, part, &error));
  must(vf_data_get(part, "bchw", VF_F32, &error));
  assert_int_equal(
      vf_data_backward_put(part, "bchw", must(vf_data_get(part, "bchw", VF_F32, &error)), &error), VF_OK);
  must(vf_data_backward_get(part, NULL, VF_NONE, &error));
  assert_true(vf_cache_statistics(context, &last));
  assert_int_equal(last.memory_hits + last.disk_hits + last.misses,
                   first.memory_hits + first.disk_hits + first.misses);
  for (int i = 0; i < 2; i++) {
    assert_false(vf_tensor_is_realised(all[i]));
    vf_tensor_release(all[i]);
  }
}

/* A thousand batches of examples that a run is told, the last one shorter: compiled once, and no run takes
 * memory. spec: D29.batches */
static void test_batches(void **state) {
  (void)state;
  enum { EXAMPLES = 8000 - 3, BATCH = 8, FEATURES = 4 };
  static float data[EXAMPLES * FEATURES], out[BATCH * FEATURES];
  vf_context *context = api_counted_context();
  vf_graph *g = api_graph(context, "g");
  vf_value n = vf_variable(g, "n", 1, BATCH, 1);
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(EXAMPLES, 2, 2, 1));
  vf_value at = vf_input_sized(g, "at", VF_I64, 1, &n);
  vf_data_view *v = kept(vf_image_view_of("bhwc", x, &error));
  vf_data_view *part = kept(vf_data_index(v, at, NULL, &error));
  vf_output(g, "rows", vf_neg(must(vf_data_get(part, "bf", VF_NONE, &error))));
  for (int i = 0; i < EXAMPLES * FEATURES; i++) data[i] = (float)i;
  long before = 0;
  vf_program *p = api_compile(g);
  vf_cache_stats first = {.size = sizeof first}, last = {.size = sizeof last};
  for (int64_t batch = 0, start = 0; start < EXAMPLES; batch++, start += BATCH) {
    int64_t count = EXAMPLES - start < BATCH ? EXAMPLES - start : BATCH, which[BATCH];
    for (int64_t i = 0; i < count; i++) which[i] = EXAMPLES - 1 - start - i;
    api_run(p, (const void *[]){data, which}, (void *[]){out}, &count);
    for (int64_t i = 0; i < count * FEATURES; i++)
      assert_float_equal(out[i], -data[which[i / FEATURES] * FEATURES + i % FEATURES], 0);
    assert_non_null(vf_data_index(v, at, part, &error));
    must(vf_data_get(part, "bf", VF_NONE, &error));
    if (batch == 0) {
      before = atomic_load(&api_memory.allocations);
      assert_true(vf_cache_statistics(context, &first));
    }
  }
  assert_int_equal(atomic_load(&api_memory.allocations), before);
  assert_true(vf_cache_statistics(context, &last));
  assert_int_equal(last.misses, first.misses);
}

UNIT_TESTS(test_conversion_is_read, test_network, test_calls_allocate_nothing, test_calls_launch_nothing,
           test_batches)
