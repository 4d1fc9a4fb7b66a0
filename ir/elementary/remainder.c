/* floordiv and mod of floats.
 *
 * With the sign of b moved to a, x = a * sign(b) and y = |b|: mod(a, b) = sign(b) * mod(x, y), and
 * floordiv(a, b) = floordiv(x, y).
 *
 * The common case: q = floor(x / y), r = fma(-q, y, x), and the remainder is r, or r + y if r is negative. If
 * this remainder as a float is in [0, y), then so it is before rounding, since no multiple of the least float
 * rounds to 0 and y is a float. So r >= 0 proves that q is the floor of the exact quotient and that r is its
 * remainder, rounded once. r < 0 shows that q is one too large, as when a quotient is rounded up to an
 * integer. Then |x| >= y or q = 0, so that r, which is at least -y, is a multiple of the last place of x or
 * of y and therefore exact, and r + y is the remainder, rounded once. Up to |x / y| = 2^24 (f64: 2^53) one of
 * these two holds, except for remainders that round up to y. All else is rare: the quotient is infinite or
 * has more digits than a float, y is infinite, or an operand is NaN. */
#include "impl.h"

typedef struct division {
  ir_ref x, y, sign;       /* sign: the sign bit of b */
  ir_ref quotient;         /* x / y, rounded */
  ir_ref floor, remainder; /* q and r */
} division;

static ir_ref negative(const ir_format *m, ir_ref a) { return ir_el_lt(m, a, ir_el_const(m, 0)); }

static ir_ref flipped(const ir_format *m, ir_ref a, ir_ref sign) {
  return ir_el_float(m, ir_el_xor(m, ir_el_bits(m, a), sign));
}

static division divide(const ir_format *m, ir_ref a, ir_ref b) {
  division d;
  d.sign = ir_el_and(m, ir_el_bits(m, b), ir_el_sign_bit(m));
  d.x = flipped(m, a, d.sign);
  d.y = ir_el_abs(m, b);
  d.quotient = ir_el_div(m, d.x, d.y);
  d.floor = ir_unary(m->g, IR_OP_FLOOR, d.quotient);
  d.remainder = ir_el_fma(m, ir_el_neg(m, d.floor), d.y, d.x);
  return d;
}

/* a minus the multiple of b that is nearest to it, or nearly so; `fused` if the product may not be exact. */
static ir_ref nearest_remainder(const ir_format *m, ir_ref a, ir_ref b, bool fused) {
  ir_ref n = ir_unary(m->g, IR_OP_ROUND, ir_el_div(m, a, b));
  return fused ? ir_el_fma(m, ir_el_neg(m, n), b, a) : ir_el_sub(m, a, ir_el_mul(m, n, b));
}

/* For two f32 in f64, |x / y| < 2^277: subtracts multiples of y 2^252, y 2^224, ... y. No quotient exceeds
 * 2^28, so its product with the 24 digits of y is exact. What remains is a multiple of the last place of x or
 * of y 2^k and at most 0.51 y 2^k (or x itself), which an f32 could hold. */
static ir_ref residue_narrow(const ir_format *m, ir_ref x, ir_ref y) {
  for (int k = 252; k >= 0; k -= 28)
    x = nearest_remainder(m, x, ir_el_mul(m, y, ir_el_const(m, ldexp(1, k))), false);
  return x;
}

/* A positive finite f64 as an integer n of 53 digits, in a float, times 2^(e - 1075): e is the biased
 * exponent, less than 1 for a subnormal number. */
typedef struct scaled_integer {
  ir_ref n, e;
  ir_ref scaled; /* the number times `scale`, which makes it normal */
  ir_ref scale;  /* 1 or 2^52 */
} scaled_integer;

static const int64_t exponent_bits = 0x7ff0000000000000, fraction_bits = 0xfffffffffffff;

