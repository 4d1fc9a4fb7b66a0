/* The value of one node at the current lanes: index arithmetic, and the emission of every operation. Indices
 * are mathematical integers: their bounds decide how many bits hold them, which of nsw and nuw hold, and
 * whether floor division may be unsigned division. */
#include "codegen/llvm/llvm.h"
#include "ir/primitive_ops.h"

/* Scalars are as wide as addresses, except quotients and remainders: division of 64 bits takes several times
 * as long. */
unsigned cg_index_bits(cg_emitter *e, ir_ref ref) {
  ir_op op = ir_op_of(e->g, ref);
  bool divides = op == IR_OP_FLOORDIV || op == IR_OP_MOD;
  if ((e->nest->width[ref] == 1 && !divides) || op == IR_OP_LOOP || op == IR_OP_CARRY || op == IR_OP_GET)
    return 64;
  return cg_fits_32_bits(e->g, ref) && cg_operands_fit_32_bits(e->g, ref) ? 32 : 64;
}

/* Sets nsw and nuw where bounds exclude wrapping. */
static LLVMValueRef cannot_wrap(cg_emitter *e, ir_ref ref, LLVMValueRef value) {
  const ir_node *n = ir_get(e->g, ref);
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  if (!LLVMIsAInstruction(value) || bounds.lo == INT64_MIN || bounds.hi == INT64_MAX) return value;
  LLVMSetNSW(value, 1);
  bool positive = ir_bounds_of(e->g, n->src[0]).lo >= 0 && ir_bounds_of(e->g, n->src[1]).lo >= 0;
  if (positive && bounds.lo >= 0) LLVMSetNUW(value, 1);
  return value;
}

/* Divisors are >= 1. */
static LLVMValueRef index_divide(cg_emitter *e, ir_ref ref, unsigned bits, uint32_t width, LLVMValueRef a,
                                 LLVMValueRef b) {
  const ir_node *n = ir_get(e->g, ref);
  bool want_quotient = n->op == IR_OP_FLOORDIV;
  int64_t d;
  if (ir_is_const(e->g, n->src[1], &d) && d > 0 &&
      (d & (d - 1)) == 0) { /* shifts and masks are floor operations */
    if (!want_quotient) return LLVMBuildAnd(e->b, a, cg_int_const(e, bits, width, d - 1), "");
    int count = 0;
    while (d >> count > 1) count++;
    return LLVMBuildAShr(e->b, a, cg_int_const(e, bits, width, count), "");
  }
  bool is_signed = ir_bounds_of(e->g, n->src[0]).lo < 0;
  LLVMValueRef q = cg_quotient(e, is_signed, width, a, b);
  if (want_quotient && !is_signed) return q;
  LLVMValueRef r = LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, q, b, ""), "");
  if (!is_signed) return r;
  LLVMValueRef below = cg_is_negative(e, r);
  if (!want_quotient) return cg_select(e, below, LLVMBuildAdd(e->b, r, b, ""), r);
  return LLVMBuildAdd(e->b, q, LLVMBuildSExt(e->b, below, LLVMTypeOf(q), ""), "");
}

static LLVMValueRef index_binary(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  unsigned bits = cg_index_bits(e, ref);
  LLVMValueRef a = cg_fetch_index(e, n->src[0], width, bits), b = cg_fetch_index(e, n->src[1], width, bits);
  if (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) return index_divide(e, ref, bits, width, a, b);
  LLVMValueRef value = cg_combine(e, (ir_op)n->op, IR_INDEX, width, a, b);
  return n->op == IR_OP_ADD || n->op == IR_OP_SUB || n->op == IR_OP_MUL ? cannot_wrap(e, ref, value) : value;
}

static LLVMValueRef binary_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_dtype dtype = (ir_dtype)n->dtype;
  if (dtype == IR_INDEX) return index_binary(e, ref);
  LLVMValueRef scaled = cg_emit_scaled(e, ref);
  if (scaled) return scaled;
  return cg_combine(e, (ir_op)n->op, dtype, width, cg_fetch(e, n->src[0], width),
                    cg_fetch(e, n->src[1], width));
}

