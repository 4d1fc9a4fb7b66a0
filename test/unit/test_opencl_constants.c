/* Constants on an OpenCL device with memory of its own: programs of a context share the copies there. */
#include "frontend/viewfold.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { COUNT = 4096, PROGRAMS = 4 };
static vf_error error;
static float first[COUNT], second[COUNT], third[COUNT];
static const int64_t shape[] = {COUNT};

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < COUNT; i++)
    first[i] = (float)(i % 7), second[i] = (float)(i % 5), third[i] = (float)(i % 3);
  return 0;
}

static vf_context *open_context(void) {
  vf_options o = {.size = sizeof o, .device = "opencl", .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&o, &error);
  if (!c) fail_msg("%s", error.message);
  return c;
}

/* (a + b) * factor */
static vf_program *compile(vf_context *c, int factor, vf_value *b) {
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_value a = vf_constant_borrow(g, VF_F32, 1, shape, first, NULL, NULL);
  *b = vf_constant_borrow(g, VF_F32, 1, shape, second, NULL, NULL);
  vf_value x = vf_input(g, "x", VF_F32, 1, shape);
  vf_output(g, "y", vf_add(x, vf_mul(vf_add(a, *b), vf_number(g, factor))));
  vf_program *p = vf_compile(g, &error);
  if (!p) fail_msg("%s", error.message);
  vf_graph_destroy(g);
  return p;
}

static void run_right(const vf_program *p, const float *b, int factor) {
  static float x[COUNT], y[COUNT];
  if (vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, &error)) fail_msg("%s", error.message);
  for (int i = 0; i < COUNT; i++) assert_true(y[i] == (first[i] + b[i]) * (float)factor);
}

static void programs_share_copies(void **state) {
  (void)state;
  vf_program *programs[PROGRAMS];
  vf_value b[PROGRAMS];
  opencl_set("gpu run=1");
  vf_context *c = open_context();
  opencl_set("gpu run=2");
  programs[0] = compile(c, 1, &b[0]);
  assert_true(opencl_count("enqueue") >= 2); /* two constants */
  for (int i = 1; i < PROGRAMS; i++) {
    opencl_set("gpu run=%d", i + 2);
    programs[i] = compile(c, i + 1, &b[i]);
    assert_int_equal(opencl_count("enqueue"), 0);
    assert_int_equal(opencl_count("allocate"), 0);
  }
  for (int i = 0; i < PROGRAMS; i++) run_right(programs[i], second, i + 1);
  /* other elements for one of them: they are copied, and nothing else */
  opencl_set("gpu run=7");
  assert_int_equal(vf_program_set_constant(programs[1], b[1], third, NULL, NULL, &error), VF_OK);
  long one = opencl_count("enqueue");
  assert_true(one > 0);
  for (int i = 0; i < PROGRAMS; i++) run_right(programs[i], i == 1 ? third : second, i + 1);
  /* the copies stay for as long as a program reads them */
  vf_program_destroy(programs[0]);
  for (int i = 1; i < PROGRAMS; i++) run_right(programs[i], i == 1 ? third : second, i + 1);
  for (int i = 1; i < PROGRAMS; i++) vf_program_destroy(programs[i]);
  opencl_set("gpu run=8");
  programs[0] = compile(c, 1, &b[0]);
  assert_int_equal(opencl_count("enqueue"), 2 * one); /* they were given back: copied anew */
  run_right(programs[0], second, 1);
  vf_program_destroy(programs[0]);
  vf_context_destroy(c);
  assert_int_equal(opencl_buffers(), 0);
}

/* A copy that fails: an error, and the next program makes it. */
static void copying_fails(void **state) {
  (void)state;
  vf_value b;
  opencl_set("gpu run=10");
  vf_context *c = open_context();
  vf_program *p = compile(c, 1, &b), *q;
  vf_program_destroy(p);
  for (int n = 1; n <= 2; n++) {
    opencl_set("gpu fail=enqueue:%d:-5 run=%d", n, 10 + n);
    vf_graph *g = vf_graph_create(c, "g", &error);
    vf_value a = vf_constant_borrow(g, VF_F32, 1, shape, first, NULL, NULL),
             d = vf_constant_borrow(g, VF_F32, 1, shape, second, NULL, NULL);
    vf_output(g, "y", vf_add(vf_input(g, "x", VF_F32, 1, shape), vf_add(a, d)));
    q = vf_compile(g, &error);
    vf_graph_destroy(g);
    assert_null(q);
    assert_int_not_equal(error.status, VF_OK);
  }
  opencl_set("gpu run=20");
  p = compile(c, 3, &b);
  run_right(p, second, 3);
  vf_program_destroy(p);
  vf_context_destroy(c);
  assert_int_equal(opencl_buffers(), 0);
}

OPENCL_TESTS(set_up, NULL, programs_share_copies, copying_fails)
