/* The value of one node as an expression: index arithmetic, and every operation. Indices are mathematical
 * integers: bounds say whether an i32 holds them. Where vectors are values, a scalar index is an i64, as
 * addresses are, except quotients and remainders: division of 64 bits takes several times as long. In
 * work-items it is an i32 wherever that is enough. */
#include "codegen/text/text.h"
#include "ir/arith.h"
#include "ir/primitive_ops.h"

unsigned tx_index_kind(tx_emitter *e, ir_ref ref) {
  ir_op op = ir_op_of(e->g, ref);
  int64_t divisor;
  bool divides = (op == IR_OP_FLOORDIV || op == IR_OP_MOD) &&
                 !(ir_is_const(e->g, ir_src(e->g, ref, 1), &divisor) && (divisor & (divisor - 1)) == 0);
  if ((e->vectors != TX_ITEMS && e->nest->width[ref] == 1 && !divides) || op == IR_OP_LOOP ||
      op == IR_OP_CARRY || op == IR_OP_GET)
    return TX_I64;
  return cg_fits_32_bits(e->g, ref) && cg_operands_fit_32_bits(e->g, ref) ? TX_I32 : TX_I64;
}

tx_value tx_index_literal(tx_emitter *e, int64_t value) {
  return tx_literal(e, value >= INT32_MIN && value <= INT32_MAX ? TX_I32 : TX_I64, value);
}

tx_value tx_index_as(tx_emitter *e, tx_value v, unsigned kind) {
  if (v.kind == kind) return v;
  return v.literal && v.width == 1 ? tx_literal(e, kind, v.number) : tx_convert(e, v, kind);
}

tx_value tx_fetch_value(tx_emitter *e, ir_ref ref, uint32_t width) {
  tx_value v = tx_at(e, ref);
  ir_dtype dtype = ir_dtype_of(e->g, ref);
  if (dtype == IR_BOOL && width > 1) return tx_mask(e, v, TX_I32, width);
  return tx_splat(e, tx_index_as(e, v, tx_kind_of(e, dtype)), width);
}

/* Converts the operands of an operation to the kind of its result. Of two scalars one i64 is enough: the
 * language widens the other. */
static void convert_operands(tx_emitter *e, unsigned kind, tx_value *a, tx_value *b) {
  bool widens = a->width == 1 && b->width == 1 && kind == TX_I64;
  if (widens && (a->kind == TX_I64 || b->kind == TX_I64)) return;
  *a = tx_index_as(e, *a, kind);
  if (!widens) *b = tx_index_as(e, *b, kind);
}

/* `a*b`, `a - b`: an operand that binds less tightly stands in parentheses, and a right operand that binds
 * equally as well, except in sums `a + b`. */
static tx_value infix(tx_emitter *e, tx_operator op, tx_value a, tx_value b) {
  unsigned kind = a.kind == TX_I64 || b.kind == TX_I64 ? TX_I64 : a.kind;
  uint32_t width = tx_widest(a, b);
  if (width > 1 && e->language->vectors)
    return tx_infix(e, op, tx_index_as(e, a, kind), tx_index_as(e, b, kind));
  tx_level level = op == TX_ADD || op == TX_SUB ? TX_SUM : TX_PRODUCT,
           right = op == TX_ADD ? TX_SUM : level + 1;
  const char *space = level == TX_SUM || width > 1 ? " " : "";
  return tx_make(e, kind, width, level, "%s%s%s%s%s", tx_parenthesised(e, a, level), space,
                 tx_operator_text(op), space, tx_parenthesised(e, b, right));
}

/* Sums and products of literals, which the indices of unrolled lanes are, are computed here; terms 0 and
 * factors 1 are left out. */
tx_value tx_sum(tx_emitter *e, tx_value a, tx_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, TX_ADD, a, b);
  if (a.literal && b.literal && ir_add_ok(a.number, b.number, &value)) return tx_index_literal(e, value);
  if (a.literal && a.number == 0) return b;
  if (b.literal && b.number == 0) return a;
  if (!b.literal || b.number > 0 || b.number == INT64_MIN) return infix(e, TX_ADD, a, b);
  return infix(e, TX_SUB, a, tx_index_as(e, tx_index_literal(e, -b.number), b.kind));
}

