/* gelu: x Phi(x), Phi(x) = (1 + erf(x / sqrt 2))/2, and its form with tanh, x / (1 + exp(-2u)), u =
 * sqrt(2/pi) (x + 0.044715 x^3) (D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016).
 *
 * Both are x Q and x - x Q, where Q is the smaller tail, about exp(-x^2/2). To be accurate for negative x,
 * the exponent must be known to more digits than the format has. */
#include "impl.h"

static int bias_of(const ir_format *m) { return m->type == IR_F64 ? 1023 : 127; }
static ir_ref power_of_two(const ir_format *m, ir_ref bits) {
  return ir_el_float(m, ir_el_shl(m, bits, m->fraction));
}
/* p * 2^n with one rounding; the low bits of `bits` are n + 2 bias */
static ir_ref scale(const ir_format *m, ir_ref p, ir_ref bits) {
  ir_ref half = ir_el_shr(m, bits, 1);
  return ir_el_mul(m, ir_el_mul(m, p, power_of_two(m, half)), power_of_two(m, ir_el_sub(m, bits, half)));
}

/* (2^r - 1 - r ln 2)/r^2 on [-1/2, 1/2]: relative to 2^r, 2^-28 (f32) and 2^-56 (f64) */
static const double square32[] = {0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2d88p-7, 0x1.5f0e36p-10,
                                  0x1.41e5fap-13};
static const double square64[] = {0x1.ebfbdff82c5b3p-3,  0x1.c6b08d704a26fp-5,  0x1.3b2ab6fb9da97p-7,
                                  0x1.5d87fe7845950p-10, 0x1.430913168e4edp-13, 0x1.ffcbfe64f1b06p-17,
                                  0x1.62bfb45b84bb9p-20, 0x1.b5208a6594a90p-24, 0x1.e63c40dcc327bp-28,
                                  0x1.f0d14d66c43c8p-32};

/* -2u / ln 2 = x (k1 + k2 x^2). s is x^2 rounded to a multiple of the unit of the last place of `grid`, so
 * short that k1 + k2 s is exact with the upper parts of both constants. */
typedef struct tanh_form {
  double grid, k1, k1_low, k2_high, k2_low, k2, ln2;
  double most; /* s up to which exp(-2u) is a normal number */
  double none; /* |x| from which on the result is 0 or x */
} tanh_form;
static const tanh_form form32 = {0x1.8p18,      -0x1.26aecp+1, -0x1.0de73ap-22, -0x1.a5ap-4, -0x1.f3dd5cp-18,
                                 -0x1.a5a7dp-4, 0x1.62e43p-1,  95.0625,         12};
static const tanh_form form64 = {0x1.8p34,
                                 -0x1.26aec21bce760p+1,
                                 0x1.ad12d7a64bcebp-49,
                                 -0x1.a5a7cf8p-4,
                                 0x1.51aad0dc8e4a0p-33,
                                 -0x1.a5a7cf7572a98p-4,
                                 0x1.62e42fefa39efp-1,
                                 400,
                                 24};

/* exp(-2u) as 2^n + 2^n r t; the low bits of *bits are n + bias; *square is s. With e = x^2 - s, the exponent
 * is n + r = x c + x (k2 e + the lower parts of k1 + k2 s). */
static void exponential(const ir_format *m, const tanh_form *f, ir_ref x, int bias, ir_ref *square,
                        ir_ref *bits, ir_ref *r, ir_ref *t) {
  bool wide = m->type == IR_F64;
  ir_ref grid = ir_el_const(m, f->grid), s = ir_el_sub(m, ir_el_fma(m, x, x, grid), grid);
  ir_ref c = ir_el_fma(m, s, ir_el_const(m, f->k2_high), ir_el_const(m, f->k1));
  ir_ref low = ir_el_fma(m, s, ir_el_const(m, f->k2_low), ir_el_const(m, f->k1_low));
  low = ir_el_fma(m, ir_el_fma(m, x, x, ir_el_neg(m, s)), ir_el_const(m, f->k2), low);
  ir_ref n = ir_el_round(m, x, c, bias, bits);
  *r = ir_el_fma(m, x, low, ir_el_fma(m, x, c, ir_el_neg(m, n)));
  ir_ref q = wide ? ir_el_poly(m, *r, square64, sizeof square64 / sizeof *square64)
                  : ir_el_poly(m, *r, square32, sizeof square32 / sizeof *square32);
  *t = ir_el_fma(m, q, *r, ir_el_const(m, f->ln2));
  *square = s;
}

