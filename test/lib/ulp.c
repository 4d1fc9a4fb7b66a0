/* Errors in units in the last place, against a double or against MPFR. */
#include "test/lib/ulp.h"

#include <math.h>
#include <string.h>

static int unit_exponent(double exact, bool wide) {
  int exponent, least = wide ? -1074 : -149, digits = wide ? 53 : 24, most = wide ? 1024 : 128;
  frexp(exact, &exponent);
  if (exponent > most) exponent = most;
  return exponent - digits > least ? exponent - digits : least;
}

/* v, with infinity replaced by the power of two after the largest float */
static long double clamp_infinity(long double v, bool wide) {
  long double top = ldexpl(1, wide ? 1024 : 128);
  return v > top ? top : v < -top ? -top : v;
}

/* 0 or INFINITY if the class of the values decides; NaN if the error must be measured */
static double class_error(double got, double exact) {
  if (isnan(got) || isnan(exact)) return isnan(got) && isnan(exact) ? 0 : INFINITY;
  if (isinf(exact)) return got == exact ? 0 : INFINITY;
  if (got == 0 && exact == 0) return signbit(got) == signbit(exact) ? 0 : INFINITY;
  if ((got == 0 || exact == 0 || isinf(got)) && signbit(got) != signbit(exact)) return INFINITY;
  return NAN;
}

double u_error(double got, double exact, bool wide) {
  double simple = class_error(got, exact);
  if (!isnan(simple)) return simple;
  if (got == exact) return 0;
  long double gap = clamp_infinity(got, wide) - clamp_infinity(exact, wide);
  return (double)fabsl(ldexpl(gap, -unit_exponent(exact, wide)));
}

#if __has_include(<mpfr.h>)
#include <mpfr.h>

enum { DIGITS = 200 };

static int sigmoid(mpfr_t out, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_neg(out, x, round);
  mpfr_exp(out, out, round);
  mpfr_add_ui(out, out, 1, round);
  return mpfr_ui_div(out, 1, out, round);
}
static int rsqrt(mpfr_t out, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_sqrt(out, x, round);
  return mpfr_ui_div(out, 1, out, round);
}
static int gelu(mpfr_t out, const mpfr_t x, mpfr_rnd_t round) {
  if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) return mpfr_set_d(out, -0.0, round);
  mpfr_t root;
  mpfr_init2(root, DIGITS);
  mpfr_set_d(root, 0.5, round);
  mpfr_sqrt(root, root, round);
  mpfr_mul(root, root, x, round);
  mpfr_neg(root, root, round);
  mpfr_erfc(root, root, round);
  mpfr_div_2ui(root, root, 1, round);
  int result = mpfr_mul(out, root, x, round);
  mpfr_clear(root);
  return result;
}
static int gelu_tanh(mpfr_t out, const mpfr_t x, mpfr_rnd_t round) {
  if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) return mpfr_set_d(out, -0.0, round);
  mpfr_t u, c;
  mpfr_inits2(DIGITS, u, c, (mpfr_ptr)0);
  mpfr_sqr(u, x, round);
  mpfr_mul_ui(u, u, 44715, round);
  mpfr_div_ui(u, u, 1000000, round);
  mpfr_add_ui(u, u, 1, round);
  mpfr_mul(u, u, x, round);
  mpfr_const_pi(c, round);
  mpfr_ui_div(c, 8, c, round);
  mpfr_sqrt(c, c, round);
  mpfr_mul(u, u, c, round);
  sigmoid(u, u, round);
  int result = mpfr_mul(out, u, x, round);
  mpfr_clears(u, c, (mpfr_ptr)0);
  return result;
}

/* Newton's iteration on log(1 - erf(y)) = log(1 - x), which is nearly a parabola, starting from the first
 * term of Winitzki's approximation; each step doubles the number of digits. */
