/* Linear forms: constant + sum of coefficient * atom, the representation in which sums are compared, added
 * and divided.
 *
 * An atom is any index node that is not itself a constant, a canonical sum or a constant multiple. Atoms are
 * kept in the order of ir_compare. */
#include "impl.h"

void pass_linear_const(pass_linear *out, int64_t value) {
  out->constant = value;
  out->count = 0;
}

bool pass_linear_term(const ir_graph *g, pass_linear *to, ir_ref atom, int64_t coef) {
  if (coef == 0) return true;
  uint32_t i = 0;
  while (i < to->count && to->term[i].atom != atom) i++;
  if (i < to->count) {
    if (!ir_add_ok(to->term[i].coef, coef, &to->term[i].coef)) return false;
    if (to->term[i].coef == 0) pass_linear_drop(to, i);
    return true;
  }
  while (i > 0 && ir_compare(g, to->term[i - 1].atom, atom) > 0) i--;
  if (to->count == PASS_TERMS) return false;
  for (uint32_t j = to->count++; j > i; j--) to->term[j] = to->term[j - 1];
  to->term[i] = (pass_term){atom, coef};
  return true;
}

void pass_linear_drop(pass_linear *from, uint32_t index) {
  from->count--;
  for (uint32_t i = index; i < from->count; i++) from->term[i] = from->term[i + 1];
}

/* one operand of a sum: a constant, atom * constant, or an atom */
static bool read_term(const ir_graph *g, ir_ref ref, pass_linear *out) {
  int64_t c;
  const ir_node *n = ir_get(g, ref);
  if (ir_is_const(g, ref, &c)) return ir_add_ok(out->constant, c, &out->constant);
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &c) && !ir_is_const(g, n->src[0], NULL))
    return pass_linear_term(g, out, n->src[0], c);
  return pass_linear_term(g, out, ref, 1);
}

void pass_linear_read(const ir_graph *g, ir_ref ref, pass_linear *out) {
  const ir_node *n = ir_get(g, ref);
  pass_linear_const(out, 0);
  bool read = true;
  if (n->op == IR_OP_ADD && n->dtype == IR_INDEX)
    for (uint32_t i = 0; i < n->nsrc && read; i++) read = read_term(g, n->src[i], out);
  else read = read_term(g, ref, out);
  if (read) return;
  pass_linear_const(out, 0);
  pass_linear_term(g, out, ref, 1);
}

bool pass_linear_add(const ir_graph *g, pass_linear *to, const pass_linear *from, int64_t scale) {
  int64_t c;
  if (!ir_mul_ok(from->constant, scale, &c) || !ir_add_ok(to->constant, c, &to->constant)) return false;
  for (uint32_t i = 0; i < from->count; i++)
    if (!ir_mul_ok(from->term[i].coef, scale, &c) || !pass_linear_term(g, to, from->term[i].atom, c))
      return false;
  return true;
}

bool pass_linear_scale(pass_linear *to, int64_t scale) {
  if (scale == 0) {
    pass_linear_const(to, 0);
    return true;
  }
  if (!ir_mul_ok(to->constant, scale, &to->constant)) return false;
  for (uint32_t i = 0; i < to->count; i++)
    if (!ir_mul_ok(to->term[i].coef, scale, &to->term[i].coef)) return false;
  return true;
}

int64_t pass_linear_coef(const pass_linear *in, ir_ref atom) {
  for (uint32_t i = 0; i < in->count; i++)
    if (in->term[i].atom == atom) return in->term[i].coef;
  return 0;
}

bool pass_linear_same(const pass_linear *a, const pass_linear *c) {
  bool same = a->count == c->count && a->constant == c->constant;
  for (uint32_t i = 0; i < a->count && same; i++)
    same = a->term[i].atom == c->term[i].atom && a->term[i].coef == c->term[i].coef;
  return same;
}

int64_t pass_linear_content(const pass_linear *in) {
  int64_t content = 0;
  for (uint32_t i = 0; i < in->count; i++) content = ir_gcd(content, in->term[i].coef);
  return content;
}

int pass_linear_sign(const pass_linear *in) { return in->count && in->term[0].coef < 0 ? -1 : 1; }

static ir_ref scaled(ir_graph *g, pass_term t) {
  return t.coef == 1 ? t.atom
                     : ir_make(g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){t.atom, ir_index(g, t.coef)}, 2);
}

ir_ref pass_linear_plain(ir_graph *g, const pass_linear *in) {
  ir_ref src[PASS_TERMS + 1];
  uint32_t n = 0;
  if (in->count == 0) return ir_index(g, in->constant);
  for (uint32_t i = 0; i < in->count; i++) src[n++] = scaled(g, in->term[i]);
  if (in->constant != 0) src[n++] = ir_index(g, in->constant);
  return n == 1 ? src[0] : ir_make(g, IR_OP_ADD, IR_INDEX, 0, src, n);
}

