/* Products: expanded into sums of monomials, each a constant times one n-ary MUL over its factors in the
 * order of ir_compare, so that equal polynomials are one node. */
#include "impl.h"

uint32_t pass_factors(const ir_graph *g, ir_ref atom, ir_ref *out) {
  const ir_node *n = ir_get(g, atom);
  if (n->op != IR_OP_MUL || n->dtype != IR_INDEX) {
    out[0] = atom;
    return 1;
  }
  if (n->nsrc > PASS_FACTORS) return 0;
  for (uint32_t i = 0; i < n->nsrc; i++) {
    if (ir_is_const(g, n->src[i], NULL)) { /* a multiple whose factor is too large for a coefficient */
      out[0] = atom;
      return 1;
    }
    out[i] = n->src[i];
  }
  return n->nsrc;
}

ir_ref pass_product(ir_graph *g, const ir_ref *factors, uint32_t count) {
  if (count == 0) return ir_index(g, 1);
  return count == 1 ? factors[0] : ir_make(g, IR_OP_MUL, IR_INDEX, 0, factors, count);
}

/* the product of two atoms; 0 when it has too many factors */
static ir_ref multiply_atoms(ir_graph *g, ir_ref x, ir_ref y) {
  ir_ref a[PASS_FACTORS], c[PASS_FACTORS], all[2 * PASS_FACTORS];
  uint32_t na = pass_factors(g, x, a), nc = pass_factors(g, y, c), n = 0, i = 0, j = 0;
  if (!na || !nc || na + nc > PASS_FACTORS) return 0;
  while (i < na || j < nc) all[n++] = j == nc || (i < na && ir_compare(g, a[i], c[j]) <= 0) ? a[i++] : c[j++];
  return pass_product(g, all, n);
}

/* out += x * y, term by term */
static bool expand_product(ir_graph *g, const pass_linear *x, const pass_linear *y, pass_linear *out) {
  if (!pass_linear_add(g, out, x, y->constant)) return false;
  for (uint32_t j = 0; j < y->count; j++) {
    int64_t c;
    if (!ir_mul_ok(x->constant, y->term[j].coef, &c) || !pass_linear_term(g, out, y->term[j].atom, c))
      return false;
    for (uint32_t i = 0; i < x->count; i++) {
      if (!ir_mul_ok(x->term[i].coef, y->term[j].coef, &c)) return false;
      ir_ref atom = multiply_atoms(g, x->term[i].atom, y->term[j].atom);
      if (!atom || !pass_linear_term(g, out, atom, c)) return false;
    }
  }
  return true;
}

/* May the product be expanded? Once the budget is exhausted, a multiple of a sum of more than two terms stays
 * one. */
static bool worthwhile(const ir_graph *g, const pass_linear *x, const pass_linear *y) {
  const pass_linear *sum = x->count ? x : y, *times = x->count ? y : x;
  int64_t c = times->constant;
  return sum->count <= 2 || times->count > 0 || (c >= -1 && c <= 1) || !pass_budget_exhausted(g);
}

/* Tightens the product's bounds by those of its factors, which the expanded terms no longer show. */
static void tighten_product(pass_build *b, ir_ref product, ir_ref x, ir_ref y) {
  ir_bounds in = ir_bounds_of(b->g, x), by = ir_bounds_of(b->g, y);
  int64_t lo, hi;
  if (!product || in.lo < 0 || by.lo < 0 || !ir_mul_ok(in.lo, by.lo, &lo)) return;
  if (in.hi == INT64_MAX || by.hi == INT64_MAX || !ir_mul_ok(in.hi, by.hi, &hi)) hi = INT64_MAX;
  ir_bounds_tighten(b->g, product, lo, hi);
}

static ir_ref product_of(pass_build *b, ir_ref x, ir_ref y) {
  pass_linear left, right, out;
  pass_linear_read(b->g, x, &left);
  pass_linear_read(b->g, y, &right);
  pass_linear_const(&out, 0);
  if (worthwhile(b->g, &left, &right) &&
      (left.count <= 1 || right.count <= 1 || left.count * right.count <= PASS_TERMS) &&
      expand_product(b->g, &left, &right, &out)) {
    ir_ref product = pass_linear_node(b, &out);
    if (left.count > 0 && right.count > 0) tighten_product(b, product, x, y);
    return product;
  }
  bool swap = ir_is_const(b->g, x, NULL) || (ir_compare(b->g, x, y) > 0 && !ir_is_const(b->g, y, NULL));
  return ir_make(b->g, IR_OP_MUL, IR_INDEX, 0, swap ? (ir_ref[]){y, x} : (ir_ref[]){x, y}, 2);
}

ir_ref pass_make_mul(pass_build *b, ir_ref x, ir_ref y) {
  int64_t c;
  ir_ref r = x && y ? product_of(b, x, y) : 0;
  if (r && !b->facts && pass_budget_exhausted(b->g) && ir_is_const(b->g, y, &c))
    pass_cheap_bounds(b->g, r, ir_index(b->g, 0), x, c);
  return r;
}
