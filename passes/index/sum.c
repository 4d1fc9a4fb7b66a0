/* Removes quotients from sums. Digits by constants cancel by themselves, since a remainder is N - d*(N//d);
 * the remaining cases:
 *
 *   whole      multiples of x and of x//d, x//e, ... whose remainders are known: p*(x//q) in lowest terms
 *   exact      c*(N//d) where N has a known remainder r: (c/d)*(N - r) where d divides c
 *   product    D*(N//D) = N - N%D for a symbolic D, where that shortens the sum or cancels a term N%D
 *   halves     N//d + (N + d/2)//d = N//(d/2): the quotient with the larger constant is eliminated where
 *              another of the three occurs; two of them become one where that shortens the sum
 *   staircase  N//d + (N+1)//d + ... + (N+d-1)//d = N (Hermite's identity)
 *
 * Each step shortens the sum or lowers a coefficient, so the process ends. */
#include "impl.h"

static bool is_op(const ir_graph *g, ir_ref ref, ir_op op) {
  return ir_op_of(g, ref) == op && ir_dtype_of(g, ref) == IR_INDEX;
}

static bool exact(pass_build *b, pass_linear *in, uint32_t t) {
  const ir_node *q = ir_get(b->g, in->term[t].atom);
  int64_t d, r, coef = in->term[t].coef;
  if (!ir_is_const(b->g, q->src[1], &d) || d < 1 || !pass_residue(b, q->src[0], d, &r)) return false;
  pass_linear next = *in, part;
  pass_linear_read(b->g, q->src[0], &part);
  if (coef % d != 0 || !ir_sub_ok(part.constant, r, &part.constant)) return false;
  pass_linear_drop(&next, t);
  if (!pass_linear_add(b->g, &next, &part, coef / d)) return false;
  *in = next;
  return true;
}

/* Term t is coef * q * rest with a factor q = N//d. Where the residue r of N is known and d divides coef, it
 * becomes coef * (N - r) * rest / d; where rest is exactly the symbolic divisor D, it becomes coef * (N -
 * N%D) if that shortens the sum or cancels N%D. */
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
      if (!pass_linear_add(b->g, &next, &part, coef / d)) continue;
      /* Added as linear forms: a sum node built here would itself be recombined. */
    } else if (!fixed && others == q->src[1]) {
      ir_ref remainder = pass_make_mod(b, q->src[0], q->src[1]);
      if (!remainder) continue;
      pass_linear_read(b->g, q->src[0], &part);
      pass_linear_read(b->g, remainder, &low);
      if (!pass_linear_add(b->g, &part, &low, -1) || !pass_linear_add(b->g, &next, &part, coef)) continue;
      bool cancels = low.count == 1 && pass_linear_coef(in, low.term[0].atom) != 0 &&
                     pass_linear_coef(&next, low.term[0].atom) == 0;
      if (next.count >= in->count && !cancels) continue;
    } else {
      continue;
    }
    *in = next;
    return true;
  }
  return false;
}

/* Number of quotients in the sum with the coefficient and divisor of term t. */
static uint32_t quotients_like(pass_build *b, const pass_linear *in, uint32_t t) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < in->count; i++)
    count += in->term[i].coef == in->term[t].coef && is_op(b->g, in->term[i].atom, IR_OP_FLOORDIV) &&
             ir_src(b->g, in->term[i].atom, 1) == ir_src(b->g, in->term[t].atom, 1);
  return count;
}

static bool fold_staircase(pass_build *b, pass_linear *in, uint32_t t) {
  const ir_node *q = ir_get(b->g, in->term[t].atom);
  int64_t d, coef = in->term[t].coef;
  if (!ir_is_const(b->g, q->src[1], &d) || d < 2 || d > quotients_like(b, in, t)) return false;
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
    if (!pass_linear_add(b->g, &next, &step, -coef)) return false;
  }
  if (!pass_linear_add(b->g, &next, &base, coef)) return false;
  *in = next;
  return true;
}

