/* Elementwise operations under the numeric contract: no contraction, no trap, integers wrap, division by zero gives
 * quotient 0 and the dividend as remainder, shifts by the width or more give 0 (the sign for signed right shifts), min
 * and max propagate NaN with -0 below +0. f16 and bf16 are computed in f32 and rounded once per node. */
#include "codegen/llvm.h"

static LLVMValueRef unknown_op(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width) {
  return cg_fail(e, IR_ERR_INTERNAL, cg_type(e, dtype, width), "compile: %s of %s is not an operation of kernels",
                 ir_ops[op].text, ir_dtypes[dtype].name);
}

static LLVMValueRef zero_like(LLVMValueRef a) { return LLVMConstNull(LLVMTypeOf(a)); }
static LLVMValueRef is_negative(cg_emitter *e, LLVMValueRef a) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, a, zero_like(a), "");
}

/* floats */

/* Without an instruction for it: adding and taking away the least number whose unit is 1 rounds to nearest even; a step
 * back gives the other directions. The sign is kept throughout, for zeros. */
static LLVMValueRef round_by_adding(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a) {
  bool wide = cg_bits_of(a) == 64;
  LLVMTypeRef type = wide ? e->f64 : e->f32;
  LLVMValueRef unit = cg_real_const(type, width, wide ? 0x1p52 : 0x1p23), one = cg_real_const(type, width, 1);
  LLVMValueRef size = cg_call(e, "llvm.fabs", 1, a, NULL, NULL), from = op == IR_OP_TRUNC ? size : a;
  LLVMValueRef near = LLVMBuildFSub(e->b, LLVMBuildFAdd(e->b, size, unit, ""), unit, "");
  near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOLT, size, unit, ""), near, size);
  if (op != IR_OP_TRUNC) near = cg_call(e, "llvm.copysign", 2, near, a, NULL);
  if (op == IR_OP_CEIL)
    near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOLT, near, from, ""), LLVMBuildFAdd(e->b, near, one, ""), near);
  else if (op != IR_OP_ROUND)
    near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOGT, near, from, ""), LLVMBuildFSub(e->b, near, one, ""), near);
  return cg_call(e, "llvm.copysign", 2, near, a, NULL);
}

static LLVMValueRef round_to_integer(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a) {
  if (!e->rounds) return round_by_adding(e, op, width, a);
  const char *name = op == IR_OP_FLOOR ? "llvm.floor" : op == IR_OP_CEIL ? "llvm.ceil" : op == IR_OP_TRUNC ? "llvm.trunc" : "llvm.roundeven";
  return cg_call(e, name, 1, a, NULL, NULL);
}

/* a*b + c in f32 without the instruction: the product is exact in f64, the sum is rounded to odd there (its error is
 * known exactly, by Knuth's two-sum), and so rounding to f32 is the only rounding. */
static LLVMValueRef fma_through_f64(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef f64 = cg_vector(e->f64, width), i64 = cg_vector(e->i64, width);
  LLVMValueRef p = LLVMBuildFMul(e->b, LLVMBuildFPExt(e->b, a, f64, ""), LLVMBuildFPExt(e->b, b, f64, ""), "");
  LLVMValueRef q = LLVMBuildFPExt(e->b, c, f64, ""), sum = LLVMBuildFAdd(e->b, p, q, "");
  LLVMValueRef q_part = LLVMBuildFSub(e->b, sum, p, ""), p_part = LLVMBuildFSub(e->b, sum, q_part, "");
  LLVMValueRef error = LLVMBuildFAdd(e->b, LLVMBuildFSub(e->b, p, p_part, ""), LLVMBuildFSub(e->b, q, q_part, ""), "");
  LLVMValueRef bits = LLVMBuildBitCast(e->b, sum, i64, ""), one = cg_int_const(e, 64, width, 1);
  LLVMValueRef even = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, bits, one, ""), zero_like(bits), "");
  LLVMValueRef cut = LLVMBuildFCmp(e->b, LLVMRealONE, error, zero_like(error), "");
  LLVMValueRef opposite = is_negative(e, LLVMBuildXor(e->b, bits, LLVMBuildBitCast(e->b, error, i64, ""), ""));
  LLVMValueRef step = cg_select(e, opposite, cg_int_const(e, 64, width, -1), one);
  LLVMValueRef odd = cg_select(e, LLVMBuildAnd(e->b, even, cut, ""), LLVMBuildAdd(e->b, bits, step, ""), bits);
  return LLVMBuildFPTrunc(e->b, LLVMBuildBitCast(e->b, odd, f64, ""), cg_vector(e->f32, width), "");
}

