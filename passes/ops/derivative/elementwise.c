/* Partial derivatives of elementwise operations. Where a derivative is discontinuous, `where` selects the
 * value instead of a multiplication by 0 or 1, so that infinities and NaN do not spread. */
#include "derivative.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)
#define X(i)       (c->n->src[i])
#define Y          (c->y)

static ir_ref float_constant(const op_call *c, double value) {
  return ir_float(c->g, (ir_dtype)c->n->dtype, value);
}
static ir_ref apply_binary(const op_call *c, ir_op op, ir_ref a, ir_ref b) {
  return op_binary(c->g, op, a, b);
}
static ir_ref neg(const op_call *c, ir_ref a) { return op_unary(c->g, IR_OP_NEG, a); }
static ir_ref mul(const op_call *c, ir_ref a, ir_ref b) { return apply_binary(c, IR_OP_MUL, a, b); }
static ir_ref scale(const op_call *c, ir_ref a, double by) { return mul(c, a, float_constant(c, by)); }
static ir_ref where(const op_call *c, ir_ref condition, ir_ref a, ir_ref b) {
  return op_where(c->g, condition, a, b);
}

RULE(neg) {
  (void)i;
  return neg(c, d);
}

/* The sign, 0 at 0. */
RULE(abs) {
  (void)i;
  ir_ref zero = float_constant(c, 0),
         below = where(c, apply_binary(c, IR_OP_LT, X(0), zero), neg(c, d), zero);
  return where(c, apply_binary(c, IR_OP_GT, X(0), zero), d, below);
}

/* 1 above 0, 0 at 0. */
RULE(relu) {
  (void)i;
  ir_ref zero = float_constant(c, 0);
  return where(c, apply_binary(c, IR_OP_GT, X(0), zero), d, zero);
}

/* 1/(2y) */
RULE(sqrt) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, scale(c, d, 0.5), Y);
}

/* y = x^(-1/2): -y/(2x) */
RULE(rsqrt) {
  (void)i;
  return mul(c, scale(c, d, -0.5), apply_binary(c, IR_OP_DIV, Y, X(0)));
}

RULE(exp) {
  (void)i;
  return mul(c, d, Y);
}

RULE(exp2) {
  (void)i;
  return mul(c, d, scale(c, Y, 0.693147180559945309417)); /* ln 2 */
}

RULE(log) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, X(0));
}

RULE(log2) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, scale(c, d, 1.44269504088896340736), X(0)); /* 1/ln 2 */
}

RULE(sin) {
  (void)i;
  return mul(c, d, op_unary(c->g, IR_OP_COS, X(0)));
}

RULE(cos) {
  (void)i;
  return neg(c, mul(c, d, op_unary(c->g, IR_OP_SIN, X(0))));
}

/* 1 - y^2 as (1-y)(1+y), which keeps its digits where y is near 1 */
RULE(tanh) {
  (void)i;
  ir_ref one = float_constant(c, 1);
  return mul(c, d, mul(c, apply_binary(c, IR_OP_SUB, one, Y), apply_binary(c, IR_OP_ADD, one, Y)));
}

/* 2/sqrt(pi) exp(-x^2) */
RULE(erf) {
  (void)i;
  ir_ref bell = op_unary(c->g, IR_OP_EXP, neg(c, mul(c, X(0), X(0))));
  return mul(c, d, scale(c, bell, 1.12837916709551257390));
}

/* y(1-y) */
RULE(sigmoid) {
  (void)i;
  return mul(c, d, mul(c, Y, apply_binary(c, IR_OP_SUB, float_constant(c, 1), Y)));
}

/* Phi(x) + x phi(x) */
RULE(gelu) {
  (void)i;
  ir_ref x = X(0), e = op_unary(c->g, IR_OP_ERF, scale(c, x, 0.707106781186547524));
  ir_ref part = scale(c, apply_binary(c, IR_OP_ADD, e, float_constant(c, 1)), 0.5);
  ir_ref density = scale(c, op_unary(c->g, IR_OP_EXP, scale(c, mul(c, x, x), -0.5)), 0.398942280401432678);
  return mul(c, d, apply_binary(c, IR_OP_ADD, part, mul(c, x, density)));
}

/* With s = sigmoid(2u), 2u = k (x + 0.044715 x^3): s + x s (1 - s) k (1 + 3 * 0.044715 x^2) */
RULE(gelu_tanh) {
  (void)i;
  const double k = 1.59576912160573071;
  ir_ref x = X(0), one = float_constant(c, 1), square = mul(c, x, x);
  ir_ref rise = apply_binary(c, IR_OP_ADD, scale(c, square, 0.044715 * k), float_constant(c, k));
  ir_ref s = op_unary(c->g, IR_OP_SIGMOID, mul(c, x, rise));
  ir_ref slope = apply_binary(c, IR_OP_ADD, scale(c, square, 3 * 0.044715 * k), float_constant(c, k));
  ir_ref bend = mul(c, mul(c, mul(c, x, slope), s), apply_binary(c, IR_OP_SUB, one, s));
  return mul(c, d, apply_binary(c, IR_OP_ADD, s, bend));
}

/* y + 1 */
RULE(expm1) {
  (void)i;
  return mul(c, d, apply_binary(c, IR_OP_ADD, Y, float_constant(c, 1)));
}

