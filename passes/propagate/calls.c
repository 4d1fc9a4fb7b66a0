/* Conditions, loops and checkpoints: parameters of a function are divided as the operands of the call, and
 * its results as those of the call; a carried value is the same before, in and after the rounds. The axis
 * that a scan takes slices of, or stacks results along, is the first one, and is no axis inside. */
#include "impl.h"

/* How the operands are used: carried values, then those of which each round takes a slice, then others. */
typedef struct uses {
  uint32_t first, carries, sliced; /* first: the source that the first parameter stands for */
} uses;

static uses uses_of(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  if (n->op == IR_OP_WHILE) return (uses){.carries = (uint32_t)ir_arg_int(n)};
  if (n->op == IR_OP_SCAN) return (uses){.carries = ir_scan_of(n).carries, .sliced = ir_scan_of(n).sliced};
  return (uses){.first = n->op == IR_OP_COND};
}

bool propagate_call(propagate_state *s, ir_ref node) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  uses u = uses_of(g, node);
  for (uint32_t k = 0; k < ir_called_count(n); k++) {
    ir_function f = ir_function_of(g, ir_called(g, node, k));
    bool round = n->op == IR_OP_SCAN || (n->op == IR_OP_WHILE && k == 1);
    for (uint32_t i = 0; i < f.param_count; i++) {
      bool slice = i >= u.carries && i < u.carries + u.sliced;
      if (!propagate_alike(s, n->src[u.first + i], slice, f.params[i], 0)) return false;
      if (round && i < u.carries && !propagate_alike(s, f.params[i], 0, f.results[i], 0)) return false;
    }
  }
  return true;
}

bool propagate_call_result(propagate_state *s, ir_ref result) {
  ir_graph *g = s->g;
  ir_ref node = ir_src(g, result, 0);
  const ir_node *n = ir_get(g, node);
  uint32_t slot = (uint32_t)ir_arg_int(ir_get(g, result));
  for (uint32_t k = n->op == IR_OP_WHILE; k < ir_called_count(n); k++) {
    ir_function f = ir_function_of(g, ir_called(g, node, k));
    bool stacked = n->op == IR_OP_SCAN && slot >= uses_of(g, node).carries;
    if (!propagate_alike(s, f.results[slot], 0, result, stacked)) return false;
  }
  return true;
}
