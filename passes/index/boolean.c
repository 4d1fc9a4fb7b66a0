/* Connectives. A conjunction keeps one lower and one upper bound per linear expression, and no clause that
 * the others imply; an expression for which they leave one value becomes an equality. A disjunction is built
 * as the negation of the conjunction of its negated clauses. */
#include "impl.h"

#include <string.h>

static ir_ref bool_constant(pass_build *b, bool value) { return ir_bool(b->g, value); }
static bool is_bool_op(const ir_graph *g, ir_ref ref, ir_op op) {
  return ir_op_of(g, ref) == op && ir_dtype_of(g, ref) == IR_BOOL;
}

/* negations */

/* De Morgan's law for a connective over plain clauses (no AND or OR); 0 otherwise */
static ir_ref de_morgan(pass_build *b, ir_ref x) {
  const ir_node *n = ir_get(b->g, x);
  ir_ref items[PASS_CLAUSES];
  if (n->dtype != IR_BOOL || (n->op != IR_OP_AND && n->op != IR_OP_OR) || n->nsrc > PASS_CLAUSES) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    ir_op op = ir_op_of(b->g, n->src[i]);
    if (op == IR_OP_AND || op == IR_OP_OR) return 0;
    items[i] = pass_make_not(b, n->src[i]);
  }
  return pass_make_junction(b, n->op == IR_OP_AND ? IR_OP_OR : IR_OP_AND, items, n->nsrc);
}

ir_ref pass_make_not(pass_build *b, ir_ref x) {
  if (!x) return 0;
  if (ir_is_true(b->g, x) || ir_is_false(b->g, x)) return bool_constant(b, ir_is_false(b->g, x));
  if (is_bool_op(b->g, x, IR_OP_NOT)) return ir_src(b->g, x, 0);
  ir_ref flipped = pass_make_opposite(b, x);
  if (!flipped) flipped = de_morgan(b, x);
  return flipped ? flipped : ir_unary(b->g, IR_OP_NOT, x);
}

/* conjunctions */

typedef struct clauses {
  uint32_t count;
  ir_ref item[PASS_CLAUSES];
} clauses;

static bool insert_clause(const ir_graph *g, clauses *to, ir_ref x) {
  uint32_t i = 0;
  while (i < to->count && to->item[i] != x) i++;
  if (i < to->count) return true;
  while (i > 0 && ir_compare(g, to->item[i - 1], x) > 0) i--;
  if (to->count == PASS_CLAUSES) return false;
  for (uint32_t j = to->count++; j > i; j--) to->item[j] = to->item[j - 1];
  to->item[i] = x;
  return true;
}

static void erase_clause(clauses *from, uint32_t index) {
  from->count--;
  for (uint32_t i = index; i < from->count; i++) from->item[i] = from->item[i + 1];
}

/* the linear expression that a clause compares, and with which constant; false for other clauses */
static bool bounded(const ir_graph *g, ir_ref clause, ir_ref *left, int64_t *c) {
  const ir_node *n = ir_get(g, clause);
  if (n->nsrc != 2 || n->dtype != IR_BOOL || ir_dtype_of(g, n->src[0]) != IR_INDEX) return false;
  if (n->op != IR_OP_LT && n->op != IR_OP_GE && n->op != IR_OP_EQ && n->op != IR_OP_NE) return false;
  *left = n->src[0];
  return ir_is_const(g, n->src[1], c);
}

static bool collect_clauses(pass_build *b, ir_ref x, bool negate, ir_op op, clauses *to) {
  const ir_node *n = ir_get(b->g, x);
  if (n->op == op && n->dtype == IR_BOOL) {
    for (uint32_t i = 0; i < n->nsrc; i++)
      if (!insert_clause(b->g, to, negate ? pass_make_not(b, n->src[i]) : n->src[i])) return false;
    return true;
  }
  return insert_clause(b->g, to, negate ? pass_make_not(b, x) : x);
}

typedef enum join { JOINED, FULL, NEVER } join;

/* Adds the clause `left op c`. `before`: the result so far, returned unless it is JOINED. */
static join add_bound_clause(pass_build *b, clauses *all, ir_op op, ir_ref left, int64_t c, join before) {
  if (before != JOINED) return before;
  ir_ref clause = pass_make_compare(b, op, left, ir_index(b->g, c));
  if (ir_is_false(b->g, clause)) return NEVER;
  return ir_is_true(b->g, clause) || collect_clauses(b, clause, false, IR_OP_AND, all) ? JOINED : FULL;
}

