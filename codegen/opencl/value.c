/* The value of one node as an expression of OpenCL C: index arithmetic, and the text of every operation.
 * Indices are mathematical integers: bounds say whether an int holds them. In vector style a scalar index is
 * long, as addresses are; in work-item style it is an int wherever that is enough. */
#include "codegen/opencl/opencl.h"
#include "ir/primitive_ops.h"
#include "ir/arith.h"

unsigned oc_index_kind(oc_emitter *e, ir_ref ref) {
  ir_op op = ir_op_of(e->g, ref);
  int64_t divisor;
  bool divides = (op == IR_OP_FLOORDIV || op == IR_OP_MOD) &&
                 !(ir_is_const(e->g, ir_src(e->g, ref, 1), &divisor) && (divisor & (divisor - 1)) == 0);
  if ((!e->lanes_are_items && e->nest->width[ref] == 1 && !divides) || op == IR_OP_LOOP ||
      op == IR_OP_CARRY || op == IR_OP_GET)
    return OC_LONG;
  return cg_fits_32_bits(e->g, ref) && cg_operands_fit_32_bits(e->g, ref) ? OC_INT : OC_LONG;
}

oc_value oc_index_literal(oc_emitter *e, int64_t value) {
  return oc_literal(e, value >= INT32_MIN && value <= INT32_MAX ? OC_INT : OC_LONG, value);
}

oc_value oc_index_as(oc_emitter *e, oc_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.literal && v.width == 1 && kind == OC_LONG) {
    v.text = oc_text(e, "%sL", v.text);
    v.kind = OC_LONG;
    return v;
  }
  return oc_convert(e, v, kind);
}

/* Converts the operands of an operation to the kind of its result. Of two scalars one long is enough: the
 * language widens the other. */
static void convert_operands(oc_emitter *e, unsigned kind, oc_value *a, oc_value *b) {
  bool widens = a->width == 1 && b->width == 1 && kind == OC_LONG;
  if (widens && (a->kind == OC_LONG || b->kind == OC_LONG)) return;
  *a = oc_index_as(e, *a, kind);
  if (!widens) *b = oc_index_as(e, *b, kind);
}

/* `a*b`, `a - b`: an operand that binds less tightly stands in parentheses, and a right operand that binds
 * equally as well, except in sums `a + b`. */
static oc_value infix(oc_emitter *e, oc_value a, oc_value b, const char *op, oc_level level) {
  unsigned kind = a.kind == OC_LONG || b.kind == OC_LONG ? OC_LONG : a.kind;
  oc_level right = op[0] == '+' ? OC_SUM : level + 1;
  const char *space = level == OC_SUM || a.width + b.width > 2 ? " " : "";
  return oc_make(e, kind, a.width > b.width ? a.width : b.width, level, "%s%s%s%s%s",
                 oc_parenthesised(e, a, level), space, op, space, oc_parenthesised(e, b, right));
}

/* Sums and products of literals, which the indices of unrolled lanes are, are computed here; terms 0 and
 * factors 1 are left out. */
oc_value oc_sum(oc_emitter *e, oc_value a, oc_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, a, b, "+", OC_SUM);
  if (a.literal && b.literal && ir_add_ok(a.number, b.number, &value)) return oc_index_literal(e, value);
  if (a.literal && a.number == 0) return b;
  if (b.literal && b.number == 0) return a;
  if (!b.literal || b.number > 0 || b.number == INT64_MIN) return infix(e, a, b, "+", OC_SUM);
  return infix(e, a, oc_index_as(e, oc_index_literal(e, -b.number), b.kind), "-", OC_SUM);
}

oc_value oc_product(oc_emitter *e, oc_value a, oc_value b) {
  int64_t value;
  if (a.width > 1 || b.width > 1) return infix(e, a, b, "*", OC_PRODUCT);
  if (a.literal && b.literal && ir_mul_ok(a.number, b.number, &value)) return oc_index_literal(e, value);
  if ((a.literal && a.number == 0) || (b.literal && b.number == 0)) return oc_index_literal(e, 0);
  if (a.literal && a.number == 1) return b;
  return b.literal && b.number == 1 ? a : infix(e, a, b, "*", OC_PRODUCT);
}

