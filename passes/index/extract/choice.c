/* The sums to be computed once each quotient has an alternative. */
#include "impl.h"

#include <string.h>

static const extract_alternative *alternative_of(const extraction *x, const extract_plan *p,
                                                 uint32_t quotient) {
  return &x->quotient[quotient].alternative[p->alternative[quotient]];
}

/* Replaces each quotient in w by its alternative, from the last quotient to the first. */
static bool substitute_quotients(const extraction *x, const extract_plan *p, int64_t *w) {
  for (uint32_t i = x->quotients; i-- > 0;) {
    const extract_quotient *q = &x->quotient[i];
    const extract_alternative *alternative = alternative_of(x, p, i);
    int64_t c = w[q->atom], times;
    if (c == 0) continue;
    if (!ir_mul_ok(c, alternative->sign, &times)) return false;
    if (alternative->extra >= 0 && !extract_form_add(x, w, x->form[alternative->extra].c, c)) return false;
    if (alternative->how != EXTRACT_QUOTIENT) {
      int64_t part = alternative->how == EXTRACT_REMAINDER ? alternative->by : alternative->scale;
      if (times % part != 0 || times == INT64_MIN) return false;
      times /= part;
      if (alternative->how == EXTRACT_REMAINDER) {
        if (!extract_form_add(x, w, x->form[alternative->of].c, times)) return false;
        times = -times;
      }
    }
    w[q->atom] = times;
  }
  return true;
}

typedef struct draft {
  int64_t need[EXTRACT_NEEDS][EXTRACT_ATOMS], quotient[EXTRACT_QUOTIENTS][EXTRACT_ATOMS];
  bool live[EXTRACT_QUOTIENTS];
} draft;

static void note_used(const extraction *x, const int64_t *form, bool *used) {
  for (uint32_t i = 1; i < x->atoms; i++) used[i] |= form[i] != 0;
}

/* Finds the quotients that the needs use, directly or through numerators. first: the numerators are not made
 * yet. */
static bool find_live(const extraction *x, const extract_plan *p, draft *d, bool first) {
  bool used[EXTRACT_ATOMS] = {false};
  for (uint32_t i = 0; i < x->needs; i++) note_used(x, d->need[i], used);
  for (uint32_t i = x->quotients; i-- > 0;) {
    d->live[i] = used[x->quotient[i].atom];
    if (!d->live[i]) continue;
    if (first) {
      memcpy(d->quotient[i], x->form[alternative_of(x, p, i)->of].c, x->atoms * sizeof d->quotient[i][0]);
      if (!substitute_quotients(x, p, d->quotient[i])) return false;
    }
    note_used(x, d->quotient[i], used);
  }
  return true;
}

static bool same_value(const extraction *x, const extract_plan *p, const draft *d, uint32_t i, uint32_t j) {
  const extract_alternative *a = alternative_of(x, p, i), *b = alternative_of(x, p, j);
  return d->live[i] && d->live[j] && a->how == b->how && a->by == b->by && a->scale == b->scale &&
         (a->how != EXTRACT_CHOICE || (a->lo == b->lo && a->hi == b->hi)) &&
         extract_form_equal(x, d->quotient[i], d->quotient[j]);
}

/* Two quotients may have become the same expression: their terms are merged, and may cancel. */
static bool collect_equals(const extraction *x, const extract_plan *p, draft *d) {
  bool changed = false;
  for (uint32_t j = 1; j < x->quotients; j++)
    for (uint32_t i = 0; i < j; i++) {
      if (!same_value(x, p, d, i, j)) continue;
      uint32_t to = x->quotient[i].atom, from = x->quotient[j].atom;
      for (uint32_t k = 0; k < x->needs + x->quotients; k++) {
        int64_t *form = k < x->needs ? d->need[k] : d->quotient[k - x->needs];
        if (k >= x->needs && !d->live[k - x->needs]) continue;
        if (!ir_add_ok(form[to], form[from], &form[to])) return false;
        form[from] = 0;
      }
      d->live[j] = false;
      changed = true;
    }
  return !changed || find_live(x, p, d, false);
}

static bool substitute_all(const extraction *x, const extract_plan *p, draft *d) {
  for (uint32_t i = 0; i < x->needs; i++) {
    memcpy(d->need[i], x->form[x->need[i].form].c, x->atoms * sizeof d->need[i][0]);
    if (!substitute_quotients(x, p, d->need[i])) return false;
  }
  return find_live(x, p, d, true) && collect_equals(x, p, d);
}

/* Is this quotient's numerator only compared with thresholds, so that its constant is free? */
static bool compares(const extraction *x, const extract_plan *p, uint32_t quotient) {
  return alternative_of(x, p, quotient)->how == EXTRACT_CHOICE;
}

/* Subtracts `by` times the coefficient of an atom from the constant of each form, if fewer constants remain
 * to be added. own: the change in the atom's own numerator, 1 when it gains a constant, -1 when it loses
 * one. */
static bool move_constants(const extraction *x, const extract_plan *p, draft *d, uint32_t atom, int64_t by,
                           int own) {
  int64_t part, moved;
  for (int pass = 0; pass < 2; pass++) {
    int balance = own;
    for (uint32_t i = 0; i < x->needs + x->quotients; i++) {
      uint32_t k = i - x->needs;
      bool need = i < x->needs, is_free = need ? x->need[i].compare : !d->live[k] || compares(x, p, k);
      int64_t *form = need ? d->need[i] : d->quotient[k];
      if ((!need && !d->live[k]) || form[atom] == 0) continue;
      if (!ir_mul_ok(form[atom], by, &part) || !ir_sub_ok(form[0], part, &moved)) return false;
      if (!is_free) balance += (moved != 0) - (form[0] != 0);
      if (pass) form[0] = moved;
    }
    if (balance >= 0) return false;
  }
  return true;
}

