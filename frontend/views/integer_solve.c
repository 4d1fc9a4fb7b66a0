/* Sums of bounded multiples, and sums of floor quotients.
 *
 * Whether a_1*x_1 + ... + a_n*x_n = t has a solution with every x within bounds is a knapsack problem. For
 * the weights of a mixed-radix system it is easy: a span whose multiples fill the gaps of one with a larger
 * weight is joined with it, and then one or two values of the largest x have to be tried. */
#include "integer_solve.h"

#include "ir/arith.h"

enum { SEARCH = 4096, LINES = 1024, BREAKS = 4096 };

/* weights > 0, 0 <= x <= count; descending weights */
typedef struct knapsack {
  uint32_t count, steps;
  int64_t weight[VIEW_SPANS], most[VIEW_SPANS];
  int64_t total[VIEW_SPANS + 1], gcd[VIEW_SPANS + 1]; /* of this and all smaller weights */
  bool too_big;
} knapsack;

static void drop_weight(knapsack *k, uint32_t at) {
  k->count--;
  for (uint32_t i = at; i < k->count; i++) k->weight[i] = k->weight[i + 1], k->most[i] = k->most[i + 1];
}

/* weight*x + (weight*m)*y with x <= most takes every multiple of weight when most + 1 >= m. */
static bool join_one(knapsack *k) {
  for (uint32_t small = k->count; small-- > 0;)
    for (uint32_t large = small; large-- > 0;) {
      int64_t m = k->weight[large] / k->weight[small], more;
      if (k->weight[large] % k->weight[small] || k->most[small] < m - 1) continue;
      if (!ir_mul_ok(m, k->most[large], &more) || !ir_add_ok(k->most[small], more, &k->most[small]))
        k->too_big = true;
      drop_weight(k, large);
      return !k->too_big;
    }
  return false;
}

static int64_t inverse(int64_t a, int64_t m) { /* of a modulo m, coprime */
  int64_t r0 = m, r1 = ir_floor_mod(a, m), s0 = 0, s1 = 1;
  while (r1) {
    int64_t q = r0 / r1, r = r0 - q * r1, s = s0 - q * s1;
    r0 = r1, r1 = r, s0 = s1, s1 = s;
  }
  return ir_floor_mod(s0, m);
}

static int64_t multiply_mod(int64_t a, int64_t b, int64_t m) { /* 0 <= a, b < m */
  int64_t product;
  if (ir_mul_ok(a, b, &product)) return product % m;
  int64_t sum = 0;
  for (; b; b >>= 1) {
    if (b & 1) sum = sum >= m - a ? sum - (m - a) : sum + a;
    a = a >= m - a ? a - (m - a) : a + a;
  }
  return sum;
}

static view_answer search_sum(knapsack *k, uint32_t at, int64_t target) {
  if (target < 0 || target > k->total[at]) return VIEW_NO;
  if (at == k->count) return VIEW_YES;
  if (target % k->gcd[at]) return VIEW_NO;
  if (at + 1 == k->count) return VIEW_YES;
  int64_t w = k->weight[at], rest = k->total[at + 1], g = k->gcd[at + 1], common = ir_gcd(w, g),
          step = g / common;
  int64_t first = target > rest ? (target - rest - 1) / w + 1 : 0, last = target / w;
  if (last > k->most[at]) last = k->most[at];
  /* target - w*x is a multiple of g: x is known modulo step */
  int64_t want =
      step == 1 ? 0 : multiply_mod(ir_floor_mod(target / common, step), inverse(w / common, step), step);
  first += ir_floor_mod(want - first, step);
  for (int64_t x = first; x <= last; x += step) {
    if (++k->steps > SEARCH) return VIEW_UNKNOWN;
    view_answer found = search_sum(k, at + 1, target - w * x);
    if (found != VIEW_NO) return found;
    if (x > INT64_MAX - step) break;
  }
  return VIEW_NO;
}

