/* Comparisons. Canonical: terms on the left with a positive first coefficient, the constant on the right; LT,
 * GE, EQ or NE, where EQ and NE at an end of the range of values become inequalities. Terms that cannot
 * change the answer are dropped: g*X + Y < c is X < q for q = ceil((c - lo(Y))/g) where g*(q-1) + hi(Y) < c
 * too. Quotients with coefficient +-1 are replaced by their numerators, and remainders of a shifted numerator
 * are compared without the shift. */
#include "impl.h"

static ir_ref plain_comparison(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  return ir_make(b->g, op, IR_BOOL, 0, (ir_ref[]){x, y}, 2);
}
static ir_ref bool_constant(pass_build *b, bool value) { return ir_bool(b->g, value); }

static bool ceil_div(int64_t a, int64_t d, int64_t *out) {
  return a != INT64_MIN && ir_sub_ok(0, ir_floor_div(-a, d), out);
}

/* g*X + Y < c, in digits: true when Y can be dropped; then in becomes X and *c its bound. */
static bool drop_small_digits(pass_build *b, pass_linear *in, int64_t *c) {
  pass_digits of;
  int64_t big[PASS_DIGITS], small[PASS_DIGITS], g = INT64_MAX;
  if (!pass_digits_of(b, in, &of)) return false;
  for (uint32_t tries = 0; tries < of.count; tries++) {
    int64_t next = 1, need, q, top;
    for (uint32_t i = 0; i < of.count; i++) {
      int64_t a = ir_gcd(of.digit[i].coef, 0);
      if (a > next && a < g) next = a;
    }
    if ((g = next) == 1) return false;
    bool some = false;
    for (uint32_t i = 0; i < of.count; i++) {
      bool whole = of.digit[i].coef % g == 0;
      big[i] = whole ? of.digit[i].coef / g : 0;
      small[i] = whole ? 0 : of.digit[i].coef;
      some = some || !whole;
    }
    pass_linear low;
    if (!some || !pass_digits_sum(b->g, &of, small, 0, &low)) continue;
    pass_interval y = pass_linear_bounds(b, &low);
    if (y.lo == INT64_MIN || y.hi == INT64_MAX || !ir_sub_ok(*c, y.lo, &need) || !ceil_div(need, g, &q))
      continue;
    if (!ir_sub_ok(q, 1, &top) || !ir_mul_ok(top, g, &top) || !ir_add_ok(top, y.hi, &top) || top >= *c)
      continue;
    if (!pass_digits_sum(b->g, &of, big, 0, &low)) continue;
    *in = low;
    *c = q;
    return true;
  }
  return false;
}

/* Index of the last term that is a quotient by a constant with coefficient +-1, or -1. */
static int unit_quotient(pass_build *b, const pass_linear *in, int64_t *d) {
  for (uint32_t i = in->count; i-- > 0;) {
    const ir_node *n = ir_get(b->g, in->term[i].atom);
    if ((in->term[i].coef == 1 || in->term[i].coef == -1) && n->op == IR_OP_FLOORDIV &&
        ir_is_const(b->g, n->src[1], d))
      return (int)i;
  }
  return -1;
}

/* N//d + Y < c is N + d*Y < d*c;  Y - N//d < c is d*Y - N < d*(c-1) + 1. */
static bool open_quotient(pass_build *b, pass_linear *in, int64_t *c) {
  int64_t d, bound, less_one;
  int at = unit_quotient(b, in, &d);
  if (at < 0) return false;
  pass_term t = in->term[at];
  pass_linear next = *in, numerator;
  pass_linear_drop(&next, (uint32_t)at);
  pass_linear_read(b->g, ir_src(b->g, t.atom, 0), &numerator);
  if (!pass_linear_scale(&next, d) || !pass_linear_add(b->g, &next, &numerator, t.coef)) return false;
  if (t.coef == 1
          ? !ir_mul_ok(*c, d, &bound)
          : !ir_sub_ok(*c, 1, &less_one) || !ir_mul_ok(less_one, d, &bound) || !ir_add_ok(bound, 1, &bound))
    return false;
  if (!ir_sub_ok(bound, next.constant, &bound)) return false;
  next.constant = 0;
  *in = next;
  *c = bound;
  return true;
}