static LLVMValueRef fma_unrounded(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (e->target->has_fma) return cg_call(e, "llvm.fma", 3, a, b, c);
  if (cg_bits_of(a) == 32) return fma_through_f64(e, width, a, b, c);
  return cg_fail(e, IR_ERR_UNSUPPORTED, LLVMTypeOf(a),
                 "compile: fma of f64 needs a processor with the fma instruction, which the target (%s) lacks; "
                 "elementary functions and %% of f64 use it too; use f32",
                 e->target->triple);
}

LLVMValueRef cg_fma(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return cg_round_narrow(e, dtype, width, fma_unrounded(e, width, a, b, c));
}

static LLVMValueRef float_binary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef r;
  switch (op) {
  case IR_OP_MIN: return cg_call(e, "llvm.minimum", 2, a, b, NULL);
  case IR_OP_MAX: return cg_call(e, "llvm.maximum", 2, a, b, NULL);
  case IR_OP_ADD: r = LLVMBuildFAdd(e->b, a, b, ""); break;
  case IR_OP_SUB: r = LLVMBuildFSub(e->b, a, b, ""); break;
  case IR_OP_MUL: r = LLVMBuildFMul(e->b, a, b, ""); break;
  case IR_OP_DIV: r = LLVMBuildFDiv(e->b, a, b, ""); break;
  case IR_OP_FLOORDIV: r = round_to_integer(e, IR_OP_FLOOR, width, LLVMBuildFDiv(e->b, a, b, "")); break;
  case IR_OP_MOD:
    r = round_to_integer(e, IR_OP_FLOOR, width, LLVMBuildFDiv(e->b, a, b, ""));
    r = fma_unrounded(e, width, LLVMBuildFNeg(e->b, r, ""), b, a);
    break;
  default: return unknown_op(e, op, dtype, width);
  }
  return cg_round_narrow(e, dtype, width, r);
}

/* integers */

/* Truncated a/b for b != 0 and not MIN/-1. Processors divide no integer vectors, so up to 32 bits go through floats: a
 * quotient of n-bit integers that is no integer is at least 2^-n of itself away from one, more than a float of 2n or more
 * digits rounds by (24 for 8 and 16 bits, 53 for 32). */
static LLVMValueRef quotient(cg_emitter *e, bool is_signed, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  if (width == 1 || cg_bits_of(a) == 64 || LLVMIsConstant(b))
    return is_signed ? LLVMBuildSDiv(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, "");
  LLVMTypeRef type = cg_vector(cg_bits_of(a) == 32 ? e->f64 : e->f32, width), back = LLVMTypeOf(a);
  if (is_signed)
    return LLVMBuildFPToSI(e->b, LLVMBuildFDiv(e->b, LLVMBuildSIToFP(e->b, a, type, ""), LLVMBuildSIToFP(e->b, b, type, ""), ""),
                           back, "");
  return LLVMBuildFPToUI(e->b, LLVMBuildFDiv(e->b, LLVMBuildUIToFP(e->b, a, type, ""), LLVMBuildUIToFP(e->b, b, type, ""), ""),
                         back, "");
}

