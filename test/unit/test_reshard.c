/* Redistribution: plans for many devices, refusals, and memory that runs out. */
#include "passes/reshard/reshard.h"
#include "test/lib/memory.h"
#include "test/lib/unit.h"

static ir_error error;

typedef struct question {
  ir_mesh mesh;
  ir_spec from, to;
  int64_t shape[IR_MAX_RANK];
  pass_reshard_ask ask;
} question;

static question *ask(question *q, const char *mesh, int64_t size, const char *from, const char *to) {
  ir_error_clear(&error);
  ir_mesh_init(&q->mesh, &ir_mem_libc);
  if (!ir_mesh_parse(&q->mesh, mesh, strlen(mesh), &error) ||
      !ir_spec_parse(&q->mesh, from, strlen(from), &q->from, &error) ||
      !ir_spec_parse(&q->mesh, to, strlen(to), &q->to, &error))
    fail_msg("%s", error.text);
  for (uint32_t d = 0; d < IR_MAX_RANK; d++) q->shape[d] = size;
  q->ask = (pass_reshard_ask){.mesh = &q->mesh, .shape = q->shape, .item = 4, .from = &q->from, .to = &q->to};
  return q;
}

/* spec: W6. One exchange, at the bound, whatever the number of devices. */
static void test_many_devices(void **state) {
  (void)state;
  question q;
  pass_reshard_plan plan;
  ask(&q, "x=64,y=64", 4096, "[x.y,-]", "[-,y.x]");
  assert_int_equal(pass_reshard(&ir_mem_libc, &q.ask, &plan, &error), IR_OK);
  assert_int_equal(plan.count, 1);
  assert_int_equal(plan.steps[0].kind, PASS_RESHARD_ALL_TO_ALL);
  assert_int_equal(plan.cost.recv, 4 * (4096 - 1));
  assert_int_equal(plan.cost.total, (uint64_t)4096 * 4 * (4096 - 1));
  assert_true(plan.exact);
}

/* Messages of 4 bytes: fewer of them, though more bytes. The answer is within the bound that is documented.
 */
static void test_many_devices_in_time(void **state) {
  (void)state;
  question q;
  pass_reshard_plan plan;
  ask(&q, "x=64,y=64", 4096, "[x.y,-]", "[-,y.x]");
  q.ask.mode = PASS_RESHARD_TIME;
  assert_int_equal(pass_reshard(&ir_mem_libc, &q.ask, &plan, &error), IR_OK);
  double part = 4096 * 4 * 100, latency = 1e6; /* picoseconds */
  assert_true((double)plan.cost.time <= 5 * (12 * latency + part));
  assert_true(ir_spec_same_parts(&plan.steps[plan.count - 1].to, &q.to));
}

static void test_limit(void **state) {
  (void)state;
  question q;
  pass_reshard_plan plan;
  ask(&q, "x=8", 64, "[x]", "[-]");
  q.ask.limit = 300;
  assert_int_equal(pass_reshard(&ir_mem_libc, &q.ask, &plan, &error), IR_OK);
  assert_true(plan.cost.peak <= 300);
  q.ask.limit = 287;
  assert_int_equal(pass_reshard(&ir_mem_libc, &q.ask, &plan, &error), IR_ERR_INVALID);
  assert_string_equal(error.text,
                      "reshard: no way keeps within 287 bytes on each device; one exchange needs 288");
}

static void test_short_of_memory(void **state) {
  (void)state;
  question q;
  pass_reshard_plan plan;
  ask(&q, "x=2,y=4", 24, "[-,-]+y", "[-,x]");
  ir_status status = IR_ERR_MEMORY;
  for (long left = 0; status != IR_OK; left++) {
    test_budget budget = {.left = left};
    ir_mem mem = {test_budget_hook, &budget};
    ir_error_clear(&error);
    status = pass_reshard(&mem, &q.ask, &plan, &error);
    assert_int_equal(budget.live, 0);
    assert_true(status == IR_OK || (left < 64 && status == IR_ERR_MEMORY));
  }
}

UNIT_TESTS(test_many_devices, test_many_devices_in_time, test_limit, test_short_of_memory)
