/* Floor division of sums, beyond what rules do. The remainder by a constant divisor is no operation of its
 * own, N%d = N - d*(N//d), so that digits cancel wherever they meet.
 *
 * For a constant divisor d and a numerator N, split into digits (linear_system.c), in this order, after the
 * rules of passes/index/rules/index.rules:
 *   residues    each coefficient a = d*q + r with r of least magnitude: N//d = Q + R//d
 *   collapse    where R stays inside one period, R//d is a number and no division is left; also with one
 *               residue taken on the other side of zero
 *   gcd         a common factor of d and all coefficients is divided out: (g*X + r)//(g*d) = X//d
 *   low part    for a factor f of d where N//f collapses to X: N//d = X//(d/f)
 *   threshold   a quotient of two values becomes the simplest quotient with that step
 *   complement  with more negative than positive coefficients: N//d = -1 - (-1-N)//d
 *
 * A symbolic divisor D divides as polynomials do, N = Q*D + R by the leading monomial, and N//D = Q + R//D
 * for any Q; R//D vanishes where 0 <= R < D is proven. The remainder by a symbolic divisor stays an
 * operation. */
#include "impl.h"

/* N = d*quotient + remainder; for symbolic divisors, the remainder lies in [0, d) */
typedef struct split {
  pass_linear quotient, remainder;
} split;

