/* Elementwise builders. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

static vf_value unary(ir_op op, vf_value x) {
  fe_call c;
  ir_ref made = 0;
  if (fe_begin(&c, ir_ops[op].text, &x, 1) && !fe_size_unary(c.ir, op, x.id, &made))
    made = op_unary(c.ir, op, x.id);
  return fe_end(&c, made);
}

static vf_value record_binary(ir_op op, vf_value a, vf_value b) {
  fe_call c;
  ir_ref made = 0;
  if (fe_begin(&c, ir_ops[op].text, (vf_value[]){a, b}, 2) && !fe_size_binary(c.ir, op, a.id, b.id, &made))
    made = op_binary(c.ir, op, a.id, b.id);
  return fe_end(&c, made);
}

static vf_value ternary(ir_op op, vf_value a, vf_value b, vf_value x) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, (vf_value[]){a, b, x}, 3);
  return fe_end(&c, good ? op_ternary(c.ir, op, a.id, b.id, x.id) : 0);
}

/* The functions of the table, vf_name for each row that is PUBLIC. */
#define ELEMENTWISE(op, name, api, cls, ...) api##_##cls(name, IR_OP_##op)
#define PRIVATE_UNARY(name, op)
#define PRIVATE_BINARY(name, op)
#define PUBLIC_UNARY(name, op)                                                                               \
  vf_value vf_##name(vf_value x) { return unary(op, x); }
#define PUBLIC_BINARY(name, op)                                                                              \
  vf_value vf_##name(vf_value a, vf_value b) { return record_binary(op, a, b); }
#define PUBLIC_COMPARE PUBLIC_BINARY
#define PUBLIC_TERNARY(name, op)                                                                             \
  vf_value vf_##name(vf_value a, vf_value b, vf_value c) { return ternary(op, a, b, c); }
#include "ir/ops.def"

vf_value vf_stored(vf_value x) { return unary(IR_OP_STORED, x); }

static vf_value logical(ir_op op, vf_value a, vf_value b) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, (vf_value[]){a, b}, 2);
  return fe_end(&c, good ? op_logical(c.ir, op, a.id, b.id) : 0);
}

vf_value vf_logical_and(vf_value a, vf_value b) { return logical(IR_OP_AND, a, b); }
vf_value vf_logical_or(vf_value a, vf_value b) { return logical(IR_OP_OR, a, b); }
vf_value vf_logical_xor(vf_value a, vf_value b) { return logical(IR_OP_XOR, a, b); }

FE_BUILDER_OF_X(logical_not, (vf_value x), op_logical_not(c.ir, x.id))

FE_BUILDER_OF_X(cast, (vf_value x, vf_dtype dtype), op_cast(c.ir, x.id, (ir_dtype)dtype))

FE_BUILDER_OF_X(bitcast, (vf_value x, vf_dtype dtype), op_bitcast(c.ir, x.id, (ir_dtype)dtype))
