/* The value of one node as an expression of C: index arithmetic, and the text of every operation. Indices are
 * mathematical integers: bounds say whether an i32 holds them. A scalar index is an i64, as addresses are,
 * except quotients and remainders: division of 64 bits takes several times as long. */
#include "codegen/c/c.h"
#include "ir/arith.h"
#include "ir/primitive_ops.h"

unsigned cc_index_kind(cc_emitter *e, ir_ref ref) {
  ir_op op = ir_op_of(e->g, ref);
  int64_t divisor;
  bool divides = (op == IR_OP_FLOORDIV || op == IR_OP_MOD) &&
                 !(ir_is_const(e->g, ir_src(e->g, ref, 1), &divisor) && (divisor & (divisor - 1)) == 0);
  if ((e->nest->width[ref] == 1 && !divides) || op == IR_OP_LOOP || op == IR_OP_CARRY || op == IR_OP_GET)
    return CC_I64;
  return cg_fits_32_bits(e->g, ref) && cg_operands_fit_32_bits(e->g, ref) ? CC_I32 : CC_I64;
}

cc_value cc_index_literal(cc_emitter *e, int64_t value) {
  return cc_literal(e, value >= INT32_MIN && value <= INT32_MAX ? CC_I32 : CC_I64, value);
}

cc_value cc_index_as(cc_emitter *e, cc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.literal && v.width == 1) return cc_literal(e, kind, v.number);
  return cc_convert(e, v, kind);
}

/* Converts the operands of an operation to the kind of its result. Of two scalars one i64 is enough: the
 * language widens the other. */
static void convert_operands(cc_emitter *e, unsigned kind, cc_value *a, cc_value *b) {
  bool widens = a->width == 1 && b->width == 1 && kind == CC_I64;
  if (widens && (a->kind == CC_I64 || b->kind == CC_I64)) return;
  *a = cc_index_as(e, *a, kind);
  if (!widens) *b = cc_index_as(e, *b, kind);
}

/* `a*b`, `a - b`: an operand that binds less tightly stands in parentheses, and a right operand that binds
 * equally as well, except in sums `a + b`. */
static cc_value infix(cc_emitter *e, cc_value a, cc_value b, const char *op, cc_level level) {
  static const struct {
    char op;
    const char *what;
  } names[] = {{'+', "add"}, {'-', "sub"}, {'*', "mul"}, {'/', "quo"}, {'%', "rem"}};
  unsigned kind = a.kind == CC_I64 || b.kind == CC_I64 ? CC_I64 : a.kind;
  for (size_t i = 0; (a.width > 1 || b.width > 1) && i < sizeof names / sizeof *names; i++)
    if (names[i].op == op[0])
      return cc_infix(e, names[i].what, op, cc_index_as(e, a, kind), cc_index_as(e, b, kind));
  cc_level right = op[0] == '+' ? CC_SUM : level + 1;
  const char *space = level == CC_SUM ? " " : "";
  return cc_make(e, kind, 1, level, "%s%s%s%s%s", cc_parenthesised(e, a, level), space, op, space,
                 cc_parenthesised(e, b, right));
}

/* Sums and products of literals, which the indices of unrolled lanes are, are computed here; terms 0 and
 * factors 1 are left out. */
cc_value cc_sum(cc_emitter *e, cc_value a, cc_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, a, b, "+", CC_SUM);
  if (a.literal && b.literal && ir_add_ok(a.number, b.number, &value)) return cc_index_literal(e, value);
  if (a.literal && a.number == 0) return b;
  if (b.literal && b.number == 0) return a;
  if (!b.literal || b.number > 0 || b.number == INT64_MIN) return infix(e, a, b, "+", CC_SUM);
  return infix(e, a, cc_index_as(e, cc_index_literal(e, -b.number), b.kind), "-", CC_SUM);
}

cc_value cc_product(cc_emitter *e, cc_value a, cc_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, a, b, "*", CC_PRODUCT);
  if (a.literal && b.literal && ir_mul_ok(a.number, b.number, &value)) return cc_index_literal(e, value);
  if ((a.literal && a.number == 0) || (b.literal && b.number == 0)) return cc_index_literal(e, 0);
  if (a.literal && a.number == 1) return b;
  return b.literal && b.number == 1 ? a : infix(e, a, b, "*", CC_PRODUCT);
}

/* By a power of two, as shifts and masks, which are floor operations. */
static cc_value divide_by_power(cc_emitter *e, bool want_quotient, cc_value a, int64_t d) {
  int count = 0;
  while (d >> count > 1) count++;
  if (a.width > 1)
    return want_quotient ? cc_shifted(e, false, a, count)
                         : cc_infix(e, "and", "&", a, cc_literal(e, a.kind, d - 1));
  if (want_quotient)
    return cc_make(e, a.kind, 1, CC_LOOSE, "%s >> %d", cc_parenthesised(e, a, CC_ATOM), count);
  return cc_make(e, a.kind, 1, CC_LOOSE, "%s & %s", cc_parenthesised(e, a, CC_ATOM),
                 cc_literal(e, a.kind, d - 1).text);
}

/* Divisors are >= 1. */
static cc_value index_divide(cc_emitter *e, ir_ref ref, cc_value a, cc_value b) {
  const ir_node *n = ir_get(e->g, ref);
  bool want_quotient = n->op == IR_OP_FLOORDIV;
  int64_t d;
  if (ir_is_const(e->g, n->src[1], &d) && d > 0 && (d & (d - 1)) == 0)
    return divide_by_power(e, want_quotient, a, d);
  if (ir_bounds_of(e->g, n->src[0]).lo >= 0) return infix(e, a, b, want_quotient ? "/" : "%", CC_PRODUCT);
  return cc_mapped(e, want_quotient ? "div" : "mod", 2, (cc_value[]){a, b});
}

