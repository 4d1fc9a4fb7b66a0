/* Arithmetic under the numeric contract: nothing is contracted, nothing traps, integers wrap, division by
 * zero gives quotient 0 and the dividend as remainder, shifts by the width or more give 0 (the sign for
 * signed right shifts), min and max propagate NaN with -0 below +0. f16 and bf16 are computed in f32 and
 * rounded once per node. */
#include "codegen/c/c.h"
#include "ir/primitive_ops.h"

#include <string.h>

cc_value cc_unknown_op(cc_emitter *e, ir_op op, ir_dtype dtype) {
  return cc_fail(e, IR_ERR_INTERNAL, "compile: %s of %s is not an operation of kernels", ir_ops[op].text,
                 ir_dtypes[dtype].name);
}

static uint32_t widest(cc_value a, cc_value b) { return a.width > b.width ? a.width : b.width; }

static cc_value mapped_1(cc_emitter *e, const char *name, cc_value a) { return cc_mapped(e, name, 1, &a); }
static cc_value mapped_2(cc_emitter *e, const char *name, cc_value a, cc_value b) {
  return cc_mapped(e, name, 2, (cc_value[]){a, b});
}

cc_value cc_round_narrow(cc_emitter *e, ir_dtype dtype, cc_value a) {
  if (dtype == IR_F16) return mapped_1(e, "roundf16", a);
  return dtype == IR_BF16 ? cc_function_of(e, "roundbf16", CC_F32, a) : a;
}

/* truth values */

cc_value cc_both(cc_emitter *e, cc_value a, cc_value b, char op) {
  uint32_t width = widest(a, b);
  static const char *const names[] = {"and", "or", "xor"}, *const infix[] = {"&", "|", "^"},
                           *const scalar[] = {"&&", "||", "!="};
  int row = op == '&' ? 0 : op == '|' ? 1 : 2;
  if (width == 1)
    return cc_make(e, CC_BOOL, 1, CC_LOOSE, "%s %s %s", cc_parenthesised(e, a, CC_UNARY), scalar[row],
                   cc_parenthesised(e, b, CC_UNARY));
  unsigned kind = a.width > 1 ? a.kind : b.kind;
  return cc_infix(e, names[row], infix[row], cc_mask(e, a, kind, width), cc_mask(e, b, kind, width));
}

static cc_value negate_condition(cc_emitter *e, cc_value a) {
  return a.width > 1 ? cc_inverted(e, a)
                     : cc_make(e, CC_BOOL, 1, CC_UNARY, "!%s", cc_parenthesised(e, a, CC_ATOM));
}

static cc_value bool_binary(cc_emitter *e, ir_op op, cc_value a, cc_value b) {
  switch ((ir_bool_binary)ir_op_on_bool(op)) {
  case IR_BOOL_AND:
  case IR_BOOL_MIN: return cc_both(e, a, b, '&');
  case IR_BOOL_OR:
  case IR_BOOL_MAX: return cc_both(e, a, b, '|');
  case IR_BOOL_XOR: return cc_both(e, a, b, '^');
  }
  return cc_unknown_op(e, op, IR_BOOL);
}

static cc_value bool_compare(cc_emitter *e, ir_op op, cc_value a, cc_value b) {
  switch ((ir_comparison)op) {
  case IR_COMPARE_EQ: return negate_condition(e, cc_both(e, a, b, '^'));
  case IR_COMPARE_NE: return cc_both(e, a, b, '^');
  case IR_COMPARE_LT: return cc_both(e, negate_condition(e, a), b, '&');
  case IR_COMPARE_LE: return cc_both(e, negate_condition(e, a), b, '|');
  case IR_COMPARE_GT: return cc_both(e, a, negate_condition(e, b), '&');
  case IR_COMPARE_GE: return cc_both(e, a, negate_condition(e, b), '|');
  }
  return cc_unknown_op(e, op, IR_BOOL);
}

cc_value cc_select(cc_emitter *e, cc_value condition, cc_value a, cc_value b) {
  uint32_t width = widest(a, b);
  if (condition.width > width) width = condition.width;
  if (width == 1)
    return cc_make(e, a.kind, 1, CC_LOOSE, "%s ? %s : %s", cc_parenthesised(e, condition, CC_UNARY),
                   cc_parenthesised(e, a, CC_UNARY), cc_parenthesised(e, b, CC_UNARY));
  if (a.kind == CC_BOOL || b.kind == CC_BOOL || a.kind != b.kind) { /* truth values */
    unsigned kind = a.width > 1 ? a.kind : b.width > 1 ? b.kind : condition.kind;
    a = cc_mask(e, a, kind, width), b = cc_mask(e, b, kind, width);
  }
  a = cc_splat(e, a, width), b = cc_splat(e, b, width);
  if (condition.width > 1) return cc_selected(e, cc_convert(e, condition, cc_signed(a.kind)), a, b);
  return cc_make(e, a.kind, width, CC_LOOSE, "%s ? %s : %s", cc_parenthesised(e, condition, CC_UNARY),
                 cc_parenthesised(e, a, CC_UNARY), cc_parenthesised(e, b, CC_UNARY));
}

