/* Thresholds: a comparison X < c, X a weighted sum of integer digits, is rewritten with the smallest weights
 * that give the same answer. A quotient that takes two values is a threshold too; a quotient that takes a few
 * values, each over equally many values of the digit, is a staircase with equal steps. */
#include "impl.h"

/* The minimum of the sum of coef * digit, or the maximum where `most`; false: not finite. */
static bool end_of(const pass_digits *of, const int64_t *coef, bool most, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < of->count; i++) {
    pass_interval in = of->digit[i].in;
    int64_t part;
    if (in.lo == INT64_MIN || in.hi == INT64_MAX) return false;
    if (!ir_mul_ok((coef[i] > 0) == most ? in.hi : in.lo, coef[i], &part) || !ir_add_ok(*out, part, out))
      return false;
  }
  return true;
}

/* Measured down from the maximum of X, X < c reads: sum of w*x >= need, with digits x >= 0 and weights w > 0.
 * Measured up from the minimum, X >= c has the same form. A digit that reaches need alone does not need a
 * weight above need, so such weights are lowered to it (saturation of pseudo-Boolean constraints). True when
 * a weight was lowered. */
bool pass_saturate(pass_build *b, pass_linear *in, int64_t *c) {
  pass_digits of;
  int64_t coef[PASS_DIGITS], end, need, bound = *c;
  bool changed = false, again = true;
  if (in->count < 2 || !pass_digits_of(b, in, &of)) return false;
  for (uint32_t i = 0; i < of.count; i++) coef[i] = of.digit[i].coef;
  for (bool most = true; again; most = !most) {
    again = most; /* then once from the other side */
    if (!end_of(&of, coef, most, &end)) return false;
    if (!(most ? ir_sub_ok(end, bound, &need) && ir_add_ok(need, 1, &need) : ir_sub_ok(bound, end, &need)) ||
        need < 1)
      return false;
    bool moved = false;
    for (uint32_t i = 0; i < of.count; i++) {
      int64_t to = coef[i] > need ? need : coef[i] < -need ? -need : coef[i];
      moved = moved || to != coef[i];
      coef[i] = to;
    }
    if (!moved) continue;
    if (!end_of(&of, coef, most, &end)) return false;
    bound = most ? end - need + 1 : end + need; /* closer to zero than before */
    changed = again = true;
  }
  pass_linear next;
  if (!changed || !pass_digits_sum(b->g, &of, coef, 0, &next)) return false;
  *in = next;
  *c = bound;
  return true;
}

/* *at = least value of sign(coef) * digit with (coef * digit + constant) // d >= first + step; false on
 * overflow */
static bool point_of_step(const pass_digit *x, int64_t constant, int64_t d, int64_t first, int64_t step,
                          int64_t *at) {
  int64_t size = x->coef < 0 ? -x->coef : x->coef, next;
  if (!ir_mul_ok(first + step, d, &next) || !ir_sub_ok(next, constant, &next) || next == INT64_MIN)
    return false;
  *at = -ir_floor_div(-next, size);
  return true;
}

bool pass_threshold_of(pass_build *b, pass_linear *in, int64_t d, int64_t *divisor, int64_t *first) {
  enum { STEPS = 16 }; /* of a staircase that is checked step by step; one of more stays a quotient */
  pass_digits of;
  int64_t at, next, before, need, rest, lo, hi;
  if (in->count > 3 || b->facts || !pass_digits_of(b, in, &of) || of.count != 1) return false;
  const pass_digit *x = &of.digit[0]; /* the smallest form is not unique for several digits */
  if (x->in.lo == INT64_MIN || x->in.hi == INT64_MAX) return false;
  if (!ir_mul_ok(x->coef > 0 ? x->in.lo : x->in.hi, x->coef, &lo) || !ir_add_ok(lo, in->constant, &lo) ||
      !ir_mul_ok(x->coef > 0 ? x->in.hi : x->in.lo, x->coef, &hi) || !ir_add_ok(hi, in->constant, &hi))
    return false;
  *first = ir_floor_div(lo, d);
  int64_t steps = ir_floor_div(hi, d) - *first, sign[PASS_DIGITS] = {x->coef < 0 ? -1 : 1};
  if (steps < 1 || steps > STEPS || (steps > 1 && x->row >= 0) ||
      !point_of_step(x, in->constant, d, *first, 1, &at))
    return false;
  next = at;
  *divisor = 0;
  for (int64_t k = 2; k <= steps; k++) { /* all steps are equally long */
    before = at;
    if (!point_of_step(x, in->constant, d, *first, k, &at)) return false;
    if (k > 2 && at - before != *divisor) return false;
    *divisor = at - before;
  }
  need = next - (sign[0] > 0 ? x->in.lo : -x->in.hi), rest = (sign[0] > 0 ? x->in.hi : -x->in.lo) - at + 1;
  if (steps == 1)
    *divisor = need > rest ? need : rest; /* first + (sign * digit - next + divisor) // divisor */
  if (x->row >= 0)
    *divisor = -of.system.row[x->row].coef[pass_column_of(&of.system, of.system.row[x->row].quotient)];
  if (*divisor < 2 || *divisor < need || *divisor < rest || next == INT64_MIN ||
      !pass_digits_sum(b->g, &of, sign, 0, in))
    return false;
  in->constant = ir_floor_mod(-next, *divisor);
  return ir_add_ok(*first, 1 + ir_floor_div(-next, *divisor), first);
}
