/* Clauses about one sum x alone, decided value by value: a condition on `x` and on quotients of it is the set
 * of x's values at which it holds.
 *
 *   from there  bounds of x without a few values (`x>=8 & x!=12`), or a few intervals (`x==12 | x==17`), with
 *               no quotient
 *   and back    values that repeat with a period n are a condition on `x % n`, for which loops find axes */
#include "cheapest.h"

enum {
  VALUES = 128,     /* of x: of more, a condition is not taken apart [48 in tests] */
  HOLES = 3,        /* values left out, one operation each, and one to join it */
  RUNS = 3,         /* intervals: of more, a remainder and its bounds cost less */
  LARGEST = 1 << 20 /* coefficients and constants: sums of products with values below 2^15 fit an int64_t */
};

typedef struct value_set {
  pass_linear of; /* x, without a constant or a common factor */
  int64_t lo;     /* the least value of x */
  int64_t count;
  bool holds[VALUES];
} value_set;

/* Is `form` = scale*x + its constant? */
static bool multiple_of(const pass_linear *x, const pass_linear *form, int64_t *scale) {
  *scale = 0;
  if (form->count == 0) return true;
  if (form->count != x->count || form->term[0].coef % x->term[0].coef) return false;
  *scale = form->term[0].coef / x->term[0].coef;
  for (uint32_t i = 0; i < x->count; i++)
    if (form->term[i].atom != x->term[i].atom || form->term[i].coef != *scale * x->term[i].coef) return false;
  return true;
}

/* One quotient of x: floor((scale*x + constant) / by), times coef. */
typedef struct of_value {
  int64_t coef, scale, constant, by;
} of_value;

/* A comparison of scale*x and a few quotients of x with a constant. */
typedef struct value_clause {
  ir_op op;
  int64_t scale, with;
  uint32_t quotients;
  of_value quotient[PASS_TERMS];
} value_clause;

static bool is_small(int64_t value) { return value > -LARGEST && value < LARGEST; }

/* The sum that a comparison depends on: its terms, or those of the numerator of its first quotient. */
static bool sum_of(const ir_graph *g, const pass_linear *left, pass_linear *x) {
  pass_linear_const(x, 0);
  for (uint32_t i = 0; i < left->count; i++)
    if (ir_op_of(g, left->term[i].atom) != IR_OP_FLOORDIV) x->term[x->count++] = left->term[i];
  if (!x->count && left->count) pass_linear_read(g, ir_src(g, left->term[0].atom, 0), x);
  int64_t content = pass_linear_content(x);
  if (content < 1) return false;
  if (pass_linear_sign(x) < 0) content = -content;
  x->constant = 0;
  for (uint32_t i = 0; i < x->count; i++) x->term[i].coef /= content;
  return true;
}

/* Reads a comparison as one of x; where x has no terms yet, of what it compares. */
static bool read_clause(const ir_graph *g, ir_ref clause, pass_linear *x, value_clause *out) {
  const ir_node *n = ir_get(g, clause);
  pass_linear left, numerator, linear;
  if (n->nsrc != 2 || ir_dtype_of(g, n->src[0]) != IR_INDEX || !ir_is_const(g, n->src[1], &out->with) ||
      !is_small(out->with))
    return false;
  if (n->op != IR_OP_LT && n->op != IR_OP_GE && n->op != IR_OP_EQ && n->op != IR_OP_NE) return false;
  out->op = (ir_op)n->op, out->quotients = 0;
  pass_linear_read(g, n->src[0], &left);
  if (!x->count && !sum_of(g, &left, x)) return false;
  pass_linear_const(&linear, 0);
  for (uint32_t i = 0; i < left.count; i++) {
    const ir_node *atom = ir_get(g, left.term[i].atom);
    of_value *q = &out->quotient[out->quotients];
    q->coef = left.term[i].coef;
    if (!is_small(q->coef)) return false;
    if (atom->op != IR_OP_FLOORDIV) {
      linear.term[linear.count++] = left.term[i];
      continue;
    }
    if (!ir_is_const(g, atom->src[1], &q->by) || !is_small(q->by)) return false;
    pass_linear_read(g, atom->src[0], &numerator);
    q->constant = numerator.constant;
    if (!numerator.count || !multiple_of(x, &numerator, &q->scale) || !is_small(q->constant) ||
        !is_small(q->scale))
      return false;
    out->quotients++;
  }
  return multiple_of(x, &linear, &out->scale) && is_small(out->scale) && is_small(left.constant) &&
         ir_sub_ok(out->with, left.constant, &out->with);
}