/* Divisors are >= 1. */
static oc_value index_divide(oc_emitter *e, ir_ref ref, oc_value a, oc_value b) {
  const ir_node *n = ir_get(e->g, ref);
  bool want_quotient = n->op == IR_OP_FLOORDIV;
  uint32_t width = a.width > b.width ? a.width : b.width;
  int64_t d;
  if (ir_is_const(e->g, n->src[1], &d) && d > 0 && (d & (d - 1)) == 0) {
    int count = 0;
    while (d >> count > 1) count++;
    unsigned kind = a.kind;
    if (want_quotient)
      return oc_make(e, kind, width, OC_LOOSE, "%s >> %d", oc_parenthesised(e, a, OC_ATOM), count);
    return oc_make(e, kind, width, OC_LOOSE, "%s & %s", oc_parenthesised(e, a, OC_ATOM),
                   oc_literal(e, kind, d - 1).text);
  }
  if (ir_bounds_of(e->g, n->src[0]).lo >= 0) return infix(e, a, b, want_quotient ? "/" : "%", OC_PRODUCT);
  unsigned kind = a.kind == OC_LONG || b.kind == OC_LONG ? OC_LONG : OC_INT;
  return oc_make(e, kind, width, OC_ATOM, "vf_%s_%s(%s, %s)", want_quotient ? "div" : "mod",
                 oc_type(kind, width).text, oc_splat(e, a, width).text, oc_splat(e, b, width).text);
}

/* Sums and products whose bounds do not exclude overflow wrap around. */
static oc_value index_binary(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  oc_value a = oc_at(e, n->src[0]), b = oc_at(e, n->src[1]);
  unsigned kind = oc_index_kind(e, ref);
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  convert_operands(e, kind, &a, &b);
  switch ((int)n->op) {
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return index_divide(e, ref, oc_index_as(e, a, kind), oc_index_as(e, b, kind));
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
    if (bounds.lo == INT64_MIN || bounds.hi == INT64_MAX) break;
    if (n->op == IR_OP_MUL) return oc_product(e, a, b);
    return n->op == IR_OP_ADD ? oc_sum(e, a, b) : infix(e, a, b, "-", OC_SUM);
  default: break;
  }
  return oc_combine(e, (ir_op)n->op, IR_INDEX, oc_index_as(e, a, kind), oc_index_as(e, b, kind));
}

static oc_value binary_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (n->dtype == IR_INDEX) return index_binary(e, ref);
  return oc_combine(e, (ir_op)n->op, (ir_dtype)n->dtype, oc_at(e, n->src[0]), oc_at(e, n->src[1]));
}

static oc_value compare_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  oc_value a = oc_at(e, n->src[0]), b = oc_at(e, n->src[1]);
  if (dtype == IR_INDEX && (a.width > 1 || b.width > 1)) {
    unsigned kind = cg_operands_fit_32_bits(e->g, ref) ? OC_INT : OC_LONG;
    a = oc_index_as(e, a, kind), b = oc_index_as(e, b, kind);
  }
  return oc_compare(e, (ir_op)n->op, dtype, a, b);
}

static oc_value where_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  oc_value condition = oc_at(e, n->src[0]), a = oc_at(e, n->src[1]), b = oc_at(e, n->src[2]);
  if (n->dtype == IR_INDEX) {
    unsigned kind = oc_index_kind(e, ref);
    a = oc_index_as(e, a, kind), b = oc_index_as(e, b, kind);
  }
  return oc_select(e, condition, a, b);
}

/* An index that fits in 32 bits is cast as an int. */
static oc_value cast_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype from = ir_dtype_of(e->g, n->src[0]), to = (ir_dtype)n->dtype;
  oc_value a = oc_at(e, n->src[0]);
  return oc_cast(e, from == IR_INDEX ? (a.kind == OC_INT ? IR_I32 : IR_I64) : from,
                 to == IR_INDEX ? (oc_index_kind(e, ref) == OC_INT ? IR_I32 : IR_I64) : to, a);
}

static oc_value emit_constant(oc_emitter *e, const ir_node *n) {
  ir_value value = {.i = n->arg};
  if (n->dtype == IR_INDEX) return oc_index_literal(e, value.i);
  unsigned kind = oc_kind_of(e, (ir_dtype)n->dtype);
  return ir_is_float((ir_dtype)n->dtype) ? oc_real(e, kind, value.f) : oc_literal(e, kind, value.i);
}

