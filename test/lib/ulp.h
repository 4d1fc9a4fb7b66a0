/* Elementary functions and their reference values: in double, by the C library, and with any number of
 * digits, by MPFR. */
#ifndef VIEWFOLD_TEST_ULP_H
#define VIEWFOLD_TEST_ULP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct u_function {
  const char *name, *operation, *attributes; /* as in text graphs */
  int operands;
  double bound32, bound64; /* stated in ir/elementary/elementary.h; 0: not stated for this format */
  double lo, hi;           /* range of the most interesting arguments */
  double reach64;          /* |x| beyond which f64 gives NaN */
  /* Reference values in double for x, and for y if there are two operands; `got` are the computed results,
   * near which inverse functions search. */
  void (*in_double)(const float *x, const float *y, const float *got, double *out, size_t count);
} u_function;
extern const u_function u_functions[];
extern const int u_function_count;

/* |got - exact| in units in the last place of a result of this size in f32 (f64 if wide). 0 if both are NaN,
 * the same infinity, or zeros of one sign. INFINITY if only one is NaN, if only `exact` is infinite, or if
 * the signs differ where one of the two is 0 or `got` is infinite. Finite values beyond the power of two
 * after the largest float, and then an infinite `got`, count as that power. */
double u_error(double got, double exact, bool wide);

/* The same against the function's exact value at x (and y). Negative: MPFR is not available. */
bool u_have_exact(void);
double u_exact_error(const u_function *f, double x, double y, double got, bool wide);

#endif
