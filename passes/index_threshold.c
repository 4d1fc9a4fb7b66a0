/* Thresholds: X < c over whole digits, in the smallest weights that say the same. A comparison is one, and so
 * is a quotient of two values. */
#include "index_impl.h"

/* Sum of coef * digit at its least or its most; false: no number. */
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

/* Counted from its most, X < c reads sum of w*x >= need with digits x >= 0 and weights w > 0; counted from
 * its least, X >= c reads so. A digit that reaches the need alone wants no weight above it. True when a
 * weight came down. */
bool pass_saturate(pass_build *b, pass_linear *in, int64_t *c) {
  pass_digits of;
  int64_t coef[PASS_DIGITS], end, need, bound = *c;
  bool changed = false, again = true;
  if (in->count < 2 || !pass_digits_of(b, in, &of)) return false;
  for (uint32_t i = 0; i < of.count; i++) coef[i] = of.digit[i].coef;
  for (bool most = true; again; most = !most) {
    again = most; /* once more from the other side */
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
    bound = most ? end - need + 1 : end + need; /* nearer to zero than before */
    changed = again = true;
  }
  pass_linear next;
  if (!changed || !pass_digits_sum(b->g, &of, coef, 0, &next)) return false;
  *in = next;
  *c = bound;
  return true;
}

bool pass_threshold_of(pass_build *b, pass_linear *in, int64_t d, int64_t *divisor, int64_t *first) {
  pass_digits of;
  int64_t next, need, rest, lo, hi;
  if (in->count > 3 || b->facts || !pass_digits_of(b, in, &of) || of.count != 1) return false;
  const pass_digit *x = &of.digit[0]; /* several digits have more than one least form */
  if (x->in.lo == INT64_MIN || x->in.hi == INT64_MAX) return false;
  if (!ir_mul_ok(x->coef > 0 ? x->in.lo : x->in.hi, x->coef, &lo) || !ir_add_ok(lo, in->constant, &lo) ||
      !ir_mul_ok(x->coef > 0 ? x->in.hi : x->in.lo, x->coef, &hi) || !ir_add_ok(hi, in->constant, &hi))
    return false;
  *first = ir_floor_div(lo, d);
  if (ir_floor_div(hi, d) - *first != 1 || !ir_mul_ok(*first + 1, d, &next) ||
      !ir_sub_ok(next, in->constant, &next))
    return false;
  int64_t size = x->coef < 0 ? -x->coef : x->coef, sign[PASS_DIGITS] = {x->coef < 0 ? -1 : 1};
  next = -ir_floor_div(-next, size); /* the second value where sign * digit >= next */
  need = next - (sign[0] > 0 ? x->in.lo : -x->in.hi), rest = (sign[0] > 0 ? x->in.hi : -x->in.lo) - next + 1;
  *divisor = need > rest ? need : rest; /* first + (sign * digit - next + divisor) // divisor */
  if (x->row >= 0)
    *divisor = -of.system.row[x->row].coef[pass_column_of(&of.system, of.system.row[x->row].quotient)];
  if (*divisor < 2 || *divisor < need || *divisor < rest || next == INT64_MIN ||
      !pass_digits_sum(b->g, &of, sign, 0, in))
    return false;
  in->constant = ir_floor_mod(-next, *divisor);
  return ir_add_ok(*first, 1 + ir_floor_div(-next, *divisor), first);
}
