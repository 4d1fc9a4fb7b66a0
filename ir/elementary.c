/* Elementary functions in primitive operations: dispatch, shared builders, and the functions built from
 * others. */
#include "elementary.h"

#include "elementary_parts.h"

ir_format ir_format_of(ir_graph *g, ir_dtype type) {
  if (type == IR_F64) return (ir_format){g, IR_F64, IR_U64, 52, 0x3ff0000000000000, 0x1.8p52, 0x1p-1022};
  return (ir_format){g, IR_F32, IR_U32, 23, 0x3f800000, 0x1.8p23, 0x1p-126};
}

ir_ref ir_el_fma(const ir_format *m, ir_ref a, ir_ref b, ir_ref c) {
  const ir_ref src[] = {a, b, c};
  ir_ref shape = 0;
  for (int i = 0; i < 3; i++) {
    ir_ref s = ir_shape(m->g, src[i]);
    if (s && (!shape || ir_get(m->g, s)->nsrc > ir_get(m->g, shape)->nsrc)) shape = s;
  }
  return shape ? ir_make_tensor(m->g, IR_OP_FMA, m->type, shape, 0, src, 3)
               : ir_make(m->g, IR_OP_FMA, m->type, 0, src, 3);
}

ir_ref ir_el_clamp(const ir_format *m, ir_ref x, double lo, double hi) {
  return ir_binary(m->g, IR_OP_MIN, ir_binary(m->g, IR_OP_MAX, x, ir_el_const(m, lo)), ir_el_const(m, hi));
}

ir_ref ir_el_poly(const ir_format *m, ir_ref x, const double *c, int count) {
  ir_ref sum = ir_el_const(m, c[count - 1]);
  for (int i = count - 2; i >= 0; i--) sum = ir_el_fma(m, sum, x, ir_el_const(m, c[i]));
  return sum;
}

void ir_el_fast_two_sum(const ir_format *m, ir_ref a, ir_ref b, ir_ref *sum, ir_ref *rest) {
  *sum = ir_el_add(m, a, b);
  *rest = ir_el_sub(m, b, ir_el_sub(m, *sum, a));
}

void ir_el_two_product(const ir_format *m, ir_ref a, ir_ref b, ir_ref *product, ir_ref *rest) {
  *product = ir_el_mul(m, a, b);
  *rest = ir_el_fma(m, a, b, ir_el_neg(m, *product));
}

ir_ref ir_el_round(const ir_format *m, ir_ref x_plus_magic, ir_ref *bits) {
  *bits = ir_el_bits(m, x_plus_magic);
  return ir_el_sub(m, x_plus_magic, ir_el_const(m, m->magic));
}

static ir_ref sign_bit(const ir_format *m) {
  return ir_el_int(m, m->type == IR_F64 ? INT64_MIN : (int64_t)1 << 31);
}

ir_ref ir_el_copy_sign(const ir_format *m, ir_ref size, ir_ref sign) {
  return ir_el_float(m, ir_el_or(m, ir_el_bits(m, size), ir_el_and(m, ir_el_bits(m, sign), sign_bit(m))));
}

/* With z = exp(-|x|), which cannot overflow, and h = z/(1+z): 1/(1+z) = 1 - h for x >= 0, h = z - z h for x <
 * 0. Taken as differences, the errors of the quotient weigh little. */
static ir_ref sigmoid(const ir_format *m, ir_ref x) {
  ir_ref z = ir_el_exp_negative(m, ir_el_neg(m, ir_el_abs(m, x))), one = ir_el_const(m, 1);
  ir_ref h = ir_el_div(m, z, ir_el_add(m, one, z));
  ir_ref whole = ir_el_where(m, ir_el_lt(m, x, ir_el_const(m, 0)), z, one);
  return ir_el_fma(m, ir_el_neg(m, whole), h, whole);
}

/* |x| < 0.55: x + x^3 q(x^2), relative error 2^-29.4 (f32) and 2^-57.8 (f64). Above: 1 - 2 / (exp(2|x|) + 1),
 * which is 1 from |x| = 10 (f32) and 20 (f64) on. */
