/* Quotients that are affine together, though no one of them is: guess and prove.
 *
 * The sum of some quotients is worked out at one corner of the atoms' intervals and one step from it along
 * each atom; that fixes the only affine form it can be. The guess holds when the difference is bounded by 0
 * from both sides (index_system.c). Tried are all quotients of a sum, each pair, and under facts each alone.
 */
#include "index_impl.h"

typedef struct corner {
  pass_system system;
  int64_t value[PASS_COLUMNS]; /* of each column */
  bool free[PASS_COLUMNS];     /* no quotient of others */
} corner;

static bool is_quotient(const ir_graph *g, ir_ref atom, int64_t *d) {
  const ir_node *n = ir_get(g, atom);
  return n->op == IR_OP_FLOORDIV && ir_is_const(g, n->src[1], d);
}

/* The values of the quotients where those of the free columns stand. False: one cannot be worked out. */
static bool work_out(const ir_graph *g, corner *c) {
  const pass_system *s = &c->system;
  bool known[PASS_COLUMNS];
  uint32_t left = 0;
  for (uint32_t i = 0; i < s->atoms; i++) known[i] = c->free[i], left += !known[i];
  for (uint32_t before = left + 1; left && left < before;) {
    before = left;
    for (uint32_t i = 0; i < s->atoms; i++) {
      int64_t d, sum, part;
      pass_linear numerator;
      if (known[i]) continue;
      is_quotient(g, s->atom[i], &d);
      pass_linear_read(g, ir_src(g, s->atom[i], 0), &numerator);
      bool ready = true;
      sum = numerator.constant;
      for (uint32_t k = 0; k < numerator.count && ready; k++) {
        int at = pass_column_of(s, numerator.term[k].atom);
        ready = at >= 0 && known[at] && ir_mul_ok(c->value[at], numerator.term[k].coef, &part) &&
                ir_add_ok(sum, part, &sum);
      }
      if (!ready) continue;
      c->value[i] = ir_floor_div(sum, d);
      known[i] = true;
      left--;
    }
  }
  return left == 0;
}

static bool value_of(const corner *c, const pass_linear *form, int64_t *out) {
  *out = 0;
  for (uint32_t i = 0; i < form->count; i++) {
    int64_t part;
    int at = pass_column_of(&c->system, form->term[i].atom);
    if (at < 0 || !ir_mul_ok(c->value[at], form->term[i].coef, &part) || !ir_add_ok(*out, part, out))
      return false;
  }
  return true;
}

static bool set_corner(pass_build *b, const pass_linear *of, corner *c) {
  int64_t d;
  if (!pass_system_of(b, of, &c->system)) return false;
  for (uint32_t i = 0; i < c->system.atoms; i++) {
    c->free[i] = !is_quotient(b->g, c->system.atom[i], &d);
    c->value[i] = c->system.in[i].lo;
    if (c->free[i] && (c->system.in[i].lo == INT64_MIN || c->system.in[i].hi == INT64_MAX)) return false;
  }
  return true;
}

/* The affine form that agrees with this one at the corner and one step from it. */
static bool guess(const ir_graph *g, corner *c, const pass_linear *form, pass_linear *out) {
  const pass_system *s = &c->system;
  int64_t at_corner, stepped, slope, part;
  pass_linear_const(out, 0);
  if (!work_out(g, c) || !value_of(c, form, &at_corner)) return false;
  out->constant = at_corner;
  for (uint32_t i = 0; i < s->atoms; i++) {
    if (!c->free[i] || s->in[i].lo == s->in[i].hi) continue;
    c->value[i]++;
    bool done = work_out(g, c) && value_of(c, form, &stepped);
    c->value[i]--;
    if (!done || !ir_sub_ok(stepped, at_corner, &slope) || !pass_linear_term(out, s->atom[i], slope) ||
        !ir_mul_ok(slope, s->in[i].lo, &part) || !ir_sub_ok(out->constant, part, &out->constant))
      return false;
  }
  return work_out(g, c);
}

/* The quotients of the form that `chosen` names are one affine form: put it in their place. */
static bool put_affine(pass_build *b, pass_linear *in, corner *c, uint64_t chosen) {
  pass_linear part, affine, apart, next = *in;
  pass_linear_const(&part, 0);
  for (uint32_t i = 0; i < in->count; i++)
    if (chosen >> i & 1) pass_linear_term(&part, in->term[i].atom, in->term[i].coef);
  if (!guess(b->g, c, &part, &affine)) return false;
  apart = part;
  if (!pass_linear_add(&apart, &affine, -1)) return false;
  pass_interval r = pass_linear_bounds(b, &apart);
  if (r.lo > 0 || r.hi < 0) return false;
  if (r.lo < 0 && !pass_linear_never(b, &apart, r.lo, -1)) return false;
  if (r.hi > 0 && !pass_linear_never(b, &apart, 1, r.hi)) return false;
  if (!pass_linear_add(&next, &part, -1) || !pass_linear_add(&next, &affine, 1)) return false;
  *in = next;
  return true;
}

bool pass_linear_affine(pass_build *b, pass_linear *in) {
  enum { MOST = 6 }; /* quotients whose pairs are tried */
  uint32_t at[PASS_TERMS], count = 0;
  uint64_t all = 0;
  int64_t d;
  corner c;
  for (uint32_t i = 0; i < in->count; i++)
    if (is_quotient(b->g, in->term[i].atom, &d)) at[count++] = i, all |= (uint64_t)1 << i;
  if (count == 0 || pass_tired(b->g) || (count == 1 && !b->facts) || !set_corner(b, in, &c)) return false;
  if (put_affine(b, in, &c, all)) return true;
  for (uint32_t i = 0; i < count && count <= MOST && count > 1; i++) {
    if (b->facts && put_affine(b, in, &c, (uint64_t)1 << at[i])) return true;
    for (uint32_t j = i + 1; j < count && count > 2; j++)
      if (put_affine(b, in, &c, (uint64_t)1 << at[i] | (uint64_t)1 << at[j])) return true;
  }
  return false;
}