static LLVMValueRef int_divide(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = cg_is_signed(dtype), want_quotient = op == IR_OP_FLOORDIV;
  LLVMValueRef zero = zero_like(a), one = cg_int_const(e, cg_bits_of(a), width, 1), minus = LLVMConstAllOnes(LLVMTypeOf(a));
  LLVMValueRef by_zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, zero, ""), by_minus = LLVMBuildICmp(e->b, LLVMIntEQ, b, minus, "");
  LLVMValueRef unsafe = is_signed ? LLVMBuildOr(e->b, by_zero, by_minus, "") : by_zero;
  LLVMValueRef safe = cg_select(e, unsafe, one, b), q = quotient(e, is_signed, width, a, safe);
  LLVMValueRef r = LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, q, safe, ""), "");
  if (is_signed) { /* truncated to floor: one less where the remainder's sign is not the divisor's */
    LLVMValueRef differs = is_negative(e, LLVMBuildXor(e->b, r, safe, ""));
    LLVMValueRef wrong = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntNE, r, zero, ""), differs, "");
    q = cg_select(e, wrong, LLVMBuildSub(e->b, q, one, ""), q);
    q = cg_select(e, by_minus, LLVMBuildNeg(e->b, a, ""), q);
    r = cg_select(e, wrong, LLVMBuildAdd(e->b, r, safe, ""), r);
  }
  return want_quotient ? cg_select(e, by_zero, zero, q) : cg_select(e, by_zero, a, r);
}

static LLVMValueRef shift(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef count) {
  unsigned bits = cg_bits_of(a);
  LLVMValueRef most = cg_int_const(e, bits, width, bits - 1), zero = zero_like(a);
  LLVMValueRef held = cg_call(e, "llvm.umin", 2, count, most, NULL); /* negative counts count as large */
  if (op == IR_OP_SHR && cg_is_signed(dtype))
    return cg_select(e, is_negative(e, count), zero, LLVMBuildAShr(e->b, a, held, ""));
  LLVMValueRef moved = op == IR_OP_SHL ? LLVMBuildShl(e->b, a, held, "") : LLVMBuildLShr(e->b, a, held, "");
  return cg_select(e, LLVMBuildICmp(e->b, LLVMIntUGT, count, most, ""), zero, moved);
}

static LLVMValueRef int_binary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  bool is_signed = cg_is_signed(dtype);
  switch (op) {
  case IR_OP_ADD: return LLVMBuildAdd(e->b, a, b, "");
  case IR_OP_SUB: return LLVMBuildSub(e->b, a, b, "");
  case IR_OP_MUL: return LLVMBuildMul(e->b, a, b, "");
  case IR_OP_MIN: return cg_call(e, is_signed ? "llvm.smin" : "llvm.umin", 2, a, b, NULL);
  case IR_OP_MAX: return cg_call(e, is_signed ? "llvm.smax" : "llvm.umax", 2, a, b, NULL);
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return int_divide(e, op, dtype, width, a, b);
  case IR_OP_AND: return LLVMBuildAnd(e->b, a, b, "");
  case IR_OP_OR: return LLVMBuildOr(e->b, a, b, "");
  case IR_OP_XOR: return LLVMBuildXor(e->b, a, b, "");
  case IR_OP_SHL:
  case IR_OP_SHR: return shift(e, op, dtype, width, a, b);
  default: return unknown_op(e, op, dtype, width);
  }
}

static LLVMValueRef bool_binary(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  switch (op) {
  case IR_OP_AND:
  case IR_OP_MUL:
  case IR_OP_MIN: return LLVMBuildAnd(e->b, a, b, "");
  case IR_OP_OR:
  case IR_OP_ADD:
  case IR_OP_MAX: return LLVMBuildOr(e->b, a, b, "");
  case IR_OP_XOR: return LLVMBuildXor(e->b, a, b, "");
  default: return unknown_op(e, op, IR_BOOL, width);
  }
}

LLVMValueRef cg_combine(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  if (ir_is_float(dtype)) return float_binary(e, op, dtype, width, a, b);
  if (dtype == IR_BOOL) return bool_binary(e, op, width, a, b);
  return int_binary(e, op, dtype, width, a, b);
}

