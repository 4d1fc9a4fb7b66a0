/* The importer of ONNX models: symbolic sizes, control flow, functions, weights in other files, and what is
 * refused with which message. The operators themselves are compared with ONNX's node tests
 * (test/conform/onnx_import.py). */
#include <math.h>

#include "frontend/onnx/onnx.h"
#include "frontend/onnx/schema.h"
#include "test/lib/folder.h"
#include "test/lib/memory.h"
#include "test/lib/onnx_models.h"
#include "test/lib/api.h"
#include "test/lib/unit.h"

static vf_context *context;
static vf_error error;
static char folder[200];
static model_bytes graph, model;

static int set_up(void **state) {
  const vf_options options = {.size = sizeof options, .flags = VF_NO_DISK};
  context = vf_context_create(&options, &error);
  return !context || !test_folder_make(folder, sizeof folder);
}

static int tear_down(void **state) {
  vf_context_destroy(context);
  test_folder_remove(folder);
  return 0;
}

static const char *written(const model_bytes *m) {
  static char path[300];
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  unit_write_file(path, m->bytes, m->size);
  return path;
}

static vf_graph *import(const vf_import_options *options) {
  model_whole(&model, &graph, NULL);
  vf_graph *g = vf_import_onnx(context, written(&model), options, &error);
  if (!g) fail_msg("%s", error.message);
  return g;
}

/* Imports a model, which must fail with a message that holds all these words. */
static void refuses(const vf_import_options *options, vf_status status, const char *const *words) {
  vf_graph *g = vf_import_onnx(context, written(&model), options, &error);
  assert_null(g);
  for (; *words; words++)
    if (!strstr(error.message, *words)) fail_msg("'%s' is not in: %s", *words, error.message);
  if (error.status != status) fail_msg("status %d: %s", error.status, error.message);
}
#define REFUSES(status, ...)                                                                                 \
  refuses(NULL, status, (const char *const[]){"model.onnx: error: ", __VA_ARGS__, NULL})

/* Runs a graph of one input and one output of f32. */
static void run_floats(vf_program *p, const float *in, float *out, const int64_t *variables) {
  const void *inputs[] = {in};
  void *outputs[] = {out};
  api_run(p, inputs, outputs, variables);
}

static vf_program *compiled(vf_graph *g) {
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s", error.message);
  return p;
}

/* sizes */

