/* Lower bounds of polynomials in sizes, where the intervals of the terms say too little: n*m - 2n - 2m + 4 is
 * a product of sizes when n and m are at least 2.
 *
 * An atom x of which exact quotients such as x//2 and x//8 occur becomes its greatest known divisor times a
 * symbol, and so do the quotients. A symbol a whose quotient q = a//d occurs becomes d*q + r with a new
 * symbol 0 <= r < d; any other symbol becomes its least value plus a new symbol >= 0. All substitutions are
 * exact, so the expanded polynomial has the same values. Its terms with positive coefficients are at least 0,
 * the others at least their value at the largest values of their symbols. Products of sizes become
 * polynomials without negative coefficients. */
#include "impl.h"

#include <string.h>

enum {
  SYMBOLS = 6,    /* sizes of one polynomial [0 in the workloads, 6 in the tests]: of more, it has no bound */
  MONOMIALS = 64, /* terms when it is multiplied out [14 in the tests]: all 2^6 products of six sizes */
  NO_SYMBOL = SYMBOLS
};

typedef struct symbol {
  ir_ref atom; /* the atom that it stands for, up to unit */
  int64_t lo, hi;
  int64_t unit; /* atom = unit * symbol */
} symbol;

typedef struct monomial {
  int64_t coef;
  uint8_t power[SYMBOLS];
} monomial;

typedef struct polynomial {
  uint32_t symbols, count;
  symbol symbol[SYMBOLS];
  monomial term[MONOMIALS];
} polynomial;

static bool add_monomial(polynomial *p, const monomial *m) {
  uint32_t i = 0;
  while (i < p->count && memcmp(p->term[i].power, m->power, sizeof m->power) != 0) i++;
  if (i < p->count) return ir_add_ok(p->term[i].coef, m->coef, &p->term[i].coef);
  if (p->count == MONOMIALS) return false;
  p->term[p->count++] = *m;
  return true;
}

static uint32_t find_symbol(const polynomial *p, ir_ref atom) {
  uint32_t i = 0;
  while (i < p->symbols && p->symbol[i].atom != atom) i++;
  return i < p->symbols ? i : NO_SYMBOL;
}

/* The symbol for an atom, made if new; NO_SYMBOL where there are too many. */
static uint32_t symbol_of(ir_graph *g, polynomial *p, ir_ref atom, int64_t unit) {
  uint32_t s = find_symbol(p, atom);
  if (s != NO_SYMBOL || p->symbols == SYMBOLS) return s;
  ir_bounds b = ir_bounds_of(g, atom);
  int64_t lo = b.lo == INT64_MIN ? b.lo : -ir_floor_div(-b.lo, unit);
  int64_t hi = b.hi == INT64_MAX ? b.hi : ir_floor_div(b.hi, unit);
  p->symbol[p->symbols] = (symbol){atom, lo, hi, unit};
  return p->symbols++;
}

/* Makes a symbol with a unit for each atom of which exact quotients occur among the factors; the unit is its
 * greatest known divisor. */
static bool read_wholes(pass_build *b, const pass_linear *in, polynomial *out) {
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref f[PASS_FACTORS], x;
    int64_t a, d;
    uint32_t n = pass_factors(b->g, in->term[i].atom, f);
    for (uint32_t j = 0; j < n; j++) {
      if (!pass_exact_quotient(b, f[j], &x, &a, &d)) continue;
      ir_bounds by = ir_bounds_of(b->g, x);
      int64_t unit = by.div == 0 ? 1 : ir_gcd(by.div, by.rem);
      if (unit > 1 && symbol_of(b->g, out, x, unit) == NO_SYMBOL) return false;
    }
  }
  return true;
}

/* m *= factor */
static bool read_factor(pass_build *b, ir_ref factor, polynomial *out, monomial *m) {
  ir_ref x;
  int64_t a, d, times;
  if (pass_exact_quotient(b, factor, &x, &a, &d)) {
    uint32_t s = find_symbol(out, x);
    if (s != NO_SYMBOL && ir_mul_ok(a, out->symbol[s].unit, &times) && times % d == 0) {
      m->power[s]++;
      return ir_mul_ok(m->coef, times / d, &m->coef);
    }
  }
  uint32_t s = symbol_of(b->g, out, factor, 1);
  if (s == NO_SYMBOL) return false;
  m->power[s]++;
  return ir_mul_ok(m->coef, out->symbol[s].unit, &m->coef);
}

static bool read(pass_build *b, const pass_linear *in, polynomial *out) {
  *out = (polynomial){0};
  if (!read_wholes(b, in, out) || !add_monomial(out, &(monomial){.coef = in->constant})) return false;
  for (uint32_t i = 0; i < in->count; i++) {
    monomial m = {.coef = in->term[i].coef};
    ir_ref f[PASS_FACTORS];
    uint32_t n = pass_factors(b->g, in->term[i].atom, f);
    for (uint32_t j = 0; j < n; j++)
      if (!read_factor(b, f[j], out, &m)) return false;
    if (n == 0 || !add_monomial(out, &m)) return false;
  }
  return true;
}

/* Substitutes c * other + s for symbol s, or c + s where other is NO_SYMBOL; powers by the binomial
 * theorem. */
