/* The cost of a node, and which of its operands may stay partial sums: by its registry row. */
#include "custom.h"
#include "passes/ops/sharding/sharding.h"

#include <math.h>

/* Is the fill value of the node zero, if it has one? */
static bool fills_zero(const ir_graph *g, const ir_node *n) {
  int64_t value = 0;
  if (n->op != IR_OP_PAD || ir_arg_mode(n) != IR_PAD_CONSTANT) return true;
  const ir_node *fill = ir_get(g, n->src[1]);
  if (!ir_is_float((ir_dtype)fill->dtype)) return ir_is_const(g, n->src[1], &value) && value == 0;
  double filled = ir_const_value(g, n->src[1]).f;
  return filled == 0 && !signbit(filled);
}

bool op_defers(ir_graph *g, ir_ref node, const bool *partial) {
  const ir_node *n = ir_get(g, node);
  op_partial_rule rule = (op_partial_rule)op_registry[n->op].partial;
  uint32_t count = ir_operand_count(n), parts = 0;
  for (uint32_t i = 0; i < count; i++) parts += partial[i];
  if (parts == 0) return true;
  if (rule == OP_PARTIAL_OWN && !op_custom_partial(g, node, &rule)) return false;
  switch (rule) {
  case OP_PARTIAL_OWN:
  case OP_PARTIAL_NEVER: return false;
  case OP_PARTIAL_ALWAYS: return true;
  case OP_PARTIAL_FILL: return fills_zero(g, n);
  case OP_PARTIAL_ALL: return parts == count;
  case OP_PARTIAL_ONE: return parts == 1;
  case OP_PARTIAL_FIRST: return parts == 1 && partial[0];
  }
  return false;
}

ir_ref op_flops(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  const op_row *row = &op_registry[n->op];
  ir_ref count = 0;
  switch ((op_cost_basis)row->cost) {
  case OP_COST_NONE: return ir_index(g, 0);
  case OP_COST_OWN: return op_custom_flops(g, node);
  case OP_COST_INPUT: count = op_numel(g, op_dims(g, n->src[0]), ir_rank(g, n->src[0])); break;
  case OP_COST_OUTPUT:
  case OP_COST_PRODUCTS: count = op_numel(g, op_dims(g, node), ir_rank(g, node)); break;
  }
  if (count && row->cost == OP_COST_PRODUCTS)
    count = pass_mul(g, count, ir_dim(g, n->src[0], ir_rank(g, n->src[0]) - 1));
  return count ? pass_mul(g, count, ir_index(g, row->weight)) : 0;
}