/* Merges all clauses about one expression into an interval, written as at most two clauses and its holes.
 * False: they contradict. */
static bool merge_bounds(pass_build *b, clauses *all, ir_ref left) {
  int64_t lo = INT64_MIN, hi = INT64_MAX, c, holes[PASS_CLAUSES];
  uint32_t kept = 0, hole_count = 0, met = 0;
  ir_ref subject;
  clauses before = *all;
  for (uint32_t i = 0; i < all->count; i++) {
    ir_op op = ir_op_of(b->g, all->item[i]);
    if (!bounded(b->g, all->item[i], &subject, &c) || subject != left || (op == IR_OP_LT && c == INT64_MIN)) {
      all->item[kept++] = all->item[i];
      continue;
    }
    met++;
    if (op == IR_OP_NE) holes[hole_count++] = c;
    if ((op == IR_OP_LT || op == IR_OP_EQ) && hi > c - (op == IR_OP_LT)) hi = c - (op == IR_OP_LT);
    if ((op == IR_OP_GE || op == IR_OP_EQ) && lo < c) lo = c;
  }
  if (met < 2) {
    *all = before;
    return true;
  }
  all->count = kept;
  ir_bounds natural = ir_bounds_of(b->g, left);
  pass_round_ends(&natural, &lo, &hi);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = 0; i < hole_count; i++) {
      if (holes[i] == lo && lo < INT64_MAX) lo++, moved = true;
      if (holes[i] == hi && hi > INT64_MIN) hi--, moved = true;
    }
  }
  if (lo > hi) return false;
  bool pinned = lo == hi && lo > natural.lo && hi < natural.hi;
  join made = JOINED;
  if (pinned) made = add_bound_clause(b, all, IR_OP_EQ, left, lo, made);
  if (!pinned && lo > natural.lo) made = add_bound_clause(b, all, IR_OP_GE, left, lo, made);
  if (!pinned && hi < natural.hi && hi < INT64_MAX)
    made = add_bound_clause(b, all, IR_OP_LT, left, hi + 1, made);
  for (uint32_t i = 0; i < hole_count; i++)
    if (holes[i] > lo && holes[i] < hi) made = add_bound_clause(b, all, IR_OP_NE, left, holes[i], made);
  if (made == FULL) *all = before;
  return made != NEVER;
}

static bool add_all(const pass_build *b, clauses *to, const clauses *from) {
  clauses before = *to;
  for (uint32_t i = 0; i < from->count; i++)
    if (!insert_clause(b->g, to, from->item[i])) {
      *to = before;
      return false;
    }
  return true;
}

static bool is_single(const ir_graph *g, ir_ref clause) {
  ir_ref left;
  int64_t c;
  if (!bounded(g, clause, &left, &c)) return true; /* nothing linear to simplify */
  const ir_node *n = ir_get(g, left);
  return n->op != IR_OP_ADD && n->op != IR_OP_MUL && n->op != IR_OP_FLOORDIV;
}

/* The facts of all clauses but number `but`; of all clauses, with probing, where but == count. */
static void facts_of_others(pass_build *b, const clauses *all, uint32_t but, pass_facts *out) {
  bool every = but == all->count;
  clauses others = *all;
  if (but < all->count) erase_clause(&others, but);
  out->count = 0;
  out->never = false;
  out->given = b->g->observer && b->g->observer->validities
                   ? ir_make(b->g, IR_OP_AND, IR_BOOL, 0, others.item, others.count)
                   : 0;
  for (uint32_t j = 0; j < all->count; j++)
    if (j != but) pass_facts_clause(b, all->item[j], out);
  pass_facts_propagate(b, out, every);
}

/* Is the bound of a sum proven, by showing that no values violate it? */
static bool always_holds(pass_build *b, ir_ref clause) {
  pass_linear in;
  ir_ref left;
  int64_t c;
  ir_op op = ir_op_of(b->g, clause);
  if (is_single(b->g, clause) || !bounded(b->g, clause, &left, &c) || c == INT64_MIN) return false;
  pass_linear_read(b->g, left, &in);
  bool above = op == IR_OP_LT || (op == IR_OP_EQ && c < INT64_MAX), below = op == IR_OP_GE || op == IR_OP_EQ;
  if (above && !pass_linear_never(b, &in, op == IR_OP_LT ? c : c + 1, INT64_MAX)) return false;
  return (above || below) && (!below || pass_linear_never(b, &in, INT64_MIN, c - 1));
}

