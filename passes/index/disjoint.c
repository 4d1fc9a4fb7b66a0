/* Do two accesses of an array ever meet? Their indices are read as constant + sum of factor * term, each term
 * within its bounds and independent of all others: either one index is below the other throughout; or there
 * is a modulus, one of the factors, for which the terms that it does not divide leave disjoint residues. The
 * latter holds of columns of a matrix (modulo its width), and of every second element (modulo 2). */
#include "passes/index/disjoint.h"

#include "ir/arith.h"

enum { MOST_TERMS = 24 }; /* of more, they may meet; 300 random programs of writes have 6 at most */

typedef struct term {
  int64_t factor, lo, hi;
} term;

typedef struct sum {
  int64_t constant;
  term terms[MOST_TERMS];
  uint32_t count;
} sum;

/* Factors and bounds are such that no sum of them overflows. */
static bool is_small(int64_t x) { return x > -(INT64_MAX >> 8) && x < INT64_MAX >> 8; }

static bool add_term(ir_graph *g, ir_ref ref, sum *out) {
  int64_t factor = 1, number;
  const ir_node *n = ir_get(g, ref);
  if (ir_is_const(g, ref, &number)) return is_small(out->constant += number);
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &factor)) ref = n->src[0];
  ir_bounds b = ir_bounds_of(g, ref);
  int64_t lo, hi;
  if (out->count == MOST_TERMS || !is_small(factor) || factor == INT64_MIN || !is_small(b.lo) ||
      !is_small(b.hi) || !ir_mul_ok(factor, b.lo, &lo) || !ir_mul_ok(factor, b.hi, &hi) || !is_small(lo) ||
      !is_small(hi))
    return false;
  out->terms[out->count++] = (term){factor, factor < 0 ? hi : lo, factor < 0 ? lo : hi};
  return true;
}

static bool read_sum(ir_graph *g, ir_ref index, sum *out) {
  const ir_node *n = ir_get(g, index);
  *out = (sum){0};
  if (n->op != IR_OP_ADD) return add_term(g, index, out);
  for (uint32_t i = 0; i < n->nsrc; i++)
    if (!add_term(g, n->src[i], out)) return false;
  return true;
}

typedef struct interval {
  int64_t lo, hi;
} interval;

/* The sum without terms that the modulus divides; modulus 0 divides none. */
static interval without(const sum *s, int64_t modulus) {
  interval x = {s->constant, s->constant};
  for (uint32_t i = 0; i < s->count; i++)
    if (!modulus || s->terms[i].factor % modulus) x.lo += s->terms[i].lo, x.hi += s->terms[i].hi;
  return x;
}

static bool have_other_residues(const sum *a, const sum *b, int64_t modulus) {
  interval x = without(a, modulus), y = without(b, modulus);
  return ir_floor_mod(y.lo - x.lo, modulus) > x.hi - x.lo && ir_floor_mod(x.lo - y.lo, modulus) > y.hi - y.lo;
}

index_relation index_relate(ir_graph *g, ir_ref first, ir_ref second) {
  sum a, b;
  if (!read_sum(g, first, &a) || !read_sum(g, second, &b)) return (index_relation){INDEX_MAY_MEET, 0};
  interval x = without(&a, 0), y = without(&b, 0);
  if (x.hi < y.lo || y.hi < x.lo) return (index_relation){INDEX_APART, 0};
  for (uint32_t i = 0; i < a.count + b.count; i++) {
    int64_t factor = i < a.count ? a.terms[i].factor : b.terms[i - a.count].factor;
    if (factor < 0) factor = -factor;
    if (factor > 1 && have_other_residues(&a, &b, factor))
      return (index_relation){INDEX_OTHER_RESIDUES, factor};
  }
  return (index_relation){INDEX_MAY_MEET, 0};
}

bool index_interval(ir_graph *g, ir_ref index, int64_t *lo, int64_t *hi) {
  sum s;
  if (!read_sum(g, index, &s)) return false;
  interval x = without(&s, 0);
  *lo = x.lo, *hi = x.hi;
  return true;
}
