/* Arithmetic under the numeric contract: no contraction, no trap, integers wrap, division by zero
 * gives quotient 0 and the dividend as remainder, shifts by the width or more give 0 (the sign for signed
 * right shifts), min and max propagate NaN with -0 below +0. f16 and bf16 are computed in f32 and rounded
 * once per node. */
#include <string.h>

#include "codegen/llvm/llvm.h"
#include "ir/primitive_ops.h"

LLVMValueRef cg_unknown_op(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width) {
  return cg_fail(e, IR_ERR_INTERNAL, cg_type(e, dtype, width),
                 "compile: %s of %s is not an operation of kernels", ir_ops[op].text, ir_dtypes[dtype].name);
}

static LLVMValueRef zero_like(LLVMValueRef a) { return LLVMConstNull(LLVMTypeOf(a)); }
LLVMValueRef cg_is_negative(cg_emitter *e, LLVMValueRef a) {
  return LLVMBuildICmp(e->b, LLVMIntSLT, a, zero_like(a), "");
}

/* floats */

/* Rounding for targets without an instruction for it: adding and subtracting the least number whose unit in
 * the last place is 1 (2^23 in f32, 2^52 in f64) rounds to nearest even; a step back by 1 gives the other
 * directions. The sign is kept throughout, also that of zeros. */
static LLVMValueRef round_by_adding(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a) {
  bool wide = cg_bits_of(a) == 64;
  LLVMTypeRef type = wide ? e->f64 : e->f32;
  LLVMValueRef unit = cg_real_const(type, width, wide ? 0x1p52 : 0x1p23), one = cg_real_const(type, width, 1);
  LLVMValueRef size = cg_call(e, "llvm.fabs", 1, a, NULL, NULL), from = op == IR_OP_TRUNC ? size : a;
  LLVMValueRef near = LLVMBuildFSub(e->b, LLVMBuildFAdd(e->b, size, unit, ""), unit, "");
  near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOLT, size, unit, ""), near, size);
  if (op != IR_OP_TRUNC) near = cg_call(e, "llvm.copysign", 2, near, a, NULL);
  if (op == IR_OP_CEIL)
    near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOLT, near, from, ""), LLVMBuildFAdd(e->b, near, one, ""),
                     near);
  else if (op != IR_OP_ROUND)
    near = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOGT, near, from, ""), LLVMBuildFSub(e->b, near, one, ""),
                     near);
  return cg_call(e, "llvm.copysign", 2, near, a, NULL);
}

static LLVMValueRef round_to_integer(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a) {
  if (!e->rounds) return round_by_adding(e, op, width, a);
  const char *name = op == IR_OP_FLOOR   ? "llvm.floor"
                     : op == IR_OP_CEIL  ? "llvm.ceil"
                     : op == IR_OP_TRUNC ? "llvm.trunc"
                                         : "llvm.roundeven";
  return cg_call(e, name, 1, a, NULL, NULL);
}

/* Can instruction selection know that an element is 0, because it is constant or masked by a constant? Not if
 * the vector is loaded whole, nor if it is the splat of a variable. */
static bool may_show_zeros(LLVMValueRef a, uint32_t width) {
  if (LLVMIsALoadInst(a)) return false;
  if (LLVMIsAShuffleVectorInst(a)) {
    bool splat = true;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(a); i++) splat = splat && LLVMGetMaskValue(a, i) == 0;
    return !splat;
  }
  if (!LLVMIsConstant(a)) return true;
  bool zeros = false;
  for (uint32_t i = 0; i < width; i++) {
    LLVMValueRef one = LLVMGetAggregateElement(a, i);
    LLVMBool inexact;
    zeros = zeros || !one || !LLVMIsAConstantFP(one) || LLVMConstRealGetDouble(one, &inexact) == 0;
  }
  return zeros;
}

/* Selection of LLVM 19 takes an element of a vector quotient to be 0 where it knows the elements of both
 * operands to be 0 (KnownZero of FDIV in TargetLowering::SimplifyDemandedVectorElts), and so drops selects
 * between the quotient and 0; but 0/0 is NaN. A fence, which is no instruction, hides the elements of the
 * divisor. */