static LLVMValueRef unary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  bool is_float = ir_is_float(dtype);
  switch (op) {
  case IR_OP_NEG: return is_float ? LLVMBuildFNeg(e->b, a, "") : LLVMBuildNeg(e->b, a, "");
  case IR_OP_ABS:
    if (is_float) return cg_call(e, "llvm.fabs", 1, a, NULL, NULL);
    if (!cg_is_signed(dtype)) return a;
    LLVMTypeRef type = LLVMTypeOf(a);
    return cg_intrinsic(e, "llvm.abs", &type, 1, (LLVMValueRef[]){a, LLVMConstNull(e->i1)}, 2);
  case IR_OP_NOT: return is_float ? unknown_op(e, op, dtype, width) : LLVMBuildNot(e->b, a, "");
  case IR_OP_SQRT:
    if (!is_float) return unknown_op(e, op, dtype, width);
    return cg_round_narrow(e, dtype, width, cg_call(e, "llvm.sqrt", 1, a, NULL, NULL));
  default: return is_float ? round_to_integer(e, op, width, a) : a;
  }
}

static LLVMValueRef compare(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  static const struct {
    LLVMRealPredicate real;
    LLVMIntPredicate is_signed, is_unsigned;
  } table[] = {{LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ},   {LLVMRealUNE, LLVMIntNE, LLVMIntNE},
               {LLVMRealOLT, LLVMIntSLT, LLVMIntULT}, {LLVMRealOLE, LLVMIntSLE, LLVMIntULE},
               {LLVMRealOGT, LLVMIntSGT, LLVMIntUGT}, {LLVMRealOGE, LLVMIntSGE, LLVMIntUGE}};
  _Static_assert(IR_OP_GE - IR_OP_EQ == 5 && IR_OP_LT - IR_OP_EQ == 2 && IR_OP_GT - IR_OP_EQ == 4, "order of the table");
  if (ir_is_float(dtype)) return LLVMBuildFCmp(e->b, table[op - IR_OP_EQ].real, a, b, "");
  return LLVMBuildICmp(e->b, cg_is_signed(dtype) ? table[op - IR_OP_EQ].is_signed : table[op - IR_OP_EQ].is_unsigned, a, b, "");
}

/* indices: mathematical integers that bounds prove to fit */

static bool fits_32(cg_emitter *e, ir_ref ref) {
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  return bounds.lo >= INT32_MIN && bounds.hi <= INT32_MAX;
}

static unsigned operand_bits(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (ir_dtype_of(e->g, n->src[i]) == IR_INDEX && !fits_32(e, n->src[i])) return 64;
  return 32;
}

unsigned cg_index_bits(cg_emitter *e, ir_ref ref) {
  ir_op op = ir_op_of(e->g, ref);
  if (e->nest->width[ref] == 1 || op == IR_OP_LOOP || op == IR_OP_CARRY || op == IR_OP_GET || !fits_32(e, ref)) return 64;
  return operand_bits(e, ref);
}

/* Wrapping flags where bounds exclude wrapping. */
static LLVMValueRef cannot_wrap(cg_emitter *e, ir_ref ref, LLVMValueRef value) {
  const ir_node *n = ir_get(e->g, ref);
  ir_bounds bounds = ir_bounds_of(e->g, ref);
  if (!LLVMIsAInstruction(value) || bounds.lo == INT64_MIN || bounds.hi == INT64_MAX) return value;
  LLVMSetNSW(value, 1);
  if (ir_bounds_of(e->g, n->src[0]).lo >= 0 && ir_bounds_of(e->g, n->src[1]).lo >= 0) LLVMSetNUW(value, 1);
  return value;
}

