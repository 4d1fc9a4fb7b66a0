/* Floor division and modulo of sums: what needs more than a rule.
 *
 * For a constant divisor d and numerator N (a linear form), in this order, after the rules of index.rules:
 *   collapse    choose a residue for each coefficient, a = q*d + r, so that the r-part stays inside one
 * period; then N//d is the q-part plus a constant and N%d the r-part less a constant: no division is left
 *   residues    otherwise coefficients are taken modulo d (sign kept), the constant into [0, d)
 *   gcd         a common factor of d and all coefficients leaves: (g*X + r)//(g*d) = X//d,  (g*X + r)%(g*d) =
 * g*(X%d) + r digits      for a factor f of d where N//f collapses to X: N//d = X//(d/f),  N%d = f*(X%(d/f))
 * + (N - f*X) complement  with more negative than positive coefficients: N//d = -1 - (-1-N)//d,  N%d = d-1 -
 * (-1-N)%d so a quotient and a remainder of one numerator keep one numerator.
 *
 * A symbolic divisor D divides as polynomials do, N = Q*D + R by the leading monomial, and N//D = Q + R//D
 * for any Q; the rest goes away where 0 <= R < D is proven. */
#include "index_impl.h"

/* quotient and remainder of one division: N = d*quotient + remainder as linear forms, remainder inside [0, d)
 */
typedef struct split {
  pass_linear quotient, remainder;
} split;

static int64_t width(int64_t residue, uint64_t span) { /* |residue| * span, or -1 when that is out of reach */
  int64_t r = residue < 0 ? -residue : residue, w;
  return span > INT64_MAX || !ir_mul_ok(r, (int64_t)span, &w) ? -1 : w;
}

/* The values of coefs . atoms + constant, atoms within [lo, hi]. */
static bool value_range(const int64_t *coef, const ir_bounds *in, uint32_t n, int64_t constant, int64_t *lo,
                        int64_t *hi) {
  *lo = *hi = constant;
  for (uint32_t i = 0; i < n; i++) {
    int64_t a, c;
    if (coef[i] == 0) continue;
    if (!ir_mul_ok(coef[i], in[i].lo, &a) || !ir_mul_ok(coef[i], in[i].hi, &c)) return false;
    if (!ir_add_ok(*lo, a < c ? a : c, lo) || !ir_add_ok(*hi, a < c ? c : a, hi)) return false;
  }
  return true;
}

static bool one_period(const int64_t *residue, const ir_bounds *in, uint32_t n, int64_t constant, int64_t d,
                       int64_t *period) {
  int64_t lo, hi;
  if (!value_range(residue, in, n, constant, &lo, &hi) || ir_floor_div(lo, d) != ir_floor_div(hi, d))
    return false;
  *period = ir_floor_div(lo, d);
  return true;
}

/* Residues of least width first; then, where that fails, each other residue in turn (ties and two-valued
 * atoms). */
static bool choose_residues(const pass_linear *in, const ir_bounds *at, int64_t d, int64_t *residue,
                            int64_t *period) {
  int64_t total = 0;
  for (uint32_t i = 0; i < in->count; i++) {
    int64_t r = ir_floor_mod(in->term[i].coef, d);
    if (r == 0) {
      residue[i] = 0;
      continue;
    }
    if (at[i].lo == INT64_MIN || at[i].hi == INT64_MAX) return false;
    uint64_t span = (uint64_t)at[i].hi - (uint64_t)at[i].lo;
    residue[i] = r <= d - r ? r : r - d;
    int64_t w = width(residue[i], span);
    if (w < 0 || !ir_add_ok(total, w, &total) || total >= d) return false; /* no choice is narrower */
  }
  if (one_period(residue, at, in->count, in->constant, d, period)) return true;
  for (uint32_t i = 0; i < in->count; i++) {
    int64_t kept = residue[i];
    if (kept == 0) continue;
    residue[i] = kept > 0 ? kept - d : kept + d;
    if (one_period(residue, at, in->count, in->constant, d, period)) return true;
    residue[i] = kept;
  }
  return false;
}

static bool collapse(pass_build *b, const pass_linear *in, int64_t d, split *out) {
  ir_bounds at[PASS_TERMS];
  int64_t residue[PASS_TERMS] = {0}, period, q;
  for (uint32_t i = 0; i < in->count; i++) at[i] = pass_bounds(b, in->term[i].atom);
  if (!choose_residues(in, at, d, residue, &period)) {
    if (!b->facts) return false; /* facts about sums: the whole numerator may lie in one period */
    pass_interval all = pass_linear_bounds(b, in);
    if (all.lo == INT64_MIN || all.hi == INT64_MAX || ir_floor_div(all.lo, d) != ir_floor_div(all.hi, d))
      return false;
    period = ir_floor_div(all.lo, d);
    for (uint32_t i = 0; i < in->count; i++) residue[i] = in->term[i].coef;
  }
  pass_linear_const(&out->quotient, period);
  for (uint32_t i = 0; i < in->count; i++) {
    if (!ir_sub_ok(in->term[i].coef, residue[i], &q)) return false;
    pass_linear_term(&out->quotient, in->term[i].atom, q / d);
  }
  out->remainder = *in;
  return d != INT64_MIN && pass_linear_add(&out->remainder, &out->quotient, -d);
}

