/* Other quotients and remainders for the one in an index T = L + alpha*q, q = N//d.
 *
 *   remainder  T = R + s*((U - t)%C + t), C = |alpha|, where W = s*(T - R) lies in [t, t + C): W and U agree
 *              modulo C, since alpha*q vanishes there
 *   quotient   T = R + alpha*((N + d*M)//d) = R + alpha*(N//d + M), where L = R + alpha*M; and so for
 *              -((d-1 - N)//d), which is N//d, and for a multiple (k*N)//(k*d)
 *
 * R takes from L the terms that do not occur in N, and of the others all, none, or all but one multiple. */
#include "cheapest.h"

enum {
  SHARED = 3,  /* terms of N that may be divided between U and R [2 in tests] */
  CHOICES = 9, /* for each of them */
};

typedef struct quotient_term {
  ir_ref atom;
  int64_t alpha, d;
  pass_linear numerator, other; /* N, L */
  int operations;               /* of N and L as they were */
} quotient_term;

static ir_ref binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  return a && b ? ir_make(g, op, IR_INDEX, 0, (ir_ref[]){a, b}, 2) : 0;
}

static bool is_small(const pass_linear *form) {
  if (form->constant > CHEAPEST_LARGEST || form->constant < -CHEAPEST_LARGEST) return false;
  for (uint32_t i = 0; i < form->count; i++)
    if (form->term[i].coef > CHEAPEST_LARGEST || form->term[i].coef < -CHEAPEST_LARGEST) return false;
  return true;
}

/* Divides the form by a number that all of it is a multiple of; false where it is not, or is a constant. */
static bool divide_all(pass_linear *form, int64_t by) {
  if (by == 1 || form->count == 0 || form->constant % by != 0 || pass_linear_content(form) % by != 0)
    return false;
  form->constant /= by;
  for (uint32_t i = 0; i < form->count; i++) form->term[i].coef /= by;
  return true;
}

/* Negates a form whose terms are all negative; false where one is not. */
static bool negate_negative(pass_linear *form) {
  bool negative = form->count > 0 && form->constant <= 0;
  for (uint32_t i = 0; i < form->count; i++) negative &= form->term[i].coef < 0;
  return negative && pass_linear_scale(form, -1);
}

/* outer + scale*part; all: scale*(outer + part); below: with -outer, and scale is positive. */
static ir_ref add_scaled(ir_graph *g, ir_ref outer, int64_t scale, bool all, bool below, ir_ref part) {
  int64_t value = 0, size = scale < 0 ? -scale : scale;
  bool constant = ir_is_const(g, outer, &value);
  ir_ref whole = size == 1 || all ? part : binary(g, IR_OP_MUL, part, ir_index(g, size));
  if (scale < 0)
    whole = constant && value == 0 && size != 1 && !all ? binary(g, IR_OP_MUL, part, ir_index(g, scale))
                                                        : binary(g, IR_OP_SUB, outer, whole);
  else if (below) whole = binary(g, IR_OP_SUB, whole, outer);
  else if (!constant) whole = binary(g, IR_OP_ADD, outer, whole);
  else if (value) whole = binary(g, IR_OP_ADD, whole, outer);
  return all ? binary(g, IR_OP_MUL, whole, ir_index(g, size)) : whole;
}

/* Prices outer + scale*(inner op by + beside); beside NULL: 0. */
static bool offer(cheapest_search *s, ir_op op, const pass_linear *inner, int64_t by, int64_t scale,
                  const pass_linear *beside, const pass_linear *outer) {
  ir_graph *g = s->g;
  int64_t size = scale < 0 ? -scale : scale;
  pass_linear around = *outer;
  bool all = divide_all(&around, size), below = scale > 0 && negate_negative(&around);
  int least = 5 + extract_form_operations(inner) + extract_form_operations(&around) + (size != 1) - 2;
  if (least >= s->cost) return true;
  ir_ref zero = ir_index(g, 0), parts[] = {pass_linear_plain(g, inner), pass_linear_plain(g, &around),
                                           s->best_valid, beside ? pass_linear_plain(g, beside) : zero};
  if (!parts[0] || !parts[1] || !parts[3] || !pass_extract(g, &pass_print_costs, parts, 4))
    return g->error->status == IR_OK;
  ir_ref part = binary(g, op, parts[0], ir_index(g, by));
  if (part && parts[3] != zero) part = binary(g, IR_OP_ADD, part, parts[3]);
  ir_ref whole = part ? add_scaled(g, parts[1], scale, all, below, part) : 0;
  return whole && cheapest_keep(s, whole, parts[2]);
}