view_answer view_sum_reaches(const view_span *spans, uint32_t count, int64_t target) {
  knapsack k = {0};
  for (uint32_t i = 0; i < count; i++) {
    view_span s = spans[i];
    if (s.lo > s.hi) return VIEW_NO;
    int64_t least, most;
    if (!ir_mul_ok(s.weight, s.weight < 0 ? s.hi : s.lo, &least) || !ir_sub_ok(target, least, &target) ||
        !ir_sub_ok(s.hi, s.lo, &most) || s.weight == INT64_MIN)
      return VIEW_UNKNOWN;
    int64_t weight = s.weight < 0 ? -s.weight : s.weight;
    if (weight == 0 || most == 0) continue;
    uint32_t at = k.count++;
    for (; at > 0 && k.weight[at - 1] < weight; at--)
      k.weight[at] = k.weight[at - 1], k.most[at] = k.most[at - 1];
    k.weight[at] = weight, k.most[at] = most;
  }
  while (join_one(&k)) {}
  for (uint32_t i = k.count; i-- > 0;) {
    int64_t all;
    k.gcd[i] = ir_gcd(k.gcd[i + 1], k.weight[i]);
    if (!ir_mul_ok(k.weight[i], k.most[i], &all) || !ir_add_ok(k.total[i + 1], all, &k.total[i]))
      k.too_big = true;
  }
  if (k.too_big) return VIEW_UNKNOWN;
  if (k.count == 0) return target == 0 ? VIEW_YES : VIEW_NO;
  return search_sum(&k, 0, target);
}

/* quotients */

static bool same_quotient(const view_atom *a, const view_atom *b, uint32_t axes) {
  bool same = a->divisor == b->divisor && a->constant == b->constant;
  for (uint32_t k = 0; k < axes && same; k++) same = a->rate[k] == b->rate[k];
  return same;
}

/* Replace a quotient by its mirror image where that has the smaller first rate: floor(-y/d) = -floor((y + d -
 * 1)/d). */
static void normalize_sign(view_atom *a, uint32_t axes) {
  uint32_t k = 0;
  while (k < axes && (a->rate[k] == 0 || a->rate[k] == a->divisor - a->rate[k])) k++;
  if (k == axes || a->rate[k] < a->divisor - a->rate[k]) return;
  for (uint32_t i = 0; i < axes; i++) a->rate[i] = ir_floor_mod(-a->rate[i], a->divisor);
  a->constant = a->divisor - 1 - a->constant;
  a->coef = -a->coef;
}

bool view_quotients_add(view_quotients *q, int64_t coef, int64_t constant, const int64_t *rate,
                        int64_t divisor) {
  view_atom a = {.divisor = divisor, .coef = coef, .constant = ir_floor_mod(constant, divisor)};
  int64_t common = divisor;
  for (uint32_t k = 0; k < q->axes; k++) {
    a.rate[k] = q->size[k] > 1 ? ir_floor_mod(rate[k], divisor) : 0; /* whole multiples are affine */
    common = ir_gcd(common, a.rate[k]);
  }
  for (uint32_t k = 0; k < q->axes; k++) a.rate[k] /= common;
  a.constant /= common, a.divisor /= common;
  if (a.divisor == 1) return true;
  normalize_sign(&a, q->axes);
  for (uint32_t i = 0; i < q->count; i++)
    if (same_quotient(&q->atom[i], &a, q->axes)) return ir_add_ok(q->atom[i].coef, a.coef, &q->atom[i].coef);
  if (q->count == VIEW_ATOMS) return false;
  q->atom[q->count++] = a;
  return true;
}

static bool value_at(const view_quotients *q, const int64_t *x, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const view_atom *a = &q->atom[i];
    int64_t sum = a->constant, term;
    for (uint32_t k = 0; k < q->axes; k++)
      if (a->rate[k] && (!ir_mul_ok(a->rate[k], x[k], &term) || !ir_add_ok(sum, term, &sum))) return false;
    if (!ir_mul_ok(a->coef, sum / a->divisor, &term) || !ir_add_ok(*out, term, out)) return false;
  }
  return true;
}

/* Is the sum start + slope*x along one axis? The sum is constant between the x at which a quotient changes,
 * so it is tested there and just before. Two common periods of all quotients are enough. */
