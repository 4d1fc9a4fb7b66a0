/* sinh, cosh and their inverses, from exp - 1 and log(1 + x), so that there is no cancellation near 0. */
#include "impl.h"

/* sinh s on s^2 <= 1, minimax (Remez): relative errors 2^-31.6, 2^-61.7 */
static const double sinh32[] = {0x1.555556p-3, 0x1.1110ep-7, 0x1.a022bcp-13, 0x1.756c1ep-19};
static const double sinh64[] = {0x1.5555555555556p-3,  0x1.111111111101ep-7,  0x1.a01a01a037285p-13,
                                0x1.71de3a3b018ebp-19, 0x1.ae646ffd79576p-26, 0x1.6116ef56bd0edp-33,
                                0x1.b5cade3d97f6fp-41};

/* With h = (exp|x| - 1)/2, which does not overflow before the result does: exp|x| = 2h + 1, sinh|x| = h +
 * h/(2h + 1) and cosh x = h + 1/2 + 1/2 / (2h + 1). Below 1 sinh is a polynomial, whose errors are
 * smaller. */
ir_ref ir_el_sinh(const ir_format *m, ir_ref x) {
  ir_ref size = ir_el_abs(m, x), one = ir_el_const(m, 1), h = ir_el_half_exp_less_one(m, size);
  ir_ref large = ir_el_lt(m, ir_el_const(m, m->type == IR_F64 ? 0x1p60 : 0x1p30), h);
  ir_ref part = ir_el_div(m, h, ir_el_add(m, ir_el_add(m, h, h), one));
  ir_ref y = ir_el_where(m, large, h, ir_el_add(m, h, part)), z = ir_el_mul(m, x, x);
  return ir_el_where(m, ir_el_lt(m, size, one), IR_EL_ODD(m, x, z, sinh), ir_el_copy_sign(m, y, x));
}

ir_ref ir_el_cosh(const ir_format *m, ir_ref x) {
  ir_ref half = ir_el_const(m, 0.5), h = ir_el_half_exp_less_one(m, ir_el_abs(m, x));
  ir_ref whole = ir_el_add(m, ir_el_add(m, h, h), ir_el_const(m, 1));
  return ir_el_add(m, h, ir_el_add(m, half, ir_el_div(m, half, whole)));
}

/* log 2x, for x so large that the exact argument of the logarithm rounds to 2x */
static ir_ref log_twice(const ir_format *m, ir_ref x) {
  return ir_el_add(m, ir_el_log(m, x),
                   ir_el_const(m, m->type == IR_F64 ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1));
}
static ir_ref is_large(const ir_format *m, ir_ref x) {
  return ir_el_lt(m, ir_el_const(m, m->type == IR_F64 ? 0x1p28 : 0x1p13), x);
}

/* log(a + sqrt(a^2 + 1)) = log(1 + a + a^2 / (1 + sqrt(a^2 + 1))), a = |x| */
ir_ref ir_el_asinh(const ir_format *m, ir_ref x) {
  ir_ref a = ir_el_abs(m, x), one = ir_el_const(m, 1), square = ir_el_mul(m, a, a);
  ir_ref root = ir_unary(m->g, IR_OP_SQRT, ir_el_fma(m, a, a, one));
  ir_ref near = ir_el_log1p(m, ir_el_add(m, a, ir_el_div(m, square, ir_el_add(m, one, root))));
  return ir_el_copy_sign(m, ir_el_where(m, is_large(m, a), log_twice(m, a), near), x);
}

/* log(x + sqrt(x^2 - 1)) = log(1 + t + sqrt(t (t + 2))), t = x - 1 */
ir_ref ir_el_acosh(const ir_format *m, ir_ref x) {
  ir_ref one = ir_el_const(m, 1), t = ir_el_sub(m, x, one);
  ir_ref root = ir_unary(m->g, IR_OP_SQRT, ir_el_fma(m, t, t, ir_el_add(m, t, t)));
  ir_ref y = ir_el_where(m, is_large(m, x), log_twice(m, x), ir_el_log1p(m, ir_el_add(m, t, root)));
  return ir_el_where(m, ir_el_lt(m, x, one), ir_el_const(m, NAN), y);
}

/* log((1 + a)/(1 - a))/2 = log(1 + 2a + 2a^2/(1 - a))/2, a = |x| */
ir_ref ir_el_atanh(const ir_format *m, ir_ref x) {
  ir_ref a = ir_el_abs(m, x), twice = ir_el_add(m, a, a);
  ir_ref more = ir_el_div(m, ir_el_mul(m, twice, a), ir_el_sub(m, ir_el_const(m, 1), a));
  ir_ref y = ir_el_mul(m, ir_el_log1p(m, ir_el_add(m, twice, more)), ir_el_const(m, 0.5));
  ir_ref beyond = ir_el_lt(m, ir_el_const(m, 1), a);
  return ir_el_copy_sign(m, ir_el_where(m, beyond, ir_el_const(m, NAN), y), x);
}