tx_value tx_product(tx_emitter *e, tx_value a, tx_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, TX_MUL, a, b);
  if (a.literal && b.literal && ir_mul_ok(a.number, b.number, &value)) return tx_index_literal(e, value);
  if ((a.literal && a.number == 0) || (b.literal && b.number == 0)) return tx_index_literal(e, 0);
  if (a.literal && a.number == 1) return b;
  return b.literal && b.number == 1 ? a : infix(e, TX_MUL, a, b);
}

/* By a power of two, as shifts and masks, which are floor operations. */
static tx_value divide_by_power(tx_emitter *e, bool want_quotient, tx_value a, int64_t d) {
  int count = 0;
  while (d >> count > 1) count++;
  tx_value mask = tx_literal(e, a.kind, d - 1);
  if (a.width > 1 && e->language->vectors)
    return want_quotient ? e->language->shifted(e, false, a, count) : tx_infix(e, TX_AND, a, mask);
  const char *from = tx_parenthesised(e, a, TX_ATOM);
  return want_quotient ? tx_make(e, a.kind, a.width, TX_LOOSE, "%s >> %d", from, count)
                       : tx_make(e, a.kind, a.width, TX_LOOSE, "%s & %s", from, mask.text);
}

/* Divisors are >= 1. */
static tx_value index_divide(tx_emitter *e, ir_ref ref, tx_value a, tx_value b) {
  const ir_node *n = ir_get(e->g, ref);
  bool want_quotient = n->op == IR_OP_FLOORDIV;
  int64_t d;
  if (ir_is_const(e->g, n->src[1], &d) && d > 0 && (d & (d - 1)) == 0)
    return divide_by_power(e, want_quotient, a, d);
  if (ir_bounds_of(e->g, n->src[0]).lo >= 0) return infix(e, want_quotient ? TX_QUO : TX_REM, a, b);
  return e->language->call(e, want_quotient ? TX_DIV : TX_MOD, a.kind, (tx_value[]){a, b}, 2);
}

/* Sums and products whose bounds do not exclude overflow wrap around. */
static tx_value index_binary(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  tx_value a = tx_at(e, n->src[0]), b = tx_at(e, n->src[1]);
  unsigned kind = tx_index_kind(e, ref);
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  convert_operands(e, kind, &a, &b);
  switch ((int)n->op) {
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return index_divide(e, ref, tx_index_as(e, a, kind), tx_index_as(e, b, kind));
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
    if (bounds.lo == INT64_MIN || bounds.hi == INT64_MAX) break;
    if (n->op == IR_OP_MUL) return tx_product(e, a, b);
    return n->op == IR_OP_ADD ? tx_sum(e, a, b) : infix(e, TX_SUB, a, b);
  default: break;
  }
  return tx_combine(e, (ir_op)n->op, IR_INDEX, tx_index_as(e, a, kind), tx_index_as(e, b, kind));
}

static tx_value binary_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (n->dtype == IR_INDEX) return index_binary(e, ref);
  return tx_combine(e, (ir_op)n->op, (ir_dtype)n->dtype, tx_at(e, n->src[0]), tx_at(e, n->src[1]));
}

static tx_value compare_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  tx_value a = tx_at(e, n->src[0]), b = tx_at(e, n->src[1]);
  if (dtype == IR_INDEX && (a.width > 1 || b.width > 1)) {
    unsigned kind = cg_operands_fit_32_bits(e->g, ref) ? TX_I32 : TX_I64;
    a = tx_index_as(e, a, kind), b = tx_index_as(e, b, kind);
  }
  return tx_compare(e, (ir_op)n->op, dtype, a, b);
}

static tx_value where_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  tx_value condition = tx_at(e, n->src[0]), a = tx_at(e, n->src[1]), b = tx_at(e, n->src[2]);
  if (n->dtype == IR_INDEX) {
    unsigned kind = tx_index_kind(e, ref);
    a = tx_index_as(e, a, kind), b = tx_index_as(e, b, kind);
  }
  return tx_select(e, condition, a, b);
}

/* An index that fits in 32 bits is cast as an i32. */
static tx_value cast_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype from = ir_dtype_of(e->g, n->src[0]), to = (ir_dtype)n->dtype;
  tx_value a = tx_at(e, n->src[0]);
  return tx_cast(e, from == IR_INDEX ? (a.kind == TX_I32 ? IR_I32 : IR_I64) : from,
                 to == IR_INDEX ? (tx_index_kind(e, ref) == TX_I32 ? IR_I32 : IR_I64) : to, a);
}

