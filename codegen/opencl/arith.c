/* Arithmetic under the numeric contract: nothing is contracted, nothing traps, integers wrap, division by
 * zero gives quotient 0 and the dividend as remainder, shifts by the width or more give 0 (the sign for
 * signed right shifts), min and max propagate NaN with -0 below +0. f16 and bf16 are computed in float and
 * rounded once per node. What C leaves undefined of signed integers is done in unsigned ones. */
#include "codegen/opencl/opencl.h"
#include "ir/primitive_ops.h"

#include <string.h>

oc_value oc_unknown_op(oc_emitter *e, ir_op op, ir_dtype dtype) {
  return oc_fail(e, IR_ERR_INTERNAL, "compile: %s of %s is not an operation of kernels", ir_ops[op].text,
                 ir_dtypes[dtype].name);
}

static uint32_t widest(oc_value a, oc_value b) { return a.width > b.width ? a.width : b.width; }

/* `a op b` of operands of one kind; OpenCL widens a scalar operand of a vector by itself. */
static oc_value plain_binary(oc_emitter *e, oc_value a, oc_value b, const char *op) {
  return oc_make(e, a.kind, widest(a, b), OC_LOOSE, "%s %s %s", oc_parenthesised(e, a, OC_UNARY), op,
                 oc_parenthesised(e, b, OC_UNARY));
}

/* NAME_TYPE(a, b) of the prelude if `typed`, else NAME(a, b). */
static oc_value called(oc_emitter *e, const char *name, bool typed, oc_value a, oc_value b) {
  uint32_t width = widest(a, b);
  return oc_make(e, a.kind, width, OC_ATOM, "%s%s%s(%s, %s)", name, typed ? "_" : "",
                 typed ? oc_type(a.kind, width).text : "", oc_splat(e, a, width).text,
                 oc_splat(e, b, width).text);
}

oc_value oc_round_narrow(oc_emitter *e, ir_dtype dtype, oc_value a) {
  if (dtype != IR_F16 && dtype != IR_BF16) return a;
  return oc_make(e, a.kind, a.width, OC_ATOM, "vf_round_%s_%s(%s)", ir_dtypes[dtype].name,
                 oc_type(a.kind, a.width).text, a.text);
}

/* truth values */

oc_value oc_both(oc_emitter *e, oc_value a, oc_value b, const char *infix) {
  uint32_t width = widest(a, b);
  unsigned kind = a.width > 1 ? a.kind : b.kind;
  if (width > 1) a = oc_mask(e, a, kind, width), b = oc_mask(e, b, kind, width);
  const char *scalar = infix[0] == '&' ? "&&" : infix[0] == '|' ? "||" : "!=";
  return oc_make(e, kind, width, OC_LOOSE, "%s %s %s", oc_parenthesised(e, a, OC_UNARY),
                 width > 1 ? infix : scalar, oc_parenthesised(e, b, OC_UNARY));
}

static oc_value negate_condition(oc_emitter *e, oc_value a) {
  return oc_make(e, a.kind, a.width, OC_UNARY, "%s%s", a.width > 1 ? "~" : "!",
                 oc_parenthesised(e, a, OC_ATOM));
}

static oc_value bool_binary(oc_emitter *e, ir_op op, oc_value a, oc_value b) {
  switch ((ir_bool_binary)ir_op_on_bool(op)) {
  case IR_BOOL_AND:
  case IR_BOOL_MIN: return oc_both(e, a, b, "&");
  case IR_BOOL_OR:
  case IR_BOOL_MAX: return oc_both(e, a, b, "|");
  case IR_BOOL_XOR: return oc_both(e, a, b, "^");
  }
  return oc_unknown_op(e, op, IR_BOOL);
}