/* The residue of least magnitude. */
static int64_t centred(int64_t value, int64_t by) {
  int64_t r = ir_floor_mod(value, by);
  return r > by - r ? r - by : r;
}

/* U, which agrees with W modulo `by`: residues of least magnitude, or none negative. */
static bool residues(ir_graph *g, const pass_linear *w, int64_t by, bool positive, pass_linear *u) {
  pass_linear_const(u, 0);
  for (uint32_t i = 0; i < w->count; i++) {
    int64_t c = w->term[i].coef;
    if (!pass_linear_term(g, u, w->term[i].atom, positive ? ir_floor_mod(c, by) : centred(c, by)))
      return false;
  }
  return true;
}

/* Prices R + sign*((U - t)%by + t), where W is in an interval that allows some t, and R has this constant. */
static bool offer_shifts(cheapest_search *s, pass_linear *u, pass_linear *r, int64_t by, int sign,
                         pass_interval in) {
  int64_t lowest = in.hi - by + 1, outside = r->constant, wanted[] = {0, -sign * outside, in.lo};
  for (int k = 0; k < 3; k++) { /* t so that no constant is added inside, or none outside */
    int64_t t = wanted[k];
    bool repeated = (k > 0 && t == wanted[0]) || (k > 1 && t == wanted[1]);
    if (repeated || t < lowest || t > in.lo) continue;
    u->constant = ir_floor_mod(-t, by);
    r->constant = outside + sign * t;
    if (!offer(s, IR_OP_MOD, u, by, sign, NULL, r)) return false;
    u->constant = -t;
    if (t > 0 && !offer(s, IR_OP_MOD, u, by, sign, NULL, r)) return false;
  }
  r->constant = outside;
  return true;
}

/* Prices R + sign*((U - t)%by + t) where W allows some t. */
static bool offer_remainder(cheapest_search *s, pass_build *b, const pass_linear *whole,
                            const pass_linear *outer, int64_t by, int sign) {
  pass_linear w = *whole, u, positive, r = *outer;
  ir_graph *g = s->g;
  if (!pass_linear_add(g, &w, outer, -1) || !pass_linear_scale(&w, sign) || !is_small(&w)) return true;
  r.constant += sign * w.constant, w.constant = 0;
  if (!residues(g, &w, by, false, &u) || !residues(g, &w, by, true, &positive) || u.count == 0) return true;
  int around = 5 + extract_form_operations(&r) - 2, least = extract_form_operations(&u),
      other = extract_form_operations(&positive);
  if (around + (other < least ? other : least) - 1 >= s->cost) return true; /* 1: a factor of all terms */
  pass_interval in;
  bool sampled = cheapest_sampled_interval(s->samples, &w, s->sampled_valid, &in);
  if (s->proofs == 0 || (sampled && in.hi - in.lo >= by)) return true;
  s->proofs--;
  in = cheapest_bounds(b, &w, in, by);
  if (in.lo < -CHEAPEST_LARGEST || in.hi > CHEAPEST_LARGEST || in.hi - in.lo >= by) return true;
  return offer_shifts(s, &u, &r, by, sign, in) &&
         (pass_linear_same(&u, &positive) || offer_shifts(s, &positive, &r, by, sign, in));
}

/* The coefficients that R may have of an atom with coefficient `has` in T; the last, of which 2*R = has
 * modulo `by`, make U = R or U = -R. */
static uint32_t choices_of(int64_t has, int64_t by, int64_t *out) {
  const int64_t all[CHOICES] = {has,
                                0,
                                has - 1,
                                has + 1,
                                1,
                                -1,
                                has % 2 ? has : has / 2,
                                (has + by) % 2 ? has : (has + by) / 2,
                                (has - by) % 2 ? has : (has - by) / 2};
  uint32_t count = 0;
  for (uint32_t i = 0; i < CHOICES; i++) {
    uint32_t k = 0;
    while (k < count && out[k] != all[i]) k++;
    if (k == count) out[count++] = all[i];
  }
  return count;
}

