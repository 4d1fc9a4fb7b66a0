/* An order of nodes that does not depend on the order in which they were made: sums, products and
 * conjunctions list their operands in the same order in every graph that contains the same expression.
 *
 * Sort keys, in this order: height (0 without operands, else one more than the highest source), operation,
 * arg (a name as its text), dtype, and the first source that differs. All comparisons count as one operation
 * until their sources are equal, so the bounds of one expression are adjacent, the lower bound first. Nodes
 * of height MOST_HEIGHT or more, which are larger than any expression that somebody reads and would be slow
 * to compare, come last, in the order in which they were made. */
#include "ir.h"

#include <string.h>

enum {
  ARG_BITS = 14,
  OP_BITS = 8,
  MOST_ARG = (1 << ARG_BITS) - 1,
  MOST_HEIGHT = (1 << (32 - OP_BITS - ARG_BITS)) - 1
};
static const uint32_t highest = (uint32_t)MOST_HEIGHT << (OP_BITS + ARG_BITS);

static bool is_named(ir_op op) { return op == IR_OP_VAR || op == IR_OP_INPUT; }
static int compare_integers(int64_t a, int64_t b) { return (a > b) - (a < b); }

uint32_t ir_order_of(const ir_graph *g, ir_op op, int64_t arg, const ir_ref *src, uint32_t nsrc) {
  uint32_t height = 0;
  for (uint32_t i = 0; i < nsrc && ir_ops[op].operands != 0; i++) {
    uint32_t below = ir_get(g, src[i])->order >> (OP_BITS + ARG_BITS);
    if (below >= height) height = below + 1;
  }
  if (height >= MOST_HEIGHT) return highest;
  uint32_t of_arg = is_named(op) || arg < 0 ? 0 : arg < MOST_ARG ? (uint32_t)arg : MOST_ARG;
  ir_op of_op = ir_ops[op].cls == IR_CLASS_COMPARE ? IR_OP_LT : op;
  return height << (OP_BITS + ARG_BITS) | (uint32_t)of_op << ARG_BITS | of_arg;
}

/* compares the nodes without their sources; 0 if only the sources differ */
static int compare_alone(const ir_graph *g, const ir_node *x, const ir_node *y) {
  if (x->order != y->order) return compare_integers(x->order, y->order);
  int names = is_named((ir_op)x->op) ? strcmp(ir_name_text(g, x->arg), ir_name_text(g, y->arg)) : 0;
  if (names != 0) return names;
  if (x->arg != y->arg) return compare_integers(x->arg, y->arg);
  if (x->dtype != y->dtype) return compare_integers(x->dtype, y->dtype);
  return x->weak != y->weak ? compare_integers(x->weak, y->weak) : compare_integers(x->nsrc, y->nsrc);
}

int ir_compare_equal_keys(const ir_graph *g, ir_ref a, ir_ref b) {
  if (ir_get(g, a)->order == highest) return compare_integers(a, b);
  while (a != b) {
    const ir_node *x = ir_get(g, a), *y = ir_get(g, b);
    int apart = compare_alone(g, x, y);
    if (apart != 0) return apart;
    uint32_t i = 0;
    while (i < x->nsrc && x->src[i] == y->src[i]) i++;
    if (i == x->nsrc) return compare_integers(x->op, y->op);
    a = x->src[i];
    b = y->src[i];
  }
  return 0;
}