static view_answer line_affine(const view_quotients *q, uint32_t axis, int64_t *x, int64_t start,
                               int64_t slope) {
  int64_t end = q->size[axis], period = 1, value;
  for (uint32_t i = 0; i < q->count && period < INT64_MAX / 4; i++) {
    int64_t d = q->atom[i].rate[axis] && q->atom[i].coef ? q->atom[i].divisor : 1;
    int64_t times = d / ir_gcd(period, d);
    if (!ir_mul_ok(period, times, &period)) period = INT64_MAX;
  }
  if (period < INT64_MAX / 4 && end > 2 * period + 1) end = 2 * period + 1;
  for (int64_t at = 0, looks = 0; at < end;) {
    int64_t next = end;
    if (++looks > BREAKS) return VIEW_UNKNOWN;
    for (uint32_t i = 0; i < q->count; i++) { /* the first x after `at` at which a quotient changes */
      const view_atom *a = &q->atom[i];
      if (!a->rate[axis] || !a->coef) continue;
      int64_t sum = a->constant, term;
      for (uint32_t k = 0; k < q->axes; k++) {
        if (!ir_mul_ok(a->rate[k], k == axis ? at : x[k], &term) || !ir_add_ok(sum, term, &sum))
          return VIEW_UNKNOWN;
      }
      int64_t missing = a->divisor - sum % a->divisor, step = (missing - 1) / a->rate[axis] + 1;
      if (step < next - at) next = at + step;
    }
    for (int k = 0; k < 2; k++) { /* at the start of the constant interval, and at its end */
      int64_t want;
      x[axis] = k ? next - 1 : at;
      if (!ir_mul_ok(slope, x[axis], &want) || !ir_add_ok(start, want, &want) || !value_at(q, x, &value))
        return VIEW_UNKNOWN;
      if (value != want) return VIEW_NO;
    }
    at = next;
  }
  x[axis] = 0;
  return VIEW_YES;
}

view_answer view_quotients_affine(const view_quotients *q) {
  int64_t x[VIEW_AXES] = {0}, slope[VIEW_AXES] = {0}, start, others = 1;
  uint32_t line = q->axes;
  bool stays = true;
  for (uint32_t i = 0; i < q->count; i++) stays &= q->atom[i].coef == 0;
  if (stays) return VIEW_YES;
  if (!value_at(q, x, &start)) return VIEW_UNKNOWN;
  for (uint32_t k = 0; k < q->axes; k++) {
    bool used = false;
    for (uint32_t i = 0; i < q->count; i++) used |= q->atom[i].rate[k] != 0 && q->atom[i].coef != 0;
    if (!used) continue;
    if (line == q->axes || q->size[k] > q->size[line]) line = k;
    x[k] = 1;
    if (!value_at(q, x, &slope[k]) || !ir_sub_ok(slope[k], start, &slope[k])) return VIEW_UNKNOWN;
    x[k] = 0;
  }
  if (line == q->axes) return VIEW_YES;
  uint32_t axes[VIEW_AXES], count = 0;
  for (uint32_t k = 0; k < q->axes; k++) {
    bool used = false;
    for (uint32_t i = 0; i < q->count; i++) used |= q->atom[i].rate[k] != 0 && q->atom[i].coef != 0;
    if (!used || k == line) continue;
    axes[count++] = k;
    if (!ir_mul_ok(others, q->size[k], &others)) others = INT64_MAX;
  }
  for (int64_t n = 0; n < others; n++) { /* a line for each index of the other axes */
    int64_t digits = n, base = start;
    if (n == LINES) return VIEW_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
      x[axes[i]] = digits % q->size[axes[i]];
      digits /= q->size[axes[i]];
      int64_t moved;
      if (!ir_mul_ok(slope[axes[i]], x[axes[i]], &moved) || !ir_add_ok(base, moved, &base))
        return VIEW_UNKNOWN;
    }
    view_answer affine = line_affine(q, line, x, base, slope[line]);
    if (affine != VIEW_YES) return affine;
  }
  return VIEW_YES;
}