/* Divisors are >= 1. */
static LLVMValueRef index_divide(cg_emitter *e, ir_ref ref, unsigned bits, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  const ir_node *n = ir_get(e->g, ref);
  bool want_quotient = n->op == IR_OP_FLOORDIV;
  int64_t d;
  if (ir_is_const(e->g, n->src[1], &d) && d > 0 && (d & (d - 1)) == 0) { /* shifts and masks are floor operations */
    if (!want_quotient) return LLVMBuildAnd(e->b, a, cg_int_const(e, bits, width, d - 1), "");
    int count = 0;
    while (d >> count > 1) count++;
    return LLVMBuildAShr(e->b, a, cg_int_const(e, bits, width, count), "");
  }
  if (ir_bounds_of(e->g, n->src[0]).lo >= 0)
    return want_quotient ? LLVMBuildUDiv(e->b, a, b, "") : LLVMBuildURem(e->b, a, b, "");
  LLVMValueRef r = LLVMBuildSRem(e->b, a, b, ""), below = is_negative(e, r);
  if (!want_quotient) return cg_select(e, below, LLVMBuildAdd(e->b, r, b, ""), r);
  LLVMValueRef q = LLVMBuildSDiv(e->b, a, b, "");
  return LLVMBuildAdd(e->b, q, LLVMBuildSExt(e->b, below, LLVMTypeOf(q), ""), "");
}

static LLVMValueRef index_binary(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  unsigned bits = cg_index_bits(e, ref);
  LLVMValueRef a = cg_fetch_index(e, n->src[0], width, bits), b = cg_fetch_index(e, n->src[1], width, bits);
  if (n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) return index_divide(e, ref, bits, width, a, b);
  LLVMValueRef value = int_binary(e, (ir_op)n->op, IR_INDEX, width, a, b);
  return n->op == IR_OP_ADD || n->op == IR_OP_SUB || n->op == IR_OP_MUL ? cannot_wrap(e, ref, value) : value;
}

static LLVMValueRef binary_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_dtype dtype = (ir_dtype)n->dtype;
  if (dtype == IR_INDEX) return index_binary(e, ref);
  return cg_combine(e, (ir_op)n->op, dtype, width, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width));
}

static LLVMValueRef compare_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  unsigned bits = dtype == IR_INDEX && width > 1 ? operand_bits(e, ref) : 64;
  if (dtype == IR_INDEX)
    return compare(e, (ir_op)n->op, dtype, cg_fetch_index(e, n->src[0], width, bits), cg_fetch_index(e, n->src[1], width, bits));
  return compare(e, (ir_op)n->op, dtype, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width));
}

static LLVMValueRef where_node(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  unsigned bits = n->dtype == IR_INDEX ? cg_index_bits(e, ref) : 0;
  LLVMValueRef condition = cg_value(e, n->src[0]); /* one condition for all elements stays one */
  LLVMValueRef a = bits ? cg_fetch_index(e, n->src[1], width, bits) : cg_fetch(e, n->src[1], width);
  LLVMValueRef b = bits ? cg_fetch_index(e, n->src[2], width, bits) : cg_fetch(e, n->src[2], width);
  return cg_select(e, condition, a, b);
}

static LLVMValueRef constant(cg_emitter *e, const ir_node *n) {
  ir_value value = {.i = n->arg};
  LLVMTypeRef type = cg_type(e, (ir_dtype)n->dtype, 1);
  if (ir_is_float((ir_dtype)n->dtype)) return LLVMConstReal(type, value.f);
  return LLVMConstInt(type, (unsigned long long)value.i, 1);
}

static LLVMValueRef lane_position(cg_emitter *e, ir_ref ref) {
  uint32_t loop = e->nest->loop_of[ref] - 1;
  if (e->nest->loops[loop].binding == IR_UNROLL) return cg_int_const(e, 64, 1, e->digit[loop]);
  return cg_lanes_const(e, cg_index_bits(e, ref), e->nest->width[ref], 1);
}

