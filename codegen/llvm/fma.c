/* a*b + c, rounded once, for targets without the instruction.
 *
 * f32 goes through f64. f64 is computed with integers of 128 bits, by a function of the module that all
 * kernels in it call for each element: it takes about fifty times as long as the instruction. Vectors whose
 * elements are of usual size are computed by floats, in a fifth of that. */
#include "codegen/llvm/llvm.h"

#include <math.h>
#include <stdio.h>

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

static LLVMValueRef fma_by_integers(cg_emitter *e, LLVMBuilderRef b, uint32_t width,
                                    const LLVMValueRef *from) {
  LLVMValueRef function = fma_function(e), all = LLVMGetPoison(LLVMTypeOf(from[0])), one[3];
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  if (width == 1) return LLVMBuildCall2(b, type, function, (LLVMValueRef *)from, 3, "");
  for (uint32_t i = 0; i < width; i++) {
    LLVMValueRef lane = LLVMConstInt(e->i64, i, 0);
    for (int k = 0; k < 3; k++) one[k] = LLVMBuildExtractElement(b, from[k], lane, "");
    all = LLVMBuildInsertElement(b, all, LLVMBuildCall2(b, type, function, one, 3, ""), lane, "");
  }
  return all;
}

/* Vectors of f64. Each step is one rounded operation of floats; a sum or product with its error is two. */

typedef struct pair {
  LLVMValueRef high, low;
} pair;

#define PLUS(x, y)  LLVMBuildFAdd(b, (x), (y), "")
#define MINUS(x, y) LLVMBuildFSub(b, (x), (y), "")
#define TIMES(x, y) LLVMBuildFMul(b, (x), (y), "")

/* x + y and its error (Knuth). */
static pair two_sum(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef sum = PLUS(x, y), of_y = MINUS(sum, x);
  return (pair){sum, PLUS(MINUS(x, MINUS(sum, of_y)), MINUS(y, of_y))};
}

/* x as two numbers of 26 digits (Veltkamp). */
static pair halves(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef splitter) {
  LLVMValueRef far = TIMES(x, splitter), high = MINUS(far, MINUS(far, x));
  return (pair){high, MINUS(x, high)};
}

/* The error of `product`, which is x * y rounded (Dekker). */
static LLVMValueRef product_error(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, LLVMValueRef product,
                                  LLVMValueRef splitter) {
  pair u = halves(b, x, splitter), v = halves(b, y, splitter);
  LLVMValueRef error = MINUS(TIMES(u.high, v.high), product);
  error = PLUS(error, TIMES(u.high, v.low));
  return PLUS(PLUS(error, TIMES(u.low, v.high)), TIMES(u.low, v.low));
}

/* x + y rounded to odd: where the sum is not exact and its last bit is 0, the number next to it towards its
 * error. */
static LLVMValueRef odd_sum(cg_emitter *e, LLVMBuilderRef b, uint32_t width, LLVMValueRef x, LLVMValueRef y) {
  pair s = two_sum(b, x, y);
  LLVMTypeRef i64 = cg_vector(e->i64, width);
  LLVMValueRef bits = LLVMBuildBitCast(b, s.high, i64, ""), error = LLVMBuildBitCast(b, s.low, i64, ""),
               one = cg_int_const(e, 64, width, 1), zero = LLVMConstNull(i64);
  LLVMValueRef even = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, one, ""), zero, "");
  LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, s.low, LLVMConstNull(LLVMTypeOf(s.low)), "");
  LLVMValueRef opposite = LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildXor(b, bits, error, ""), zero, "");
  LLVMValueRef next =
      LLVMBuildSelect(b, opposite, LLVMBuildSub(b, bits, one, ""), LLVMBuildAdd(b, bits, one, ""), "");
  LLVMValueRef odd = LLVMBuildSelect(b, LLVMBuildAnd(b, even, inexact, ""), next, bits, "");
  return LLVMBuildBitCast(b, odd, LLVMTypeOf(s.high), "");
}

/* Is the size of x, which is not negative, in [2^least, 2^most]? */
static LLVMValueRef is_between(LLVMBuilderRef b, uint32_t width, LLVMTypeRef f64, LLVMValueRef size,
                               int least, int most) {
  LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGE, size, cg_real_const(f64, width, ldexp(1, least)), "");
  return LLVMBuildAnd(b, above,
                      LLVMBuildFCmp(b, LLVMRealOLE, size, cg_real_const(f64, width, ldexp(1, most)), ""), "");
}

/* a*b + c by floats (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 2008):
 * with a*b = p + u, c + u = t + t' and p + t = v + v', the result is v + (t' + v') with that sum rounded to
 * odd. No operation overflows; none that has an error is as small as subnormal numbers, since the least bit
 * of a*b is not below 2^(-800 - 106). Where a factor is 0, or c, the rounded product plus c is the result.
 * Where an element is of another size, all are computed with integers. */