static ir_ref plain_division(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  return ir_make(b->g, op, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}

static bool is_zero(const pass_linear *in) { return in->count == 0 && in->constant == 0; }

/* rest * scale + sum */
static ir_ref plus(pass_build *b, ir_ref rest, const pass_linear *addend, int64_t scale) {
  pass_linear sum;
  if (!rest) return 0;
  pass_linear_read(b->g, rest, &sum);
  if (pass_linear_scale(&sum, scale) && pass_linear_add(b->g, &sum, addend, 1))
    return pass_linear_node(b, &sum);
  pass_linear other = *addend;
  ir_ref left = pass_make_mul(b, rest, ir_index(b->g, scale));
  return pass_make_add(b, left, pass_linear_node(b, &other));
}

/* residues */

/* The residue of a modulo d of least magnitude; of two such, the positive one. */
static int64_t least_residue(int64_t a, int64_t d) {
  int64_t r = ir_floor_mod(a, d);
  return r <= d - r ? r : r - d;
}

/* The interval of constant + sum of weight * digit, with independent digits. False: not finite. */
static bool interval_of(const pass_digits *of, const int64_t *weight, int64_t constant, pass_interval *out) {
  *out = (pass_interval){constant, constant};
  for (uint32_t i = 0; i < of->count; i++) {
    const pass_interval in = of->digit[i].in;
    int64_t a, c;
    if (weight[i] == 0) continue;
    if (in.lo == INT64_MIN || in.hi == INT64_MAX) return false;
    if (!ir_mul_ok(weight[i], in.lo, &a) || !ir_mul_ok(weight[i], in.hi, &c)) return false;
    if (!ir_add_ok(out->lo, a < c ? a : c, &out->lo) || !ir_add_ok(out->hi, a < c ? c : a, &out->hi))
      return false;
  }
  return true;
}

static bool is_in_one_period(const pass_interval *in, int64_t d) {
  return in->lo != INT64_MIN && in->hi != INT64_MAX && ir_floor_div(in->lo, d) == ir_floor_div(in->hi, d);
}

/* N = d*quotient + remainder with these residues as coefficients of the remainder; false: too big */
static bool split_by_residues(const ir_graph *g, const pass_digits *of, const int64_t *residue, int64_t d,
                              split *out) {
  int64_t whole[PASS_DIGITS];
  for (uint32_t i = 0; i < of->count; i++) {
    if (!ir_sub_ok(of->digit[i].coef, residue[i], &whole[i])) return false;
    whole[i] /= d;
  }
  return pass_digits_sum(g, of, whole, 0, &out->quotient) &&
         pass_digits_sum(g, of, residue, of->constant, &out->remainder);
}

/* The remainder lies in one period of d: moves the number of the period to the quotient, so that the
 * remainder lies in [0, d). False: overflow. */
static bool finalize_period(split *parts, int64_t lo, int64_t d) {
  int64_t period = ir_floor_div(lo, d), base;
  pass_linear rest = parts->remainder;
  if (!ir_mul_ok(period, d, &base) || !ir_sub_ok(rest.constant, base, &rest.constant) ||
      !ir_add_ok(parts->quotient.constant, period, &parts->quotient.constant))
    return false;
  parts->remainder = rest;
  return true;
}

/* Looks for residues with which the remainder lies in one period: the given ones, or one of them on the other
 * side of zero. */
static bool find_period(pass_build *b, const pass_digits *of, int64_t *residue, int64_t d, split *out) {
  pass_interval in;
  if (interval_of(of, residue, of->constant, &in) && is_in_one_period(&in, d))
    return split_by_residues(b->g, of, residue, d, out) && finalize_period(out, in.lo, d);
  for (uint32_t i = 0; i < of->count && in.lo != INT64_MIN; i++) {
    int64_t kept = residue[i];
    if (kept == 0) continue;
    residue[i] = kept > 0 ? kept - d : kept + d;
    bool fits = interval_of(of, residue, of->constant, &in) && is_in_one_period(&in, d);
    if (fits) return split_by_residues(b->g, of, residue, d, out) && finalize_period(out, in.lo, d);
    residue[i] = kept;
  }
  if (!split_by_residues(b->g, of, residue, d, out)) return false;
  if (of->system.rows == 0 && !b->facts) return false;
  in = pass_linear_bounds(b, &out->remainder); /* with the relations between digits, and the facts */
  return is_in_one_period(&in, d) && finalize_period(out, in.lo, d);
}

/* N = d*quotient + remainder with residues of least magnitude; true when the remainder lies in [0, d). *fits:
 * false when too big. */
static bool divides_out(pass_build *b, const pass_linear *in, int64_t d, split *out, bool *fits) {
  pass_digits of;
  int64_t residue[PASS_DIGITS];
  *fits = pass_digits_of(b, in, &of);
  if (!*fits) return false;
  for (uint32_t i = 0; i < of.count; i++) residue[i] = least_residue(of.digit[i].coef, d);
  if (find_period(b, &of, residue, d, out)) return true;
  *fits = split_by_residues(b->g, &of, residue, d, out);
  return false;
}

/* Moves terms that are multiples of d to the quotient, and the constant into [0, d). */
static bool extract_multiples(const ir_graph *g, pass_linear *in, int64_t d, pass_linear *quotient) {
  pass_linear rest;
  pass_linear_const(&rest, ir_floor_mod(in->constant, d));
  if (!ir_add_ok(quotient->constant, ir_floor_div(in->constant, d), &quotient->constant)) return false;
  for (uint32_t i = 0; i < in->count; i++) {
    pass_term t = in->term[i];
    if (!(t.coef % d == 0 ? pass_linear_term(g, quotient, t.atom, t.coef / d)
                          : pass_linear_term(g, &rest, t.atom, t.coef)))
      return false;
  }
  *in = rest;
  return true;
}

typedef enum reduced { DONE, LEFT, TOO_BIG } reduced;

/* N = d*quotient + in. DONE: in lies in [0, d). LEFT: in is the canonical representative of its class modulo
 * d. TOO_BIG: overflow or too many terms. */
static reduced reduce_modulo(pass_build *b, pass_linear *in, int64_t d, pass_linear *quotient) {
  enum {
    /* Reducing digits may leave new multiples, and fewer atoms split into other digits: twice in the
       workloads. */
    ITERATIONS = 4
  };
  split parts;
  bool fits = true;
  pass_linear_const(quotient, 0);
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    pass_linear before = *in;
    if (!extract_multiples(b->g, in, d, quotient)) return TOO_BIG;
    if (in->count == 0) return DONE;
    bool done = divides_out(b, in, d, &parts, &fits);
    if (!fits || !pass_linear_add(b->g, quotient, &parts.quotient, 1)) return TOO_BIG;
    *in = parts.remainder;
    if (done) return DONE;
    if (pass_linear_same(in, &before)) break;
  }
  return extract_multiples(b->g, in, d, quotient) ? LEFT : TOO_BIG;
}

/* The largest factor f of d, a gcd of d with some coefficient, for which N//f collapses to *quotient; 1:
 * none. */
static int64_t low_factor(pass_build *b, const pass_linear *in, int64_t d, pass_linear *quotient) {
  int64_t below = d;
  for (;;) {
    int64_t f = 1;
    for (uint32_t i = 0; i < in->count; i++) {
      int64_t c = ir_gcd(in->term[i].coef, d);
      if (c < below && c > f) f = c;
    }
    pass_linear rest = *in;
    if (f == 1) return 1;
    if (reduce_modulo(b, &rest, f, quotient) == DONE) return f;
    below = f;
  }
}

