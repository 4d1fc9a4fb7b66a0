#include "passes/patterns/constant_values.h"

/* What a node depends on, the greatest of its sources. */
enum { LITERALS, CONSTANTS, OTHERS };

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
        ir_ops[n->op].cls == IR_CLASS_META || ir_ops[n->op].level == IR_LEVEL_LOOP ||
        ir_has_results((ir_op)n->op))
      return OTHERS;
  }
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (v->kinds[n->src[i]] > kind) kind = v->kinds[n->src[i]];
  return kind;
}

bool pass_is_constant_value(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  if (!IR_RESERVE(g->mem, v->kinds, v->cap, (size_t)node + 1)) return false;
  if (!v->count) v->kinds[v->count++] = LITERALS; /* no node */
  for (; v->count <= node; v->count++)
    v->kinds[v->count] = kind_of(v, g, (ir_ref)v->count); /* sources are older */
  return v->kinds[node] == CONSTANTS;
}

void pass_constant_values_free(pass_constant_values *v, const ir_graph *g) {
  ir_free(g->mem, v->kinds, v->cap);
  *v = (pass_constant_values){0};
}