static bool holds_at(const value_clause *c, int64_t x) {
  int64_t left = c->scale * x;
  for (uint32_t i = 0; i < c->quotients; i++) {
    const of_value *q = &c->quotient[i];
    left += q->coef * ir_floor_div(q->scale * x + q->constant, q->by);
  }
  return c->op == IR_OP_LT   ? left < c->with
         : c->op == IR_OP_GE ? left >= c->with
         : c->op == IR_OP_EQ ? left == c->with
                             : left != c->with;
}

/* The values that x may have under b's facts, all of which hold so far; false: too many. */
static bool begin_set(pass_build *b, const pass_linear *x, value_set *out) {
  pass_interval in = pass_linear_bounds(b, x);
  if (in.lo <= -INT16_MAX || in.hi >= INT16_MAX || in.hi < in.lo || in.hi - in.lo >= VALUES) return false;
  out->of = *x, out->lo = in.lo, out->count = in.hi - in.lo + 1;
  for (int64_t v = 0; v < out->count; v++) out->holds[v] = true;
  return true;
}

static void keep_where(value_set *set, const value_clause *c) {
  for (int64_t v = 0; v < set->count; v++) set->holds[v] = set->holds[v] && holds_at(c, set->lo + v);
}

/* The next interval [*from, *to) of values from *to on; false: there is none. */
static bool next_run(const value_set *set, int64_t *from, int64_t *to) {
  *from = *to;
  while (*from < set->count && !set->holds[*from]) ++*from;
  *to = *from;
  while (*to < set->count && set->holds[*to]) ++*to;
  return *from < *to;
}

static ir_ref compare(ir_graph *g, const value_set *set, ir_op op, int64_t value) {
  ir_ref src[] = {pass_linear_plain(g, &set->of), ir_index(g, set->lo + value)};
  return src[0] && src[1] ? ir_make(g, op, IR_BOOL, 0, src, 2) : 0;
}

/* Adds to `out` that x lies in [from, to). */
static void add_bounds(ir_graph *g, const value_set *set, int64_t from, int64_t to, clause_list *out) {
  bool low = from > 0, high = to < set->count;
  if (low && high && to == from + 1) out->clause[out->count++] = compare(g, set, IR_OP_EQ, from);
  else {
    if (low) out->clause[out->count++] = compare(g, set, IR_OP_GE, from);
    if (high) out->clause[out->count++] = compare(g, set, IR_OP_LT, to);
  }
}

/* Adds bounds of x and the values between them that are left out; false: too many. */
static bool add_holes(ir_graph *g, const value_set *set, clause_list *out) {
  int64_t first = 0, last = 0, from, to = 0;
  if (!next_run(set, &first, &last)) return false;
  to = last;
  while (next_run(set, &from, &to)) last = to;
  add_bounds(g, set, first, last, out);
  uint32_t holes = 0;
  for (int64_t v = first; v < last; v++) {
    if (set->holds[v]) continue;
    if (holes++ == HOLES || out->count >= CHEAPEST_CLAUSES) return false;
    out->clause[out->count++] = compare(g, set, IR_OP_NE, v);
  }
  return true;
}

/* Adds the disjunction of intervals; false: too many, or less than two. */
static bool add_runs(ir_graph *g, const value_set *set, clause_list *out) {
  ir_ref run[RUNS];
  uint32_t runs = 0;
  for (int64_t from, to = 0; next_run(set, &from, &to);) {
    clause_list ends = {0};
    if (runs == RUNS) return false;
    add_bounds(g, set, from, to, &ends);
    if (!(run[runs++] = clauses_join(g, &ends))) return false;
  }
  if (runs < 2 || out->count >= CHEAPEST_CLAUSES) return false;
  out->clause[out->count++] = ir_make(g, IR_OP_OR, IR_BOOL, 0, run, runs);
  return true;
}

/* The clauses of `from` that are about the sum of number `at`; the others. False where they have no quotient,
 * or an earlier clause has the same sum. */
static bool split_clauses(const ir_graph *g, const clause_list *from, uint32_t at, pass_linear *x,
                          value_clause *about, uint32_t *count, clause_list *others) {
  uint32_t quotients = 0;
  pass_linear_const(x, 0);
  if (!read_clause(g, from->clause[at], x, &about[0])) return false;
  *count = others->count = 0;
  for (uint32_t i = 0; i < from->count; i++)
    if (read_clause(g, from->clause[i], x, &about[*count])) {
      if (i < at) return false;
      quotients += about[(*count)++].quotients;
    } else others->clause[others->count++] = from->clause[i];
  return quotients > 0;
}

