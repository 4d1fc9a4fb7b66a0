/* exp, exp2 and exp - 1.
 *
 * Range reduction (Cody and Waite, "Software Manual for the Elementary Functions", 1980): n = round(x / ln 2)
 * by adding the magic number, r = x - n ln 2 by fma, with ln 2 as a sum of two floats, |r| <= ln 2 / 2. Then
 * exp(x) = 2^n exp(r). The power of two is built from the bits of n, as two factors where the result may be
 * subnormal or overflow: the first product is exact, so only one rounding remains. Polynomials are minimax
 * (Remez), coefficients rounded to the format one by one. */
#include "impl.h"

/* exp(r) = 1 + r + r^2 q(r): relative error 2^-28.2 (f32), 2^-56.4 (f64) */
static const double exp32[] = {
    1, 1, 0x1.fffffcp-2, 0x1.55548ap-3, 0x1.55584ep-5, 0x1.123f3p-7, 0x1.6ad114p-10};
static const double exp64[] = {1,
                               1,
                               0x1.000000000000ap-1,
                               0x1.5555555555484p-3,
                               0x1.55555555503eap-5,
                               0x1.1111111122d65p-7,
                               0x1.6c16c18610e5ep-10,
                               0x1.a01a01cc9dbbdp-13,
                               0x1.a01992d1f0aa2p-16,
                               0x1.71dcd1a14b553p-19,
                               0x1.28b590982c5c5p-22,
                               0x1.b25437a0dc964p-26};
/* exp(r) - 1 = r + r^2 q(r), relative to exp(r) - 1: 2^-28.7 (f32), 2^-61.2 (f64) */
static const double expm1_32[] = {0x1p-1,        0x1.555554p-3,  0x1.5554bp-5,
                                  0x1.11118cp-7, 0x1.6d7348p-10, 0x1.a03002p-13};
static const double expm1_64[] = {0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.5555555555558p-5,
                                  0x1.111111110f946p-7,  0x1.6c16c16c175ccp-10, 0x1.a01a01ae6e516p-13,
                                  0x1.a01a0198a7140p-16, 0x1.71ddfc6cebf1dp-19, 0x1.27e506c1bf26cp-22,
                                  0x1.af5764de64c5dp-26, 0x1.1f2153756e205p-29};
/* 2^r on [-1/2, 1/2]: relative error 2^-26.3 (f32), 2^-56.1 (f64) */
static const double exp2_32[] = {
    1, 0x1.62e43p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5, 0x1.3b681ap-7, 0x1.5ef4c2p-10, 0x1.1793b4p-13};
static const double exp2_64[] = {1,
                                 0x1.62e42fefa39efp-1,
                                 0x1.ebfbdff82c5b3p-3,
                                 0x1.c6b08d704a26fp-5,
                                 0x1.3b2ab6fb9da97p-7,
                                 0x1.5d87fe7845950p-10,
                                 0x1.430913168e4edp-13,
                                 0x1.ffcbfe64f1b06p-17,
                                 0x1.62bfb45b84bb9p-20,
                                 0x1.b5208a6594a90p-24,
                                 0x1.e63c40dcc327bp-28,
                                 0x1.f0d14d66c43c8p-32};