/* Clause i simplified under the other clauses, True or False where they decide it; 0 where nothing is
 * gained. */
static ir_ref simplify_under_others(pass_build *b, const clauses *all, uint32_t i) {
  pass_facts facts;
  pass_build under = *b;
  ir_ref left;
  int64_t c;
  facts_of_others(b, all, i, &facts);
  if (facts.never) return bool_constant(b, false);
  if (facts.count == 0 || !bounded(b->g, all->item[i], &left, &c)) return 0;
  under.facts = &facts;
  ir_ref now = pass_make_compare(&under, ir_op_of(b->g, all->item[i]), left, ir_index(b->g, c));
  if (!now || ir_is_true(b->g, now) || always_holds(&under, now)) return now ? bool_constant(b, true) : 0;
  bool alone = now != all->item[i] && bounded(b->g, now, &left, &c); /* canonical without facts, too */
  return alone ? pass_make_compare(b, ir_op_of(b->g, now), left, ir_index(b->g, c)) : now;
}

/* Where the facts leave one value for a sum that a clause bounds: adds the equality with it. */
static join pin_sum(pass_build *b, clauses *all, const pass_facts *facts, ir_ref clause, join before) {
  /* values at the ends that are tried, each a look at all facts; of more values, none is pinned */
  enum { SHAVES = 4 };
  pass_build under = *b;
  pass_linear in;
  ir_ref left;
  int64_t c;
  if (is_single(b->g, clause) || !bounded(b->g, clause, &left, &c) || ir_op_of(b->g, clause) == IR_OP_EQ)
    return before;
  under.facts = facts;
  pass_linear_read(b->g, left, &in);
  pass_interval r = pass_linear_bounds(&under, &in);
  if (r.lo == INT64_MIN || r.hi == INT64_MAX || r.hi - r.lo > SHAVES) return before;
  while (r.lo < r.hi && pass_linear_never(&under, &in, r.lo, r.lo)) r.lo++;
  while (r.lo < r.hi && pass_linear_never(&under, &in, r.hi, r.hi)) r.hi--;
  return r.lo == r.hi ? add_bound_clause(b, all, IR_OP_EQ, left, r.lo, before) : before;
}

/* Adds as clauses the bounds of each atom that follow from all clauses together. False: the clauses
 * contradict. */
static bool add_ends(pass_build *b, clauses *all) {
  pass_facts facts;
  clauses before = *all;
  join made = JOINED;
  facts_of_others(b, all, all->count, &facts);
  if (facts.never) return false;
  for (uint32_t i = 0; i < before.count && before.count > 1; i++)
    made = pin_sum(b, all, &facts, before.item[i], made);
  for (uint32_t i = 0; i < facts.count; i++) {
    ir_ref atom = facts.fact[i].node;
    ir_op op = ir_op_of(b->g, atom);
    ir_bounds natural = ir_bounds_of(b->g, atom);
    if (op != IR_OP_RANGE && op != IR_OP_VAR && op != IR_OP_BOUND) continue;
    int64_t lo = facts.fact[i].in.lo, hi = facts.fact[i].in.hi;
    if (lo > natural.lo) made = add_bound_clause(b, all, IR_OP_GE, atom, lo, made);
    if (hi < natural.hi) made = add_bound_clause(b, all, IR_OP_LT, atom, hi + 1, made);
  }
  return made != NEVER;
}

/* Simplifies each clause about a sum under the other clauses, to a fixed point or for ITERATIONS. False: they
 * contradict. */
