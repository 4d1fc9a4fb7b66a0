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
ir_ref ir_el_sigmoid(const ir_format *m, ir_ref x) {
  ir_ref zero = ir_el_const(m, 0), one = ir_el_const(m, 1), size = ir_el_abs(m, x),
         most = ir_el_const(m, m->type == IR_F64 ? 708 : 87);
  ir_ref z = ir_el_exp_normal(m, ir_el_neg(m, ir_binary(m->g, IR_OP_MIN, size, most)));
  ir_ref h = ir_el_div(m, z, ir_el_add(m, one, z)), whole = ir_el_where(m, ir_el_lt(m, x, zero), z, one);
  ir_ref y = ir_el_fma(m, ir_el_neg(m, whole), h, whole);
  return ir_el_rare(m, ir_el_lt(m, x, ir_el_neg(m, most)), ir_el_exp(m, x), y);
}

/* (1 - z) / (1 + z), z = exp(-2|x|); it is 1 from |x| = 10 (f32) and 20 (f64) on */
ir_ref ir_el_tanh(const ir_format *m, ir_ref x) {
  ir_ref most = ir_el_const(m, m->type == IR_F64 ? 20 : 10), less, more;
  ir_ref size = ir_binary(m->g, IR_OP_MIN, ir_el_abs(m, x), most);
  ir_el_one_and_exp(m, ir_el_neg(m, ir_el_add(m, size, size)), &less, &more);
  return ir_el_copy_sign(m, ir_el_div(m, less, more), x);
}

/* x <= 0 gives +0, so that -0 becomes +0; NaN compares false and is kept. */
ir_ref ir_el_relu(ir_graph *g, ir_ref x) {
  ir_dtype type = ir_dtype_of(g, x);
  ir_ref zero = ir_is_float(type) ? ir_float(g, type, 0) : ir_int(g, type, 0);
  return ir_where(g, ir_binary(g, IR_OP_LE, x, zero), zero, x);
}

ir_ref ir_el_rsqrt(const ir_format *m, ir_ref x) {
  return ir_el_div(m, ir_el_const(m, 1), ir_unary(m->g, IR_OP_SQRT, x));
}

/* How an operation becomes primitive ones, by the macro of its row; functions are named by its class. */
typedef struct expansion {
  enum { NEVER, OF_FLOATS, OF_FORMAT, OF_DTYPE } when;
  union {
    ir_ref (*UNARY)(const ir_format *m, ir_ref x);
    ir_ref (*BINARY)(const ir_format *m, ir_ref a, ir_ref b);
  } of_format; /* OF_FLOATS, and OF_FORMAT where the dtype is a float anyway: computed in f32 or f64 */
  union {
    ir_ref (*UNARY)(ir_graph *g, ir_ref x);
    ir_ref (*BINARY)(ir_graph *g, ir_ref a, ir_ref b);
  } of_dtype; /* computed in the dtype that it has */
} expansion;

static const expansion expansions[IR_OP_COUNT] = {
#define EXPANDED(op, name, api, cls, ...) [IR_OP_##op] = {.when = OF_FORMAT, .of_format.cls = ir_el_##name},
#define MIXED(op, name, api, cls, ...)    [IR_OP_##op] = {.when = OF_FLOATS, .of_format.cls = ir_el_##name},
#define TYPED(op, name, api, cls, ...)    [IR_OP_##op] = {.when = OF_DTYPE, .of_dtype.cls = ir_el_##name},
#include "ir/ops.def"
};

bool ir_is_elementary(ir_op op, ir_dtype type) {
  return expansions[op].when != NEVER && (expansions[op].when != OF_FLOATS || ir_is_float(type));
}

ir_ref ir_elementary(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  const expansion *e = &expansions[n->op];
  ir_dtype type = (ir_dtype)n->dtype;
  if (!ir_is_elementary((ir_op)n->op, type)) return node;
  bool unary = ir_ops[n->op].operands == 1;
  ir_ref x = ir_cast(g, n->src[0], type), y = unary ? 0 : ir_cast(g, n->src[1], type);
  if (e->when == OF_DTYPE) return unary ? e->of_dtype.UNARY(g, x) : e->of_dtype.BINARY(g, x, y);
  ir_format m = ir_format_of(g, type == IR_F64 ? IR_F64 : IR_F32);
  x = ir_cast(g, x, m.type);
  ir_ref made = unary ? e->of_format.UNARY(&m, x) : e->of_format.BINARY(&m, x, ir_cast(g, y, m.type));
  return ir_cast(g, made, type);
}
