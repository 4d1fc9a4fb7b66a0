/* A lower bound of a polynomial of sizes, where intervals of its terms say too little: n*m - 2n - 2m + 4 is a
 * product of sizes when n and m are at least 2.
 *
 * A symbol a beside its quotient q = a//d is d*q + r with a new symbol 0 <= r < d; any other symbol is its
 * least value plus a new symbol that is not negative. Both are exact, so the expanded polynomial has the same
 * values; its terms with positive coefficients are at least 0, the others at least what the largest values of
 * their symbols give. Products of sizes become polynomials without negative coefficients. */
#include "index_impl.h"

#include <string.h>

enum { SYMBOLS = 6, MONOMIALS = 64, NO_SYMBOL = SYMBOLS };

typedef struct symbol {
  ir_ref atom; /* what it was read from */
  int64_t lo, hi;
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

static bool add(polynomial *p, const monomial *m) {
  uint32_t i = 0;
  while (i < p->count && memcmp(p->term[i].power, m->power, sizeof m->power) != 0) i++;
  if (i < p->count) return ir_add_ok(p->term[i].coef, m->coef, &p->term[i].coef);
  if (p->count == MONOMIALS) return false;
  p->term[p->count++] = *m;
  return true;
}

static uint32_t find(const polynomial *p, ir_ref atom) {
  uint32_t i = 0;
  while (i < p->symbols && p->symbol[i].atom != atom) i++;
  return i < p->symbols ? i : NO_SYMBOL;
}

static bool read(ir_graph *g, const pass_linear *in, polynomial *out) {
  *out = (polynomial){0};
  if (!add(out, &(monomial){.coef = in->constant})) return false;
  for (uint32_t i = 0; i < in->count; i++) {
    monomial m = {.coef = in->term[i].coef};
    ir_ref f[PASS_FACTORS];
    uint32_t n = pass_factors(g, in->term[i].atom, f);
    for (uint32_t j = 0; j < n; j++) {
      uint32_t s = find(out, f[j]);
      if (s == NO_SYMBOL) {
        if ((s = out->symbols) == SYMBOLS) return false;
        ir_bounds b = ir_bounds_of(g, f[j]);
        out->symbol[out->symbols++] = (symbol){f[j], b.lo, b.hi};
      }
      m.power[s]++;
    }
    if (n == 0 || !add(out, &m)) return false;
  }
  return true;
}

/* Symbol s becomes c * other + s, or c + s without another one; powers by the binomial theorem. */
static bool substitute(polynomial *p, uint32_t s, int64_t c, uint32_t other) {
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
      if (part.coef != 0 && !add(&out, &part)) return false;
      choices = choices * (power - j) / (j + 1);
      if (j < power && !ir_mul_ok(scale, c, &scale)) return false;
    }
  }
  *p = out;
  return true;
}

/* The symbol that is p's symbol s divided by a constant, and that constant. */
static uint32_t quotient_of(const ir_graph *g, const polynomial *p, uint32_t s, int64_t *d) {
  uint32_t i = 0;
  for (; i < p->symbols; i++) {
    const ir_node *n = ir_get(g, p->symbol[i].atom);
    if (n->op == IR_OP_FLOORDIV && n->dtype == IR_INDEX && n->src[0] == p->symbol[s].atom &&
        ir_is_const(g, n->src[1], d) && *d >= 1)
      break;
  }
  return i < p->symbols ? i : NO_SYMBOL;
}

static bool expand(const ir_graph *g, polynomial *p) {
  for (uint32_t s = 0; s < p->symbols; s++) {
    symbol *of = &p->symbol[s];
    int64_t d;
    uint32_t q = quotient_of(g, p, s, &d);
    if (q != NO_SYMBOL) {
      if (!substitute(p, s, d, q)) return false;
      of->lo = 0, of->hi = d - 1;
    }
  }
  for (uint32_t s = 0; s < p->symbols; s++) {
    symbol *of = &p->symbol[s];
    if (of->lo == INT64_MIN || !substitute(p, s, of->lo, NO_SYMBOL)) return false;
    if (of->hi != INT64_MAX && !ir_sub_ok(of->hi, of->lo, &of->hi)) return false;
    of->lo = 0;
  }
  return true;
}

/* The least value of a term whose symbols are not negative, added. */
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

bool pass_polynomial_at_least(pass_build *b, const pass_linear *in) {
  polynomial p;
  int64_t least = 0;
  bool product = false;
  for (uint32_t i = 0; i < in->count; i++) product |= ir_op_of(b->g, in->term[i].atom) == IR_OP_MUL;
  if (!product || pass_tired(b->g) || !read(b->g, in, &p) || !expand(b->g, &p)) return false;
  b->g->effort += (uint64_t)p.symbols * p.count;
  for (uint32_t i = 0; i < p.count; i++)
    if (!add_least(&p, &p.term[i], &least)) return false;
  return least >= 0;
}
