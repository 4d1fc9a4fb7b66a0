/* Quotients, remainders and comparisons once the budget is exhausted: only the terms of a short sum and its
 * bounds are examined. That suffices for flips, merged axes and axes split again.
 *
 *   N//d = Q + R//d   where N = d*Q + R, R without terms and constants that are multiples of d;
 *                     R//d is a number where R lies in one period
 *   (x//a)//d = x//(a*d)
 *   X < c     is decided by the bounds of X; otherwise the common factor of its coefficients is divided out
 *
 * The terms of a sum that cancel do not show how small a digit x - d*(x//d) is. Bounds that follow from the
 * operands are therefore recorded at each result; otherwise they would widen along a chain until nothing is
 * known. */
#include "impl.h"

void pass_cheap_bounds(ir_graph *g, ir_ref result, ir_ref x, ir_ref y, int64_t scale) {
  int64_t lo, hi;
  ir_bounds a = ir_bounds_of(g, x), c = ir_bounds_of(g, y);
  bool known = result && a.lo != INT64_MIN && a.hi != INT64_MAX && c.lo != INT64_MIN && c.hi != INT64_MAX;
  if (known && ir_mul_ok(scale < 0 ? c.hi : c.lo, scale, &lo) &&
      ir_mul_ok(scale < 0 ? c.lo : c.hi, scale, &hi) && ir_add_ok(a.lo, lo, &lo) && ir_add_ok(a.hi, hi, &hi))
    ir_bounds_tighten(g, result, lo, hi);
}

/* The magnitudes of all terms add up to at most 2^60, so any partial sum fits machine integers. */
static bool is_small(ir_graph *g, const pass_linear *in) {
  const int64_t most = INT64_C(1) << 60;
  if (in->constant < -most || in->constant > most) return false;
  int64_t total = in->constant < 0 ? -in->constant : in->constant, size;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_bounds x = ir_bounds_of(g, in->term[i].atom);
    int64_t coef = in->term[i].coef;
    if (x.lo < -most || x.hi > most || coef < -most || coef > most) return false;
    size = -x.lo > x.hi ? -x.lo : x.hi;
    if (!ir_mul_ok(coef < 0 ? -coef : coef, size, &size) || !ir_add_ok(total, size, &total)) return false;
  }
  return total <= most;
}

/* r, or 0 where it is refused. pass_allowed is asked only if there is an observer or if values may
 * overflow. */
static ir_ref allowed(pass_build *b, const char *rule, ir_op op, ir_ref x, ir_ref y, bool small, ir_ref r) {
  bool asked = b->g->observer || !small;
  return r && asked && !pass_allowed(b, rule, op, (ir_ref[]){x, y}, 2, r) ? 0 : r;
}

static ir_ref make_quotient(ir_graph *g, ir_ref x, ir_ref y) {
  return ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}

/* out += rest//d, where no term of rest is a multiple of d */
static bool add_quotient(ir_graph *g, const pass_linear *rest, int64_t d, pass_linear *out) {
  int64_t a, product;
  ir_ref x = pass_linear_plain(g, rest);
  ir_bounds in = ir_bounds_of(g, x);
  if (!x) return false;
  if (in.lo != INT64_MIN && in.hi != INT64_MAX && ir_floor_div(in.lo, d) == ir_floor_div(in.hi, d))
    return ir_add_ok(out->constant, ir_floor_div(in.lo, d), &out->constant);
  const ir_node *n = ir_get(g, x);
  bool again = n->op == IR_OP_FLOORDIV && n->dtype == IR_INDEX && ir_is_const(g, n->src[1], &a) && a >= 1 &&
               ir_mul_ok(a, d, &product);
  ir_ref q = again ? make_quotient(g, n->src[0], ir_index(g, product)) : make_quotient(g, x, ir_index(g, d));
  return q && pass_linear_term(g, out, q, 1);
}