/* N = d*out + in afterwards, coefficients of `in` smaller than d. */
static bool take_residues(pass_linear *in, int64_t d, pass_linear *out) {
  pass_linear rest;
  pass_linear_const(out, ir_floor_div(in->constant, d));
  pass_linear_const(&rest, ir_floor_mod(in->constant, d));
  for (uint32_t i = 0; i < in->count; i++) {
    pass_term t = in->term[i];
    if (!pass_linear_term(out, t.atom, t.coef / d) || !pass_linear_term(&rest, t.atom, t.coef % d))
      return false;
  }
  *in = rest;
  return true;
}

/* True when -1 - N is the form to keep. */
static bool prefers_complement(const pass_linear *in) {
  int balance = 0;
  for (uint32_t i = 0; i < in->count; i++) balance += in->term[i].coef < 0 ? -1 : 1;
  return balance < 0 || (balance == 0 && pass_linear_sign(in) < 0);
}

static bool complement(pass_linear *in) {
  return pass_linear_scale(in, -1) && ir_sub_ok(in->constant, 1, &in->constant);
}

static ir_ref plain(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  return ir_make(b->g, op, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}

/* The largest factor f of d, a gcd with some coefficient, for which N//f collapses. */
static int64_t digit(pass_build *b, const pass_linear *in, int64_t d, split *parts) {
  int64_t below = d;
  for (;;) {
    int64_t f = 1;
    for (uint32_t i = 0; i < in->count; i++) {
      int64_t c = ir_gcd(in->term[i].coef, d);
      if (c < below && c > f) f = c;
    }
    if (f == 1) return 1;
    if (collapse(b, in, f, parts)) return f;
    below = f;
  }
}

/* quotient + rest */
static ir_ref plus(pass_build *b, ir_ref rest, const pass_linear *quotient, int64_t scale) {
  pass_linear sum;
  if (!rest) return 0;
  pass_linear_read(b->g, rest, &sum);
  if (pass_linear_scale(&sum, scale) && pass_linear_add(&sum, quotient, 1)) return pass_linear_node(b, &sum);
  pass_linear other = *quotient;
  ir_ref left = pass_make_mul(b, rest, ir_index(b->g, scale));
  return pass_make_add(b, left, pass_linear_node(b, &other));
}

static bool is_zero(const pass_linear *in) { return in->count == 0 && in->constant == 0; }

/* a smaller division of the same kind: the rules are tried on it from the start */
static ir_ref again(pass_build *b, ir_op op, pass_linear *in, int64_t d) {
  ir_ref x = pass_linear_node(b, in);
  return op == IR_OP_FLOORDIV ? pass_make_div(b, x, ir_index(b->g, d))
                              : pass_make_mod(b, x, ir_index(b->g, d));
}

/* floor of N/d */
static ir_ref quotient_of(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  split parts;
  pass_linear in, outside, flipped, shared;
  pass_linear_read(b->g, x, &in);
  if (collapse(b, &in, d, &parts)) return pass_linear_node(b, &parts.quotient);
  if (!take_residues(&in, d, &outside)) return plain(b, IR_OP_FLOORDIV, x, y);
  if (!is_zero(&outside)) return plus(b, again(b, IR_OP_FLOORDIV, &in, d), &outside, 1);
  int64_t common = ir_gcd(pass_linear_content(&in), d);
  if (common > 1) {
    take_residues(&in, common, &shared);
    return again(b, IR_OP_FLOORDIV, &shared, d / common);
  }
  int64_t f = digit(b, &in, d, &parts);
  if (f > 1) return again(b, IR_OP_FLOORDIV, &parts.quotient, d / f);
  flipped = in;
  if (!prefers_complement(&in) || !complement(&flipped) || !take_residues(&flipped, d, &outside) ||
      !pass_linear_scale(&outside, -1) || !ir_sub_ok(outside.constant, 1, &outside.constant))
    return plain(b, IR_OP_FLOORDIV, x, y);
  return plus(b, again(b, IR_OP_FLOORDIV, &flipped, d), &outside, -1);
}

/* N modulo d */
static ir_ref remainder_of(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  split parts;
  pass_linear in, outside, flipped, shared;
  pass_linear_read(b->g, x, &in);
  if (collapse(b, &in, d, &parts)) return pass_linear_node(b, &parts.remainder);
  if (!take_residues(&in, d, &outside)) return plain(b, IR_OP_MOD, x, y);
  if (!is_zero(&outside)) return again(b, IR_OP_MOD, &in, d);
  int64_t common = ir_gcd(pass_linear_content(&in), d);
  if (common > 1) {
    take_residues(&in, common, &shared);
    return plus(b, again(b, IR_OP_MOD, &shared, d / common), &in, common);
  }
  int64_t f = digit(b, &in, d, &parts);
  if (f > 1) return plus(b, again(b, IR_OP_MOD, &parts.quotient, d / f), &parts.remainder, f);
  flipped = in;
  if (!prefers_complement(&in) || !complement(&flipped) || !take_residues(&flipped, d, &outside))
    return plain(b, IR_OP_MOD, x, y);
  pass_linear_const(&outside, d - 1);
  return plus(b, again(b, IR_OP_MOD, &flipped, d), &outside, -1);
}

/* symbolic divisors */

/* atom / lead as monomials: the product of the factors left, or 0 */
static ir_ref divide_monomial(ir_graph *g, ir_ref atom, ir_ref lead) {
  ir_ref f[PASS_FACTORS], l[PASS_FACTORS], left[PASS_FACTORS];
  uint32_t n = pass_factors(g, atom, f), m = pass_factors(g, lead, l), i = 0, j = 0, k = 0;
  if (!n || !m) return 0;
  while (i < n && (j == m || f[i] <= l[j]))
    if (j < m && f[i] == l[j]) i++, j++;
    else left[k++] = f[i++];
  return j == m ? pass_product(g, left, k) : 0;
}

/* the monomial of highest degree, the last of equals */
static uint32_t leading(const ir_graph *g, const pass_linear *in) {
  uint32_t best = 0, degree = 0;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref f[PASS_FACTORS];
    uint32_t n = pass_factors(g, in->term[i].atom, f);
    if (n >= degree) best = i, degree = n;
  }
  return best;
}