static int erfinv(mpfr_t out, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_t a, y, e, d;
  mpfr_inits2(DIGITS + 64, a, y, e, d, (mpfr_ptr)0);
  mpfr_abs(a, x, round);
  if (!(mpfr_cmp_ui(a, 1) < 0) || mpfr_zero_p(a)) {
    if (mpfr_nan_p(a) || mpfr_cmp_ui(a, 1) > 0) mpfr_set_nan(out);
    else if (mpfr_cmp_ui(a, 1) == 0) mpfr_set_inf(out, mpfr_sgn(x));
    else mpfr_set(out, x, round);
  } else {
    mpfr_ui_sub(d, 1, a, round);
    double start = mpfr_get_d(a, round), gap = mpfr_get_d(d, round);
    double l = log(gap) + log1p(start), h = 4.330746750799873 + l / 2; /* 2 / (0.147 pi) */
    double first = start < 1e-4 ? start * 0.886226925452758 : sqrt(sqrt(h * h - l / 0.147) - h);
    mpfr_set_d(y, first, round);
    if (start < 1e-4) mpfr_mul_d(y, a, 0.886226925452758, round);
    for (int i = 0; i < 9; i++) {
      if (start < 0.5) mpfr_erf(e, y, round), mpfr_sub(e, e, a, round);
      else mpfr_erfc(e, y, round), mpfr_sub(e, d, e, round);
      mpfr_t slope;
      mpfr_init2(slope, DIGITS + 64);
      mpfr_sqr(slope, y, round);
      mpfr_exp(slope, slope, round);
      mpfr_mul(e, e, slope, round);
      mpfr_const_pi(slope, round);
      mpfr_sqrt(slope, slope, round);
      mpfr_div_2ui(slope, slope, 1, round);
      mpfr_mul(e, e, slope, round); /* Newton's step */
      mpfr_mul(slope, e, y, round); /* and Halley's correction of it */
      mpfr_add_ui(slope, slope, 1, round);
      mpfr_div(e, e, slope, round);
      mpfr_sub(y, y, e, round);
      mpfr_clear(slope);
    }
    mpfr_copysign(out, y, x, round);
  }
  mpfr_clears(a, y, e, d, (mpfr_ptr)0);
  return 0;
}

/* The remainder, with the sign of y */
static int mod(mpfr_t out, const mpfr_t x, const mpfr_t y, mpfr_rnd_t round) {
  mpfr_fmod(out, x, y, round);
  if (mpfr_zero_p(out)) return mpfr_copysign(out, out, y, round);
  bool differs = !mpfr_nan_p(out) && (mpfr_signbit(out) != 0) != (mpfr_signbit(y) != 0);
  return differs ? mpfr_add(out, out, y, round) : 0;
}

static const struct {
  const char *name;
  int (*unary)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  int (*binary)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
} exact[] = {
    {"exp", mpfr_exp, 0},         {"exp2", mpfr_exp2, 0},   {"log", mpfr_log, 0},
    {"log2", mpfr_log2, 0},       {"sin", mpfr_sin, 0},     {"cos", mpfr_cos, 0},
    {"tanh", mpfr_tanh, 0},       {"erf", mpfr_erf, 0},     {"sigmoid", sigmoid, 0},
    {"sqrt", mpfr_sqrt, 0},       {"rsqrt", rsqrt, 0},      {"div", 0, mpfr_div},
    {"pow", 0, mpfr_pow},         {"mod", 0, mod},          {"gelu", gelu, 0},
    {"gelu, tanh", gelu_tanh, 0}, {"expm1", mpfr_expm1, 0}, {"log1p", mpfr_log1p, 0},
    {"erfinv", erfinv, 0},        {"tan", mpfr_tan, 0},     {"asin", mpfr_asin, 0},
    {"acos", mpfr_acos, 0},       {"atan", mpfr_atan, 0},   {"sinh", mpfr_sinh, 0},
    {"cosh", mpfr_cosh, 0},       {"asinh", mpfr_asinh, 0}, {"acosh", mpfr_acosh, 0},
    {"atanh", mpfr_atanh, 0},
};

bool u_have_exact(void) { return true; }

double u_exact_error(const u_function *f, double x, double y, double got, bool wide) {
  size_t at = 0;
  while (strcmp(exact[at].name, f->name)) at++;
  mpfr_t a, b, value;
  mpfr_inits2(DIGITS, a, b, value, (mpfr_ptr)0);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  if (exact[at].unary) exact[at].unary(value, a, MPFR_RNDN);
  else exact[at].binary(value, a, b, MPFR_RNDN);
  /* A value that is too large or too small for a double is still finite and not zero. */
  double near = mpfr_get_d(value, MPFR_RNDZ), error = class_error(got, near);
  if (near == 0 && !mpfr_zero_p(value)) near = copysign(0x1p-1074, near), error = class_error(got, near);
  if (isnan(error)) {
    if (isinf(got)) mpfr_set_si_2exp(a, got > 0 ? 1 : -1, wide ? 1024 : 128, MPFR_RNDN);
    else mpfr_set_d(a, got, MPFR_RNDN);
    mpfr_set_si_2exp(b, near > 0 ? 1 : -1, wide ? 1024 : 128, MPFR_RNDN);
    if (mpfr_cmpabs(value, b) > 0) mpfr_set(value, b, MPFR_RNDN);
    mpfr_sub(a, a, value, MPFR_RNDN);
    mpfr_mul_2si(a, a, -unit_exponent(near, wide), MPFR_RNDN);
    error = fabs(mpfr_get_d(a, MPFR_RNDN));
  }
  mpfr_clears(a, b, value, (mpfr_ptr)0);
  return error;
}
#else
bool u_have_exact(void) { return false; }
double u_exact_error(const u_function *f, double x, double y, double got, bool wide) { return -1; }
#endif