/* Is -1 - N the preferred form of the numerator? Coefficients of d/2 do not count: they are their own
 * complement. */
static bool is_complement_preferred(const pass_linear *in, int64_t d) {
  int balance = 0, first = 0;
  for (uint32_t i = 0; i < in->count; i++) {
    int sign = in->term[i].coef < 0 ? -1 : 1;
    if (in->term[i].coef > 0 ? in->term[i].coef == d - in->term[i].coef
                             : in->term[i].coef == -d - in->term[i].coef)
      continue;
    if (first == 0) first = sign;
    balance += sign;
  }
  return balance < 0 || (balance == 0 && first < 0);
}

static bool complement(pass_linear *in) {
  return pass_linear_scale(in, -1) && ir_sub_ok(in->constant, 1, &in->constant);
}

/* in // d from the start, rules first */
static ir_ref divide_afresh(pass_build *b, pass_linear *in, int64_t d) {
  return pass_make_div(b, pass_linear_node(b, in), ir_index(b->g, d));
}

/* floor of N/d */
static ir_ref quotient_of(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear in, outside, inner;
  pass_linear_read(b->g, x, &in);
  pass_linear_substitute_facts(b, &in);
  reduced left = reduce_modulo(b, &in, d, &outside);
  if (left == DONE) return pass_linear_node(b, &outside);
  if (left == TOO_BIG) return plain_division(b, IR_OP_FLOORDIV, x, y);
  if (!is_zero(&outside)) return plus(b, divide_afresh(b, &in, d), &outside, 1);
  int64_t common = ir_gcd(pass_linear_content(&in), d);
  if (common > 1) {
    in.constant = ir_floor_div(in.constant, common);
    for (uint32_t i = 0; i < in.count; i++) in.term[i].coef /= common;
    return divide_afresh(b, &in, d / common);
  }
  int64_t f = low_factor(b, &in, d, &inner);
  if (f > 1) return divide_afresh(b, &inner, d / f);
  inner = in;
  int64_t divisor, first;
  if (pass_threshold_of(b, &inner, d, &divisor, &first) && !(divisor == d && pass_linear_same(&inner, &in))) {
    pass_linear_const(&outside, first);
    return plus(b, divide_afresh(b, &inner, divisor), &outside, 1);
  }
  inner = in;
  if (is_complement_preferred(&in, d) && complement(&in)) {
    if (reduce_modulo(b, &in, d, &outside) == LEFT && !is_complement_preferred(&in, d) &&
        pass_linear_scale(&outside, -1) && ir_sub_ok(outside.constant, 1, &outside.constant))
      return plus(b, divide_afresh(b, &in, d), &outside, -1);
  }
  return plain_division(b, IR_OP_FLOORDIV, b->facts ? pass_linear_plain(b->g, &inner) : x, y);
}

/* N - d*(N//d) */
static ir_ref remainder_of(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear sum, quotient;
  ir_ref q = pass_make_div(b, x, y);
  if (!q) return 0;
  pass_linear_read(b->g, x, &sum);
  pass_linear_read(b->g, q, &quotient);
  return d != INT64_MIN && pass_linear_add(b->g, &sum, &quotient, -d) ? pass_linear_node(b, &sum)
                                                                      : plain_division(b, IR_OP_MOD, x, y);
}

/* symbolic divisors */

/* atom = by/over * left * lead as monomials; returns left, or 0 */
static ir_ref divide_monomial(pass_build *b, ir_ref atom, ir_ref lead, int64_t *by, int64_t *over) {
  ir_ref f[PASS_FACTORS], l[PASS_FACTORS], left[PASS_FACTORS];
  uint32_t n = pass_factors(b->g, atom, f), m = pass_factors(b->g, lead, l), k = 0;
  if (!n || !m || m > n) return 0;
  *by = *over = 1;
  for (uint32_t j = 0; j < m; j++) { /* equal factors first, so that each is matched with its equal */
    uint32_t i = 0;
    while (i < n && f[i] != l[j]) i++;
    if (i < n) f[i] = l[j] = 0;
  }
  for (uint32_t j = 0; j < m; j++) {
    int64_t p = 0, q = 0;
    for (uint32_t i = 0; i < n && l[j] && !p; i++)
      if (f[i] && pass_exact_ratio(b, f[i], l[j], &p, &q)) f[i] = 0;
      else p = 0;
    if (l[j] && (!p || !ir_mul_ok(*by, p, by) || !ir_mul_ok(*over, q, over))) return 0;
  }
  for (uint32_t i = 0; i < n; i++)
    if (f[i]) left[k++] = f[i];
  return pass_product(b->g, left, k);
}

