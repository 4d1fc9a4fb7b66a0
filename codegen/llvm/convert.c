/* Casts, bit casts, and the narrow floats.
 *
 * f16 and bf16 live as f32 values. LLVM's half and bfloat arithmetic is never used, since it would call
 * library functions; its half type serves conversion alone, where the target has F16C. Everything else is
 * integer operations on the bits. A conversion that would round twice goes through a value rounded to odd:
 * that value has one or two digits more than the result needs, and its last bit is 1 if any bit behind it was
 * dropped, so that only the second rounding has an effect (S. Boldo, G. Melquiond, "Emulation of FMA and
 * correctly rounded sums", IEEE TC 2008). */
#include "codegen/llvm/llvm.h"

/* Short forms that use the variables e and width of the function. */
#define INT(bits, value)  cg_int_const(e, (bits), width, (int64_t)(value))
#define AND(x, y)         LLVMBuildAnd(e->b, (x), (y), "")
#define OR(x, y)          LLVMBuildOr(e->b, (x), (y), "")
#define ADD(x, y)         LLVMBuildAdd(e->b, (x), (y), "")
#define SUB(x, y)         LLVMBuildSub(e->b, (x), (y), "")
#define SHR(a, n)         LLVMBuildLShr(e->b, (a), INT(cg_bits_of(a), (n)), "")
#define SHL(a, n)         LLVMBuildShl(e->b, (a), INT(cg_bits_of(a), (n)), "")
#define UNSIGNED_GT(x, y) LLVMBuildICmp(e->b, LLVMIntUGT, (x), (y), "")
#define UNSIGNED_LT(x, y) LLVMBuildICmp(e->b, LLVMIntULT, (x), (y), "")
#define IS_INT(a)         LLVMBuildBitCast(e->b, (a), cg_int(e, cg_bits_of(a), width), "")
#define IS_F32(a)         LLVMBuildBitCast(e->b, (a), cg_vector(e->f32, width), "")

/* Bits of an f32: F32_INFINITY itself, the bit F32_QUIET of a quiet NaN, all but the sign (F32_SIZE). */
enum { F32_INFINITY = 0x7f800000, F32_QUIET = 0x00400000, F32_SIZE = 0x7fffffff };

/* f32 rounded to bf16, still as f32: nearest even by carrying into the upper half; a NaN keeps its upper
 * payload. */
static LLVMValueRef round_bf16(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  LLVMValueRef bits = IS_INT(a), tie = AND(SHR(bits, 16), INT(32, 1));
  LLVMValueRef near = ADD(bits, ADD(tie, INT(32, 0x7fff)));
  LLVMValueRef is_nan = UNSIGNED_GT(AND(bits, INT(32, F32_SIZE)), INT(32, F32_INFINITY));
  LLVMValueRef kept = cg_select(e, is_nan, OR(bits, INT(32, F32_QUIET)), near);
  return IS_F32(AND(kept, INT(32, 0xffff0000)));
}

/* f32 rounded to f16, still as f32. Normal results are rounded by carrying into the upper 19 bits. The unit
 * of subnormal results is 2^-24, which is the unit of f32 numbers from 0.5 on, so that adding and subtracting
 * 0.5 rounds them. 65520 and more become infinite. */
static LLVMValueRef round_f16_bits(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  LLVMValueRef bits = IS_INT(a), size = AND(bits, INT(32, F32_SIZE)), sign = AND(bits, INT(32, 0x80000000));
  LLVMValueRef tie = AND(SHR(size, 13), INT(32, 1));
  LLVMValueRef normal = AND(ADD(size, ADD(tie, INT(32, 0xfff))), INT(32, 0xffffe000));
  normal = cg_select(e, UNSIGNED_GT(normal, INT(32, 0x477fe000)), INT(32, F32_INFINITY), normal);
  LLVMValueRef half = cg_real_const(e->f32, width, 0.5);
  LLVMValueRef subnormal = IS_INT(LLVMBuildFSub(e->b, LLVMBuildFAdd(e->b, IS_F32(size), half, ""), half, ""));
  LLVMValueRef rounded = cg_select(e, UNSIGNED_LT(size, INT(32, 0x38800000)), subnormal, normal);
  LLVMValueRef is_nan = UNSIGNED_GT(size, INT(32, F32_INFINITY));
  return IS_F32(OR(cg_select(e, is_nan, OR(size, INT(32, F32_QUIET)), rounded), sign));
}

LLVMValueRef cg_round_narrow(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  if (dtype == IR_BF16) return round_bf16(e, width, a);
  if (dtype != IR_F16) return a;
  if (!e->target->has_f16c) return round_f16_bits(e, width, a);
  LLVMTypeRef half = cg_vector(LLVMHalfTypeInContext(e->context), width);
  return LLVMBuildFPExt(e->b, LLVMBuildFPTrunc(e->b, a, half, ""), cg_vector(e->f32, width), "");
}