/* Recognizes in = sign * ((N + r)%d - r) with 0 < r < d and sets *rest = N - d*(N//d), the remainder of the
 * unshifted numerator. */
static bool unshift(pass_build *b, const pass_linear *in, int64_t *sign, int64_t *d, int64_t *r,
                    pass_linear *rest) {
  pass_build anywhere = *b;
  anywhere.facts = NULL;
  for (uint32_t i = 0; i < in->count && in->count > 1; i++) {
    pass_term t = in->term[i];
    const ir_node *n = ir_get(b->g, t.atom);
    if (n->op != IR_OP_FLOORDIV || !ir_is_const(b->g, n->src[1], d) || (t.coef != *d && t.coef != -*d))
      continue;
    *sign = t.coef < 0 ? 1 : -1;
    pass_linear numerator, other = *in;
    pass_linear_drop(&other, i);
    pass_linear_read(b->g, n->src[0], &numerator);
    *r = numerator.constant;
    numerator.constant = 0;
    *rest = numerator;
    if (*r <= 0 || *r >= *d || !pass_linear_add(b->g, &other, &numerator, -*sign) || other.count > 0)
      continue;
    ir_ref plain_one = pass_linear_plain(b->g, &numerator),
           q = pass_make_div(&anywhere, plain_one, n->src[1]);
    if (q && ir_op_of(b->g, q) == IR_OP_FLOORDIV && ir_src(b->g, q, 0) == plain_one &&
        ir_src(b->g, q, 1) == n->src[1] && pass_linear_term(b->g, rest, q, -*d))
      return true;
  }
  return false;
}

/* sign * ((N + r)%d - r) = c is (N + r)%d = residue. False: too big. */
static bool residue_of(int64_t sign, int64_t c, int64_t r, int64_t *residue) {
  return ir_mul_ok(sign, c, residue) && ir_add_ok(*residue, r, residue) && *residue < INT64_MAX;
}

/* (N + r)%d < r is N%d >= d - r: the shift moved these residues to the other end. */
static bool unshift_end(pass_build *b, pass_linear *in, int64_t *c) {
  int64_t sign, d, r;
  pass_linear rest;
  if (*c != 0 && *c != 1) return false;
  if (!unshift(b, in, &sign, &d, &r, &rest) || *c != (sign < 0)) return false;
  if (sign > 0 && !pass_linear_scale(&rest, -1)) return false;
  *in = rest;
  *c = sign > 0 ? 1 - (d - r) : d - r;
  return true;
}

static ir_ref equal(pass_build *b, ir_op op, pass_linear *in);

/* the comparison of in, which has no constant, with c */
static ir_ref compare_with_constant(pass_build *b, ir_op op, const pass_linear *in, int64_t c) {
  pass_linear folded = *in;
  ir_ref left = pass_linear_node(b, &folded);
  if (!left) return 0;
  pass_linear_read(b->g, left, &folded);
  ir_ref src[] = {left, ir_index(b->g, c)};
  if (!pass_linear_same(&folded, in)) return pass_make_compare(b, op, src[0], src[1]);
  ir_ref r = pass_index_rules(b, op, src, 2);
  return r ? r : plain_comparison(b, op, src[0], src[1]);
}

/* Where in < c (in >= c if `negated`) holds for only one residue of a shifted numerator: the comparison of
 * N%d with it. 0: other cases. */
static ir_ref one_residue(pass_build *b, const pass_linear *in, int64_t c, bool negated) {
  int64_t sign, d, r, below;
  pass_linear rest;
  if (!unshift(b, in, &sign, &d, &r, &rest) || !residue_of(sign, c, r, &below)) return 0;
  below += sign < 0; /* the condition is (N + r)%d < below, or >= below when sign < 0 */
  if (below != 1 && below != d - 1) return 0;
  if (((below == 1) == (sign > 0)) == negated) return 0; /* it holds for all residues but one */
  rest.constant = -ir_floor_mod((below == 1 ? 0 : d - 1) - r, d);
  return equal(b, IR_OP_EQ, &rest);
}

