/* Integer arithmetic that reports overflow, and the floor division and modulo that viewfold uses
 * everywhere. */
#ifndef VIEWFOLD_IR_ARITH_H
#define VIEWFOLD_IR_ARITH_H

#include <stdbool.h>
#include <stdint.h>

/* *r = a op b and true, or false on overflow (*r is then unspecified). */
static inline bool ir_add_ok(int64_t a, int64_t b, int64_t *r) {
#if defined(__GNUC__)
  return !__builtin_add_overflow(a, b, r);
#else
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
  *r = a + b;
  return true;
#endif
}

/* a - b, with the result and the failure of ir_add_ok. */
static inline bool ir_sub_ok(int64_t a, int64_t b, int64_t *r) {
#if defined(__GNUC__)
  return !__builtin_sub_overflow(a, b, r);
#else
  if (b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b) return false;
  *r = a - b;
  return true;
#endif
}

/* a * b, with the result and the failure of ir_add_ok. */
static inline bool ir_mul_ok(int64_t a, int64_t b, int64_t *r) {
#if defined(__GNUC__)
  return !__builtin_mul_overflow(a, b, r);
#else
  if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)
            : (b > 0 ? a < INT64_MIN / b : a != 0 && b < INT64_MAX / a))
    return false;
  *r = a * b;
  return true;
#endif
}

/* For d >= 1: floor(a / d), and a - d * floor(a / d), which lies in [0, d). */
static inline int64_t ir_floor_div(int64_t a, int64_t d) { return a / d - (a % d < 0); }
static inline int64_t ir_floor_mod(int64_t a, int64_t d) { return a % d < 0 ? a % d + d : a % d; }

/* Never negative; gcd(0, a) = |a|. INT64_MIN counts as 2^62, which divides it, so that every result is
 * representable. */
static inline int64_t ir_gcd(int64_t a, int64_t b) {
  a = a == INT64_MIN ? INT64_MIN / -2 : a < 0 ? -a : a;
  b = b == INT64_MIN ? INT64_MIN / -2 : b < 0 ? -b : b;
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

#endif
