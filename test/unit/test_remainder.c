/* floordiv and mod of floats: the evaluator's, and their expansion for compiled code, against long division
 * bit by bit, which relies on no library. */
#include "ir/elementary/elementary.h"
#include "ir/eval/eval.h"
#include "test/lib/bits.h"
#include "test/lib/operation.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 4096 };

/* Decomposes a = n 2^e, with n of 53 bits or fewer. */
static uint64_t decomposed(double a, int *e) {
  uint64_t bits = bits_of(a) & INT64_MAX, exponent = bits >> 52, fraction = bits & 0xfffffffffffff;
  *e = (int)(exponent ? exponent : 1) - 1075;
  return exponent ? fraction | (uint64_t)1 << 52 : fraction;
}

/* |a| modulo |b|, finite, b not 0, by long division: one zero bit is appended to the dividend in each step.
 * *quotient: the lowest bits of |a| // |b|; *lost: whether any were lost. */
static double size_modulo(double a, double b, uint64_t *quotient, bool *lost) {
  int ea, eb;
  uint64_t n = decomposed(a, &ea), m = decomposed(b, &eb);
  *quotient = 0, *lost = false;
  if (fabs(a) < fabs(b)) return fabs(a);
  while (ea < eb) n % 2 ? (m *= 2, eb--) : (n /= 2, ea++); /* m stays below 2^53 where |a| >= |b| */
  *quotient = n / m;
  for (n %= m; ea > eb; ea--) {
    *lost |= *quotient >> 63;
    *quotient = *quotient * 2 + (2 * n >= m);
    n = 2 * n >= m ? 2 * n - m : 2 * n;
  }
  return ldexp((double)n, eb);
}

/* The remainder, and its sum with b where signs differ, rounded to f64 or, for the narrower ones, to f32. */
static double exact_mod(double a, double b, bool wide) {
  uint64_t quotient;
  bool lost;
  if (isnan(a) || isnan(b) || isinf(a) || b == 0) return NAN;
  double r = isinf(b) ? fabs(a) : size_modulo(a, b, &quotient, &lost);
  if (r == 0) return copysign(0, b);
  r = copysign(r, a);
  if (signbit(r) == signbit(b)) return r;
  return wide ? r + b : (double)((float)r + (float)b);
}

/* The quotient where no rounding is needed: below 2^51 (f32: 2^22). NaN elsewhere, with *known false. */
static double exact_quotient(double a, double b, bool wide, bool *known) {
  uint64_t quotient = 0;
  bool lost = false;
  *known = true;
  if (isnan(a) || isnan(b) || (isinf(a) && b != 0)) return NAN;
  if (b == 0) return a / b;
  double r = isinf(b) ? fabs(a) : size_modulo(a, b, &quotient, &lost);
  *known = !lost && quotient < (uint64_t)1 << (wide ? 51 : 22);
  bool down = r != 0 && (signbit(a) != 0) != (signbit(b) != 0);
  if (!quotient && !down) return (signbit(a) != 0) != (signbit(b) != 0) ? -0.0 : 0.0;
  double q = (double)quotient;
  return (signbit(a) != 0) != (signbit(b) != 0) ? -q - down : q;
}

/* The element of dtype `type` with these bits, and back. */
static double element(ir_dtype type, uint64_t bits) {
  if (type == IR_F64) return double_of(bits);
  if (type == IR_F32) return (double)float_of((uint32_t)bits);
  return (double)(type == IR_F16 ? ir_half_to_float((uint16_t)bits) : ir_bfloat_to_float((uint16_t)bits));
}

static double rounded(ir_dtype type, double value) {
  if (type == IR_F64) return value;
  if (type == IR_F32) return (double)(float)value;
  return element(type, type == IR_F16 ? ir_half_from_double(value) : ir_bfloat_from_double(value));
}

static void put(ir_dtype type, void *array, size_t i, double value) {
  ir_value_store((unsigned char *)array + i * (size_t)ir_dtypes[type].bytes, type, (ir_value){.f = value});
}
static double get(ir_dtype type, const void *array, size_t i) {
  return ir_value_load((const unsigned char *)array + i * (size_t)ir_dtypes[type].bytes, type).f;
}