static oc_value bool_compare(oc_emitter *e, ir_op op, oc_value a, oc_value b) {
  switch ((ir_comparison)op) {
  case IR_COMPARE_EQ: return negate_condition(e, oc_both(e, a, b, "^"));
  case IR_COMPARE_NE: return oc_both(e, a, b, "^");
  case IR_COMPARE_LT: return oc_both(e, negate_condition(e, a), b, "&");
  case IR_COMPARE_LE: return oc_both(e, negate_condition(e, a), b, "|");
  case IR_COMPARE_GT: return oc_both(e, a, negate_condition(e, b), "&");
  case IR_COMPARE_GE: return oc_both(e, a, negate_condition(e, b), "|");
  }
  return oc_unknown_op(e, op, IR_BOOL);
}

oc_value oc_any(oc_emitter *e, oc_value condition) {
  if (condition.width == 1) return condition;
  return oc_make(e, OC_BOOL, 1, OC_ATOM, "VF_ANY(%s)", condition.text);
}

oc_value oc_select(oc_emitter *e, oc_value condition, oc_value a, oc_value b) {
  uint32_t width = widest(a, b);
  if (condition.width > width) width = condition.width;
  if (a.kind == OC_BOOL || b.kind == OC_BOOL || (width > 1 && a.kind != b.kind)) { /* truth values */
    unsigned kind = condition.width > 1 ? condition.kind : a.width > 1 ? a.kind : b.kind;
    if (width > 1) a = oc_mask(e, a, kind, width), b = oc_mask(e, b, kind, width);
  }
  if (condition.width > 1) condition = oc_convert(e, condition, oc_signed(a.kind));
  return oc_make(e, a.kind, width, OC_LOOSE, "%s ? %s : %s", oc_parenthesised(e, condition, OC_UNARY),
                 oc_parenthesised(e, oc_splat(e, a, width), OC_UNARY),
                 oc_parenthesised(e, oc_splat(e, b, width), OC_UNARY));
}

/* comparisons */

static bool is_zero(oc_value v) {
  return v.literal && (v.kind == OC_FLOAT || v.kind == OC_DOUBLE) && !v.text[strspn(v.text, "-0.f")];
}

/* A comparison with zero, written without zero: x < 0 as x <= -least, where least is the least float above 0.
 * InstCombine of LLVM 15 recognises `x < 0.0 ? -0.0 : x` as a maximum and compares x <= -0.0 instead, which
 * holds for +0.0 too; and it makes that form of `x < 0.0 ? n : x + n`. */
static ir_op order_against_least(ir_op op, bool *negative) {
  *negative = op == IR_OP_LT || op == IR_OP_GE;
  switch ((int)op) {
  case IR_OP_LT: return IR_OP_LE;
  case IR_OP_LE: return IR_OP_LT;
  case IR_OP_GT: return IR_OP_GE;
  default: return IR_OP_GT;
  }
}

static ir_op swapped(ir_op op) {
  switch ((int)op) {
  case IR_OP_LT: return IR_OP_GT;
  case IR_OP_LE: return IR_OP_GE;
  case IR_OP_GT: return IR_OP_LT;
  default: return IR_OP_LE;
  }
}

/* a > b as b < a */
static oc_value soft_compared(oc_emitter *e, unsigned kind, ir_op op, oc_value a, oc_value b) {
  static const char *const names[] = {"vf_eq", "vf_ne", "vf_lt", "vf_le", "vf_lt", "vf_le"};
  bool swaps = op == IR_OP_GT || op == IR_OP_GE;
  oc_value r = called(e, names[op - IR_OP_EQ], true, swaps ? b : a, swaps ? a : b);
  r.kind = (uint8_t)kind;
  return r;
}

static oc_value compared(oc_emitter *e, ir_op op, oc_value a, oc_value b) {
  static const char *const infix[] = {"==", "!=", "<", "<=", ">", ">="};
  _Static_assert(sizeof infix / sizeof *infix == IR_COMPARISONS, "a row for each comparison");
  uint32_t width = widest(a, b);
  unsigned kind = width > 1 ? oc_signed(a.kind) : OC_BOOL;
  if (a.kind == OC_SOFT_DOUBLE) return soft_compared(e, kind, op, a, b);
  return oc_make(e, kind, width, OC_LOOSE, "%s %s %s", oc_parenthesised(e, a, OC_SUM), infix[op - IR_OP_EQ],
                 oc_parenthesised(e, b, OC_SUM));
}

