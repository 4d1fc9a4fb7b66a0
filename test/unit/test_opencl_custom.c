/* Custom operations and tensors on an OpenCL device, through the public API. */
#include "frontend/viewfold.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

static vf_error error;

static vf_context *open_context(const char *device) {
  vf_options o = {.size = sizeof o, .device = device, .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&o, &error);
  if (!c) fail_msg("%s", error.message);
  return c;
}

/* y[r,c] = x[c,r] * factor, as OpenCL C alone, with sizes as arguments in each of the possible forms. */
static const char transpose_text[] =
    "int scaled_transpose(global const float *x, global float *y, long rows, const long "
    "*shape, float factor, uchar fails) {\n"
    "  long i = get_global_id(0), r = i / shape[1], c = i % shape[1];\n"
    "  y[i] = x[c * rows + r] * factor;\n"
    "  return fails && i == 3;\n"
    "}\n";
static const vf_op_attribute transpose_attributes[] = {{"factor", VF_F64, false, {.f = 0}},
                                                       {"fails", VF_BOOL, true, {.i = 0}}};
static bool transposed_shape(const vf_op_call *call, vf_op_type *results) {
  results[0] = (vf_op_type){.dtype = VF_F32,
                            .rank = 2,
                            .shape = {vf_op_size(call->operands[0], 1), vf_op_size(call->operands[0], 0)}};
  return true;
}

static void add_transpose(vf_context *c, const char *text) {
  vf_op_description d = {.size = sizeof d,
                         .name = "scaled_transpose",
                         .operands = 1,
                         .results = 1,
                         .attribute_count = 2,
                         .attributes = transpose_attributes,
                         .shape = transposed_shape,
                         .opencl = text,
                         .signature =
                             "int(in0, out0, i64 in0[1], out0.shape, f32 factor, bool fails, message)"};
  if (vf_register_op(c, &d, &error)) fail_msg("%s", error.message);
}

/* y[i] = x[i] + i: a host function, between kernels. */
static int calls;
static void add_index(const float *x, float *y, int64_t n) {
  calls++;
  for (int64_t i = 0; i < n; i++) y[i] = x[i] + (float)i;
}
static void add_host(vf_context *c) {
  vf_op_description d = {.size = sizeof d,
                         .name = "add_index",
                         .operands = 1,
                         .results = 1,
                         .function = (void (*)(void))add_index,
                         .signature = "void(in0, out0, i64 in0.count)"};
  if (vf_register_op(c, &d, &error)) fail_msg("%s", error.message);
}

static vf_program *compile(vf_context *c, const char *text) {
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "test", NULL, &error);
  if (!g) fail_msg("%s", error.message);
  vf_program *p = vf_compile(g, &error);
  vf_graph_destroy(g);
  return p;
}

static const char transpose_graph[] = "graph @g(%x: f32[2,3]) {\n"
                                      "  %a = mul %x, 2.0\n"
                                      "  %b = scaled_transpose %a factor=3.0\n"
                                      "  %c = add_index %b\n"
                                      "  %d = mul %c, 0.5\n"
                                      "  return %d\n"
                                      "}\n";

static void on_the_device_and_on_the_host(void **state) {
  static const char *const modes[] = {"", "gpu"};
  for (int mode = 0; mode < 2; mode++) {
    opencl_set("%s", modes[mode]);
    vf_context *c = open_context("opencl");
    add_transpose(c, transpose_text);
    add_host(c);
    vf_program *p = compile(c, transpose_graph);
    if (!p) fail_msg("%s", error.message);
    calls = 0;
    for (int k = 0; k < 3; k++) {
      float x[6], out[6];
      for (int i = 0; i < 6; i++) x[i] = (float)(i + k), out[i] = -1;
      if (vf_program_run(p, (const void *[]){x}, (void *[]){out}, NULL, &error))
        fail_msg("%s", error.message);
      for (int i = 0; i < 6; i++) assert_true(out[i] == (x[i % 2 * 3 + i / 2] * 6 + (float)i) * 0.5f);
    }
    assert_int_equal(calls, 3);
    vf_program_destroy(p);
    vf_context_destroy(c);
    assert_int_equal(opencl_buffers(), 0);
  }
}

/* The n-th call of a function of the driver fails, for each n until a run says `says`. */
static void fails_with(const char *call, const char *says) {
  for (int n = 1; n < 40; n++) {
    opencl_set("gpu");
    vf_context *c = open_context("opencl");
    add_transpose(c, transpose_text);
    add_host(c);
    vf_program *p = compile(c, transpose_graph);
    if (!p) fail_msg("%s", error.message);
    float x[6] = {0}, out[6];
    opencl_set("gpu fail=%s:%d+:-5", call, n);
    vf_status status = vf_program_run(p, (const void *[]){x}, (void *[]){out}, NULL, &error);
    opencl_set("gpu");
    vf_program_destroy(p);
    vf_context_destroy(c);
    if (status && strstr(error.message, says)) return;
  }
  fail_msg("%s: %s", says, error.message);
}