/* halves */

static uint32_t quotients_in(pass_build *b, const pass_linear *in) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < in->count; i++) count += is_op(b->g, in->term[i].atom, IR_OP_FLOORDIV);
  return count;
}

/* Do the sum and `part` have a common quotient other than `but`? */
static bool shares_quotient(pass_build *b, const pass_linear *in, const pass_linear *part, ir_ref but) {
  for (uint32_t i = 0; i < part->count; i++)
    if (part->term[i].atom != but && is_op(b->g, part->term[i].atom, IR_OP_FLOORDIV) &&
        pass_linear_coef(in, part->term[i].atom) != 0)
      return true;
  return false;
}

/* form // d as a linear form */
static bool quotient_of(pass_build *b, const pass_linear *form, int64_t d, pass_linear *out) {
  pass_linear numerator = *form;
  ir_ref q = pass_make_div(b, pass_linear_node(b, &numerator), ir_index(b->g, d));
  if (q) pass_linear_read(b->g, q, out);
  return q != 0;
}

/* Is there another quotient whose divisor divides d? */
static bool has_dividing_quotient(pass_build *b, const pass_linear *in, uint32_t t, int64_t d) {
  int64_t c;
  for (uint32_t i = 0; i < in->count; i++)
    if (i != t && is_op(b->g, in->term[i].atom, IR_OP_FLOORDIV) &&
        ir_is_const(b->g, ir_src(b->g, in->term[i].atom, 1), &c) && d % c == 0)
      return true;
  return false;
}

/* Not under facts: digits that the facts separate would split the halves again. */
static bool halve_quotient(pass_build *b, pass_linear *in, uint32_t t) {
  pass_term q = in->term[t];
  int64_t d;
  pass_linear low, whole, half, next = *in;
  if (b->facts || !ir_is_const(b->g, ir_src(b->g, q.atom, 1), &d) || d < 4 || d % 2 != 0 ||
      !has_dividing_quotient(b, in, t, d))
    return false;
  pass_linear_read(b->g, ir_src(b->g, q.atom, 0), &low);
  bool upper = low.constant >= d / 2;
  low.constant += upper ? -(d / 2) : d / 2;
  if (!quotient_of(b, &low, d, &half)) return false; /* the other of the two halves */
  if (!upper) low.constant -= d / 2;
  if (!quotient_of(b, &low, d / 2, &whole)) return false;
  /* q = whole - half */
  if (!pass_linear_term(b->g, &next, q.atom, -q.coef) || !pass_linear_add(b->g, &next, &whole, q.coef) ||
      !pass_linear_add(b->g, &next, &half, -q.coef))
    return false;
  bool there = shares_quotient(b, in, &half, q.atom) || shares_quotient(b, in, &whole, q.atom);
  if (upper ? !there || quotients_in(b, &next) > quotients_in(b, in)
            : quotients_in(b, &next) >= quotients_in(b, in))
    return false;
  *in = next;
  return true;
}

/* one step of any kind */
bool pass_recombine(pass_build *b, pass_linear *in) {
  uint8_t holds = 0;
  for (uint32_t i = 0; i < in->count; i++) holds |= ir_get(b->g, in->term[i].atom)->holds;
  if (!(holds & IR_HOLDS_DIVISION)) return false;
  for (uint32_t i = 0; i < in->count; i++)
    if (pass_combine_exact_quotients(b, in, i)) return true;
  if (pass_budget_exhausted(b->g)) return false;
  for (uint32_t i = 0; i < in->count; i++) {
    ir_ref atom = in->term[i].atom;
    if (is_op(b->g, atom, IR_OP_MUL) && open_product(b, in, i)) return true;
    if (!is_op(b->g, atom, IR_OP_FLOORDIV)) continue;
    if (exact(b, in, i) || (in->count > 1 && (fold_staircase(b, in, i) || halve_quotient(b, in, i))))
      return true;
  }
  return false;
}
