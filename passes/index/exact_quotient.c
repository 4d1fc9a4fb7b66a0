/* Exact quotients. Where x mod d is known, x//d is a fraction of x plus a constant, and all such multiples of
 * x in a sum combine into one: p*(x//q) in lowest terms. A quotient that is multiplied by other factors stays
 * as written, as extents and strides write it, unless two terms become one; polynomial.c compares such
 * products. */
#include "impl.h"

#include <string.h>

static bool is_quotient(const ir_graph *g, ir_ref ref) {
  return ir_op_of(g, ref) == IR_OP_FLOORDIV && ir_dtype_of(g, ref) == IR_INDEX;
}

/* (a*x + k)//d with a known remainder, which is (a*x - r)/d; x itself has a = d = 1 and r = 0 */
typedef struct exact_quotient {
  ir_ref x;
  int64_t a, d, r;
} exact_quotient;

static bool read_whole(pass_build *b, ir_ref atom, exact_quotient *out) {
  pass_linear part;
  *out = (exact_quotient){.x = atom, .a = 1, .d = 1};
  if (!is_quotient(b->g, atom)) return true;
  const ir_node *q = ir_get(b->g, atom);
  if (!ir_is_const(b->g, q->src[1], &out->d) || out->d < 1 || !pass_residue(b, q->src[0], out->d, &out->r))
    return false;
  pass_linear_read(b->g, q->src[0], &part);
  if (part.count != 1 || !ir_sub_ok(out->r, part.constant, &out->r)) return false;
  out->x = part.term[0].atom;
  out->a = part.term[0].coef;
  return true;
}

/* A sum of multiples of (a*x - r)/d, as (by_x*x + low)/over; over is the least common multiple of the
 * divisors. */
typedef struct whole_sum {
  int64_t by_x, low, over;
} whole_sum;

static bool add_whole(whole_sum *sum, const exact_quotient *of, int64_t coef) {
  int64_t common = of->d / ir_gcd(sum->over, of->d), each, low;
  if (!ir_mul_ok(sum->over, common, &sum->over) || !ir_mul_ok(sum->by_x, common, &sum->by_x) ||
      !ir_mul_ok(sum->low, common, &sum->low) || !ir_mul_ok(coef, sum->over / of->d, &each))
    return false;
  return ir_mul_ok(each, of->r, &low) && ir_sub_ok(sum->low, low, &sum->low) &&
         ir_mul_ok(each, of->a, &each) && ir_add_ok(sum->by_x, each, &sum->by_x);
}

/* A term as a multiple of x times its other factors. */
typedef struct whole_term {
  exact_quotient of;
  ir_ref rest[PASS_FACTORS];
  uint32_t count;
} whole_term;

/* Reads factor number `at` as the multiple of x; the others become `rest`. */
static bool read_term(pass_build *b, const ir_ref *f, uint32_t n, uint32_t at, whole_term *out) {
  out->count = 0;
  if (!read_whole(b, f[at], &out->of)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (i != at) out->rest[out->count++] = f[i];
  return true;
}

/* Has the atom a factor that is a multiple of the same x, and otherwise the same factors? */
static bool read_like(pass_build *b, ir_ref atom, const whole_term *like, exact_quotient *out) {
  ir_ref f[PASS_FACTORS];
  whole_term term;
  uint32_t n = pass_factors(b->g, atom, f);
  for (uint32_t at = 0; at < n && n == like->count + 1; at++) {
    if (!read_term(b, f, n, at, &term) || term.of.x != like->of.x ||
        memcmp(term.rest, like->rest, term.count * sizeof *term.rest) != 0)
      continue;
    *out = term.of;
    return true;
  }
  return false;
}

/* in += (p*(x//q) + c) * rest, where p*(x//q) + c is the combined fraction. */
static bool put_whole(pass_build *b, pass_linear *in, ir_ref x, const whole_sum *sum, ir_ref rest) {
  int64_t common = ir_gcd(sum->by_x, sum->over), d = sum->over / common, low, residue = 0;
  pass_linear part;
  if (d > 1 && !pass_residue(b, x, d, &residue)) return false;
  ir_ref q = d == 1 ? x : pass_make_div(b, x, ir_index(b->g, d));
  if (q && !ir_is_const(b->g, rest, NULL)) q = pass_make_mul(b, q, rest);
  if (!q) return false;
  pass_linear_read(b->g, q, &part);
  /* by_x*x + low = by_x*(x - residue) + by_x*residue + low */
  if (!ir_mul_ok(sum->by_x, residue, &low) || !ir_add_ok(low, sum->low, &low) || low % sum->over != 0)
    return false;
  if (!pass_linear_add(b->g, in, &part, sum->by_x / common)) return false;
  pass_linear_read(b->g, rest, &part);
  return pass_linear_add(b->g, in, &part, low / sum->over);
}

static bool combine_multiples(pass_build *b, pass_linear *in, const whole_term *like) {
  pass_linear next = *in;
  whole_sum sum = {.over = 1};
  uint32_t combined = 0;
  for (uint32_t t = in->count; t-- > 0;) {
    exact_quotient of;
    if (!read_like(b, in->term[t].atom, like, &of)) continue;
    if (!add_whole(&sum, &of, in->term[t].coef)) return false;
    pass_linear_drop(&next, t);
    combined++;
  }
  bool lowest = ir_gcd(sum.by_x, sum.over) == 1 && like->of.a == 1; /* a single term in lowest terms stays */
  if (combined < 2 && (lowest || like->count > 0)) return false;
  if (!put_whole(b, &next, like->of.x, &sum, pass_product(b->g, like->rest, like->count))) return false;
  if (pass_linear_same(&next, in)) return false;
  *in = next;
  return true;
}

bool pass_combine_exact_quotients(pass_build *b, pass_linear *in, uint32_t t) {
  ir_ref f[PASS_FACTORS];
  whole_term like;
  uint32_t n = pass_factors(b->g, in->term[t].atom, f);
  for (uint32_t at = 0; at < n; at++)
    if (is_quotient(b->g, f[at]) && read_term(b, f, n, at, &like) && combine_multiples(b, in, &like))
      return true;
  return false;
}

bool pass_exact_quotient(pass_build *b, ir_ref atom, ir_ref *x, int64_t *a, int64_t *d) {
  exact_quotient of;
  if (!is_quotient(b->g, atom) || !read_whole(b, atom, &of) || of.r != 0) return false;
  *x = of.x, *a = of.a, *d = of.d;
  return true;
}

bool pass_exact_ratio(pass_build *b, ir_ref x, ir_ref y, int64_t *by, int64_t *over) {
  exact_quotient p, q;
  *by = *over = 1;
  if (x == y) return true;
  if (!is_quotient(b->g, x) && !is_quotient(b->g, y)) return false;
  if (!read_whole(b, x, &p) || !read_whole(b, y, &q) || p.x != q.x || p.r != 0 || q.r != 0) return false;
  if (!ir_mul_ok(p.a, q.d, by) || !ir_mul_ok(p.d, q.a, over)) return false;
  int64_t common = ir_gcd(*by, *over);
  *by /= common, *over /= common;
  return *by > 0 && *over > 0;
}
