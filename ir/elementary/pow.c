/* pow: |x|^y = 2^(y log2|x|), where log2|x| has more digits than the result.
 *
 * With x = 2^e s, f = s - 1 and t = f / (2 + f): log2 x = e + (2 atanh t) / ln 2. For f32 it is a plain f64;
 * for f64 the leading terms are pairs of f64, accurate to about 2^-65. */
#include "impl.h"

enum { PAIR = 2 };
static const int64_t base = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */

/* For f32. log2 s = t L(t^2), relative error 2^-37.8: at |y log2 x| <= 150 that is 2^-30.5 of the exponent.
 * 2^r on [-1/2, 1/2]: error 2^-34.3. No f32 result is subnormal in f64, so one scaling suffices; the cast
 * rounds once. */
static const double log2_narrow[] = {0x1.71547652bee89p+1, 0x1.ec709d122ba56p-1, 0x1.27778058caf93p-1,
                                     0x1.a58d56ec81f9ep-2, 0x1.5cebd1fcf4c0fp-2};
static const double exp2_narrow[] = {1,
                                     0x1.62e42ff0e18fcp-1,
                                     0x1.ebfbe077a04efp-3,
                                     0x1.c6b08ac0b66c1p-5,
                                     0x1.3b29f39ff91aap-7,
                                     0x1.5d8a882237c0fp-10,
                                     0x1.445c7ccc176e3p-13,
                                     0x1.fde11687dc0d6p-17};
ir_ref ir_el_exp2_narrow(const ir_format *m, ir_ref r) {
  return ir_el_poly(m, r, exp2_narrow, sizeof exp2_narrow / sizeof *exp2_narrow);
}
/* For f64. (2 atanh t)/ln 2 = K1 t + K3 t^3 + t^5 T(t^2): error 2^-64.5 */
static const double log2_tail[] = {0x1.2776c50ef9d24p-1, 0x1.a61762a7599c6p-2, 0x1.484b14218b0f2p-2,
                                   0x1.0c9a63dab848ep-2, 0x1.c69f8ae5db50bp-3, 0x1.87b0d91837d9cp-3,
                                   0x1.85e8650c3af1dp-3};
static const double K1[PAIR] = {0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55};
static const double K3[PAIR] = {0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55};

/* log2 at the ends of the range: -inf at 0, x itself at infinity and NaN */
static ir_ref with_limits(const ir_format *m, ir_ref x, ir_ref y) {
  ir_ref finite = ir_el_lt(m, x, ir_el_const(m, INFINITY));
  return ir_el_where(m, ir_el_eq(m, x, ir_el_const(m, 0)), ir_el_const(m, -INFINITY),
                     ir_el_where(m, finite, y, x));
}

static ir_ref power_narrow(const ir_format *m, ir_ref x, ir_ref y) {
  ir_ref e, f, bits;
  ir_el_split(m, x, base, &e, &f);
  ir_ref t = ir_el_div(m, f, ir_el_add(m, f, ir_el_const(m, 2)));
  ir_ref l = ir_el_fma(
      m, t, ir_el_poly(m, ir_el_mul(m, t, t), log2_narrow, sizeof log2_narrow / sizeof *log2_narrow), e);
  ir_ref p = ir_el_clamp(m, ir_el_mul(m, y, with_limits(m, x, l)), -160, 160);
  ir_ref n = ir_el_round(m, p, 0, 1023, &bits);
  ir_ref q = ir_el_exp2_narrow(m, ir_el_sub(m, p, n));
  return ir_el_mul(m, q, ir_el_float(m, ir_el_shl(m, bits, m->fraction)));
}

static void pair_product(const ir_format *m, const ir_ref a[PAIR], const ir_ref b[PAIR], ir_ref out[PAIR]) {
  ir_ref rest;
  ir_el_two_product(m, a[0], b[0], &out[0], &rest);
  out[1] = ir_el_add(m, rest, ir_el_fma(m, a[0], b[1], ir_el_mul(m, a[1], b[0])));
}

/* t = f / (2 + f) as a pair: one division gives the upper part, the remainder the lower */
static void divide_pair(const ir_format *m, ir_ref f, ir_ref t[PAIR]) {
  ir_ref two = ir_el_const(m, 2), d = ir_el_add(m, two, f), left = ir_el_sub(m, f, ir_el_sub(m, d, two));
  ir_ref inverse = ir_el_div(m, ir_el_const(m, 1), d);
  t[0] = ir_el_mul(m, f, inverse);
  ir_ref minus = ir_el_neg(m, t[0]);
  t[1] = ir_el_mul(m, ir_el_fma(m, minus, left, ir_el_fma(m, minus, d, f)), inverse);
}

static void log2_pair(const ir_format *m, ir_ref x, ir_ref l[PAIR]) {
  ir_ref e, f, t[PAIR], square[PAIR], cube[PAIR], first[PAIR], third[PAIR], a, a_left, b, b_left;
  ir_el_split(m, x, base, &e, &f);
  divide_pair(m, f, t);
  pair_product(m, t, t, square);
  pair_product(m, t, square, cube);
  pair_product(m, t, (ir_ref[]){ir_el_const(m, K1[0]), ir_el_const(m, K1[1])}, first);
  pair_product(m, cube, (ir_ref[]){ir_el_const(m, K3[0]), ir_el_const(m, K3[1])}, third);
  ir_ref tail = ir_el_poly(m, square[0], log2_tail, sizeof log2_tail / sizeof *log2_tail);
  ir_el_fast_two_sum(m, e, first[0], &a, &a_left);
  ir_el_fast_two_sum(m, a, third[0], &b, &b_left);
  ir_ref rest = ir_el_fma(m, ir_el_mul(m, cube[0], square[0]), tail, ir_el_add(m, first[1], third[1]));
  ir_el_fast_two_sum(m, b, ir_el_add(m, ir_el_add(m, a_left, b_left), rest), &l[0], &l[1]);
}