#define POLY(m, r, name)                                                                                     \
  ((m)->type == IR_F64 ? ir_el_poly(m, r, name##64, sizeof name##64 / sizeof *name##64)                      \
                       : ir_el_poly(m, r, name##32, sizeof name##32 / sizeof *name##32))

/* The bias of the exponent: n + bias is the exponent field of 2^n. */
static int bias_of(const ir_format *m) { return m->type == IR_F64 ? 1023 : 127; }

/* 2^n for a normal result; the low bits of `bits` are n + bias. The shift discards the upper bits, which
 * belong to the magic number. */
static ir_ref power_of_two(const ir_format *m, ir_ref bits) {
  return ir_el_float(m, ir_el_shl(m, bits, m->fraction));
}

/* p * 2^n, where the low bits of `bits` are n + 2 bias: with h = floor(n / 2), (p * 2^h) * 2^(n - h). 0 where
 * the bool `zero` holds, if it is not 0: there the second factor is 0, so that no result is subnormal before
 * it is rounded, for which processors take more than a hundred cycles. */
static ir_ref scale(const ir_format *m, ir_ref p, ir_ref bits, ir_ref zero) {
  ir_ref half = ir_el_shr(m, bits, 1), first = power_of_two(m, half),
         second = power_of_two(m, ir_el_sub(m, bits, half));
  if (zero) second = ir_el_where(m, zero, ir_el_const(m, 0), second);
  return ir_el_mul(m, ir_el_mul(m, p, first), second);
}

/* r + *rest = x - n ln 2; the low bits of *bits are n + bias. rest, when not NULL, is the rounding error of
 * r. */
static ir_ref reduce_argument(const ir_format *m, ir_ref x, int bias, ir_ref *bits, ir_ref *rest) {
  bool wide = m->type == IR_F64;
  ir_ref inverse = ir_el_const(m, wide ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
  ir_ref n = ir_el_round(m, x, inverse, bias, bits);
  ir_ref exact = ir_el_fma(m, n, ir_el_const(m, wide ? -0x1.62e42fefa39efp-1 : -0x1.62e43p-1), x);
  ir_ref low = ir_el_const(m, wide ? -0x1.abc9e3b39803fp-56 : 0x1.05c61p-29), r = ir_el_fma(m, n, low, exact);
  if (rest) *rest = ir_el_fma(m, n, low, ir_el_sub(m, exact, r));
  return r;
}

/* exp(-104) and exp(-746) round to 0; exp(89) and exp(710) overflow. Masked scores of attention are so small
 * that they end there. */
ir_ref ir_el_exp(const ir_format *m, ir_ref x) {
  bool wide = m->type == IR_F64;
  double least = wide ? -746 : -104;
  ir_ref near = ir_el_clamp(m, x, least, wide ? 710 : 89), bits;
  ir_ref r = reduce_argument(m, near, 2 * bias_of(m), &bits, NULL);
  return scale(m, POLY(m, r, exp), bits, ir_el_lt(m, x, ir_el_const(m, least)));
}

ir_ref ir_el_exp_normal(const ir_format *m, ir_ref x) {
  ir_ref bits, r = reduce_argument(m, x, bias_of(m), &bits, NULL);
  return ir_el_mul(m, POLY(m, r, exp), power_of_two(m, bits));
}

/* exp(x) = 2^n + 2^n v with v = exp(r) - 1. 1 - 2^n and 1 + 2^n are exact unless their error is
 * negligible. */
void ir_el_one_and_exp(const ir_format *m, ir_ref x, ir_ref *less, ir_ref *more) {
  bool wide = m->type == IR_F64; /* in f64 the rounding error of r is worth two more steps */
  ir_ref bits, rest, r = reduce_argument(m, x, bias_of(m), &bits, wide ? &rest : NULL),
                     one = ir_el_const(m, 1);
  ir_ref square = ir_el_mul(m, r, r), power = power_of_two(m, bits);
  ir_ref q = wide ? ir_el_poly_pairs(m, r, square, expm1_64, sizeof expm1_64 / sizeof *expm1_64)
                  : ir_el_poly_pairs(m, r, square, expm1_32, sizeof expm1_32 / sizeof *expm1_32);
  ir_ref v = wide ? ir_el_add(m, r, ir_el_fma(m, square, q, rest)) : ir_el_fma(m, square, q, r);
  *less = ir_el_fma(m, ir_el_neg(m, power), v, ir_el_sub(m, one, power));
  *more = ir_el_fma(m, power, v, ir_el_add(m, one, power));
}

/* With exp(r + rest) - 1 = r + w: 2^n (1 + r + w) - 1 = 2^n w + (2^n r + (2^n - 1)); the last is exact unless
 * its error is negligible. */
ir_ref ir_el_exp_less_one(const ir_format *m, ir_ref x, ir_ref low) {
  ir_ref bits, rest, r = reduce_argument(m, x, bias_of(m), &bits, &rest);
  ir_ref w = ir_el_fma(m, ir_el_mul(m, r, r), POLY(m, r, expm1_), ir_el_add(m, rest, low));
  ir_ref power = power_of_two(m, bits);
  return ir_el_fma(m, power, w, ir_el_fma(m, power, r, ir_el_sub(m, power, ir_el_const(m, 1))));
}

/* (exp(x) - 1) / 2^shift for -45 <= x and a finite result; the shift keeps the power of two in range */
static ir_ref exp_less_one(const ir_format *m, ir_ref x, int shift) {
  ir_ref bits, rest, r = reduce_argument(m, x, bias_of(m) - shift, &bits, &rest);
  ir_ref one = ir_el_const(m, ldexp(1, -shift)), power = power_of_two(m, bits);
  ir_ref w = ir_el_fma(m, ir_el_mul(m, r, r), POLY(m, r, expm1_), rest);
  return ir_el_fma(m, power, w, ir_el_fma(m, power, r, ir_el_sub(m, power, one)));
}

/* Where |x| < 2^-27 (f32) or 2^-56 (f64), exp(x) - 1 = x to within a quarter of a unit; returning x keeps its
 * sign and its last bit. */
ir_ref ir_el_expm1(const ir_format *m, ir_ref x) {
  bool wide = m->type == IR_F64;
  ir_ref half = exp_less_one(m, ir_el_clamp(m, x, -45, wide ? 710 : 89), 1);
  ir_ref tiny = ir_el_lt(m, ir_el_abs(m, x), ir_el_const(m, wide ? 0x1p-56 : 0x1p-27));
  return ir_el_where(m, tiny, x, ir_el_add(m, half, half));
}

/* Half of exp(89.5) and of exp(710.7) overflow. */
ir_ref ir_el_half_exp_less_one(const ir_format *m, ir_ref x) {
  ir_ref most = ir_el_const(m, m->type == IR_F64 ? 710.7 : 89.5);
  ir_ref quarter = exp_less_one(m, ir_binary(m->g, IR_OP_MIN, x, most), 2);
  return ir_el_add(m, quarter, quarter);
}

ir_ref ir_el_exp2_sum(const ir_format *m, ir_ref hi, ir_ref lo) {
  ir_ref bits, n = ir_el_round(m, hi, 0, 2 * bias_of(m), &bits), r = ir_el_sub(m, hi, n);
  if (lo) r = ir_el_add(m, r, lo);
  return scale(m, POLY(m, r, exp2_), bits, 0);
}

/* 2^-151 and 2^-1076 round to 0. */
ir_ref ir_el_exp2(const ir_format *m, ir_ref x) {
  bool wide = m->type == IR_F64;
  return ir_el_exp2_sum(m, ir_el_clamp(m, x, wide ? -1076 : -151, wide ? 1024 : 128), 0);
}
