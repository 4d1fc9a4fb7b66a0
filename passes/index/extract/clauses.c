/* Other clauses for a validity: a bound that the clauses imply is added, and what it implies together with
 * the remaining ones is dropped. Bounds are tried on sums and differences of two clauses' forms, and on the
 * index. */
#include "cheapest.h"

enum { ROUNDS = 4 }; /* replacements, each of which makes the access cheaper [2 in tests] */

bool clauses_read(const ir_graph *g, ir_ref valid, clause_list *out) {
  const ir_node *n = ir_get(g, valid);
  out->count = 0;
  if (n->op != IR_OP_AND) {
    out->clause[out->count++] = valid;
    return n->op != IR_OP_CONST;
  }
  if (n->nsrc > CHEAPEST_CLAUSES) return false;
  for (uint32_t i = 0; i < n->nsrc; i++) out->clause[out->count++] = n->src[i];
  return true;
}

ir_ref clauses_join(ir_graph *g, const clause_list *in) {
  if (in->count == 0) return ir_bool(g, true);
  return in->count == 1 ? in->clause[0] : ir_make(g, IR_OP_AND, IR_BOOL, 0, in->clause, in->count);
}

bool cheapest_bound_of(const ir_graph *g, ir_ref clause, pass_linear *form, pass_interval *in) {
  const ir_node *n = ir_get(g, clause);
  int64_t c;
  if (n->nsrc != 2 || ir_dtype_of(g, n->src[0]) != IR_INDEX || !ir_is_const(g, n->src[1], &c) ||
      c == INT64_MIN)
    return false;
  *in = (pass_interval){INT64_MIN, INT64_MAX};
  if (n->op == IR_OP_LT) in->hi = c - 1;
  else if (n->op == IR_OP_GE) in->lo = c;
  else if (n->op == IR_OP_EQ) in->lo = in->hi = c;
  else return false;
  pass_linear_read(g, n->src[0], form);
  return true;
}

/* The sampled points at which all clauses hold but number `but`, of which nothing is asked. */
static uint64_t sampled_valid(const cheapest_search *s, const clause_list *in, uint32_t but) {
  uint64_t where = UINT64_MAX;
  pass_linear form;
  pass_interval bound;
  for (uint32_t k = 0; k < in->count && where; k++)
    if (k != but)
      where &= cheapest_bound_of(s->g, in->clause[k], &form, &bound)
                   ? cheapest_sampled(s->samples, &form, bound)
                   : 0;
  return where;
}

/* Is there a sampled point at which all clauses hold but number i, and a form has a value of this interval?
 */
static bool is_refuted(const cheapest_search *s, const clause_list *in, uint32_t i, const pass_linear *form,
                       pass_interval of) {
  pass_linear own;
  pass_interval bound, apart;
  uint64_t where = sampled_valid(s, in, i);
  if (form) where &= cheapest_sampled(s->samples, form, of);
  if (!where || !cheapest_bound_of(s->g, in->clause[i], &own, &bound) ||
      !cheapest_sampled_interval(s->samples, &own, where, &apart))
    return false;
  return apart.lo < bound.lo || apart.hi > bound.hi;
}

/* May the bounds that the clauses imply for the form imply as many of them? */
static bool may_imply(const cheapest_search *s, const clause_list *in, const pass_linear *form,
                      uint32_t least) {
  pass_interval of;
  if (!cheapest_sampled_interval(s->samples, form, sampled_valid(s, in, in->count), &of)) return true;
  for (uint32_t i = 0; i < in->count && least; i++) least -= !is_refuted(s, in, i, form, of);
  return least == 0;
}

/* Do the other clauses of the list imply number i? */
static bool is_implied(cheapest_search *s, const clause_list *in, uint32_t i) {
  pass_linear form;
  pass_interval bound;
  pass_facts facts;
  pass_build b = pass_begin(s->g);
  clause_list others = {0};
  if (!cheapest_bound_of(s->g, in->clause[i], &form, &bound) || s->proofs == 0 ||
      is_refuted(s, in, i, NULL, bound))
    return false;
  s->proofs--;
  for (uint32_t k = 0; k < in->count; k++)
    if (k != i) others.clause[others.count++] = in->clause[k];
  ir_ref given = clauses_join(s->g, &others);
  if (!given) return false;
  pass_facts_read(&b, given, &facts);
  if (facts.never) return false;
  b.facts = &facts;
  return (bound.lo == INT64_MIN || pass_linear_never(&b, &form, INT64_MIN, bound.lo - 1)) &&
         (bound.hi == INT64_MAX || pass_linear_never(&b, &form, bound.hi + 1, INT64_MAX));
}

