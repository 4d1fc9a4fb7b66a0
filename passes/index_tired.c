/* Quotients and remainders by numbers when the effort is spent: a look at the terms of a short sum and at its
 * bounds, which is what flips, merged axes and rows taken apart again ask for.
 *
 *   N//d = Q + R//d   where N = d*Q + R, R without terms and constants that are multiples of d;
 *                     R//d is a number where R lies in one period
 *   (x//a)//d = x//(a*d) */
#include "index_impl.h"

static ir_ref quotient(ir_graph *g, ir_ref x, ir_ref y) {
  return ir_make(g, IR_OP_FLOORDIV, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}

/* out += rest//d, with no multiple of d in rest */
static bool add_rest(ir_graph *g, const pass_linear *rest, int64_t d, pass_linear *out) {
  int64_t a, product;
  ir_ref x = pass_linear_plain(g, rest);
  ir_bounds in = ir_bounds_of(g, x);
  if (!x) return false;
  if (in.lo != INT64_MIN && in.hi != INT64_MAX && ir_floor_div(in.lo, d) == ir_floor_div(in.hi, d))
    return ir_add_ok(out->constant, ir_floor_div(in.lo, d), &out->constant);
  const ir_node *n = ir_get(g, x);
  bool again = n->op == IR_OP_FLOORDIV && n->dtype == IR_INDEX && ir_is_const(g, n->src[1], &a) && a >= 1 &&
               ir_mul_ok(a, d, &product);
  ir_ref q = again ? quotient(g, n->src[0], ir_index(g, product)) : quotient(g, x, ir_index(g, d));
  return q && pass_linear_term(g, out, q, 1);
}

/* N//d as a form; false: too long, or too big */
static bool divided(ir_graph *g, ir_ref x, int64_t d, pass_linear *out) {
  pass_linear in, rest;
  pass_linear_read(g, x, &in);
  if (in.count > PASS_TIRED_TERMS) return false;
  pass_linear_const(out, ir_floor_div(in.constant, d));
  pass_linear_const(&rest, ir_floor_mod(in.constant, d));
  for (uint32_t i = 0; i < in.count; i++) { /* in their order, so that none moves */
    pass_term t = in.term[i], whole = {t.atom, t.coef / d};
    if (t.coef % d == 0) out->term[out->count++] = whole;
    else rest.term[rest.count++] = t;
  }
  return add_rest(g, &rest, d, out);
}

ir_ref pass_tired_div(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear form;
  ir_ref r = divided(b->g, x, d, &form) ? pass_linear_plain(b->g, &form) : 0;
  if (r && b->g->observer && !pass_allowed(b, "divide", IR_OP_FLOORDIV, (ir_ref[]){x, y}, 2, r)) r = 0;
  return r ? r : quotient(b->g, x, y);
}

ir_ref pass_tired_mod(pass_build *b, ir_ref x, ir_ref y, int64_t d) {
  pass_linear form, sum;
  ir_ref r = 0;
  pass_linear_read(b->g, x, &sum);
  if (d != INT64_MIN && divided(b->g, x, d, &form) && pass_linear_add(b->g, &sum, &form, -d) &&
      sum.count <= PASS_TIRED_TERMS)
    r = pass_linear_plain(b->g, &sum);
  if (r && !pass_allowed(b, "remainder", IR_OP_MOD, (ir_ref[]){x, y}, 2, r)) r = 0;
  return r ? r : ir_make(b->g, IR_OP_MOD, IR_INDEX, 0, (ir_ref[]){x, y}, 2);
}