/* storage forms */

LLVMTypeRef cg_storage_type(cg_emitter *e, ir_dtype dtype, uint32_t width) {
  if (dtype == IR_BOOL) return cg_int(e, 8, width);
  if (dtype == IR_F16 && e->target->has_f16c) return cg_vector(LLVMHalfTypeInContext(e->context), width);
  if (cg_is_narrow(dtype)) return cg_int(e, 16, width);
  return cg_type(e, dtype, width);
}

/* The bits of an f16 whose value is given as f32. */
static LLVMValueRef pack_f16(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  LLVMValueRef bits = IS_INT(a), size = AND(bits, INT(32, F32_SIZE)),
               sign = AND(SHR(bits, 16), INT(32, 0x8000));
  LLVMValueRef normal = SHR(SUB(size, INT(32, 0x38000000)), 13);
  LLVMValueRef half = cg_real_const(e->f32, width, 0.5);
  LLVMValueRef subnormal = SUB(IS_INT(LLVMBuildFAdd(e->b, IS_F32(size), half, "")), INT(32, 0x3f000000));
  LLVMValueRef finite = cg_select(e, UNSIGNED_LT(size, INT(32, 0x38800000)), subnormal, normal);
  LLVMValueRef special =
      cg_select(e, UNSIGNED_GT(size, INT(32, F32_INFINITY)), INT(32, 0x7e00), INT(32, 0x7c00));
  LLVMValueRef packed = cg_select(e, UNSIGNED_LT(size, INT(32, F32_INFINITY)), finite, special);
  return LLVMBuildTrunc(e->b, OR(packed, sign), cg_int(e, 16, width), "");
}

static LLVMValueRef unpack_f16(cg_emitter *e, uint32_t width, LLVMValueRef stored) {
  LLVMValueRef bits = LLVMBuildZExt(e->b, stored, cg_int(e, 32, width), "");
  LLVMValueRef size = AND(bits, INT(32, 0x7fff)), sign = SHL(AND(bits, INT(32, 0x8000)), 16);
  LLVMValueRef moved = SHL(size, 13), half = cg_real_const(e->f32, width, 0.5);
  LLVMValueRef normal = ADD(moved, INT(32, 0x38000000)), special = ADD(moved, INT(32, 0x70000000));
  LLVMValueRef subnormal = IS_INT(LLVMBuildFSub(e->b, IS_F32(OR(size, INT(32, 0x3f000000))), half, ""));
  /* subnormal: as the fraction of an f32 in [0.5, 1), whose unit is 2^-24 as f16's subnormal unit is, less
   * 0.5 */
  LLVMValueRef finite = cg_select(e, UNSIGNED_LT(size, INT(32, 0x400)), subnormal, normal);
  return IS_F32(OR(cg_select(e, UNSIGNED_LT(size, INT(32, 0x7c00)), finite, special), sign));
}

LLVMValueRef cg_to_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  if (dtype == IR_BOOL) return LLVMBuildZExt(e->b, a, cg_int(e, 8, width), "");
  if (dtype == IR_BF16) return LLVMBuildTrunc(e->b, SHR(IS_INT(a), 16), cg_int(e, 16, width), "");
  if (dtype != IR_F16) return a;
  return e->target->has_f16c ? LLVMBuildFPTrunc(e->b, a, cg_storage_type(e, dtype, width), "")
                             : pack_f16(e, width, a);
}

LLVMValueRef cg_from_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef stored) {
  if (dtype == IR_BOOL) return LLVMBuildICmp(e->b, LLVMIntNE, stored, INT(8, 0), "");
  if (dtype == IR_BF16) return IS_F32(SHL(LLVMBuildZExt(e->b, stored, cg_int(e, 32, width), ""), 16));
  if (dtype != IR_F16) return stored;
  return e->target->has_f16c ? LLVMBuildFPExt(e->b, stored, cg_vector(e->f32, width), "")
                             : unpack_f16(e, width, stored);
}

LLVMValueRef cg_bitcast(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a) {
  if (ir_dtypes[from].bytes != ir_dtypes[to].bytes)
    return cg_fail(e, IR_ERR_INTERNAL, cg_type(e, to, width),
                   "compile: bitcast from %s to %s changes the size", ir_dtypes[from].name,
                   ir_dtypes[to].name);
  LLVMValueRef stored = cg_to_storage(e, from, width, a);
  return cg_from_storage(e, to, width, LLVMBuildBitCast(e->b, stored, cg_storage_type(e, to, width), ""));
}

/* casts */