static void fma_by_floats(cg_emitter *e, LLVMBuilderRef b, LLVMValueRef function, uint32_t width) {
  enum {
    LEAST_FACTOR = -960,  /* 2^-960, because the lower half of a factor, 2^-53 of it, is not subnormal then */
    MOST_FACTOR = 990,    /* because halves() multiplies by 2^27, and 2^1024 overflows */
    LEAST_PRODUCT = -800, /* because its error may be 2^-106 of it, as said above */
    MOST_SUM = 1000       /* because the sum of the product and c may be twice as large */
  };
  LLVMTypeRef type = cg_vector(e->f64, width);
  LLVMValueRef x = LLVMGetParam(function, 0), y = LLVMGetParam(function, 1), c = LLVMGetParam(function, 2),
               from[] = {x, y, c}, size[4], zero = LLVMConstNull(type), p = TIMES(x, y), none[3];
  LLVMValueRef sized[] = {x, y, c, p};
  unsigned id = LLVMLookupIntrinsicID("llvm.fabs", 9);
  for (int k = 0; k < 4; k++)
    size[k] = LLVMBuildCall2(b, LLVMIntrinsicGetType(e->context, id, &type, 1),
                             LLVMGetIntrinsicDeclaration(e->module, id, &type, 1), &sized[k], 1, "");
  for (int k = 0; k < 3; k++) none[k] = LLVMBuildFCmp(b, LLVMRealOEQ, from[k], zero, "");
  LLVMValueRef usual = LLVMBuildAnd(b, is_between(b, width, e->f64, size[0], LEAST_FACTOR, MOST_FACTOR),
                                    is_between(b, width, e->f64, size[1], LEAST_FACTOR, MOST_FACTOR), "");
  usual = LLVMBuildAnd(b, usual, is_between(b, width, e->f64, size[3], LEAST_PRODUCT, MOST_SUM), "");
  usual = LLVMBuildAnd(
      b, usual, LLVMBuildFCmp(b, LLVMRealOLE, size[2], cg_real_const(e->f64, width, ldexp(1, MOST_SUM)), ""),
      "");
  LLVMValueRef product_0 = LLVMBuildOr(b, none[0], none[1], "");
  LLVMTypeRef mask = LLVMIntTypeInContext(e->context, width);
  LLVMValueRef all = LLVMBuildBitCast(b, LLVMBuildOr(b, usual, product_0, ""), mask, "");
  LLVMBasicBlockRef fast = LLVMAppendBasicBlockInContext(e->context, function, ""),
                    slow = LLVMAppendBasicBlockInContext(e->context, function, "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, all, LLVMConstAllOnes(mask), ""), fast, slow);
  LLVMPositionBuilderAtEnd(b, slow);
  LLVMBuildRet(b, fma_by_integers(e, b, width, from));
  LLVMPositionBuilderAtEnd(b, fast);
  LLVMValueRef u = product_error(b, x, y, p, cg_real_const(e->f64, width, 0x1p27 + 1));
  pair t = two_sum(b, c, u), v = two_sum(b, p, t.high);
  LLVMValueRef result = PLUS(v.high, odd_sum(e, b, width, t.low, v.low));
  LLVMBuildRet(b, LLVMBuildSelect(b, LLVMBuildOr(b, product_0, none[2], ""), PLUS(p, c), result, ""));
}

static LLVMValueRef fma_of_vectors(cg_emitter *e, uint32_t width) {
  char name[32];
  snprintf(name, sizeof name, "fma_of_f64_%u", (unsigned)width);
  LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
  if (function) return function;
  LLVMTypeRef type = cg_vector(e->f64, width), args[] = {type, type, type};
  function = LLVMAddFunction(e->module, name, LLVMFunctionType(type, args, 3, 0));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  cg_target_attributes(e->context, function, e->target);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(e->context);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->context, function, ""));
  fma_by_floats(e, b, function, width);
  LLVMDisposeBuilder(b);
  return function;
}

static LLVMValueRef fma_of_f64(cg_emitter *e, uint32_t width, LLVMValueRef *from) {
  if (width == 1) return fma_by_integers(e, e->b, width, from);
  LLVMValueRef function = fma_of_vectors(e, width);
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(function), function, from, 3, "");
}

LLVMValueRef cg_unrounded_fma(cg_emitter *e, uint32_t width, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (e->target->has_fma) return cg_call(e, "llvm.fma", 3, a, b, c);
  return cg_bits_of(a) == 32 ? fma_through_f64(e, width, a, b, c)
                             : fma_of_f64(e, width, (LLVMValueRef[]){a, b, c});
}