/* Dividend and divisor, of several kinds in turn: random bits, near exponents, a divisor and a number next to
 * a multiple of it, and all pairs of special values. */
static void draw(ir_dtype type, uint64_t *state, uint64_t number, double *a, double *b) {
  static const double special[] = {
      0,       1,       3,        0.1,       7,        1.5,       0x1p24,  0x1p53,  INFINITY,   NAN,  65504,
      0x1p-24, 0x1p-14, 0x1p-149, 0x1p-1074, 0x1p-126, 0x1p-1022, FLT_MAX, DBL_MAX, 0x1.fep127, 1e10, 1e20};
  enum { SPECIALS = sizeof special / sizeof *special };
  *a = element(type, random_next(state)), *b = element(type, random_next(state));
  uint64_t more = random_next(state);
  if (number < 4 * SPECIALS * SPECIALS) {
    *a = rounded(type, copysign(special[number / 4 % SPECIALS], number & 1 ? -1 : 1));
    *b = rounded(type, copysign(special[number / 4 / SPECIALS], number & 2 ? -1 : 1));
  } else if (number % 3 == 1) {
    *a = rounded(type, ldexp(*b * (1 + (double)(more >> 12) * 0x1p-52), (int)(more % 60)));
  } else if (number % 3 == 2) {
    *a = rounded(type, *b * (double)(more >> (more % 64)));
    double next = nextafter(*a, more & 1 ? INFINITY : -INFINITY);
    if (type == IR_F64 && more & 2) *a = next;
    if (type == IR_F32 && more & 2) *a = (double)nextafterf((float)*a, more & 1 ? INFINITY : -INFINITY);
  }
}

static bool same(double x, double y) { return (isnan(x) && isnan(y)) || bits_of(x) == bits_of(y); }

static void agree(ir_op op, ir_dtype type, int iterations) {
  static double x[BLOCK], y[BLOCK], out[2][BLOCK]; /* large enough for the widest type */
  uint64_t state = 7, checked = 0;
  operation *machines[2];
  bool wide = type == IR_F64;
  for (int d = 0; d < 2; d++) machines[d] = operation_start(op, type, BLOCK, d);
  for (int iteration = 0; iteration < iterations; iteration++) {
    for (size_t i = 0; i < BLOCK; i++) {
      double a, b;
      draw(type, &state, (uint64_t)iteration * BLOCK + i, &a, &b);
      put(type, x, i, a), put(type, y, i, b);
    }
    for (int d = 0; d < 2; d++) operation_run(machines[d], x, y, out[d]);
    for (size_t i = 0; i < BLOCK; i++) {
      double a = get(type, x, i), b = get(type, y, i);
      bool known = true;
      double want = op == IR_OP_MOD ? exact_mod(a, b, wide) : exact_quotient(a, b, wide, &known);
      double by_node = get(type, out[0], i), defined = get(type, out[1], i);
      checked += known;
      if (known && !same(by_node, rounded(type, want)))
        fail_msg("%s of %s: %a, %a gives %a, not %a", ir_ops[op].text, ir_dtypes[type].name, a, b, by_node,
                 rounded(type, want));
      if (!same(by_node, defined))
        fail_msg("%s of %s: %a, %a gives %a, and by its definition %a", ir_ops[op].text, ir_dtypes[type].name,
                 a, b, by_node, defined);
    }
  }
  assert_true(checked > (uint64_t)iterations * BLOCK / 3);
}

static const ir_dtype types[] = {IR_F16, IR_BF16, IR_F32, IR_F64};
static int iterations = 8;

static void remainders_are_exact(void **s) {
  for (int t = 0; t < 4; t++) agree(IR_OP_MOD, types[t], iterations);
}

static void quotients_are_exact_while_they_have_digits(void **s) {
  for (int t = 0; t < 4; t++) agree(IR_OP_FLOORDIV, types[t], iterations);
}

/* test_remainder [BLOCKS]: the number of blocks of BLOCK pairs for each operation and dtype */
int main(int argc, char **argv) {
  if (argc > 1) iterations = atoi(argv[1]);
  return UNIT_RUN(NULL, NULL, remainders_are_exact, quotients_are_exact_while_they_have_digits);
}
