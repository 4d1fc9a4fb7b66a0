/* Bounds of the values of index expressions: intervals of linear forms under the facts of a validity, and a
 * prover for inequalities between symbolic sizes.
 *
 * The prover eliminates: in an upper bound of a sum, a range of symbolic extent n is replaced by n - 1 where
 * its coefficient is positive and by 0 where it is negative, and so are remainders by a symbolic divisor and
 * quotients of such ranges. The remaining polynomial in sizes usually cancels (s0*m + s1 < n*m), and so do
 * numbers of blocks and of blocks of blocks. */
#include "impl.h"

static void intersect(pass_interval *to, pass_interval x) {
  if (x.lo > to->lo) to->lo = x.lo;
  if (x.hi < to->hi) to->hi = x.hi;
}

/* the node's interval as it follows from the facts about its operands */
static pass_interval operand_interval(pass_build *b, const ir_node *n) {
  pass_interval r = {INT64_MIN, INT64_MAX};
  int64_t d;
  if (n->dtype != IR_INDEX) return r;
  if (n->op == IR_OP_ADD || n->op == IR_OP_MUL) {
    pass_linear in;
    pass_linear_const(&in, 0);
    for (uint32_t i = 0; i < n->nsrc && n->op == IR_OP_ADD; i++) {
      pass_linear part;
      pass_linear_read(b->g, n->src[i], &part);
      if (!pass_linear_add(b->g, &in, &part, 1)) return r;
    }
    if (n->op == IR_OP_MUL &&
        (n->nsrc != 2 || !ir_is_const(b->g, n->src[1], &d) || !pass_linear_term(b->g, &in, n->src[0], d)))
      return r;
    return pass_linear_bounds(b, &in);
  }
  if ((n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && ir_is_const(b->g, n->src[1], &d) && d >= 1) {
    pass_linear in;
    pass_linear_read(b->g, n->src[0], &in);
    pass_interval x = pass_linear_bounds(b, &in);
    if (n->op == IR_OP_FLOORDIV)
      return (pass_interval){x.lo == INT64_MIN ? x.lo : ir_floor_div(x.lo, d),
                             x.hi == INT64_MAX ? x.hi : ir_floor_div(x.hi, d)};
    if (x.lo >= 0 && x.hi < d) return x;
  }
  return r;
}

ir_bounds pass_bounds(pass_build *b, ir_ref ref) {
  ir_bounds r = ir_bounds_of(b->g, ref);
  if (!b->facts || r.div == 0) return r;
  pass_interval in = {r.lo, r.hi};
  for (uint32_t i = 0; i < b->facts->count; i++)
    if (b->facts->fact[i].node == ref) intersect(&in, b->facts->fact[i].in);
  if (b->operand_depth < PASS_OPERAND_DEPTH && pass_enter(b)) {
    b->operand_depth++;
    intersect(&in, operand_interval(b, ir_get(b->g, ref)));
    b->operand_depth--;
    pass_leave(b);
  }
  return in.lo <= in.hi ? (ir_bounds){in.lo, in.hi, r.div, r.rem} : r;
}

bool pass_residue(pass_build *b, ir_ref x, int64_t d, int64_t *residue) {
  ir_bounds r = ir_bounds_of(b->g, x);
  if (d < 1 || (r.div != 0 && r.div % d != 0)) return false;
  *residue = ir_floor_mod(r.rem, d);
  return true;
}

/* The largest value of an atom as an expression in sizes, or the smallest where `upper` is false. False: none
 * is known. Where the atom is a whole term (`alone`), a constant extent is refused: the atom's interval says
 * as much. */
static bool limit(pass_build *b, ir_ref atom, bool upper, bool alone, pass_linear *out) {
  const ir_node *n = ir_get(b->g, atom);
  if (n->op == IR_OP_RANGE || n->op == IR_OP_MOD || n->op == IR_OP_BOUND) {
    ir_ref size = n->op == IR_OP_RANGE ? n->src[0] : n->src[1];
    if (alone && ir_is_const(b->g, size, NULL)) return false;
    if (!upper) {
      pass_linear_const(out, 0);
      return true;
    }
    pass_linear_read(b->g, size, out);
    return ir_sub_ok(out->constant, 1, &out->constant);
  }
  if (n->op != IR_OP_FLOORDIV || n->dtype != IR_INDEX || ir_bounds_of(b->g, n->src[1]).lo < 1) return false;
  pass_linear inner;
  pass_linear_read(b->g, n->src[0], &inner);
  /* Only a quotient of a multiple of one such atom, to stay cheap. */
  for (uint32_t i = 0; i < inner.count; i++) {
    pass_linear bound;
    if (inner.count != 1 || inner.term[0].coef < 1 || !pass_enter(b)) return false;
    bool done = limit(b, inner.term[0].atom, upper, true, &bound) &&
                pass_linear_scale(&bound, inner.term[0].coef) &&
                ir_add_ok(bound.constant, inner.constant, &bound.constant);
    ir_ref q = done ? pass_make_div(b, pass_linear_node(b, &bound), n->src[1]) : 0;
    pass_leave(b);
    if (!q) return false;
    pass_linear_read(b->g, q, out);
    return true;
  }
  return false;
}

/* Factor number `at` of a term of a sum; a bound may replace it only where the other factors are proven >=
 * 0. */
typedef struct factor_at {
  uint32_t term, at, count;
  ir_ref all[PASS_FACTORS];
} factor_at;

static bool others_positive(pass_build *b, const factor_at *f) {
  bool positive = true;
  for (uint32_t j = 0; j < f->count; j++)
    positive = positive && (j == f->at || ir_bounds_of(b->g, f->all[j]).lo >= 0);
  return positive;
}

/* The sum with the factor replaced by `by`. */
static bool replace_factor(pass_build *b, const pass_linear *in, const factor_at *f, ir_ref by,
                           pass_linear *out) {
  ir_ref rest[PASS_FACTORS];
  pass_linear part;
  uint32_t m = 0;
  for (uint32_t j = 0; j < f->count; j++)
    if (j != f->at) rest[m++] = f->all[j];
  ir_ref product = by ? pass_make_mul(b, by, pass_product(b->g, rest, m)) : 0;
  if (!product) return false;
  pass_linear_read(b->g, product, &part);
  *out = *in;
  pass_linear_drop(out, f->term);
  return pass_linear_add(b->g, out, &part, in->term[f->term].coef);
}

/* Replaces a factor of one term by its limit. True when one was replaced. */
static bool replace_by_limit(pass_build *b, pass_linear *in, bool upper) {
  for (uint32_t t = in->count; t-- > 0;) {
    factor_at f = {.term = t, .count = pass_factors(b->g, in->term[t].atom, f.all)};
    bool up = upper == (in->term[t].coef > 0);
    for (f.at = f.count; f.at-- > 0;) {
      pass_linear bound, next;
      if (!others_positive(b, &f) || !limit(b, f.all[f.at], up, f.count == 1, &bound)) continue;
      if (!replace_factor(b, in, &f, pass_linear_node(b, &bound), &next)) return false;
      *in = next;
      return true;
    }
  }
  return false;
}

/* Where an upper bound is wanted, replaces a factor min(x, y) by x or y if terms cancel then; likewise max(x,
 * y) where a lower bound is wanted. True when one was replaced. */
static bool replace_by_operand(pass_build *b, pass_linear *in, bool upper) {
  for (uint32_t t = 0; t < in->count; t++) {
    factor_at f = {.term = t, .count = pass_factors(b->g, in->term[t].atom, f.all)};
    ir_op op = upper == (in->term[t].coef > 0) ? IR_OP_MIN : IR_OP_MAX;
    for (f.at = 0; f.at < f.count; f.at++)
      for (uint32_t side = 0; side < 2 && ir_op_of(b->g, f.all[f.at]) == op; side++) {
        pass_linear next;
        if (!others_positive(b, &f) || !replace_factor(b, in, &f, ir_src(b->g, f.all[f.at], side), &next) ||
            next.count >= in->count)
          continue;
        *in = next;
        return true;
      }
  }
  return false;
}

/* a variable, or a product of some */
static bool is_size(const ir_graph *g, ir_ref ref) {
  ir_ref f[PASS_FACTORS];
  uint32_t count = pass_factors(g, ref, f);
  bool vars = count > 0;
  for (uint32_t i = 0; i < count; i++) vars &= ir_op_of(g, f[i]) == IR_OP_VAR;
  return vars;
}

/* atom = *inner // *by, where inner is a sum of sizes and by a constant */
static bool is_quotient(pass_build *b, ir_ref atom, pass_linear *inner, int64_t *by) {
  const ir_node *n = ir_get(b->g, atom);
  if (n->op != IR_OP_FLOORDIV || n->dtype != IR_INDEX || !ir_is_const(b->g, n->src[1], by) || *by < 1)
    return false;
  pass_linear_read(b->g, n->src[0], inner);
  bool sizes = true;
  for (uint32_t i = 0; i < inner->count; i++) sizes &= is_size(b->g, inner->term[i].atom);
  return sizes;
}

/* The least number that all divisors of quotients of sizes divide, 1 where there are none; 0 where it is too
 * large. */
static int64_t common_divisor_multiple(pass_build *b, const pass_linear *in) {
  int64_t all = 1, by;
  pass_linear inner;
  for (uint32_t i = 0; i < in->count && all; i++)
    if (is_quotient(b, in->term[i].atom, &inner, &by) && !ir_mul_ok(all, by / ir_gcd(all, by), &all)) all = 0;
  return all;
}

/* The range of in from those of the fractions that its quotients are rounded down from: A // m is (A - s) / m
 * for some s in 0..m-1. Times M, the least common multiple of the divisors, a term c * (A // m) is c * (M /
 * m) * (A - s), the sizes usually cancel, and what is left is divided by M: an integer, so the ends are
 * rounded inwards. So n - n // 2 - 3 * ((n + 5) // 6) + 2 >= 0: times 6 it is 3 * s + 3 * t - 3. */
static pass_interval by_fractions(pass_build *b, const pass_linear *in) {
  pass_interval r = {INT64_MIN, INT64_MAX};
  pass_linear sum, inner;
  int64_t m = common_divisor_multiple(b, in), content = pass_linear_content(in), less = 0, more = 0;
  if (m <= 1) return r;
  pass_linear_const(&sum, 0);
  for (uint32_t i = 0; i < in->count; i++) {
    int64_t by, times, slack, coef = in->term[i].coef / content;
    if (!is_quotient(b, in->term[i].atom, &inner, &by)) {
      pass_linear_const(&inner, 0);
      pass_linear_term(b->g, &inner, in->term[i].atom, 1);
      by = 1;
    }
    if (!ir_mul_ok(coef, m / by, &times) || !ir_mul_ok(times, by - 1, &slack) ||
        !pass_linear_add(b->g, &sum, &inner, times) ||
        !ir_sub_ok(times > 0 ? less : more, slack, times > 0 ? &less : &more))
      return r;
  }
  pass_interval whole = pass_linear_bounds(b, &sum);
  int64_t end;
  if (whole.lo != INT64_MIN && ir_add_ok(whole.lo, less, &end) && ir_sub_ok(0, end, &end) &&
      ir_mul_ok(-ir_floor_div(end, m), content, &end) && ir_add_ok(end, in->constant, &end))
    r.lo = end;
  if (whole.hi != INT64_MAX && ir_add_ok(whole.hi, more, &end) &&
      ir_mul_ok(ir_floor_div(end, m), content, &end) && ir_add_ok(end, in->constant, &end))
    r.hi = end;
  return r;
}

/* Does `ref` contain a variable, down to `depth` levels of operands? */
static bool has_variable(const ir_graph *g, ir_ref ref, int depth) {
  const ir_node *n = ir_get(g, ref);
  bool found = n->op == IR_OP_VAR;
  for (uint32_t i = 0; i < n->nsrc && depth > 0 && !found; i++) found = has_variable(g, n->src[i], depth - 1);
  return found;
}

/* Without variables the intervals of ranges are exact enough; the loops that use this would take time and end
 * with the same result. */
static bool has_size(const ir_graph *g, const pass_linear *in) {
  enum { DEPTH = 5 }; /* levels of operands: a product of a minimum of quotients of products */
  bool found = false;
  for (uint32_t i = 0; i < in->count && !found; i++) found = has_variable(g, in->term[i].atom, DEPTH);
  return found;
}

/* The interval of `in` after elimination; valid as an upper bound where `upper`, otherwise as a lower one. */
static pass_interval eliminated(pass_build *b, const pass_linear *in, bool upper) {
  pass_linear rest = *in;
  pass_interval none = {INT64_MIN, INT64_MAX};
  if (!pass_enter(b)) return none;
  for (int i = 0; i < PASS_TERMS && replace_by_limit(b, &rest, upper); i++) {}
  while (has_size(b->g, &rest) && (pass_recombine(b, &rest) || replace_by_operand(b, &rest, upper))) {}
  pass_interval r = pass_linear_bounds(b, &rest);
  intersect(&r, by_fractions(b, &rest));
  pass_leave(b);
  return r;
}

static bool has_symbol(pass_build *b, const pass_linear *in) {
  for (uint32_t i = 0; i < in->count; i++)
    if (ir_bounds_of(b->g, in->term[i].atom).lo != INT64_MIN &&
        ir_op_of(b->g, in->term[i].atom) != IR_OP_RANGE)
      return true;
  return false;
}

bool pass_linear_below(pass_build *b, const pass_linear *in) {
  if (pass_linear_bounds(b, in).hi < 0) return true;
  if (!has_symbol(b, in)) return false;
  if (eliminated(b, in, true).hi < 0) return true;
  pass_linear less = *in; /* in <= -1 is -in - 1 >= 0 */
  return pass_linear_scale(&less, -1) && ir_sub_ok(less.constant, 1, &less.constant) &&
         pass_polynomial_at_least(b, &less);
}

bool pass_linear_at_least(pass_build *b, const pass_linear *in) {
  if (pass_linear_bounds(b, in).lo >= 0) return true;
  return has_symbol(b, in) && (eliminated(b, in, false).lo >= 0 || pass_polynomial_at_least(b, in));
}

/* facts of a validity */

void pass_round_ends(const ir_bounds *of, int64_t *lo, int64_t *hi) {
  const int64_t far = INT64_MAX / 2;
  if (of->div <= 1 || of->div > far) return;
  if (*lo > -far && *lo < far) *lo += ir_floor_mod(of->rem - ir_floor_mod(*lo, of->div), of->div);
  if (*hi > -far && *hi < far) *hi -= ir_floor_mod(ir_floor_mod(*hi, of->div) - of->rem, of->div);
}

void pass_facts_add(pass_build *b, pass_facts *out, ir_ref node, int64_t lo, int64_t hi) {
  ir_bounds of = ir_bounds_of(b->g, node);
  pass_round_ends(&of, &lo, &hi);
  for (uint32_t i = 0; i < out->count; i++)
    if (out->fact[i].node == node) {
      intersect(&out->fact[i].in, (pass_interval){lo, hi});
      out->never = out->never || out->fact[i].in.lo > out->fact[i].in.hi;
      return;
    }
  if (out->count < PASS_FACTS) out->fact[out->count++] = (pass_fact){node, {lo, hi}};
}

void pass_facts_clause(pass_build *b, ir_ref clause, pass_facts *out) {
  const ir_node *n = ir_get(b->g, clause);
  int64_t c;
  if (ir_is_false(b->g, clause)) out->never = true;
  if (n->nsrc != 2 || ir_dtype_of(b->g, n->src[0]) != IR_INDEX || !ir_is_const(b->g, n->src[1], &c)) return;
  ir_bounds natural = ir_bounds_of(b->g, n->src[0]);
  if (n->op == IR_OP_LT && c > INT64_MIN) pass_facts_add(b, out, n->src[0], natural.lo, c - 1);
  if (n->op == IR_OP_GE) pass_facts_add(b, out, n->src[0], c, natural.hi);
  if (n->op == IR_OP_EQ) pass_facts_add(b, out, n->src[0], c, c);
}

void pass_facts_read(pass_build *b, ir_ref valid, pass_facts *out) {
  const ir_node *n = ir_get(b->g, valid);
  out->count = 0;
  out->never = false;
  out->given = valid;
  if (n->op != IR_OP_AND || n->dtype != IR_BOOL) {
    pass_facts_clause(b, valid, out);
  } else {
    for (uint32_t i = 0; i < n->nsrc; i++) pass_facts_clause(b, n->src[i], out);
  }
  pass_facts_propagate(b, out, true);
}

static void substitute_fact(const ir_graph *g, pass_linear *in, const pass_linear *form, int64_t value,
                            int64_t times) {
  pass_linear next = *in;
  int64_t c;
  if (pass_linear_add(g, &next, form, -times) && ir_mul_ok(value, times, &c) &&
      ir_add_ok(next.constant, c, &next.constant))
    *in = next;
}

void pass_linear_substitute_facts(pass_build *b, pass_linear *in) {
  for (uint32_t i = 0; b->facts && i < b->facts->count; i++) {
    const pass_fact *f = &b->facts->fact[i];
    pass_linear form;
    if (f->in.lo != f->in.hi) continue;
    pass_linear_read(b->g, f->node, &form);
    if (form.count == 0) continue;
    pass_term pivot = form.term[form.count - 1];
    int64_t have = pass_linear_coef(in, pivot.atom);
    if (have == 0 || have == INT64_MIN || pivot.coef == INT64_MIN) continue;
    int64_t size = pivot.coef < 0 ? -pivot.coef : pivot.coef, rest = ir_floor_mod(have, size);
    if (rest > size - rest) rest -= size; /* the residue of least magnitude remains */
    substitute_fact(b->g, in, &form, f->in.lo, (have - rest) / pivot.coef);
  }
}
