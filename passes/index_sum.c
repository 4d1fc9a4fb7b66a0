/* Recombination inside sums: what splitting an index into digits took apart is put together again.
 *
 *   quotient   d*(N//d) = N - N%d        taken when N%d is already in the sum with the right coefficient,
 * when N itself is there to cancel (x - 4*(x//4) is x%4), or when N%d is a known constant remainder  M%d = M
 * - d*(M//d)        taken when d*(M//d) is in the sum to cancel digits     (x//a%b)*a + x%a = x%(a*b), and
 * x//a - b*(x//(a*b)) = x//a%b staircase  x//n + (x+1)//n + ... + (x+n-1)//n = x    (Hermite's identity)
 *
 * Each is taken only when it makes the sum shorter or removes a division, so the process ends. */
#include "index_impl.h"

static bool is_op(const ir_graph *g, ir_ref ref, ir_op op) {
  return ir_op_of(g, ref) == op && ir_dtype_of(g, ref) == IR_INDEX;
}

/* coef * q, q = N//d: replaced by (coef/d) * (N - N%d). `residue_only`: just where N%d is a constant. */
static bool open_quotient(pass_build *b, pass_linear *in, uint32_t t, bool residue_only) {
  const ir_node *q = ir_get(b->g, in->term[t].atom);
  int64_t d, r, coef = in->term[t].coef;
  if (!ir_is_const(b->g, q->src[1], &d) || d < 1 || coef % d != 0) return false;
  pass_linear next = *in, part;
  pass_linear_drop(&next, t);
  pass_linear_read(b->g, q->src[0], &part);
  if (!pass_linear_add(&next, &part, coef / d)) return false;
  bool known = pass_residue(b, q->src[0], d, &r);
  if (residue_only && !known) return false;
  ir_ref m = known ? ir_index(b->g, r) : pass_make_mod(b, q->src[0], q->src[1]);
  if (!m) return false;
  pass_linear_read(b->g, m, &part);
  if (!pass_linear_add(&next, &part, -(coef / d)) || (!known && next.count >= in->count)) return false;
  *in = next;
  return true;
}

/* coef * m, m = M%D: replaced by coef * (M - D*(M//D)) where that cancels */
static bool open_remainder(pass_build *b, pass_linear *in, uint32_t t) {
  const ir_node *m = ir_get(b->g, in->term[t].atom);
  int64_t coef = in->term[t].coef;
  pass_linear next = *in, part;
  ir_ref whole = pass_make_mul(b, pass_make_div(b, m->src[0], m->src[1]), m->src[1]);
  if (!whole) return false;
  pass_linear_drop(&next, t);
  pass_linear_read(b->g, m->src[0], &part);
  if (!pass_linear_add(&next, &part, coef)) return false;
  pass_linear_read(b->g, whole, &part);
  if (coef == INT64_MIN || !pass_linear_add(&next, &part, -coef) || next.count >= in->count) return false;
  *in = next;
  return true;
}

/* coef * (q * rest), q = N//d a factor: (N - r) * rest / d where the residue r is known and d divides coef;
 * and N - N%D where rest is exactly the symbolic divisor D and that shortens the sum */
static bool open_product(pass_build *b, pass_linear *in, uint32_t t) {
  ir_ref f[PASS_FACTORS], rest[PASS_FACTORS];
  int64_t d, r, coef = in->term[t].coef;
  uint32_t n = pass_factors(b->g, in->term[t].atom, f);
  for (uint32_t i = 0; i < n; i++) {
    if (!is_op(b->g, f[i], IR_OP_FLOORDIV)) continue;
    const ir_node *q = ir_get(b->g, f[i]);
    bool fixed = ir_is_const(b->g, q->src[1], &d);
    uint32_t m = 0;
    for (uint32_t j = 0; j < n; j++)
      if (j != i) rest[m++] = f[j];
    ir_ref others = pass_product(b->g, rest, m);
    pass_linear next = *in, part, low;
    pass_linear_drop(&next, t);
    if (fixed && d >= 1 && coef % d == 0 && pass_residue(b, q->src[0], d, &r)) {
      ir_ref value = pass_make_mul(b, pass_make_sub(b, q->src[0], ir_index(b->g, r)), others);
      if (!value) continue;
      pass_linear_read(b->g, value, &part);
      if (!pass_linear_add(&next, &part, coef / d)) continue;
    } else if (!fixed &&
               others == q->src[1]) { /* in linear forms: a sum built here would be recombined in turn */
      ir_ref remainder = pass_make_mod(b, q->src[0], q->src[1]);
      if (!remainder) continue;
      pass_linear_read(b->g, q->src[0], &part);
      pass_linear_read(b->g, remainder, &low);
      if (!pass_linear_add(&part, &low, -1) || !pass_linear_add(&next, &part, coef) ||
          next.count >= in->count)
        continue;
    } else {
      continue;
    }
    *in = next;
    return true;
  }
  return false;
}

