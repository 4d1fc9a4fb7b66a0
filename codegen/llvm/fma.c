/* a*b + c, rounded once, for targets without the instruction.
 *
 * f32 goes through f64. f64 is computed with integers of 128 bits, by a function of the module that all
 * kernels in it call for each element: it takes about fifty times as long as the instruction. */
#include "codegen/llvm/llvm.h"

/* f32: the product is exact in f64, and the sum is rounded to odd there (its error is known exactly, by
 * Knuth's two-sum), so that rounding to f32 is the only rounding. */
static LLVMValueRef fma_through_f64(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b,
                                    LLVMValueRef c) {
  LLVMTypeRef f64 = cg_vector(e->f64, width), i64 = cg_vector(e->i64, width);
  LLVMValueRef p =
      LLVMBuildFMul(e->b, LLVMBuildFPExt(e->b, a, f64, ""), LLVMBuildFPExt(e->b, b, f64, ""), "");
  LLVMValueRef q = LLVMBuildFPExt(e->b, c, f64, ""), sum = LLVMBuildFAdd(e->b, p, q, "");
  LLVMValueRef q_rounded = LLVMBuildFSub(e->b, sum, p, ""),
               p_rounded = LLVMBuildFSub(e->b, sum, q_rounded, "");
  LLVMValueRef error =
      LLVMBuildFAdd(e->b, LLVMBuildFSub(e->b, p, p_rounded, ""), LLVMBuildFSub(e->b, q, q_rounded, ""), "");
  LLVMValueRef bits = LLVMBuildBitCast(e->b, sum, i64, ""), one = cg_int_const(e, 64, width, 1);
  LLVMValueRef even =
      LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, bits, one, ""), LLVMConstNull(i64), "");
  LLVMValueRef inexact = LLVMBuildFCmp(e->b, LLVMRealONE, error, LLVMConstNull(f64), "");
  LLVMValueRef opposite =
      cg_is_negative(e, LLVMBuildXor(e->b, bits, LLVMBuildBitCast(e->b, error, i64, ""), ""));
  LLVMValueRef step = cg_select(e, opposite, cg_int_const(e, 64, width, -1), one);
  LLVMValueRef odd =
      cg_select(e, LLVMBuildAnd(e->b, even, inexact, ""), LLVMBuildAdd(e->b, bits, step, ""), bits);
  return LLVMBuildFPTrunc(e->b, LLVMBuildBitCast(e->b, odd, f64, ""), cg_vector(e->f32, width), "");
}

/* f64. In comments and names below, a number is `significand * 2^exponent`. */

typedef struct soft {
  LLVMBuilderRef b;
  LLVMModuleRef module;
  LLVMTypeRef i1, i64, i128, f64;
} soft;

/* A factor or the addend: finite and not 0. */
typedef struct part {
  LLVMValueRef bits, sign;            /* i64; sign: the sign bit alone */
  LLVMValueRef significand, exponent; /* i64: in [2^52, 2^53); of the significand, and 1075 more */
} part;

static LLVMValueRef n64(const soft *s, long long n) { return LLVMConstInt(s->i64, (unsigned long long)n, 1); }
static LLVMValueRef n128(const soft *s, long long n) {
  return LLVMConstInt(s->i128, (unsigned long long)n, 1);
}
static LLVMValueRef wide(const soft *s, LLVMValueRef a) { return LLVMBuildZExt(s->b, a, s->i128, ""); }
static LLVMValueRef is(const soft *s, LLVMIntPredicate how, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(s->b, how, a, b, "");
}
static LLVMValueRef choose(const soft *s, LLVMValueRef which, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(s->b, which, a, b, "");
}

static LLVMValueRef leading_zeros(const soft *s, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(s->module, LLVMLookupIntrinsicID("llvm.ctlz", 9), &type, 1);
  LLVMValueRef args[] = {a, LLVMConstNull(s->i1)};
  return LLVMBuildCall2(s->b, LLVMGlobalGetValueType(f), f, args, 2, "");
}

/* The low 63 bits of a float: nothing but the sign is cut off. */
static LLVMValueRef size_of(const soft *s, LLVMValueRef bits) {
  return LLVMBuildAnd(s->b, bits, n64(s, INT64_MAX), "");
}

/* A subnormal number is shifted until its first bit is at 52, and its exponent, which is that of the smallest
 * normal ones, falls as far. */