static scaled_integer split_float(const ir_format *m, ir_ref v) {
  ir_ref low = ir_el_lt(m, v, ir_el_const(m, m->lowest));
  scaled_integer s = {.scale = ir_el_where(m, low, ir_el_const(m, 0x1p52), ir_el_const(m, 1))};
  s.scaled = ir_el_mul(m, v, s.scale);
  ir_ref bits = ir_el_bits(m, s.scaled), fraction = ir_el_and(m, bits, ir_el_int(m, fraction_bits));
  s.n = ir_el_float(m, ir_el_or(m, fraction, ir_el_int(m, INT64_C(1075) << 52)));
  ir_ref down = ir_el_where(m, low, ir_el_int(m, 52), ir_el_int(m, 0));
  s.e = ir_binary(m->g, IR_OP_SUB, ir_el_shr(m, bits, 52), down);
  return s;
}

/* 2^k, 0 <= k <= 1023 */
static ir_ref power_of_two(const ir_format *m, ir_ref k) {
  return ir_el_float(m, ir_el_shl(m, ir_binary(m->g, IR_OP_ADD, k, ir_el_int(m, 1023)), 52));
}

/* a b c modulo n, within 0.51 n of 0; integers |a| < 2^53, |b| < 0.51 n, c = 2^k <= 2^31, 2^52 <= n < 2^53.
 * Let a b = p + e and let q be the integer next to p / n. p / n < 0.51 * 2^53 is rounded by 1/2 where it is
 * 2^52 or more (and an integer then), else by 1/4 at most, so |p - q n| <= n/2 or 3/4 n; e is at most 2^52 or
 * 2^51. So p - q n is exact, and so is its sum with e, an integer of at most 2^53. */
static ir_ref product_modulo(const ir_format *m, ir_ref a, ir_ref b, ir_ref c, ir_ref n) {
  ir_ref p, e;
  ir_el_two_product(m, a, b, &p, &e);
  ir_ref sum = ir_el_add(m, nearest_remainder(m, p, n, true), e);
  return nearest_remainder(m, c ? ir_el_mul(m, sum, c) : sum, n, true);
}

/* For two f64 with x >= y > 0: x = X 2^k unit and y = Y unit with integers X and Y of 53 digits, k < 2^12.
 * 2^k is 2^(k // 32), squared five times, times 2^(k % 32), all modulo Y. */
static ir_ref residue_wide(const ir_format *m, ir_ref x, ir_ref y) {
  enum { SQUARINGS = 5 };
  scaled_integer a = split_float(m, x), b = split_float(m, y);
  ir_ref k = ir_binary(m->g, IR_OP_SUB, a.e, b.e);
  ir_ref last = power_of_two(m, ir_el_and(m, k, ir_el_int(m, (1 << SQUARINGS) - 1)));
  ir_ref power = nearest_remainder(m, power_of_two(m, ir_el_shr(m, k, SQUARINGS)), b.n, true);
  for (int i = 1; i <= SQUARINGS; i++)
    power = product_modulo(m, power, power, i == SQUARINGS ? last : 0, b.n);
  ir_ref rest = product_modulo(m, a.n, power, 0, b.n);
  ir_ref unit = ir_el_float(m, ir_el_and(m, ir_el_bits(m, b.scaled), ir_el_int(m, exponent_bits)));
  rest = ir_el_mul(m, ir_el_mul(m, rest, ir_el_const(m, 0x1p-52)), unit); /* exact; y was scaled, too */
  return ir_el_div(m, rest, b.scale);
}

/* A number between -y and y that differs from x by a multiple of y, exact and never -0. NaN where
 * d->remainder is NaN: there is no such number, or y is infinite. */
