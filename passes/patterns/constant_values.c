#include "passes/patterns/constant_values.h"

/* What a node depends on, the greatest of its sources: literals alone, constants as well, or inputs, sizes
 * that vary, calls and other devices. */
enum { LITERALS, CONSTANTS, OTHERS };

/* Bytes of a constant: its shape is constant. */
static int64_t bytes_of(const ir_graph *g, ir_ref constant) {
  int64_t bytes = ir_dtypes[ir_dtype_of(g, constant)].bytes, size;
  for (uint32_t i = 0; i < ir_rank(g, constant); i++)
    if (ir_is_const(g, ir_dim(g, constant, i), &size))
      bytes *= size; /* below 2^63, as its builder has checked */
  return bytes > 0 ? bytes : 1;
}

static uint8_t kind_of(const pass_constant_values *v, const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  uint8_t kind = LITERALS;
  switch ((ir_op)n->op) {
  case IR_OP_RESOURCE: return CONSTANTS;
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
  return found_kind(v, g, node) != OTHERS;
}

int64_t pass_constant_bytes(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  int64_t sum = 0;
  if (!pass_is_constant_value(v, g, node)) return 0;
  if (ir_reachable(g, &node, 1, &nodes, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++) {
      int64_t more = ir_op_of(g, nodes[i]) == IR_OP_RESOURCE ? bytes_of(g, nodes[i]) : 0;
      sum = sum > INT64_MAX - more ? INT64_MAX : sum + more;
    }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  return sum;
}

bool pass_has_constants(const ir_graph *g, ir_ref last) {
  for (ir_ref r = 1; r <= last; r++)
    if (ir_op_of(g, r) == IR_OP_RESOURCE) return true;
  return false;
}

void pass_constant_values_free(pass_constant_values *v, const ir_graph *g) {
  ir_free(g->mem, v->kinds, v->cap);
  *v = (pass_constant_values){0};
}
