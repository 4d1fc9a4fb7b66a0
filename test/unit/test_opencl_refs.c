/* References of the session on a device: realising writes moves no elements between the device and the host.
 */
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
    opencl_set("%s", gpu ? "gpu" : "");
    vf_options options = {.size = sizeof options, .device = "opencl", .flags = VF_NO_DISK};
    vf_context *c = vf_context_create(&options, &error);
    assert_non_null(c);
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
    vf_context_destroy(c);
    assert_int_equal(opencl_buffers(), 0);
  }
}

OPENCL_TESTS(NULL, NULL, stays_on_the_device)
