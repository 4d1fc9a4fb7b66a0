/* Steps of optimisers against their formulas in double, and arrays that go through .npy files. */
#include <math.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

enum { N = 5, STEPS = 4 };

/* A program of one step: inputs w, g, a, b, step; outputs w, a, b. */
static vf_program *adam_program(vf_context *c, const vf_adam_options *options) {
  vf_graph *g = api_graph(c, "adam");
  vf_value w = vf_input(g, "w", VF_F32, VF_LIST(N)), gradient = vf_input(g, "g", VF_F32, VF_LIST(N)),
           a = vf_input(g, "a", VF_F32, VF_LIST(N)), b = vf_input(g, "b", VF_F32, VF_LIST(N)),
           step = vf_input(g, "step", VF_I32, VF_ALL);
  vf_adam(1, &w, &gradient, &a, &b, vf_number(g, 0.1), step, options);
  vf_output(g, "w1", w);
  vf_output(g, "a1", a);
  vf_output(g, "b1", b);
  return api_compile(g);
}

static void adam(void **state) {
  const vf_adam_options options = {.size = sizeof options, .decay = 0.01};
  vf_program *p = adam_program(api_context(), &options);
  float w[N] = {1, -2, 3, 0.5f, 0}, a[N] = {0}, b[N] = {0}, w1[N], a1[N], b1[N], g[N];
  double W[N], A[N] = {0}, B[N] = {0};
  for (int i = 0; i < N; i++) W[i] = (double)w[i];
  for (int32_t t = 1; t <= STEPS; t++) {
    for (int i = 0; i < N; i++) g[i] = (float)(i - 2) * 0.5f / (float)t;
    api_run(p, (const void *[]){w, g, a, b, &t}, (void *[]){w1, a1, b1}, NULL);
    for (int i = 0; i < N; i++) {
      double d = (double)g[i];
      A[i] = 0.9 * A[i] + 0.1 * d;
      B[i] = 0.999 * B[i] + 0.001 * d * d;
      double mean = A[i] / (1 - pow(0.9, t)), square = B[i] / (1 - pow(0.999, t));
      W[i] -= 0.1 * (mean / (sqrt(square) + 1e-8) + 0.01 * W[i]);
      assert_float_equal(w1[i], W[i], 2e-4);
      w[i] = w1[i], a[i] = a1[i], b[i] = b1[i];
    }
  }
}

static void sgd(void **state) {
  vf_graph *g = api_graph(api_context(), "sgd");
  vf_value w[2] = {vf_input(g, "w", VF_F32, VF_LIST(2)), vf_input(g, "v", VF_F32, VF_LIST(2))};
  vf_value d[2] = {vf_input(g, "d", VF_F32, VF_LIST(2)), vf_input(g, "e", VF_F32, VF_LIST(2))};
  vf_value speed[2] = {vf_input(g, "s", VF_F32, VF_LIST(2)), vf_input(g, "t", VF_F32, VF_LIST(2))};
  vf_sgd(2, w, d, speed, vf_number(g, 0.5), 0.25);
  for (int i = 0; i < 2; i++) vf_output(g, i ? "v1" : "w1", w[i]), vf_output(g, i ? "t1" : "s1", speed[i]);
  vf_program *p = api_compile(g);
  float W[2] = {1, 2}, V[2] = {3, 4}, D[2] = {1, 0}, E[2] = {0, 2}, S[2] = {4, 8}, T[2] = {0, -4}, o[4][2];
  api_run(p, (const void *[]){W, V, D, E, S, T}, (void *[]){o[0], o[1], o[2], o[3]}, NULL);
  const float want[4][2] = {{0, 1}, {2, 2}, {3, 3.5f}, {0, 1}};
  assert_memory_equal(o, want, sizeof want);
}

/* What an optimiser does not take is noted in the graph, by its name; the weights are error values. */
static void refused(void **state) {
  (void)state;
  vf_graph *g = api_graph(api_context(), "refused");
  vf_value w, x = vf_input(g, "x", VF_F32, VF_LIST(2)), rate = vf_number(g, 0.1), step = vf_integer(g, 1);
  const vf_adam_options empty = {0};
  vf_value means = x, squares = x;
#define REFUSED(call, message)                                                                               \
  w = x, call;                                                                                               \
  assert_false(vf_ok(w));                                                                                    \
  api_check_reason(vf_graph_message(g), message);                                                            \
  vf_graph_clear_error(g)
  REFUSED(vf_sgd(1, &w, &x, NULL, x, 0), "sgd: the rate has shape f32[2]; it must be a scalar");
  REFUSED(
      vf_sgd(1, &w, &x, NULL, rate, 0.9),
      "sgd: the list of speeds is NULL, and the momentum 0.9; give a speed for each weight, zeros at first, "
      "or a momentum of 0");
  REFUSED(vf_adam(1, &w, &x, &means, &squares, rate, step, &empty),
          "adam: the size of options is 0; it must be sizeof(vf_adam_options)");
  REFUSED(vf_adam(1, &w, &x, &means, &squares, rate, vf_integer(g, 0), NULL),
          "adam: the step is 0; steps count from 1");
#undef REFUSED
}

static void npy_files(void **state) {
  vf_context *c = api_context();
  vf_error error;
  const int16_t x[6] = {1, -2, 3, 4, 5, -6};
  vf_tensor *t = vf_tensor_create(c, VF_I16, VF_LIST(2, 3), x, &error);
  assert_int_equal(vf_npy_write(t, "build/test_learning.npy", &error), VF_OK);
  vf_tensor *back = vf_npy_read(c, "build/test_learning.npy", &error);
  int64_t shape[VF_MAX_RANK];
  assert_non_null(back);
  assert_int_equal(vf_tensor_dtype(back), VF_I16);
  assert_true(vf_tensor_shape(back, shape) == 2 && shape[0] == 2 && shape[1] == 3);
  assert_memory_equal(vf_tensor_data(back, &error), x, sizeof x);
  vf_arrays *a = vf_arrays_open(c, "build/test_learning.npy", &error);
  int16_t y[6];
  assert_int_equal(vf_arrays_read(a, 0, y, sizeof y, &error), VF_OK);
  assert_memory_equal(x, y, sizeof x);
  assert_int_equal(vf_arrays_read(a, 0, y, 4, &error), VF_ERR_INVALID);
  assert_string_equal(error.message, "arrays: the array has 12 bytes, and memory of 4 is given");
  assert_int_equal(vf_arrays_read(a, 1, y, sizeof y, &error), VF_ERR_INVALID);
  assert_int_equal(vf_npy_write(t, "build/x.bin", &error), VF_ERR_INVALID);
  assert_null(vf_npy_read(c, "build/no_such.npy", &error));
  assert_int_equal(error.status, VF_ERR_IO);
  vf_arrays_close(a);
  vf_tensor_release(back);
  vf_tensor_release(t);
  remove("build/test_learning.npy");
}

UNIT_TESTS(adam, sgd, refused, npy_files)