static bool finalize_sums(pass_build *b, clauses *all) {
  /* of which the workloads take two and the tests three; the clauses hold after each */
  enum { ITERATIONS = 4 };
  bool changed = true, several = false;
  for (uint32_t i = 0; i < all->count; i++) several = several || !is_single(b->g, all->item[i]);
  for (int iteration = 0; iteration < ITERATIONS && changed && several; iteration++) {
    changed = false;
    if (all->count < PASS_CLAUSES / 2 && !add_ends(b, all)) return false;
    for (uint32_t i = all->count; i-- > 0;) {
      if (i >= all->count || is_single(b->g, all->item[i])) continue;
      clauses parts = {0};
      ir_ref now = simplify_under_others(b, all, i), before = all->item[i];
      if (!now || now == before) continue;
      if (ir_is_false(b->g, now)) return false;
      erase_clause(all, i);
      changed = true;
      if (!ir_is_true(b->g, now) &&
          !(collect_clauses(b, now, false, IR_OP_AND, &parts) && add_all(b, all, &parts)))
        insert_clause(b->g, all, before);
    }
  }
  return true;
}

/* Drops each clause that the others imply, those about sums first. False: the others contradict a clause. */
static bool drop_implied(pass_build *b, clauses *all) {
  for (int sums = 1; sums >= 0; sums--)
    for (uint32_t i = all->count; i-- > 0;) {
      if (i >= all->count || is_single(b->g, all->item[i]) == (sums == 1)) continue;
      ir_ref now = simplify_under_others(b, all, i);
      if (now && ir_is_false(b->g, now)) return false;
      if (now && ir_is_true(b->g, now)) erase_clause(all, i);
    }
  return true;
}

static bool same_clauses(const clauses *a, const clauses *b) {
  return a->count == b->count && memcmp(a->item, b->item, a->count * sizeof *a->item) == 0;
}

/* Merges the clauses to at most one interval per expression. False: they contradict. */
static bool merge_all(pass_build *b, clauses *all) {
  for (uint32_t i = 0; i < all->count;) {
    ir_ref left;
    int64_t c;
    clauses before = *all;
    if (bounded(b->g, all->item[i], &left, &c) && !merge_bounds(b, all, left)) return false;
    i = same_clauses(&before, all) ? i + 1 : 0; /* clauses moved: start over */
  }
  return true;
}

/* Is `rest < c` (`rest >= c` where `negated`) false wherever lo <= numerator <= hi? */
static bool refused_where(pass_build *b, const pass_linear *numerator, int64_t lo, int64_t hi,
                          const pass_linear *rest, int64_t c, bool negated) {
  pass_linear moving = *numerator;
  pass_build where = *b;
  pass_facts facts = {0};
  moving.constant = 0;
  if ((lo != INT64_MIN && !ir_sub_ok(lo, numerator->constant, &lo)) ||
      (hi != INT64_MAX && !ir_sub_ok(hi, numerator->constant, &hi)))
    return false;
  pass_facts_add(b, &facts, pass_linear_plain(b->g, &moving), lo, hi);
  where.facts = &facts;
  pass_interval r = pass_linear_bounds(&where, rest);
  return negated ? r.hi < c : r.lo >= c && r.lo != INT64_MIN;
}

/* Where a clause contains a quotient of two values and is false for one of them: splits it into the condition
 * for the other value and the clause with that value substituted. */
static bool split_clause(pass_build *b, ir_ref clause, ir_ref parts[2]) {
  int64_t d, c, edge, at_lo, at_hi;
  ir_ref left;
  pass_linear in;
  ir_op op = ir_op_of(b->g, clause);
  if (is_single(b->g, clause) || !bounded(b->g, clause, &left, &c) || (op != IR_OP_LT && op != IR_OP_GE))
    return false;
  pass_linear_read(b->g, left, &in);
  for (uint32_t i = 0; i < in.count && in.count > 1; i++) {
    pass_term t = in.term[i];
    const ir_node *n = ir_get(b->g, t.atom);
    ir_bounds q = ir_bounds_of(b->g, t.atom);
    if (n->op != IR_OP_FLOORDIV || !ir_is_const(b->g, n->src[1], &d) || q.lo == INT64_MIN ||
        q.hi - 1 != q.lo || !ir_mul_ok(q.hi, d, &edge))
      continue;
    pass_linear rest = in, numerator;
    pass_linear_drop(&rest, i);
    pass_linear_read(b->g, n->src[0], &numerator);
    if (!ir_mul_ok(t.coef, q.lo, &at_lo) || !ir_sub_ok(c, at_lo, &at_lo) ||
        !ir_mul_ok(t.coef, q.hi, &at_hi) || !ir_sub_ok(c, at_hi, &at_hi))
      continue;
    bool high = refused_where(b, &numerator, INT64_MIN, edge - 1, &rest, at_lo, op == IR_OP_GE);
    if (!high && !refused_where(b, &numerator, edge, INT64_MAX, &rest, at_hi, op == IR_OP_GE)) continue;
    parts[0] = pass_make_compare(b, high ? IR_OP_GE : IR_OP_LT, n->src[0], ir_index(b->g, edge));
    parts[1] = pass_make_compare(b, op, pass_linear_plain(b->g, &rest), ir_index(b->g, high ? at_hi : at_lo));
    return true;
  }
  return false;
}