static oc_value lane_index(oc_emitter *e, ir_ref ref) {
  uint32_t loop = e->nest->loop_of[ref] - 1, width = oc_width(e, e->nest->width[ref]);
  if (e->nest->loops[loop].binding == IR_UNROLL) return oc_literal(e, OC_INT, e->order.lane[loop]);
  uint32_t first = oc_first_lane(e, e->nest->width[ref]);
  if (width == 1) return oc_literal(e, OC_INT, first);
  if (!first) return oc_make(e, OC_INT, width, OC_ATOM, "VF_LANES_%u", width);
  return oc_make(e, OC_INT, width, OC_SUM, "VF_LANES_%u + %u", width, first);
}

static oc_value unary_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  oc_value a = oc_at(e, n->src[0]);
  if (n->dtype == IR_INDEX) a = oc_index_as(e, a, oc_index_kind(e, ref));
  return oc_unary(e, (ir_op)n->op, (ir_dtype)n->dtype, a);
}

static oc_value ternary_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  switch ((ir_ternary)n->op) {
  case IR_TERNARY_WHERE: return where_node(e, ref);
  case IR_TERNARY_FMA:
    return oc_fma(e, (ir_dtype)n->dtype, oc_at(e, n->src[0]), oc_at(e, n->src[1]), oc_at(e, n->src[2]));
  }
  return oc_unknown_op(e, (ir_op)n->op, (ir_dtype)n->dtype);
}

/* In the odd ones of the runs of `size` elements of a, the last element of the run before; in the others that
 * of b. backwards: elements are counted from the last one. */
static oc_value run_ends(oc_emitter *e, oc_value a, oc_value b, uint32_t size, bool backwards) {
  const char *order = "";
  for (uint32_t i = 0; i < a.width; i++) {
    uint32_t at = backwards ? a.width - 1 - i : i, end = at / size * size - 1;
    uint32_t from = at / size % 2 ? (backwards ? a.width - 1 - end : end) : a.width + i;
    order = oc_text(e, "%s, %u", order, from);
  }
  return oc_make(e, a.kind, a.width, OC_ATOM, "VF_SHUFFLE_%u(%s, %s, %s%s)", a.width,
                 oc_type(oc_unsigned(a.kind), a.width).text, a.text, b.text, order);
}

/* The steps of cg_emit_prefix (codegen/llvm/loop.c). All lanes are in one subvector (passes/loops/prefix.c).
 */
static oc_value prefix_node(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = oc_width(e, e->nest->width[ref]);
  if (oc_subvectors(e, e->nest->width[ref]) > 1) return oc_unknown_op(e, (ir_op)n->op, dtype);
  oc_value v = oc_at(e, n->src[0]), identity = oc_at(e, n->src[1]);
  bool masks = dtype == IR_BOOL && width > 1;
  unsigned kind = masks ? OC_INT : v.kind;
  identity = oc_temporary(e, masks ? oc_mask(e, identity, kind, width) : oc_splat(e, identity, width));
  v = masks ? oc_mask(e, v, kind, width) : oc_splat(e, v, width);
  for (uint32_t size = 1; size < width && !e->order.failed; size *= 2) {
    v = oc_temporary(e, v);
    v = oc_combine(e, (ir_op)ir_arg_int(n), dtype, v, run_ends(e, v, identity, size, ir_arg_mode(n) == 1));
  }
  return v;
}

/* Casts, and operations of kernels, by name; the others by class. */
oc_value oc_emit_value(oc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  switch ((int)n->op) {
  case IR_OP_CONST: return emit_constant(e, n);
  case IR_OP_RANGE: return lane_index(e, ref);
  case IR_OP_LOAD: return oc_emit_load(e, ref);
  case IR_OP_BOUND: return oc_emit_bound(e, ref);
  case IR_OP_PREFIX: return prefix_node(e, ref);
  case IR_OP_CAST: return cast_node(e, ref);
  case IR_OP_BITCAST: return oc_bitcast(e, ir_dtype_of(e->g, n->src[0]), dtype, oc_at(e, n->src[0]));
  default: break;
  }
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY: return unary_node(e, ref);
  case IR_CLASS_BINARY: return binary_node(e, ref);
  case IR_CLASS_COMPARE: return compare_node(e, ref);
  case IR_CLASS_TERNARY: return ternary_node(e, ref);
  default: return oc_unknown_op(e, (ir_op)n->op, dtype);
  }
}