static LLVMValueRef compare_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  unsigned bits = dtype == IR_INDEX && width > 1 && cg_operands_fit_32_bits(e->g, ref) ? 32 : 64;
  int decided = dtype == IR_INDEX && width == 1 ? cg_decided(e->nest, e->order.lane, ref) : -1;
  if (decided >= 0) return LLVMConstInt(e->i1, (unsigned)decided, 0);
  if (dtype == IR_INDEX)
    return cg_compare(e, (ir_op)n->op, dtype, cg_fetch_index(e, n->src[0], width, bits),
                      cg_fetch_index(e, n->src[1], width, bits));
  return cg_compare(e, (ir_op)n->op, dtype, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width));
}

static LLVMValueRef where_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  unsigned bits = n->dtype == IR_INDEX ? cg_index_bits(e, ref) : 0;
  LLVMValueRef condition = cg_value(e, n->src[0]); /* a condition common to all elements stays scalar */
  LLVMValueRef a = bits ? cg_fetch_index(e, n->src[1], width, bits) : cg_fetch(e, n->src[1], width);
  LLVMValueRef b = bits ? cg_fetch_index(e, n->src[2], width, bits) : cg_fetch(e, n->src[2], width);
  return cg_select(e, condition, a, b);
}

/* An index that fits in 32 bits is cast as an i32: vectors of those convert faster. */
static LLVMValueRef cast_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_dtype from = ir_dtype_of(e->g, n->src[0]), to = (ir_dtype)n->dtype;
  if (from != IR_INDEX || cg_index_bits(e, n->src[0]) == 64)
    return cg_cast(e, from, to, width, cg_fetch(e, n->src[0], width));
  return cg_cast(e, IR_I32, to, width, cg_fetch_index(e, n->src[0], width, 32));
}

static LLVMValueRef emit_constant(cg_emitter *e, const ir_node *n) {
  ir_value value = {.i = n->arg};
  LLVMTypeRef type = cg_type(e, (ir_dtype)n->dtype, 1);
  if (ir_is_float((ir_dtype)n->dtype)) return LLVMConstReal(type, value.f);
  return LLVMConstInt(type, (unsigned long long)value.i, 1);
}

static LLVMValueRef lane_index(cg_emitter *e, ir_ref ref) {
  uint32_t loop = e->nest->loop_of[ref] - 1;
  if (e->nest->loops[loop].binding == IR_UNROLL) return cg_int_const(e, 64, 1, e->order.lane[loop]);
  return cg_lanes_const(e, cg_index_bits(e, ref), e->nest->width[ref], 1);
}

static LLVMValueRef unary_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  LLVMValueRef a = n->dtype == IR_INDEX ? cg_fetch_index(e, n->src[0], width, cg_index_bits(e, ref))
                                        : cg_fetch(e, n->src[0], width);
  return cg_unary(e, (ir_op)n->op, (ir_dtype)n->dtype, width, a);
}

static LLVMValueRef ternary_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = e->nest->width[ref];
  switch ((ir_ternary)n->op) {
  case IR_TERNARY_WHERE: return where_node(e, ref);
  case IR_TERNARY_FMA:
    return cg_fma(e, dtype, width, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width),
                  cg_fetch(e, n->src[2], width));
  }
  return cg_unknown_op(e, (ir_op)n->op, dtype, width);
}

/* Casts, and operations of kernels, by name; the others by class. Loops,
 * effects and carried values are emitted elsewhere (loop.c, emit.c). */
LLVMValueRef cg_emit_value(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = e->nest->width[ref];
  switch ((int)n->op) {
  case IR_OP_CONST: return emit_constant(e, n);
  case IR_OP_RANGE: return lane_index(e, ref);
  case IR_OP_LOAD: return cg_emit_load(e, ref);
  case IR_OP_BOUND: return cg_emit_bound(e, ref);
  case IR_OP_PREFIX: return cg_emit_prefix(e, ref);
  case IR_OP_FMA2:
    return cg_fma2(e, width, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width),
                   cg_fetch(e, n->src[2], width));
  case IR_OP_CAST: return cast_node(e, ref);
  case IR_OP_BITCAST:
    return cg_bitcast(e, ir_dtype_of(e->g, n->src[0]), dtype, width, cg_fetch(e, n->src[0], width));
  default: break;
  }
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_UNARY: return unary_node(e, ref);
  case IR_CLASS_BINARY: return binary_node(e, ref);
  case IR_CLASS_COMPARE: return compare_node(e, ref);
  case IR_CLASS_TERNARY: return ternary_node(e, ref);
  default: return cg_unknown_op(e, (ir_op)n->op, dtype, width);
  }
}
