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

static bool is_named(ir_op op) { return op == IR_OP_VAR || op == IR_OP_INPUT || op == IR_OP_EXCHANGE; }
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

typedef struct visit {
  ir_ref ref;
  uint32_t next; /* source to visit */
} visit;

/* Lists what is reachable from the root and not seen yet, after its sources. */
static bool list_below(const ir_graph *g, ir_ref root, bool last, uint8_t *seen, visit **stack, size_t *cap,
                       ir_ref *list, size_t *count) {
  size_t depth = 0;
  for (ir_ref below = root; below || depth;) {
    if (below && !seen[below]) {
      if (!ir_reserve(g->mem, (void **)stack, cap, depth + 1, sizeof **stack)) return false;
      seen[below] = 1;
      (*stack)[depth++] = (visit){below, 0};
    }
    if (!depth) break;
    visit *top = &(*stack)[depth - 1];
    const ir_node *n = ir_get(g, top->ref);
    if (n->op != IR_OP_FUNC && top->next < n->nsrc) {
      uint32_t i = top->next++;
      below = n->src[last ? n->nsrc - 1 - i : i];
      continue;
    }
    below = 0;
    list[(*count)++] = top->ref;
    depth--;
  }
  return true;
}

static ir_status in_order(const ir_graph *g, const ir_ref *roots, size_t n, bool last, ir_ref **out,
                          size_t *count, size_t *cap) {
  visit *stack = NULL;
  size_t room = 0;
  ir_status status = ir_reachable(g, roots, n, out, count, cap);
  if (status != IR_OK || *count == 0) return status;
  size_t limit = (size_t)(*out)[*count - 1] + 1;
  uint8_t *seen = ir_alloc(g->mem, limit);
  bool done = seen != NULL;
  for (size_t i = 0; i < *count && done; i++) seen[(*out)[i]] = 0;
  *count = 0;
  for (size_t i = 0; i < n && done; i++)
    if (roots[i]) done = list_below(g, roots[i], last, seen, &stack, &room, *out, count);
  ir_free(g->mem, seen, limit);
  ir_free(g->mem, stack, room * sizeof *stack);
  return done ? IR_OK : ir_fail(g->error, IR_ERR_MEMORY, "out of memory traversing a graph");
}

ir_status ir_reachable_in_order(const ir_graph *g, const ir_ref *roots, size_t n, ir_ref **out, size_t *count,
                                size_t *cap) {
  return in_order(g, roots, n, false, out, count, cap);
}

ir_status ir_reachable_last_first(const ir_graph *g, const ir_ref *roots, size_t n, ir_ref **out,
                                  size_t *count, size_t *cap) {
  return in_order(g, roots, n, true, out, count, cap);
}
