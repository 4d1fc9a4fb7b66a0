#include "passes/patterns/constant_values.h"

#include <string.h>

/* What a node depends on, the greatest of its sources: literals alone, constants as well, values that no
 * iteration of the loop around it changes, or inputs, sizes that vary, calls and other devices. */
enum { LITERALS, CONSTANTS, INVARIANT, OTHERS };
enum { MANY_ITERATIONS = 32 }; /* because to transpose an element takes as long as 20 multiplications */

/* The operand that a loop gives for a parameter which no iteration changes; 0: none is known. */
typedef struct pass_given {
  ir_ref operand;
  uint8_t kind; /* of the operand; INVARIANT: it is no constant, and the iterations are many */
} pass_given;

/* Elements of a constant: its shape is constant. */
static int64_t elements_of(const ir_graph *g, ir_ref constant) {
  int64_t elements = 1, size;
  for (uint32_t i = 0; i < ir_rank(g, constant); i++)
    if (ir_is_const(g, ir_dim(g, constant, i), &size))
      elements *= size; /* below 2^63 bytes, as its builder has checked */
  return elements > 0 ? elements : 1;
}

static uint8_t kind_of(const pass_constant_values *v, const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  uint8_t kind = LITERALS;
  switch ((ir_op)n->op) {
  case IR_OP_RESOURCE: return CONSTANTS;
  case IR_OP_BUFFER: return node < v->given_cap && v->given[node].operand ? v->given[node].kind : OTHERS;
  case IR_OP_CONST:
  case IR_OP_DATA:
  case IR_OP_IOTA:
  case IR_OP_TUPLE: break;
  default:
    if (ir_ops[n->op].cls == IR_CLASS_LEAF || ir_ops[n->op].cls == IR_CLASS_CUSTOM ||
        ir_ops[n->op].cls == IR_CLASS_EXCHANGE || ir_ops[n->op].cls == IR_CLASS_META ||
        ir_ops[n->op].level == IR_LEVEL_LOOP || ir_has_results((ir_op)n->op))
      return OTHERS;
  }
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (v->kinds[n->src[i]] > kind) kind = v->kinds[n->src[i]];
  return kind;
}

/* OTHERS when memory is short. */
static uint8_t found_kind(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  if (!IR_RESERVE(g->mem, v->kinds, v->cap, (size_t)node + 1)) return OTHERS;
  if (!v->count) v->kinds[v->count++] = LITERALS; /* no node */
  for (; v->count <= node; v->count++)            /* sources are older */
    v->kinds[v->count] = kind_of(v, g, (ir_ref)v->count);
  return v->kinds[node];
}

bool pass_is_constant_value(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  return found_kind(v, g, node) == CONSTANTS;
}

bool pass_is_known_value(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  return found_kind(v, g, node) <= CONSTANTS;
}

bool pass_is_loop_invariant(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  uint8_t kind = found_kind(v, g, node);
  return kind == CONSTANTS || kind == INVARIANT;
}

uint32_t pass_changing_operands(const ir_node *loop) {
  if (loop->op == IR_OP_WHILE) return (uint32_t)ir_arg_int(loop);
  ir_scan_state state = ir_scan_of(loop);
  return state.carries + state.sliced;
}

bool pass_runs_once(ir_graph *g, const ir_node *loop) {
  return loop->op == IR_OP_SCAN && ir_bounds_of(g, loop->src[loop->nsrc - 1]).hi <= 1;
}

/* Notes what the loop gives for the parameters of one of its functions, from number `changing` on. False: it
 * knows no more than before. */
static bool note_given(pass_constant_values *v, const ir_graph *g, const ir_node *loop, ir_function f,
                       uint32_t changing, bool many) {
  bool more = false;
  for (uint32_t i = changing; i < f.param_count; i++) {
    pass_given *given = &v->given[f.params[i]];
    uint8_t kind = found_kind(v, g, loop->src[i]);
    if (given->operand ? given->operand != loop->src[i] || kind >= given->kind : kind == OTHERS && !many)
      continue;
    *given = (pass_given){loop->src[i], kind == OTHERS ? INVARIANT : kind};
    more = true;
  }
  return more;
}

bool pass_constant_values_in_loops(pass_constant_values *v, ir_graph *g, const ir_ref *live, size_t count) {
  bool more = true;
  while (more) { /* once for each depth of nesting: outer loops come behind inner ones */
    more = false;
    for (size_t i = count; i-- > 0;) {
      const ir_node *n = ir_get(g, live[i]);
      if (n->op != IR_OP_SCAN && n->op != IR_OP_WHILE) continue;
      if (pass_runs_once(g, n)) continue;
      size_t cap = v->given_cap;
      if (!IR_RESERVE(g->mem, v->given, v->given_cap, (size_t)live[count - 1] + 1)) return false;
      memset(v->given + cap, 0, (v->given_cap - cap) * sizeof *v->given);
      uint32_t changing = pass_changing_operands(n);
      bool many = n->op == IR_OP_SCAN && ir_bounds_of(g, n->src[n->nsrc - 1]).lo >= MANY_ITERATIONS;
      for (uint32_t k = 0; k < ir_called_count(n); k++)
        more |= note_given(v, g, n, ir_function_of(g, ir_called(g, live[i], k)), changing, many);
    }
    v->count = 0; /* what depends on these parameters is found again */
  }
  return true;
}

static int64_t sum_of_constants(pass_constant_values *v, const ir_graph *g, ir_ref node, bool bytes) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  int64_t sum = 0;
  if (!pass_is_constant_value(v, g, node)) return 0;
  if (ir_reachable(g, &node, 1, &nodes, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++) {
      ir_op op = ir_op_of(g, nodes[i]);
      int64_t more = op == IR_OP_RESOURCE
                         ? elements_of(g, nodes[i]) * (bytes ? ir_dtypes[ir_dtype_of(g, nodes[i])].bytes : 1)
                     : op == IR_OP_BUFFER ? sum_of_constants(v, g, v->given[nodes[i]].operand, bytes)
                                          : 0;
      sum = sum > INT64_MAX - more ? INT64_MAX : sum + more;
    }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return sum;
}

int64_t pass_constant_bytes(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  return sum_of_constants(v, g, node, true);
}

int64_t pass_constant_elements(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  return sum_of_constants(v, g, node, false);
}

bool pass_has_constants(const ir_graph *g, ir_ref last) {
  for (ir_ref r = 1; r <= last; r++)
    if (ir_op_of(g, r) == IR_OP_RESOURCE) return true;
  return false;
}

void pass_constant_values_free(pass_constant_values *v, const ir_graph *g) {
  ir_free(g->mem, v->kinds, v->cap);
  ir_free(g->mem, v->given, v->given_cap * sizeof *v->given);
  *v = (pass_constant_values){0};
}