/* Beyond `most` the tail is -|x| 2^n (1 + r t), which may be subnormal. */
static ir_ref tanh_far(const ir_format *m, const tanh_form *f, ir_ref x) {
  ir_ref clamped = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), ir_el_const(m, f->none)), square, bits, r, t;
  exponential(m, f, clamped, 2 * bias_of(m), &square, &bits, &r, &t);
  ir_ref minus = ir_el_neg(m, clamped), tail = scale(m, ir_el_fma(m, ir_el_mul(m, minus, r), t, minus), bits);
  return ir_el_where(m, ir_el_lt(m, x, ir_el_const(m, 0)), tail, x);
}

/* x / (1 + exp(-2u)), for either sign. 2^n r is exact. 1 + 2^n is exact, too, unless n is negative, where its
 * error is negligible, or 2^n exceeds the precision of the format: then the 1 that the sum loses is about 3/2
 * t. */
ir_ref ir_el_gelu_tanh(const ir_format *m, ir_ref x) {
  const tanh_form *f = m->type == IR_F64 ? &form64 : &form32;
  ir_ref square, bits, r, t;
  exponential(m, f, x, bias_of(m), &square, &bits, &r, &t);
  ir_ref power = power_of_two(m, bits), past = ir_el_lt(m, ir_el_const(m, ldexp(1, m->fraction)), power);
  ir_ref lost = ir_el_where(m, past, ir_el_const(m, 1.5), ir_el_const(m, 0));
  ir_ref more = ir_el_fma(m, ir_el_fma(m, power, r, lost), t, ir_el_add(m, ir_el_const(m, 1), power));
  ir_ref far = ir_el_lt(m, ir_el_const(m, f->most), square);
  return ir_el_rare(m, far, tanh_far(m, f, x), ir_el_div(m, x, more));
}

/* Q = 2^n p R, where 2^n p = exp(-x^2/2) and R = exp(x^2/2) (1 - Phi|x|) is a polynomial in 1/(|x| + c). An
 * f32 argument is computed in f64, where its square is exact. */
static const double tail_narrow[] = {-0x1.c1eb7a3b5aa8fp-19, 0x1.98d99d42f0c3dp-2,  0x1.61e3b737c3aaep+0,
                                     0x1.355fb861501e4p+2,   0x1.d839be29c392ap+2,  0x1.6de395d300d63p+6,
                                     -0x1.7c0eedc2d39c3p+8,  0x1.150afd808f4a8p+11, -0x1.af745e22b5f05p+12,
                                     0x1.36194c1f8c7f5p+13,  -0x1.5a0f81b50060dp+12};

/* f64: degree 23, relative error 2^-52.6 */
static const double tail_wide[] = {
    0x1.b671e64ec154cp-41,  0x1.9884533934cd2p-2,   0x1.6573c96332d16p+0,   0x1.1f3cfeb5013bfp+2,
    0x1.9d4f3b5ec3bc8p+3,   0x1.fbbd650503f5ep+4,   0x1.dd4aab4e52744p+5,   0x1.5b771328d2b88p+5,
    -0x1.09e1fc1650b1cp+6,  -0x1.66d5e589bf19ep+11, 0x1.5acec04b1fbb7p+14,  -0x1.e43ee07c9422ap+17,
    0x1.fea48e9bd258ap+20,  -0x1.993ff55e243e3p+23, 0x1.028a43f3d1f18p+26,  -0x1.dee10faad097dp+27,
    0x1.17fdfb57038a2p+29,  -0x1.8dce698cf4708p+28, -0x1.2e0cf5f397855p+31, 0x1.4a94cde3f927dp+33,
    -0x1.5bde24a84036fp+34, 0x1.b4c069d624e74p+34,  -0x1.3aac1a5b32f8cp+34, 0x1.9498d385d55c0p+32};