static ir_ref tanh_of(const ir_format *m, ir_ref x) {
  static const double q32[] = {-0x1.555548p-2, 0x1.110c5ep-3, -0x1.b905c4p-5, 0x1.5811f6p-6, -0x1.9454ecp-8};
  static const double q64[] = {-0x1.555555555554cp-2,  0x1.11111111103dap-3,  -0x1.ba1ba1b94647ap-5,
                               0x1.664f484cf5a36p-6,   -0x1.226e2d77996c6p-7, 0x1.d6d259d6c088dp-9,
                               -0x1.7d8c7dd3fa5afp-10, 0x1.346805dc7ab1cp-11, -0x1.e8544064757f6p-13,
                               0x1.5a4247dbd5209p-14,  -0x1.3f20e5b323d67p-16};
  bool wide = m->type == IR_F64;
  ir_ref size = ir_el_abs(m, x), one = ir_el_const(m, 1), z = ir_el_mul(m, x, x);
  ir_ref q = wide ? ir_el_poly(m, z, q64, 11) : ir_el_poly(m, z, q32, 5);
  ir_ref small = ir_el_fma(m, ir_el_mul(m, size, z), q, size);
  ir_ref near = ir_binary(m->g, IR_OP_MIN, size, ir_el_const(m, wide ? 20 : 10));
  ir_ref e = ir_el_exp_moderate(m, ir_el_add(m, near, near));
  ir_ref large = ir_el_sub(m, one, ir_el_div(m, ir_el_const(m, 2), ir_el_add(m, e, one)));
  ir_ref below = ir_el_lt(m, size, ir_el_const(m, 0.55));
  return ir_el_copy_sign(m, ir_el_where(m, below, small, large), x);
}

/* erf|x| = 1 - exp(-P) with P = -log(1 - erf|x|) = |x| (c + |x| Q(|x|)), c = 2 / sqrt(pi) in two parts. Q is
 * a minimax polynomial weighted by dP/derf, so that erf is accurate relatively everywhere: on [0, 3.95] of
 * degree 7 with error 2^-27.8 (f32), on [0, 5.95] of degree 23 with error 2^-56.9 (f64). Beyond, the result
 * is 1. */
static ir_ref erf_of(const ir_format *m, ir_ref x) {
  static const double q32[] = {0x1.45f2fep-1,  0x1.a4f95ep-4,   -0x1.39c0dap-6, -0x1.5b0e0ap-13,
                               0x1.b63756p-10, -0x1.4d04d4p-11, 0x1.f00646p-14, -0x1.38d67ep-17};
  static const double q64[] = {
      0x1.45f306dc9c890p-1,   0x1.a4f4e2a1b296bp-4,   -0x1.39668594010fap-6,  -0x1.b6b68b15eb0bcp-13,
      0x1.bca67b1c1dad8p-10,  -0x1.35654922a5c0ap-11, 0x1.b229190da2175p-16,  0x1.0e813d5fc2ee7p-14,
      -0x1.f2bc08b0d7604p-16, 0x1.c9df7e68d6d70p-19,  0x1.7be22e64984fdp-19,  -0x1.d24fc9b775740p-20,
      0x1.65adf3b17bdb9p-22,  0x1.2ac03d578f005p-23,  -0x1.326d8222ae3a7p-23, 0x1.1bde5df1954b1p-24,
      -0x1.6a0d90b9ea884p-26, 0x1.5953ecfef034fp-28,  -0x1.f6356ba55acd1p-31, 0x1.143d2f5394777p-33,
      -0x1.bead13f103041p-37, 0x1.f58713371537ep-41,  -0x1.5d7a2cf3701eep-45, 0x1.c748e51a62333p-51};
  bool wide = m->type == IR_F64;
  ir_ref size = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), ir_el_const(m, wide ? 5.95 : 0x1.f8p1));
  ir_ref q = wide ? ir_el_poly(m, size, q64, 24) : ir_el_poly(m, size, q32, 8);
  ir_ref rest = ir_el_fma(m, q, size, ir_el_const(m, wide ? 0x1.1ae3a914fed80p-56 : -0x1.f7ac92p-25));
  ir_ref minus = ir_el_neg(m, size), lead = ir_el_const(m, wide ? 0x1.20dd750429b6dp+0 : 0x1.20dd76p+0);
  ir_ref p, low;
  ir_el_fast_two_sum(m, ir_el_mul(m, minus, lead), ir_el_mul(m, minus, rest), &p, &low);
  return ir_el_copy_sign(m, ir_el_abs(m, ir_el_expm1(m, p, low)), x);
}