bool cheapest_values(cheapest_search *s) {
  clause_list all, others, with;
  if (!clauses_read(s->g, s->valid, &all)) return true;
  for (uint32_t i = 0; i < all.count; i++) {
    value_clause about[CHEAPEST_CLAUSES + 2];
    pass_linear x;
    value_set set;
    pass_facts facts;
    pass_build b = pass_begin(s->g);
    uint32_t count;
    if (!split_clauses(s->g, &all, i, &x, about, &count, &others)) continue;
    ir_ref given = clauses_join(s->g, &others);
    if (!given) return false;
    pass_facts_read(&b, given, &facts);
    if (facts.never) continue;
    b.facts = &facts;
    if (!begin_set(&b, &x, &set)) continue;
    for (uint32_t k = 0; k < count; k++) keep_where(&set, &about[k]);
    for (int holes = 0; holes < 2; holes++) {
      with = others;
      if (!(holes ? add_holes(s->g, &set, &with) : add_runs(s->g, &set, &with))) continue;
      ir_ref valid = clauses_join(s->g, &with);
      if (!valid || !cheapest_offer(s, s->index, valid)) return s->g->error->status == IR_OK;
      int64_t from, to = 0;
      if (holes && next_run(&set, &from, &to) && !next_run(&set, &from, &to)) s->implied = valid;
    }
  }
  return true;
}

/* The clause, or its values as those of a remainder in [0, size) of x - start by n: the smallest n of that
 * kind. */
static ir_ref periodic(ir_graph *g, const value_set *set, ir_ref clause) {
  int64_t first = 0, last = set->count;
  while (first < last && !set->holds[first]) first++;
  while (first < last && !set->holds[last - 1]) last--;
  for (int64_t n = 2; n < last - first; n++) {
    bool has[VALUES] = {false}, same = true;
    int64_t size = 0, start = 0, changes = 0;
    for (int64_t v = first; v < last; v++)
      if (set->holds[v]) size += !has[v % n], has[v % n] = true;
    for (int64_t v = first; v < last && same; v++) same = set->holds[v] == has[v % n];
    for (int64_t r = 0; r < n; r++)
      if (has[(r + 1) % n] && !has[r]) changes++, start = (r + 1) % n;
    if (!same || changes != 1) continue;
    ir_ref x = pass_linear_plain(g, &set->of);
    ir_ref of = pass_mod(g, pass_sub(g, x, ir_index(g, set->lo + start)), ir_index(g, n));
    ir_ref all = pass_compare(g, IR_OP_LT, of, ir_index(g, size));
    if (first > 0) all = pass_and(g, all, pass_compare(g, IR_OP_GE, x, ir_index(g, set->lo + first)));
    if (last < set->count) all = pass_and(g, all, pass_compare(g, IR_OP_LT, x, ir_index(g, set->lo + last)));
    return all;
  }
  return clause;
}

/* The values at which one of several conditions on x holds. */
static bool read_runs(pass_build *b, ir_ref either, value_set *set) {
  pass_linear x;
  pass_linear_const(&x, 0);
  const ir_node *n = ir_get(b->g, either);
  bool any[VALUES] = {false};
  for (uint32_t i = 0; i < n->nsrc; i++) {
    clause_list ends;
    value_clause c;
    if (!clauses_read(b->g, ir_src(b->g, either, i), &ends)) return false;
    for (uint32_t k = 0; k < ends.count; k++) {
      if (!read_clause(b->g, ends.clause[k], &x, &c) || (k == 0 && !begin_set(b, &x, set))) return false;
      keep_where(set, &c);
    }
    for (int64_t v = 0; v < set->count; v++) any[v] |= set->holds[v];
  }
  for (int64_t v = 0; v < set->count; v++) set->holds[v] = any[v];
  return true;
}

ir_ref cheapest_periodic(ir_graph *g, ir_ref valid) {
  clause_list all;
  pass_build b = pass_begin(g);
  ir_ref made = ir_bool(g, true);
  bool changed = false;
  if (!clauses_read(g, valid, &all)) return valid;
  for (uint32_t i = 0; i < all.count && made; i++) {
    value_set set;
    ir_ref clause = all.clause[i];
    if (ir_op_of(g, clause) == IR_OP_OR && read_runs(&b, clause, &set)) clause = periodic(g, &set, clause);
    changed |= clause != all.clause[i];
    made = clause ? pass_and(g, made, clause) : 0;
  }
  return changed ? made : valid;
}