static LLVMValueRef float_divide(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  if (width > 1 && may_show_zeros(a, width) && may_show_zeros(b, width))
    b = cg_call(e, "llvm.arithmetic.fence", 1, b, NULL, NULL);
  return LLVMBuildFDiv(e->b, a, b, "");
}

static LLVMValueRef float_binary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                                 LLVMValueRef b) {
  LLVMValueRef r = NULL;
  switch ((ir_float_binary)op) {
  case IR_FLOAT_MIN: return cg_call(e, "llvm.minimum", 2, a, b, NULL);
  case IR_FLOAT_MAX: return cg_call(e, "llvm.maximum", 2, a, b, NULL);
  case IR_FLOAT_ADD: r = LLVMBuildFAdd(e->b, a, b, ""); break;
  case IR_FLOAT_SUB: r = LLVMBuildFSub(e->b, a, b, ""); break;
  case IR_FLOAT_MUL: r = LLVMBuildFMul(e->b, a, b, ""); break;
  case IR_FLOAT_DIV: r = float_divide(e, width, a, b); break;
  }
  return r ? cg_round_narrow(e, dtype, width, r) : cg_unknown_op(e, op, dtype, width);
}

/* integers */

/* Truncated a/b for b != 0 and not MIN/-1. Processors do not divide integer vectors, so up to 32 bits go
 * through floats. A quotient of n-bit integers that is no integer differs from every integer by at least 2^-n
 * of itself, which is more than the rounding error of a float of more than n digits (24 digits for 8 and 16
 * bits, 53 for 32). */
LLVMValueRef cg_quotient(cg_emitter *e, bool is_signed, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  if (width == 1 || cg_bits_of(a) == 64 || LLVMIsConstant(b))
    return is_signed ? LLVMBuildSDiv(e->b, a, b, "") : LLVMBuildUDiv(e->b, a, b, "");
  LLVMTypeRef type = cg_vector(cg_bits_of(a) == 32 ? e->f64 : e->f32, width), back = LLVMTypeOf(a);
  if (is_signed)
    return LLVMBuildFPToSI(
        e->b, LLVMBuildFDiv(e->b, LLVMBuildSIToFP(e->b, a, type, ""), LLVMBuildSIToFP(e->b, b, type, ""), ""),
        back, "");
  return LLVMBuildFPToUI(
      e->b, LLVMBuildFDiv(e->b, LLVMBuildUIToFP(e->b, a, type, ""), LLVMBuildUIToFP(e->b, b, type, ""), ""),
      back, "");
}

static LLVMValueRef int_divide(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                               LLVMValueRef b) {
  bool is_signed = cg_is_signed(dtype), want_quotient = op == IR_OP_FLOORDIV;
  LLVMValueRef zero = zero_like(a), one = cg_int_const(e, cg_bits_of(a), width, 1),
               minus = LLVMConstAllOnes(LLVMTypeOf(a));
  LLVMValueRef by_zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, zero, ""),
               by_minus = LLVMBuildICmp(e->b, LLVMIntEQ, b, minus, "");
  LLVMValueRef unsafe = is_signed ? LLVMBuildOr(e->b, by_zero, by_minus, "") : by_zero;
  LLVMValueRef safe = cg_select(e, unsafe, one, b), q = cg_quotient(e, is_signed, width, a, safe);
  LLVMValueRef r = LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, q, safe, ""), "");
  if (is_signed) { /* truncated to floor: one less where the remainder's sign is not the divisor's */
    LLVMValueRef differs = cg_is_negative(e, LLVMBuildXor(e->b, r, safe, ""));
    LLVMValueRef wrong = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntNE, r, zero, ""), differs, "");
    q = cg_select(e, wrong, LLVMBuildSub(e->b, q, one, ""), q);
    q = cg_select(e, by_minus, LLVMBuildNeg(e->b, a, ""), q);
    r = cg_select(e, wrong, LLVMBuildAdd(e->b, r, safe, ""), r);
  }
  return want_quotient ? cg_select(e, by_zero, zero, q) : cg_select(e, by_zero, a, r);
}