/* in < 0, or in >= 0 when `negated`; in non-constant */
static ir_ref less_than_zero(pass_build *b, pass_linear *in, bool negated) {
  /* each removes a quotient or a term, unless digits introduce another [4 in the workloads] */
  enum { STEPS = 12 };
  int64_t c;
  bool again = true, opened = false;
  for (int step = 0; again; step++) {
    if (in->count == 0) return bool_constant(b, (in->constant < 0) != negated);
    if (pass_linear_below(b, in)) return bool_constant(b, !negated);
    if (pass_linear_at_least(b, in)) return bool_constant(b, negated);
    int64_t g = pass_linear_content(in);
    if (!ir_sub_ok(0, in->constant, &c)) return 0;
    in->constant = 0;
    for (uint32_t i = 0; i < in->count; i++) in->term[i].coef /= g;
    if (!ceil_div(c, g, &c)) return 0;
    again = step < STEPS && open_quotient(b, in, &c);
    opened = opened || again; /* digits that the facts separate would bring the quotient back */
    if (!again && step < STEPS && in->count > 1)
      again = (!(opened && b->facts) && drop_small_digits(b, in, &c)) || pass_saturate(b, in, &c) ||
              unshift_end(b, in, &c);
    if (again && !ir_sub_ok(0, c, &in->constant)) return 0;
  }
  ir_ref residue = one_residue(b, in, c, negated);
  if (residue) return residue;
  bool flip = pass_linear_sign(in) < 0; /* -X < c is X >= 1-c */
  if (flip && (!pass_linear_scale(in, -1) || !ir_sub_ok(1, c, &c))) return 0;
  return compare_with_constant(b, flip != negated ? IR_OP_GE : IR_OP_LT, in, c);
}

static bool never_zero(pass_build *b, const pass_linear *in) {
  int64_t div = 0, rem = in->constant; /* the sum is rem modulo div */
  for (uint32_t i = 0; i < in->count; i++) {
    ir_bounds x = ir_bounds_of(b->g, in->term[i].atom);
    int64_t d, r;
    if (!ir_mul_ok(x.div, in->term[i].coef, &d) || !ir_mul_ok(x.rem, in->term[i].coef, &r) ||
        !ir_add_ok(rem, r, &rem))
      return false;
    div = ir_gcd(div, d);
  }
  return div > 1 ? ir_floor_mod(rem, div) != 0 : div == 0 && rem != 0;
}

/* in == 0, or != 0; in non-constant */
static ir_ref equal(pass_build *b, ir_op op, pass_linear *in) {
  pass_linear over = *in;
  bool apart = pass_linear_below(b, in) ||
               (ir_sub_ok(over.constant, 1, &over.constant) && pass_linear_at_least(b, &over));
  int64_t c, g = pass_linear_content(in);
  if (apart || in->constant % g != 0 || never_zero(b, in)) return bool_constant(b, op == IR_OP_NE);
  for (uint32_t i = 0; i < in->count; i++) in->term[i].coef /= g;
  in->constant /= g;
  if (pass_linear_sign(in) < 0 && !pass_linear_scale(in, -1)) return 0;
  if (!ir_sub_ok(0, in->constant, &c)) return 0;
  pass_interval all = pass_linear_bounds(b, in);
  if (all.lo == 0 && all.hi == 0) return bool_constant(b, op == IR_OP_EQ);
  if (all.lo == 0 || all.hi == 0) {               /* 0 is an end of the interval: an inequality */
    bool low = (all.lo == 0) == (op == IR_OP_EQ); /* in < 1 or in < 0 */
    if (all.lo == 0 ? !ir_sub_ok(in->constant, 1, &in->constant) : false) return 0;
    return less_than_zero(b, in, !low);
  }
  int64_t d;
  if (unit_quotient(b, in, &d) >= 0) { /* the numerator lies in an interval */
    pass_linear above = *in;
    if (!ir_sub_ok(above.constant, 1, &above.constant)) return 0;
    ir_ref ends[] = {less_than_zero(b, &above, op == IR_OP_NE), less_than_zero(b, in, op == IR_OP_EQ)};
    return pass_make_junction(b, op == IR_OP_EQ ? IR_OP_AND : IR_OP_OR, ends, 2);
  }
  in->constant = 0;
  int64_t sign, r, residue;
  pass_linear rest;
  if (unshift(b, in, &sign, &d, &r, &rest) && residue_of(sign, c, r, &residue)) {
    if (residue < 0 || residue >= d) return bool_constant(b, op == IR_OP_NE);
    rest.constant = -ir_floor_mod(residue - r, d);
    return equal(b, op, &rest);
  }
  return compare_with_constant(b, op, in, c);
}

