/* Sums of quotients that are affine although no single quotient is: guess, then prove.
 *
 * The sum is evaluated at a few sample points: the corners of the atoms' intervals, and one step inwards from
 * each corner along each atom, as far as the facts allow these points. An affine form is fitted to the
 * samples; its slope is 0 in directions that they do not determine. The guess holds if the difference is
 * proven to be 0, by bounds from both sides (linear_system.c). All quotients of a sum are tried together,
 * then each pair and, under facts, each alone. */
#include "impl.h"

enum {
  SAMPLES = 32, /* sample points: 4 * 8 for three columns, a corner and a step along each; 2 * 9 for eight */
  VARY = 8,     /* columns whose interval has more than one value: of more, no form is guessed */
  /* columns: all corners are sampled; with more, the two outermost, so that SAMPLES suffice */
  ALL_CORNERS = 3,
};

typedef struct sample_points {
  pass_system system;
  bool free[PASS_COLUMNS]; /* columns that are not quotients of others */
  uint32_t vary, column[VARY];
  uint32_t count;
  int64_t value[SAMPLES][PASS_COLUMNS];
} sample_points;

static bool is_quotient(const ir_graph *g, ir_ref atom, int64_t *d) {
  const ir_node *n = ir_get(g, atom);
  return n->op == IR_OP_FLOORDIV && ir_is_const(g, n->src[1], d);
}

/* sample points */

/* The form's value at a point, without its constant. False: it has an atom without a column, or overflows. */
static bool value_of(const pass_system *s, const int64_t *value, const pass_linear *form, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < form->count; i++) {
    int64_t part;
    int at = pass_column_of(s, form->term[i].atom);
    if (at < 0 || !ir_mul_ok(value[at], form->term[i].coef, &part) || !ir_add_ok(*out, part, out))
      return false;
  }
  return true;
}

/* Computes the values of the quotient columns from those of the free columns. False: one cannot be
 * computed. */
static bool work_out(const ir_graph *g, const sample_points *of, int64_t *value) {
  const pass_system *s = &of->system;
  bool known[PASS_COLUMNS];
  uint32_t left = 0;
  for (uint32_t i = 0; i < s->atoms; i++) known[i] = of->free[i], left += !known[i];
  for (uint32_t before = left + 1; left && left < before;) {
    before = left;
    for (uint32_t i = 0; i < s->atoms; i++) {
      int64_t d, sum;
      pass_linear numerator;
      if (known[i] || !is_quotient(g, s->atom[i], &d)) continue;
      pass_linear_read(g, ir_src(g, s->atom[i], 0), &numerator);
      bool ready = true;
      for (uint32_t k = 0; k < numerator.count && ready; k++) {
        int at = pass_column_of(s, numerator.term[k].atom);
        ready = at >= 0 && known[at];
      }
      if (!ready || !value_of(s, value, &numerator, &sum) || !ir_add_ok(sum, numerator.constant, &sum))
        continue;
      value[i] = ir_floor_div(sum, d);
      known[i] = true;
      left--;
    }
  }
  return left == 0;
}

static bool is_allowed(pass_build *b, const sample_points *of, const int64_t *value) {
  for (uint32_t i = 0; b->facts && i < b->facts->count; i++) {
    const pass_fact *f = &b->facts->fact[i];
    pass_linear form;
    int64_t x;
    pass_linear_read(b->g, f->node, &form);
    if (value_of(&of->system, value, &form, &x) && (x < f->in.lo || x > f->in.hi)) return false;
  }
  return true;
}

/* Adds a sample: the corner whose bits choose the low or high end per varying column, moved one step inwards
 * along column number `along` (none where along >= vary), unless the facts exclude it. */
static void add_sample(pass_build *b, sample_points *to, uint32_t corner, uint32_t along) {
  const pass_system *s = &to->system;
  if (to->count == SAMPLES) return;
  int64_t *value = to->value[to->count];
  for (uint32_t i = 0; i < s->atoms; i++) value[i] = s->in[i].lo;
  for (uint32_t k = 0; k < to->vary; k++) {
    bool high = corner >> k & 1;
    pass_interval in = s->in[to->column[k]];
    value[to->column[k]] = high ? in.hi - (k == along) : in.lo + (k == along);
  }
  if (work_out(b->g, to, value) && is_allowed(b, to, value)) to->count++;
}

static bool sample_points_of(pass_build *b, const pass_linear *of, sample_points *out) {
  int64_t d;
  out->vary = out->count = 0;
  if (!pass_system_of(b, of, &out->system)) return false;
  for (uint32_t i = 0; i < out->system.atoms; i++) {
    pass_interval in = out->system.in[i];
    out->free[i] = !is_quotient(b->g, out->system.atom[i], &d);
    if (!out->free[i] || in.lo == in.hi) continue;
    if (in.lo == INT64_MIN || in.hi == INT64_MAX || out->vary == VARY) return false;
    out->column[out->vary++] = i;
  }
  uint32_t most = (1u << out->vary) - 1, stride = out->vary > ALL_CORNERS ? most : 1;
  if (!b->facts) most = 0;
  for (uint32_t corner = 0; corner <= most; corner += stride)
    for (uint32_t k = 0; k <= out->vary; k++) add_sample(b, out, corner, k == 0 ? VARY : k - 1);
  return out->count > 0;
}

/* the affine form through the samples */

/* sum of coef * slope = value */
typedef struct equation {
  int64_t coef[VARY], value;
} equation;