oc_value oc_compare(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b) {
  if (dtype == IR_BOOL) return bool_compare(e, op, a, b);
  if (op != IR_OP_EQ && op != IR_OP_NE && is_zero(a) != is_zero(b)) {
    if (is_zero(a)) op = swapped(op), a = b;
    bool negative, single = a.kind == OC_FLOAT;
    op = order_against_least(op, &negative);
    b = oc_make(e, a.kind, 1, negative ? OC_UNARY : OC_ATOM, "%s%s", negative ? "-" : "",
                single ? "VF_FLOAT_TRUE_MIN" : "VF_DOUBLE_TRUE_MIN");
  }
  return compared(e, op, a, b);
}

/* floats */

/* If one operand is a constant and no NaN, one comparison is enough, since NaN fails it; where both operands
 * are equal, the constant is chosen if its zero is the one to be preferred. */
static oc_value extremum(oc_emitter *e, bool greatest, ir_dtype dtype, oc_value a, oc_value b) {
  oc_value x = a.literal ? b : a, c = a.literal ? a : b;
  if (a.literal == b.literal || a.kind == OC_SOFT_DOUBLE || strstr(c.text, "NAN"))
    return called(e, greatest ? "vf_max" : "vf_min", true, a, b);
  bool negative = c.text[0] == '-';
  ir_op yields = greatest ? (negative ? IR_OP_LT : IR_OP_LE) : (negative ? IR_OP_GE : IR_OP_GT);
  uint32_t width = widest(a, b);
  bool strict = yields == IR_OP_LT || yields == IR_OP_GT;
  oc_value chosen = strict ? oc_compare(e, yields, dtype, x, c) : compared(e, yields, x, c);
  return oc_make(e, a.kind, width, OC_LOOSE, "%s ? %s : %s", chosen.text,
                 oc_parenthesised(e, oc_splat(e, c, width), OC_UNARY),
                 oc_parenthesised(e, oc_splat(e, x, width), OC_UNARY));
}

static oc_value called_1(oc_emitter *e, const char *name, oc_value a) {
  return oc_make(e, a.kind, a.width, OC_ATOM, "%s(%s)", name, a.text);
}

static oc_value in_prelude(oc_emitter *e, const char *name, oc_value a) {
  return oc_make(e, a.kind, a.width, OC_ATOM, "vf_%s_%s(%s)", name, oc_type(a.kind, a.width).text, a.text);
}

static oc_value unrounded_fma(oc_emitter *e, oc_value a, oc_value b, oc_value c) {
  uint32_t width = widest(a, b) > c.width ? widest(a, b) : c.width;
  const char *name = a.kind == OC_SOFT_DOUBLE ? oc_text(e, "vf_fma_%s", oc_type(a.kind, width).text) : "fma";
  return oc_make(e, a.kind, width, OC_ATOM, "%s(%s, %s, %s)", name, oc_splat(e, a, width).text,
                 oc_splat(e, b, width).text, oc_splat(e, c, width).text);
}

/* Is it computed with integers (soft_float.c)? */
static bool is_soft_float(const oc_emitter *e, ir_op op, unsigned kind) {
  bool divides = op == IR_OP_DIV || op == IR_OP_SQRT;
  return kind == OC_SOFT_DOUBLE || (kind == OC_FLOAT && divides && e->target->soft_division);
}

/* The four basic operations, by functions of the prelude where integers compute them. */
static oc_value basic_arithmetic(oc_emitter *e, ir_op op, oc_value a, oc_value b) {
  static const struct {
    const char *infix, *name;
  } table[] = {[IR_OP_ADD] = {"+", "vf_add"},
               [IR_OP_SUB] = {"-", "vf_sub"},
               [IR_OP_MUL] = {"*", "vf_mul"},
               [IR_OP_DIV] = {"/", "vf_div"}};
  return is_soft_float(e, op, a.kind) ? called(e, table[op].name, true, a, b)
                                      : plain_binary(e, a, b, table[op].infix);
}