cc_value cc_compare(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b) {
  static const struct {
    const char *name, *infix;
  } table[] = {{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
  _Static_assert(sizeof table / sizeof *table == IR_COMPARISONS, "a row for each comparison");
  if (dtype == IR_BOOL) return bool_compare(e, op, a, b);
  return cc_infix(e, table[op - IR_OP_EQ].name, table[op - IR_OP_EQ].infix, a, b);
}

/* floats */

/* If one operand is a constant and no NaN, one comparison is enough, since NaN fails it; where both operands
 * are equal, the constant is chosen if its zero is the one to be preferred. */
static cc_value extremum(cc_emitter *e, bool greatest, ir_dtype dtype, cc_value a, cc_value b) {
  cc_value x = a.literal ? b : a, c = a.literal ? a : b;
  if (a.literal == b.literal || strstr(c.text, "NAN")) return cc_extremum(e, greatest, a, b);
  bool negative = c.text[0] == '-';
  ir_op yields = greatest ? (negative ? IR_OP_LT : IR_OP_LE) : (negative ? IR_OP_GE : IR_OP_GT);
  return cc_select(e, cc_compare(e, yields, dtype, x, c), c, x);
}

static cc_value float_binary(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b) {
  switch ((ir_float_binary)op) {
  case IR_FLOAT_MIN:
  case IR_FLOAT_MAX: return extremum(e, op == IR_OP_MAX, dtype, a, b);
  case IR_FLOAT_ADD: return cc_round_narrow(e, dtype, cc_infix(e, "add", "+", a, b));
  case IR_FLOAT_SUB: return cc_round_narrow(e, dtype, cc_infix(e, "sub", "-", a, b));
  case IR_FLOAT_MUL: return cc_round_narrow(e, dtype, cc_infix(e, "mul", "*", a, b));
  case IR_FLOAT_DIV: return cc_round_narrow(e, dtype, cc_infix(e, "quo", "/", a, b));
  }
  return cc_unknown_op(e, op, dtype);
}

/* integers */

/* Unsigned scalars of 32 bits and more wrap by the language; for others, which C promotes or leaves
 * undefined, the prelude has functions. */
static cc_value wrapping(cc_emitter *e, const char *what, const char *op, cc_value a, cc_value b) {
  bool plain = a.kind == CC_U32 || a.kind == CC_U64 || widest(a, b) > 1;
  return plain ? cc_infix(e, what, op, a, b) : mapped_2(e, what, a, b);
}

static cc_value shift(cc_emitter *e, ir_op op, cc_value a, cc_value count) {
  if (count.literal && count.number >= 0 && count.number < 8 * cc_bytes(a.kind)) {
    uint32_t width = widest(a, count);
    return cc_shifted(e, op == IR_OP_SHL, cc_splat(e, a, width), count.number);
  }
  return mapped_2(e, op == IR_OP_SHL ? "shl" : "shr", a, count);
}

static cc_value int_binary(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b) {
  switch ((ir_int_binary)op) {
  case IR_INT_ADD: return wrapping(e, "add", "+", a, b);
  case IR_INT_SUB: return wrapping(e, "sub", "-", a, b);
  case IR_INT_MUL: return wrapping(e, "mul", "*", a, b);
  case IR_INT_MIN: return cc_extremum(e, false, a, b);
  case IR_INT_MAX: return cc_extremum(e, true, a, b);
  case IR_INT_FLOORDIV: return mapped_2(e, "div", a, b);
  case IR_INT_MOD: return mapped_2(e, "mod", a, b);
  case IR_INT_AND: return cc_infix(e, "and", "&", a, b);
  case IR_INT_OR: return cc_infix(e, "or", "|", a, b);
  case IR_INT_XOR: return cc_infix(e, "xor", "^", a, b);
  case IR_INT_SHL:
  case IR_INT_SHR: return shift(e, op, a, b);
  case IR_INT_DOT2: return mapped_2(e, "dot2", a, b);
  }
  return cc_unknown_op(e, op, dtype);
}

cc_value cc_combine(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b) {
  if (ir_is_float(dtype)) return float_binary(e, op, dtype, a, b);
  if (dtype == IR_BOOL) return bool_binary(e, op, a, b);
  return int_binary(e, op, dtype, a, b);
}

cc_value cc_fma(cc_emitter *e, ir_dtype dtype, cc_value a, cc_value b, cc_value c) {
  if (!ir_is_float(dtype)) return cc_combine(e, IR_OP_ADD, dtype, cc_combine(e, IR_OP_MUL, dtype, a, b), c);
  return cc_round_narrow(e, dtype, cc_mapped(e, "fma", 3, (cc_value[]){a, b, c}));
}

static cc_value int_unary(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a) {
  switch ((ir_int_unary)op) {
  case IR_INT_NEG: return cc_negated(e, a);
  case IR_INT_ABS: return cc_is_signed(a.kind) ? mapped_1(e, "abs", a) : a;
  case IR_INT_NOT: return cc_inverted(e, a);
  case IR_INT_FLOOR:
  case IR_INT_CEIL:
  case IR_INT_TRUNC:
  case IR_INT_ROUND: return a;
  }
  return cc_unknown_op(e, op, dtype);
}

cc_value cc_unary(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a) {
  if (dtype == IR_BOOL) return op == IR_OP_NOT ? negate_condition(e, a) : a;
  if (!ir_is_float(dtype)) return int_unary(e, op, dtype, a);
  switch ((ir_float_unary)op) {
  case IR_FLOAT_NEG: return cc_negated(e, a);
  case IR_FLOAT_ABS: return mapped_1(e, "abs", a);
  case IR_FLOAT_SQRT: return cc_round_narrow(e, dtype, mapped_1(e, "sqrt", a));
  case IR_FLOAT_FLOOR: return mapped_1(e, "floor", a);
  case IR_FLOAT_CEIL: return mapped_1(e, "ceil", a);
  case IR_FLOAT_TRUNC: return mapped_1(e, "trunc", a);
  case IR_FLOAT_ROUND: return mapped_1(e, "rint", a);
  }
  return cc_unknown_op(e, op, dtype);
}