static LLVMValueRef shift(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                          LLVMValueRef count) {
  unsigned bits = cg_bits_of(a);
  LLVMValueRef most = cg_int_const(e, bits, width, bits - 1), zero = zero_like(a);
  LLVMValueRef held = cg_call(e, "llvm.umin", 2, count, most, NULL); /* a negative count is a large one */
  if (op == IR_OP_SHR && cg_is_signed(dtype))
    return cg_select(e, cg_is_negative(e, count), zero, LLVMBuildAShr(e->b, a, held, ""));
  LLVMValueRef moved = op == IR_OP_SHL ? LLVMBuildShl(e->b, a, held, "") : LLVMBuildLShr(e->b, a, held, "");
  return cg_select(e, LLVMBuildICmp(e->b, LLVMIntUGT, count, most, ""), zero, moved);
}

/* One instruction where the target has one for this width; otherwise two products and a sum, as DOT2 is
 * defined. */
static LLVMValueRef dot2(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  unsigned bits = cg_bits_of(a);
  const char *name = bits == 32 ? cg_target_dot2(e->target, width) : NULL;
  if (name) {
    LLVMTypeRef halves = LLVMVectorType(LLVMInt16TypeInContext(e->context), 2 * width);
    LLVMValueRef pairs[] = {LLVMBuildBitCast(e->b, a, halves, ""), LLVMBuildBitCast(e->b, b, halves, "")};
    return cg_intrinsic(e, name, NULL, 0, pairs, 2);
  }
  LLVMValueRef half = cg_int_const(e, bits, width, bits / 2), product[2];
  for (int high = 0; high < 2; high++) {
    LLVMValueRef x = high ? a : LLVMBuildShl(e->b, a, half, ""),
                 y = high ? b : LLVMBuildShl(e->b, b, half, "");
    product[high] =
        LLVMBuildMul(e->b, LLVMBuildAShr(e->b, x, half, ""), LLVMBuildAShr(e->b, y, half, ""), "");
  }
  return LLVMBuildAdd(e->b, product[0], product[1], "");
}

/* The words of DOT4 as the intrinsic takes them: since LLVM 22 as bytes. */
static LLVMValueRef dot4_operand(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  if (LLVM_VERSION_MAJOR < 22) return a;
  return LLVMBuildBitCast(e->b, a, LLVMVectorType(LLVMInt8TypeInContext(e->context), 4 * width), "");
}

/* One instruction where the target has one for this width, which adds to zeros here (add, below). */
static LLVMValueRef dot4(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  unsigned bits = cg_bits_of(a);
  const char *name = bits == 32 ? cg_target_dot4(e->target, width) : NULL;
  if (name)
    return cg_intrinsic(e, name, NULL, 0,
                        (LLVMValueRef[]){zero_like(a), dot4_operand(e, width, a), dot4_operand(e, width, b)},
                        3);
  LLVMValueRef sum = zero_like(a), most = cg_int_const(e, bits, width, bits - bits / 4);
  for (unsigned i = 0; i < 4; i++) {
    LLVMValueRef above = cg_int_const(e, bits, width, i * (bits / 4)), x = LLVMBuildShl(e->b, a, above, ""),
                 y = LLVMBuildShl(e->b, b, above, "");
    sum = LLVMBuildAdd(
        e->b, sum, LLVMBuildMul(e->b, LLVMBuildLShr(e->b, x, most, ""), LLVMBuildAShr(e->b, y, most, ""), ""),
        "");
  }
  return sum;
}

/* The sum of DOT4, as one instruction that adds to zeros, and another value: the instruction that adds to it.
 * NULL: it is none. */