static bool shift_symbol(polynomial *p, uint32_t s, int64_t c, uint32_t other) {
  polynomial out = *p;
  out.count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    monomial m = p->term[i];
    int64_t power = m.power[s], choices = 1, scale = 1;
    for (int64_t j = 0; j <= power; j++) {
      monomial part = m;
      if (!ir_mul_ok(choices, scale, &part.coef) || !ir_mul_ok(part.coef, m.coef, &part.coef)) return false;
      part.power[s] = (uint8_t)(power - j);
      if (other != NO_SYMBOL) part.power[other] = (uint8_t)(part.power[other] + j);
      if (part.coef != 0 && !add_monomial(&out, &part)) return false;
      choices = choices * (power - j) / (j + 1);
      if (j < power && !ir_mul_ok(scale, c, &scale)) return false;
    }
  }
  *p = out;
  return true;
}

/* The symbol that is symbol s divided by a constant, *d. */
static uint32_t quotient_of(const ir_graph *g, const polynomial *p, uint32_t s, int64_t *d) {
  uint32_t i = 0;
  for (; i < p->symbols; i++) {
    const ir_node *n = ir_get(g, p->symbol[i].atom);
    if (n->op == IR_OP_FLOORDIV && n->dtype == IR_INDEX && n->src[0] == p->symbol[s].atom &&
        p->symbol[s].unit == 1 && ir_is_const(g, n->src[1], d) && *d >= 1)
      break;
  }
  return i < p->symbols ? i : NO_SYMBOL;
}

static bool expand_sums(const ir_graph *g, polynomial *p) {
  for (uint32_t s = 0; s < p->symbols; s++) {
    symbol *of = &p->symbol[s];
    int64_t d;
    uint32_t q = quotient_of(g, p, s, &d);
    if (q != NO_SYMBOL) {
      if (!shift_symbol(p, s, d, q)) return false;
      of->lo = 0, of->hi = d - 1;
    }
  }
  for (uint32_t s = 0; s < p->symbols; s++) {
    symbol *of = &p->symbol[s];
    if (of->lo == INT64_MIN || !shift_symbol(p, s, of->lo, NO_SYMBOL)) return false;
    if (of->hi != INT64_MAX && !ir_sub_ok(of->hi, of->lo, &of->hi)) return false;
    of->lo = 0;
  }
  return true;
}

/* *sum += least value of the term, whose symbols are all >= 0: 0 for a positive coefficient. False:
 * unbounded. */
static bool add_least(const polynomial *p, const monomial *m, int64_t *sum) {
  int64_t least = m->coef;
  bool constant = true;
  for (uint32_t s = 0; s < p->symbols; s++) {
    for (uint32_t k = 0; k < m->power[s]; k++) {
      constant = false;
      if (m->coef > 0) continue;
      if (p->symbol[s].hi == INT64_MAX || !ir_mul_ok(least, p->symbol[s].hi, &least)) return false;
    }
  }
  return (m->coef > 0 && !constant) || ir_add_ok(*sum, least, sum);
}

static bool has_product(const ir_graph *g, const pass_linear *in) {
  bool product = false;
  for (uint32_t i = 0; i < in->count; i++) product |= ir_op_of(g, in->term[i].atom) == IR_OP_MUL;
  return product;
}

bool pass_polynomial_zero(pass_build *b, const pass_linear *in) {
  polynomial p;
  if (!has_product(b->g, in) || pass_budget_exhausted(b->g) || !read(b, in, &p)) return false;
  bool zero = true;
  for (uint32_t i = 0; i < p.count; i++) zero = zero && p.term[i].coef == 0;
  return zero;
}

static bool at_least(pass_build *b, const pass_linear *in) {
  polynomial p;
  int64_t least = 0;
  if (!has_product(b->g, in) || pass_budget_exhausted(b->g) || !read(b, in, &p) || !expand_sums(b->g, &p))
    return false;
  b->g->budget_spent += (uint64_t)p.symbols * p.count;
  for (uint32_t i = 0; i < p.count; i++)
    if (!add_least(&p, &p.term[i], &least)) return false;
  return least >= 0;
}

/* Term t is c * (A // d), R the other terms. With (A - d + 1) / d <= A // d <= A / d, R + c * (A // d) >= 0
 * holds where d*R + c*A is at least 0, for positive c at least c*(d - 1). As R is an integer, A >= -d*R is
 * equivalent where c is 1, and A <= d*R + d - 1 where c is -1. */
static bool clear_quotient(pass_build *b, const pass_linear *in, uint32_t t, pass_linear *out) {
  const ir_node *q = ir_get(b->g, in->term[t].atom);
  int64_t d, c = in->term[t].coef, slack = 0;
  pass_linear numerator;
  if (q->op != IR_OP_FLOORDIV || q->dtype != IR_INDEX || !ir_is_const(b->g, q->src[1], &d) || d < 1)
    return false;
  if (c > 1 && !ir_mul_ok(c, 1 - d, &slack)) return false;
  if (c == -1) slack = d - 1;
  *out = *in;
  pass_linear_drop(out, t);
  pass_linear_read(b->g, q->src[0], &numerator);
  return pass_linear_scale(out, d) && pass_linear_add(b->g, out, &numerator, c) &&
         ir_add_ok(out->constant, slack, &out->constant);
}

/* Each quotient alone, then all of them one after the other, those of the numerators of others included. */
bool pass_polynomial_at_least(pass_build *b, const pass_linear *in) {
  pass_linear cleared, all = *in;
  if (at_least(b, in)) return true;
  uint32_t quotients = 0;
  for (uint32_t t = 0; t < in->count; t++) {
    if (!clear_quotient(b, in, t, &cleared)) continue;
    if (at_least(b, &cleared)) return true;
    quotients++;
  }
  for (uint32_t t = 0, left = quotients > 1 ? PASS_TERMS : 0; t < all.count && left > 0;) {
    if (clear_quotient(b, &all, t, &cleared)) all = cleared, t = 0, left--;
    else t++;
  }
  return quotients > 1 && at_least(b, &all);
}