static oc_value minus(oc_emitter *e, oc_value a) {
  if (a.kind == OC_SOFT_DOUBLE)
    return oc_make(e, a.kind, a.width, OC_LOOSE, "%s ^ VF_SIGN", oc_parenthesised(e, a, OC_UNARY));
  return oc_make(e, a.kind, a.width, OC_UNARY, "-%s", oc_parenthesised(e, a, OC_ATOM));
}

static oc_value soft_abs(oc_emitter *e, oc_value a) {
  return oc_make(e, a.kind, a.width, OC_LOOSE, "%s & ~VF_SIGN", oc_parenthesised(e, a, OC_UNARY));
}

static oc_value float_binary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b) {
  switch ((ir_float_binary)op) {
  case IR_FLOAT_MIN:
  case IR_FLOAT_MAX: return extremum(e, op == IR_OP_MAX, dtype, a, b);
  case IR_FLOAT_ADD:
  case IR_FLOAT_SUB:
  case IR_FLOAT_MUL:
  case IR_FLOAT_DIV: return oc_round_narrow(e, dtype, basic_arithmetic(e, op, a, b));
  }
  return oc_unknown_op(e, op, dtype);
}

/* integers */

static oc_value as_unsigned(oc_emitter *e, oc_value a) {
  unsigned kind = oc_unsigned(a.kind);
  return a.literal ? oc_convert(e, a, kind) : oc_reinterpret(e, a, kind);
}

/* Scalars smaller than int are promoted to int, in which a product of unsigned ones might not fit: products
 * are computed in uint. */
static oc_value wrapping(oc_emitter *e, oc_value a, oc_value b, const char *op) {
  uint32_t width = widest(a, b);
  unsigned kind = a.kind;
  if (width == 1 && oc_bytes(kind) < 4) {
    if (op[0] == '*') a = oc_convert(e, a, OC_UINT), b = oc_convert(e, b, OC_UINT);
    return oc_make(e, kind, 1, OC_UNARY, "(%s)(%s)", oc_type(kind, 1).text, plain_binary(e, a, b, op).text);
  }
  if (!oc_is_signed(kind)) return plain_binary(e, a, b, op);
  oc_value r = plain_binary(e, as_unsigned(e, a), as_unsigned(e, b), op);
  r.kind = (uint8_t)oc_unsigned(kind);
  return oc_reinterpret(e, r, kind);
}

static oc_value int_minus(oc_emitter *e, oc_value a) {
  oc_value zero = oc_literal(e, a.kind, 0);
  if (a.width == 1 && oc_bytes(a.kind) < 4)
    return oc_make(e, a.kind, 1, OC_UNARY, "(%s)-%s", oc_type(a.kind, 1).text,
                   oc_parenthesised(e, a, OC_ATOM));
  return oc_is_signed(a.kind) ? wrapping(e, zero, a, "-") : minus(e, a);
}

static oc_value shift(oc_emitter *e, ir_op op, oc_value a, oc_value count) {
  if (count.literal && count.number >= 0 && count.number < 8 * oc_bytes(a.kind)) {
    bool wraps = op == IR_OP_SHL && oc_is_signed(a.kind);
    unsigned kind = wraps ? oc_unsigned(a.kind) : a.kind;
    oc_value by = oc_literal(e, OC_INT, count.number), from = wraps ? as_unsigned(e, a) : a;
    if (a.width > 1 && oc_bytes(kind) != 4) by = oc_literal(e, kind, count.number);
    oc_value moved = plain_binary(e, from, by, op == IR_OP_SHL ? "<<" : ">>");
    moved.kind = (uint8_t)kind;
    if (a.width == 1 && oc_bytes(kind) < 4)
      moved = oc_make(e, kind, 1, OC_UNARY, "(%s)(%s)", oc_type(kind, 1).text, moved.text);
    return oc_reinterpret(e, moved, a.kind);
  }
  return called(e, op == IR_OP_SHL ? "vf_shl" : "vf_shr", true, a, count);
}