static LLVMValueRef dot4_onto(cg_emitter *e, LLVMValueRef product, LLVMValueRef other) {
  if (!LLVMIsACallInst(product) || LLVMGetNumArgOperands(product) != 3) return NULL;
  LLVMTypeRef type = LLVMTypeOf(product);
  uint32_t width = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
  const char *name = cg_bits_of(product) == 32 ? cg_target_dot4(e->target, width) : NULL, *called;
  size_t length;
  if (!name) return NULL;
  called = LLVMGetValueName2(LLVMGetCalledValue(product), &length);
  if (strlen(name) != length || memcmp(called, name, length) || !LLVMIsNull(LLVMGetOperand(product, 0)))
    return NULL;
  return cg_intrinsic(e, name, NULL, 0,
                      (LLVMValueRef[]){other, LLVMGetOperand(product, 1), LLVMGetOperand(product, 2)}, 3);
}

static LLVMValueRef add(cg_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = dot4_onto(e, a, b);
  if (!sum) sum = dot4_onto(e, b, a);
  return sum ? sum : LLVMBuildAdd(e->b, a, b, "");
}

static LLVMValueRef int_binary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                               LLVMValueRef b) {
  bool is_signed = cg_is_signed(dtype);
  switch ((ir_int_binary)op) {
  case IR_INT_ADD: return add(e, a, b);
  case IR_INT_SUB: return LLVMBuildSub(e->b, a, b, "");
  case IR_INT_MUL: return LLVMBuildMul(e->b, a, b, "");
  case IR_INT_MIN: return cg_call(e, is_signed ? "llvm.smin" : "llvm.umin", 2, a, b, NULL);
  case IR_INT_MAX: return cg_call(e, is_signed ? "llvm.smax" : "llvm.umax", 2, a, b, NULL);
  case IR_INT_FLOORDIV:
  case IR_INT_MOD: return int_divide(e, op, dtype, width, a, b);
  case IR_INT_AND: return LLVMBuildAnd(e->b, a, b, "");
  case IR_INT_OR: return LLVMBuildOr(e->b, a, b, "");
  case IR_INT_XOR: return LLVMBuildXor(e->b, a, b, "");
  case IR_INT_SHL:
  case IR_INT_SHR: return shift(e, op, dtype, width, a, b);
  case IR_INT_DOT2: return dot2(e, width, a, b);
  case IR_INT_DOT4: return dot4(e, width, a, b);
  }
  return cg_unknown_op(e, op, dtype, width);
}

static LLVMValueRef bool_binary(cg_emitter *e, ir_op op, uint32_t width, LLVMValueRef a, LLVMValueRef b) {
  switch ((ir_bool_binary)ir_op_on_bool(op)) {
  case IR_BOOL_AND:
  case IR_BOOL_MIN: return LLVMBuildAnd(e->b, a, b, "");
  case IR_BOOL_OR:
  case IR_BOOL_MAX: return LLVMBuildOr(e->b, a, b, "");
  case IR_BOOL_XOR: return LLVMBuildXor(e->b, a, b, "");
  }
  return cg_unknown_op(e, op, IR_BOOL, width);
}

LLVMValueRef cg_combine(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a,
                        LLVMValueRef b) {
  if (ir_is_float(dtype)) return float_binary(e, op, dtype, width, a, b);
  if (dtype == IR_BOOL) return bool_binary(e, op, width, a, b);
  return int_binary(e, op, dtype, width, a, b);
}

LLVMValueRef cg_fma(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a, LLVMValueRef b,
                    LLVMValueRef c) {
  if (!ir_is_float(dtype))
    return cg_combine(e, IR_OP_ADD, dtype, width, cg_combine(e, IR_OP_MUL, dtype, width, a, b), c);
  return cg_round_narrow(e, dtype, width, cg_unrounded_fma(e, width, a, b, c));
}

/* The words of FMA2 as the intrinsic takes them: since LLVM 16 as pairs of bfloat. */
static LLVMValueRef fma2_operand(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  if (LLVM_VERSION_MAJOR < 16) return a;
  return LLVMBuildBitCast(e->b, a, LLVMVectorType(LLVMBFloatTypeInContext(e->context), 2 * width), "");
}

