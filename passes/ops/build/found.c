/* Sizes that a run finds out. */
#include "passes/ops/check.h"

ir_ref op_found(ir_graph *g, ir_ref x, ir_ref size) {
  if (!op_tensors(g, "found", &x, 1) || !size) return 0;
  if (ir_op_of(g, size) != IR_OP_VAR)
    return op_refuse(g, "found: the size is %s; a run finds the value of a size variable, such as n",
                     OP_EXPR(size));
  if (ir_rank(g, x) || ir_batch(g, x) || !ir_is_data_int(ir_dtype_of(g, x)))
    return op_refuse(g, "found: x has shape %s; the value of a size is an integer of rank 0", OP_TYPE(x));
  return op_make(g, IR_OP_FOUND, IR_I64, NULL, 0, 0, (ir_ref[]){op_cast(g, x, IR_I64), size}, 2);
}