/* Splits each clause once only: the results may contain the same quotient again. */
static void split_all(pass_build *b, clauses *all) {
  const clauses given = *all;
  for (uint32_t i = 0; i < given.count; i++) {
    ir_ref parts[2];
    clauses split = {0};
    if (!split_clause(b, given.item[i], parts)) continue;
    for (uint32_t k = 0; k < all->count; k++)
      if (all->item[k] != given.item[i]) insert_clause(b->g, &split, all->item[k]);
    if (collect_clauses(b, parts[0], false, IR_OP_AND, &split) &&
        collect_clauses(b, parts[1], false, IR_OP_AND, &split))
      *all = split;
  }
}

static bool drop_constants(pass_build *b, clauses *all) {
  for (uint32_t i = 0; i < all->count;) {
    if (ir_is_false(b->g, all->item[i])) return false;
    if (ir_is_true(b->g, all->item[i])) erase_clause(all, i);
    else i++;
  }
  return true;
}

/* Simplifies a conjunction. False: it is false. */
static bool conjoin(pass_build *b, clauses *all) {
  /* of which the workloads take two and the tests three; the clauses hold after each */
  enum { ITERATIONS = 8 };
  if (!drop_constants(b, all)) return false;
  for (uint32_t i = 0; i < all->count; i++)
    for (uint32_t j = i + 1; j < all->count; j++)
      if (is_bool_op(b->g, all->item[j], IR_OP_NOT) && ir_src(b->g, all->item[j], 0) == all->item[i])
        return false;
  if (!merge_all(b, all)) return false;
  for (int iteration = 0; iteration < ITERATIONS && !b->facts && !b->deferred && !pass_budget_exhausted(b->g);
       iteration++) {
    clauses before = *all;
    split_all(b, all);
    if (!drop_constants(b, all) || !merge_all(b, all)) return false;
    if (!finalize_sums(b, all) || !merge_all(b, all) || !drop_implied(b, all)) return false;
    if (same_clauses(&before, all)) break;
  }
  return true;
}

static ir_ref make_binary(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  return ir_make(b->g, op, IR_BOOL, 0, (ir_ref[]){x, y}, 2);
}

ir_ref pass_make_junction(pass_build *b, ir_op op, const ir_ref *items, uint32_t count) {
  clauses all = {0};
  bool negate = op == IR_OP_OR, fits = true;
  for (uint32_t i = 0; i < count; i++)
    if (!items[i]) return 0;
  for (uint32_t i = 0; i < count && fits; i++) fits = collect_clauses(b, items[i], negate, op, &all);
  for (uint32_t i = 0; i < all.count; i++)
    if (!all.item[i]) return 0;
  if (!fits) { /* too many for one node: nested pairs, in the given order */
    ir_ref r = items[0];
    for (uint32_t i = 1; i < count; i++)
      if (items[i] != r)
        r = ir_compare(b->g, r, items[i]) < 0 ? make_binary(b, op, r, items[i])
                                              : make_binary(b, op, items[i], r);
    return r;
  }
  if (!conjoin(b, &all)) return bool_constant(b, negate);
  if (all.count == 0) return bool_constant(b, !negate);
  clauses out = {0};
  for (uint32_t i = 0; i < all.count; i++)
    insert_clause(b->g, &out, negate ? pass_make_not(b, all.item[i]) : all.item[i]);
  ir_ref r = out.count == 1 ? out.item[0] : ir_make(b->g, op, IR_BOOL, 0, out.item, out.count);
  return !r || pass_allowed(b, ir_ops[op].text, op, items, count, r)
             ? r
             : ir_make(b->g, op, IR_BOOL, 0, items, count);
}
