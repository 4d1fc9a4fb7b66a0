/* Arithmetic under the numeric contract: nothing is contracted, nothing traps, integers wrap, division by
 * zero gives quotient 0 and the dividend as remainder, shifts by the width or more give 0 (the sign for
 * signed right shifts), min and max propagate NaN with -0 below +0. f16 and bf16 are computed in f32 and
 * rounded once per node. */
#include "codegen/text/text.h"
#include "ir/primitive_ops.h"

#include <string.h>

tx_value tx_unknown_op(tx_emitter *e, ir_op op, ir_dtype dtype) {
  return tx_fail(e, IR_ERR_INTERNAL, "compile: %s of %s is not an operation of kernels", ir_ops[op].text,
                 ir_dtypes[dtype].name);
}

const char *tx_operator_text(tx_operator op) {
  static const char *const text[] = {"+", "-",  "*",  "/", "%",  "&", "|",
                                     "^", "==", "!=", "<", "<=", ">", ">="};
  return text[op];
}

tx_value tx_infix(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  const tx_language *l = e->language;
  bool compares = tx_is_comparison(op);
  tx_level level = compares ? l->compared : TX_UNARY;
  uint32_t width = tx_widest(a, b);
  if (width > 1 && l->vectors) return l->vectors(e, op, a, b);
  unsigned kind = !compares ? a.kind : width > 1 ? tx_signed(a.kind) : TX_BOOL;
  return tx_make(e, kind, width, TX_LOOSE, "%s %s %s", tx_parenthesised(e, a, level), tx_operator_text(op),
                 tx_parenthesised(e, b, level));
}

static tx_value called_1(tx_emitter *e, tx_function f, tx_value a) {
  return e->language->call(e, f, a.kind, &a, 1);
}

static tx_value called_2(tx_emitter *e, tx_function f, tx_value a, tx_value b) {
  return e->language->call(e, f, a.kind, (tx_value[]){a, b}, 2);
}

tx_value tx_round_narrow(tx_emitter *e, ir_dtype dtype, tx_value a) {
  if (dtype == IR_F16) return called_1(e, TX_ROUND_F16, a);
  return dtype == IR_BF16 ? called_1(e, TX_ROUND_BF16, a) : a;
}

/* truth values */

tx_value tx_both(tx_emitter *e, tx_value a, tx_value b, tx_operator op) {
  static const char *const scalar[] = {[TX_AND] = "&&", [TX_OR] = "||", [TX_XOR] = "!="};
  uint32_t width = tx_widest(a, b);
  unsigned kind = a.width > 1 ? a.kind : b.kind;
  if (width > 1) return tx_infix(e, op, tx_mask(e, a, kind, width), tx_mask(e, b, kind, width));
  return tx_make(e, TX_BOOL, 1, TX_LOOSE, "%s %s %s", tx_parenthesised(e, a, TX_UNARY), scalar[op],
                 tx_parenthesised(e, b, TX_UNARY));
}

static tx_value negate_condition(tx_emitter *e, tx_value a) {
  return a.width > 1 ? e->language->inverted(e, a)
                     : tx_make(e, TX_BOOL, 1, TX_UNARY, "!%s", tx_parenthesised(e, a, TX_ATOM));
}

static tx_value bool_binary(tx_emitter *e, ir_op op, tx_value a, tx_value b) {
  switch ((ir_bool_binary)ir_op_on_bool(op)) {
  case IR_BOOL_AND:
  case IR_BOOL_MIN: return tx_both(e, a, b, TX_AND);
  case IR_BOOL_OR:
  case IR_BOOL_MAX: return tx_both(e, a, b, TX_OR);
  case IR_BOOL_XOR: return tx_both(e, a, b, TX_XOR);
  }
  return tx_unknown_op(e, op, IR_BOOL);
}

static tx_value bool_compare(tx_emitter *e, ir_op op, tx_value a, tx_value b) {
  switch ((ir_comparison)op) {
  case IR_COMPARE_EQ: return negate_condition(e, tx_both(e, a, b, TX_XOR));
  case IR_COMPARE_NE: return tx_both(e, a, b, TX_XOR);
  case IR_COMPARE_LT: return tx_both(e, negate_condition(e, a), b, TX_AND);
  case IR_COMPARE_LE: return tx_both(e, negate_condition(e, a), b, TX_OR);
  case IR_COMPARE_GT: return tx_both(e, a, negate_condition(e, b), TX_AND);
  case IR_COMPARE_GE: return tx_both(e, a, negate_condition(e, b), TX_OR);
  }
  return tx_unknown_op(e, op, IR_BOOL);
}

