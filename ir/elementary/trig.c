/* sin, cos and tan.
 *
 * f32 up to 2^18: computed in f32; the sine reduces its argument by multiples of pi, the cosine by multiples
 * of pi/2. All other arguments, which are rare in f32, use one odd polynomial on half a period: x = n pi + r
 * gives sin x = (-1)^n sin r, and x = (n + 1/2) pi + r gives cos x = -(-1)^n sin r. n is in the low bits of x
 * / pi + magic. */
#include "impl.h"

/* sin(pi h) = h S(h^2) on |h| <= 0.5626: relative error 2^-33.3 */
static const double sin_half_turns[] = {0x1.921fb543a4243p+1,  -0x1.4abbce2187174p+2, 0x1.466bb4ddf7722p+1,
                                        -0x1.32cf3ff8ee3d2p-1, 0x1.4fd073906174cp-4,  -0x1.c6261ab909e1fp-8};
/* sin r = r + r^3 q(r^2) on |r| <= pi/2: relative error 2^-61.5 */
static const double sin_radians[] = {-0x1.5555555555555p-3,  0x1.11111111110c8p-7,   -0x1.a01a01a014d6fp-13,
                                     0x1.71de3a52a0af5p-19,  -0x1.ae6454d4717d9p-26, 0x1.6123cd05cfc70p-33,
                                     -0x1.ae4383d31cb9fp-41, 0x1.88328fadcd63cp-49};

/* y, negated if n is odd */
static ir_ref alternate(const ir_format *m, ir_ref y, ir_ref bits) {
  int sign = m->type == IR_F64 ? 63 : 31;
  return ir_el_float(m, ir_el_xor(m, ir_el_bits(m, y), ir_el_shl(m, bits, sign)));
}

/* n as a float for the sine, n + 1/2 for the cosine, from the quotient x * inverse */
static ir_ref nearest(const ir_format *m, ir_ref x, ir_ref inverse, bool cosine, ir_ref *bits) {
  if (!cosine) return ir_el_round(m, x, inverse, 0, bits);
  ir_ref n = ir_el_round(m, ir_el_fma(m, x, inverse, ir_el_const(m, -0.5)), 0, 0, bits);
  return ir_el_add(m, n, ir_el_const(m, 0.5));
}

/* An f32 argument, in f64 and in half turns. 1/pi is used modulo 2 in the units of x: from 2^50 on x is a
 * multiple of 2^27, so 2^27/pi modulo 2 suffices, from 2^77 on 2^54/pi, from 2^104 on 2^81/pi, each a sum of
 * two floats of 53 bits (the first rounded down for the smallest, which keeps the sign of sin(-0)). With x <
 * 2^50 times the unit, the fraction h = x * high - n is exact and the error of x * low is below 2^-57; no f32
 * is nearer to a multiple of pi/2 than 2^-31. */
static ir_ref sin_narrow(const ir_format *m, ir_ref x, bool cosine) {
  static const double limit[] = {0x1p50, 0x1p77, 0x1p104};
  static const double high[] = {0x1.45f306dc9c882p-2, -0x1.1b1bbead603d9p-29, 0x1.4a7f09d5f47d5p-55,
                                -0x1.505c1596447e5p-82};
  static const double low[] = {0x1.4a7f09d5f47d5p-55, 0x1.5f47d4d377037p-83, -0x1.6447e493ad4cep-110,
                               0x1.b14acc9e21c82p-136};
  ir_ref size = ir_el_abs(m, x), a = ir_el_const(m, high[3]), b = ir_el_const(m, low[3]), bits;
  for (int i = 2; i >= 0; i--) {
    ir_ref within = ir_el_lt(m, size, ir_el_const(m, limit[i]));
    a = ir_el_where(m, within, ir_el_const(m, high[i]), a);
    b = ir_el_where(m, within, ir_el_const(m, low[i]), b);
  }
  ir_ref n = nearest(m, x, a, cosine, &bits);
  ir_ref h = ir_el_fma(m, x, b, ir_el_fma(m, x, a, ir_el_neg(m, n)));
  ir_ref s =
      ir_el_poly(m, ir_el_mul(m, h, h), sin_half_turns, sizeof sin_half_turns / sizeof *sin_half_turns);
  return alternate(m, ir_el_mul(m, cosine ? ir_el_neg(m, h) : h, s), bits);
}

