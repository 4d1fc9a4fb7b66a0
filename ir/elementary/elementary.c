/* Elementary functions in primitive operations: dispatch, shared builders, and the functions that are built
 * from others. */
#include "elementary.h"

#include "impl.h"

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

ir_ref ir_el_poly_pairs(const ir_format *m, ir_ref x, ir_ref square, const double *c, int count) {
  ir_ref sum = 0;
  for (int i = (count - 1) / 2 * 2; i >= 0; i -= 2) {
    ir_ref pair = i + 1 < count ? ir_el_fma(m, ir_el_const(m, c[i + 1]), x, ir_el_const(m, c[i]))
                                : ir_el_const(m, c[i]);
    sum = sum ? ir_el_fma(m, sum, square, pair) : pair;
  }
  return sum;
}

void ir_el_fast_two_sum(const ir_format *m, ir_ref a, ir_ref b, ir_ref *sum, ir_ref *error) {
  *sum = ir_el_add(m, a, b);
  *error = ir_el_sub(m, b, ir_el_sub(m, *sum, a));
}

void ir_el_two_product(const ir_format *m, ir_ref a, ir_ref b, ir_ref *product, ir_ref *error) {
  *product = ir_el_mul(m, a, b);
  *error = ir_el_fma(m, a, b, ir_el_neg(m, *product));
}

ir_ref ir_el_round(const ir_format *m, ir_ref x, ir_ref factor, int bias, ir_ref *bits) {
  ir_ref magic = ir_el_const(m, m->magic + bias);
  ir_ref sum = factor ? ir_el_fma(m, x, factor, magic) : ir_el_add(m, x, magic);
  *bits = ir_el_bits(m, sum);
  return ir_el_sub(m, sum, magic);
}

ir_ref ir_el_sign_bit(const ir_format *m) {
  return ir_el_int(m, m->type == IR_F64 ? INT64_MIN : (int64_t)1 << 31);
}

ir_ref ir_el_copy_sign(const ir_format *m, ir_ref size, ir_ref sign) {
  return ir_el_float(m,
                     ir_el_or(m, ir_el_bits(m, size), ir_el_and(m, ir_el_bits(m, sign), ir_el_sign_bit(m))));
}

/* With z = exp(-|x|), which cannot overflow, and h = z/(1+z): 1/(1+z) = 1 - h for x >= 0, h = z - z h for x <
 * 0. In these differences the errors of the quotient have little weight. Where z would be subnormal, 1/(1+z)
 * is 1 and h is z, which ir_el_exp computes. */
static ir_ref sigmoid(const ir_format *m, ir_ref x) {
  ir_ref zero = ir_el_const(m, 0), one = ir_el_const(m, 1), size = ir_el_abs(m, x),
         most = ir_el_const(m, m->type == IR_F64 ? 708 : 87);
  ir_ref z = ir_el_exp_normal(m, ir_el_neg(m, ir_binary(m->g, IR_OP_MIN, size, most)));
  ir_ref h = ir_el_div(m, z, ir_el_add(m, one, z)), whole = ir_el_where(m, ir_el_lt(m, x, zero), z, one);
  ir_ref y = ir_el_fma(m, ir_el_neg(m, whole), h, whole);
  return ir_el_rare(m, ir_el_lt(m, x, ir_el_neg(m, most)), ir_el_exp(m, x), y);
}

/* (1 - z) / (1 + z), z = exp(-2|x|); it is 1 from |x| = 10 (f32) and 20 (f64) on */
static ir_ref tanh_of(const ir_format *m, ir_ref x) {
  ir_ref most = ir_el_const(m, m->type == IR_F64 ? 20 : 10), less, more;
  ir_ref size = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), most);
  ir_el_one_and_exp(m, ir_el_neg(m, ir_el_add(m, size, size)), &less, &more);
  return ir_el_copy_sign(m, ir_el_div(m, less, more), x);
}

/* x <= 0 gives +0, so that -0 becomes +0; NaN compares false and is kept. */
static ir_ref relu(ir_graph *g, ir_ref x, ir_dtype type) {
  ir_ref zero = ir_is_float(type) ? ir_float(g, type, 0) : ir_int(g, type, 0);
  return ir_where(g, ir_binary(g, IR_OP_LE, x, zero), zero, x);
}

bool ir_is_elementary(ir_op op, ir_dtype type) {
  switch (op) {
  case IR_OP_FLOORDIV:
  case IR_OP_MOD: return ir_is_float(type);
  case IR_OP_EXP:
  case IR_OP_EXP2:
  case IR_OP_LOG:
  case IR_OP_LOG2:
  case IR_OP_SIN:
  case IR_OP_COS:
  case IR_OP_TANH:
  case IR_OP_ERF:
  case IR_OP_SIGMOID:
  case IR_OP_GELU:
  case IR_OP_GELU_TANH:
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

static ir_ref expand_function(const ir_format *m, ir_op op, ir_ref x, ir_ref y) {
  switch (op) {
  case IR_OP_EXP: return ir_el_exp(m, x);
  case IR_OP_EXP2: return ir_el_exp2(m, x);
  case IR_OP_LOG: return ir_el_log(m, x);
  case IR_OP_LOG2: return ir_el_log2(m, x);
  case IR_OP_SIN: return ir_el_sin(m, x, false);
  case IR_OP_COS: return ir_el_sin(m, x, true);
  case IR_OP_TANH: return tanh_of(m, x);
  case IR_OP_ERF: return ir_el_erf(m, x);
  case IR_OP_SIGMOID: return sigmoid(m, x);
  case IR_OP_GELU: return ir_el_gelu(m, x);
  case IR_OP_GELU_TANH: return ir_el_gelu_tanh(m, x);
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
  case IR_OP_FLOORDIV: return ir_el_floordiv(m, x, y);
  case IR_OP_MOD: return ir_el_mod(m, x, y);
  default: return 0;
  }
}

ir_ref ir_elementary(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_op op = (ir_op)n->op;
  ir_dtype type = (ir_dtype)n->dtype;
  if (!ir_is_elementary(op, type)) return node;
  ir_ref x = ir_cast(g, n->src[0], type), y = n->nsrc > 1 ? ir_cast(g, n->src[1], type) : 0;
  if (op == IR_OP_RELU) return relu(g, x, type);
  if (op == IR_OP_POW && !ir_is_float(type)) return ir_el_pow_int(g, x, y);
  ir_format m = ir_format_of(g, type == IR_F64 ? IR_F64 : IR_F32);
  return ir_cast(g, expand_function(&m, op, ir_cast(g, x, m.type), y ? ir_cast(g, y, m.type) : 0), type);
}
