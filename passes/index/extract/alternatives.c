/* The alternative forms of a quotient. With u the floor of t/b,
 *
 *   nested     m//(a*b) = (m//a + r)//b            where m//a is needed anyway
 *   shifted    n//b = t//b - (t - n)/b             for another numerator t = n (mod b) that is computed
 *              anyway
 *   mirrored   n//b = -1 - (-1 - n)//b             likewise for t = -1 - n (mod b)
 *   widened    n//b = (x + c)//d                   for a step of one atom x, where a sum has x - d*(n//b)
 *   remainder  u = (t - t%b)/b                     where other terms cancel in the sum of which u is a term
 *   choice     u, of few values, by comparing t with its thresholds */
#include "impl.h"

static bool same_residues(const extraction *x, const int64_t *t, const int64_t *n, int64_t b, int sign) {
  for (uint32_t i = 1; i < x->atoms; i++) {
    int64_t apart;
    if (t[i] == n[i] && sign > 0) continue;
    if (sign > 0 ? !ir_sub_ok(t[i], n[i], &apart) : !ir_add_ok(t[i], n[i], &apart)) return false;
    if (apart % b != 0) return false;
  }
  return true;
}

/* Has t only atoms below `limit`? */
static bool has_only_atoms_below(const extraction *x, const int64_t *t, uint32_t limit) {
  for (uint32_t i = limit; i < x->atoms; i++)
    if (t[i]) return false;
  return true;
}

static bool add_alternative(extract_quotient *q, extract_alternative alternative) {
  if (q->alternatives == EXTRACT_ALTERNATIVES) return false;
  q->alternative[q->alternatives++] = alternative;
  return true;
}

static void add_quotient_and_remainder(extract_quotient *q, extract_alternative alternative) {
  alternative.how = EXTRACT_QUOTIENT;
  add_alternative(q, alternative);
  alternative.how = EXTRACT_REMAINDER;
  add_alternative(q, alternative);
}

/* Adds the alternatives that use numerator t for n; their coefficients agree modulo b, up to the sign. Where
 * the constants do not agree, a form with t's atoms and a matching constant is used. */
static void add_shifted(extraction *x, extract_quotient *q, int t, int n, int64_t b, int sign) {
  const int64_t *from = x->form[n].c;
  int64_t constant = x->form[t].c[0], wanted, apart;
  if (sign > 0) wanted = from[0];
  else if (!ir_sub_ok(-1, from[0], &wanted)) return;
  if (!ir_sub_ok(constant, wanted, &apart)) return;
  int of = t, extra = extract_form_new(x);
  if (apart % b != 0) { /* the same atoms with a matching constant */
    if ((of = extract_form_new(x)) < 0) return;
    x->form[of] = x->form[t];
    x->form[of].c[0] = wanted;
  }
  if (extra < 0 || (sign > 0 && extract_form_equal(x, x->form[of].c, from))) return;
  int64_t *e = x->form[extra].c;
  bool fits = extract_form_add(x, e, x->form[of].c, -1) && extract_form_add(x, e, from, sign);
  if (sign < 0) fits = fits && ir_sub_ok(e[0], 1, &e[0]);
  if (!fits) return;
  for (uint32_t i = 0; i < x->atoms; i++) e[i] /= b; /* sign*u + e = q */
  if (sign < 0) { /* t = -1 - n + b*a: u = -1 - q + a, q = -u + a - 1, and e is -a so far */
    for (uint32_t i = 0; i < x->atoms; i++) e[i] = -e[i];
    if (!ir_sub_ok(e[0], 1, &e[0])) return;
  }
  add_quotient_and_remainder(
      q, (extract_alternative){.sign = (int8_t)sign, .of = (int16_t)of, .extra = (int16_t)extra, .by = b});
}

/* Adds the numerator with all residues in [0, b), and the one of the mirrored quotient. */
static void add_positive(extraction *x, extract_quotient *q) {
  const int64_t *n = x->form[q->of].c;
  bool negative = false;
  for (uint32_t i = 1; i < x->atoms; i++) negative |= n[i] < 0;
  for (int sign = 1; sign >= -1 && negative; sign -= 2) {
    int form = extract_form_new(x);
    if (form < 0) return;
    for (uint32_t i = 1; i < x->atoms; i++) x->form[form].c[i] = ir_floor_mod(sign * n[i], q->by);
    x->form[form].c[0] = sign > 0 ? n[0] : ir_floor_mod(-1 - n[0], q->by);
    add_shifted(x, q, form, q->of, q->by, sign);
  }
}