static ir_ref compare_forms(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  pass_linear in, right;
  pass_linear_read(b->g, x, &in);
  pass_linear_read(b->g, y, &right);
  bool swap = op == IR_OP_GT || op == IR_OP_LE; /* x > y is y - x < 0; x <= y is not (y - x < 0) */
  if (!pass_linear_add(b->g, &in, &right, -1) || (swap && !pass_linear_scale(&in, -1))) return 0;
  pass_linear_substitute_facts(b, &in);
  bool equality = op == IR_OP_EQ || op == IR_OP_NE;
  bool negated = op == IR_OP_GE || op == IR_OP_LE;
  if (in.count == 0)
    return bool_constant(b, equality ? (in.constant == 0) == (op == IR_OP_EQ) : (in.constant < 0) != negated);
  if (equality) return equal(b, op, &in);
  return less_than_zero(b, &in, negated);
}

/* Is it a comparison of a sum that contains quotients? Simplifying one quotient may have introduced
 * others. */
static bool has_sum(const ir_graph *g, ir_ref r) {
  const ir_node *n = ir_get(g, r);
  if (ir_ops[n->op].cls != IR_CLASS_COMPARE || ir_op_of(g, n->src[0]) != IR_OP_ADD) return false;
  const ir_node *sum = ir_get(g, n->src[0]);
  for (uint32_t i = 0; i < sum->nsrc; i++) {
    const ir_node *t = ir_get(g, sum->src[i]);
    if (t->op == IR_OP_FLOORDIV || (t->op == IR_OP_MUL && ir_op_of(g, t->src[0]) == IR_OP_FLOORDIV))
      return true;
  }
  return false;
}

ir_ref pass_make_compare(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  /* after one the workloads and the tests have nothing left to do; each is as valid */
  enum { ITERATIONS = 3 };
  if (!x || !y) return 0;
  ir_ref r = 0;
  if (pass_enter(b)) {
    r = compare_forms(b, op, x, y);
    for (int iteration = 0; iteration < ITERATIONS && r && has_sum(b->g, r) && !b->facts; iteration++) {
      ir_ref before = r;
      r = compare_forms(b, ir_op_of(b->g, r), ir_src(b->g, r, 0), ir_src(b->g, r, 1));
      if (r == before) break;
    }
    pass_leave(b);
    if (r && !pass_allowed(b, "compare", op, (ir_ref[]){x, y}, 2, r)) r = 0;
  }
  return r ? r : plain_comparison(b, op, x, y);
}

/* Rebuilds a comparison whose sum contains quotients. */
static ir_ref built_anew(pass_build *b, ir_ref comparison) {
  if (!has_sum(b->g, comparison) || ir_dtype_of(b->g, ir_src(b->g, comparison, 0)) != IR_INDEX)
    return comparison;
  return pass_make_compare(b, ir_op_of(b->g, comparison), ir_src(b->g, comparison, 0),
                           ir_src(b->g, comparison, 1));
}

ir_ref pass_make_opposite(pass_build *b, ir_ref x) {
  const ir_node *n = ir_get(b->g, x);
  ir_op op = (ir_op)n->op;
  op = op == IR_OP_LT   ? IR_OP_GE
       : op == IR_OP_GE ? IR_OP_LT
       : op == IR_OP_EQ ? IR_OP_NE
       : op == IR_OP_NE ? IR_OP_EQ
       : op == IR_OP_GT ? IR_OP_LE
       : op == IR_OP_LE ? IR_OP_GT
                        : IR_OP_ERROR;
  if (op == IR_OP_ERROR) return 0;
  ir_kind kind = (ir_kind)ir_dtypes[ir_dtype_of(b->g, n->src[0])].kind;
  if (kind == IR_KIND_FLOAT && op != IR_OP_NE && op != IR_OP_EQ) return 0; /* for NaN both are false */
  return built_anew(b, ir_binary(b->g, op, n->src[0], n->src[1]));
}