static oc_value int_binary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b) {
  switch ((ir_int_binary)op) {
  case IR_INT_ADD: return wrapping(e, a, b, "+");
  case IR_INT_SUB: return wrapping(e, a, b, "-");
  case IR_INT_MUL: return wrapping(e, a, b, "*");
  case IR_INT_MIN: return called(e, "min", false, a, b);
  case IR_INT_MAX: return called(e, "max", false, a, b);
  case IR_INT_FLOORDIV: return called(e, "vf_div", true, a, b);
  case IR_INT_MOD: return called(e, "vf_mod", true, a, b);
  case IR_INT_AND: return plain_binary(e, a, b, "&");
  case IR_INT_OR: return plain_binary(e, a, b, "|");
  case IR_INT_XOR: return plain_binary(e, a, b, "^");
  case IR_INT_SHL:
  case IR_INT_SHR: return shift(e, op, a, b);
  case IR_INT_DOT2: return called(e, "vf_dot2", true, a, b);
  }
  return oc_unknown_op(e, op, dtype);
}

oc_value oc_combine(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b) {
  if (ir_is_float(dtype)) return float_binary(e, op, dtype, a, b);
  if (dtype == IR_BOOL) return bool_binary(e, op, a, b);
  return int_binary(e, op, dtype, a, b);
}

oc_value oc_fma(oc_emitter *e, ir_dtype dtype, oc_value a, oc_value b, oc_value c) {
  if (!ir_is_float(dtype)) return oc_combine(e, IR_OP_ADD, dtype, oc_combine(e, IR_OP_MUL, dtype, a, b), c);
  return oc_round_narrow(e, dtype, unrounded_fma(e, a, b, c));
}

static oc_value int_unary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a) {
  switch ((ir_int_unary)op) {
  case IR_INT_NEG: return int_minus(e, a);
  case IR_INT_ABS: return oc_is_signed(a.kind) ? in_prelude(e, "abs", a) : a;
  case IR_INT_NOT:
    if (a.width == 1 && oc_bytes(a.kind) < 4)
      return oc_make(e, a.kind, 1, OC_UNARY, "(%s)~%s", oc_type(a.kind, 1).text,
                     oc_parenthesised(e, a, OC_ATOM));
    return oc_make(e, a.kind, a.width, OC_UNARY, "~%s", oc_parenthesised(e, a, OC_ATOM));
  case IR_INT_FLOOR:
  case IR_INT_CEIL:
  case IR_INT_TRUNC:
  case IR_INT_ROUND: return a;
  }
  return oc_unknown_op(e, op, dtype);
}

oc_value oc_unary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a) {
  if (dtype == IR_BOOL) return op == IR_OP_NOT ? negate_condition(e, a) : a;
  if (!ir_is_float(dtype)) return int_unary(e, op, dtype, a);
  switch ((ir_float_unary)op) {
  case IR_FLOAT_NEG: return minus(e, a);
  case IR_FLOAT_ABS: return a.kind == OC_SOFT_DOUBLE ? soft_abs(e, a) : called_1(e, "fabs", a);
  case IR_FLOAT_SQRT:
    a = is_soft_float(e, op, a.kind) ? in_prelude(e, "sqrt", a) : called_1(e, "sqrt", a);
    return oc_round_narrow(e, dtype, a);
  case IR_FLOAT_FLOOR: return in_prelude(e, "floor", a);
  case IR_FLOAT_CEIL: return in_prelude(e, "ceil", a);
  case IR_FLOAT_TRUNC: return in_prelude(e, "trunc", a);
  case IR_FLOAT_ROUND: return in_prelude(e, "rint", a);
  }
  return oc_unknown_op(e, op, dtype);
}
