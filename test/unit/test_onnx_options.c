/* Options with which the importer of ONNX models refuses a model: each says why in full, and the context can
 * import it afterwards. Models that are refused whatever the options are in test/conform/onnx_messages.list.
 */
#include "test/lib/api.h"
#include "test/lib/folder.h"
#include "test/lib/onnx_models.h"
#include "test/lib/unit.h"

static char folder[200], path[300];

static int set_up(void **state) {
  (void)state;
  static model_bytes graph, model;
  if (!test_folder_make(folder, sizeof folder)) return 1;
  graph.size = 0;
  model_input(&graph, "x[n]");
  model_node(&graph, 1, "Neg x -> y", NULL, NULL);
  model_output(&graph, "y[n]");
  model_whole(&model, &graph, NULL);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  unit_write_file(path, model.bytes, model.size);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  test_folder_remove(folder);
  return 0;
}

/* Three inputs, whose values together take more memory than reading a small file may. */
static void test_large_values(void **state) {
  (void)state;
  enum { MANY = 1 << 20 };
  static model_bytes graph, model;
  char large[300], expected[600];
  vf_error error = {0};
  vf_context *context = api_context();
  const int64_t many[] = {MANY};
  float *elements = unit_keep(calloc(MANY, sizeof *elements), free);
  assert_non_null(elements);
  graph.size = 0;
  for (int i = 0; i < 3; i++) model_input(&graph, (const char *[]){"x[n]", "y[n]", "z[n]"}[i]);
  model_node(&graph, 1, "Sum x,y,z -> s", NULL, NULL);
  model_output(&graph, "s[n]");
  model_whole(&model, &graph, NULL);
  snprintf(large, sizeof large, "%s/large.onnx", folder);
  unit_write_file(large, model.bytes, model.size);
  const vf_import_value values[] = {
      {"x", VF_F32, 1, many, elements}, {"y", VF_F32, 1, many, elements}, {"z", VF_F32, 1, many, elements}};
  const vf_import_options options = {.size = sizeof options, .value_count = 3, .values = values};
  assert_null(vf_import_onnx(context, large, &options, &error));
  snprintf(expected, sizeof expected,
           "%s: error: reading it takes more than %zu bytes of memory, the most for its size", large,
           ((size_t)16 << 20) + 256 * model.size);
  assert_string_equal(error.message, expected);
}

static void cancel(void *user, size_t done, size_t nodes) {
  (void)done, (void)nodes;
  vf_cancel(user);
}

static void test_refused_options(void **state) {
  (void)state;
  enum { MANY = (1 << 20) + 1 };
  vf_context *context = api_context();
  const int64_t one[] = {1}, many[] = {MANY};
  const float element = 0;
  float *elements = unit_keep(calloc(MANY, sizeof *elements), free);
  assert_non_null(elements);
  const vf_import_size sizes[] = {{"n", 5, 3}};
  const vf_import_value doubles[] = {{"x", VF_F64, 1, one, &element}},
                        long_ones[] = {{"x", VF_F32, 1, many, elements}};
  const struct {
    vf_import_options options;
    vf_status status;
    const char *message; /* behind the file's name */
  } cases[] = {
      {{.size_count = 1, .sizes = sizes},
       VF_ERR_INVALID,
       "the size 'n' is to be 5 to 3; takes 0 <= low <= high"},
      {{.value_count = 1, .values = doubles},
       VF_ERR_INVALID,
       "the value of the input 'x' is of dtype f64; the model's is float"},
      {{.value_count = 1, .values = long_ones},
       VF_ERR_UNSUPPORTED,
       "a constant has too many elements; takes at most 1048576"},
      {{.progress = cancel, .user = context},
       VF_ERR_CANCELLED,
       "cancelled while it was imported; import it again to go on"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vf_error error = {0};
    vf_import_options options = cases[i].options;
    char expected[600];
    options.size = sizeof options;
    snprintf(expected, sizeof expected, "%s: error: %s", path, cases[i].message);
    assert_null(vf_import_onnx(context, path, &options, &error));
    assert_string_equal(error.message, expected);
    assert_int_equal(error.status, cases[i].status);
    vf_graph *g = vf_import_onnx(context, path, NULL, &error);
    if (!g) fail_msg("%s", error.message);
    vf_graph_destroy(g);
  }
}

UNIT_TESTS_BETWEEN(set_up, tear_down, test_refused_options, test_large_values)
