/* Meshes, parts and constraints in C. */
#include "ir/mesh/sharding.h"

#include "frontend/api/api.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_context *open_context(void) {
  vf_error error = {0};
  vf_context *c = vf_context_create(NULL, &error);
  if (!c) fail_msg("%s", error.message);
  return c;
}

/* Of the devices along x, the first has three times what the second has. */
static void test_weights(void **state) {
  (void)state;
  vf_error error = {0};
  int64_t begin[2], end[2];
  vf_context *c = open_context();
  vf_mesh *m = vf_mesh_create(c, "x=6:2,y=2", &error);
  if (!m) fail_msg("%s", error.message);
  assert_int_equal(vf_mesh_axis_size(m, "x"), 2);
  assert_int_equal(vf_mesh_axis_weight(m, "x", 0), 3);
  assert_int_equal(vf_mesh_axis_weight(m, "x", 1), 1);
  assert_int_equal(vf_mesh_part(m, "[y,x]", 2, (int64_t[]){8, 6}, 2, begin, end, &error), VF_OK);
  assert_true(begin[0] == 0 && end[0] == 4 && begin[1] == 5 && end[1] == 6);
  vf_mesh_destroy(m);
  vf_context_destroy(c);
}

/* spec: M1 M2 M9 */
static void test_mesh(void **state) {
  (void)state;
  vf_error error = {0};
  vf_context *c = open_context();
  vf_mesh *m = vf_mesh_create(c, "[x=2,y=4] memory=8e9", &error);
  if (!m) fail_msg("%s", error.message);
  assert_int_equal(vf_mesh_device_count(m), 8);
  assert_int_equal(vf_mesh_axis_count(m), 2);
  assert_string_equal(vf_mesh_axis_name(m, 1), "y");
  assert_null(vf_mesh_axis_name(m, 2));
  assert_int_equal(vf_mesh_axis_size(m, "y"), 4);
  assert_int_equal(vf_mesh_axis_size(m, "z"), -1);
  assert_int_equal(vf_mesh_coordinate(m, 6, "x"), 1);
  assert_int_equal(vf_mesh_coordinate(m, 6, "y"), 2);
  assert_int_equal(vf_mesh_coordinate(m, 8, "y"), -1);
  assert_int_equal(vf_mesh_axis_weight(m, "y", 3), 1);
  assert_int_equal(vf_mesh_axis_weight(m, "y", 4), -1);
  assert_int_equal(vf_mesh_axis_weight(m, "z", 0), -1);
  int64_t begin[2], end[2];
  assert_int_equal(vf_mesh_part(m, "[x,y]", 2, (int64_t[]){8, 6}, 2, begin, end, &error), VF_OK);
  assert_true(begin[0] == 0 && end[0] == 4 && begin[1] == 4 && end[1] == 6);
  assert_int_equal(vf_mesh_part(m, "[x]", 2, (int64_t[]){8, 6}, 2, begin, end, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "mesh: spec [x] has 1 dimensions; the shape has 2");
  assert_int_equal(vf_mesh_part(m, "[x]", 1, (int64_t[]){8}, 8, begin, end, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "mesh: no device 8; there are 8");
  assert_int_equal(vf_mesh_part(m, "[z]", 1, (int64_t[]){8}, 0, begin, end, &error), VF_ERR_INVALID);
  assert_int_equal(vf_mesh_part(m, "[x]", 1, (int64_t[]){-1}, 0, begin, end, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "mesh: size -1 of axis 0; sizes are at least 0");
  vf_mesh_destroy(m), vf_mesh_destroy(NULL);
  static const char *const bad[] = {"x=0",     "[x=2",          "[x=2] devices=[\"cpu\"]",
                                    "x=2,x=2", "[x=2] speed=3", "[x=2] y"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    error = (vf_error){0};
    assert_null(vf_mesh_create(c, bad[i], &error));
    assert_int_equal(error.status, VF_ERR_INVALID);
    assert_non_null(strstr(error.message, "mesh:1:"));
  }
  vf_context_destroy(c);
}

/* Measured values are above 0, the axis of one device has none, and the program that takes them gives what it
 * gave before. */
static void test_calibrate(void **state) {
  (void)state;
  vf_error error = {0};
  vf_context *c = open_context();
  vf_mesh *m = vf_mesh_create(c, "x=2,y=1", &error);
  assert_true(vf_mesh_latency(m, "x") == 0 && vf_mesh_bandwidth(m, "x") == 0);
  assert_true(vf_mesh_latency(m, "z") == -1 && vf_mesh_bandwidth(m, NULL) == -1);
  if (vf_mesh_calibrate(m, &error) != VF_OK) fail_msg("%s", error.message);
  assert_true(vf_mesh_latency(m, "x") > 0 && vf_mesh_bandwidth(m, "x") > 0);
  assert_true(vf_mesh_latency(m, "y") == 0 && vf_mesh_bandwidth(m, "y") == 0);
  vf_graph *g = vf_graph_create(c, "sums", &error);
  assert_int_equal(vf_graph_set_mesh(g, m, &error), VF_OK);
  vf_value x = vf_input_sharded(g, "x", VF_F32, 2, (int64_t[]){4, 2}, "[x,-]");
  vf_output(g, "y", vf_sum(x, VF_LIST(0), false));
  vf_program *p = vf_compile_on(g, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  float in[] = {1, 2, 3, 4, 5, 6, 7, 8}, out[2];
  assert_int_equal(vf_program_run(p, (const void *[]){in}, (void *[]){out}, NULL, &error), VF_OK);
  assert_true(out[0] == 16 && out[1] == 20);
  vf_program_destroy(p), vf_graph_destroy(g), vf_mesh_destroy(m);
  assert_int_equal(vf_mesh_calibrate(NULL, &error), VF_ERR_INVALID);
  assert_string_equal(error.message,
                      "mesh: it is NULL, as vf_mesh_create gives where it fails: its error says why");
  m = vf_mesh_create(c, "[x=2] devices=[\"cpu\",\"nothing\"]", &error);
  assert_int_equal(vf_mesh_calibrate(m, &error), VF_ERR_INVALID);
  assert_true(vf_mesh_latency(m, "x") == 0);
  vf_mesh_destroy(m), vf_context_destroy(c);
}

static void refused(vf_graph *g, vf_value v, const char *part) {
  assert_false(vf_ok(v));
  if (!strstr(vf_graph_message(g), part)) fail_msg("'%s' lacks '%s'", vf_graph_message(g), part);
  vf_graph_clear_error(g);
}

/* What the text of a graph says, a C program records. */
static void test_graph(void **state) {
  (void)state;
  vf_error error = {0};
  vf_context *c = open_context();
  vf_mesh *m = vf_mesh_create(c, "x=2,y=4", &error);
  vf_graph *g = vf_graph_create(c, "mlp", &error);
  refused(g, vf_input_sharded(g, "a", VF_F32, 2, (int64_t[]){16, 32}, "[x,-]"), "the graph has no mesh");
  refused(g, vf_shard(vf_input(g, "b", VF_F32, 1, (int64_t[]){4}), "[x]"), "the graph has no mesh");
  assert_int_equal(vf_graph_set_mesh(g, m, &error), VF_OK);
  vf_value h = vf_input_sharded(g, "h", VF_F32, 2, (int64_t[]){16, 32}, "[x,-]");
  vf_value w = vf_input_sharded(g, "w", VF_F32, 2, (int64_t[]){32, 128}, "[-,y]");
  vf_value v = vf_input_sharded(g, "v", VF_F32, 2, (int64_t[]){128, 32}, "[y,-]");
  vf_value q = vf_shard(vf_matmul(vf_relu(vf_matmul(h, w)), v), "[x,-]");
  if (!vf_ok(q)) fail_msg("%s", vf_graph_message(g));
  refused(g, vf_shard(h, "[x]"), "the spec has 1 dimensions");
  refused(g, vf_input_sharded(g, "e", VF_F32, 1, (int64_t[]){4}, "[x,-]"), "has 2 dimensions; e has 1");
  refused(g, vf_input_sharded(g, "f", VF_F32, 1, (int64_t[]){4}, "[u]"), "no axis of the mesh");
  assert_int_equal(vf_graph_set_mesh(g, m, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "mesh: values of the graph are divided over its mesh @m already; a mesh "
                                     "is set before the first of them");
  vf_output(g, "q", q);
  vf_mesh_destroy(m); /* the graph has its own */
  char *text = vf_graph_dump(g, "shard", &error);
  if (!text) fail_msg("%s", error.message);
  assert_non_null(strstr(text, "mesh @m [x=2,y=4]\n"));
  assert_non_null(strstr(text, "%h: f32[16,32] @m[x,-]"));
  assert_non_null(strstr(text, "%q = shard %2 to=[x,-] : f32[16,32] @m[x,-]\n"));
  vf_text_free(c, text);
  vf_graph_destroy(g), vf_context_destroy(c);
}

/* What a run finds out cannot differ between devices. */
static void test_found_sizes(void **state) {
  (void)state;
  vf_error error = {0};
  vf_context *c = api_context();
  vf_graph *g =
      api_parse(c, "mesh @m [x=2]\ngraph @f(%a: f32[8], %start: i64[], %end: i64[]) {\n%p = address %a\n"
                   "%d = index_interval %start, %end, 1, false\n"
                   "%y = create_view %p, %d lengths=[n=0..6]\nreturn %y\n}\n");
  assert_null(vf_compile_on(g, NULL, 0, &error));
  assert_string_equal(error.message,
                      "compile: graph @f finds sizes out while it runs; on a mesh give them as variables");
  assert_int_equal(error.status, VF_ERR_UNSUPPORTED);
}

static void refused_choice(vf_graph *g, vf_shard_auto_options options, const char *message) {
  vf_error error = {0};
  vf_shard_auto_report report = {.size = sizeof report};
  assert_int_equal(vf_shard_auto(g, &options, &report, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, message);
}

/* Two layers without a spec: the batch is divided, and nothing moves. */
static void test_auto(void **state) {
  (void)state;
  vf_error error = {0};
  vf_context *c = open_context();
  vf_mesh *m = vf_mesh_create(c, "x=4", &error);
  vf_graph *g = vf_graph_create(c, "mlp", &error);
  vf_shard_auto_options options = {.size = sizeof options, .flops = 1e9, .bytes = 1e9};
  vf_shard_auto_report report = {.size = sizeof report};
  vf_value h = vf_input(g, "h", VF_F32, 2, (int64_t[]){1024, 64});
  vf_value w = vf_input(g, "w", VF_F32, 2, (int64_t[]){64, 64});
  vf_output(g, "q", vf_relu(vf_matmul(h, w)));
  refused_choice(g, options, "graph @mlp has no mesh; a text declares one, as in mesh @m [x=2,y=4]");
  assert_int_equal(vf_graph_set_mesh(g, m, &error), VF_OK);
  assert_int_equal(vf_shard_auto(g, &options, &report, &error), VF_OK);
  double products = 2.0 * 1024 * 64 * 64 / 4 / 1e9, other = 2 * 1024 / 4 * 64 * 4 / 1e9;
  assert_true(report.computing > 0.999 * (products + other) && report.computing < 1.001 * (products + other));
  assert_true(report.exact && report.moving == 0 && report.bound <= report.seconds);
  assert_string_equal(error.message, "");
  char *text = vf_graph_dump(g, "shard", &error);
  assert_non_null(strstr(text, "%h: f32[1024,64] @m[x,-]"));
  vf_text_free(c, text);
  assert_int_equal(vf_shard_auto(g, NULL, NULL, &error), VF_OK); /* all is given now */
  options.flops = -1;
  refused_choice(g, options, "shard_auto: rates and memory are at least 0");
  options.size = 4;
  refused_choice(g, options, "shard_auto: options.size is 4; it is sizeof(vf_shard_auto_options)");
  refused_choice(NULL, options,
                 "shard_auto: the graph is NULL, as vf_graph_create, _parse and vf_import_onnx give where "
                 "they fail: their error says why");
  report.size = 1;
  assert_int_equal(vf_shard_auto(g, NULL, &report, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "shard_auto: report.size is 1; it is sizeof(vf_shard_auto_report)");
  vf_graph_destroy(g), vf_mesh_destroy(m), vf_context_destroy(c);
}

/* Kernels in memory after rows, divided over all devices, went through a layer; no_disk: nothing else is
 * there. */
static int64_t kernels_of(vf_context *c, const char *axes, int64_t rows) {
  vf_error error = {0};
  vf_cache_stats stats = {.size = sizeof stats};
  vf_mesh *m = vf_mesh_create(c, axes, &error);
  vf_graph *g = vf_graph_create(c, "layer", &error);
  assert_int_equal(vf_graph_set_mesh(g, m, &error), VF_OK);
  vf_value x = vf_input_sharded(g, "x", VF_F32, 2, (int64_t[]){rows, 24}, "[x,-]");
  vf_value w = vf_input(g, "w", VF_F32, 2, (int64_t[]){24, 40});
  vf_value h = vf_gelu(vf_matmul(x, w), false);
  vf_output(g, "y", vf_shard(vf_softmax(h, 1), "[x,-]"));
  vf_program *p = vf_compile_on(g, NULL, 0, &error);
  if (!p) fail_msg("%s", error.message);
  float *in = calloc((size_t)rows * 24, sizeof *in), *weights = calloc(24 * 40, sizeof *weights);
  float *out = calloc((size_t)rows * 40, sizeof *out);
  assert_int_equal(vf_program_run(p, (const void *[]){in, weights}, (void *[]){out}, NULL, &error), VF_OK);
  assert_true(out[0] > 0.024f && out[rows * 40 - 1] > 0.024f); /* 1 / 40 */
  vf_cache_statistics(c, &stats);
  free(in), free(weights), free(out);
  vf_program_destroy(p), vf_graph_destroy(g), vf_mesh_destroy(m);
  return stats.kernels;
}

/* Parts of one size are computed by the kernels of one device, and parts of several sizes by no more; meshes
 * of which parts have a size that there was compile nothing. */
static void test_kernels(void **state) {
  (void)state;
  vf_error error = {0};
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK};
  vf_context *one = vf_context_create(&options, &error), *many = vf_context_create(&options, &error);
  vf_context *uneven = vf_context_create(&options, &error);
  int64_t kernels = kernels_of(one, "x=1", 6);
  assert_true(kernels > 0);
  assert_int_equal(kernels_of(many, "x=8", 48), kernels);
  assert_int_equal(kernels_of(many, "x=4", 24), kernels);
  assert_int_equal(kernels_of(many, "[x=2,y=2]", 12), kernels);
  assert_true(kernels_of(uneven, "x=8", 44) <= kernels);
  assert_true(kernels_of(uneven, "x=8", 42) <= 2 * kernels); /* their bounds are others: 0 to 6 elements */
  vf_context_destroy(one), vf_context_destroy(many), vf_context_destroy(uneven);
}

UNIT_TESTS(test_mesh, test_weights, test_calibrate, test_graph, test_found_sizes, test_auto, test_kernels)
