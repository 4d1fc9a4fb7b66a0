/* Node 0, which every builder returns when memory is short, can be read like any other node. */
#include "ir/ir.h"
#include "test/lib/memory.h"
#include "test/lib/graph.h"
#include "test/lib/unit.h"

static void test_sources_of_the_error_node_are_the_error_node(void **state) {
  ir_graph *g = &test_graph_begin()->g;
  const ir_node *n = ir_get(g, 0);
  assert_int_equal(n->op, IR_OP_ERROR);
  assert_int_equal(n->dtype, IR_NONE);
  assert_int_equal(n->nsrc, 0);
  for (uint32_t i = 0; i < IR_ERROR_SOURCES; i++) assert_int_equal(ir_src(g, 0, i), 0);
}

static void test_questions_about_the_error_node_have_answers(void **state) {
  ir_graph *g = &test_graph_begin()->g;
  int64_t value;
  assert_int_equal(ir_shape(g, 0), 0);
  assert_int_equal(ir_rank(g, 0), 0);
  assert_int_equal(ir_dim(g, 0, IR_MAX_RANK - 1), 0);
  assert_int_equal(ir_batch(g, 0), 0);
  assert_false(ir_is_const(g, 0, &value));
  assert_false(ir_is_true(g, 0));
  assert_false(ir_is_false(g, 0));
  assert_int_equal(ir_operand_count(ir_get(g, 0)), 0);
  ir_bounds b = ir_bounds_of(g, 0);
  assert_true(b.lo == INT64_MIN && b.hi == INT64_MAX);
}

/* Reading from, and building on, the node of a failed allocation gives the error value in turn. */
static void test_a_failed_allocation_goes_through_what_is_built_on_it(void **state) {
  ir_graph g;
  ir_error error = {0};
  test_memory memory = {0};
  const ir_mem mem = {test_memory_hook, &memory};
  assert_int_equal(ir_graph_init(&g, &mem, &error), IR_OK);
  memory.fail_at = atomic_load(&memory.allocations) + 1;
  memory.fail_after = true;
  ir_ref range = 1; /* until the node storage needs to grow */
  for (int64_t size = 0; size < 1 << 20 && range; size++) {
    ir_ref extent = ir_index(&g, size);
    range = ir_make(&g, IR_OP_RANGE, IR_INDEX, size, &extent, 1);
  }
  assert_int_equal(range, 0);
  assert_int_equal(error.status, IR_ERR_MEMORY);
  assert_int_equal(ir_src(&g, range, 0), 0);
  assert_int_equal(ir_binary(&g, IR_OP_ADD, ir_src(&g, range, 0), range), 0);
  ir_graph_free(&g);
  assert_int_equal(atomic_load(&memory.live), 0);
}

UNIT_TESTS(test_sources_of_the_error_node_are_the_error_node,
           test_questions_about_the_error_node_have_answers,
           test_a_failed_allocation_goes_through_what_is_built_on_it)