static void one_program_serves_all_lengths(void **state) {
  static float in[20 * 12], symbolic[20 * 12], fixed[20 * 12];
  graph.size = 0;
  model_input(&graph, "x[n,2,6]");
  model_integers(&graph, "zero", 1, (const int64_t[]){0});
  model_integers(&graph, "three", 1, (const int64_t[]){3});
  model_integers(&graph, "columns", 1, (const int64_t[]){-1});
  model_node(&graph, 1, "Shape x -> s", NULL, NULL);
  model_node(&graph, 1, "Gather s,zero -> n0 axis=0", NULL, NULL);
  model_node(&graph, 1, "Mul n0,three -> n3", NULL, NULL);
  model_node(&graph, 1, "Concat n3,columns -> t axis=0", NULL, NULL);
  model_node(&graph, 1, "Reshape x,t -> r", NULL, NULL);
  model_node(&graph, 1, "Softmax r -> p axis=0", NULL, NULL);
  model_node(&graph, 1, "Cast n3 -> f to=1", NULL, NULL);
  model_node(&graph, 1, "Mul p,f -> y", NULL, NULL);
  model_output(&graph, "y[m,4]");
  for (int i = 0; i < 20 * 12; i++) in[i] = (float)(i % 29) / 8;
  vf_graph *g = import(NULL);
  vf_program *p = compiled(g);
  assert_int_equal(vf_variable_count(p), 1);
  assert_string_equal(vf_variable_name(p, 0), "n");
  for (int64_t n = 1; n <= 20; n += 2) {
    const vf_import_size size = {"n", n, n};
    const vf_import_options options = {.size = sizeof options, .size_count = 1, .sizes = &size};
    vf_graph *alone = import(&options);
    vf_program *q = compiled(alone);
    assert_int_equal(vf_variable_count(q), 0);
    run_floats(p, in, symbolic, &n);
    run_floats(q, in, fixed, NULL);
    for (int64_t k = 0; k < n * 12; k++)
      assert_true(fabsf(symbolic[k] - fixed[k]) <= 1e-5f * (1 + fabsf(fixed[k])));
    vf_program_destroy(q);
    vf_graph_destroy(alone);
  }
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void sizes_have_bounds(void **state) {
  int64_t low, high;
  const vf_import_size size = {"n", 3, 700};
  const vf_import_options options = {.size = sizeof options, .size_count = 1, .sizes = &size};
  graph.size = 0;
  model_input(&graph, "x[n]");
  model_node(&graph, 1, "Neg x -> y", NULL, NULL);
  model_output(&graph, "y[n]");
  vf_graph *g = import(&options);
  vf_program *p = compiled(g);
  assert_true(vf_variable_range(p, 0, &low, &high, NULL));
  assert_int_equal(low, 3);
  assert_int_equal(high, 700);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

/* Nodes before those whose results they have, as converters leave them: y = -(2 |x| + |x|). */
static void nodes_wait_for_their_inputs(void **state) {
  (void)state;
  static const float in[] = {1, -2, 3, -4};
  float y[4];
  graph.size = 0;
  model_input(&graph, "x[4]");
  model_node(&graph, 1, "Neg sum -> y", NULL, NULL);
  model_node(&graph, 1, "Add twice,a -> sum", NULL, NULL);
  model_node(&graph, 1, "Add a,a -> twice", NULL, NULL);
  model_node(&graph, 1, "Abs x -> a", NULL, NULL);
  model_output(&graph, "y[4]");
  vf_graph *g = import(NULL);
  vf_program *p = compiled(g);
  run_floats(p, in, y, NULL);
  for (int i = 0; i < 4; i++) assert_true(y[i] == -3 * fabsf(in[i]));
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

/* A model that is right for some sizes alone: given shapes hold wherever the model names their sizes. */
static void given_shapes_fix_sizes(void **state) {
  (void)state;
  const int64_t three[] = {3}, four[] = {4}, both[] = {3, 4};
  const vf_import_shape right[] = {{"x", 1, three}, {"y", 1, three}},
                        wrong[] = {{"x", 1, three}, {"y", 1, four}}, axes[] = {{"x", 2, both}},
                        fixed[] = {{"w", 1, four}}, named[] = {{"z", 1, four}};
  vf_import_options options = {.size = sizeof options, .shape_count = 2, .shapes = right};
  int64_t shape[1];
  graph.size = 0;
  model_input(&graph, "x[n]");
  model_input(&graph, "y[m]");
  model_input(&graph, "z[m]");
  model_input(&graph, "w[2]");
  model_node(&graph, 1, "Add x,y -> h", NULL, NULL);
  model_node(&graph, 1, "Mul h,z -> u", NULL, NULL);
  model_output(&graph, "u[n]");
  model_output(&graph, "w[2]");
  vf_graph *g = import(&options);
  vf_program *p = compiled(g);
  assert_int_equal(vf_variable_count(p), 0);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(vf_port_shape(p, VF_INPUT, i, NULL, shape, &error), VF_OK);
    assert_int_equal(shape[0], 3);
  }
  vf_program_destroy(p), vf_graph_destroy(g);
  refuses(NULL, VF_ERR_INVALID, (const char *const[]){"node", "n meets m", NULL});
  options.shapes = wrong;
  refuses(&options, VF_ERR_INVALID, (const char *const[]){"size 3 meets 4", NULL});
  options.shape_count = 1, options.shapes = axes;
  refuses(&options, VF_ERR_INVALID, (const char *const[]){"'x' is to have 2 axes; the model has 1", NULL});
  options.shapes = fixed;
  refuses(&options, VF_ERR_INVALID,
          (const char *const[]){"'w' is to have 4 on axis 0; the model has 2", NULL});
  const vf_import_shape twice[] = {right[1], named[0]};
  options.shape_count = 2, options.shapes = twice;
  refuses(&options, VF_ERR_INVALID,
          (const char *const[]){"'z' is to have 4", "'m', which is 3 by another", NULL});
}

/* A given shape is that of a tensor, also of an optional one; tensors of sequences have their own sizes. */
static void given_shapes_are_of_tensors(void **state) {
  (void)state;
  const int64_t three[] = {3}, expected[] = {3, 3, 5};
  const vf_import_shape tensors[] = {{"x", 1, three}, {"o", 1, three}}, sequence[] = {{"s", 1, three}};
  const vf_import_size sizes[] = {{"s", 1, 1}, {"m_0", 5, 5}};
  vf_import_options options = {
      .size = sizeof options, .size_count = 2, .sizes = sizes, .shape_count = 2, .shapes = tensors};
  int64_t shape[1];
  graph.size = 0;
  model_input(&graph, "x[n]");
  model_input(&graph, "optional o[m]");
  model_input(&graph, "sequence s[m]");
  model_integers(&graph, "first", 1, (const int64_t[]){0});
  model_node(&graph, 1, "OptionalGetElement o -> e", NULL, NULL);
  model_node(&graph, 1, "Add x,e -> y", NULL, NULL);
  model_node(&graph, 1, "SequenceAt s,first -> t", NULL, NULL);
  model_output(&graph, "y[n]");
  model_output(&graph, "t[k]");
  vf_graph *g = import(&options);
  vf_program *p = compiled(g);
  assert_int_equal(vf_variable_count(p), 0);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(vf_port_shape(p, VF_INPUT, i, NULL, shape, &error), VF_OK);
    assert_int_equal(shape[0], expected[i]);
  }
  vf_program_destroy(p), vf_graph_destroy(g);
  options.shape_count = 1, options.shapes = sequence;
  refuses(&options, VF_ERR_UNSUPPORTED,
          (const char *const[]){"'s' is a sequence; takes shapes of tensors", NULL});
}

/* Exporters write sums of sizes as a name. */
static void sizes_may_be_sums(void **state) {
  int64_t shape[2];
  const int64_t values[] = {3, 5};
  graph.size = 0;
  model_input(&graph, "x[past,4]");
  model_input(&graph, "y[length,4]");
  model_input(&graph, "z[past + length,8]");
  model_node(&graph, 1, "Concat x,y -> both axis=0", NULL, NULL);
  model_node(&graph, 1, "Concat both,both -> wide axis=1", NULL, NULL);
  model_node(&graph, 1, "Add wide,z -> sum", NULL, NULL);
  model_output(&graph, "sum[a,b]");
  vf_graph *g = import(NULL);
  vf_program *p = compiled(g);
  assert_int_equal(vf_variable_count(p), 2);
  assert_int_equal(vf_port_shape(p, VF_OUTPUT, 0, values, shape, &error), VF_OK);
  assert_true(shape[0] == 8 && shape[1] == 8);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void a_shape_that_is_an_input_is_asked_for(void **state) {
  const int64_t shape[] = {2, 3}, two = 2;
  const vf_import_value value = {"s", VF_I64, 1, &two, shape};
  const vf_import_options options = {.size = sizeof options, .value_count = 1, .values = &value};
  const float in[6] = {1, 2, 3, 4, 5, 6};
  float out[6];
  graph.size = 0;
  model_input(&graph, "x[6]");
  model_input(&graph, "i64 s[2]");
  model_node(&graph, 1, "Reshape x,s -> r", NULL, NULL);
  model_node(&graph, 1, "Transpose r -> y", NULL, NULL);
  model_output(&graph, "y[3,2]");
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_UNSUPPORTED, "Reshape", "operator set 19", "the model's input 's'", "fixed value");
  vf_graph *g = import(&options);
  vf_program *p = compiled(g);
  run_floats(p, in, out, NULL);
  const float want[6] = {1, 4, 2, 5, 3, 6};
  assert_memory_equal(out, want, sizeof want);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

/* control flow */

static void loops_stay_loops(void **state) {
  const float in[3] = {1, -2, 3};
  float last[3], all[15];
  model_sample(&model, 3);
  vf_graph *g = vf_import_onnx(context, written(&model), NULL, &error);
  assert_non_null(g);
  char *text = vf_graph_text(g, &error);
  assert_non_null(strstr(text, "scan"));
  vf_text_free(context, text);
  vf_program *p = compiled(g);
  const void *inputs[] = {in};
  void *outputs[] = {last, all};
  assert_int_equal(vf_program_run(p, inputs, outputs, NULL, &error), VF_OK);
  assert_true(last[0] == 6 && last[1] == -12 && last[2] == 18); /* x + 5 x */
  assert_true(all[0] == 2 && all[1] == 0 && all[12] == 6 && all[13] == 0 && all[14] == 18);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

/* x is doubled while its sum is below a limit that is data. */
static void a_loop_may_end_early(void **state) {
  static model_bytes body;
  static const float limit = 100;
  body.size = graph.size = 0;
  model_input(&body, "i64 i[]");
  model_input(&body, "bool c[]");
  model_input(&body, "v[2]");
  model_node(&body, 1, "Add v,v -> w", NULL, NULL);
  model_node(&body, 1, "ReduceSum w -> sum keepdims=0", NULL, NULL);
  model_node(&body, 1, "Less sum,limit -> more", NULL, NULL);
  model_output(&body, "bool more[]");
  model_output(&body, "w[2]");
  model_floats(&graph, "limit", 0, NULL, &limit);
  model_input(&graph, "x[2]");
  model_node(&graph, 1, "Loop ,,x -> y", "body", &body);
  model_output(&graph, "y[2]");
  vf_graph *g = import(NULL);
  char *text = vf_graph_text(g, &error);
  assert_non_null(strstr(text, "while"));
  vf_text_free(context, text);
  vf_program *p = compiled(g);
  float out[2];
  run_floats(p, (const float[]){1, 2}, out, NULL);
  assert_true(out[0] == 64 && out[1] == 128); /* 96 is below 100, 192 is not */
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void a_condition_chooses_when_it_runs(void **state) {
  static model_bytes yes, no;
  static const float two = 2;
  yes.size = no.size = graph.size = 0;
  model_node(&yes, 1, "Neg x -> a", NULL, NULL);
  model_output(&yes, "a[2]");
  model_node(&no, 1, "Mul x,two -> b", NULL, NULL);
  model_output(&no, "b[2]");
  model_floats(&graph, "two", 0, NULL, &two);
  model_input(&graph, "x[2]");
  model_node(&graph, 1, "ReduceMax x -> m keepdims=0", NULL, NULL);
  model_node(&graph, 1, "Greater m,two -> p", NULL, NULL);
  model_choice(&graph, "If p -> y", &yes, &no);
  model_output(&graph, "y[2]");
  vf_graph *g = import(NULL);
  vf_program *p = compiled(g);
  float out[2];
  run_floats(p, (const float[]){1, 3}, out, NULL);
  assert_true(out[0] == -1 && out[1] == -3);
  run_floats(p, (const float[]){1, 0.5f}, out, NULL);
  assert_true(out[0] == 2 && out[1] == 1);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static void functions_are_inlined(void **state) {
  model_sample(&model, MODEL_SAMPLES - 1); /* the root of twice the argument, twice */
  vf_graph *g = vf_import_onnx(context, written(&model), NULL, &error);
  assert_non_null(g);
  vf_program *p = compiled(g);
  const int64_t n = 2;
  float out[2];
  run_floats(p, (const float[]){2, 32}, out, &n);
  assert_true(fabsf(out[0] - 2) < 1e-6f && fabsf(out[1] - 4) < 1e-6f);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

/* weights beside the model */

static void weights_model(const char *file, const char *offset, const char *length) {
  static model_bytes t, entry;
  const char *const pairs[3][2] = {{"location", file}, {"offset", offset}, {"length", length}};
  t.size = graph.size = 0;
  model_number(&t, 1, 512);
  model_number(&t, 2, 1);
  model_text(&t, 8, "w");
  for (int i = 0; i < 3; i++) {
    entry.size = 0;
    model_text(&entry, 1, pairs[i][0]);
    model_text(&entry, 2, pairs[i][1]);
    model_message(&t, 13, &entry);
  }
  model_number(&t, 14, 1);
  model_message(&graph, 5, &t);
  model_input(&graph, "x[512]");
  model_node(&graph, 1, "Add x,w -> y", NULL, NULL);
  model_output(&graph, "y[512]");
  model_whole(&model, &graph, NULL);
}

static void weights_may_be_in_another_file(void **state) {
  static float weights[516], in[512], out[512];
  char path[300];
  for (int i = 0; i < 516; i++) weights[i] = (float)i;
  snprintf(path, sizeof path, "%s/w.bin", folder);
  unit_write_file(path, weights, sizeof weights);
  weights_model("w.bin", "16", "2048");
  vf_graph *g = import(NULL);
  vf_program *p = compiled(g);
  vf_graph_destroy(g);
  run_floats(p, in, out, NULL);
  assert_memory_equal(out, weights + 4, sizeof out);
  vf_program_destroy(p);
  weights_model("w.bin", "32", "2048");
  REFUSES(VF_ERR_INVALID, "'w'", "2048 bytes at byte 32", "w.bin", "2064");
  weights_model("../w.bin", "0", "2048");
  REFUSES(VF_ERR_INVALID, "'w'", "outside of the model's folder");
  weights_model("/etc/passwd", "0", "2048");
  REFUSES(VF_ERR_INVALID, "outside of the model's folder");
  weights_model("none.bin", "0", "2048");
  assert_null(vf_import_onnx(context, written(&model), NULL, &error));
  assert_int_equal(error.status, VF_ERR_IO);
  assert_non_null(strstr(error.message, "none.bin"));
}

/* The text of a graph says where in the model its weights are: another context runs it without the model. */
static void text_says_where_weights_are(void **state) {
  (void)state;
  static float weights[600], in[600], out[600], twice[600];
  const int64_t dims[] = {600};
  for (int i = 0; i < 600; i++) weights[i] = (float)i, in[i] = 1, twice[i] = 2 * weights[i];
  for (int shift = 0; shift < 4; shift++) { /* so that they begin at any address */
    graph.size = 0;
    model_input(&graph, "x[600]");
    model_text(&graph, 10, "abcd" + shift);
    model_floats(&graph, "layer.weight", 1, dims, weights);
    model_node(&graph, 1, "Mul x,layer.weight -> y", NULL, NULL);
    model_output(&graph, "y[600]");
    vf_graph *g = import(NULL);
    assert_int_equal(vf_constant_count(g), 1);
    assert_string_equal(vf_constant_name(g, 0), "layer.weight");
    char *text = vf_graph_text(g, &error), path[300];
    assert_non_null(strstr(text, "data file=\"model.onnx\" offset="));
    snprintf(path, sizeof path, "%s/g.vf", folder);
    vf_context *other = api_context();
    vf_graph *same = vf_graph_parse(other, text, strlen(text), path, NULL, &error);
    if (!same) fail_msg("%s", error.message);
    vf_text_free(context, text);
    vf_graph_destroy(g);
    vf_program *p = compiled(same);
    run_floats(p, in, out, NULL);
    assert_memory_equal(out, weights, sizeof out);
    vf_value w = vf_constant_at(same, vf_constant_find(same, "layer.weight"));
    assert_int_equal(vf_program_set_constant(p, w, twice, NULL, NULL, &error), VF_OK);
    run_floats(p, in, out, NULL);
    assert_memory_equal(out, twice, sizeof out);
    vf_program_destroy(p), vf_graph_destroy(same);
  }
}

/* what is refused */

static void a_missing_operator_is_named(void **state) {
  graph.size = 0;
  model_input(&graph, "x[n]");
  model_node(&graph, 1, "ImageDecoder x -> y", NULL, NULL);
  model_output(&graph, "y[m]");
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_UNSUPPORTED, "ImageDecoder", "operator set 19", "'x' f32[n]", "a decoder of picture files");
}

static void wrong_models_are_refused(void **state) {
  graph.size = 0;
  model_input(&graph, "x[2,3]");
  model_input(&graph, "z[4]");
  model_node(&graph, 1, "Add x,z -> y", NULL, NULL);
  model_output(&graph, "y[2,3]");
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_INVALID, "Add", "'x' f32[2,3]", "'z' f32[4]");
  graph.size = 0;
  model_input(&graph, "x[2,3]");
  model_node(&graph, 1, "Neg nothing -> y", NULL, NULL);
  model_output(&graph, "y[2,3]");
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_INVALID, "Neg", "'nothing'", "computed by no node before it");
  graph.size = 0; /* each waits for the other */
  model_input(&graph, "x[2,3]");
  model_node(&graph, 1, "Add x,a -> y", NULL, NULL);
  model_node(&graph, 1, "Add x,y -> a", NULL, NULL);
  model_output(&graph, "y[2,3]");
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_INVALID, "Add", "'a'", "computed by no node before it");
  graph.size = 0;
  model_input(&graph, "x[2,3]");
  model_node(&graph, 1, "Neg x -> x", NULL, NULL);
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_INVALID, "'x'", "two values");
  graph.size = 0;
  model_input(&graph, "x[2,3]");
  model_node(&graph, 1, "Neg x -> y", NULL, NULL);
  model_whole(&model, &graph, NULL);
  REFUSES(VF_ERR_INVALID, "no outputs");
  model.size = 2;
  REFUSES(VF_ERR_INVALID, "is it an ONNX model?");
  model.size = 0;
  REFUSES(VF_ERR_INVALID, "the file is empty");
}

/* Functions that call each other twice each would be 2^40 nodes. */
static void functions_do_not_explode(void **state) {
  static model_bytes f, whole;
  char text[60];
  graph.size = whole.size = 0;
  model_input(&graph, "x[2]");
  model_node(&graph, 1, "F20 x -> y", NULL, NULL);
  model_output(&graph, "y[2]");
  model_whole(&model, &graph, NULL);
  for (int i = 0; i <= 20; i++) {
    f.size = 0;
    snprintf(text, sizeof text, "F%d", i);
    model_text(&f, 1, text);
    model_text(&f, 4, "a");
    model_text(&f, 5, "c");
    for (int k = 0; k < 2; k++) {
      if (i) snprintf(text, sizeof text, "F%d %s -> %s", i - 1, k ? "b" : "a", k ? "c" : "b");
      else snprintf(text, sizeof text, "Neg %s -> %s", k ? "b" : "a", k ? "c" : "b");
      model_node(&f, 7, text, NULL, NULL);
    }
    model_message(&model, 25, &f);
  }
  REFUSES(VF_ERR_UNSUPPORTED, "functions become more than 13468 nodes, the most for a file of its size");
  f.size = 0; /* one that calls itself */
  model_text(&f, 1, "G");
  model_text(&f, 4, "a");
  model_text(&f, 5, "b");
  model_node(&f, 7, "G a -> b", NULL, NULL);
  graph.size = 0;
  model_input(&graph, "x[2]");
  model_node(&graph, 1, "G x -> y", NULL, NULL);
  model_whole(&model, &graph, &f);
  REFUSES(VF_ERR_UNSUPPORTED, "nest more than");
}

static void files_that_are_cut_off_are_refused(void **state) {
  for (int i = 0; i < MODEL_SAMPLES; i++) {
    model_sample(&model, i);
    assert_true(model_check(model.bytes, model.size));
    for (size_t size = 0; size < model.size; size++) {
      uint8_t *exact = malloc(size + 1);
      memcpy(exact, model.bytes, size);
      model_check(exact, size);
      free(exact);
    }
  }
}

/* Every allocation of importing fails in turn, alone. */
static void allocations_may_fail(void **state) {
  for (int i = 0; i < MODEL_SAMPLES; i++) {
    test_memory memory = {0};
    const vf_options options = {.size = sizeof options,
                                .allocator = test_memory_hook,
                                .allocator_user = &memory,
                                .threads = 1,
                                .flags = VF_NO_DISK};
    vf_context *c = vf_context_create(&options, &error);
    size_t live = memory.live;
    bool done = false;
    model_sample(&model, i);
    for (long number = 1; !done; number++) {
      ir_error failure = {0};
      memory.fail_at = memory.allocations + number;
      vf_graph *g = onnx_import_memory(c, "model.onnx", model.bytes, model.size, NULL, &failure);
      done = memory.allocations < memory.fail_at;
      memory.fail_at = 0;
      if (!g && failure.status != IR_ERR_MEMORY) fail_msg("sample %d, %ld: %s", i, number, failure.text);
      vf_graph_destroy(g);
      assert_int_equal(memory.live, live);
    }
    vf_context_destroy(c);
    assert_int_equal(memory.live, 0);
  }
}

/* the wire format */

static bool reads(const wire_message *message, const uint8_t *bytes, size_t size, size_t limit, void *out) {
  ir_error failure = {0};
  wire_arena arena = {.mem = &ir_mem_libc, .error = &failure, .limit = limit};
  wire_bytes all = {bytes, size};
  bool good = wire_read(&arena, message, all, all, out);
  if (good == (failure.status != IR_OK)) fail_msg("%d, but '%s'", good, failure.text);
  wire_free(&arena);
  return good;
}

static void numbers_are_packed_or_not(void **state) {
  /* dims 1, 300 packed, then 5; data_type 1; a field that is not known */
  const uint8_t bytes[] = {0x0a, 3, 1, 0xac, 2, 0x08, 5, 0x10, 1, 0xf8, 7, 9};
  onnx_tensor t = {0};
  ir_error failure = {0};
  wire_arena arena = {.mem = &ir_mem_libc, .error = &failure, .limit = 1000};
  wire_bytes all = {bytes, sizeof bytes};
  assert_true(wire_read(&arena, &onnx_tensor_message, all, all, &t));
  assert_int_equal(t.dims.count, 3);
  assert_int_equal(((int64_t *)t.dims.items)[1], 300);
  assert_int_equal(((int64_t *)t.dims.items)[2], 5);
  assert_int_equal(t.dtype, 1);
  wire_free(&arena);
}

static void damaged_messages_are_refused(void **state) {
  static const struct {
    uint8_t bytes[12];
    size_t size;
  } bad[] = {{{0x80}, 1}, /* a key that does not end */
             {{0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 12}, /* eleven bytes */
             {{0x4a, 5, 1, 2}, 4}, /* longer than what is left */
             {{0x4a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11},
             {{0x15, 1, 2, 3, 4}, 5}, /* data_type as 4 bytes */
             {{0x22, 3, 0, 0, 0}, 5}, /* floats of 3 bytes */
             {{0x25, 0, 0}, 3},       /* a float of 2 */
             {{0x0a, 2, 1, 0x80}, 4}, /* packed, does not end */
             {{0xfb, 7}, 2},          /* a group */
             {{0xfe, 7}, 2}};         /* wire type 6 */
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    onnx_tensor t = {0};
    if (reads(&onnx_tensor_message, bad[i].bytes, bad[i].size, 1 << 20, &t))
      fail_msg("number %zu is read", i);
  }
  uint8_t many[400]; /* more numbers than the limit has room for */
  for (int i = 0; i < 400; i++) many[i] = i % 2 ? 1 : 0x08;
  onnx_tensor t = {0};
  assert_false(reads(&onnx_tensor_message, many, sizeof many, 256, &t));
}

UNIT_TESTS_BETWEEN(set_up, tear_down, one_program_serves_all_lengths, sizes_have_bounds,
                   nodes_wait_for_their_inputs, given_shapes_fix_sizes, given_shapes_are_of_tensors,
                   sizes_may_be_sums, a_shape_that_is_an_input_is_asked_for, loops_stay_loops,
                   a_loop_may_end_early, a_condition_chooses_when_it_runs, functions_are_inlined,
                   weights_may_be_in_another_file, text_says_where_weights_are, a_missing_operator_is_named,
                   wrong_models_are_refused, functions_do_not_explode, files_that_are_cut_off_are_refused,
                   allocations_may_fail, numbers_are_packed_or_not, damaged_messages_are_refused)