/* N//d as a linear form; false: too many terms, or overflow */
static bool divided(ir_graph *g, const pass_linear *in, int64_t d, pass_linear *out) {
  pass_linear rest;
  if (in->count > PASS_EXHAUSTED_TERMS) return false;
  pass_linear_const(out, ir_floor_div(in->constant, d));
  pass_linear_const(&rest, ir_floor_mod(in->constant, d));
  for (uint32_t i = 0; i < in->count; i++) { /* terms keep their order */
    pass_term t = in->term[i], whole = {t.atom, t.coef / d};
    if (t.coef % d == 0) out->term[out->count++] = whole;
    else rest.term[rest.count++] = t;
  }
  return add_quotient(g, &rest, d, out);
}

ir_ref pass_cheap_div(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear in, out;
  pass_linear_read(b->g, x, &in);
  ir_ref r = divided(b->g, &in, d, &out) ? pass_linear_plain(b->g, &out) : 0;
  r = allowed(b, "divide", IR_OP_FLOORDIV, x, y, is_small(b->g, &in), r);
  ir_bounds of = ir_bounds_of(b->g, x);
  if (r && !b->facts && of.lo != INT64_MIN && of.hi != INT64_MAX)
    ir_bounds_tighten(b->g, r, ir_floor_div(of.lo, d), ir_floor_div(of.hi, d));
  return r ? r : make_quotient(b->g, x, y);
}

ir_ref pass_cheap_mod(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear in, whole, rest;
  pass_linear_read(b->g, x, &in);
  rest = in;
  bool done = divided(b->g, &in, d, &whole) && pass_linear_add(b->g, &rest, &whole, -d) &&
              rest.count <= PASS_EXHAUSTED_TERMS;
  ir_ref r = done ? pass_linear_plain(b->g, &rest) : 0;
  r = allowed(b, "remainder", IR_OP_MOD, x, y, is_small(b->g, &in) && d <= INT32_MAX, r);
  if (r && !b->facts) ir_bounds_tighten(b->g, r, 0, d - 1);
  return r ? r : ir_make(b->g, IR_OP_MOD, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}

/* Rewrites in < 0 as X < *c, or as X >= *c where *flipped; X, in `in`, has no constant and no common factor,
 * and its first coefficient is positive. */
static bool normal(pass_linear *in, int64_t *c, bool *flipped) {
  int64_t content = pass_linear_content(in);
  if (content < 1) return false;
  for (uint32_t i = 0; i < in->count; i++) in->term[i].coef /= content;
  if (in->constant == INT64_MIN || !ir_sub_ok(0, ir_floor_div(in->constant, content), c)) return false;
  in->constant = 0;
  *flipped = pass_linear_sign(in) < 0; /* -X < c is X >= 1-c */
  return !*flipped || (pass_linear_scale(in, -1) && ir_sub_ok(1, *c, c));
}

ir_ref pass_cheap_compare(pass_build *b, ir_op op, ir_ref x, ir_ref y) {
  pass_linear in, right;
  int64_t c;
  bool swap = op == IR_OP_GT || op == IR_OP_LE, negated = op == IR_OP_GE || op == IR_OP_LE, flipped;
  if (op != IR_OP_LT && op != IR_OP_GE && !swap) return 0;
  pass_linear_read(b->g, swap ? y : x, &in); /* x > y is y - x < 0; x <= y is not (y - x < 0) */
  pass_linear_read(b->g, swap ? x : y, &right);
  if (!pass_linear_add(b->g, &in, &right, -1) || in.count > PASS_EXHAUSTED_TERMS) return 0;
  pass_interval all = pass_linear_bounds(b, &in);
  if (all.lo == INT64_MIN || all.hi == INT64_MAX) return 0;
  if (all.hi < 0 || all.lo >= 0) return ir_bool(b->g, (all.hi < 0) != negated);
  bool small = is_small(b->g, &in);
  if (!normal(&in, &c, &flipped)) return 0;
  ir_ref src[] = {pass_linear_plain(b->g, &in), ir_index(b->g, c)};
  ir_ref r = ir_make(b->g, flipped != negated ? IR_OP_GE : IR_OP_LT, IR_BOOL, 0, src, 2);
  return allowed(b, "compare", op, x, y, small, r);
}