/* Moves a constant that is added to multiples of a quotient into its numerator, or into the values of a
 * choice. */
static void fold_constants(const extraction *x, extract_plan *p, draft *d) {
  for (uint32_t i = 0; i < x->quotients; i++) {
    const extract_alternative *alternative = alternative_of(x, p, i);
    uint32_t atom = x->quotient[i].atom;
    p->offset[i] = 0;
    if (!d->live[i] || alternative->how == EXTRACT_REMAINDER) continue;
    for (uint32_t j = 0; j < x->needs; j++) {
      const int64_t *form = d->need[j];
      int64_t by, own = 0, shift = 0;
      if (x->need[j].compare || form[atom] == 0 || form[0] == 0 || form[0] == INT64_MIN ||
          form[0] % form[atom])
        continue;
      by = form[0] / form[atom];
      bool choice = alternative->how == EXTRACT_CHOICE;
      if (!choice && (!ir_mul_ok(by, alternative->by, &shift) || !ir_add_ok(d->quotient[i][0], shift, &own)))
        continue;
      int gain = choice ? 0 : (own != 0) - (d->quotient[i][0] != 0);
      if (!move_constants(x, p, d, atom, by, gain)) continue;
      if (choice) p->offset[i] = by;
      else d->quotient[i][0] = own;
      break;
    }
  }
}

/* The sum that computes a form, made if new; compared: up to constant, sign and scale. */
static bool use_sum(const extraction *x, extract_plan *p, const int64_t *form, bool compared,
                    extract_use *out) {
  int64_t w[EXTRACT_ATOMS], scale = 1;
  memcpy(w, form, x->atoms * sizeof *w);
  for (uint32_t i = 0; i < x->atoms; i++)
    if (w[i] == INT64_MIN) return false;
  if (compared) {
    scale = 0;
    w[0] = 0;
    int sign = 0;
    for (uint32_t i = 1; i < x->atoms; i++) {
      scale = ir_gcd(scale, w[i]);
      if (!sign && w[i]) sign = w[i] < 0 ? -1 : 1;
    }
    scale = scale ? scale * sign : 1;
    for (uint32_t i = 1; i < x->atoms && scale != 1; i++) w[i] /= scale;
  }
  *out = (extract_use){-1, scale, compared ? form[0] : 0};
  for (uint32_t i = 0; i < p->sums && out->sum < 0; i++)
    if (p->sum[i].compared == compared && extract_form_equal(x, p->sum[i].c, w)) out->sum = (int16_t)i;
  if (out->sum < 0) {
    if (p->sums + EXTRACT_TEMPS >= EXTRACT_SUMS) return false;
    extract_sum *s = &p->sum[p->sums];
    memcpy(s->c, w, x->atoms * sizeof *w);
    memset(s->c + x->atoms, 0, EXTRACT_TEMPS * sizeof *w);
    s->compared = compared;
    s->users = 0;
    out->sum = (int16_t)p->sums++;
  }
  p->sum[out->sum].users++;
  return true;
}

bool extract_plan_make(const extraction *x, extract_plan *p, int limit) {
  draft d;
  p->sums = p->temps = 0;
  if (!substitute_all(x, p, &d)) return false;
  int cost = 0;
  for (uint32_t i = 0; i < x->quotients; i++)
    if (d.live[i]) cost += extract_cost_alternative(x->costs, alternative_of(x, p, i));
  if (cost > limit) return false;
  fold_constants(x, p, &d);
  for (uint32_t i = 0; i < x->needs; i++)
    if (!use_sum(x, p, d.need[i], x->need[i].compare, &p->need[i])) return false;
  for (uint32_t i = 0; i < x->quotients; i++) {
    p->quotient[i].sum = -1;
    if (d.live[i] && !use_sum(x, p, d.quotient[i], compares(x, p, i), &p->quotient[i])) return false;
  }
  return true;
}

/* Can the positive terms of the sum be compared with the negated negative ones, instead of the sum with a
 * constant? */
static bool splits(const extraction *x, const extract_plan *p, const extract_use *u, int op, int64_t rest) {
  const extract_sum *s = &p->sum[u->sum];
  bool plus = false, minus = false, equality = op == IR_OP_EQ || op == IR_OP_NE;
  if (s->users != 1 || (u->scale != 1 && u->scale != -1) || (rest != 0 && (equality || rest != -1)))
    return false;
  for (uint32_t i = 1; i < x->atoms + p->temps; i++) plus |= s->c[i] > 0, minus |= s->c[i] < 0;
  return plus && minus;
}

bool extract_need_splits(const extraction *x, const extract_plan *p, uint32_t need) {
  const extract_use *u = &p->need[need];
  return x->need[need].compare && splits(x, p, u, x->need[need].compare, u->rest);
}

bool extract_choice_splits(const extraction *x, const extract_plan *p, uint32_t quotient) {
  const extract_use *u = &p->quotient[quotient];
  const extract_alternative *alternative = alternative_of(x, p, quotient);
  int64_t rest;
  return alternative->how == EXTRACT_CHOICE && alternative->hi - alternative->lo == 1 &&
         ir_mul_ok(alternative->hi, alternative->by, &rest) && ir_sub_ok(u->rest, rest, &rest) &&
         splits(x, p, u, IR_OP_LT, rest);
}