/* Sums and products whose bounds do not exclude overflow wrap around. */
static cc_value index_binary(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  cc_value a = cc_at(e, n->src[0]), b = cc_at(e, n->src[1]);
  unsigned kind = cc_index_kind(e, ref);
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  convert_operands(e, kind, &a, &b);
  switch ((int)n->op) {
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return index_divide(e, ref, cc_index_as(e, a, kind), cc_index_as(e, b, kind));
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
    if (bounds.lo == INT64_MIN || bounds.hi == INT64_MAX) break;
    if (n->op == IR_OP_MUL) return cc_product(e, a, b);
    return n->op == IR_OP_ADD ? cc_sum(e, a, b) : infix(e, a, b, "-", CC_SUM);
  default: break;
  }
  return cc_combine(e, (ir_op)n->op, IR_INDEX, cc_index_as(e, a, kind), cc_index_as(e, b, kind));
}

static cc_value binary_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (n->dtype == IR_INDEX) return index_binary(e, ref);
  return cc_combine(e, (ir_op)n->op, (ir_dtype)n->dtype, cc_at(e, n->src[0]), cc_at(e, n->src[1]));
}

static cc_value compare_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  cc_value a = cc_at(e, n->src[0]), b = cc_at(e, n->src[1]);
  if (dtype == IR_INDEX && (a.width > 1 || b.width > 1)) {
    unsigned kind = cg_operands_fit_32_bits(e->g, ref) ? CC_I32 : CC_I64;
    a = cc_index_as(e, a, kind), b = cc_index_as(e, b, kind);
  }
  return cc_compare(e, (ir_op)n->op, dtype, a, b);
}

static cc_value where_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  cc_value condition = cc_at(e, n->src[0]), a = cc_at(e, n->src[1]), b = cc_at(e, n->src[2]);
  if (n->dtype == IR_INDEX) {
    unsigned kind = cc_index_kind(e, ref);
    a = cc_index_as(e, a, kind), b = cc_index_as(e, b, kind);
  }
  return cc_select(e, condition, a, b);
}

/* An index that fits in 32 bits is cast as an i32: vectors of those convert faster. */
static cc_value cast_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype from = ir_dtype_of(e->g, n->src[0]), to = (ir_dtype)n->dtype;
  cc_value a = cc_at(e, n->src[0]);
  return cc_cast(e, from == IR_INDEX ? (a.kind == CC_I32 ? IR_I32 : IR_I64) : from,
                 to == IR_INDEX ? (cc_index_kind(e, ref) == CC_I32 ? IR_I32 : IR_I64) : to, a);
}

static cc_value emit_constant(cc_emitter *e, const ir_node *n) {
  ir_value value = {.i = n->arg};
  if (n->dtype == IR_INDEX) return cc_index_literal(e, value.i);
  unsigned kind = cc_kind_of((ir_dtype)n->dtype);
  return ir_is_float((ir_dtype)n->dtype) ? cc_real(e, kind, value.f) : cc_literal(e, kind, value.i);
}

static cc_value lane_index(cc_emitter *e, ir_ref ref) {
  uint32_t loop = e->nest->loop_of[ref] - 1, width = e->nest->width[ref];
  if (e->nest->loops[loop].binding == IR_UNROLL) return cc_literal(e, CC_I32, e->order.lane[loop]);
  return width == 1 ? cc_literal(e, CC_I32, 0) : cc_lanes(e, CC_I32, width, 1);
}

static cc_value unary_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  cc_value a = cc_at(e, n->src[0]);
  if (n->dtype == IR_INDEX) a = cc_index_as(e, a, cc_index_kind(e, ref));
  return cc_unary(e, (ir_op)n->op, (ir_dtype)n->dtype, a);
}

static cc_value ternary_node(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  switch ((ir_ternary)n->op) {
  case IR_TERNARY_WHERE: return where_node(e, ref);
  case IR_TERNARY_FMA:
    return cc_fma(e, (ir_dtype)n->dtype, cc_at(e, n->src[0]), cc_at(e, n->src[1]), cc_at(e, n->src[2]));
  }
  return cc_unknown_op(e, (ir_op)n->op, (ir_dtype)n->dtype);
}

/* Casts, and operations of kernels, by name; the others by class. */
cc_value cc_emit_value(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  switch ((int)n->op) {
  case IR_OP_CONST: return emit_constant(e, n);
  case IR_OP_RANGE: return lane_index(e, ref);
  case IR_OP_LOAD: return cc_emit_load(e, ref);
  case IR_OP_BOUND: return cc_emit_bound(e, ref);
  case IR_OP_PREFIX: return cc_emit_prefix(e, ref);
  case IR_OP_CAST: return cast_node(e, ref);
  case IR_OP_BITCAST: return cc_bitcast(e, ir_dtype_of(e->g, n->src[0]), dtype, cc_at(e, n->src[0]));
  default: break;
  }
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY: return unary_node(e, ref);
  case IR_CLASS_BINARY: return binary_node(e, ref);
  case IR_CLASS_COMPARE: return compare_node(e, ref);
  case IR_CLASS_TERNARY: return ternary_node(e, ref);
  default: return cc_unknown_op(e, (ir_op)n->op, dtype);
  }
}