tx_value tx_any(tx_emitter *e, tx_value condition) {
  return condition.width > 1 ? e->language->any(e, condition) : condition;
}

tx_value tx_select(tx_emitter *e, tx_value condition, tx_value a, tx_value b) {
  uint32_t width = tx_widest(a, b);
  if (condition.width > width) width = condition.width;
  if (width > 1 && (a.kind == TX_BOOL || b.kind == TX_BOOL || a.kind != b.kind)) { /* truth values */
    unsigned kind = condition.width > 1 ? condition.kind : a.width > 1 ? a.kind : b.kind;
    a = tx_mask(e, a, kind, width), b = tx_mask(e, b, kind, width);
  }
  a = tx_splat(e, a, width), b = tx_splat(e, b, width);
  if (condition.width > 1) {
    condition = tx_convert(e, condition, tx_signed(a.kind));
    if (e->language->selected) return e->language->selected(e, condition, a, b);
  }
  return tx_make(e, a.kind, width, TX_LOOSE, "%s ? %s : %s", tx_parenthesised(e, condition, TX_UNARY),
                 tx_parenthesised(e, a, TX_UNARY), tx_parenthesised(e, b, TX_UNARY));
}

tx_value tx_compare(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b) {
  static const uint8_t operators[] = {TX_EQ, TX_NE, TX_LT, TX_LE, TX_GT, TX_GE};
  _Static_assert(sizeof operators == IR_COMPARISONS, "one for each comparison");
  if (dtype == IR_BOOL) return bool_compare(e, op, a, b);
  tx_operator by = (tx_operator)operators[op - IR_OP_EQ];
  return e->language->compare ? e->language->compare(e, by, a, b) : tx_infix(e, by, a, b);
}

/* floats */

/* If one operand is a constant and no NaN, one comparison is enough, since NaN fails it; where both operands
 * are equal, the constant is chosen if its zero is the one to be preferred. */
static tx_value extremum(tx_emitter *e, bool greatest, ir_dtype dtype, tx_value a, tx_value b) {
  tx_value x = a.literal ? b : a, c = a.literal ? a : b;
  if (a.literal == b.literal || a.kind == TX_SOFT_F64 || strstr(c.text, "NAN"))
    return called_2(e, greatest ? TX_MAX : TX_MIN, a, b);
  bool negative = c.text[0] == '-', strict = greatest == negative;
  tx_value yields = strict ? tx_compare(e, greatest ? IR_OP_LT : IR_OP_GT, dtype, x, c)
                           : tx_infix(e, greatest ? TX_LE : TX_GE, x, c);
  return tx_select(e, yields, c, x);
}

static tx_value float_binary(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b) {
  const tx_language *l = e->language;
  switch ((ir_float_binary)op) {
  case IR_FLOAT_MIN:
  case IR_FLOAT_MAX: return extremum(e, op == IR_OP_MAX, dtype, a, b);
  case IR_FLOAT_ADD: return tx_round_narrow(e, dtype, l->arithmetic(e, TX_ADD, a, b));
  case IR_FLOAT_SUB: return tx_round_narrow(e, dtype, l->arithmetic(e, TX_SUB, a, b));
  case IR_FLOAT_MUL: return tx_round_narrow(e, dtype, l->arithmetic(e, TX_MUL, a, b));
  case IR_FLOAT_DIV: return tx_round_narrow(e, dtype, l->arithmetic(e, TX_QUO, a, b));
  }
  return tx_unknown_op(e, op, dtype);
}

/* integers */

static tx_value shift(tx_emitter *e, ir_op op, tx_value a, tx_value count) {
  bool left = op == IR_OP_SHL;
  if (count.literal && count.number >= 0 && count.number < 8 * tx_bytes(a.kind))
    return e->language->shifted(e, left, tx_splat(e, a, tx_widest(a, count)), count.number);
  return called_2(e, left ? TX_SHL : TX_SHR, a, count);
}

