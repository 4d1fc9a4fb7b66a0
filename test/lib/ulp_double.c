/* Functions in double over arrays, in loops that the compiler may vectorize with the C library's vector
 * functions, which are accurate to a few units of double. */
#include "test/lib/ulp_double.h"

#include <math.h>

#define LOOP(name, expression)                                                                               \
  void u_##name(const float *xs, const float *ys, const float *gots, double *out, size_t count) {            \
    (void)ys, (void)gots;                                                                                    \
    for (size_t i = 0; i < count; i++) {                                                                     \
      double x = (double)xs[i];                                                                              \
      out[i] = (expression);                                                                                 \
    }                                                                                                        \
  }
LOOP(exp_all, exp(x))
LOOP(exp2_all, exp2(x))
LOOP(log_all, log(x))
LOOP(log2_all, log2(x))
LOOP(sin_all, sin(x))
LOOP(cos_all, cos(x))
LOOP(tan_all, tan(x))
LOOP(tanh_all, tanh(x))
LOOP(erf_all, erf(x))
LOOP(sigmoid_all, 1 / (1 + exp(-x)))
LOOP(expm1_all, expm1(x))
LOOP(log1p_all, log1p(x))
LOOP(asin_all, asin(x))
LOOP(acos_all, acos(x))
LOOP(atan_all, atan(x))
LOOP(sinh_all, sinh(x))
LOOP(cosh_all, cosh(x))
LOOP(asinh_all, asinh(x))
LOOP(acosh_all, acosh(x))
LOOP(atanh_all, atanh(x))
LOOP(sqrt_all, sqrt(x))
LOOP(rsqrt_all, 1 / sqrt(x))
LOOP(gelu_all, x < -1e4 ? -0.0 : 0.5 * x * erfc(x * -0.70710678118654752440))
/* x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) */
LOOP(gelu_tanh_all, x < -1e4 ? -0.0 : x / (1 + exp(-1.5957691216057307117 * x * (1 + 0.044715 * x * x))))
