/* The table of elementary functions with their stated errors, and reference values of those without a vector
 * loop. */
#include "test/lib/ulp.h"
#include "test/lib/ulp_double.h"

#include <math.h>

/* The result y, improved by one step of Halley's iteration on erf(y) = x, or on erfc where erf is near 1 */
static double erfinv_near(double x, double y) {
  double size = fabs(x), at = fabs(y);
  if (!(size < 1) || x == 0 || !(at < 10)) return size > 1 || x != x ? NAN : size < 1 ? x : x * INFINITY;
  double off = size < 0.5 ? erf(at) - size : 1 - size - erfc(at);
  double e = off * exp(at * at) * 0.886226925452758013649;
  return copysign(at - e / (1 + at * e), x);
}
static void erfinv_all(const float *xs, const float *ys, const float *gots, double *out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = erfinv_near((double)xs[i], (double)gots[i]);
}
static void pow_all(const float *xs, const float *ys, const float *gots, double *out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = pow((double)xs[i], (double)ys[i]);
}
static void div_all(const float *xs, const float *ys, const float *gots, double *out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = (double)xs[i] / (double)ys[i];
}
static void mod_all(const float *xs, const float *ys, const float *gots, double *out, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double r = fmod((double)xs[i], (double)ys[i]), y = (double)ys[i];
    out[i] = r == 0 ? copysign(0, y) : (r < 0) != (y < 0) ? r + y : r;
  }
}

#define EVERYWHERE HUGE_VAL
const u_function u_functions[] = {
    {"exp", "exp", 0, 1, 1, 1, -104, 89, EVERYWHERE, u_exp_all},
    {"exp2", "exp2", 0, 1, 1, 1, -150, 128, EVERYWHERE, u_exp2_all},
    {"log", "log", 0, 1, 1, 1, 0, 4, EVERYWHERE, u_log_all},
    {"log2", "log2", 0, 1, 1.5, 1, 0, 4, EVERYWHERE, u_log2_all},
    {"sin", "sin", 0, 1, 2, 2, -30, 30, 0x1p50, u_sin_all},
    {"cos", "cos", 0, 1, 1.5, 2, -30, 30, 0x1p50, u_cos_all},
    {"tanh", "tanh", 0, 1, 2, 2, -3, 3, EVERYWHERE, u_tanh_all},
    {"erf", "erf", 0, 1, 2, 2, -3, 3, EVERYWHERE, u_erf_all},
    {"sigmoid", "sigmoid", 0, 1, 2, 2, -20, 20, EVERYWHERE, u_sigmoid_all},
    {"sqrt", "sqrt", 0, 1, 0.5, 0.5, 0, 4, EVERYWHERE, u_sqrt_all},
    {"rsqrt", "rsqrt", 0, 1, 1.5, 1.5, 0, 4, EVERYWHERE, u_rsqrt_all},
    {"div", "div", 0, 2, 0.5, 0.5, -4, 4, EVERYWHERE, div_all},
    {"pow", "pow", 0, 2, 1, 1.5, 0, 10, EVERYWHERE, pow_all},
    {"mod", "mod", 0, 2, 0.5, 0.5, -4000, 4000, EVERYWHERE, mod_all},
    {"gelu", "gelu", 0, 1, 1, 16, -6, 6, EVERYWHERE, u_gelu_all},
    {"gelu, tanh", "gelu", "approximate=\"tanh\"", 1, 2, 2, -6, 6, EVERYWHERE, u_gelu_tanh_all},
    {"expm1", "expm1", 0, 1, 1.5, 1.5, -2, 89, EVERYWHERE, u_expm1_all},
    {"log1p", "log1p", 0, 1, 1.5, 1.5, -1, 2, EVERYWHERE, u_log1p_all},
    {"erfinv", "erfinv", 0, 1, 2.5, 2.5, -1, 1, EVERYWHERE, erfinv_all},
    {"tan", "tan", 0, 1, 1, 4, -30, 30, 0x1p50, u_tan_all},
    {"asin", "asin", 0, 1, 2, 2, -1, 1, EVERYWHERE, u_asin_all},
    {"acos", "acos", 0, 1, 2, 2, -1, 1, EVERYWHERE, u_acos_all},
    {"atan", "atan", 0, 1, 2, 2, -4, 4, EVERYWHERE, u_atan_all},
    {"sinh", "sinh", 0, 1, 2, 2, -90, 90, EVERYWHERE, u_sinh_all},
    {"cosh", "cosh", 0, 1, 2, 2, -90, 90, EVERYWHERE, u_cosh_all},
    {"asinh", "asinh", 0, 1, 2.5, 2.5, -4, 4, EVERYWHERE, u_asinh_all},
    {"acosh", "acosh", 0, 1, 2.5, 2.5, 0, 9, EVERYWHERE, u_acosh_all},
    {"atanh", "atanh", 0, 1, 2.5, 2.5, -1, 1, EVERYWHERE, u_atanh_all},
};
const int u_function_count = sizeof u_functions / sizeof *u_functions;
