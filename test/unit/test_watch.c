/* Runs of the C API that stop where an operation makes a NaN or an infinity: what the caller's memory holds
 * then, what is not said twice, what is no fault. prop_nan plants faults in random graphs. */
#undef VF_NO_PLACES
#include <math.h>
#include <string.h>

#include "test/lib/api.h"
#include "test/lib/unit.h"

static int taps;
static void count_tap(void *user, const vf_tapped *tapped) {
  (void)user, (void)tapped;
  taps++;
}

static vf_context *watching(void) {
  return api_context_with(
      (vf_options){.size = sizeof(vf_options), .flags = VF_STOP_AT_NAN | VF_STOP_AT_INF, .tap = count_tap});
}

/* A reference keeps the elements that it had; the graph may be gone. */
static void references_stay(void **state) {
  vf_context *c = watching();
  vf_graph *g = api_graph(c, "learn");
  vf_ref w = vf_ref_input(g, "w", VF_F32, VF_LIST(3));
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(3));
  vf_ref_set(w, vf_add(vf_ref_get(w), vf_number(g, 1)));
  vf_value root = vf_name(vf_sqrt(x), "root");
  vf_ref_set(w, vf_mul(vf_ref_get(w), root));
  vf_output(g, "root", root);
  vf_program *p = api_compile(g);
  unit_release(g);
  float weights[3] = {1, 2, 3}, in[3] = {4, -1, 4}, out[3];
  vf_error error;
  assert_int_equal(vf_program_run(p, (const void *[]){weights, in}, (void *[]){out}, NULL, &error),
                   VF_ERR_VALUE);
  if (!strstr(error.message, "%root = sqrt %x (test/unit/test_watch.c:")) fail_msg("%s", error.message);
  assert_non_null(strstr(error.message, "makes a NaN: %root[1] is nan, where %x[1] is -1.0"));
  assert_true(weights[0] == 1 && weights[1] == 2 && weights[2] == 3);
  in[1] = 4;
  api_run(p, (const void *[]){weights, in}, (void *[]){out}, NULL);
  assert_true(weights[0] == 4 && weights[1] == 6 && weights[2] == 8);
}

/* Looking for the operation does not show values again. */
static void taps_are_silent(void **state) {
  vf_context *c = watching();
  vf_graph *g = api_parse(c, "graph @g(%x: f32[2]) {\n"
                             "  %t = tap %x name=\"x\"\n"
                             "  %y = log %t\n"
                             "  return %y\n"
                             "}\n");
  vf_program *p = api_compile(g);
  float x[2] = {1, -1}, y[2];
  vf_error error;
  taps = 0;
  assert_int_equal(vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, &error), VF_ERR_VALUE);
  assert_int_equal(taps, 1);
  assert_non_null(
      strstr(error.message, "%y = log %t (test:3) makes a NaN: %y[1] is nan, where %t[1] is -1.0"));
}

/* Constants of the graph, in kernels and as arrays, may have what runs stop at. */
static void constants_are_given(void **state) {
  vf_context *c = watching();
  vf_graph *g = api_graph(c, "mask");
  enum { N = 400 };
  static float mask[N], x[N], y[N];
  for (int i = 0; i < N; i++) mask[i] = i % 2 ? -INFINITY : 0;
  vf_value in = vf_input(g, "x", VF_F32, VF_LIST(N)),
           added = vf_add(in, vf_data(g, VF_F32, VF_LIST(N), mask));
  vf_output(g, "y", vf_where(vf_gt(in, vf_number(g, 5)), vf_number(g, -INFINITY), added));
  vf_program *p = api_compile(g);
  x[0] = 9;
  api_run(p, (const void *[]){x}, (void *[]){y}, NULL);
  assert_true(isinf(y[0]) && isinf(y[1]) && y[2] == 0);
  x[2] = -INFINITY;
  api_run(p, (const void *[]){x}, (void *[]){y}, NULL);
  assert_true(isinf(y[2]));
}

/* What only a kernel's own sum makes is said of the kernel. */
static void sums_that_overflow(void **state) {
  vf_context *c = watching();
  vf_graph *g = api_parse(c, "graph @g(%x: f32[4096]) {\n"
                             "  %y = sum %x\n"
                             "  return %y\n"
                             "}\n");
  vf_program *p = api_compile(g);
  static float x[4096];
  float y;
  vf_error error;
  for (int i = 0; i < 4096; i++) x[i] = i < 2048 ? 3e37f : -3e37f;
  vf_status status = vf_program_run(p, (const void *[]){x}, (void *[]){&y}, NULL, &error);
  if (status == VF_OK) assert_true(isfinite(y)); /* in another order the sum stays small */
  else assert_non_null(strstr(error.message, "from arrays that have none"));
}

static void variables(void **state) {
  vf_context *c = watching();
  vf_graph *g = api_parse(c, "graph @g(%x: f32[n=1..9]) {\n"
                             "  %y = div 1.0, %x\n"
                             "  return %y\n"
                             "}\n");
  vf_program *p = api_compile(g);
  float x[9] = {1, 2, 3, 0}, y[9];
  vf_error error;
  api_run(p, (const void *[]){x}, (void *[]){y}, &(int64_t){3});
  assert_int_equal(vf_program_run(p, (const void *[]){x}, (void *[]){y}, &(int64_t){4}, &error),
                   VF_ERR_VALUE);
  assert_non_null(strstr(error.message, "makes an infinity: %y[3] is inf, where %x[3] is 0.0"));
}

UNIT_TESTS(references_stay, taps_are_silent, constants_are_given, sums_that_overflow, variables)