static void host_memory_that_fails(void **state) {
  fails_with("EnqueueMapBuffer", ": mapping 24 bytes for the host");
  fails_with("EnqueueUnmapMemObject", ": unmapping bytes from the host");
}

static void batches_and_failures(void **state) {
  opencl_set("%s", "");
  vf_context *c = open_context("opencl");
  add_transpose(c, transpose_text);
  vf_program *p =
      compile(c, "graph @g(%x: f32[4|2,3]) {\n  %b = scaled_transpose %x factor=1.0\n  return %b\n}\n");
  if (!p) fail_msg("%s", error.message);
  float x[24], out[24];
  for (int i = 0; i < 24; i++) x[i] = (float)i;
  if (vf_program_run(p, (const void *[]){x}, (void *[]){out}, NULL, &error)) fail_msg("%s", error.message);
  for (int i = 0; i < 24; i++) assert_true(out[i] == x[i / 6 * 6 + i % 2 * 3 + i % 6 / 2]);
  vf_program_destroy(p);
  p = compile(
      c, "graph @bad(%x: f32[2,3]) {\n  %b = scaled_transpose %x factor=1.0 fails=true\n  return %b\n}\n");
  if (!p) fail_msg("%s", error.message);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(vf_program_run(p, (const void *[]){x}, (void *[]){out}, NULL, &error), VF_ERR_DEVICE);
    assert_non_null(strstr(error.message, "graph @bad: custom operation scaled_transpose: it failed"));
  }
  vf_program_destroy(p);
  vf_context_destroy(c);
}

static void a_text_that_is_wrong(void **state) {
  opencl_set("%s", "");
  vf_context *c = open_context("opencl");
  add_transpose(c, "int scaled_transpose(nonsense *x) { return 0; }\n");
  vf_program *p =
      compile(c, "graph @g(%x: f32[2,3]) {\n  %b = scaled_transpose %x factor=1.0\n  return %b\n}\n");
  if (!p) fail_msg("%s", error.message);
  float x[6] = {0}, out[6];
  assert_int_equal(vf_program_run(p, (const void *[]){x}, (void *[]){out}, NULL, &error), VF_ERR_COMPILE);
  assert_non_null(strstr(error.message, "operation scaled_transpose"));
  if (!strstr(error.message, "nonsense")) fail_msg("%s", error.message);
  vf_program_destroy(p);
  vf_context_destroy(c);
}

/* Tensors are computed on the device, and stay there until their elements are read. */
static void tensors_stay(void **state) {
  static const char *const modes[] = {"", "gpu"};
  for (int mode = 0; mode < 2; mode++) {
    opencl_set("%s", modes[mode]);
    vf_context *contexts[2] = {open_context("opencl:0"), open_context("cpu")};
    for (int k = 0; k < 2; k++) { /* two devices in one process */
      vf_context *c = contexts[k];
      float start[1000];
      for (int i = 0; i < 1000; i++) start[i] = (float)i;
      vf_tensor *t = vf_tensor_create(c, VF_F32, VF_LIST(1000), start, &error);
      for (int step = 0; step < 10; step++) {
        vf_tensor *next =
            vf_tensor_keep(vf_add(vf_tensor_value(t), vf_number(vf_session(c, NULL), 1)), &error);
        assert_non_null(next);
        if (vf_tensor_realise(&next, 1, &error)) fail_msg("%s", error.message);
        vf_tensor_release(t);
        t = next;
      }
      if (k == 0) assert_int_equal(opencl_count("EnqueueReadBuffer"), 0);
      if (k == 0) /* only the staging buffer's, once */
        assert_int_equal(opencl_count("EnqueueMapBuffer"), mode);
      const float *data = vf_tensor_data(t, &error);
      assert_non_null(data);
      for (int i = 0; i < 1000; i++) assert_true(data[i] == (float)(i + 10));
      assert_ptr_equal(vf_tensor_data(t, &error), data);
      vf_tensor_release(t);
    }
    vf_context_destroy(contexts[0]);
    vf_context_destroy(contexts[1]);
    assert_int_equal(opencl_buffers(), 0);
  }
}

OPENCL_TESTS(NULL, NULL, on_the_device_and_on_the_host, host_memory_that_fails, batches_and_failures,
             a_text_that_is_wrong, tensors_stay)