/* r + *rest = x - k pi, with pi as a sum of three floats of 53 bits. The first product, by fma, is exact
 * except for cosines of |x| < 1, whose rounding error `lost` recovers; the second is split exactly. */
static ir_ref reduce_argument(const ir_format *m, ir_ref x, ir_ref k, bool cosine, ir_ref *rest) {
  ir_ref minus = ir_el_neg(m, k), pi = ir_el_const(m, 0x1.921fb54442d18p+1), product, low;
  ir_ref a = ir_el_fma(m, minus, pi, x), lost = 0;
  if (cosine) {
    ir_ref t = ir_el_sub(m, x, a);
    lost = ir_el_add(m, ir_el_sub(m, ir_el_sub(m, x, t), a), ir_el_fma(m, minus, pi, t));
  }
  ir_el_two_product(m, k, ir_el_const(m, 0x1.1a62633145c07p-53), &product, &low);
  ir_ref r = ir_el_sub(m, a, product), b = ir_el_sub(m, r, a);
  ir_ref left = ir_el_sub(m, ir_el_sub(m, a, ir_el_sub(m, r, b)), ir_el_add(m, product, b));
  left = ir_el_fma(m, minus, ir_el_const(m, -0x1.f1976b7ed8fbcp-109), ir_el_sub(m, left, low));
  *rest = lost ? ir_el_add(m, left, lost) : left;
  return r;
}

/* An f64 argument: sin(r + rest) = r + (r^3 q + rest cos r), where a few bits of cos r are enough. */
static ir_ref sin_wide(const ir_format *m, ir_ref x, bool cosine) {
  ir_ref bits, rest, k = nearest(m, x, ir_el_const(m, 0x1.45f306dc9c883p-2), cosine, &bits);
  ir_ref r = reduce_argument(m, x, k, cosine, &rest), z = ir_el_mul(m, r, r);
  ir_ref u = ir_el_mul(m, z, ir_el_poly(m, z, sin_radians, sizeof sin_radians / sizeof *sin_radians));
  ir_ref slope = ir_el_fma(m, z, ir_el_const(m, -0.40625), ir_el_const(m, 1));
  ir_ref y = ir_el_add(m, r, ir_el_fma(m, r, u, ir_el_mul(m, rest, slope)));
  y = alternate(m, cosine ? ir_el_neg(m, y) : y, bits);
  if (!cosine) y = ir_el_where(m, ir_el_eq(m, x, ir_el_const(m, 0)), x, y);
  ir_ref reach = ir_binary(m->g, IR_OP_LE, ir_el_abs(m, x), ir_el_const(m, 0x1p50));
  return ir_el_where(m, reach, y, ir_el_const(m, NAN));
}

/* The sine of |x| <= 2^18 in f32 and half turns: |x| = k pi + r, |r| <= 1.582, sin x = (-1)^k sin r. pi is a
 * sum of three floats; the first fma is exact, the others round relative to r, however much cancels. sin r =
 * 3/4 r + r P(r^2) with P(0) = 1/4. The last fma adds 3/4 r, unrounded, to r P(r^2), whose size relative to
 * the result is at most 0.25 where r is small, and 0.18 where r is pi/2. So the result is r where r^2
 * vanishes, and never exceeds 1: near 1 the rounding of the square contributes 0.42 2^-24 to the result, that
 * of P 0.10, that of its product with r 0.13. */
static ir_ref sin_short(const ir_format *m, ir_ref x, ir_ref size) {
  /* minimax (Remez) on |r| <= 1.578, relative error 2^-27; the last bits are those with the least error over
   * all arguments */
  static const double p[] = {0.25, -0x1.55554ep-3, 0x1.110eeap-7, -0x1.9f6ef6p-13, 0x1.5d8ef2p-19};
  static const double pi[] = {-0x1.921fb6p+1, 0x1.777a5cp-24, 0x1.ee59dap-49};
  ir_ref bits, k = ir_el_round(m, size, ir_el_const(m, 0x1.45f306p-2), 0, &bits), r = size;
  for (int i = 0; i < 3; i++) r = ir_el_fma(m, k, ir_el_const(m, pi[i]), r);
  ir_ref rest = ir_el_mul(m, r, ir_el_poly(m, ir_el_mul(m, r, r), p, sizeof p / sizeof *p));
  ir_ref y = alternate(m, ir_el_fma(m, ir_el_const(m, 0.75), r, rest), bits);
  ir_ref sign = ir_el_and(m, ir_el_bits(m, x), ir_el_int(m, (int64_t)1 << 31));
  return ir_el_float(m, ir_el_xor(m, ir_el_bits(m, y), sign));
}