/* in = quotient*den + in': subtract multiples of den until no term holds its leading monomial */
static bool divide_polynomial(pass_build *b, pass_linear *in, const pass_linear *den, pass_linear *quotient) {
  pass_term lead = den->term[leading(b->g, den)];
  ir_ref den_node = pass_linear_plain(b->g, den);
  bool changed = false;
  pass_linear_const(quotient, 0);
  for (uint32_t i = 0; i < in->count && den_node;) {
    pass_term t = in->term[i];
    ir_ref left = t.coef / lead.coef ? divide_monomial(b->g, t.atom, lead.atom) : 0;
    int64_t q = t.coef / lead.coef;
    pass_linear part, rest = *in, added = *quotient;
    ir_ref product = left ? pass_make_mul(b, left, den_node) : 0;
    if (product) pass_linear_read(b->g, product, &part);
    int64_t value;
    bool constant = left && ir_is_const(b->g, left, &value);
    if (!product || q == INT64_MIN || !pass_linear_add(&rest, &part, -q) ||
        (constant ? !ir_mul_ok(q, value, &value) || !ir_add_ok(added.constant, value, &added.constant)
                  : !pass_linear_term(&added, left, q)) ||
        !pass_enter(b)) {
      i++;
      continue;
    }
    b->depth--; /* a step spent, no deeper: bounds the number of subtractions */
    int64_t after = pass_linear_coef(&rest, t.atom);
    if ((after < 0 ? -(after + 1) : after) >= (t.coef < 0 ? -(t.coef + 1) : t.coef) && after != 0) {
      i++;
      continue;
    }
    *in = rest;
    *quotient = added;
    changed = true;
    i = 0;
  }
  return changed;
}

/* 0 <= in < den */
static bool inside(pass_build *b, const pass_linear *in, const pass_linear *den) {
  pass_linear over = *in;
  return pass_linear_add(&over, den, -1) && pass_linear_below(b, &over) && pass_linear_at_least(b, in);
}

/* N = quotient*D + in' with 0 <= in' < D proven: true, and no division is left */
static bool settle(pass_build *b, pass_linear *in, const pass_linear *den, pass_linear *quotient) {
  divide_polynomial(b, in, den, quotient);
  if (inside(b, in, den)) return true;
  pass_linear up = *in; /* a remainder left between -D and 0 */
  if (!pass_linear_add(&up, den, 1) || quotient->constant == INT64_MIN || !inside(b, &up, den)) return false;
  *in = up;
  quotient->constant--;
  return true;
}