/* Tries every numerator and every needed form, which may be computed anyway. */
static void add_all_shifted(extraction *x, extract_quotient *q, int n, int64_t b) {
  const extract_quotient *first = x->quotient, *end = first + x->quotients;
  int pool[EXTRACT_NEEDS + 2 * EXTRACT_QUOTIENTS], count = 0;
  for (const extract_quotient *r = first; r < end; r++) {
    pool[count++] = r->of;
    if (r->given >= 0) pool[count++] = r->given;
  }
  for (uint32_t i = 0; i < x->needs; i++) pool[count++] = x->need[i].form;
  for (int i = 0; i < count; i++) {
    const int64_t *t = x->form[pool[i]].c;
    bool repeated = !has_only_atoms_below(x, t, q->atom) || extract_form_equal(x, t, x->form[n].c);
    for (int j = 0; j < i && !repeated; j++) repeated = pool[j] == pool[i];
    for (uint32_t j = 0; j < q->alternatives && !repeated; j++)
      repeated = q->alternative[j].by == b && extract_form_equal(x, t, x->form[q->alternative[j].of].c);
    for (int sign = 1; sign >= -1 && !repeated && q->alternatives < EXTRACT_ALTERNATIVES; sign -= 2)
      if (same_residues(x, t, x->form[n].c, b, sign)) add_shifted(x, q, pool[i], n, b, sign);
  }
}

/* n//(2*a) = n//a - (n+a)//(2*a), where `whole` is n//a: useful where both halves occur. */
static void add_other_half(extraction *x, extract_quotient *q, int whole) {
  int of = extract_form_new(x), extra = extract_form_new(x);
  if (of < 0 || extra < 0) return;
  x->form[of] = x->form[q->of];
  x->form[extra] = x->form[whole];
  int64_t *constant = &x->form[of].c[0], *left = &x->form[extra].c[0];
  if (!ir_add_ok(*constant, q->by / 2, constant) || !ir_sub_ok(*left, ir_floor_div(*constant, q->by), left))
    return;
  *constant = ir_floor_mod(*constant, q->by);
  add_quotient_and_remainder(
      q, (extract_alternative){.sign = -1, .of = (int16_t)of, .extra = (int16_t)extra, .by = q->by});
}

/* n//(2*a) + (n+a)//(2*a) = n//a: writes the later of the two quotients by the sum of both. */
static void add_sum_of_halves(extraction *x, extract_quotient *q) {
  for (uint32_t i = 0; q->by % 2 == 0 && &x->quotient[i] < q; i++) {
    const extract_quotient *r = &x->quotient[i];
    const int64_t *n = x->form[q->of].c, *m = x->form[r->of].c;
    int64_t apart;
    if (r->by != q->by || !same_residues(x, n, m, q->by, 1) || !ir_sub_ok(n[0], m[0], &apart) ||
        ir_floor_mod(apart, q->by) != q->by / 2)
      continue;
    int form = extract_form_new(x);
    if (form < 0) return;
    int64_t *e = x->form[form].c;
    if (!extract_form_add(x, e, n, 1) || !extract_form_add(x, e, m, -1) || !ir_sub_ok(e[0], q->by / 2, &e[0]))
      continue;
    for (uint32_t j = 0; j < x->atoms; j++) e[j] /= q->by;
    e[r->atom]--;
    add_quotient_and_remainder(
        q, (extract_alternative){.sign = 1, .of = r->of, .extra = (int16_t)form, .by = q->by / 2});
  }
}

/* q = (r + (n - m)/a)//b with r = m//a an earlier quotient */
static void add_nested(extraction *x, extract_quotient *q) {
  for (uint32_t i = 0; &x->quotient[i] < q; i++) {
    const extract_quotient *r = &x->quotient[i];
    if (q->by % r->by != 0 || q->by == r->by) continue;
    const int64_t *n = x->form[q->of].c, *m = x->form[r->of].c;
    int64_t apart;
    if (!same_residues(x, n, m, r->by, 1) || !ir_sub_ok(n[0], m[0], &apart) || apart % r->by != 0) continue;
    int form = extract_form_new(x);
    if (form < 0) return;
    int64_t *e = x->form[form].c;
    if (!extract_form_add(x, e, n, 1) || !extract_form_add(x, e, m, -1)) continue;
    for (uint32_t j = 0; j < x->atoms; j++) e[j] /= r->by;
    e[r->atom]++;
    add_quotient_and_remainder(
        q, (extract_alternative){.sign = 1, .of = (int16_t)form, .extra = -1, .by = q->by / r->by});
    if (q->by / r->by == 2) add_other_half(x, q, form);
  }
}