/* The cosine of |x| <= 2^18 in f32 and quarter turns, so that it is nearly exact where its slope is 0: |x| =
 * k pi/2 + r, |r| slightly above pi/4 at most; `bits` ends in k + 1, since cos x = sin(x + pi/2). For even k
 * + 1 the polynomial is sin r = r + r^3 S(r^2), for odd k + 1 cos r = 1 + r^2 C(r^2); bit 1 of k + 1 is the
 * sign. pi/2 is a sum of three floats: the first fma is exact, the second rounds relative to r, however much
 * cancels, and the third product is added to the polynomial. */
static ir_ref cos_short(const ir_format *m, ir_ref size) {
  static const float polynomials[][2] = {/* relative errors 2^-32 */
                                         {0x1.7a8aa6p-19, 0x1.99911cp-16},
                                         {-0x1.a053fap-13, -0x1.6c0af4p-10},
                                         {0x1.11117p-7, 0x1.555548p-5},
                                         {-0x1.555556p-3, -0.5}};
  ir_ref bits, k = ir_el_round(m, size, ir_el_const(m, 0x1.45f306p-1), 1, &bits);
  ir_ref r =
      ir_el_fma(m, k, ir_el_const(m, 0x1.777a5cp-25), ir_el_fma(m, k, ir_el_const(m, -0x1.921fb6p+0), size));
  ir_ref odd = ir_binary(m->g, IR_OP_NE, ir_el_and(m, bits, ir_el_int(m, 1)), ir_el_int(m, 0)), q = 0;
  ir_ref lead = ir_el_where(m, odd, ir_el_const(m, 1), r), z = ir_el_mul(m, r, r);
  for (int i = 0; i < 4; i++) {
    ir_ref c = ir_el_where(m, odd, ir_el_const(m, polynomials[i][1]), ir_el_const(m, polynomials[i][0]));
    q = i ? ir_el_fma(m, q, z, c) : c;
  }
  ir_ref rest = ir_el_mul(m, k, ir_el_const(m, 0x1.ee59dap-50));
  ir_ref y = ir_el_bits(m, ir_el_add(m, lead, ir_el_fma(m, ir_el_mul(m, lead, z), q, rest)));
  ir_ref sign = ir_el_int(m, (int64_t)1 << 31);
  return ir_el_float(m, ir_el_xor(m, y, ir_el_and(m, ir_el_shl(m, bits, 30), sign)));
}

static ir_ref sine_or_cosine(const ir_format *m, ir_ref x, bool cosine) {
  if (m->type == IR_F64) return sin_wide(m, x, cosine);
  ir_format wide = ir_format_of(m->g, IR_F64);
  ir_ref size = ir_el_abs(m, x), far = ir_el_lt(m, ir_el_const(m, 0x1p18), size);
  ir_ref any = ir_cast(m->g, sin_narrow(&wide, ir_cast(m->g, x, IR_F64), cosine), IR_F32);
  return ir_el_rare(m, far, any, cosine ? cos_short(m, size) : sin_short(m, x, size));
}

ir_ref ir_el_tan(const ir_format *m, ir_ref x) {
  if (m->type == IR_F64) return ir_el_div(m, sin_wide(m, x, false), sin_wide(m, x, true));
  ir_format wide = ir_format_of(m->g, IR_F64);
  x = ir_cast(m->g, x, IR_F64);
  return ir_cast(m->g, ir_el_div(&wide, sin_narrow(&wide, x, false), sin_narrow(&wide, x, true)), IR_F32);
}

ir_ref ir_el_sin(const ir_format *m, ir_ref x) { return sine_or_cosine(m, x, false); }
ir_ref ir_el_cos(const ir_format *m, ir_ref x) { return sine_or_cosine(m, x, true); }
