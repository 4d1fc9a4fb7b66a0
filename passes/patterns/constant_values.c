#include "passes/patterns/constant_values.h"

enum { OTHERS = -1 }; /* bytes of what depends on inputs, sizes that vary, or calls */

/* Bytes of a constant: its shape is constant. */
static int64_t bytes_of(const ir_graph *g, ir_ref constant) {
  int64_t bytes = ir_dtypes[ir_dtype_of(g, constant)].bytes, size;
  for (uint32_t i = 0; i < ir_rank(g, constant); i++)
    if (ir_is_const(g, ir_dim(g, constant, i), &size))
      bytes *= size; /* below 2^63, as its builder has checked */
  return bytes > 0 ? bytes : 1;
}

static int64_t bytes_below(const pass_constant_values *v, const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  int64_t sum = 0;
  switch ((ir_op)n->op) {
  case IR_OP_RESOURCE: return bytes_of(g, node);
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
  for (uint32_t i = 0; i < n->nsrc; i++) {
    int64_t more = v->bytes[n->src[i]];
    if (more < 0) return OTHERS;
    sum = sum > INT64_MAX - more ? INT64_MAX : sum + more;
  }
  return sum;
}

int64_t pass_constant_bytes(pass_constant_values *v, const ir_graph *g, ir_ref node) {
  if (!IR_RESERVE(g->mem, v->bytes, v->cap, (size_t)node + 1)) return 0;
  if (!v->count) v->bytes[v->count++] = 0; /* no node */
  for (; v->count <= node; v->count++)
    v->bytes[v->count] = bytes_below(v, g, (ir_ref)v->count); /* sources are older */
  return v->bytes[node] > 0 ? v->bytes[node] : 0;
}

bool pass_has_constants(const ir_graph *g, ir_ref last) {
  for (ir_ref r = 1; r <= last; r++)
    if (ir_op_of(g, r) == IR_OP_RESOURCE) return true;
  return false;
}

void pass_constant_values_free(pass_constant_values *v, const ir_graph *g) {
  ir_free(g->mem, v->bytes, v->cap * sizeof *v->bytes);
  *v = (pass_constant_values){0};
}
