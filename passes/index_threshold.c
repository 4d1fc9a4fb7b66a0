/* Thresholds: X < c over whole digits, in the smallest weights that say the same. A comparison is one, and so is
 * a quotient of two values. */
#include "index_impl.h"

/* Sum of coef * digit at its least or its most; false: no number. */
static bool end_of(const pass_digits *of, const int64_t *coef, bool most, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < of->count; i++) {
    pass_interval in = of->digit[i].in;
    int64_t part;
    if (in.lo == INT64_MIN || in.hi == INT64_MAX) return false;
    if (!ir_mul_ok((coef[i] > 0) == most ? in.hi : in.lo, coef[i], &part) || !ir_add_ok(*out, part, out)) return false;
  }
  return true;
}

/* Counted from its most, X < c reads sum of w*x >= need with digits x >= 0 and weights w > 0; counted from its
 * least, X >= c reads so. A digit that reaches the need alone wants no weight above it. True when a weight
 * came down. */
bool pass_saturate(pass_build *b, pass_linear *in, int64_t *c) {
  pass_digits of;
  int64_t coef[PASS_DIGITS], end, need, bound = *c;
  bool changed = false, again = true;
  if (in->count < 2 || !pass_digits_of(b, in, &of)) return false;
  for (uint32_t i = 0; i < of.count; i++) coef[i] = of.digit[i].coef;
  for (bool most = true; again; most = !most) {
    again = most; /* once more from the other side */
    if (!end_of(&of, coef, most, &end)) return false;
    if (!(most ? ir_sub_ok(end, bound, &need) && ir_add_ok(need, 1, &need) : ir_sub_ok(bound, end, &need)) || need < 1)
      return false;
    bool moved = false;
    for (uint32_t i = 0; i < of.count; i++) {
      int64_t to = coef[i] > need ? need : coef[i] < -need ? -need : coef[i];
      moved = moved || to != coef[i];
      coef[i] = to;
    }
    if (!moved) continue;
    if (!end_of(&of, coef, most, &end)) return false;
    bound = most ? end - need + 1 : end + need; /* nearer to zero than before */
    changed = again = true;
  }
  pass_linear next;
  if (!changed || !pass_digits_sum(&of, coef, 0, &next)) return false;
  *in = next;
  *c = bound;
  return true;
}

bool pass_threshold_of(pass_build *b, pass_linear *in, int64_t d, int64_t *divisor, int64_t *first) {
  pass_interval r = pass_linear_bounds(b, in);
  int64_t next, need, rest;
  if (in->count != 1 || b->facts) return false; /* several atoms have more than one least form */
  if (r.lo == INT64_MIN || r.hi == INT64_MAX || ir_floor_div(r.hi, d) - ir_floor_div(r.lo, d) != 1) return false;
  *first = ir_floor_div(r.lo, d);
  if (!ir_mul_ok(*first + 1, d, &next) || !ir_sub_ok(next, in->constant, &next)) return false;
  in->constant = 0; /* the second value where X >= next */
  int64_t g = pass_linear_content(in);
  for (uint32_t i = 0; i < in->count; i++) in->term[i].coef /= g;
  next = -ir_floor_div(-next, g);
  r = pass_linear_bounds(b, in);
  if (!ir_sub_ok(next, r.lo, &need) || !ir_sub_ok(r.hi, next, &rest) || !ir_add_ok(rest, 1, &rest)) return false;
  *divisor = need > rest ? need : rest; /* first + (X - next + divisor) // divisor */
  if (*divisor < 2 || next == INT64_MIN) return false;
  in->constant = ir_floor_mod(-next, *divisor);
  return ir_add_ok(*first, 1 + ir_floor_div(-next, *divisor), first);
}
