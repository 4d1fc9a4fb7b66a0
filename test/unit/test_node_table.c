/* The table of nodes: each node is found again, whatever was made and removed in between. */
#include "ir/node_table.h"
#include "test/lib/unit.h"

enum { NODES = 20000, ROUNDS = 40 };

static uint32_t drawn(uint32_t *state, uint32_t below) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)*state * below >> 32);
}

static ir_ref node_number(ir_graph *g, const ir_ref *earlier, uint32_t i) {
  if (i % 2 == 0) return ir_index(g, (int64_t)i << 20);
  return ir_make(g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){earlier[i / 2], earlier[i - 1]}, 2);
}

static void nodes_are_found_after_removing_others(void **state) {
  (void)state;
  ir_error error = {0};
  ir_graph g;
  static ir_ref refs[NODES];
  uint32_t random = 7, made = 0;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  for (int round = 0; round < ROUNDS; round++) {
    uint32_t wanted = drawn(&random, NODES);
    if (wanted < made) ir_graph_rewind(&g, wanted ? refs[wanted - 1] + 1 : 1);
    for (; made < wanted; made++) {
      uint32_t count = g.count;
      refs[made] = node_number(&g, refs, made);
      assert_int_equal(refs[made], count); /* a new one */
    }
    made = wanted;
    for (uint32_t i = 0; i < made; i++) assert_int_equal(node_number(&g, refs, i), refs[i]);
  }
  assert_int_equal(error.status, IR_OK);
  ir_graph_free(&g);
}

/* As many nodes in one line, and those behind it, as have one hash in the bits that the table looks at. */
static void full_lines_send_nodes_on(void **state) {
  (void)state;
  enum { ALIKE = 3 * IR_LINE_NODES + 1 };
  ir_error error = {0};
  ir_graph g;
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  ir_ref refs[ALIKE];
  int64_t numbers[ALIKE];
  int count = 0;
  for (int64_t i = 0; count < ALIKE;
       i++) { /* those in the last line of the table, whose next one is the first */
    uint32_t before = g.count;
    ir_ref ref = ir_index(&g, i);
    if ((ir_get(&g, ref)->hash & g.table_mask) == g.table_mask) {
      refs[count] = ref;
      numbers[count++] = i;
    } else {
      ir_graph_rewind(&g, before);
    }
  }
  for (int i = 0; i < ALIKE; i++) assert_int_equal(ir_index(&g, numbers[i]), refs[i]);
  for (int i = ALIKE; i-- > 0;) {
    ir_graph_rewind(&g, refs[i]);
    for (int k = 0; k < i; k++) assert_int_equal(ir_index(&g, numbers[k]), refs[k]);
  }
  ir_graph_free(&g);
}

UNIT_TESTS(nodes_are_found_after_removing_others, full_lines_send_nodes_on)