/* The gcd of all coefficients of the quotient, with a sign. */
static int64_t scale_of(const extraction *x, const extract_quotient *q) {
  int64_t scale = 0;
  for (uint32_t i = x->needs; i-- > 0;) {
    int64_t c = x->form[x->need[i].form].c[q->atom];
    if (c) scale = c < 0 ? -ir_gcd(scale, c) : ir_gcd(scale, c);
  }
  for (const extract_quotient *r = q + 1; r < x->quotient + x->quotients; r++) {
    int64_t c = x->form[r->of].c[q->atom];
    if (c) scale = scale < 0 ? -ir_gcd(scale, c) : ir_gcd(scale, c);
  }
  return scale;
}

static void add_choice(extraction *x, extract_quotient *q) {
  const extract_atom *a = &x->atom[q->atom];
  if (a->lo == INT64_MIN || a->hi == INT64_MAX || a->hi - a->lo >= EXTRACT_VALUES) return;
  int64_t scale = scale_of(x, q), product;
  if (!scale || !ir_mul_ok(scale, a->lo, &product) || !ir_mul_ok(scale, a->hi, &product)) return;
  extract_alternative alternative = {
      .how = EXTRACT_CHOICE, .sign = 1, .of = q->of, .extra = -1, .by = q->by, .scale = scale};
  alternative.lo = a->lo;
  alternative.hi = a->hi;
  add_alternative(q, alternative);
  if (scale == 1) return;
  alternative.scale = 1;
  add_alternative(q, alternative);
}

/* The only atom of a form; 0 when there is none or more than one. */
static uint32_t only_atom(const extraction *x, const int64_t *form) {
  uint32_t found = 0;
  for (uint32_t i = 1; i < x->atoms; i++)
    if (form[i]) {
      if (found) return 0;
      found = i;
    }
  return found;
}

/* q is lo, and lo + 1 where sign*x >= step: the floor of (sign*x - step + d*(lo + 1)) / d for any d that
 * covers the values on both sides of the step. */
static void add_widened(extraction *x, extract_quotient *q, int64_t d) {
  const int64_t *n = x->form[q->of].c;
  const extract_atom *a = &x->atom[q->atom];
  uint32_t at = only_atom(x, n);
  if (!at || d == q->by || a->lo == INT64_MIN || a->hi == INT64_MAX || a->hi - a->lo != 1) return;
  int64_t lo = x->atom[at].lo, hi = x->atom[at].hi, size = n[at] < 0 ? -n[at] : n[at], step, base;
  int sign = n[at] < 0 ? -1 : 1;
  if (lo == INT64_MIN || hi == INT64_MAX || size < 1 || lo < -INT32_MAX || hi > INT32_MAX || d > INT32_MAX)
    return;
  if (!ir_mul_ok(q->by, a->hi, &step) || !ir_sub_ok(step, n[0], &step) || step == INT64_MIN) return;
  step = -ir_floor_div(-step, size);
  int64_t least = sign > 0 ? lo : -hi, most = sign > 0 ? hi : -lo;
  if (step < least || step > most || d < step - least || d < most - step + 1) return;
  int form = extract_form_new(x);
  if (form < 0 || !ir_mul_ok(d, a->hi, &base) || !ir_sub_ok(base, step, &base)) return;
  x->form[form].c[at] = sign;
  x->form[form].c[0] = base;
  add_quotient_and_remainder(q, (extract_alternative){.sign = 1, .of = (int16_t)form, .extra = -1, .by = d});
}

static void add_all_widened(extraction *x, extract_quotient *q) {
  uint32_t at = only_atom(x, x->form[q->of].c);
  int64_t before = 0;
  for (uint32_t i = 0; i < x->needs && at; i++) {
    const int64_t *f = x->form[x->need[i].form].c;
    if (!f[q->atom] || !f[at] || f[q->atom] == INT64_MIN || f[q->atom] % f[at] != 0) continue;
    int64_t d = f[q->atom] / f[at] < 0 ? -(f[q->atom] / f[at]) : f[q->atom] / f[at];
    if (d >= 2 && d != before && q->alternatives + 2 <= EXTRACT_ALTERNATIVES) add_widened(x, q, d);
    before = d;
  }
}

void extract_find_alternatives(extraction *x) {
  for (uint32_t i = 0; i < x->quotients; i++) {
    extract_quotient *q = &x->quotient[i];
    q->alternatives = 0;
    add_quotient_and_remainder(q, (extract_alternative){.sign = 1, .of = q->of, .extra = -1, .by = q->by});
    add_choice(x, q);
    add_all_widened(x, q);
    add_nested(x, q);
    add_sum_of_halves(x, q);
    add_positive(x, q);
    uint32_t written = q->alternatives;
    add_all_shifted(x, q, q->of, q->by);
    for (uint32_t j = 2; j < written; j += 1)
      if (q->alternative[j].how == EXTRACT_REMAINDER && q->alternative[j].extra < 0)
        add_all_shifted(x, q, q->alternative[j].of, q->alternative[j].by);
  }
}
