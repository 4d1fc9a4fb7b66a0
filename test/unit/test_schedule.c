/* Schedules as text: which lines are read, and which errors are attributed to their moves. */
#include "frontend/text/loop_schedule.h"
#include "test/lib/unit.h"

static void expect_error(const char *text, const char *wanted) {
  fe_schedule s;
  ir_error error = {0};
  assert_int_equal(fe_schedule_read(&s, &ir_mem_libc, text, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, wanted));
  fe_schedule_free(&s);
}

static void test_lines(void **state) {
  fe_schedule s;
  ir_error error = {0};
  const char *text =
      "# a comment\r\n\r\n# kernel 0 nest 1: vector a0.1\r\n  kernel 4294967295 nest 0:\tsplit a0 4";
  assert_int_equal(fe_schedule_read(&s, &ir_mem_libc, text, &error), IR_OK);
  assert_string_equal(fe_schedule_moves(&s, 0, 1), "vector a0.1");
  assert_null(fe_schedule_moves(&s, 0, 0));
  assert_int_equal(fe_schedule_check(&s, &error), IR_ERR_INVALID);
  assert_non_null(strstr(error.text, "schedule:4: the graph has no kernel 4294967295"));
  assert_string_equal(fe_schedule_moves(&s, 4294967295u, 0), "split a0 4");
  fe_schedule_free(&s);
}

static void test_lines_that_are_none(void **state) {
  expect_error("kernel 4294967296 nest 0: split a0 4", "schedule:1: a line is");
  expect_error("kernel 99999999999999999999999 nest 0: split a0 4", "schedule:1: a line is");
  expect_error("\nkernel -1 nest 0: split a0 4", "schedule:2: a line is");
  expect_error("kernel 0 nest +1: split a0 4", "found 'kernel 0 nest +1");
  expect_error("kernel 0 nest 1 split a0 4", "schedule:1: a line is");
  expect_error("kernel 1 nest 2: vector a0\n\nkernel 0 nest 2:\nkernel 1 nest 2: vector a0",
               "schedule:4: kernel 1 nest 2 has its moves in line 1");
}

/* Whatever is wrong with the loops of a kernel with given moves is an error of the schedule. */
static void test_refused_loops(void **state) {
  fe_schedule s;
  ir_error error = {0};
  const char *text = "kernel 0 nest 0: thread a0\nkernel 0 nest 3: vector a1\nkernel 1 nest 0: vector a7";
  assert_int_equal(fe_schedule_read(&s, &ir_mem_libc, text, &error), IR_OK);
  ir_fail(&error, IR_ERR_INTERNAL, "broken loop");
  fe_schedule_refused(&s, 0, &error); /* moves of the cost model alone: the schedule gave none */
  assert_int_equal(error.status, IR_ERR_INTERNAL);
  assert_string_equal(error.text, "broken loop");
  fe_schedule_moves(&s, 0, 0);
  fe_schedule_moves(&s, 0, 3);
  fe_schedule_refused(&s, 1, &error);
  assert_int_equal(error.status, IR_ERR_INTERNAL);
  fe_schedule_refused(&s, 0, &error);
  assert_int_equal(error.status, IR_ERR_INVALID);
  assert_string_equal(error.text,
                      "schedule:2: kernel 0 nest 3: `vector a1` with line 1: no such loops can be "
                      "made: broken loop");
  ir_error_clear(&error);
  ir_fail(&error, IR_ERR_INVALID, "kernel 0 nest 3: `vector a1`: there is one vector");
  fe_schedule_refused(&s, 0, &error);
  assert_string_equal(error.text, "schedule:2: kernel 0 nest 3: `vector a1`: there is one vector");
  ir_error_clear(&error);
  ir_fail(&error, IR_ERR_MEMORY, "out of memory");
  fe_schedule_refused(&s, 0, &error);
  assert_int_equal(error.status, IR_ERR_MEMORY);
  fe_schedule_free(&s);
}

UNIT_TESTS(test_lines, test_lines_that_are_none, test_refused_loops)