/* -a Q for a = -x > 0 in f32, by way of f64 */
static ir_ref tail_narrow_of(const ir_format *f32, ir_ref x) {
  ir_format wide = ir_format_of(f32->g, IR_F64);
  const ir_format *m = &wide;
  ir_ref a = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, ir_cast(m->g, x, IR_F64)), ir_el_const(m, 14.6));
  ir_ref square = ir_el_mul(m, a, a), factor = ir_el_const(m, -0x1.71547652b82fep-1), bits;
  ir_ref n = ir_el_round(m, square, factor, bias_of(m), &bits);
  ir_ref r = ir_el_fma(m, square, factor, ir_el_neg(m, n));
  ir_ref p = ir_el_exp2_narrow(m, r);
  ir_ref v = ir_el_div(m, ir_el_const(m, 1), ir_el_add(m, a, ir_el_const(m, 3.5)));
  ir_ref tail = ir_el_mul(m, p, ir_el_poly(m, v, tail_narrow, sizeof tail_narrow / sizeof *tail_narrow));
  return ir_cast(m->g, ir_el_mul(m, ir_el_neg(m, a), ir_el_mul(m, tail, power_of_two(m, bits))), IR_F32);
}

/* f32 from -5 on, in f32. With a = |x|: Q = exp(-l(a) - p(a)), where l = l0 + l1 a + l2 a^2 has so few digits
 * that it is exact for an `a` of 9 bits, and p, below 0.046 in size, is a polynomial in a - 2, error 2^-27 up
 * to 5. */
static const double l32[] = {0x1.62e44p-1, 0x1.4bcp-1, 0x1.c8p-2};
static const double p32[] = {0x1.a6526cp-7,   -0x1.ca9e56p-5,  -0x1.416746p-9,  0x1.442a1cp-7,
                             -0x1.ae8fb4p-10, 0x1.fc562cp-13,  -0x1.e12330p-16, 0x1.e9e9fap-20,
                             0x1.55c63ap-22,  -0x1.5269a6p-23, 0x1.0a2fb8p-25,  -0x1.57dd7ap-29};
/* (exp(r) - 1 - r)/r^2 on [-0.4, 0.4]: relative to exp(r), 2^-27.6 */
static const double exp_square32[] = {0.5,           0x1.555554p-3,  0x1.5553dep-5,
                                      0x1.111288p-7, 0x1.6e1478p-10, 0x1.9fa88ap-13};

/* high + low = l(a) + p(a). The first terms of p one by one: u^2 would be rounded where they are largest. */
enum { IN_TURN = 4 };
static void log_tail(const ir_format *m, ir_ref a, ir_ref *high, ir_ref *low) {
  ir_ref l[3], grid = ir_el_const(m, 0x1.8p17); /* rounds to multiples of 2^-6 */
  for (int i = 0; i < 3; i++) l[i] = ir_el_const(m, l32[i]);
  ir_ref s = ir_el_sub(m, ir_el_add(m, a, grid), grid);
  ir_ref inner = ir_el_fma(m, s, l[2], l[1]), slope = ir_el_fma(m, a, l[2], inner);
  *high = ir_el_fma(m, s, inner, l[0]); /* l(s), and l(a) - l(s) = (a - s) slope */
  ir_ref u = ir_el_sub(m, a, ir_el_const(m, 2)), square = ir_el_mul(m, u, u);
  ir_ref p = ir_el_poly_pairs(m, u, square, p32 + IN_TURN, sizeof p32 / sizeof *p32 - IN_TURN);
  for (int i = IN_TURN - 1; i >= 0; i--) p = ir_el_fma(m, p, u, ir_el_const(m, p32[i]));
  *low = ir_el_fma(m, ir_el_sub(m, a, s), slope, p);
}