/* Writes the factors that all terms share, sorted; returns their number. */
static uint32_t common_factors(const ir_graph *g, const pass_linear *in, ir_ref *common) {
  uint32_t n = pass_factors(g, in->term[0].atom, common);
  for (uint32_t i = 1; i < in->count && n > 0; i++) {
    ir_ref f[PASS_FACTORS];
    uint32_t m = pass_factors(g, in->term[i].atom, f), kept = 0;
    for (uint32_t j = 0, k = 0; j < n && k < m;) {
      int apart = ir_compare(g, common[j], f[k]);
      if (apart == 0) common[kept++] = common[j];
      j += apart <= 0, k += apart >= 0;
    }
    n = kept;
  }
  return n;
}

/* *rest = in divided by n factors that all its terms share */
static bool without_factors(pass_build *b, const pass_linear *in, const ir_ref *common, uint32_t n,
                            pass_linear *rest) {
  pass_linear_const(rest, 0);
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref f[PASS_FACTORS];
    uint32_t m = pass_factors(b->g, in->term[i].atom, f), kept = 0;
    for (uint32_t j = 0, k = 0; k < m; k++)
      if (j < n && f[k] == common[j]) j++;
      else f[kept++] = f[k];
    bool added = kept == 0 ? ir_add_ok(rest->constant, in->term[i].coef, &rest->constant)
                           : pass_linear_term(b->g, rest, pass_product(b->g, f, kept), in->term[i].coef);
    if (!added) return false;
  }
  return true;
}

/* Tightens the bounds of a sum by factoring: n*n - n*(n//2) = n*(n - n//2), a product of non-negative
 * factors. */
static void tighten_by_factors(pass_build *b, ir_ref sum, const pass_linear *in) {
  ir_ref common[PASS_FACTORS];
  pass_linear rest;
  uint32_t n = in->constant == 0 ? common_factors(b->g, in, common) : 0;
  if (n == 0 || !without_factors(b, in, common, n, &rest)) return;
  pass_interval all = pass_linear_bounds(b, &rest);
  for (uint32_t i = 0; i < n; i++) {
    ir_bounds one = ir_bounds_of(b->g, common[i]);
    if (one.lo < 0 || all.lo < 0 || !ir_mul_ok(one.lo, all.lo, &all.lo)) return;
    if (one.hi == INT64_MAX || all.hi == INT64_MAX || !ir_mul_ok(one.hi, all.hi, &all.hi)) all.hi = INT64_MAX;
  }
  ir_bounds_tighten(b->g, sum, all.lo, all.hi);
}

/* Tightens the bounds of a sum by the relations between its quotients and by common factors of its products,
 * before other nodes are built on it. */
static void tighten_sum(pass_build *b, ir_ref sum, const pass_linear *in) {
  bool quotient = false, product = false;
  if (!sum || (sum < b->g->bounds_cap && b->g->bounds_known[sum] > 1)) return;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_op op = ir_op_of(b->g, in->term[i].atom);
    quotient = quotient || op == IR_OP_FLOORDIV;
    product = product || op == IR_OP_MUL;
  }
  if (product) tighten_by_factors(b, sum, in);
  if (!quotient) return;
  pass_interval r = pass_linear_bounds(b, in);
  ir_bounds_tighten(b->g, sum, r.lo, r.hi);
}

ir_ref pass_linear_node(pass_build *b, pass_linear *in) {
  while (in->count && pass_enter(b)) {
    bool changed = pass_recombine(b, in);
    pass_leave(b);
    if (!changed) break;
  }
  ir_ref sum = pass_linear_plain(b->g, in);
  if (in->count > 1 && !b->facts && !pass_budget_exhausted(b->g)) tighten_sum(b, sum, in);
  return sum;
}

/* sums of two operands, as one linear form where that fits */

static ir_ref plain_pair(ir_graph *g, ir_op op, ir_ref x, ir_ref y) {
  return ir_make(g, op, IR_INDEX, 0, ir_compare(g, x, y) <= 0 ? (ir_ref[]){x, y} : (ir_ref[]){y, x}, 2);
}

bool pass_linear_worthwhile(const ir_graph *g, const pass_linear *sum, uint32_t before) {
  return sum->count <= PASS_EXHAUSTED_TERMS || sum->count <= before || !pass_budget_exhausted(g);
}

static ir_ref add_scaled(pass_build *b, ir_ref x, ir_ref y, int64_t scale) {
  pass_linear sum, right;
  if (!x || !y) return 0;
  pass_linear_read(b->g, x, &sum);
  pass_linear_read(b->g, y, &right);
  uint32_t longer = sum.count > right.count ? sum.count : right.count;
  ir_ref r, times = y;
  if (pass_linear_add(b->g, &sum, &right, scale) && pass_linear_worthwhile(b->g, &sum, longer)) {
    r = pass_linear_node(b, &sum);
  } else {
    if (scale != 1) times = ir_make(b->g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){y, ir_index(b->g, scale)}, 2);
    r = plain_pair(b->g, IR_OP_ADD, x, times);
  }
  if (pass_budget_exhausted(b->g) && !b->facts) pass_cheap_bounds(b->g, r, x, y, scale);
  return r;
}

ir_ref pass_make_add(pass_build *b, ir_ref x, ir_ref y) { return add_scaled(b, x, y, 1); }
ir_ref pass_make_sub(pass_build *b, ir_ref x, ir_ref y) {
  return x == y && x ? ir_index(b->g, 0) : add_scaled(b, x, y, -1);
}