/* index of the monomial of highest degree, the last of equals */
static uint32_t leading(const ir_graph *g, const pass_linear *in) {
  uint32_t best = 0, degree = 0;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref f[PASS_FACTORS];
    uint32_t n = pass_factors(g, in->term[i].atom, f);
    if (n >= degree) best = i, degree = n;
  }
  return best;
}

/* num * left / den, where left is known to be a multiple of the denominator of num / den in lowest terms, as
 * *num * *left. False where the division is exact without that, or is not known to be. */
static bool divide_whole(pass_build *b, ir_ref *left, int64_t *num, int64_t den) {
  int64_t common = ir_gcd(*num, den);
  if (common < 1) return false;
  int64_t above = *num / common, below = den / common;
  if (below < 0) above = -above, below = -below;
  ir_bounds of = ir_bounds_of(b->g, *left);
  int64_t unit = of.div == 0 ? of.rem : ir_gcd(of.div, of.rem);
  if (below == 1 || unit == 0 || unit % below != 0) return false;
  *left = pass_make_div(b, *left, ir_index(b->g, below));
  *num = above;
  return *left != 0;
}

/* in = quotient*den + in': subtract multiples of den until no term holds its leading monomial */
static bool divide_polynomial(pass_build *b, pass_linear *in, const pass_linear *den, pass_linear *quotient) {
  pass_term lead = den->term[leading(b->g, den)];
  pass_linear others = *den;
  pass_linear_drop(&others, leading(b->g, den));
  ir_ref den_node = pass_linear_plain(b->g, den), tail = pass_linear_plain(b->g, &others);
  bool changed = false;
  pass_linear_const(quotient, 0);
  for (uint32_t i = 0; i < in->count && den_node && tail;) {
    pass_term t = in->term[i];
    int64_t q = t.coef, by, over;
    ir_ref left = divide_monomial(b, t.atom, lead.atom, &by, &over);
    int64_t whole = 0, below = 0;
    bool all = left && ir_mul_ok(q, by, &whole) && ir_mul_ok(over, lead.coef, &below) &&
               divide_whole(b, &left, &whole, below); /* t = q*left*lead exactly */
    if (all) q = whole;
    else if (left && (!ir_mul_ok(q, by, &q) || q == INT64_MIN || q % over != 0 || q / over / lead.coef == 0))
      left = 0;
    pass_linear part, term, rest = *in, added = *quotient;
    if (!all && left) {
      all = by != over && q / over % lead.coef == 0;
      q = q / over / lead.coef;
    }
    ir_ref product = left ? pass_make_mul(b, left, ir_index(b->g, q)) : 0;
    product = product ? pass_make_mul(b, product, all ? tail : den_node) : 0;
    if (product) pass_linear_read(b->g, product, &part);
    if (all) pass_linear_drop(&rest, i);
    if (left) pass_linear_read(b->g, left, &term);
    if (!product || !pass_linear_add(b->g, &rest, &part, -1) || !pass_linear_add(b->g, &added, &term, q) ||
        !pass_enter(b)) {
      i++;
      continue;
    }
    b->depth--; /* a step is spent, which bounds the number of subtractions, without nesting deeper */
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

/* 0 <= in < den. A constant is compared with the bound recorded for den, which may say more than its terms.
 */
static bool is_remainder(pass_build *b, const pass_linear *in, const pass_linear *den) {
  pass_linear over = *in;
  if (in->count == 0 && in->constant >= 0) {
    ir_ref whole = pass_linear_plain(b->g, den);
    if (whole && in->constant < ir_bounds_of(b->g, whole).lo) return true;
  }
  return pass_linear_add(b->g, &over, den, -1) && pass_linear_below(b, &over) && pass_linear_at_least(b, in);
}

/* N = quotient*D + in', in' the new *in. True: 0 <= in' < D is proven, and no division is left. */
static bool finalize_division(pass_build *b, pass_linear *in, const pass_linear *den, pass_linear *quotient) {
  divide_polynomial(b, in, den, quotient);
  if (is_remainder(b, in, den)) return true;
  pass_linear up = *in; /* a remainder in [-D, 0) */
  if (!pass_linear_add(b->g, &up, den, 1) || quotient->constant == INT64_MIN || !is_remainder(b, &up, den))
    return false;
  *in = up;
  quotient->constant--;
  return true;
}

/* For a divisor of one monomial: looks for a factor f of it with N = quotient*f + remainder, 0 <= remainder <
 * f proven, so that N//(f*rest) = (N//f)//rest. */
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
    if (finalize_division(b, &parts->remainder, &one, &parts->quotient)) return true;
  }
  return false;
}