static ir_ref residue(const ir_format *m, const division *d) {
  ir_ref far;
  if (m->type == IR_F64) {
    ir_ref sign = ir_el_and(m, ir_el_bits(m, d->x), ir_el_sign_bit(m));
    far = flipped(m, residue_wide(m, ir_el_abs(m, d->x), d->y), sign);
  } else {
    ir_format wide = ir_format_of(m->g, IR_F64);
    far = residue_narrow(&wide, ir_cast(m->g, d->x, IR_F64), ir_cast(m->g, d->y, IR_F64));
    far = ir_cast(m->g, far, m->type);
  }
  far = ir_el_where(m, ir_el_eq(m, d->remainder, d->remainder), far, d->remainder);
  return ir_el_add(m, ir_el_where(m, ir_el_lt(m, ir_el_abs(m, d->x), d->y), d->x, far), ir_el_const(m, 0));
}

/* Compares bits as integers: floats without a sign bit are in order, those with one come after all of them,
 * with NaNs in between. */
ir_ref ir_el_mod(const ir_format *m, ir_ref a, ir_ref b) {
  division d = divide(m, a, b);
  ir_ref far = residue(m, &d), limit = ir_el_bits(m, d.y);
  far = ir_el_where(m, negative(m, far), ir_el_add(m, far, d.y), far);
  ir_ref near =
      ir_binary(m->g, IR_OP_MIN, ir_el_bits(m, d.remainder), ir_el_bits(m, ir_el_add(m, d.remainder, d.y)));
  ir_ref is_far = ir_binary(m->g, IR_OP_GE, near, limit);
  return ir_el_float(m, ir_el_or(m, ir_el_rare(m, is_far, ir_el_bits(m, far), near), d.sign));
}

/* (|x| - t) / y with the sign of x, where t is the remainder that has that sign; each step is rounded. This
 * is NumPy's sequence of operations, which defines quotients that have more digits than a float. As q is an
 * integer except for rounding errors, it is rounded to the nearest one. */
static ir_ref quotient_far(const ir_format *m, const division *d) {
  ir_ref sign = ir_el_and(m, ir_el_bits(m, d->x), ir_el_sign_bit(m)), one = ir_el_const(m, 1);
  ir_ref t = flipped(m, residue(m, d), sign);
  t = ir_el_where(m, negative(m, t), ir_el_add(m, t, d->y), t);
  ir_ref q = ir_el_div(m, ir_el_sub(m, ir_el_abs(m, d->x), t), d->y);
  q = ir_el_float(m, ir_el_or(m, ir_el_bits(m, q), sign));
  ir_ref down = ir_el_and(m, negative(m, d->x), ir_binary(m->g, IR_OP_NE, t, ir_el_const(m, 0)));
  q = ir_el_where(m, down, ir_el_sub(m, q, one), q);
  ir_ref floor = ir_unary(m->g, IR_OP_FLOOR, q);
  ir_ref up = ir_el_lt(m, ir_el_const(m, 0.5), ir_el_sub(m, q, floor));
  ir_ref zero = ir_el_eq(m, d->y, ir_el_const(m, 0));
  return ir_el_where(m, zero, d->quotient, ir_el_where(m, up, ir_el_add(m, floor, one), floor));
}

/* Is |a| >= size, or a NaN? Comparing bits as integers takes one operation. */
static ir_ref is_great(const ir_format *m, ir_ref a, double size) {
  ir_ref bits = ir_el_and(m, ir_el_bits(m, a), ir_unary(m->g, IR_OP_NOT, ir_el_sign_bit(m)));
  return ir_binary(m->g, IR_OP_GE, bits, ir_el_bits(m, ir_el_const(m, size)));
}

/* Up to 2^22 (f64: 2^51) NumPy's quotient is the exact one. */
ir_ref ir_el_floordiv(const ir_format *m, ir_ref a, ir_ref b) {
  division d = divide(m, a, b);
  ir_ref q = ir_el_where(m, negative(m, d.remainder), ir_el_sub(m, d.floor, ir_el_const(m, 1)), d.floor);
  ir_ref great = is_great(m, d.floor, ldexp(1, m->fraction - 1)), endless = is_great(m, b, INFINITY);
  return ir_el_rare(m, ir_el_or(m, great, endless), quotient_far(m, &d), q);
}
