/* Elementary functions and how exactly they are known: in double, by the C library, and to any number of
 * digits, by MPFR. */
#ifndef VIEWFOLD_TEST_ULP_H
#define VIEWFOLD_TEST_ULP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct u_function {
  const char *name, *operation, *attributes; /* as in text graphs */
  int operands;
  double bound32,
      bound64;    /* the errors stated in ir/elementary/elementary.h; 0: not stated for this format */
  double lo, hi;  /* where most of the interest is */
  double reach64; /* |x| beyond which f64 gives NaN */
  /* x, and y where there are two; `got` is what was computed, near which an inverse is looked for */
  void (*in_double)(const float *x, const float *y, const float *got, double *out, size_t count);
} u_function;
extern const u_function u_functions[];
extern const int u_function_count;

/* |got - exact| in units of the last place that a result of this size has in f32 (f64 where wide). A result
 * that is 0 where the exact one is not, or the other way round, has the sign of the other. 0 where both are
 * NaN or the same infinity; INFINITY where only one is, or signs of zeros differ. An exact value from where
 * rounding gives infinity on counts as the power of two behind the last float, and so does a result. */
double u_error(double got, double exact, bool wide);

/* The same against the function's exact value at x (and y). Negative: there is no MPFR here. */
bool u_have_exact(void);
double u_exact_error(const u_function *f, double x, double y, double got, bool wide);

#endif