/* A factor of a one-monomial divisor for which N divides out completely: N//(f*rest) = (N//f)//rest. */
static bool symbolic_digit(pass_build *b, const pass_linear *in, const pass_linear *den, split *parts,
                           ir_ref *f, ir_ref *rest) {
  ir_ref all[PASS_FACTORS], other[PASS_FACTORS];
  if (den->count != 1 || den->constant != 0) return false;
  uint32_t n = pass_factors(b->g, den->term[0].atom, all);
  for (uint32_t i = 0; i < n; i++) {
    if (n == 1 && den->term[0].coef == 1) return false;
    pass_linear one;
    uint32_t m = 0;
    for (uint32_t j = 0; j < n; j++)
      if (j != i) other[m++] = all[j];
    *f = all[i];
    *rest = pass_make_mul(b, pass_product(b->g, other, m), ir_index(b->g, den->term[0].coef));
    if (!*rest || ir_bounds_of(b->g, *f).lo < 1 || ir_bounds_of(b->g, *rest).lo < 1) continue;
    pass_linear_read(b->g, *f, &one);
    parts->remainder = *in;
    if (settle(b, &parts->remainder, &one, &parts->quotient)) return true;
  }
  return false;
}

static ir_ref symbolic_quotient(pass_build *b, ir_ref x, ir_ref y) {
  pass_linear in, den, quotient;
  split parts;
  ir_ref f, rest;
  pass_linear_read(b->g, x, &in);
  pass_linear_read(b->g, y, &den);
  if (den.count == 0) return plain(b, IR_OP_FLOORDIV, x, y);
  if (settle(b, &in, &den, &quotient)) return pass_linear_node(b, &quotient);
  if (symbolic_digit(b, &in, &den, &parts, &f, &rest))
    return plus(b, pass_make_div(b, pass_linear_node(b, &parts.quotient), rest), &quotient, 1);
  if (is_zero(&quotient)) return plain(b, IR_OP_FLOORDIV, x, y);
  return plus(b, pass_make_div(b, pass_linear_node(b, &in), y), &quotient, 1);
}

static ir_ref symbolic_remainder(pass_build *b, ir_ref x, ir_ref y) {
  pass_linear in, den, quotient;
  split parts;
  ir_ref f, rest;
  pass_linear_read(b->g, x, &in);
  pass_linear_read(b->g, y, &den);
  if (den.count == 0) return plain(b, IR_OP_MOD, x, y);
  if (settle(b, &in, &den, &quotient)) return pass_linear_node(b, &in);
  if (symbolic_digit(b, &in, &den, &parts, &f, &rest)) {
    ir_ref high = pass_make_mod(b, pass_linear_node(b, &parts.quotient), rest);
    return plus(b, high ? pass_make_mul(b, high, f) : 0, &parts.remainder, 1);
  }
  return is_zero(&quotient) ? plain(b, IR_OP_MOD, x, y) : pass_make_mod(b, pass_linear_node(b, &in), y);
}

/* the builders */

static ir_ref refuse_divisor(ir_graph *g, ir_op op, ir_ref divisor, ir_bounds by) {
  if (divisor >= g->bounds_cap || !g->bounds_known[divisor]) {
    ir_fail(g->error, IR_ERR_MEMORY, "out of memory while bounding a divisor");
    return 0;
  }
  ir_fail(g->error, IR_ERR_INVALID,
          "%s: the divisor's lower bound is %lld, but an index divisor must be proven >= 1", ir_ops[op].text,
          (long long)by.lo);
  return 0;
}

static ir_ref make(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  if (!x || !y) return 0;
  int64_t d;
  bool fixed = ir_is_const(b->g, y, &d);
  ir_bounds by = fixed && d >= 1 ? (ir_bounds){d, d, 0, d} : ir_bounds_of(b->g, y);
  if (by.lo < 1) return refuse_divisor(b->g, op, y, by);
  if (!pass_enter(b)) return plain(b, op, x, y);
  ir_ref r = pass_index_rules(b, op, (ir_ref[]){x, y}, 2);
  if (!r && b->g->error->status != IR_ERR_MEMORY) {
    if (fixed) r = op == IR_OP_FLOORDIV ? quotient_of(b, x, y, d) : remainder_of(b, x, y, d);
    else r = op == IR_OP_FLOORDIV ? symbolic_quotient(b, x, y) : symbolic_remainder(b, x, y);
    if (r && !pass_allowed(b, op == IR_OP_FLOORDIV ? "divide" : "remainder", op, (ir_ref[]){x, y}, 2, r))
      r = plain(b, op, x, y);
  }
  pass_leave(b);
  return r;
}

ir_ref pass_make_div(pass_build *b, ir_ref x, ir_ref y) { return make(b, IR_OP_FLOORDIV, x, y); }
ir_ref pass_make_mod(pass_build *b, ir_ref x, ir_ref y) { return make(b, IR_OP_MOD, x, y); }