/* x // y or x % y */
static ir_ref symbolic_division(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  bool divides = op == IR_OP_FLOORDIV;
  pass_linear in, den, quotient;
  split parts;
  ir_ref f, rest;
  pass_linear_read(b->g, x, &in);
  pass_linear_read(b->g, y, &den);
  if (den.count == 0) return plain_division(b, op, x, y);
  if (finalize_division(b, &in, &den, &quotient)) return pass_linear_node(b, divides ? &quotient : &in);
  if (symbolic_digit(b, &in, &den, &parts, &f, &rest)) {
    ir_ref high = pass_linear_node(b, &parts.quotient);
    if (divides) return plus(b, pass_make_div(b, high, rest), &quotient, 1);
    high = pass_make_mod(b, high, rest);
    return plus(b, high ? pass_make_mul(b, high, f) : 0, &parts.remainder, 1);
  }
  if (is_zero(&quotient)) return plain_division(b, op, x, y);
  ir_ref left = pass_linear_node(b, &in);
  return divides ? plus(b, pass_make_div(b, left, y), &quotient, 1) : pass_make_mod(b, left, y);
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

/* The sum's terms may prove more than its cached bounds; then the bound is recorded, since every user asks
 * for it. */
static bool prove_positive(pass_build *b, ir_ref y) {
  pass_linear in;
  pass_linear_read(b->g, y, &in);
  if (!ir_sub_ok(in.constant, 1, &in.constant) || !pass_linear_at_least(b, &in)) return false;
  if (!b->facts) ir_bounds_tighten(b->g, y, 1, INT64_MAX);
  return true;
}

/* A quotient or remainder of x that was rewritten as a sum keeps the bounds that x and the divisor imply. */
static void tighten_division(pass_build *b, ir_op op, ir_ref x, ir_bounds by, ir_ref r) {
  ir_bounds of = ir_bounds_of(b->g, x);
  int64_t lo = 0, hi = by.hi - 1;
  if (by.lo < 1 || ir_op_of(b->g, r) != IR_OP_ADD) return;
  if (op == IR_OP_FLOORDIV) {
    lo = of.lo == INT64_MIN ? INT64_MIN : ir_floor_div(of.lo, of.lo < 0 ? by.lo : by.hi);
    hi = of.hi == INT64_MAX ? INT64_MAX : ir_floor_div(of.hi, of.hi < 0 ? by.hi : by.lo);
  }
  ir_bounds_tighten(b->g, r, lo, hi);
}

static ir_ref make_division(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  if (!x || !y) return 0;
  int64_t d;
  bool fixed = ir_is_const(b->g, y, &d);
  ir_bounds by = fixed && d >= 1 ? (ir_bounds){d, d, 0, d} : ir_bounds_of(b->g, y);
  if (by.lo < 1 && prove_positive(b, y)) by.lo = 1;
  if (by.lo < 1) return refuse_divisor(b->g, op, y, by);
  if (!pass_enter(b)) return plain_division(b, op, x, y);
  ir_ref r = pass_index_rules(b, op, (ir_ref[]){x, y}, 2);
  if (!r && !ir_gives_up(b->g->error->status)) {
    if (fixed) r = op == IR_OP_FLOORDIV ? quotient_of(b, x, y, d) : remainder_of(b, x, y, d);
    else
      r = op == IR_OP_FLOORDIV ? symbolic_division(b, IR_OP_FLOORDIV, x, y)
                               : symbolic_division(b, IR_OP_MOD, x, y);
    if (r && !pass_allowed(b, op == IR_OP_FLOORDIV ? "divide" : "remainder", op, (ir_ref[]){x, y}, 2, r))
      r = plain_division(b, op, x, y);
  }
  if (r && !b->facts) tighten_division(b, op, x, by, r);
  pass_leave(b);
  return r;
}

ir_ref pass_make_div(pass_build *b, ir_ref x, ir_ref y) { return make_division(b, IR_OP_FLOORDIV, x, y); }
ir_ref pass_make_mod(pass_build *b, ir_ref x, ir_ref y) { return make_division(b, IR_OP_MOD, x, y); }