LLVMValueRef cg_emit_value(cg_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_op op = (ir_op)n->op;
  ir_dtype dtype = (ir_dtype)n->dtype;
  uint32_t width = e->nest->width[ref];
  switch (op) {
  case IR_OP_CONST: return constant(e, n);
  case IR_OP_RANGE: return lane_position(e, ref);

  case IR_OP_NEG:
  case IR_OP_ABS:
  case IR_OP_SQRT:
  case IR_OP_FLOOR:
  case IR_OP_CEIL:
  case IR_OP_TRUNC:
  case IR_OP_ROUND:
  case IR_OP_NOT:
    if (dtype == IR_INDEX) return unary(e, op, dtype, width, cg_fetch_index(e, n->src[0], width, cg_index_bits(e, ref)));
    return unary(e, op, dtype, width, cg_fetch(e, n->src[0], width));
  case IR_OP_CAST: return cg_cast(e, ir_dtype_of(e->g, n->src[0]), dtype, width, cg_fetch(e, n->src[0], width));
  case IR_OP_BITCAST: return cg_bitcast(e, ir_dtype_of(e->g, n->src[0]), dtype, width, cg_fetch(e, n->src[0], width));

  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_DIV:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_AND:
  case IR_OP_OR:
  case IR_OP_XOR:
  case IR_OP_SHL:
  case IR_OP_SHR: return binary_node(e, ref);

  case IR_OP_EQ:
  case IR_OP_NE:
  case IR_OP_LT:
  case IR_OP_LE:
  case IR_OP_GT:
  case IR_OP_GE: return compare_node(e, ref);

  case IR_OP_WHERE: return where_node(e, ref);
  case IR_OP_FMA:
    return cg_fma(e, dtype, width, cg_fetch(e, n->src[0], width), cg_fetch(e, n->src[1], width),
                  cg_fetch(e, n->src[2], width));

  case IR_OP_LOAD: return cg_emit_load(e, ref);
  case IR_OP_BOUND: return cg_emit_bound(e, ref);

  /* written as primitive operations before code generation */
  case IR_OP_RSQRT:
  case IR_OP_EXP:
  case IR_OP_EXP2:
  case IR_OP_LOG:
  case IR_OP_LOG2:
  case IR_OP_SIN:
  case IR_OP_COS:
  case IR_OP_TANH:
  case IR_OP_ERF:
  case IR_OP_SIGMOID:
  case IR_OP_RELU:
  case IR_OP_POW:
  case IR_OP_REDUCE: return unknown_op(e, op, dtype, width);

  /* have their values from llvm_loop.c, or have none */
  case IR_OP_VAR:
  case IR_OP_PARAM:
  case IR_OP_STORE:
  case IR_OP_LOOP:
  case IR_OP_CARRY:
  case IR_OP_GET:
  case IR_OP_SEQ:
  case IR_OP_KERNEL:
  case IR_OP_TUPLE:
  case IR_OP_ERROR: return unknown_op(e, op, dtype, width);

  /* of tensors */
  case IR_OP_INPUT:
  case IR_OP_BUFFER:
  case IR_OP_DATA:
  case IR_OP_IOTA:
  case IR_OP_PERMUTE:
  case IR_OP_EXPAND:
  case IR_OP_RESHAPE:
  case IR_OP_UNSQUEEZE:
  case IR_OP_SQUEEZE:
  case IR_OP_SHRINK:
  case IR_OP_STRIDE:
  case IR_OP_FLIP:
  case IR_OP_POINT:
  case IR_OP_PAD:
  case IR_OP_CONCAT:
  case IR_OP_STACK:
  case IR_OP_SUM:
  case IR_OP_PROD:
  case IR_OP_REDUCE_MAX:
  case IR_OP_REDUCE_MIN:
  case IR_OP_MEAN:
  case IR_OP_ANY:
  case IR_OP_ALL:
  case IR_OP_ARGMAX:
  case IR_OP_ARGMIN:
  case IR_OP_MATMUL:
  case IR_OP_GATHER:
  case IR_OP_COUNT: return unknown_op(e, op, dtype, width);
  }
  return unknown_op(e, IR_OP_ERROR, dtype, width);
}