LLVMValueRef cg_fma2(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  const char *name = cg_target_fma2(e->target, width);
  if (name)
    return cg_intrinsic(e, name, NULL, 0,
                        (LLVMValueRef[]){c, fma2_operand(e, width, a), fma2_operand(e, width, b)}, 3);
  LLVMTypeRef type = LLVMTypeOf(c);
  LLVMValueRef upper = cg_int_const(e, 32, width, 0xffff0000), half = cg_int_const(e, 32, width, 16);
  for (int low = 0; low < 2; low++) {
    LLVMValueRef x = low ? LLVMBuildShl(e->b, a, half, "") : LLVMBuildAnd(e->b, a, upper, ""),
                 y = low ? LLVMBuildShl(e->b, b, half, "") : LLVMBuildAnd(e->b, b, upper, "");
    x = LLVMBuildBitCast(e->b, x, type, ""), y = LLVMBuildBitCast(e->b, y, type, "");
    c = e->target->has_fma ? cg_unrounded_fma(e, width, x, y, c) /* products are exact but for their range */
                           : LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, x, y, ""), c, "");
  }
  return c;
}

static LLVMValueRef float_unary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  switch ((ir_float_unary)op) {
  case IR_FLOAT_NEG: return LLVMBuildFNeg(e->b, a, "");
  case IR_FLOAT_ABS: return cg_call(e, "llvm.fabs", 1, a, NULL, NULL);
  case IR_FLOAT_SQRT: return cg_round_narrow(e, dtype, width, cg_call(e, "llvm.sqrt", 1, a, NULL, NULL));
  case IR_FLOAT_FLOOR:
  case IR_FLOAT_CEIL:
  case IR_FLOAT_TRUNC:
  case IR_FLOAT_ROUND: return round_to_integer(e, op, width, a);
  }
  return cg_unknown_op(e, op, dtype, width);
}

LLVMValueRef cg_unary(cg_emitter *e, ir_op op, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  if (ir_is_float(dtype)) return float_unary(e, op, dtype, width, a);
  LLVMTypeRef type = LLVMTypeOf(a);
  switch ((ir_int_unary)op) {
  case IR_INT_NEG: return LLVMBuildNeg(e->b, a, "");
  case IR_INT_ABS:
    if (!cg_is_signed(dtype)) return a;
    return cg_intrinsic(e, "llvm.abs", &type, 1, (LLVMValueRef[]){a, LLVMConstNull(e->i1)}, 2);
  case IR_INT_NOT: return LLVMBuildNot(e->b, a, "");
  case IR_INT_FLOOR:
  case IR_INT_CEIL:
  case IR_INT_TRUNC:
  case IR_INT_ROUND: return a;
  }
  return cg_unknown_op(e, op, dtype, width);
}

LLVMValueRef cg_compare(cg_emitter *e, ir_op op, ir_dtype dtype, LLVMValueRef a, LLVMValueRef b) {
  static const struct {
    LLVMRealPredicate real;
    LLVMIntPredicate is_signed, is_unsigned;
  } table[] = {{LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ},   {LLVMRealUNE, LLVMIntNE, LLVMIntNE},
               {LLVMRealOLT, LLVMIntSLT, LLVMIntULT}, {LLVMRealOLE, LLVMIntSLE, LLVMIntULE},
               {LLVMRealOGT, LLVMIntSGT, LLVMIntUGT}, {LLVMRealOGE, LLVMIntSGE, LLVMIntUGE}};
  _Static_assert(sizeof table / sizeof *table == IR_COMPARISONS, "a row for each comparison");
  _Static_assert(IR_OP_GE - IR_OP_EQ == 5 && IR_OP_LT - IR_OP_EQ == 2 && IR_OP_GT - IR_OP_EQ == 4,
                 "order of the table");
  if (ir_is_float(dtype)) return LLVMBuildFCmp(e->b, table[op - IR_OP_EQ].real, a, b, "");
  return LLVMBuildICmp(
      e->b, cg_is_signed(dtype) ? table[op - IR_OP_EQ].is_signed : table[op - IR_OP_EQ].is_unsigned, a, b,
      "");
}
