/* Functions of one byte as tables.
 *
 * Quantized models compute activations between bytes: a byte is scaled, a function of it taken, and the
 * result divided by another scale, rounded, clamped and made a byte again, several times in a row. Of what is
 * made of one byte and constants, element by element, there are 256 results. Where they cost more than a
 * read, they are computed once, when the program is made, and taken from a table:
 *
 *   f(q)  =  gather(f(0), f(1), ..., f(255); q)
 *
 * The table is made by the same operations, so that results have the same bits. The silu of 96 x 80 x 80
 * bytes, quantized behind the sigmoid and behind the product, takes 0.06 ms in place of 0.52, element by
 * element 0.26 (Zen 4, one thread). */
#include "recomputed.h"

#include "ir/cause.h"
#include "passes/cost/cost.h"
#include "passes/ops/compose/impl.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

#include <string.h>

enum {
  ENTRIES = 256,                 /* because a byte has as many values */
  MIN_COST = 2 * COST_GATHERING, /* because a relu between bytes (12) takes as long as its read */
  MIN_ELEMENTS = 16 * ENTRIES    /* of results: fewer save less than the run of another kernel takes, 1 us */
};

typedef struct byte_functions {
  ir_graph *g;
  ir_ref *map;   /* what a node has become */
  ir_ref *leaf;  /* by old node: the node of bytes that it is a function of, which may be itself; 0: none */
  ir_ref *table; /* by old node: its values for all bytes; 0: not made yet */
  size_t *next;  /* by leaf: how many of the live nodes have been looked at for its tables */
  int *cost;     /* of computing one element from the leaf, saturating at COST_MOST */
} byte_functions;

static bool is_byte(ir_dtype t) { return t == IR_U8 || t == IR_I8; }

static bool is_literal(const ir_graph *g, ir_ref r) {
  return ir_op_of(g, r) == IR_OP_CONST && ir_rank(g, r) == 0;
}

/* The one leaf of all operands that are no constants; 0: there are several, or none. */
static ir_ref leaf_of_operands(const byte_functions *f, ir_ref node) {
  const ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  ir_ref leaf = 0;
  if (!pass_is_elementwise(n) || n->op == IR_OP_STORED || ir_operand_count(n) != n->nsrc) return 0;
  for (uint32_t k = 0; k < n->nsrc; k++) {
    ir_ref own = f->leaf[n->src[k]];
    if (is_literal(g, n->src[k])) continue;
    if (!own || (leaf && own != leaf) || ir_shape(g, n->src[k]) != ir_shape(g, node)) return 0;
    leaf = own;
  }
  return leaf;
}

/* at: its place among the live nodes. */
static void see(byte_functions *f, ir_ref node, size_t at) {
  const ir_node *n = ir_get(f->g, node);
  f->next[node] = at + 1;
  if (!ir_shape(f->g, node)) return;
  f->leaf[node] = leaf_of_operands(f, node);
  if (!f->leaf[node]) {
    f->leaf[node] = is_byte((ir_dtype)n->dtype) && ir_rank(f->g, node) > 0 ? node : 0;
    return;
  }
  int cost = pass_element_cost(n);
  for (uint32_t k = 0; k < n->nsrc && cost < COST_MOST; k++) cost += f->cost[n->src[k]];
  f->cost[node] = cost < COST_MOST ? cost : COST_MOST;
}

/* All bytes of the dtype, in the order of their bits. */
static ir_ref all_bytes(ir_graph *g, ir_dtype dtype) {
  ir_ref size = ir_index(g, ENTRIES);
  return op_bitcast(g, op_cast(g, op_iota(g, IR_I32, &size, 1, 0), IR_U8), dtype);
}

/* Makes the tables of the nodes from the leaf up to live[last]. live: operands before their users. */
static ir_ref table_of(byte_functions *f, const ir_ref *live, size_t last) {
  ir_graph *g = f->g;
  ir_ref leaf = f->leaf[live[last]], size = ir_index(g, ENTRIES), shape = ir_tuple(g, &size, 1);
  if (!f->table[leaf]) f->table[leaf] = all_bytes(g, ir_dtype_of(g, leaf));
  for (size_t i = f->next[leaf]; i <= last && shape; i++) {
    const ir_node *n = ir_get(g, live[i]);
    ir_ref src[4];
    if (f->leaf[live[i]] != leaf || f->table[live[i]] || n->nsrc > sizeof src / sizeof *src) continue;
    for (uint32_t k = 0; k < n->nsrc; k++)
      src[k] = is_literal(g, n->src[k]) ? n->src[k] : f->table[n->src[k]];
    f->table[live[i]] = ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape, n->arg, src, n->nsrc);
  }
  f->next[leaf] = last + 1;
  return f->table[live[last]];
}

static bool is_worth_a_table(const byte_functions *f, ir_ref node) {
  const ir_node *n = ir_get(f->g, node);
  return is_byte((ir_dtype)n->dtype) && f->leaf[node] && f->cost[node] >= MIN_COST &&
         pass_elements(f->g, node) >= MIN_ELEMENTS;
}

/* The elements of the table at the bytes. */
static ir_ref taken(ir_graph *g, ir_ref table, ir_ref bytes) {
  table = table ? ir_unary(g, IR_OP_STORED, table) : 0;
  return op_gather(g, table, op_cast(g, op_bitcast(g, bytes, IR_U8), IR_I32), 0, IR_GATHER_CLIP);
}

ir_ref pass_table_bytes(ir_graph *g, ir_ref results) {
  size_t nodes = (size_t)results + 1, count = 0, cap = 0;
  ir_ref *live = NULL, root = 0;
  byte_functions f = {.g = g,
                      .map = ir_alloc(g->mem, nodes * sizeof *f.map),
                      .leaf = ir_alloc(g->mem, nodes * sizeof *f.leaf),
                      .table = ir_alloc(g->mem, nodes * sizeof *f.table),
                      .next = ir_alloc(g->mem, nodes * sizeof *f.next),
                      .cost = ir_alloc(g->mem, nodes * sizeof *f.cost)};
  bool ready = f.map && f.leaf && f.table && f.next && f.cost;
  if (ready && ir_reachable_inside(g, &results, 1, &live, &count, &cap) == IR_OK) root = results;
  if (root) {
    memset(f.leaf, 0, nodes * sizeof *f.leaf);
    memset(f.table, 0, nodes * sizeof *f.table);
    memset(f.cost, 0, nodes * sizeof *f.cost);
  }
  for (size_t i = 0; i < count && root; i++) {
    ir_cause before = ir_cause_enter(g, live[i]);
    see(&f, live[i], i);
    ir_ref leaf = f.leaf[live[i]];
    root = is_worth_a_table(&f, live[i]) ? taken(g, table_of(&f, live, i), f.map[leaf])
                                         : ir_remake_mapped(g, live[i], f.map);
    f.map[live[i]] = ir_cause_leave(g, before, live[i], root);
  }
  if (!root) ir_fail(g->error, IR_ERR_MEMORY, "out of memory making tables of functions of bytes");
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, f.map, f.map ? nodes * sizeof *f.map : 0);
  ir_free(g->mem, f.leaf, f.leaf ? nodes * sizeof *f.leaf : 0);
  ir_free(g->mem, f.table, f.table ? nodes * sizeof *f.table : 0);
  ir_free(g->mem, f.next, f.next ? nodes * sizeof *f.next : 0);
  ir_free(g->mem, f.cost, f.cost ? nodes * sizeof *f.cost : 0);
  return root;
}