RULE(log1p) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, apply_binary(c, IR_OP_ADD, X(0), float_constant(c, 1)));
}

/* sqrt(pi)/2 exp(y^2) */
RULE(erfinv) {
  (void)i;
  return mul(c, d, scale(c, op_unary(c->g, IR_OP_EXP, mul(c, Y, Y)), 0.886226925452758013649));
}

/* 1 + y^2 */
RULE(tan) {
  (void)i;
  return mul(c, d, apply_binary(c, IR_OP_ADD, mul(c, Y, Y), float_constant(c, 1)));
}

/* (1 - x)(1 + x), which keeps its digits near 1 */
static ir_ref less_square(const op_call *c) {
  ir_ref one = float_constant(c, 1);
  return mul(c, apply_binary(c, IR_OP_SUB, one, X(0)), apply_binary(c, IR_OP_ADD, one, X(0)));
}

RULE(asin) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, op_unary(c->g, IR_OP_SQRT, less_square(c)));
}

RULE(acos) { return neg(c, op_derivative_asin(c, i, d)); }

RULE(atan) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, apply_binary(c, IR_OP_ADD, mul(c, X(0), X(0)), float_constant(c, 1)));
}

RULE(sinh) {
  (void)i;
  return mul(c, d, op_unary(c->g, IR_OP_COSH, X(0)));
}

RULE(cosh) {
  (void)i;
  return mul(c, d, op_unary(c->g, IR_OP_SINH, X(0)));
}

/* 1/sqrt(x^2 + 1) = 1/cosh y: x^2 may overflow where cosh y does not */
RULE(asinh) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, op_unary(c->g, IR_OP_COSH, Y));
}

/* 1/sqrt(x^2 - 1) = 1/sinh y */
RULE(acosh) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, op_unary(c->g, IR_OP_SINH, Y));
}

RULE(atanh) {
  (void)i;
  return apply_binary(c, IR_OP_DIV, d, less_square(c));
}

RULE(add) {
  (void)c, (void)i;
  return d;
}

RULE(sub) { return i == 0 ? d : neg(c, d); }

RULE(mul) { return mul(c, d, X(1 - i)); }

/* y = a/b: 1/b and -y/b */
RULE(div) {
  ir_ref by = apply_binary(c, IR_OP_DIV, d, X(1));
  return i == 0 ? by : neg(c, mul(c, by, Y));
}

/* y = a - b floor(a/b): 1 and -floor(a/b) */
RULE(mod) { return i == 0 ? d : neg(c, mul(c, d, apply_binary(c, IR_OP_FLOORDIV, X(0), X(1)))); }

/* b a^(b-1) for a constant b. At b = 0 and b = 1 the power is dropped, so that powers of 0 have all their
 * derivatives. */
static ir_ref constant_power(op_call *c, double b, ir_ref d) {
  if (b == 0) return scale(c, d, 0);
  if (b == 1) return d;
  ir_ref rest = b == 2 ? X(0) : apply_binary(c, IR_OP_POW, X(0), float_constant(c, b - 1));
  return mul(c, d, scale(c, rest, b));
}

/* y = a^b: b a^(b-1), which is 0 for 0^0, and y ln a, which is 0 where y is: 0^b does not vary for b > 0. */
RULE(pow) {
  ir_ref zero = float_constant(c, 0), one = float_constant(c, 1);
  if (i == 0 && op_is_const(c->g, X(1))) return constant_power(c, ir_const_value(c->g, X(1)).f, d);
  ir_ref a_is_zero = apply_binary(c, IR_OP_EQ, X(0), zero);
  if (i == 1) return mul(c, d, mul(c, Y, op_unary(c->g, IR_OP_LOG, where(c, a_is_zero, one, X(0)))));
  ir_ref both = op_logical(c->g, IR_OP_AND, a_is_zero, apply_binary(c, IR_OP_EQ, X(1), zero));
  ir_ref exponent = where(c, both, one, apply_binary(c, IR_OP_SUB, X(1), one));
  return mul(c, d, mul(c, X(1), apply_binary(c, IR_OP_POW, X(0), exponent)));
}

/* d goes to the operand that was selected, half of it to each where both are equal. An operand that is NaN is
 * selected. */
RULE(extremum) {
  ir_ref x = X(i), other = X(1 - i), zero = float_constant(c, 0);
  ir_op beats = c->n->op == IR_OP_MAX ? IR_OP_GT : IR_OP_LT;
  ir_ref taken =
      op_logical(c->g, IR_OP_OR, apply_binary(c, beats, x, other), apply_binary(c, IR_OP_NE, x, x));
  return where(c, apply_binary(c, IR_OP_EQ, x, other), scale(c, d, 0.5), where(c, taken, d, zero));
}

RULE(fma) { return i == 2 ? d : mul(c, d, X(1 - i)); }

RULE(stored) {
  (void)c, (void)i;
  return d;
}

RULE(cast) { return op_cast(c->g, d, ir_dtype_of(c->g, X(i))); }

RULE(where) {
  ir_ref zero = float_constant(c, 0);
  return i == 1 ? where(c, X(0), d, zero) : where(c, X(0), zero, d);
}