/* Tries to take a choice from each of the atoms that N and L share. */
static bool try_remainders(cheapest_search *s, pass_build *b, const pass_linear *whole,
                           const quotient_term *q) {
  int64_t by = q->alpha < 0 ? -q->alpha : q->alpha, choice[SHARED][CHOICES];
  uint32_t shared = q->numerator.count < SHARED ? q->numerator.count : SHARED, counts[SHARED],
           at[SHARED] = {0};
  if (by < 2) return true;
  for (uint32_t i = 0; i < shared; i++)
    counts[i] = choices_of(pass_linear_coef(whole, q->numerator.term[i].atom), by, choice[i]);
  for (;;) {
    pass_linear outer = q->other;
    outer.constant = 0;
    bool fits = true;
    for (uint32_t i = 0; i < shared && fits; i++) {
      ir_ref atom = q->numerator.term[i].atom;
      fits = pass_linear_term(s->g, &outer, atom, choice[i][at[i]] - pass_linear_coef(whole, atom));
    }
    for (int sign = 1; sign >= -1 && fits; sign -= 2)
      if (!offer_remainder(s, b, whole, &outer, by, sign)) return false;
    uint32_t i = 0;
    while (i < shared && ++at[i] == counts[i]) at[i++] = 0;
    if (i == shared) return true;
  }
}

/* How much of a coefficient of L goes into the quotient, or beside it: none, or what is closest to all. */
enum { NONE, DOWN, UP, MOVES };

/* One step of a counter with MOVES values a digit; false: it has gone round. */
static bool next_moves(int *at, uint32_t count) {
  uint32_t i = 0;
  while (i < count && ++at[i] == MOVES) at[i++] = NONE;
  return i < count;
}

/* Is a part of L worth a price? Inside, where an operation is saved, or N has no constant;
 * on either side where N is what remains outside. */
static bool promises(const quotient_term *q, const pass_linear *inner, const pass_linear *outer, bool into) {
  if (!into || (pass_linear_same(outer, inner) && outer->constant == inner->constant))
    return pass_linear_same(outer, inner);
  int operations = extract_form_operations(inner) + extract_form_operations(outer);
  return operations < q->operations || (operations == q->operations && inner->constant == 0);
}

/* Moves what L shares with N, term by term and the constant, into the quotient or beside it. */
static bool try_moves(cheapest_search *s, const quotient_term *q, bool into) {
  uint32_t count = q->numerator.count < SHARED ? q->numerator.count : SHARED;
  int at[SHARED + 1] = {NONE};
  do {
    pass_linear inner = q->numerator, outer = q->other, beside;
    bool fits = true, moved = false, exact = true;
    pass_linear_const(&beside, 0);
    for (uint32_t i = 0; i <= count && fits; i++) {
      if (at[i] == NONE) continue;
      ir_ref atom = i < count ? q->numerator.term[i].atom : 0;
      int64_t has = atom ? pass_linear_coef(&outer, atom) : outer.constant;
      int64_t times = ir_floor_div(has, q->alpha < 0 ? -q->alpha : q->alpha) + (at[i] == UP);
      if (q->alpha < 0) times = -times;
      fits = times != 0 && (at[i] == DOWN || has % q->alpha != 0);
      if (!fits) break;
      moved = true, exact &= has % q->alpha == 0;
      pass_linear *to = into ? &inner : &beside;
      if (atom)
        fits = pass_linear_term(s->g, &outer, atom, -times * q->alpha) &&
               pass_linear_term(s->g, to, atom, into ? times * q->d : times);
      else outer.constant -= times * q->alpha, to->constant += into ? times * q->d : times;
    }
    if (fits && is_small(&inner) && is_small(&outer) &&
        ((moved && exact && into) || promises(q, &inner, &outer, into)) &&
        !offer(s, IR_OP_FLOORDIV, &inner, q->d, q->alpha, into ? NULL : &beside, &outer))
      return false;
  } while (next_moves(at, count + 1));
  return true;
}