static part take_apart(const soft *s, LLVMValueRef value) {
  part p = {.bits = LLVMBuildBitCast(s->b, value, s->i64, "")};
  LLVMValueRef size = size_of(s, p.bits), field = LLVMBuildLShr(s->b, size, n64(s, 52), "");
  LLVMValueRef fraction = LLVMBuildAnd(s->b, p.bits, n64(s, (INT64_C(1) << 52) - 1), "");
  LLVMValueRef subnormal = is(s, LLVMIntEQ, field, n64(s, 0));
  LLVMValueRef shift = LLVMBuildAnd(s->b, LLVMBuildSub(s->b, leading_zeros(s, fraction), n64(s, 11), ""),
                                    n64(s, 63), ""); /* of 0, which does not count, 53 */
  p.sign = LLVMBuildXor(s->b, p.bits, size, "");
  p.significand = choose(s, subnormal, LLVMBuildShl(s->b, fraction, shift, ""),
                         LLVMBuildOr(s->b, fraction, n64(s, INT64_C(1) << 52), ""));
  p.exponent = choose(s, subnormal, LLVMBuildSub(s->b, n64(s, 1), shift, ""), field);
  return p;
}

/* a >> by, and bit 0 is set where a bit that is set was shifted out. by: i128, not negative; from 127 on all
 * are. */
static LLVMValueRef shift_sticky(const soft *s, LLVMValueRef a, LLVMValueRef by) {
  LLVMValueRef most = n128(s, 127), few = choose(s, is(s, LLVMIntULT, by, most), by, most);
  LLVMValueRef high = LLVMBuildLShr(s->b, a, few, ""), back = LLVMBuildShl(s->b, high, few, "");
  return LLVMBuildOr(s->b, high, wide(s, is(s, LLVMIntNE, back, a)), "");
}

/* The first bit of the sum goes to bit 127, and to bit 54 with all behind bit 1 in bit 0; then to 52, rounded
 * to nearest, ties to even. Below the normal numbers the first bit goes further down. `exponent`: of `sum`,
 * as an i128. */
static LLVMValueRef round_sum(const soft *s, LLVMValueRef sum, LLVMValueRef exponent) {
  LLVMValueRef zeros = leading_zeros(s, sum),
               first = LLVMBuildShl(s->b, sum, LLVMBuildAnd(s->b, zeros, n128(s, 127), ""), "");
  LLVMValueRef field = LLVMBuildAdd(s->b, LLVMBuildSub(s->b, exponent, zeros, ""), n128(s, 127 + 1023), "");
  LLVMValueRef normal = is(s, LLVMIntSGT, field, n128(s, 0));
  LLVMValueRef further = choose(s, normal, n128(s, 0), LLVMBuildSub(s->b, n128(s, 1), field, ""));
  LLVMValueRef guarded =
      LLVMBuildTrunc(s->b, shift_sticky(s, first, LLVMBuildAdd(s->b, n128(s, 73), further, "")), s->i64, "");
  LLVMValueRef odd = LLVMBuildAnd(s->b, LLVMBuildLShr(s->b, guarded, n64(s, 2), ""), n64(s, 1), "");
  LLVMValueRef up = LLVMBuildAdd(s->b, guarded, LLVMBuildAdd(s->b, odd, n64(s, 1), ""), "");
  LLVMValueRef rounded = LLVMBuildLShr(s->b, up, n64(s, 2), "");
  /* bit 52 of the significand adds one to the exponent's field, and so does a carry out of it */
  LLVMValueRef below = LLVMBuildShl(
      s->b, LLVMBuildTrunc(s->b, LLVMBuildSub(s->b, field, n128(s, 1), ""), s->i64, ""), n64(s, 52), "");
  LLVMValueRef bits = LLVMBuildAdd(s->b, choose(s, normal, below, n64(s, 0)), rounded, "");
  return choose(s, is(s, LLVMIntSGT, field, n128(s, 2046)), n64(s, INT64_C(0x7ff) << 52), bits);
}

/* a*b + c of finite numbers other than 0. The product has its first bit at 124 or 125, c at 125: no bit of
 * either is lost by shifting until the one is so small that at most one bit of the other is cancelled. */
