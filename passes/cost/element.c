/* What one element of a value costs, for choices that are made before there are loops. */
#include "cost.h"

#include "ir/elementary/elementary.h"
#include "passes/patterns/epilogue.h"

/* Half and twice REDUCTION_COST changes no workload's loops. */
enum {
  ELEMENTARY_COST = 12, /* of exp, log, sin, ...: the polynomial and the reduction of its argument */
  REDUCTION_COST = 16   /* of a reduction's value, for what is added to it by fusing */
};

int pass_element_cost(const ir_node *n) {
  bool elementary = ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype);
  switch ((int)n->op) {
  case IR_OP_RELU: return 2;
  case IR_OP_DIV:
  case IR_OP_SQRT: return 4;
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return elementary ? ELEMENTARY_COST : 4;
  default: break;
  }
  if (ir_ops[n->op].cls == IR_CLASS_REDUCE) return REDUCTION_COST;
  return elementary ? ELEMENTARY_COST : pass_is_elementwise(n);
}