/* Q = 2^n (1 + r + v) with an exact 1 + r. For negative x the result is x 2^n (1 + r) + x 2^n v; else, with
 * 1 - 2Q between 0 and 1, x/2 + x/2 (1 - 2Q). From 5.6 on that is x. At 0 the constants leave n = -1 and
 * exactly r = v = 0, so that zeros keep their signs. */
static ir_ref gelu_near(const ir_format *m, ir_ref x) {
  ir_ref a = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), ir_el_const(m, 5.6)), high, low, bits;
  ir_ref one = ir_el_const(m, 1), half = ir_el_mul(m, x, ir_el_const(m, 0.5));
  log_tail(m, a, &high, &low);
  ir_ref n = ir_el_round(m, high, ir_el_const(m, -0x1.715476p+0), bias_of(m) + 1, &bits);
  ir_ref twice = power_of_two(m, bits); /* 2^(n + 1) */
  ir_ref r = ir_el_fma(m, n, ir_el_const(m, -0x1.62e44p-1), ir_el_neg(m, high));
  ir_ref remainder = ir_el_fma(m, n, ir_el_const(m, 0x1.01p-21), ir_el_neg(m, low)),
         sum = ir_el_add(m, r, remainder);
  ir_ref square = ir_el_mul(m, sum, sum);
  ir_ref q = ir_el_poly_pairs(m, sum, square, exp_square32, sizeof exp_square32 / sizeof *exp_square32);
  ir_ref v = ir_el_fma(m, square, q, remainder);
  ir_ref below = ir_el_lt(m, x, ir_el_const(m, 0)), scaled = ir_el_mul(m, half, twice);
  ir_ref more = ir_el_fma(m, ir_el_neg(m, twice), ir_el_add(m, r, v), ir_el_sub(m, one, twice));
  return ir_el_fma(m, ir_el_where(m, below, scaled, half), ir_el_where(m, below, ir_el_add(m, one, r), more),
                   ir_el_where(m, below, ir_el_mul(m, scaled, v), half));
}

/* The exponent -x^2/2 / ln 2 as a sum of two floats, and a result that may be subnormal */
static ir_ref gelu_wide(const ir_format *m, ir_ref x) {
  ir_ref a = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), ir_el_const(m, 38.7)), square, square_low, bits;
  ir_ref factor = ir_el_const(m, -0x1.71547652b82fep-1);
  ir_el_two_product(m, a, a, &square, &square_low);
  ir_ref n = ir_el_round(m, square, factor, 2 * bias_of(m), &bits);
  ir_ref low = ir_el_fma(m, square, ir_el_const(m, -0x1.777d0ffda0d24p-57), ir_el_mul(m, square_low, factor));
  ir_ref r = ir_el_add(m, ir_el_fma(m, square, factor, ir_el_neg(m, n)), low);
  ir_ref q = ir_el_poly(m, r, square64, sizeof square64 / sizeof *square64);
  ir_ref w = ir_el_mul(m, r, ir_el_fma(m, q, r, ir_el_const(m, 0x1.abc9e3b39803fp-56)));
  w = ir_el_fma(m, r, ir_el_const(m, 0x1.62e42fefa39efp-1), w);
  ir_ref v = ir_el_div(m, ir_el_const(m, 1), ir_el_add(m, a, ir_el_const(m, 3.5)));
  ir_ref tail = ir_el_mul(m, a, ir_el_poly(m, v, tail_wide, sizeof tail_wide / sizeof *tail_wide));
  ir_ref below = ir_el_neg(m, scale(m, ir_el_fma(m, tail, w, tail), bits));
  return ir_el_where(m, ir_el_lt(m, x, ir_el_const(m, 0)), below, ir_el_add(m, x, below));
}

ir_ref ir_el_gelu_erf(const ir_format *m, ir_ref x) {
  if (m->type == IR_F64) return gelu_wide(m, x);
  return ir_el_rare(m, ir_el_lt(m, x, ir_el_const(m, -5)), tail_narrow_of(m, x), gelu_near(m, x));
}