static LLVMValueRef add_product(const soft *s, const part *a, const part *b, const part *c) {
  LLVMValueRef product = LLVMBuildShl(
      s->b, LLVMBuildMul(s->b, wide(s, a->significand), wide(s, b->significand), ""), n128(s, 20), "");
  LLVMValueRef addend = LLVMBuildShl(s->b, wide(s, c->significand), n128(s, 73), "");
  LLVMValueRef of_product =
      LLVMBuildSub(s->b, LLVMBuildAdd(s->b, a->exponent, b->exponent, ""), n64(s, 2 * 1075 + 20), "");
  LLVMValueRef of_addend = LLVMBuildSub(s->b, c->exponent, n64(s, 1075 + 73), "");
  LLVMValueRef apart = LLVMBuildSExt(s->b, LLVMBuildSub(s->b, of_product, of_addend, ""), s->i128, "");
  LLVMValueRef ahead = is(s, LLVMIntSGT, apart, n128(s, 0)), zero = n128(s, 0);
  product = shift_sticky(s, product, choose(s, ahead, zero, LLVMBuildSub(s->b, zero, apart, "")));
  addend = shift_sticky(s, addend, choose(s, ahead, apart, zero));
  LLVMValueRef sign = LLVMBuildXor(s->b, a->sign, b->sign, ""), opposite = is(s, LLVMIntNE, sign, c->sign);
  LLVMValueRef smaller = is(s, LLVMIntULT, product, addend);
  LLVMValueRef difference =
      choose(s, smaller, LLVMBuildSub(s->b, addend, product, ""), LLVMBuildSub(s->b, product, addend, ""));
  LLVMValueRef sum = choose(s, opposite, difference, LLVMBuildAdd(s->b, product, addend, ""));
  LLVMValueRef exponent = LLVMBuildSExt(s->b, choose(s, ahead, of_product, of_addend), s->i128, "");
  LLVMValueRef bits = LLVMBuildOr(s->b, round_sum(s, sum, exponent), choose(s, smaller, c->sign, sign), "");
  return choose(s, is(s, LLVMIntEQ, sum, zero), n64(s, 0), bits);
}

/* Is it 0, an infinity or NaN? */
static LLVMValueRef is_special(const soft *s, LLVMValueRef size) {
  LLVMValueRef infinity = n64(s, INT64_C(0x7ff) << 52);
  return LLVMBuildOr(s->b, is(s, LLVMIntUGE, size, infinity), is(s, LLVMIntEQ, size, n64(s, 0)), "");
}

/* Where a or b is special, a*b is exact, and a*b + c is rounded once. Else where c is 0, the result is a*b; a
 * product that is rounded to 0 keeps its sign. Where c is no finite number, it is the result. */
static LLVMValueRef soft_fma(const soft *s, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  part a = take_apart(s, x), b = take_apart(s, y), c = take_apart(s, z);
  LLVMValueRef product = LLVMBuildFMul(s->b, x, y, ""), size = size_of(s, c.bits);
  LLVMValueRef general = LLVMBuildBitCast(s->b, add_product(s, &a, &b, &c), s->f64, "");
  LLVMValueRef alone = choose(s, is(s, LLVMIntEQ, size, n64(s, 0)), product, z);
  LLVMValueRef exact =
      LLVMBuildOr(s->b, is_special(s, size_of(s, a.bits)), is_special(s, size_of(s, b.bits)), "");
  LLVMValueRef finite = choose(s, is_special(s, size), alone, general);
  return choose(s, exact, LLVMBuildFAdd(s->b, product, z, ""), finite);
}

static LLVMValueRef fma_function(cg_emitter *e) {
  static const char name[] = "fma_of_f64";
  LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
  if (function) return function;
  LLVMTypeRef args[] = {e->f64, e->f64, e->f64};
  function = LLVMAddFunction(e->module, name, LLVMFunctionType(e->f64, args, 3, 0));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  cg_target_attributes(e->context, function, e->target);
  soft s = {.b = LLVMCreateBuilderInContext(e->context),
            .module = e->module,
            .i1 = e->i1,
            .i64 = e->i64,
            .i128 = LLVMIntTypeInContext(e->context, 128),
            .f64 = e->f64};
  LLVMPositionBuilderAtEnd(s.b, LLVMAppendBasicBlockInContext(e->context, function, ""));
  LLVMBuildRet(s.b,
               soft_fma(&s, LLVMGetParam(function, 0), LLVMGetParam(function, 1), LLVMGetParam(function, 2)));
  LLVMDisposeBuilder(s.b);
  return function;
}

static LLVMValueRef fma_by_integers(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b,
                                    LLVMValueRef c) {
  LLVMValueRef function = fma_function(e), all = LLVMGetPoison(LLVMTypeOf(a));
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  if (width == 1) return LLVMBuildCall2(e->b, type, function, (LLVMValueRef[]){a, b, c}, 3, "");
  for (uint32_t i = 0; i < width; i++) {
    LLVMValueRef lane = LLVMConstInt(e->i64, i, 0);
    LLVMValueRef args[] = {LLVMBuildExtractElement(e->b, a, lane, ""),
                           LLVMBuildExtractElement(e->b, b, lane, ""),
                           LLVMBuildExtractElement(e->b, c, lane, "")};
    LLVMValueRef one = LLVMBuildCall2(e->b, type, function, args, 3, "");
    all = LLVMBuildInsertElement(e->b, all, one, lane, "");
  }
  return all;
}

LLVMValueRef cg_unrounded_fma(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (e->target->has_fma) return cg_call(e, "llvm.fma", 3, a, b, c);
  return cg_bits_of(a) == 32 ? fma_through_f64(e, width, a, b, c) : fma_by_integers(e, width, a, b, c);
}