/* x <= 0 gives +0, so that -0 becomes +0; NaN compares false and is kept. */
static ir_ref relu(ir_graph *g, ir_ref x, ir_dtype type) {
  ir_ref zero = ir_is_float(type) ? ir_float(g, type, 0) : ir_int(g, type, 0);
  return ir_where(g, ir_binary(g, IR_OP_LE, x, zero), zero, x);
}

bool ir_is_elementary(ir_op op) {
  switch (op) {
  case IR_OP_EXP:
  case IR_OP_EXP2:
  case IR_OP_LOG:
  case IR_OP_LOG2:
  case IR_OP_SIN:
  case IR_OP_COS:
  case IR_OP_TANH:
  case IR_OP_ERF:
  case IR_OP_SIGMOID:
  case IR_OP_EXPM1:
  case IR_OP_LOG1P:
  case IR_OP_ERFINV:
  case IR_OP_TAN:
  case IR_OP_ASIN:
  case IR_OP_ACOS:
  case IR_OP_ATAN:
  case IR_OP_SINH:
  case IR_OP_COSH:
  case IR_OP_ASINH:
  case IR_OP_ACOSH:
  case IR_OP_ATANH:
  case IR_OP_RSQRT:
  case IR_OP_POW:
  case IR_OP_RELU: return true;
  default: return false;
  }
}

static ir_ref expand(const ir_format *m, ir_op op, ir_ref x, ir_ref y) {
  switch (op) {
  case IR_OP_EXP: return ir_el_exp(m, x);
  case IR_OP_EXP2: return ir_el_exp2(m, x);
  case IR_OP_LOG: return ir_el_log(m, x);
  case IR_OP_LOG2: return ir_el_log2(m, x);
  case IR_OP_SIN: return ir_el_sin(m, x, false);
  case IR_OP_COS: return ir_el_sin(m, x, true);
  case IR_OP_TANH: return tanh_of(m, x);
  case IR_OP_ERF: return erf_of(m, x);
  case IR_OP_SIGMOID: return sigmoid(m, x);
  case IR_OP_EXPM1: return ir_el_exp_less_one(m, x);
  case IR_OP_LOG1P: return ir_el_log1p(m, x);
  case IR_OP_ERFINV: return ir_el_erfinv(m, x);
  case IR_OP_TAN: return ir_el_tan(m, x);
  case IR_OP_ASIN: return ir_el_asin(m, x);
  case IR_OP_ACOS: return ir_el_acos(m, x);
  case IR_OP_ATAN: return ir_el_atan(m, x);
  case IR_OP_SINH: return ir_el_sinh(m, x);
  case IR_OP_COSH: return ir_el_cosh(m, x);
  case IR_OP_ASINH: return ir_el_asinh(m, x);
  case IR_OP_ACOSH: return ir_el_acosh(m, x);
  case IR_OP_ATANH: return ir_el_atanh(m, x);
  case IR_OP_RSQRT: return ir_el_div(m, ir_el_const(m, 1), ir_unary(m->g, IR_OP_SQRT, x));
  case IR_OP_POW: return ir_el_pow(m, x, y);
  default: return 0;
  }
}

ir_ref ir_elementary(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_op op = (ir_op)n->op;
  ir_dtype type = (ir_dtype)n->dtype;
  if (!ir_is_elementary(op)) return node;
  ir_ref x = ir_cast(g, n->src[0], type), y = op == IR_OP_POW ? ir_cast(g, n->src[1], type) : 0;
  if (op == IR_OP_RELU) return relu(g, x, type);
  if (op == IR_OP_POW && !ir_is_float(type)) return ir_el_pow_int(g, x, y);
  ir_format m = ir_format_of(g, type == IR_F64 ? IR_F64 : IR_F32);
  return ir_cast(g, expand(&m, op, ir_cast(g, x, m.type), y ? ir_cast(g, y, m.type) : 0), type);
}
