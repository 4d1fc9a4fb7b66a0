/* Walks over what nodes are made of, against sets and orders that are found here node by node. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "test/lib/unit.h"

enum { RANGES = 6, NODES = 400, MOST = 8192 };

typedef struct bench {
  ir_graph g;
  ir_error error;
  ir_ref node[NODES];
  ir_ref range[RANGES];
} bench;

static uint32_t below(uint64_t *state, uint32_t limit) {
  *state = *state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu; /* of Knuth's MMIX, and an odd increment */
  return (uint32_t)(*state >> 33) % limit;
}

/* Sums, products, quotients and limits of ranges: about as many nodes as a large kernel has. */
static void make_nodes(bench *t, uint64_t seed) {
  static const ir_op ops[] = {IR_OP_ADD, IR_OP_MUL, IR_OP_FLOORDIV, IR_OP_MIN, IR_OP_MAX};
  ir_graph *g = &t->g;
  for (uint32_t i = 0; i < NODES; i++) {
    ir_ref size = ir_index(g, 2 + i);
    if (i < RANGES) {
      t->node[i] = t->range[i] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &size, 1);
      continue;
    }
    uint32_t from = i > 40 ? i - 40 : 0;
    ir_ref src[2];
    for (int k = 0; k < 2; k++)
      src[k] = below(&seed, 4) ? t->node[from + below(&seed, i - from)] : ir_index(g, 3 + i);
    t->node[i] = ir_make(g, ops[below(&seed, 5)], IR_INDEX, 0, src, 2);
  }
}

/* Marks root and what it is made of, and lists it, sources first. */
static void list_below(const ir_graph *g, ir_ref root, uint8_t *seen, ir_ref *list, size_t *count) {
  if (seen[root]) return;
  seen[root] = 1;
  const ir_node *n = ir_get(g, root);
  for (uint32_t i = 0; i < n->nsrc; i++) list_below(g, n->src[i], seen, list, count);
  list[(*count)++] = root;
}

static void check_root(bench *t, ir_ref root) {
  static uint8_t seen[MOST];
  static ir_ref list[MOST], found[MOST];
  ir_graph *g = &t->g;
  ir_ref *live = NULL;
  size_t count = 0, listed = 0, cap = 0;
  assert_in_range(g->count, 1, MOST);
  memset(seen, 0, sizeof seen);
  list_below(g, root, seen, list, &count);

  assert_int_equal(ir_reachable(g, &root, 1, &live, &listed, &cap), IR_OK);
  assert_int_equal(listed, count);
  for (size_t i = 0; i < listed; i++) {
    assert_true(seen[live[i]]);
    assert_true(i == 0 || live[i - 1] < live[i]);
  }
  assert_int_equal(ir_reachable_in_order(g, &root, 1, &live, &listed, &cap), IR_OK);
  assert_int_equal(listed, count);
  assert_memory_equal(live, list, count * sizeof *list);
  ir_free(g->mem, live, cap * sizeof *live);

  static const ir_op asked[] = {IR_OP_RANGE, IR_OP_FLOORDIV, IR_OP_MIN, IR_OP_MAX, IR_OP_LOAD, IR_OP_CONST};
  for (size_t o = 0; o < sizeof asked / sizeof *asked; o++) {
    uint32_t wanted = 0, some = ir_find_below(g, root, ir_holds_bit(asked[o]), asked[o], found, MOST);
    for (size_t i = 0; i < count; i++) {
      if (ir_op_of(g, list[i]) != asked[o]) continue;
      assert_true(wanted < some);
      assert_int_equal(found[wanted++], list[i]);
    }
    assert_int_equal(wanted, some);
    if (some < 2) continue;
    assert_int_equal(ir_find_below(g, root, ir_holds_bit(asked[o]), asked[o], found, 1), 1);
  }
  uint32_t divisions = 0, some = ir_find_below(g, root, IR_HOLDS_DIVISION, IR_OP_COUNT, found, MOST);
  for (size_t i = 0; i < count; i++) divisions += ir_op_of(g, list[i]) == IR_OP_FLOORDIV;
  assert_int_equal(some, divisions);
  for (uint32_t i = 0; i < RANGES; i++)
    assert_int_equal(ir_is_below(g, root, t->range[i]), seen[t->range[i]]);
}

static void walks_find_what_nodes_are_made_of(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    bench t = {0};
    assert_int_equal(ir_graph_init(&t.g, &ir_mem_libc, &t.error), IR_OK);
    make_nodes(&t, seed);
    for (uint32_t i = 0; i < NODES; i += 7) check_root(&t, t.node[i]);
    ir_graph_free(&t.g);
  }
}

/* Refs of removed nodes are given again: what an earlier walk has met does not count. */
static void nodes_made_after_others_were_removed_are_met(void **state) {
  (void)state;
  bench t = {0};
  assert_int_equal(ir_graph_init(&t.g, &ir_mem_libc, &t.error), IR_OK);
  make_nodes(&t, 9);
  uint32_t count = t.g.count;
  for (int k = 0; k < 3; k++) {
    ir_ref size = ir_index(&t.g, 5000 + k);
    ir_ref range = ir_make(&t.g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(90 + k, 0), &size, 1);
    ir_ref sum = ir_make(&t.g, k == 1 ? IR_OP_MUL : IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){t.node[60], range}, 2);
    assert_true(ir_is_below(&t.g, sum, range));
    check_root(&t, sum);
    ir_graph_rewind(&t.g, count);
  }
  ir_graph_free(&t.g);
}

/* Beyond the refs of a small graph, lines of the bitmap are cleared when they are met. */
static void large_graphs_are_walked_too(void **state) {
  (void)state;
  bench t = {0};
  assert_int_equal(ir_graph_init(&t.g, &ir_mem_libc, &t.error), IR_OK);
  for (int i = 0; i < 6000; i++) ir_index(&t.g, 100000 + i);
  make_nodes(&t, 5);
  for (uint32_t i = RANGES; i < NODES; i += 31) check_root(&t, t.node[i]);
  ir_graph_free(&t.g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(walks_find_what_nodes_are_made_of),
      cmocka_unit_test(nodes_made_after_others_were_removed_are_met),
      cmocka_unit_test(large_graphs_are_walked_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
