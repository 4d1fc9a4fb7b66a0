/* Keys of floats: the bits as a signed integer, those of negative floats turned around, are in the order of
 * the floats. Turning around twice is nothing, so the way back is the same. */
#include "loops.h"

static ir_dtype key_dtype(ir_dtype t) { return t == IR_F64 ? IR_I64 : IR_I32; }

/* The greatest integer of the dtype: all bits but the sign. */
static ir_ref most(ir_graph *g, ir_dtype t) { return ir_int(g, t, t == IR_I64 ? INT64_MAX : INT32_MAX); }

/* Bits other than the sign complemented where the sign is set. */
static ir_ref turned(ir_graph *g, ir_ref bits) {
  ir_dtype t = ir_dtype_of(g, bits);
  ir_ref sign = ir_binary(g, IR_OP_SHR, bits, ir_int(g, t, t == IR_I64 ? 63 : 31));
  return ir_binary(g, IR_OP_XOR, bits, ir_binary(g, IR_OP_AND, sign, most(g, t)));
}

ir_ref loop_key(ir_graph *g, ir_op op, ir_ref x) {
  if (!x) return 0;
  ir_dtype wide = ir_dtype_of(g, x) == IR_F64 ? IR_F64 : IR_F32, t = key_dtype(wide);
  x = ir_cast(g, x, wide);
  ir_ref key = turned(g, ir_make(g, IR_OP_BITCAST, t, 0, &x, 1)), best = most(g, t);
  if (op == IR_OP_MIN) best = ir_unary(g, IR_OP_NOT, best);
  return ir_where(g, ir_binary(g, IR_OP_NE, x, x), best, key);
}

ir_ref loop_key_value(ir_graph *g, ir_ref key, ir_dtype t) {
  if (!key) return 0;
  ir_ref bits = turned(g, key);
  return ir_cast(g, ir_make(g, IR_OP_BITCAST, t == IR_F64 ? IR_F64 : IR_F32, 0, &bits, 1), t);
}