/* Adds what the clauses imply about a form; false where that is nothing. */
static bool add_bounds(cheapest_search *s, const pass_linear *form, const clause_list *from,
                       clause_list *to) {
  ir_graph *g = s->g;
  pass_build b = pass_begin(g);
  pass_facts facts;
  pass_linear plain = *form;
  plain.constant = 0;
  pass_interval all = pass_linear_bounds(&b, &plain), taken, in;
  ir_ref given = clauses_join(g, from), node = pass_linear_plain(g, &plain);
  if (!given || !node || s->proofs == 0 || plain.count == 0) return false;
  s->proofs--;
  pass_facts_read(&b, given, &facts);
  if (facts.never) return false;
  b.facts = &facts;
  cheapest_sampled_interval(s->samples, &plain, sampled_valid(s, from, from->count), &taken);
  in = cheapest_bounds(&b, &plain, taken, INT64_MAX);
  *to = *from;
  if (in.lo == INT64_MIN || in.hi >= INT64_MAX - 1) return false;
  ir_op first = in.lo == in.hi && in.lo > all.lo && in.hi < all.hi ? IR_OP_EQ : IR_OP_GE;
  if (in.lo > all.lo)
    to->clause[to->count++] = ir_make(g, first, IR_BOOL, 0, (ir_ref[]){node, ir_index(g, in.lo)}, 2);
  if (in.hi < all.hi && first != IR_OP_EQ)
    to->clause[to->count++] = ir_make(g, IR_OP_LT, IR_BOOL, 0, (ir_ref[]){node, ir_index(g, in.hi + 1)}, 2);
  return to->count > from->count;
}

static void drop_implied(cheapest_search *s, clause_list *in, uint32_t from, uint32_t to) {
  for (uint32_t i = to; i-- > from;) {
    if (in->count < 2 || !is_implied(s, in, i)) continue;
    in->count--;
    for (uint32_t k = i; k < in->count; k++) in->clause[k] = in->clause[k + 1];
  }
}

/* Prices the validity with bounds of a form in place of the clauses that these imply, which are at least so
 * many; the cheapest so far is kept in *best. */
static bool try_form(cheapest_search *s, const pass_linear *form, uint32_t least, const clause_list *from,
                     clause_list *best) {
  clause_list with;
  int cost = s->cost;
  if (!may_imply(s, from, form, least) || !add_bounds(s, form, from, &with)) return true;
  drop_implied(s, &with, 0, from->count);
  drop_implied(s, &with, 0, with.count); /* of the new ones, too */
  ir_ref valid = clauses_join(s->g, &with);
  if (with.count > CHEAPEST_CLAUSES || !cheapest_offer(s, s->index, valid))
    return s->g->error->status == IR_OK;
  if (s->cost < cost) *best = with;
  return true;
}

static void divide_by_content(pass_linear *form) {
  int64_t content = pass_linear_content(form);
  form->constant = 0;
  for (uint32_t i = 0; i < form->count && content > 1; i++) form->term[i].coef /= content;
}

/* Has the index all terms of the form, with any coefficients, so that it may contain it? */
static bool is_part(const pass_linear *form, const pass_linear *index) {
  for (uint32_t i = 0; i < form->count; i++)
    if (!pass_linear_coef(index, form->term[i].atom)) return false;
  return true;
}

/* The form of one clause, for both of its ends; sums and differences of two clauses' forms. One that has all
 * terms of both pays only in place of both, or where the index contains it. */
static bool try_pairs(cheapest_search *s, const pass_linear *index, const clause_list *clauses,
                      clause_list *best) {
  pass_linear own;
  pass_interval in;
  for (uint32_t i = 0; i < clauses->count && clauses->count > 1; i++)
    if (cheapest_bound_of(s->g, clauses->clause[i], &own, &in) && own.count > 1 &&
        !try_form(s, &own, 2, clauses, best))
      return false;
  for (uint32_t i = 0; i < clauses->count; i++)
    for (uint32_t k = i + 1; k < clauses->count; k++)
      for (int sign = 1; sign >= -1; sign -= 2) {
        pass_linear a, c;
        pass_interval x, y;
        if (!cheapest_bound_of(s->g, clauses->clause[i], &a, &x) ||
            !cheapest_bound_of(s->g, clauses->clause[k], &c, &y))
          continue;
        uint32_t count = a.count;
        if (!pass_linear_add(s->g, &a, &c, sign)) continue;
        divide_by_content(&a);
        if (pass_linear_same(&a, &c)) continue; /* two bounds of one form */
        bool longer = a.count == count + c.count && !is_part(&a, index);
        if (!try_form(s, &a, longer ? 2 : 1, clauses, best)) return false;
      }
  return true;
}

bool cheapest_clauses(cheapest_search *s) {
  clause_list clauses;
  pass_linear index;
  if (!clauses_read(s->g, s->valid, &clauses)) return true;
  pass_linear_read(s->g, s->index, &index);
  for (int round = 0; round < ROUNDS; round++) {
    clause_list best = clauses;
    int cost = s->cost;
    if (!try_pairs(s, &index, &clauses, &best) || !try_form(s, &index, 1, &clauses, &best)) return false;
    if (s->cost == cost) return true;
    clauses = best;
  }
  return true;
}
