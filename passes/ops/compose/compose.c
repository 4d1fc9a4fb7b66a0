/* Shared by the compositions: start and end, dtypes, short names. */
#include "impl.h"

bool op_compose_begin(ir_graph *g, const char *who, ir_ref *x, size_t n) {
  if (g->error->status != IR_OK) return false;
  for (size_t i = 0; i < n; i++) x[i] = op_default_dtype(g, x[i]);
  return op_tensors(g, who, x, n);
}

ir_ref op_compose_end(ir_graph *g, const char *who, ir_ref made) {
  if (!made) op_rename_error(g->error, who);
  return made;
}

ir_dtype op_float_wide(ir_dtype dtype) {
  ir_dtype t = op_float_result(dtype);
  return t == IR_F64 ? t : IR_F32;
}

ir_ref op_add(ir_graph *g, ir_ref a, ir_ref b) { return op_binary(g, IR_OP_ADD, a, b); }
ir_ref op_sub(ir_graph *g, ir_ref a, ir_ref b) { return op_binary(g, IR_OP_SUB, a, b); }
ir_ref op_mul(ir_graph *g, ir_ref a, ir_ref b) { return op_binary(g, IR_OP_MUL, a, b); }
ir_ref op_div(ir_graph *g, ir_ref a, ir_ref b) { return op_binary(g, IR_OP_DIV, a, b); }

/* Element n of 0, 1, ..., n: a view, which folds to the size itself. */
ir_ref op_size_value(ir_graph *g, ir_dtype dtype, ir_ref size) {
  int64_t value;
  if (!size) return 0;
  if (ir_is_const(g, size, &value))
    return ir_const(g, dtype, ir_value_cast((ir_value){.i = value}, IR_I64, dtype));
  ir_ref room = pass_add_int(g, size, 1);
  return op_cast(g, op_point(g, op_iota(g, IR_I64, &room, 1, 0), size, 0), dtype);
}