/* 2^1100 overflows and 2^-1100 is 0. Beyond these the low part is irrelevant; it may be NaN there (inf -
 * inf). */
static ir_ref power_wide(const ir_format *m, ir_ref x, ir_ref y) {
  ir_ref l[PAIR], p, rest;
  log2_pair(m, x, l);
  ir_el_two_product(m, y, with_limits(m, x, l[0]), &p, &rest);
  ir_ref within = ir_el_lt(m, ir_el_abs(m, p), ir_el_const(m, 1100));
  rest = ir_el_where(m, within, ir_el_fma(m, y, l[1], rest), ir_el_const(m, 0));
  return ir_el_exp2_sum(m, ir_el_clamp(m, p, -1100, 1100), rest);
}

/* Signs and special cases, applied to |x|^y: x ** 0 = 1 and 1 ** y = 1 for every y; (-1) ** inf = 1; a
 * negative finite x to a y that is no integer is NaN; an odd integer y keeps the sign of x. */
static ir_ref apply_special_cases(const ir_format *m, ir_ref x, ir_ref size, ir_ref y, ir_ref power) {
  ir_ref zero = ir_el_const(m, 0), one = ir_el_const(m, 1), half = ir_el_mul(m, y, ir_el_const(m, 0.5));
  ir_ref whole = ir_el_eq(m, y, ir_unary(m->g, IR_OP_TRUNC, y));
  ir_ref odd = ir_el_and(m, whole, ir_binary(m->g, IR_OP_NE, half, ir_unary(m->g, IR_OP_TRUNC, half)));
  ir_ref sane = ir_el_where(m, ir_el_eq(m, size, one), one, power);
  ir_ref signed_power = ir_el_where(m, odd, ir_el_copy_sign(m, sane, x), sane);
  ir_ref negative = ir_el_and(m, ir_el_lt(m, x, zero), ir_el_lt(m, size, ir_el_const(m, INFINITY)));
  ir_ref valid = ir_el_or(m, whole, ir_unary(m->g, IR_OP_NOT, negative));
  ir_ref trivial = ir_el_or(m, ir_el_eq(m, y, zero), ir_el_eq(m, x, one));
  return ir_el_where(m, trivial, one, ir_el_where(m, valid, signed_power, ir_el_const(m, NAN)));
}

static ir_ref power_of_floats(const ir_format *m, ir_ref x, ir_ref y) {
  ir_format wide = ir_format_of(m->g, IR_F64);
  ir_ref a = ir_cast(m->g, x, IR_F64), b = ir_cast(m->g, y, IR_F64), size = ir_el_abs(&wide, a);
  ir_ref power = m->type == IR_F64 ? power_wide(&wide, size, b) : power_narrow(&wide, size, b);
  return ir_cast(m->g, apply_special_cases(&wide, a, size, b, power), m->type);
}

static ir_ref binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b) { return ir_binary(g, op, a, b); }

/* By repeated squaring, over the bits of y. */
static ir_ref power_of_integers(ir_graph *g, ir_ref x, ir_ref y) {
  ir_dtype type = ir_dtype_of(g, x);
  if (type == IR_BOOL) return binary(g, IR_OP_OR, x, ir_unary(g, IR_OP_NOT, y));
  bool is_signed = ir_dtypes[type].kind == IR_KIND_SIGNED;
  int bits = ir_dtypes[type].bytes * 8 - is_signed;
  ir_ref zero = ir_int(g, type, 0), one = ir_int(g, type, 1), result = one, power = x;
  for (int i = 0; i < bits; i++) {
    ir_ref bit = binary(g, IR_OP_AND, y, ir_int(g, type, (int64_t)((uint64_t)1 << i)));
    result = ir_where(g, binary(g, IR_OP_NE, bit, zero), binary(g, IR_OP_MUL, result, power), result);
    if (i + 1 < bits) power = binary(g, IR_OP_MUL, power, power);
  }
  if (!is_signed) return result;
  /* x ** -n for n > 0 is 1 / x ** n, truncated: 0 except for x = 1 and x = -1 */
  ir_ref minus = ir_int(g, type, -1), odd = binary(g, IR_OP_NE, binary(g, IR_OP_AND, y, one), zero);
  ir_ref sign = ir_where(g, odd, minus, one);
  ir_ref inverse =
      ir_where(g, binary(g, IR_OP_EQ, x, one), one, ir_where(g, binary(g, IR_OP_EQ, x, minus), sign, zero));
  return ir_where(g, binary(g, IR_OP_LT, y, zero), inverse, result);
}

ir_ref ir_el_pow(ir_graph *g, ir_ref x, ir_ref y) {
  ir_dtype type = ir_dtype_of(g, x);
  if (!ir_is_float(type)) return power_of_integers(g, x, y);
  ir_format m = ir_format_of(g, type == IR_F64 ? IR_F64 : IR_F32);
  return ir_cast(g, power_of_floats(&m, ir_cast(g, x, m.type), ir_cast(g, y, m.type)), type);
}
