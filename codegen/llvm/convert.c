/* Casts, bit casts, and the narrow floats.
 *
 * f16 and bf16 live as f32 values. LLVM's half and bfloat arithmetic is never used, since it would call
 * library functions; the two types serve conversion alone, where the target has instructions for it.
 * Everything else is integer operations on the bits. A conversion that would round twice goes through a value
 * rounded to odd: that value has one or two digits more than the result needs, and its last bit is 1 if any
 * bit behind it was dropped, so that only the second rounding has an effect (S. Boldo, G. Melquiond,
 * "Emulation of FMA and correctly rounded sums", IEEE TC 2008). */
#include "codegen/llvm/llvm.h"

#include <math.h>

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
 * payload. `whole`: a is an integer, so neither NaN nor subnormal. */
static LLVMValueRef round_bf16(cg_emitter *e, uint32_t width, bool whole, LLVMValueRef a) {
  if (cg_target_rounds_bf16(e->target, whole)) {
    LLVMTypeRef narrow = cg_vector(LLVMBFloatTypeInContext(e->context), width);
    LLVMValueRef stored =
        LLVMBuildBitCast(e->b, LLVMBuildFPTrunc(e->b, a, narrow, ""), cg_int(e, 16, width), "");
    return IS_F32(SHL(LLVMBuildZExt(e->b, stored, cg_int(e, 32, width), ""), 16));
  }
  LLVMValueRef bits = IS_INT(a), tie = AND(SHR(bits, 16), INT(32, 1));
  LLVMValueRef near = ADD(bits, ADD(tie, INT(32, 0x7fff)));
  if (whole) return IS_F32(AND(near, INT(32, 0xffff0000)));
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

/* To a narrow float, of an integer if `whole`. */
static LLVMValueRef round_narrow(cg_emitter *e, ir_dtype dtype, uint32_t width, bool whole, LLVMValueRef a) {
  if (dtype == IR_BF16) return round_bf16(e, width, whole, a);
  if (dtype != IR_F16) return a;
  if (!e->target->has_f16c) return round_f16_bits(e, width, a);
  LLVMTypeRef half = cg_vector(LLVMHalfTypeInContext(e->context), width);
  return LLVMBuildFPExt(e->b, LLVMBuildFPTrunc(e->b, a, half, ""), cg_vector(e->f32, width), "");
}
LLVMValueRef cg_round_narrow(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  return round_narrow(e, dtype, width, false, a);
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

/* The elements that a value was unpacked from, also where it is chosen from such values and constants; NULL:
 * it was computed. Copies take a twelfth of the time so. */
static LLVMValueRef unpacked_from(cg_emitter *e, uint32_t width, LLVMValueRef a, int depth) {
  enum { MOST_CHOICES = 4 /* of values that were joined, one after the other */ };
  for (uint32_t i = 0; i < CG_UNPACKED; i++)
    if (e->unpacked[i].value == a) return e->unpacked[i].stored;
  if (LLVMIsConstant(a)) return pack_f16(e, width, a);
  if (!LLVMIsASelectInst(a) || depth == MOST_CHOICES) return NULL;
  LLVMValueRef first = unpacked_from(e, width, LLVMGetOperand(a, 1), depth + 1),
               second = first ? unpacked_from(e, width, LLVMGetOperand(a, 2), depth + 1) : NULL;
  return second ? cg_select(e, LLVMGetOperand(a, 0), first, second) : NULL;
}

static LLVMValueRef unpack_and_keep(cg_emitter *e, uint32_t width, LLVMValueRef stored) {
  LLVMValueRef value = unpack_f16(e, width, stored);
  e->unpacked[e->next_unpacked++ % CG_UNPACKED] = (cg_unpacked){value, stored};
  return value;
}

static LLVMValueRef pack_computed_f16(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  LLVMValueRef stored = unpacked_from(e, width, a, 0);
  return stored ? stored : pack_f16(e, width, a);
}

LLVMValueRef cg_to_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef a) {
  if (dtype == IR_BOOL) return LLVMBuildZExt(e->b, a, cg_int(e, 8, width), "");
  if (dtype == IR_BF16) return LLVMBuildTrunc(e->b, SHR(IS_INT(a), 16), cg_int(e, 16, width), "");
  if (dtype != IR_F16) return a;
  return e->target->has_f16c ? LLVMBuildFPTrunc(e->b, a, cg_storage_type(e, dtype, width), "")
                             : pack_computed_f16(e, width, a);
}

LLVMValueRef cg_from_storage(cg_emitter *e, ir_dtype dtype, uint32_t width, LLVMValueRef stored) {
  if (dtype == IR_BOOL) return LLVMBuildICmp(e->b, LLVMIntNE, stored, INT(8, 0), "");
  if (dtype == IR_BF16) return IS_F32(SHL(LLVMBuildZExt(e->b, stored, cg_int(e, 32, width), ""), 16));
  if (dtype != IR_F16) return stored;
  return e->target->has_f16c ? LLVMBuildFPExt(e->b, stored, cg_vector(e->f32, width), "")
                             : unpack_and_keep(e, width, stored);
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

/* A number's bits, those of a float or of an integer, rounded to odd: the last `dropped` of them are cleared,
 * and the bit above is set if any was. Of the two numbers of fewer digits between which it lies, this is the
 * odd one, whatever the sign. */
static LLVMValueRef round_to_odd(cg_emitter *e, uint32_t width, LLVMValueRef bits, unsigned dropped) {
  LLVMValueRef low = INT(cg_bits_of(bits), ((int64_t)1 << dropped) - 1);
  return AND(OR(ADD(AND(bits, low), low), bits), LLVMBuildNot(e->b, low, ""));
}

/* An f64 is rounded to odd with two digits more than the result has, which f32 holds exactly: at half the
 * least subnormal bf16, 2^-134, the last of ten digits is 2^-143, and the least f32 is 2^-149; below, any f32
 * as small gives 0. What overflows f32 overflows narrow floats too. */
static LLVMValueRef narrow_f64(cg_emitter *e, ir_dtype to, uint32_t width, bool whole, LLVMValueRef a) {
  unsigned digits = (to == IR_BF16 ? 8 : 11) + 2;
  LLVMValueRef odd = round_to_odd(e, width, IS_INT(a), 53 - digits);
  odd = LLVMBuildBitCast(e->b, odd, cg_vector(e->f64, width), "");
  return round_narrow(e, to, width, whole, LLVMBuildFPTrunc(e->b, odd, cg_vector(e->f32, width), ""));
}

static LLVMValueRef float_to_float(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, bool whole,
                                   LLVMValueRef a) {
  if (to == IR_F64) return from == IR_F64 ? a : LLVMBuildFPExt(e->b, a, cg_vector(e->f64, width), "");
  if (from != IR_F64) return round_narrow(e, to, width, whole, a);
  if (to == IR_F32) return LLVMBuildFPTrunc(e->b, a, cg_vector(e->f32, width), "");
  return narrow_f64(e, to, width, whole, a);
}

/* An integer of more than `digits` digits rounded to odd, so that a float of that many holds it exactly. */
static LLVMValueRef int_to_odd(cg_emitter *e, bool is_signed, unsigned digits, uint32_t width,
                               LLVMValueRef a) {
  unsigned bits = cg_bits_of(a);
  LLVMValueRef distance = is_signed ? ADD(a, INT(bits, (int64_t)1 << digits)) : a;
  LLVMValueRef most = INT(bits, (int64_t)1 << (is_signed ? digits + 1 : digits));
  return cg_select(e, UNSIGNED_GT(distance, most), round_to_odd(e, width, a, bits - digits), a);
}

/* Halves h and l of a 64-bit integer h 2^32 + l become floats by their bits: 2^52 + l, and
 * 2^84 + (h + 2^31) 2^32 where h is signed; one addition rounds. */
static LLVMValueRef from_64_by_halves(cg_emitter *e, bool is_signed, uint32_t width, LLVMValueRef a) {
  LLVMTypeRef type = cg_vector(e->f64, width);
  int64_t above = is_signed ? 0x4530000080000000 : 0x4530000000000000; /* bits of 2^84 + 2^63 or 2^84 */
  LLVMValueRef high = LLVMBuildXor(e->b, SHR(a, 32), INT(64, above), "");
  LLVMValueRef low = OR(AND(a, INT(64, UINT32_MAX)), INT(64, 0x4330000000000000)); /* of 2^52 */
  double excess = 0x1p84 + 0x1p52 + (is_signed ? 0x1p63 : 0);
  high =
      LLVMBuildFSub(e->b, LLVMBuildBitCast(e->b, high, type, ""), cg_real_const(e->f64, width, excess), "");
  return LLVMBuildFAdd(e->b, high, LLVMBuildBitCast(e->b, low, type, ""), "");
}

/* Rounded once: on the way to a result of fewer digits an integer that f32 or f64 cannot hold is rounded to
 * odd first. */
static LLVMValueRef int_to_float(cg_emitter *e, ir_dtype from, ir_dtype to, uint32_t width, LLVMValueRef a) {
  unsigned bits = cg_bits_of(a);
  bool is_signed = cg_is_signed(from), halves = bits == 64 && width > 1 && e->halves_64;
  bool by_f64 = halves || cg_is_narrow(to) || (width > 1 && cg_target_rounds_64_twice(e->target));
  ir_dtype first = to == IR_F64 || (bits == 64 && by_f64) ? IR_F64 : IR_F32;
  unsigned digits = first == IR_F64 ? 53 : 24;
  if (bits > digits && first != to && (first == IR_F64 || cg_is_narrow(to)))
    a = int_to_odd(e, is_signed, digits, width, a);
  LLVMTypeRef type = cg_type(e, first, width);
  LLVMValueRef wide = halves      ? from_64_by_halves(e, is_signed, width, a)
                      : is_signed ? LLVMBuildSIToFP(e->b, a, type, "")
                                  : LLVMBuildUIToFP(e->b, a, type, "");
  return float_to_float(e, first, to, width, true, wide);
}

/* A float within the range of a 64-bit integer as that integer, by halves: x = h 2^32 + l with integers h and
 * l, 0 <= l < 2^32, each exact. The last 32 bits of h + 1.5 2^52 are those of h, of either sign, and the last
 * 32 bits of l + 2^52 are those of l. */
static LLVMValueRef to_64_by_halves(cg_emitter *e, uint32_t width, LLVMValueRef a) {
  if (cg_bits_of(a) == 32) a = LLVMBuildFPExt(e->b, a, cg_vector(e->f64, width), "");
  LLVMValueRef x = cg_call(e, "llvm.trunc", 1, a, NULL, NULL);
  LLVMValueRef h = LLVMBuildFMul(e->b, x, cg_real_const(e->f64, width, 0x1p-32), "");
  h = cg_call(e, "llvm.floor", 1, h, NULL, NULL);
  LLVMValueRef l =
      LLVMBuildFSub(e->b, x, LLVMBuildFMul(e->b, h, cg_real_const(e->f64, width, 0x1p32), ""), "");
  LLVMValueRef high = IS_INT(LLVMBuildFAdd(e->b, h, cg_real_const(e->f64, width, 0x1.8p52), ""));
  LLVMValueRef low = IS_INT(LLVMBuildFAdd(e->b, l, cg_real_const(e->f64, width, 0x1p52), ""));
  return OR(SHL(high, 32), AND(low, INT(64, UINT32_MAX)));
}

/* Truncated; what is beyond the range becomes its end, and NaN 0. LLVM's own saturating conversion
 * (llvm.fptosi.sat) takes vectors apart on x86. First the float becomes one whose truncation is in range,
 * from the least integer to the greatest or, where the float cannot hold that, to the greatest float below
 * it. Comparisons with NaN fail, so that NaN becomes the least integer, which is 0 if unsigned. Fewer than 32
 * bits are converted as 32, for which there are instructions. */
static LLVMValueRef float_to_int(cg_emitter *e, ir_dtype to, uint32_t width, LLVMValueRef a) {
  bool is_signed = cg_is_signed(to);
  int bits = to == IR_INDEX ? 64 : (int)cg_dtype_bits(to), digits = is_signed ? bits - 1 : bits;
  int precision = cg_bits_of(a) == 64 ? 53 : 24;
  double end = ldexp(1, digits), greatest = end - ldexp(1, digits > precision ? digits - precision : 0);
  LLVMTypeRef real = cg_type(e, cg_bits_of(a) == 64 ? IR_F64 : IR_F32, 1),
              type = cg_int(e, bits < 32 ? 32 : (unsigned)bits, width);
  LLVMValueRef low = cg_real_const(real, width, is_signed ? -end : 0);
  LLVMValueRef high = cg_real_const(real, width, greatest);
  LLVMValueRef held = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOGT, a, low, ""), a, low);
  held = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealOLT, held, high, ""), held, high);
  LLVMValueRef whole;
  if (bits == 64 && width > 1 && e->halves_64) whole = to_64_by_halves(e, width, held);
  else if (is_signed || bits < 32) whole = LLVMBuildFPToSI(e->b, held, type, "");
  else whole = LLVMBuildFPToUI(e->b, held, type, "");
  if (digits > precision) {
    LLVMValueRef beyond = LLVMBuildFCmp(e->b, LLVMRealOGE, a, cg_real_const(real, width, end), "");
    whole = cg_select(e, beyond, INT((unsigned)bits, is_signed ? INT64_MAX >> (64 - bits) : -1), whole);
  }
  if (is_signed) whole = cg_select(e, LLVMBuildFCmp(e->b, LLVMRealORD, a, a, ""), whole, LLVMConstNull(type));
  return cg_resize(e, whole, (unsigned)bits, width, is_signed);
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
    return ir_is_float(to) ? float_to_float(e, from, to, width, false, a) : float_to_int(e, to, width, a);
  if (ir_is_float(to)) return int_to_float(e, from, to, width, a);
  if (from == IR_BOOL && width > 1) return bool_to_int(e, to, width, a);
  return cg_resize(e, a, to == IR_INDEX ? 64 : cg_dtype_bits(to), width, cg_is_signed(from));
}
