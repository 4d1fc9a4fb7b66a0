#ifndef VIEWFOLD_TEST_ULP_DOUBLE_H
#define VIEWFOLD_TEST_ULP_DOUBLE_H

#include <stddef.h>

/* Functions for u_function's in_double. */
#define U_DOUBLE(name)                                                                                       \
  void u_##name(const float *xs, const float *ys, const float *gots, double *out, size_t count);
U_DOUBLE(exp_all)
U_DOUBLE(exp2_all)
U_DOUBLE(log_all)
U_DOUBLE(log2_all)
U_DOUBLE(sin_all)
U_DOUBLE(cos_all)
U_DOUBLE(tan_all)
U_DOUBLE(tanh_all)
U_DOUBLE(erf_all)
U_DOUBLE(sigmoid_all)
U_DOUBLE(expm1_all)
U_DOUBLE(log1p_all)
U_DOUBLE(asin_all)
U_DOUBLE(acos_all)
U_DOUBLE(atan_all)
U_DOUBLE(sinh_all)
U_DOUBLE(cosh_all)
U_DOUBLE(asinh_all)
U_DOUBLE(acosh_all)
U_DOUBLE(atanh_all)
U_DOUBLE(sqrt_all)
U_DOUBLE(rsqrt_all)
U_DOUBLE(gelu_all)
U_DOUBLE(gelu_tanh_all)

#endif
