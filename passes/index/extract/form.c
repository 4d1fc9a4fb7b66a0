/* Forms: vectors of coefficients, and the intervals of their values. */
#include "impl.h"

#include <string.h>

int extract_form_new(extraction *x) {
  if (x->forms == EXTRACT_FORMS) return -1;
  memset(&x->form[x->forms], 0, sizeof x->form[0]);
  return (int)x->forms++;
}

bool extract_form_add(const extraction *x, int64_t *to, const int64_t *from, int64_t scale) {
  int64_t product;
  for (uint32_t i = 0; i < x->atoms; i++)
    if (from[i] && (!ir_mul_ok(from[i], scale, &product) || !ir_add_ok(to[i], product, &to[i]))) return false;
  return true;
}

bool extract_form_equal(const extraction *x, const int64_t *a, const int64_t *b) {
  for (uint32_t i = 0; i < x->atoms; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static bool widen_interval(int64_t *lo, int64_t *hi, int64_t scale, int64_t from, int64_t to) {
  int64_t a, b;
  if (from == INT64_MIN || to == INT64_MAX) return false;
  return ir_mul_ok(scale, from, &a) && ir_mul_ok(scale, to, &b) && ir_add_ok(*lo, a < b ? a : b, lo) &&
         ir_add_ok(*hi, a < b ? b : a, hi);
}

/* Does w contain k*n: is every coefficient of k*n (atoms only) of the same sign and no larger? */
static bool contains_multiple(const extraction *x, const int64_t *w, const int64_t *n, int64_t k) {
  int64_t part;
  for (uint32_t i = 1; i < x->atoms; i++) {
    if (n[i] == 0) continue;
    if (!ir_mul_ok(n[i], k, &part) || part == INT64_MIN || w[i] == INT64_MIN) return false;
    if ((part < 0) != (w[i] < 0) || (part < 0 ? part < w[i] : part > w[i])) return false;
  }
  return true;
}

/* Handles digits as units: k*(n - d*(n//d)) lies in k*[0, d), and k*(n//a - b*(n//(a*b))) in k*[0, b). Adding
 * the intervals of their atoms would ignore how these are related. */
static bool cancel_digit(const extraction *x, int64_t *w, const extract_quotient *q, int64_t *lo,
                         int64_t *hi) {
  int64_t c = w[q->atom];
  const int64_t *n = x->form[q->of].c;
  if (c == INT64_MIN) return false;
  if (c % q->by == 0 && contains_multiple(x, w, n, -c / q->by)) {
    if (!extract_form_add(x, w, n, c / q->by)) return false;
    w[q->atom] = 0;
    return widen_interval(lo, hi, -c / q->by, 0, q->by - 1);
  }
  for (uint32_t i = 0; i < x->quotients; i++) {
    const extract_quotient *r = &x->quotient[i];
    int64_t b = q->by / r->by;
    if (r == q || q->by % r->by != 0 || c % b != 0 || w[r->atom] != -c / b) continue;
    if (!extract_form_equal(x, n, x->form[r->of].c)) continue;
    w[q->atom] = w[r->atom] = 0;
    return widen_interval(lo, hi, -c / b, 0, b - 1);
  }
  return false;
}

bool extract_form_range(const extraction *x, const int64_t *of, int64_t *lo, int64_t *hi) {
  int64_t w[EXTRACT_ATOMS];
  memcpy(w, of, x->atoms * sizeof *w);
  *lo = *hi = 0;
  for (uint32_t i = x->atoms; i-- > 1;) {
    const extract_atom *a = &x->atom[i];
    if (w[i] == 0 || (a->quotient >= 0 && cancel_digit(x, w, &x->quotient[a->quotient], lo, hi))) continue;
    if (!widen_interval(lo, hi, w[i], a->lo, a->hi)) return false;
  }
  return widen_interval(lo, hi, 1, w[0], w[0]);
}
