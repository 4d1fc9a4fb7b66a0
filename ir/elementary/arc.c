/* asin, acos and atan: odd polynomials s + s^3 q(s^2) on a subinterval, and identities that reduce the rest
 * of the range to it. Polynomials are minimax (Remez), coefficients rounded to the format one by one. */
#include "impl.h"

/* asin s on s^2 <= 0.2926: relative errors 2^-29.9, 2^-56.1 */
static const double asin32[] = {0x1.55553ap-3, 0x1.3340e2p-4, 0x1.6b739p-5,
                                0x1.0e926p-5,  0x1.469622p-7, 0x1.64fb1ep-5};
static const double asin64[] = {0x1.55555555556cbp-3,  0x1.3333333302cdfp-4, 0x1.6db6db90bc7bcp-5,
                                0x1.f1c70fb3a4342p-6,  0x1.6e8d000e652e9p-6, 0x1.1c36d821f2198p-6,
                                0x1.cbcdaa4c48f68p-7,  0x1.689e54ca68446p-7, 0x1.a517fd8d2a797p-7,
                                -0x1.dc10a685fa3f2p-9, 0x1.3b217ffc0786ap-5, -0x1.62893d8032cd2p-5,
                                0x1.7697c2e8d397ap-5};
/* atan s on |s| <= 1: relative errors 2^-25.6, 2^-56.2 */
static const double atan32[] = {-0x1.555554p-2, 0x1.999852p-3, -0x1.246e9cp-3, 0x1.c40d0ap-4, -0x1.62ffc4p-4,
                                0x1.00debcp-4,  -0x1.27dd3p-5, 0x1.bf7bacp-7,  -0x1.3daabp-9};
static const double atan64[] = {
    -0x1.5555555555555p-2,  0x1.999999999997fp-3, -0x1.24924924913a5p-3, 0x1.c71c71c6927ffp-4,
    -0x1.745d173321d51p-4,  0x1.3b13afac4992cp-4, -0x1.1110fabbd468dp-4, 0x1.e1e01a152bb68p-5,
    -0x1.af1af3b55bf28p-5,  0x1.85ca90b43a461p-5, -0x1.62cd5fcbc9753p-5, 0x1.42c2889774b1cp-5,
    -0x1.212dbb3688349p-5,  0x1.f1cb3915cba91p-6, -0x1.8d929add0863dp-6, 0x1.1ae8a29cafce1p-6,
    -0x1.578cb95c6658fp-7,  0x1.54038f4dda54dp-8, -0x1.0409eb67bff9bp-9, 0x1.1dd665d0afc98p-11,
    -0x1.8f7b320b82058p-14, 0x1.09824a153f408p-17};

/* quarters * pi/2 - p for quarters 1 or 2, with pi/2 as a sum of two floats */
static ir_ref half_pi_minus(const ir_format *m, int quarters, ir_ref p) {
  bool wide = m->type == IR_F64;
  double high = wide ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0,
         low = wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25;
  return ir_el_sub(m, ir_el_const(m, quarters * high), ir_el_sub(m, p, ir_el_const(m, quarters * low)));
}

/* Beyond 1, atan x = pi/2 - atan(1/x). */
ir_ref ir_el_atan(const ir_format *m, ir_ref x) {
  ir_ref size = ir_el_abs(m, x), one = ir_el_const(m, 1), beyond = ir_el_lt(m, one, size);
  ir_ref s = ir_el_where(m, beyond, ir_el_div(m, one, size), size), z = ir_el_mul(m, s, s);
  ir_ref p = IR_EL_ODD(m, s, z, atan);
  return ir_el_copy_sign(m, ir_el_where(m, beyond, half_pi_minus(m, 1, p), p), x);
}

/* Beyond a limit, asin x = pi/2 - 2 asin(sqrt((1 - x)/2)), where 1 - x is exact; *p is asin |x|, or the asin
 * of that root. The limit is where the root, and its errors with it, falls below 1/2: cos 1, rounded up. */
static ir_ref beyond_limit(const ir_format *m, ir_ref x, ir_ref *p) {
  ir_ref size = ir_el_abs(m, x), beyond = ir_el_lt(m, ir_el_const(m, 0x1.14a282p-1), size);
  ir_ref rest = ir_el_mul(m, ir_el_sub(m, ir_el_const(m, 1), size), ir_el_const(m, 0.5));
  ir_ref z = ir_el_where(m, beyond, rest, ir_el_mul(m, x, x));
  ir_ref s = ir_el_where(m, beyond, ir_unary(m->g, IR_OP_SQRT, rest), size);
  *p = IR_EL_ODD(m, s, z, asin);
  return beyond;
}

ir_ref ir_el_asin(const ir_format *m, ir_ref x) {
  ir_ref p, beyond = beyond_limit(m, x, &p);
  return ir_el_copy_sign(m, ir_el_where(m, beyond, half_pi_minus(m, 1, ir_el_add(m, p, p)), p), x);
}

/* pi/2 - asin x: beyond the limit 2p, or pi - 2p for negative x */
ir_ref ir_el_acos(const ir_format *m, ir_ref x) {
  ir_ref p, beyond = beyond_limit(m, x, &p), twice = ir_el_add(m, p, p), zero = ir_el_const(m, 0);
  ir_ref below = ir_el_lt(m, x, zero), small = half_pi_minus(m, 1, ir_el_where(m, below, ir_el_neg(m, p), p));
  return ir_el_where(m, beyond, ir_el_where(m, below, half_pi_minus(m, 2, twice), twice), small);
}
