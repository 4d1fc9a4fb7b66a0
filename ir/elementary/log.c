/* log and log2.
 *
 * x = 2^e s with s near 1 and f = s - 1 exact. Then log x = e ln 2 + log(1 + f). In f32 log(1 + f) is a
 * polynomial in f; in f64 it is 2 atanh(t), t = f / (2 + f), a much shorter polynomial in t^2, with the
 * correction terms arranged as in Ng and Tang (K. C. Ng, fdlibm's description of log): log(1 + f) = f -
 * (f^2/2 - t (f^2/2 + R)). */
#include "impl.h"

/* log(1 + f) = f + f^2 q(f) on [-1/3, 1/3], and the same over ln 2: relative errors 2^-27.6 and 2^-27.5 */
static const double log32[] = {-0x1p-1,       0x1.5554fap-2,  -0x1.ffff94p-3, 0x1.99d594p-3, -0x1.557df6p-3,
                               0x1.1e8144p-3, -0x1.f6c14ap-4, 0x1.1ffd08p-3,  -0x1.ff4b92p-4};
static const double log2_32[] = {-0x1.715476p-1, 0x1.ec7014p-2, -0x1.715492p-2, 0x1.27a38cp-2, -0x1.ec8b7ap-3,
                                 0x1.9d1fccp-3,  -0x1.6c5fap-3, 0x1.a0a962p-3,  -0x1.6907dcp-3};
/* 2 atanh(t) = 2t + t R(t^2), R/t^2 on t^2 <= 0.0295: error of the logarithm 2^-59.5 */
static const double atanh64[] = {0x1.5555555555592p-1, 0x1.999999997fef0p-2, 0x1.24924941e535bp-2,
                                 0x1.c71c5210226c6p-3, 0x1.74663df703ac0p-3, 0x1.39a1c9e8e0b4ep-3,
                                 0x1.2f05172c75516p-3};

/* Subtracting the bits of base from those of x borrows from the exponent exactly when the significand of x is
 * less than that of base. So the upper bits of the difference, signed, are e, and the bits of x without these
 * upper bits are those of s. */
void ir_el_split_normal(const ir_format *m, ir_ref x, int64_t base_bits, ir_ref *e, ir_ref *f) {
  ir_dtype type = m->type == IR_F64 ? IR_I64 : IR_I32;
  ir_ref bits = ir_bitcast(m->g, x, type), fraction = ir_int(m->g, type, m->fraction);
  ir_ref above = ir_el_sub(m, bits, ir_int(m->g, type, base_bits));
  ir_ref upper = ir_el_and(m, above, ir_int(m->g, type, -((int64_t)1 << m->fraction)));
  *e = ir_cast(m->g, ir_binary(m->g, IR_OP_SHR, above, fraction), m->type);
  *f = ir_el_sub(m, ir_el_float(m, ir_el_sub(m, bits, upper)), ir_el_const(m, 1));
}

void ir_el_split(const ir_format *m, ir_ref x, int64_t base_bits, ir_ref *e, ir_ref *f) {
  ir_ref small = ir_el_lt(m, x, ir_el_const(m, m->lowest)), up = ir_el_const(m, m->fraction);
  ir_ref larger = ir_el_mul(m, x, ir_el_const(m, ldexp(1, m->fraction)));
  ir_el_split_normal(m, ir_el_where(m, small, larger, x), base_bits, e, f);
  *e = ir_el_where(m, small, ir_el_sub(m, *e, up), *e);
}

/* positive, finite and normal */
static ir_ref is_normal(const ir_format *m, ir_ref x) {
  int64_t lowest = (int64_t)1 << m->fraction, infinite = m->type == IR_F64 ? 0x7ff0000000000000 : 0x7f800000;
  return ir_el_lt(m, ir_el_sub(m, ir_el_bits(m, x), ir_el_int(m, lowest)), ir_el_int(m, infinite - lowest));
}

/* y for 0 < x < inf, the limits at 0 and infinity, NaN for NaN and x < 0 */
static ir_ref with_limits(const ir_format *m, ir_ref x, ir_ref y) {
  ir_ref zero = ir_el_const(m, 0), inf = ir_el_const(m, INFINITY);
  ir_ref edge = ir_el_where(m, ir_el_eq(m, x, zero), ir_el_const(m, -INFINITY), ir_el_const(m, NAN));
  return ir_el_where(m, ir_el_lt(m, zero, x), ir_el_where(m, ir_el_lt(m, x, inf), y, inf), edge);
}

/* f^2/2 and t (f^2/2 + R), whose difference is f - log(1 + f) */
static void tail64(const ir_format *m, ir_ref f, ir_ref *half_square, ir_ref *tail) {
  ir_ref t = ir_el_div(m, f, ir_el_add(m, f, ir_el_const(m, 2))), z = ir_el_mul(m, t, t);
  ir_ref r = ir_el_poly(m, z, atanh64, sizeof atanh64 / sizeof *atanh64);
  *half_square = ir_el_mul(m, ir_el_mul(m, f, ir_el_const(m, 0.5)), f);
  *tail = ir_el_mul(m, t, ir_el_fma(m, z, r, *half_square));
}

