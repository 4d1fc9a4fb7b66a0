/* Elementary functions: the error of their one definition, in units in the last place, against the C library
 * in a wider format (f32 against double, f64 against 80-bit long double), special values, and the shape of
 * the expansions.
 *
 *   test_elementary                 seeded samples
 *   test_elementary soak [OP [N]]   every f32 (or every N-th) through each function of one operand, or
 *                                   through OP alone */
#include "ir/elementary/elementary.h"
#include "ir/eval/eval.h"
#include "test/lib/bits.h"
#include "test/lib/memory.h"
#include "test/lib/operation.h"
#include "test/lib/random_graph.h"
#include "test/lib/unit.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 4096, ITERATIONS = 24 };

typedef struct function {
  ir_op op;
  long double (*exact)(long double);
  double (*exact_double)(double);
  double bound32, bound64;
  double lo, hi; /* the interesting interval: half the samples */
  double reach;  /* |x| beyond which f64 gives NaN */
} function;

static long double sigmoid_l(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static long double rsqrt_l(long double x) { return 1 / sqrtl(x); }
static double sigmoid_d(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double rsqrt_d(double x) { return 1 / sqrt(x); }

/* Halley's iteration on the library's erf, or erfc where erf is near 1, from an approximation (S. Winitzki,
 * 2008) that is right to 2^-8 */
static long double erfinv_l(long double x) {
  if (x == 0) return x;
  if (!(fabsl(x) < 1)) return fabsl(x) == 1 ? x * INFINITY : NAN;
  long double size = fabsl(x), half = 2 / (3.14159265358979323846L * 0.147L) + log1pl(-size * size) / 2;
  long double y = sqrtl(sqrtl(half * half - log1pl(-size * size) / 0.147L) - half);
  for (int i = 0; i < 5; i++) {
    long double off = size < 0.5L ? erfl(y) - size : 1 - size - erfcl(y);
    long double e = off * expl(y * y) * 0.886226925452758013649L;
    y -= e / (1 + y * e);
  }
  return x < 0 ? -y : y;
}
static double erfinv_d(double x) { return (double)erfinv_l(x); }

static const function functions[] = {
    {IR_OP_EXP, expl, exp, 1, 1, -104, 89, INFINITY},
    {IR_OP_EXP2, exp2l, exp2, 1, 1, -150, 128, INFINITY},
    {IR_OP_LOG, logl, log, 1, 1, 0, 4, INFINITY},
    {IR_OP_LOG2, log2l, log2, 1.5, 1, 0, 4, INFINITY},
    {IR_OP_SIN, sinl, sin, 2, 2, -30, 30, 0x1p50},
    {IR_OP_COS, cosl, cos, 1.5, 2, -30, 30, 0x1p50},
    {IR_OP_TANH, tanhl, tanh, 2, 2, -3, 3, INFINITY},
    {IR_OP_ERF, erfl, erf, 2, 2, -3, 3, INFINITY},
    {IR_OP_SIGMOID, sigmoid_l, sigmoid_d, 2, 2, -20, 20, INFINITY},
    {IR_OP_EXPM1, expm1l, expm1, 1.5, 1.5, -2, 89, INFINITY},
    {IR_OP_LOG1P, log1pl, log1p, 1.5, 1.5, -1, 2, INFINITY},
    {IR_OP_ERFINV, erfinv_l, erfinv_d, 2.5, 2.5, -1, 1, INFINITY},
    {IR_OP_TAN, tanl, tan, 1, 4, -30, 30, 0x1p50},
    {IR_OP_ASIN, asinl, asin, 2.5, 2.5, -1, 1, INFINITY},
    {IR_OP_ACOS, acosl, acos, 2, 2, -1, 1, INFINITY},
    {IR_OP_ATAN, atanl, atan, 2, 2, -4, 4, INFINITY},
    {IR_OP_SINH, sinhl, sinh, 2.5, 2.5, -90, 90, INFINITY},
    {IR_OP_COSH, coshl, cosh, 2.5, 2.5, -90, 90, INFINITY},
    {IR_OP_ASINH, asinhl, asinh, 2.5, 2.5, -4, 4, INFINITY},
    {IR_OP_ACOSH, acoshl, acosh, 2.5, 2.5, 0, 9, INFINITY},
    {IR_OP_ATANH, atanhl, atanh, 2.5, 2.5, -1, 1, INFINITY},
    {IR_OP_RSQRT, rsqrt_l, rsqrt_d, 1.5, 1.5, 0, 4, INFINITY},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double unit(uint64_t *state) { return (double)(random_next(state) >> 11) * 0x1p-53; }

/* |got - exact| in units of the last place that a result of this size has; 0 for the right NaN or infinity */
static double error_in_ulp(double got, long double exact, ir_dtype type) {
  bool wide = type == IR_F64;
  long double nearest = wide ? (double)exact : (float)exact;
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (isinf(nearest) || isinf(got)) {
    double top = wide ? DBL_MAX : FLT_MAX; /* the step below overflow counts as an ulp, too */
    return got == nearest                                                                   ? 0
           : isinf(got) == isinf(nearest) || fabs(isinf(got) ? (double)nearest : got) < top ? INFINITY
                                                                                            : 1;
  }
  int exponent, least = wide ? -1074 : -149, digits = wide ? 53 : 24;
  frexpl(exact, &exponent);
  int unit_exponent = exponent - digits > least ? exponent - digits : least;
  return (double)fabsl(ldexpl(got - exact, -unit_exponent));
}

static double special(size_t i, ir_dtype type) {
  static const double values[] = {0.0,    -0.0,  INFINITY, -INFINITY, NAN,    1,    -1,    0.5,
                                  -0.5,   2,     -2,       3,         -3,     10,   -10,   100,
                                  -100,   88.72, -87.4,    -103.97,   88.8,   -104, 709.7, -745.1,
                                  -745.2, 709.8, 1e-10,    -1e-10,    1e-300, 1e-5, 1e6,   1e10,
                                  3e38,   1e15,  1024,     -1075,     128,    -149, -150,  0.70710678118};
  static const uint32_t bits32[] = {1,          0x80000001, 0x7fffff,   0x807fffff, 0x800000,
                                    0x7f7fffff, 0xff7fffff, 0x3f7fffff, 0x3f800001};
  static const uint64_t bits64[] = {1,
                                    0x8000000000000001,
                                    0xfffffffffffff,
                                    0x10000000000000,
                                    0x7fefffffffffffff,
                                    0xffefffffffffffff,
                                    0x3fefffffffffffff,
                                    0x3ff0000000000001,
                                    0x8010000000000000};
  size_t plain = sizeof values / sizeof *values;
  i %= plain + 9;
  if (i < plain) return values[i];
  return type == IR_F64 ? double_of(bits64[i - plain]) : float_of(bits32[i - plain]);
}

static double sample(uint64_t *state, size_t i, ir_dtype type, double lo, double hi) {
  double value = i < 64           ? special(i, type)
                 : i % 2          ? lo + (hi - lo) * unit(state)
                 : type == IR_F64 ? double_of(random_next(state))
                                  : float_of((uint32_t)random_next(state));
  return type == IR_F64 ? value : (float)value;
}

static double measure(const function *f, ir_dtype type, double *worst_at) {
  operation m;
  uint64_t state = 20240607u + (uint64_t)f->op;
  double worst = 0;
  static double x[BLOCK], y[BLOCK];
  static float x32[BLOCK], y32[BLOCK];
  operation_start(&m, f->op, type, BLOCK, false);
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    double scale = type == IR_F64 && (f->op == IR_OP_EXP || f->op == IR_OP_EXP2) ? 8 : 1;
    for (size_t i = 0; i < BLOCK; i++)
      x32[i] = (float)(x[i] = sample(&state, i, type, f->lo * scale, f->hi * scale));
    operation_run(&m, type == IR_F64 ? (void *)x : x32, type == IR_F64 ? (void *)x : x32,
                  type == IR_F64 ? (void *)y : y32);
    for (size_t i = 0; i < BLOCK; i++) {
      double got = type == IR_F64 ? y[i] : y32[i];
      if (type == IR_F64 && fabs(x[i]) > f->reach) assert_true(isnan(got));
      if (type == IR_F64 && fabs(x[i]) > f->reach) continue;
      double e =
          error_in_ulp(got, type == IR_F64 ? f->exact(x[i]) : (long double)f->exact_double(x[i]), type);
      if (e > worst) worst = e, *worst_at = x[i];
    }
  }
  ir_graph_free(&m.g);
  return worst;
}

static void check_bound(ir_dtype type) {
  bool failed = false;
  for (size_t i = 0; i < FUNCTIONS; i++) {
    double at = 0, worst = measure(&functions[i], type, &at),
           bound = type == IR_F64 ? functions[i].bound64 : functions[i].bound32;
    print_message("%s %s: at most %.3f ulp, at %.17g (stated bound %g)\n", ir_ops[functions[i].op].text,
                  ir_dtypes[type].name, worst, at, bound);
    failed |= !(worst <= bound);
  }
  assert_false(failed);
}

static void f32_is_within_its_bounds(void **s) { (void)s, check_bound(IR_F32); }
static void f64_is_within_its_bounds(void **s) {
#if LDBL_MANT_DIG >= 64
  check_bound(IR_F64);
#else
  skip(); /* long double is no wider than double here */
#endif
}

static void check_pow(ir_dtype type, double bound) {
  operation m;
  uint64_t state = 7;
  double worst = 0, at[2] = {0};
  static double x[BLOCK], y[BLOCK], z[BLOCK];
  static float x32[BLOCK], y32[BLOCK], z32[BLOCK];
  operation_start(&m, IR_OP_POW, type, BLOCK, false);
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    for (size_t i = 0; i < BLOCK; i++) {
      if (iteration == 0) x[i] = special(i % 49, type), y[i] = special(i / 49, type);
      else if (i % 4 == 0)
        x[i] = 0.5 + unit(&state), y[i] = (unit(&state) - 0.5) * (type == IR_F64 ? 2048 : 256);
      else if (i % 4 == 1) x[i] = exp(700 * (unit(&state) - 0.5)), y[i] = (unit(&state) - 0.5) * 4;
      else if (i % 4 == 2) x[i] = (unit(&state) - 0.5) * 20, y[i] = floor(unit(&state) * 100 - 50);
      else x[i] = 1 + (unit(&state) - 0.5) * 1e-4, y[i] = (unit(&state) - 0.5) * 1e7;
      if (type == IR_F32) x[i] = (float)x[i], y[i] = (float)y[i];
      x32[i] = (float)x[i], y32[i] = (float)y[i];
    }
    operation_run(&m, type == IR_F64 ? (void *)x : x32, type == IR_F64 ? (void *)y : y32,
                  type == IR_F64 ? (void *)z : z32);
    for (size_t i = 0; i < BLOCK; i++) {
      double got = type == IR_F64 ? z[i] : z32[i];
      long double exact = type == IR_F64 ? powl(x[i], y[i]) : (long double)pow(x[i], y[i]);
      double e = error_in_ulp(got, exact, type);
      if (got == 0 && exact == 0 && !signbit(got) != !signbit(exact)) e = INFINITY;
      if (e > worst) worst = e, at[0] = x[i], at[1] = y[i];
    }
  }
  ir_graph_free(&m.g);
  print_message("pow %s: at most %.3f ulp, at %.17g, %.17g (stated bound %g)\n", ir_dtypes[type].name, worst,
                at[0], at[1], bound);
  assert_true(worst <= bound);
}

static void pow_is_within_its_bounds(void **s) {
  check_pow(IR_F32, 1);
#if LDBL_MANT_DIG >= 64
  check_pow(IR_F64, 1.5);
#endif
}

/* One f32 value through one function */
static float one(ir_op op, float x, float y) {
  operation m;
  float out;
  operation_start(&m, op, IR_F32, 1, false);
  operation_run(&m, &x, &y, &out);
  ir_graph_free(&m.g);
  return out;
}

static void exact_values(void **s) {
  assert_true(one(IR_OP_EXP, 0, 0) == 1 && one(IR_OP_EXP, -INFINITY, 0) == 0 &&
              one(IR_OP_EXP, INFINITY, 0) == INFINITY);
  for (int n = -149; n < 128; n++) assert_true(one(IR_OP_EXP2, (float)n, 0) == ldexpf(1, n));
  for (int n = -149; n < 128; n++) assert_true(one(IR_OP_LOG2, ldexpf(1, n), 0) == (float)n);
  assert_true(one(IR_OP_LOG, 0.0f, 0) == -INFINITY && one(IR_OP_LOG, -0.0f, 0) == -INFINITY);
  assert_true(isnan(one(IR_OP_LOG, -1, 0)) && one(IR_OP_LOG, 1, 0) == 0 &&
              one(IR_OP_LOG, INFINITY, 0) == INFINITY);
  assert_true(one(IR_OP_COS, 0, 0) == 1 && isnan(one(IR_OP_SIN, INFINITY, 0)) &&
              isnan(one(IR_OP_COS, -INFINITY, 0)));
  assert_true(one(IR_OP_TANH, INFINITY, 0) == 1 && one(IR_OP_TANH, -INFINITY, 0) == -1 &&
              one(IR_OP_TANH, -40, 0) == -1);
  assert_true(one(IR_OP_ERF, INFINITY, 0) == 1 && one(IR_OP_ERF, -INFINITY, 0) == -1);
  assert_true(one(IR_OP_SIGMOID, 0, 0) == 0.5f && one(IR_OP_SIGMOID, -INFINITY, 0) == 0 &&
              one(IR_OP_SIGMOID, INFINITY, 0) == 1);
  assert_true(one(IR_OP_RSQRT, 0.25f, 0) == 2 && one(IR_OP_RSQRT, 0, 0) == INFINITY &&
              one(IR_OP_RSQRT, INFINITY, 0) == 0);
  assert_true(one(IR_OP_EXPM1, -INFINITY, 0) == -1 && one(IR_OP_EXPM1, INFINITY, 0) == INFINITY &&
              one(IR_OP_EXPM1, 0x1p-149f, 0) == 0x1p-149f && one(IR_OP_EXPM1, -200, 0) == -1);
  assert_true(one(IR_OP_LOG1P, -1, 0) == -INFINITY && one(IR_OP_LOG1P, INFINITY, 0) == INFINITY &&
              one(IR_OP_LOG1P, -0x1p-149f, 0) == -0x1p-149f && isnan(one(IR_OP_LOG1P, -1.5f, 0)));
  assert_true(one(IR_OP_ERFINV, 1, 0) == INFINITY && one(IR_OP_ERFINV, -1, 0) == -INFINITY);
  assert_true(isnan(one(IR_OP_ERFINV, 1.0000001f, 0)) && isnan(one(IR_OP_ERFINV, -INFINITY, 0)));
  static const ir_op odd[] = {IR_OP_SIN, IR_OP_TANH, IR_OP_ERF,  IR_OP_ERFINV, IR_OP_EXPM1, IR_OP_LOG1P,
                              IR_OP_TAN, IR_OP_ASIN, IR_OP_ATAN, IR_OP_SINH,   IR_OP_ASINH, IR_OP_ATANH};
  for (int i = 0; i < 12; i++) {
    assert_true(signbit(one(odd[i], -0.0f, 0)) && !signbit(one(odd[i], 0.0f, 0)));
    bool symmetric = odd[i] != IR_OP_EXPM1 && odd[i] != IR_OP_LOG1P;
    if (symmetric) assert_true(one(odd[i], -0.7f, 0) == -one(odd[i], 0.7f, 0));
  }
}

/* Values to 40 digits by mpmath, and arguments 1 - gap for gaps of every binary magnitude, so that every
 * polynomial is used. */
static void erfinv_of_known_values(void **s) {
  static const double known[][2] = {{0x1.999999999999ap-4, 0x1.6bf442539fd74p-4},
                                    {-0.5, -0x1.e861fbb24c00ap-2},
                                    {0x1.ccccccccccccdp-1, 0x1.29c0146770651p+0},
                                    {0x1.fae147ae147aep-1, 0x1.d2466082bb20ep+0},
                                    {0x1.fep-1, 0x1.052d8817e4ea8p+1},
                                    {0x1.ffffde7210be9p-1, 0x1.babd964830d58p+1},
                                    {-0x1.fffffep-1, -0x1.ea8f95ae0aca8p+1},
                                    {0x1.fffffffffffffp-1, 0x1.7744f8f74e94ap+2},
                                    {0x1.56e1fc2f8f359p-997, 0x1.2fdf36bf69b9fp-997},
                                    {0x1.af767a741088bp-1, 1}};
  static double x[BLOCK], y[BLOCK];
  static float x32[BLOCK], y32[BLOCK];
  size_t count = sizeof known / sizeof *known;
  uint64_t state = 5;
  for (size_t i = 0; i < BLOCK; i++) {
    double gap = ldexp(1 + unit(&state), -1 - (int)(i % 53)),
           gap32 = ldexp(1 + unit(&state), -1 - (int)(i % 24));
    x[i] = i < count ? known[i][0] : 1 - gap;
    x32[i] = (float)(i < count ? known[i][0] : 1 - gap32);
  }
  operation m, m32;
  operation_start(&m, IR_OP_ERFINV, IR_F64, BLOCK, false);
  operation_start(&m32, IR_OP_ERFINV, IR_F32, BLOCK, false);
  operation_run(&m, x, x, y);
  operation_run(&m32, x32, x32, y32);
  for (size_t i = 0; i < BLOCK; i++) {
    if (i < count && error_in_ulp(y[i], known[i][1], IR_F64) > 3) fail_msg("erfinv(%a) = %a", x[i], y[i]);
    double e = error_in_ulp(y[i], erfinv_l(x[i]), IR_F64),
           e32 = error_in_ulp(y32[i], erfinv_l(x32[i]), IR_F32);
    if (!(e <= 2.5)) fail_msg("f64 argument %a is off by %g ulp", x[i], e);
    if (!(e32 <= 2.5)) fail_msg("f32 argument %a is off by %g ulp", x32[i], e32);
  }
  ir_graph_free(&m.g);
  ir_graph_free(&m32.g);
}

static void relu_of_zeros_and_nan(void **s) {
  assert_true(one(IR_OP_RELU, 2.5f, 0) == 2.5f && one(IR_OP_RELU, -2.5f, 0) == 0 &&
              one(IR_OP_RELU, -INFINITY, 0) == 0);
  assert_false(signbit(one(IR_OP_RELU, -0.0f, 0)));
  assert_true(isnan(one(IR_OP_RELU, NAN, 0)));
}

static void pow_special_cases(void **s) {
  assert_true(one(IR_OP_POW, NAN, 0) == 1 && one(IR_OP_POW, 1, NAN) == 1 &&
              one(IR_OP_POW, -1, INFINITY) == 1);
  assert_true(isnan(one(IR_OP_POW, -8, 1.0f / 3)) && isnan(one(IR_OP_POW, -1, NAN)) &&
              isnan(one(IR_OP_POW, NAN, 2)));
  assert_true(one(IR_OP_POW, -2, 3) == -8 && one(IR_OP_POW, -2, -1) == -0.5f && one(IR_OP_POW, 3, 4) == 81);
  assert_true(one(IR_OP_POW, -0.0f, -3) == -INFINITY && one(IR_OP_POW, -0.0f, -2) == INFINITY);
  assert_true(one(IR_OP_POW, -INFINITY, 0.5f) == INFINITY && one(IR_OP_POW, -INFINITY, 3) == -INFINITY);
  assert_true(one(IR_OP_POW, 0, 1e-3f) == 0 && one(IR_OP_POW, 0.5f, -INFINITY) == INFINITY &&
              one(IR_OP_POW, 2, 127.5f) > 2e38f);
}

/* The floats nearest to multiples of pi/2, where the reduction cancels most; and large f32, up to the
 * greatest. The library's own result in f64 may be off by one. */
static void sine_near_its_zeros(void **s) {
  static double x[BLOCK], y[BLOCK];
  static float x32[BLOCK], y32[BLOCK];
  uint64_t state = 99;
  for (int cosine = 0; cosine < 2; cosine++) {
    operation m, m32;
    operation_start(&m, cosine ? IR_OP_COS : IR_OP_SIN, IR_F64, BLOCK, false);
    operation_start(&m32, cosine ? IR_OP_COS : IR_OP_SIN, IR_F32, BLOCK, false);
    for (size_t i = 0; i < BLOCK; i++) {
      x[i] = floor(unit(&state) * ldexp(1, (int)(i % 49))) * 1.57079632679489661923;
      x32[i] = i % 2 ? (float)x[i] : ldexpf(1 + (float)unit(&state), (int)(unit(&state) * 128));
    }
    x32[0] = 0x1.f37c8ap+95f, x32[1] = 0x1.47d0fep+34f; /* within 2^-29 turns of a multiple of pi/2 */
    x32[2] = FLT_MAX;
    operation_run(&m, x, x, y);
    operation_run(&m32, x32, x32, y32);
    for (size_t i = 0; i < BLOCK; i++) {
      double e32 = error_in_ulp(y32[i], cosine ? cos(x32[i]) : sin(x32[i]), IR_F32);
      double e64 = error_in_ulp(y[i], cosine ? cos(x[i]) : sin(x[i]), IR_F64);
      if (!(e32 <= (cosine ? 1.5 : 2))) fail_msg("f32 argument %a is off by %g ulp", x32[i], e32);
      if (!(e64 <= 3)) fail_msg("f64 argument %a is off by %g ulp", x[i], e64);
    }
    ir_graph_free(&m.g);
    ir_graph_free(&m32.g);
  }
}

/* The floats around every odd multiple of pi/2 that is reduced in f32: the results must be in the domain of
 * asin. */
static void sine_never_exceeds_one(void **s) {
  static float x[BLOCK], y[BLOCK];
  operation m;
  operation_start(&m, IR_OP_SIN, IR_F32, BLOCK, false);
  for (int64_t n = 0; n < 250500; n += BLOCK) {
    for (size_t i = 0; i < BLOCK; i++) {
      int64_t turn = (n + (int64_t)i) / 3;
      float peak = (float)(((double)turn + 0.5) * 3.14159265358979323846);
      int side = (int)((n + (int64_t)i) % 3) - 1;
      x[i] = side ? nextafterf(peak, side > 0 ? INFINITY : 0) : peak;
    }
    operation_run(&m, x, x, y);
    for (size_t i = 0; i < BLOCK; i++)
      if (!(fabsf(y[i]) <= 1)) fail_msg("sin(%a) is %a", x[i], y[i]);
  }
  ir_graph_free(&m.g);
}

static int64_t int_pow(ir_dtype type, int64_t x, int64_t y) {
  operation m;
  int64_t out = 0;
  operation_start(&m, IR_OP_POW, type, 1, false);
  operation_run(&m, &x, &y, &out); /* little-endian: the low bytes */
  ir_graph_free(&m.g);
  return ir_value_load(&out, type).i;
}

static void integer_pow(void **s) {
  assert_int_equal(int_pow(IR_I32, 3, 5), 243);
  assert_int_equal(int_pow(IR_I32, -3, 5), -243);
  assert_int_equal(int_pow(IR_I32, 0, 0), 1);
  assert_int_equal(int_pow(IR_I32, 2, -1), 0);
  assert_int_equal(int_pow(IR_I32, 0, -1), 0);
  assert_int_equal(int_pow(IR_I32, -1, -3), -1);
  assert_int_equal(int_pow(IR_I32, -1, -4), 1);
  assert_int_equal(int_pow(IR_I32, 1, INT32_MIN), 1);
  assert_int_equal(int_pow(IR_I8, 2, 7), -128);
  assert_int_equal(int_pow(IR_I8, 3, 127), (int8_t)-85);
  assert_int_equal(int_pow(IR_U8, 3, 255), 171);
  assert_int_equal(int_pow(IR_U8, 2, 8), 0);
  assert_int_equal(int_pow(IR_I64, 3, 41), -420491770248316829); /* 36472996377170786403 - 2 * 2^64 */
  assert_int_equal(int_pow(IR_U64, 10, 19), (int64_t)10000000000000000000u);
  assert_int_equal(int_pow(IR_BOOL, 0, 0), 1);
  assert_int_equal(int_pow(IR_BOOL, 0, 1), 0);
}

/* f16 and bf16: the f32 result rounded once, for every f16 */
static void narrow_floats_are_f32_rounded(void **s) {
  static uint16_t x[BLOCK], y[BLOCK];
  static float x32[BLOCK], y32[BLOCK];
  for (size_t f = 0; f < FUNCTIONS; f++)
    for (int kind = 0; kind < 2; kind++) {
      operation narrow, single;
      operation_start(&narrow, functions[f].op, kind ? IR_BF16 : IR_F16, BLOCK, false);
      operation_start(&single, functions[f].op, IR_F32, BLOCK, false);
      for (uint32_t first = 0; first < 0x10000; first += BLOCK) {
        for (uint32_t i = 0; i < BLOCK; i++) {
          x[i] = (uint16_t)(first + i);
          x32[i] = kind ? ir_bfloat_to_float(x[i]) : ir_half_to_float(x[i]);
        }
        operation_run(&narrow, x, x, y);
        operation_run(&single, x32, x32, y32);
        for (uint32_t i = 0; i < BLOCK; i++) {
          uint16_t want = kind ? ir_bfloat_from_double(y32[i]) : ir_half_from_double(y32[i]);
          if (!isnan(y32[i])) assert_int_equal(y[i], want);
        }
      }
      ir_graph_free(&narrow.g);
      ir_graph_free(&single.g);
    }
}

/* Expansions consist of primitive operations alone, on a tensor and on a scalar inside a kernel, and keep the
 * shape. */
static void expansions_are_primitive(void **s) {
  for (int op = 0; op < IR_OP_COUNT; op++) {
    static const ir_dtype types[] = {IR_F16, IR_BF16, IR_F32, IR_F64};
    for (int t = 0; t < 4; t++) {
      if (!ir_is_elementary((ir_op)op, types[t])) continue;
      operation m;
      operation_start(&m, (ir_op)op, types[t], 7, false);
      ir_ref root = ir_elementary(&m.g, m.root), *all = NULL;
      size_t count = 0, cap = 0;
      assert_int_equal(ir_reachable(&m.g, &root, 1, &all, &count, &cap), IR_OK);
      for (size_t i = 0; i < count; i++) {
        const ir_node *n = ir_get(&m.g, all[i]);
        assert_false(ir_is_elementary((ir_op)n->op, (ir_dtype)n->dtype));
        bool floats_only = n->op == IR_OP_FMA || n->op == IR_OP_SQRT || n->op == IR_OP_DIV;
        if (floats_only) assert_true(n->dtype == IR_F32 || n->dtype == IR_F64);
      }
      assert_int_equal(ir_dtype_of(&m.g, root), types[t]);
      assert_int_equal(ir_shape(&m.g, root), ir_shape(&m.g, m.root));
      assert_int_equal(ir_elementary(&m.g, root), root); /* nothing left to expand */
      assert_int_equal(ir_elementary(&m.g, m.root), root);
      ir_free(m.g.mem, all, cap * sizeof *all);
      if (t == 2) print_message("%s f32: %zu nodes\n", ir_ops[op].text, count);
      ir_graph_free(&m.g);
    }
  }
}

static void memory_shortage_gives_the_error_value(void **s) {
  for (size_t allowed = 0; allowed < 200; allowed++) {
    test_budget f = {(long)allowed, 0};
    ir_mem mem = {test_budget_hook, &f};
    ir_error error = {0};
    ir_graph g;
    ir_ref done = 0;
    if (ir_graph_init(&g, &mem, &error) == IR_OK) {
      ir_ref node =
          ir_make(&g, IR_OP_POW, IR_F64, 0, (ir_ref[]){ir_float(&g, IR_F64, 2), ir_float(&g, IR_F64, 3)}, 2);
      done = node ? ir_elementary(&g, node) : 0;
      if (!done) assert_int_equal(error.status, IR_ERR_MEMORY);
      ir_graph_free(&g);
    }
    assert_int_equal(f.live, 0);
    if (done) return;
  }
  fail_msg("an expansion needs more than 200 allocations");
}

static int soak(const char *only, uint32_t step) {
  enum { LANES = 1 << 16 };
  float *x = malloc(LANES * sizeof *x), *y = malloc(LANES * sizeof *y);
  int failed = !x || !y;
  for (size_t i = 0; i < FUNCTIONS && !failed; i++) {
    const function *f = &functions[i];
    if (only && strcmp(only, ir_ops[f->op].text) != 0) continue;
    operation m;
    double worst = 0, at = 0;
    operation_start(&m, f->op, IR_F32, LANES, false);
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += (uint64_t)LANES * step) {
      for (uint64_t k = 0; k < LANES; k++) x[k] = float_of((uint32_t)(first + k * step));
      operation_run(&m, x, x, y);
      for (uint64_t k = 0; k < LANES; k++) {
        double e = error_in_ulp(y[k], f->exact_double(x[k]), IR_F32);
        if (e > worst) worst = e, at = x[k];
      }
    }
    ir_graph_free(&m.g);
    failed |= !(worst <= f->bound32);
    printf("%s: at most %.4f ulp, at %a\n", ir_ops[f->op].text, worst, at);
    fflush(stdout);
  }
  free(x);
  free(y);
  return failed;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "soak") == 0)
    return soak(argc > 2 && strcmp(argv[2], "all") ? argv[2] : NULL,
                argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1);
  return UNIT_RUN(NULL, NULL, f32_is_within_its_bounds, f64_is_within_its_bounds, pow_is_within_its_bounds,
                  exact_values, erfinv_of_known_values, relu_of_zeros_and_nan, pow_special_cases,
                  sine_near_its_zeros, sine_never_exceeds_one, integer_pow, narrow_floats_are_f32_rounded,
                  expansions_are_primitive, memory_shortage_gives_the_error_value);
}
