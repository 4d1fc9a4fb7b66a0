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

static vf_value logical(ir_op op, vf_value a, vf_value b) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, (vf_value[]){a, b}, 2);
  return fe_end(&c, good ? op_logical(c.ir, op, a.id, b.id) : 0);
}

#define UNARY(name, op)                                                                                      \
  vf_value vf_##name(vf_value x) { return unary(IR_OP_##op, x); }
#define BINARY(name, op)                                                                                     \
  vf_value vf_##name(vf_value a, vf_value b) { return record_binary(IR_OP_##op, a, b); }
#define LOGICAL(name, op)                                                                                    \
  vf_value vf_##name(vf_value a, vf_value b) { return logical(IR_OP_##op, a, b); }

UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(relu, RELU)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(exp, EXP)
UNARY(exp2, EXP2)
UNARY(log, LOG)
UNARY(log2, LOG2)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(tanh, TANH)
UNARY(erf, ERF)
UNARY(sigmoid, SIGMOID)
UNARY(expm1, EXPM1)
UNARY(log1p, LOG1P)
UNARY(erfinv, ERFINV)
UNARY(tan, TAN)
UNARY(asin, ASIN)
UNARY(acos, ACOS)
UNARY(atan, ATAN)
UNARY(sinh, SINH)
UNARY(cosh, COSH)
UNARY(asinh, ASINH)
UNARY(acosh, ACOSH)
UNARY(atanh, ATANH)
UNARY(floor, FLOOR)
UNARY(ceil, CEIL)
UNARY(trunc, TRUNC)
UNARY(stored, STORED)
UNARY(round, ROUND)
UNARY(bit_not, NOT)

BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(floordiv, FLOORDIV)
BINARY(mod, MOD)
BINARY(pow, POW)
BINARY(min, MIN)
BINARY(max, MAX)
BINARY(eq, EQ)
BINARY(ne, NE)
BINARY(lt, LT)
BINARY(le, LE)
BINARY(gt, GT)
BINARY(ge, GE)
BINARY(bit_and, AND)
BINARY(bit_or, OR)
BINARY(bit_xor, XOR)
BINARY(shl, SHL)
BINARY(shr, SHR)

LOGICAL(logical_and, AND)
LOGICAL(logical_or, OR)
LOGICAL(logical_xor, XOR)

vf_value vf_logical_not(vf_value x) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "logical_not", &x, 1) ? op_logical_not(c.ir, x.id) : 0);
}

vf_value vf_fma(vf_value a, vf_value b, vf_value x) {
  fe_call c;
  bool good = fe_begin(&c, "fma", (vf_value[]){a, b, x}, 3);
  return fe_end(&c, good ? op_fma(c.ir, a.id, b.id, x.id) : 0);
}

vf_value vf_where(vf_value condition, vf_value a, vf_value b) {
  fe_call c;
  bool good = fe_begin(&c, "where", (vf_value[]){condition, a, b}, 3);
  return fe_end(&c, good ? op_where(c.ir, condition.id, a.id, b.id) : 0);
}

vf_value vf_cast(vf_value x, vf_dtype dtype) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "cast", &x, 1) ? op_cast(c.ir, x.id, (ir_dtype)dtype) : 0);
}

vf_value vf_bitcast(vf_value x, vf_dtype dtype) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "bitcast", &x, 1) ? op_bitcast(c.ir, x.id, (ir_dtype)dtype) : 0);
}