/* to = to*a - by*c, divided by the gcd of its coefficients; false: too big */
static bool eliminate_unknown(equation *to, int64_t a, const equation *by, int64_t c) {
  int64_t x, y, common = 0;
  for (uint32_t k = 0; k <= VARY; k++) {
    int64_t *at = k < VARY ? &to->coef[k] : &to->value;
    if (!ir_mul_ok(*at, a, &x) || !ir_mul_ok(k < VARY ? by->coef[k] : by->value, c, &y) ||
        !ir_sub_ok(x, y, at))
      return false;
    common = ir_gcd(common, *at);
  }
  for (uint32_t k = 0; k < VARY && common > 1; k++) to->coef[k] /= common;
  if (common > 1) to->value /= common;
  return true;
}

/* The form's slope along each varying column by Gaussian elimination; 0 where the samples do not determine
 * it. False: no affine form with integer slopes passes through the samples. */
static bool slopes_of(const sample_points *of, const pass_linear *form, int64_t *slope) {
  equation pivot[VARY];
  bool has_pivot[VARY] = {false};
  int64_t first, here;
  if (!value_of(&of->system, of->value[0], form, &first)) return false;
  for (uint32_t l = 1; l < of->count; l++) {
    equation e = {0};
    if (!value_of(&of->system, of->value[l], form, &here) || !ir_sub_ok(here, first, &e.value)) return false;
    for (uint32_t k = 0; k < of->vary; k++)
      e.coef[k] = of->value[l][of->column[k]] - of->value[0][of->column[k]];
    uint32_t k = 0;
    for (; k < of->vary && (e.coef[k] == 0 || has_pivot[k]); k++)
      if (e.coef[k] != 0 && !eliminate_unknown(&e, pivot[k].coef[k], &pivot[k], e.coef[k])) return false;
    if (k == of->vary && e.value != 0) return false;
    if (k < of->vary) has_pivot[k] = true, pivot[k] = e;
  }
  for (uint32_t k = of->vary; k-- > 0;) {
    slope[k] = 0;
    if (!has_pivot[k]) continue;
    for (uint32_t j = k + 1; j < of->vary; j++) {
      int64_t part;
      if (!ir_mul_ok(pivot[k].coef[j], slope[j], &part) || !ir_sub_ok(pivot[k].value, part, &pivot[k].value))
        return false;
    }
    if (pivot[k].value % pivot[k].coef[k] != 0) return false;
    slope[k] = pivot[k].value / pivot[k].coef[k];
  }
  return true;
}

/* The affine form that agrees with `form` at the samples. */
static bool fit_affine(const ir_graph *g, const sample_points *of, const pass_linear *form,
                       pass_linear *out) {
  int64_t slope[VARY], part;
  pass_linear_const(out, 0);
  if (!value_of(&of->system, of->value[0], form, &out->constant) || !slopes_of(of, form, slope)) return false;
  for (uint32_t k = 0; k < of->vary; k++) {
    uint32_t i = of->column[k];
    if (!pass_linear_term(g, out, of->system.atom[i], slope[k]) ||
        !ir_mul_ok(slope[k], of->value[0][i], &part) || !ir_sub_ok(out->constant, part, &out->constant))
      return false;
  }
  return true;
}

/* Replaces the terms of the form whose bits are set in `chosen` by one affine form, if their sum is proven
 * equal to it. */
static bool put_affine(pass_build *b, pass_linear *in, const sample_points *of, uint64_t chosen) {
  pass_linear part, affine, apart, next = *in;
  pass_linear_const(&part, 0);
  for (uint32_t i = 0; i < in->count; i++)
    if (chosen >> i & 1) pass_linear_term(b->g, &part, in->term[i].atom, in->term[i].coef);
  if (!fit_affine(b->g, of, &part, &affine)) return false;
  apart = part;
  if (!pass_linear_add(b->g, &apart, &affine, -1)) return false;
  pass_interval r = pass_linear_bounds(b, &apart);
  if (r.lo > 0 || r.hi < 0) return false;
  if (r.lo < 0 && !pass_linear_never(b, &apart, r.lo, -1)) return false;
  if (r.hi > 0 && !pass_linear_never(b, &apart, 1, r.hi)) return false;
  if (!pass_linear_add(b->g, &next, &part, -1) || !pass_linear_add(b->g, &next, &affine, 1)) return false;
  *in = next;
  return true;
}

bool pass_linear_affine(pass_build *b, pass_linear *in) {
  /* quotients of which pairs are tried [4 in the tests]: 15 pairs, each as costly as all at once */
  enum { MAX_PAIRED = 6 };
  uint32_t at[PASS_TERMS], count = 0;
  uint64_t all = 0;
  int64_t d;
  sample_points seen;
  for (uint32_t i = 0; i < in->count; i++)
    if (is_quotient(b->g, in->term[i].atom, &d)) at[count++] = i, all |= (uint64_t)1 << i;
  if (count == 0 || pass_budget_exhausted(b->g) || (count == 1 && !b->facts) ||
      !sample_points_of(b, in, &seen))
    return false;
  if (put_affine(b, in, &seen, all)) return true;
  for (uint32_t i = 0; i < count && count <= MAX_PAIRED && count > 1; i++) {
    if (b->facts && put_affine(b, in, &seen, (uint64_t)1 << at[i])) return true;
    for (uint32_t j = i + 1; j < count && count > 2; j++)
      if (put_affine(b, in, &seen, (uint64_t)1 << at[i] | (uint64_t)1 << at[j])) return true;
  }
  return false;
}