static int64_t base_of(const ir_format *m) { return m->type == IR_F64 ? 0x3fe6a09e667f3bcd : 0x3f2aaaab; }

/* e ln 2 + log(1 + f) */
static ir_ref log_parts(const ir_format *m, ir_ref e, ir_ref f) {
  if (m->type == IR_F64) {
    ir_ref half_square, tail;
    tail64(m, f, &half_square, &tail);
    ir_ref low = ir_el_fma(m, e, ir_el_const(m, 0x1.abc9e3b39803fp-56), tail);
    ir_ref high = ir_el_sub(m, f, ir_el_sub(m, half_square, low));
    return ir_el_fma(m, e, ir_el_const(m, 0x1.62e42fefa39efp-1), high);
  }
  ir_ref q = ir_el_poly(m, f, log32, sizeof log32 / sizeof *log32);
  ir_ref high = ir_el_fma(m, ir_el_mul(m, f, f), q, f);
  return ir_el_fma(m, e, ir_el_const(m, 0x1.62e43p-1), high);
}

/* A logarithm, which `from_parts` computes from e and f. Subnormal numbers and limits are the first value of
 * a RARE. */
static ir_ref logarithm(const ir_format *m, ir_ref x,
                        ir_ref (*from_parts)(const ir_format *, ir_ref, ir_ref)) {
  ir_ref e, f, rare_e, rare_f;
  ir_el_split_normal(m, x, base_of(m), &e, &f);
  ir_el_split(m, x, base_of(m), &rare_e, &rare_f);
  ir_ref rare = with_limits(m, x, from_parts(m, rare_e, rare_f)), y = from_parts(m, e, f);
  return ir_el_rare(m, ir_unary(m->g, IR_OP_NOT, is_normal(m, x)), rare, y);
}

ir_ref ir_el_log(const ir_format *m, ir_ref x) { return logarithm(m, x, log_parts); }

/* log(1 + x) = log(u + c) = log(u) + c/u - ..., with u = 1 + x rounded and c the rounding error. c is exact
 * wherever it matters; it is NaN or 0 where u is infinite or 0. Where |x| < 2^-27 (f32) or 2^-56 (f64), x is
 * the nearest float. */
ir_ref ir_el_log1p(const ir_format *m, ir_ref x) {
  ir_ref one = ir_el_const(m, 1), zero = ir_el_const(m, 0), u = ir_el_add(m, one, x);
  ir_ref c = ir_el_sub(m, x, ir_el_sub(m, u, one)), lost = ir_el_lt(m, zero, ir_el_abs(m, c));
  ir_ref y = ir_el_add(m, ir_el_log(m, u), ir_el_where(m, lost, ir_el_div(m, c, u), zero));
  ir_ref tiny = ir_el_lt(m, ir_el_abs(m, x), ir_el_const(m, m->type == IR_F64 ? 0x1p-56 : 0x1p-27));
  return ir_el_where(m, tiny, x, y);
}

/* f64: log(1 + f) as high + low, times 1 / ln 2 as a sum of two floats, added to e without losing the low
 * parts */
static ir_ref log2_64(const ir_format *m, ir_ref e, ir_ref f) {
  ir_ref half_square, tail, high, low, product, rest, sum, lost;
  tail64(m, f, &half_square, &tail);
  ir_ref lead = ir_el_const(m, 0x1.71547652b82fep+0), follow = ir_el_const(m, 0x1.777d0ffda0d24p-56);
  ir_el_fast_two_sum(m, f, ir_el_neg(m, half_square), &high, &low);
  low = ir_el_add(m, low, tail);
  ir_el_two_product(m, high, lead, &product, &rest);
  ir_el_fast_two_sum(m, e, product, &sum, &lost);
  rest = ir_el_add(m, ir_el_fma(m, low, lead, ir_el_mul(m, high, follow)), rest);
  return ir_el_add(m, sum, ir_el_add(m, lost, rest));
}

static ir_ref log2_parts(const ir_format *m, ir_ref e, ir_ref f) {
  if (m->type == IR_F64) return log2_64(m, e, f);
  ir_ref q = ir_el_poly(m, f, log2_32, sizeof log2_32 / sizeof *log2_32);
  ir_ref rest = ir_el_mul(m, f, ir_el_fma(m, f, q, ir_el_const(m, 0x1.4ae0cp-26)));
  return ir_el_add(m, ir_el_fma(m, f, ir_el_const(m, 0x1.715476p+0), rest), e);
}

ir_ref ir_el_log2(const ir_format *m, ir_ref x) { return logarithm(m, x, log2_parts); }