static tx_value int_binary(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b) {
  const tx_language *l = e->language;
  switch ((ir_int_binary)op) {
  case IR_INT_ADD: return l->arithmetic(e, TX_ADD, a, b);
  case IR_INT_SUB: return l->arithmetic(e, TX_SUB, a, b);
  case IR_INT_MUL: return l->arithmetic(e, TX_MUL, a, b);
  case IR_INT_MIN: return called_2(e, TX_MIN, a, b);
  case IR_INT_MAX: return called_2(e, TX_MAX, a, b);
  case IR_INT_FLOORDIV: return called_2(e, TX_DIV, a, b);
  case IR_INT_MOD: return called_2(e, TX_MOD, a, b);
  case IR_INT_AND: return tx_infix(e, TX_AND, a, b);
  case IR_INT_OR: return tx_infix(e, TX_OR, a, b);
  case IR_INT_XOR: return tx_infix(e, TX_XOR, a, b);
  case IR_INT_SHL:
  case IR_INT_SHR: return shift(e, op, a, b);
  case IR_INT_DOT2: return called_2(e, TX_DOT2, a, b);
  case IR_INT_DOT4: return called_2(e, TX_DOT4, a, b);
  }
  return tx_unknown_op(e, op, dtype);
}

tx_value tx_combine(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b) {
  if (ir_is_float(dtype)) return float_binary(e, op, dtype, a, b);
  if (dtype == IR_BOOL) return bool_binary(e, op, a, b);
  return int_binary(e, op, dtype, a, b);
}

tx_value tx_fma(tx_emitter *e, ir_dtype dtype, tx_value a, tx_value b, tx_value c) {
  if (!ir_is_float(dtype)) return tx_combine(e, IR_OP_ADD, dtype, tx_combine(e, IR_OP_MUL, dtype, a, b), c);
  return tx_round_narrow(e, dtype, e->language->call(e, TX_FMA, a.kind, (tx_value[]){a, b, c}, 3));
}

tx_value tx_fma2(tx_emitter *e, tx_value a, tx_value b, tx_value c) {
  tx_value upper = tx_literal(e, TX_U32, 0xffff0000), x[] = {tx_temporary(e, a), tx_temporary(e, b)};
  for (int low = 0; low < 2; low++) {
    tx_value half[2];
    for (int i = 0; i < 2; i++)
      half[i] = tx_bitcast(
          e, IR_U32, IR_F32,
          tx_temporary(e, low ? e->language->shifted(e, true, x[i], 16) : tx_infix(e, TX_AND, x[i], upper)));
    c = tx_temporary(e, tx_fma(e, IR_F32, half[0], half[1], c));
  }
  return c;
}

static tx_value int_unary(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a) {
  switch ((ir_int_unary)op) {
  case IR_INT_NEG: return e->language->negated(e, a);
  case IR_INT_ABS: return tx_is_signed(a.kind) ? e->language->absolute(e, a) : a;
  case IR_INT_NOT: return e->language->inverted(e, a);
  case IR_INT_FLOOR:
  case IR_INT_CEIL:
  case IR_INT_TRUNC:
  case IR_INT_ROUND: return a;
  }
  return tx_unknown_op(e, op, dtype);
}

tx_value tx_unary(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a) {
  if (dtype == IR_BOOL) return op == IR_OP_NOT ? negate_condition(e, a) : a;
  if (!ir_is_float(dtype)) return int_unary(e, op, dtype, a);
  switch ((ir_float_unary)op) {
  case IR_FLOAT_NEG: return e->language->negated(e, a);
  case IR_FLOAT_ABS: return e->language->absolute(e, a);
  case IR_FLOAT_SQRT: return tx_round_narrow(e, dtype, called_1(e, TX_SQRT, a));
  case IR_FLOAT_FLOOR: return called_1(e, TX_FLOOR, a);
  case IR_FLOAT_CEIL: return called_1(e, TX_CEIL, a);
  case IR_FLOAT_TRUNC: return called_1(e, TX_TRUNC, a);
  case IR_FLOAT_ROUND: return called_1(e, TX_RINT, a);
  }
  return tx_unknown_op(e, op, dtype);
}
