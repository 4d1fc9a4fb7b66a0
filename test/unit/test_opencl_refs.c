/* References on a device: realising writes moves no elements between the device and the host; what was read
 * before a write keeps its elements; and what a run checks before it writes leaves an array as it is. */
#include "frontend/viewfold.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { ROWS = 64, COLUMNS = 96, STEPS = 4 };

static vf_error error;

/* Calls that move elements, or let the host see them. A program's index checks read a status word: here are
 * none. */
static long transfers(void) {
  static const char *const calls[] = {"EnqueueReadBuffer",    "EnqueueWriteBuffer", "EnqueueMapBuffer",
                                      "EnqueueCopyBuffer",    "EnqueueFillBuffer",  "CreateBuffer",
                                      "EnqueueUnmapMemObject"};
  long count = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) count += opencl_count(calls[i]);
  return count;
}

/* A context of a device of either type. */
static vf_context *context_of(bool gpu) {
  opencl_set("%s", gpu ? "gpu" : "");
  vf_options options = {.size = sizeof options, .device = "opencl", .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&options, &error);
  assert_non_null(c);
  return c;
}

static void ended(vf_context *c) {
  vf_context_destroy(c);
  assert_int_equal(opencl_buffers(), 0);
}

static void write_block(vf_ref a, int step) {
  vf_value at = vf_permute(vf_ref_target(a), VF_LIST(1, 0));
  vf_ref block = vf_ref_view(a, vf_shrink(at, VF_LIST(step, step + 8, 3, 5)));
  vf_ref_update(block, vf_number(at.graph, 1), VF_WRITE_ADD);
  vf_ref row = vf_ref_view(a, vf_point(vf_ref_target(a), 0, 0));
  vf_ref_set(row, vf_ref_get(vf_ref_view(a, vf_point(vf_ref_target(a), 3, 0))));
}

static void stays_on_the_device(void **state) {
  (void)state;
  for (int gpu = 0; gpu < 2; gpu++) {
    vf_context *c = context_of(gpu);
    vf_ref a = vf_ref_create(c, VF_F32, VF_LIST(ROWS, COLUMNS), NULL, &error);
    if (!vf_ok(a.target)) fail_msg("%s", error.message);
    write_block(a, 0); /* sends the elements */
    assert_int_equal(vf_ref_realise(a, &error), VF_OK);
    opencl_set("%s run=1", gpu ? "gpu" : "");
    for (int i = 1; i < STEPS; i++) {
      write_block(a, i);
      if (vf_ref_realise(a, &error)) fail_msg("%s", error.message);
    }
    assert_int_equal(transfers(), 0);
    assert_true(opencl_count("EnqueueNDRangeKernel") >= STEPS - 1);
    const float *data = vf_ref_data(a, &error);
    assert_non_null(data);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
      int row = i / COLUMNS ? i / COLUMNS : 3, want = 0;
      for (int step = 0; step < STEPS; step++)
        want += row >= 3 && row < 5 && i % COLUMNS >= step && i % COLUMNS < step + 8;
      if (data[i] != (float)want) fail_msg("gpu %d: element %d is %g, not %d", gpu, i, data[i], want);
    }
    vf_ref_release(a);
    ended(c);
  }
}

/* Values of a reference are recorded before it changes, and computed with it, or later. */
static void old_elements_stay(void **state) {
  (void)state;
  for (int gpu = 0; gpu < 2; gpu++) {
    vf_context *c = context_of(gpu);
    vf_ref a = vf_ref_create(c, VF_F32, VF_LIST(2, 3), (float[]){1, 2, 3, 4, 5, 6}, &error);
    if (!vf_ok(a.target)) fail_msg("%s", error.message);
    vf_ref row = vf_ref_view(a, vf_point(vf_ref_target(a), 1, 0));
    vf_tensor *sum = vf_tensor_keep(vf_sum(vf_ref_get(a), VF_LIST(0, 1), false), &error);
    vf_tensor *old = vf_tensor_keep(vf_ref_get(row), &error);
    vf_ref_update(row, vf_number(a.target.graph, 10), VF_WRITE_ADD);
    const float *data = vf_ref_data(a, &error);
    assert_non_null(data);
    for (int i = 0; i < 6; i++) assert_true(data[i] == (float)(i + 1 + (i < 3 ? 0 : 10)));
    data = vf_tensor_data(old, &error);
    assert_non_null(data);
    for (int i = 0; i < 3; i++) assert_true(data[i] == (float)(4 + i));
    data = vf_tensor_data(sum, &error);
    assert_true(data && data[0] == 21);
    vf_tensor_release(sum), vf_tensor_release(old);
    vf_ref_release(a);
    ended(c);
  }
}

/* The interval leaves the axis: that is found before anything is stored. */
static void checks_come_first(void **state) {
  (void)state;
  static const char text[] = "graph @f(%a: ref f32[8], %start: i64[], %end: i64[]) {\n"
                             "%p = address %a\n"
                             "%d = index_interval %start, %end, 1, false\n"
                             "%t = create_view %p, %d lengths=[n=0..6]\n"
                             "%a = assign %a, %t, 0.5 op=mul\n"
                             "return\n}\n";
  for (int gpu = 0; gpu < 2; gpu++) {
    vf_context *c = context_of(gpu);
    vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "test", NULL, &error);
    if (!g) fail_msg("%s", error.message);
    vf_program *p = vf_compile(g, &error);
    if (!p) fail_msg("%s", error.message);
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const int64_t start[] = {6, 4}, end[] = {10, 8};
    for (int i = 0; i < 2; i++) {
      vf_status status =
          vf_program_run(p, (const void *[]){a, &start[i], &end[i]}, (void *[]){NULL}, NULL, &error);
      assert_int_equal(status, i ? VF_OK : VF_ERR_RANGE);
      for (int k = 0; k < 8; k++) assert_true(a[k] == (float)(k + 1) * (i && k >= 4 ? 0.5F : 1));
    }
    vf_program_destroy(p), vf_graph_destroy(g);
    ended(c);
  }
}

OPENCL_TESTS(NULL, NULL, stays_on_the_device, old_elements_stay, checks_come_first)