/* N//d = N'//d' without a constant in N', for a d' near d. */
static bool try_divisors(cheapest_search *s, pass_build *b, const quotient_term *q) {
  pass_linear plain = q->numerator;
  plain.constant = 0;
  for (int64_t by = q->d - CHEAPEST_NEAR; q->numerator.constant && by <= q->d + CHEAPEST_NEAR; by++)
    if (by > 1 && by != q->d && cheapest_same_quotient(b, &q->numerator, q->d, &plain, by) &&
        !offer(s, IR_OP_FLOORDIV, &plain, by, q->alpha, NULL, &q->other))
      return false;
  return true;
}

/* (k*N)//(k*d) = N//d, for a k with which N is what L has of its terms. */
static bool try_multiple(cheapest_search *s, const quotient_term *q) {
  pass_linear inner = q->numerator;
  int64_t k = pass_linear_coef(&q->other, inner.term[0].atom);
  if (k % inner.term[0].coef) return true;
  k /= inner.term[0].coef;
  if (k < 2 || k > CHEAPEST_LARGEST / q->d || inner.constant || !pass_linear_scale(&inner, k) ||
      !is_small(&inner))
    return true;
  for (uint32_t i = 0; i < inner.count; i++)
    if (pass_linear_coef(&q->other, inner.term[i].atom) != inner.term[i].coef) return true;
  return offer(s, IR_OP_FLOORDIV, &inner, k * q->d, q->alpha, NULL, &q->other);
}

/* N//d and, as -((d-1 - N)//d), what it is from the other side. */
static bool try_quotients(cheapest_search *s, pass_build *b, const quotient_term *q) {
  quotient_term mirrored = *q;
  mirrored.alpha = -q->alpha;
  mirrored.numerator.constant -= q->d - 1;
  if (!try_moves(s, q, true) || !try_moves(s, q, false) || !try_divisors(s, b, q) || !try_multiple(s, q))
    return false;
  return !pass_linear_scale(&mirrored.numerator, -1) ||
         (try_moves(s, &mirrored, true) && try_multiple(s, &mirrored));
}

/* Forms that equal the index on valid lanes, where the facts fix a sum: each of its terms eliminated. */
static bool try_fixed_sums(cheapest_search *s, const pass_facts *facts, const pass_linear *index) {
  for (uint32_t i = 0; i < facts->count; i++) {
    const pass_fact *f = &facts->fact[i];
    pass_linear sum;
    if (f->in.lo != f->in.hi) continue;
    pass_linear_read(s->g, f->node, &sum);
    for (uint32_t k = 0; k < sum.count; k++) {
      pass_linear other = *index;
      int64_t has = pass_linear_coef(index, sum.term[k].atom), shift;
      if (has == 0 || has % sum.term[k].coef) continue;
      has /= sum.term[k].coef;
      if (!pass_linear_add(s->g, &other, &sum, -has) || !ir_mul_ok(has, f->in.lo, &shift) ||
          !ir_add_ok(other.constant, shift, &other.constant) || !is_small(&other))
        continue;
      if (!cheapest_offer(s, pass_linear_plain(s->g, &other), s->best_valid)) return false;
    }
  }
  return true;
}

bool cheapest_quotients(cheapest_search *s) {
  pass_build b = pass_begin(s->g);
  pass_facts facts;
  pass_linear index;
  pass_facts_read(&b, s->implied, &facts);
  pass_linear_read(s->g, s->index, &index);
  if (facts.never || !is_small(&index)) return true;
  b.facts = &facts;
  if (!try_fixed_sums(s, &facts, &index)) return false;
  for (uint32_t i = 0; i < index.count; i++) {
    quotient_term q = {.atom = index.term[i].atom, .alpha = index.term[i].coef, .other = index};
    const ir_node *n = ir_get(s->g, q.atom);
    if (n->op != IR_OP_FLOORDIV || !ir_is_const(s->g, n->src[1], &q.d) || q.d > CHEAPEST_LARGEST) continue;
    pass_linear_read(s->g, n->src[0], &q.numerator);
    pass_linear_drop(&q.other, i);
    if (!is_small(&q.numerator)) continue;
    q.operations = extract_form_operations(&q.numerator) + extract_form_operations(&q.other);
    if (!try_remainders(s, &b, &index, &q) || !try_quotients(s, &b, &q)) return false;
  }
  return true;
}