/* f64 to f32, rounded to odd: the nearest value, moved one step back where that was away from zero; then, if
 * it is inexact, its last bit is set. */
static LLVMValueRef to_f32_odd(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  LLVMValueRef near = LLVMBuildFPTrunc(e->b, a, cg_vector(e->f32, width), "");
  LLVMValueRef back = LLVMBuildFPExt(e->b, near, cg_vector(e->f64, width), ""), bits = IS_INT(near);
  LLVMValueRef inexact = LLVMBuildFCmp(e->b, LLVMRealONE, back, a, "");
  LLVMValueRef away = LLVMBuildFCmp(e->b, LLVMRealOGT, cg_call(e, "llvm.fabs", 1, back, NULL, NULL),
                                    cg_call(e, "llvm.fabs", 1, a, NULL, NULL), "");
  LLVMValueRef toward_zero = cg_select(e, away, SUB(bits, INT(32, 1)), bits);
  return IS_F32(cg_select(e, inexact, OR(toward_zero, INT(32, 1)), bits));
}

static LLVMValueRef float_to_float(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width,
                                   LLVMValueRef a) {
  if (to == IR_F64) return from == IR_F64 ? a : LLVMBuildFPExt(e->b, a, cg_vector(e->f64, width), "");
  if (from != IR_F64) return cg_round_narrow(e, to, width, a);
  if (to == IR_F32) return LLVMBuildFPTrunc(e->b, a, cg_vector(e->f32, width), "");
  return cg_round_narrow(e, to, width, to_f32_odd(e, width, a));
}

/* A 64-bit integer, rounded to odd so that f64 holds it exactly: where it has more than 53 digits, the last
 * 11 bits are cleared, and the bit above them is set if any of them was. */
static LLVMValueRef odd_53(cg_emitter *e, bool is_signed, uint32_t width, LLVMValueRef a) {
  LLVMValueRef low = INT(64, 0x7ff), odd = AND(ADD(AND(a, low), low), INT(64, 0x800));
  LLVMValueRef to_odd = OR(AND(a, INT(64, ~(int64_t)0x7ff)), odd);
  LLVMValueRef distance = is_signed ? ADD(a, INT(64, (int64_t)1 << 53)) : a;
  return cg_select(e, UNSIGNED_GT(distance, INT(64, (int64_t)1 << (is_signed ? 54 : 53))), to_odd, a);
}

static LLVMValueRef int_to_float(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a) {
  bool is_signed = cg_is_signed(from);
  unsigned bits = cg_bits_of(a);
  ir_dtype first = to == IR_F64 || (cg_is_narrow(to) && bits >= 32) ? IR_F64 : IR_F32;
  if (cg_is_narrow(to) && bits == 64) a = odd_53(e, is_signed, width, a);
  LLVMTypeRef type = cg_type(e, first, width);
  LLVMValueRef wide = is_signed ? LLVMBuildSIToFP(e->b, a, type, "") : LLVMBuildUIToFP(e->b, a, type, "");
  return cg_is_narrow(to) ? float_to_float(e, first, to, width, wide) : wide;
}

static LLVMValueRef float_to_int(cg_emitter *e, ir_dtype to, uint32_t width, LLVMValueRef a) {
  LLVMTypeRef types[] = {cg_type(e, to, width), LLVMTypeOf(a)};
  return cg_intrinsic(e, cg_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &a, 1);
}

/* Vectors of truth values as 0 and 1, by select rather than by widening: LLVM 19 does not terminate where it
 * combines widened lanes pairwise and some of them are known to be false (AVX-512). */
static LLVMValueRef bool_to_int(cg_emitter *e, ir_dtype to, uint32_t width, LLVMValueRef a) {
  unsigned bits = to == IR_INDEX ? 64 : cg_dtype_bits(to);
  return cg_select(e, a, INT(bits, 1), INT(bits, 0));
}

LLVMValueRef cg_cast(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a) {
  if (to == IR_BOOL && from == IR_BOOL) return a;
  if (to == IR_BOOL && ir_is_float(from))
    return LLVMBuildFCmp(e->b, LLVMRealUNE, a, LLVMConstNull(LLVMTypeOf(a)), "");
  if (to == IR_BOOL) return LLVMBuildICmp(e->b, LLVMIntNE, a, LLVMConstNull(LLVMTypeOf(a)), "");
  if (ir_is_float(from))
    return ir_is_float(to) ? float_to_float(e, from, to, width, a) : float_to_int(e, to, width, a);
  if (ir_is_float(to)) return int_to_float(e, from, to, width, a);
  if (from == IR_BOOL && width > 1) return bool_to_int(e, to, width, a);
  return cg_resize(e, a, to == IR_INDEX ? 64 : cg_dtype_bits(to), width, cg_is_signed(from));
}