static bool replace_pair(pass_build *b, pass_linear *in, uint32_t i, uint32_t j, ir_ref value,
                         int64_t scale) {
  pass_linear next = *in, part;
  pass_linear_drop(&next, i > j ? i : j);
  pass_linear_drop(&next, i > j ? j : i);
  pass_linear_read(b->g, value, &part);
  if (!value || !pass_linear_add(&next, &part, scale)) return false;
  *in = next;
  return true;
}

/* terms i and j are both remainders, or both quotients, by constants */
static bool join_digits(pass_build *b, pass_linear *in, uint32_t i, uint32_t j) {
  const ir_node *x = ir_get(b->g, in->term[i].atom), *y = ir_get(b->g, in->term[j].atom);
  int64_t dx, dy, scaled;
  if (!ir_is_const(b->g, x->src[1], &dx) || !ir_is_const(b->g, y->src[1], &dy) || dx < 1 || dy < 1)
    return false;
  if (x->op == IR_OP_MOD) { /* k*dy*((m//dy) % dx) + k*(m % dy) */
    if (!ir_mul_ok(in->term[j].coef, dy, &scaled) || scaled != in->term[i].coef ||
        !ir_mul_ok(dx, dy, &scaled))
      return false;
    if (pass_make_div(b, y->src[0], y->src[1]) != x->src[0]) return false;
    return replace_pair(b, in, i, j, pass_make_mod(b, y->src[0], ir_index(b->g, scaled)), in->term[j].coef);
  }
  if (x->src[0] != y->src[0] || dy % dx != 0 || dy == dx) return false; /* k*(m//dx) - k*(dy/dx)*(m//dy) */
  if (!ir_mul_ok(in->term[i].coef, -(dy / dx), &scaled) || scaled != in->term[j].coef) return false;
  return replace_pair(b, in, i, j, pass_make_mod(b, in->term[i].atom, ir_index(b->g, dy / dx)),
                      in->term[i].coef);
}

/* term t is N//d without constant in N: all of (N+1)//d ... (N+d-1)//d beside it, with the same coefficient?
 */
static bool climb(pass_build *b, pass_linear *in, uint32_t t) {
  const ir_node *q = ir_get(b->g, in->term[t].atom);
  int64_t d, coef = in->term[t].coef;
  if (!ir_is_const(b->g, q->src[1], &d) || d < 2 || d > in->count) return false;
  pass_linear base, next = *in, step;
  pass_linear_read(b->g, q->src[0], &base);
  for (int64_t s = 0; s < d; s++) {
    step = base;
    if (!ir_add_ok(step.constant, s, &step.constant)) return false;
    ir_ref quotient = pass_make_div(b, pass_linear_node(b, &step), q->src[1]);
    if (!quotient) return false;
    pass_linear_read(b->g, quotient, &step);
    if (step.count != 1 || pass_linear_coef(&next, step.term[0].atom) != coef || step.term[0].coef != 1)
      return false;
    if (!pass_linear_add(&next, &step, -coef)) return false;
  }
  if (!pass_linear_add(&next, &base, coef)) return false;
  *in = next;
  return true;
}

/* one step of any kind */
bool pass_recombine(pass_build *b, pass_linear *in) {
  bool remainder = false, quotient = false;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_op op = ir_op_of(b->g, in->term[i].atom);
    remainder = remainder || op == IR_OP_MOD;
    quotient = quotient || op == IR_OP_FLOORDIV || op == IR_OP_MUL;
  }
  if (!remainder && !quotient) return false;
  bool single = in->count == 1;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref atom = in->term[i].atom;
    if (is_op(b->g, atom, IR_OP_MUL) && open_product(b, in, i)) return true;
    if (is_op(b->g, atom, IR_OP_FLOORDIV) && open_quotient(b, in, i, single)) return true;
    if (single) return false;
    if (is_op(b->g, atom, IR_OP_MOD) && quotient && open_remainder(b, in, i)) return true;
    if (is_op(b->g, atom, IR_OP_FLOORDIV) && climb(b, in, i)) return true;
    for (uint32_t j = 0; j < in->count; j++) {
      if (i == j || ir_op_of(b->g, atom) != ir_op_of(b->g, in->term[j].atom)) continue;
      if ((is_op(b->g, atom, IR_OP_MOD) || is_op(b->g, atom, IR_OP_FLOORDIV)) && join_digits(b, in, i, j))
        return true;
    }
  }
  return false;
}
