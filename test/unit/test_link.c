/* How long messages take (ir/mesh/link.h). */
#include "ir/mesh/link.h"
#include "test/lib/unit.h"

static const ir_link slow = {99e-6, 1e-6, 1e-9}; /* 100 us, 1 GB/s */

/* A latency up to the work of a device with a message is work alone. */
static void test_latency(void **state) {
  (void)state;
  ir_link l = ir_link_make(100e-6, 1e-9), fast = ir_link_make(0.25e-6, 1e-9);
  assert_true(l.flight + l.work == 100e-6 && l.work == IR_LINK_WORK);
  assert_true(fast.flight == 0 && fast.work == 0.25e-6);
}

/* One message takes its latency and its bytes; more of them share the bandwidth, not the latency. */
static void test_messages(void **state) {
  (void)state;
  ir_line line = {0};
  assert_int_equal(ir_line_pass(&line, slow, 0, 1000), 101000);
  assert_int_equal(ir_line_pass(&line, slow, 0, 1000), 103000);
  assert_int_equal(ir_line_pass(&line, slow, 50000, 1000), 151000);
}

/* Who comes first passes first, where there is room before one that is further away. */
static void test_gap(void **state) {
  (void)state;
  ir_line line = {0};
  const ir_link near = {0, 1e-6, 1e-9};
  assert_int_equal(ir_line_pass(&line, slow, 0, 1000), 101000);
  assert_int_equal(ir_line_pass(&line, near, 0, 9000), 10000);
  assert_int_equal(ir_line_pass(&line, near, 0, 9000), 20000);
  assert_int_equal(ir_line_pass(&line, near, 0, 200000), 302000); /* does not fit any more */
}

/* Of several axes the slowest counts, latency and bandwidth each by itself. */
static void test_axes(void **state) {
  (void)state;
  ir_mesh mesh;
  ir_error error = {0};
  const char text[] = "[x=2,y=2] latency=[1e-4,1e-6] bandwidth=[1e10,1e9]";
  ir_mesh_init(&mesh, &ir_mem_libc);
  assert_true(ir_mesh_parse(&mesh, text, sizeof text - 1, &error));
  ir_link both = ir_link_between(&mesh, 0, 3), y = ir_link_between(&mesh, 0, 1);
  assert_true(both.flight + both.work == 1e-4 && both.byte == 1e-9);
  assert_true(y.flight == 0 && y.work == 1e-6 && y.byte == 1e-9);
  ir_mesh_free(&mesh);
}

UNIT_TESTS(test_latency, test_messages, test_gap, test_axes)