static tx_value emit_constant(tx_emitter *e, const ir_node *n) {
  ir_value value = {.i = n->arg};
  if (n->dtype == IR_INDEX) return tx_index_literal(e, value.i);
  unsigned kind = tx_kind_of(e, (ir_dtype)n->dtype);
  return ir_is_float((ir_dtype)n->dtype) ? tx_real(e, kind, value.f) : tx_literal(e, kind, value.i);
}

static tx_value lane_index(tx_emitter *e, ir_ref ref) {
  uint32_t loop = e->nest->loop_of[ref] - 1, width = tx_width(e, e->nest->width[ref]);
  if (e->nest->loops[loop].binding == IR_UNROLL) return tx_literal(e, TX_I32, e->order.lane[loop]);
  uint32_t first = tx_first_lane(e, e->nest->width[ref]);
  return width == 1 ? tx_literal(e, TX_I32, first) : e->language->lanes(e, first, width);
}

static tx_value unary_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  tx_value a = tx_at(e, n->src[0]);
  if (n->dtype == IR_INDEX) a = tx_index_as(e, a, tx_index_kind(e, ref));
  return tx_unary(e, (ir_op)n->op, (ir_dtype)n->dtype, a);
}

static tx_value ternary_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  switch ((ir_ternary)n->op) {
  case IR_TERNARY_WHERE: return where_node(e, ref);
  case IR_TERNARY_FMA:
    return tx_fma(e, (ir_dtype)n->dtype, tx_at(e, n->src[0]), tx_at(e, n->src[1]), tx_at(e, n->src[2]));
  }
  return tx_unknown_op(e, (ir_op)n->op, (ir_dtype)n->dtype);
}

/* In the odd ones of the runs of `size` elements of a, the last element of the run before; in the others that
 * of b. backwards: elements are counted from the last one. */
static tx_value run_ends(tx_emitter *e, tx_value a, tx_value b, uint32_t size, bool backwards) {
  uint32_t order[CG_MAX_LANES];
  for (uint32_t i = 0; i < a.width; i++) {
    uint32_t at = backwards ? a.width - 1 - i : i, end = at / size * size - 1;
    order[i] = at / size % 2 ? (backwards ? a.width - 1 - end : end) : a.width + i;
  }
  return e->language->shuffle(e, a, b, order, a.width);
}

/* The steps of cg_emit_prefix (codegen/llvm/loop.c). All lanes are in one subvector (passes/loops/prefix.c).
 */
static tx_value prefix_node(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = tx_width(e, e->nest->width[ref]);
  if (tx_subvectors(e, e->nest->width[ref]) > 1) return tx_unknown_op(e, (ir_op)n->op, dtype);
  tx_value v = tx_fetch_value(e, n->src[0], width);
  tx_value identity = tx_temporary(e, tx_fetch_value(e, n->src[1], width));
  for (uint32_t size = 1; size < width && !e->order.failed; size *= 2) {
    v = tx_temporary(e, v);
    v = tx_combine(e, (ir_op)ir_arg_int(n), dtype, v, run_ends(e, v, identity, size, ir_arg_mode(n) == 1));
  }
  return v;
}

/* Casts, and operations of kernels, by name; the others by class. */
tx_value tx_emit_value(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  switch ((int)n->op) {
  case IR_OP_CONST: return emit_constant(e, n);
  case IR_OP_RANGE: return lane_index(e, ref);
  case IR_OP_LOAD: return tx_emit_load(e, ref);
  case IR_OP_BOUND: return tx_emit_bound(e, ref);
  case IR_OP_PREFIX: return prefix_node(e, ref);
  case IR_OP_FMA2: return tx_fma2(e, tx_at(e, n->src[0]), tx_at(e, n->src[1]), tx_at(e, n->src[2]));
  case IR_OP_CAST: return cast_node(e, ref);
  case IR_OP_BITCAST: return tx_bitcast(e, ir_dtype_of(e->g, n->src[0]), dtype, tx_at(e, n->src[0]));
  default: break;
  }
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY: return unary_node(e, ref);
  case IR_CLASS_BINARY: return binary_node(e, ref);
  case IR_CLASS_COMPARE: return compare_node(e, ref);
  case IR_CLASS_TERNARY: return ternary_node(e, ref);
  default: return tx_unknown_op(e, (ir_op)n->op, dtype);
  }
}
