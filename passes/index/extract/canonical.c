/* Back from the cheapest form of an access to the canonical one.
 *
 *   quotient  N//d becomes N'//d' with the smallest d' that gives the same values where the validity holds:
 *             N' has the nearest coefficients in proportion, and N' - d'*(N//d) stays in one interval of d'
 *             numbers
 *   corner    a sum that is compared with its own extreme value: each term has its extreme value */
#include "cheapest.h"

enum {
  DIVISORS = 512, /* d' that are tried [43 in tests] */
  PROVEN = 16,    /* of these, that are proven to be the same or not */
  EVERY = 1024    /* points of ranges that are tried in place of a proof: about its price */
};

/* corners */

/* The comparison of one term with the end of its interval. */
static ir_ref at_end(ir_graph *g, ir_ref atom, bool high) {
  ir_bounds in = ir_bounds_of(g, atom);
  return pass_compare(g, high ? IR_OP_GE : IR_OP_LE, atom, ir_index(g, high ? in.hi : in.lo));
}

static ir_ref open_corner(ir_graph *g, ir_ref clause) {
  const ir_node *n = ir_get(g, clause);
  pass_linear sum;
  int64_t c, lo = 0, hi = 0;
  if ((n->op != IR_OP_LT && n->op != IR_OP_GE) || ir_dtype_of(g, n->src[0]) != IR_INDEX ||
      !ir_is_const(g, n->src[1], &c))
    return clause;
  ir_op op = (ir_op)n->op;
  pass_linear_read(g, n->src[0], &sum);
  for (uint32_t i = 0; i < sum.count; i++) {
    int64_t k = sum.term[i].coef;
    ir_bounds in = ir_bounds_of(g, sum.term[i].atom);
    if (ir_op_of(g, sum.term[i].atom) != IR_OP_RANGE || in.lo < -CHEAPEST_LARGEST ||
        in.hi > CHEAPEST_LARGEST || k < -CHEAPEST_LARGEST || k > CHEAPEST_LARGEST)
      return clause;
    lo += k * (k > 0 ? in.lo : in.hi), hi += k * (k > 0 ? in.hi : in.lo);
  }
  bool high = op == IR_OP_GE;
  int64_t end = high ? hi : lo, limit = high ? c : c - 1;
  for (uint32_t i = 0; i < sum.count; i++) { /* no other point is inside: the next one is a step away */
    int64_t k = sum.term[i].coef, step = k < 0 ? -k : k;
    if (high ? end - step >= limit : end + step <= limit) return clause;
  }
  if (sum.count < 2 || (high ? end < limit : end > limit)) return clause;
  ir_ref all = ir_bool(g, true);
  for (uint32_t i = 0; i < sum.count && all; i++)
    all = pass_and(g, all, at_end(g, sum.term[i].atom, (sum.term[i].coef > 0) == high));
  return all;
}

ir_ref cheapest_canonical_validity(ir_graph *g, ir_ref valid) {
  ir_ref simple = pass_simplify(g, valid), canonical = simple ? cheapest_periodic(g, simple) : 0;
  ir_ref all = ir_bool(g, true);
  const ir_node *n = canonical ? ir_get(g, canonical) : NULL;
  if (!n || n->op != IR_OP_AND) return canonical ? open_corner(g, canonical) : 0;
  bool changed = false;
  for (uint32_t i = 0; i < ir_get(g, canonical)->nsrc && !changed; i++)
    changed = open_corner(g, ir_src(g, canonical, i)) != ir_src(g, canonical, i);
  if (!changed) return canonical;
  for (uint32_t i = 0; i < ir_get(g, canonical)->nsrc && all; i++) {
    ir_ref open = open_corner(g, ir_src(g, canonical, i));
    all = open ? pass_and(g, all, open) : 0;
  }
  return all ? pass_simplify(g, all) : 0;
}

bool cheapest_is_canonical(ir_graph *g, ir_ref valid, ir_ref canonical) {
  if (ir_op_of(g, valid) != IR_OP_AND || ir_op_of(g, canonical) != IR_OP_AND) return false;
  uint32_t count = ir_get(g, canonical)->nsrc;
  bool found[PASS_CLAUSES] = {false};
  if (ir_get(g, valid)->nsrc != count || count > PASS_CLAUSES) return false;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref clause = pass_simplify(g, ir_src(g, valid, i));
    uint32_t k = 0;
    while (k < count && ir_src(g, canonical, k) != clause) k++;
    if (k == count || found[k] || open_corner(g, clause) != clause) return false;
    found[k] = true;
  }
  return true;
}

/* quotients */

static int64_t rounded(int64_t value, int64_t by) { return ir_floor_div(2 * value + by, 2 * by); }

/* May N' / smaller and N / d round down to the same numbers? Their difference over all values of the terms
 * would have to stay below 1. */
static bool is_near(pass_build *b, const pass_linear *n, int64_t d, int64_t smaller, pass_linear *out) {
  double apart = 0;
  pass_linear_const(out, 0);
  for (uint32_t i = 0; i < n->count; i++) {
    int64_t c = n->term[i].coef, near = rounded(c * smaller, d);
    ir_bounds in = pass_bounds(b, n->term[i].atom);
    double off = (double)c / (double)d - (double)near / (double)smaller, size = (double)in.hi - (double)in.lo;
    apart += (off < 0 ? -off : off) * size;
    if (apart >= 1 || !pass_linear_term(b->g, out, n->term[i].atom, near)) return false;
  }
  return out->count > 0;
}

/* What N is of its ranges: their row-major index, so that they may become one axis; this up to a factor and
 * modulo the divisor, some of them flipped, as reshapes leave quotients; or neither. */
typedef enum form_order { ROW_MAJOR, MODULO_DIVISOR, NO_ORDER } form_order;

static form_order order_of(pass_build *b, const pass_linear *n, int64_t by) {
  int64_t stride = n->term[n->count - 1].coef, exact = 1;
  bool row_major = true;
  for (uint32_t i = n->count; i-- > 0;) {
    int64_t coef = n->term[i].coef;
    ir_bounds in = ir_bounds_of(b->g, n->term[i].atom);
    if (ir_op_of(b->g, n->term[i].atom) != IR_OP_RANGE || in.hi > CHEAPEST_LARGEST ||
        (ir_floor_mod(coef - stride, by) != 0 && ir_floor_mod(coef + stride, by) != 0))
      return NO_ORDER;
    stride = ir_floor_mod(stride * (in.hi + 1), by);
    row_major &= coef == exact;
    exact = row_major ? exact * (in.hi + 1) : 0;
  }
  return row_major ? ROW_MAJOR : MODULO_DIVISOR;
}

static bool is_row_major(pass_build *b, const pass_linear *n, int64_t by) {
  return order_of(b, n, by) != NO_ORDER;
}

typedef enum known { NOTHING, SOME, ALL } known;

/* The values of N' - by*(N//d), as an interval: at all points of the terms' ranges where these are few, else
 * at some. Those that are not valid count too, unless the facts bound the terms one by one. */
static known values_apart(pass_build *b, const pass_linear *n, int64_t d, const pass_linear *smaller,
                          int64_t by, pass_interval *out) {
  enum { POINTS = 48 }; /* because 0.9^48 < 1 %: of what is wrong at 1 point in 10 so much is left */
  int64_t lo[PASS_TERMS], size[PASS_TERMS], to[PASS_TERMS], points = 1;
  uint64_t seed = 1;
  for (uint32_t i = 0; b->facts && i < b->facts->count; i++)
    if (ir_op_of(b->g, b->facts->fact[i].node) != IR_OP_RANGE) return NOTHING;
  for (uint32_t i = 0; i < n->count; i++) {
    ir_bounds in = pass_bounds(b, n->term[i].atom);
    if (in.lo < -CHEAPEST_LARGEST || in.hi > CHEAPEST_LARGEST || in.hi < in.lo) return NOTHING;
    lo[i] = in.lo, size[i] = in.hi - in.lo + 1, to[i] = pass_linear_coef(smaller, n->term[i].atom);
    points = points > EVERY ? points : points * size[i];
  }
  bool all = points <= EVERY;
  *out = (pass_interval){INT64_MAX, INT64_MIN};
  for (int64_t point = 0; point < (all ? points : POINTS); point++) {
    int64_t of = n->constant, value = 0, left = point;
    for (uint32_t i = 0; i < n->count; i++) {
      seed = seed * 0x5851f42d4c957f2du + 0x14057b7ef767814fu; /* of Knuth's MMIX, and an odd increment */
      int64_t at = all ? left % size[i] : (int64_t)(seed >> 33) % size[i];
      left /= size[i];
      of += n->term[i].coef * (lo[i] + at);
      value += to[i] * (lo[i] + at);
    }
    value -= by * ir_floor_div(of, d);
    if (value < out->lo) out->lo = value;
    if (value > out->hi) out->hi = value;
    if (out->hi - out->lo >= by) return SOME;
  }
  return all ? ALL : SOME;
}

/* Proves that N' + k, whose constant k is set, has the quotient q = N//d by `by`. in: values of N' - by*q, of
 * which so much is known. */
static bool proves_quotient(pass_build *b, ir_ref q, int64_t by, pass_linear *smaller, known of,
                            pass_interval in) {
  pass_linear apart = *smaller;
  if (of != ALL) {
    if (!pass_linear_term(b->g, &apart, q, -by)) return false;
    in = cheapest_bounds(b, &apart, CHEAPEST_NONE_TAKEN, by);
  }
  if (in.lo < -CHEAPEST_LARGEST || in.hi > CHEAPEST_LARGEST || in.hi - in.lo >= by) return false;
  int64_t least = -in.lo, most = by - 1 - in.hi;
  smaller->constant = least > 0 ? least : most < 0 ? most : 0;
  return true;
}

bool cheapest_same_quotient(pass_build *b, const pass_linear *n, int64_t d, const pass_linear *other,
                            int64_t by) {
  pass_interval in;
  return values_apart(b, n, d, other, by, &in) == ALL && in.lo + other->constant >= 0 &&
         in.hi + other->constant < by;
}

/* (g*N + k)//d of two values only, N//s + c: the smallest s that divides the value of N at which it changes.
 * On success n is N. False: it has other values, or g is 1 and k is 0. */
static bool step_at_multiple(pass_build *b, pass_linear *n, int64_t d, int64_t *by, int64_t *shift) {
  int64_t k = n->constant, g = pass_linear_content(n);
  pass_linear plain = *n;
  if ((k % d == 0 && g == 1) || g < 1) return false;
  plain.constant = 0;
  for (uint32_t i = 0; i < plain.count; i++) plain.term[i].coef /= g;
  pass_interval in = cheapest_bounds(b, &plain, CHEAPEST_NONE_TAKEN, INT64_MAX);
  if (in.lo < -CHEAPEST_LARGEST || in.hi > CHEAPEST_LARGEST) return false;
  int64_t low = ir_floor_div(g * in.lo + k, d), step = -ir_floor_div(k - d * (low + 1), g);
  if (ir_floor_div(g * in.hi + k, d) != low + 1 || step < 1) return false;
  int64_t least = step - in.lo > in.hi - step + 1 ? step - in.lo : in.hi - step + 1;
  *by = least;
  while (*by <= step && step % *by != 0 && *by <= DIVISORS) ++*by;
  *shift = low + 1 - step / *by;
  if (*by > step || *by < 2 || *by > DIVISORS) return false;
  *n = plain;
  return true;
}

/* The row-major index of N's ranges, each with the sign that it has in N; false: one of them is no range, or
 * there are too many values. *ratio: by how much the first coefficient grows. */
static bool row_major_form(pass_build *b, const pass_linear *n, pass_linear *out, int64_t *ratio) {
  int64_t stride = 1;
  pass_linear_const(out, 0);
  for (uint32_t i = n->count; i-- > 0;) {
    ir_ref atom = n->term[i].atom;
    ir_bounds in = ir_bounds_of(b->g, atom);
    if (ir_op_of(b->g, atom) != IR_OP_RANGE || in.hi > DIVISORS || stride > DIVISORS) return false;
    if (!pass_linear_term(b->g, out, atom, n->term[i].coef < 0 ? -stride : stride)) return false;
    *ratio = stride / n->term[i].coef;
    stride *= in.hi + 1;
  }
  if (*ratio < 0) *ratio = -*ratio;
  return n->count > 1;
}

/* N and d of a quotient of such an index that has the values of q = N//d, where there is one with a divisor
 * near in proportion; else they stay. */
static void make_row_major(pass_build *b, ir_ref q, pass_linear *n, int64_t *d) {
  pass_linear flat;
  int64_t ratio, from = *d;
  if (is_row_major(b, n, from) || !row_major_form(b, n, &flat, &ratio)) return;
  if (ratio < 2 || from * ratio > DIVISORS) return;
  for (int64_t by = from * ratio - CHEAPEST_NEAR; by <= from * ratio + CHEAPEST_NEAR; by++) {
    pass_interval at = {0, 0};
    known of_values = by < 2 ? NOTHING : values_apart(b, n, from, &flat, by, &at);
    if (of_values != ALL || !proves_quotient(b, q, by, &flat, of_values, at)) continue;
    *n = flat, *d = by;
    return;
  }
}

/* N'//d' with the values of q = N//d and the smallest d', N' in this order; 0: none. *failed: memory is
 * short. */
static ir_ref near_quotient(pass_build *b, ir_ref q, const pass_linear *n, int64_t d, form_order order,
                            bool *failed) {
  pass_linear smaller;
  int proofs = 0;
  int64_t most = order < order_of(b, n, d) ? d + CHEAPEST_NEAR : d - 1;
  for (int64_t by = 2; by <= most && proofs < PROVEN; by++) {
    pass_interval at = {0, 0};
    if (!is_near(b, n, d, by, &smaller) || pass_linear_content(&smaller) > 1 ||
        order_of(b, &smaller, by) != order)
      continue;
    known of_values = values_apart(b, n, d, &smaller, by, &at);
    if (of_values != NOTHING && at.hi - at.lo >= by) continue;
    proofs++;
    if (!proves_quotient(b, q, by, &smaller, of_values, at)) continue;
    ir_ref of = pass_linear_node(b, &smaller), made = of ? pass_make_div(b, of, ir_index(b->g, by)) : 0;
    *failed = made == 0;
    return made;
  }
  return 0;
}

/* The quotient with the smallest divisor that has the values of q = N//d, first among those that reshapes
 * leave; q itself where there is none. 0 when memory is short. */
static ir_ref smallest_quotient(pass_build *b, ir_ref q) {
  ir_graph *g = b->g;
  const ir_node *node = ir_get(g, q);
  pass_linear n, plain;
  int64_t d, step, shift;
  bool failed = false;
  if (node->op != IR_OP_FLOORDIV || !ir_is_const(g, node->src[1], &d) || d > DIVISORS) return q;
  pass_linear_read(g, node->src[0], &n);
  for (uint32_t i = 0; i < n.count; i++)
    if (n.term[i].coef > CHEAPEST_LARGEST || n.term[i].coef < -CHEAPEST_LARGEST) return q;
  plain = n;
  bool steps = step_at_multiple(b, &plain, d, &step, &shift);
  if (!steps || (n.constant % d != 0 && !is_row_major(b, &plain, step))) {
    ir_ref found = 0;
    for (form_order order = ROW_MAJOR; order <= MODULO_DIVISOR && !found && !failed; order++) {
      found = near_quotient(b, q, &n, d, order, &failed);
      if (!found && !failed && order_of(b, &n, d) == ROW_MAJOR) return q;
    }
    if (found || failed) return found;
    int64_t flat = d;
    plain = n;
    make_row_major(b, q, &plain, &flat);
    if (!step_at_multiple(b, &plain, flat, &step, &shift)) {
      found = is_row_major(b, &n, d) ? 0 : near_quotient(b, q, &n, d, NO_ORDER, &failed);
      return found || failed ? found : q;
    }
  }
  ir_ref of = pass_linear_node(b, &plain);
  return of ? pass_make_add(b, pass_make_div(b, of, ir_index(g, step)), ir_index(g, shift)) : 0;
}

/* A quotient with a multiple of its own divisor as coefficient: the sum holds its remainder, whose divisor
 * may have been chosen for the sum rather than for the quotient. */
static bool is_remainder(const ir_graph *g, const pass_term *t) {
  const ir_node *n = ir_get(g, t->atom);
  int64_t d;
  return n->op == IR_OP_FLOORDIV && ir_is_const(g, n->src[1], &d) && t->coef % d == 0;
}

/* Operations of the quotients in a sum: its other terms join those of the sum that it becomes a part of. */
static int quotient_operations(const ir_graph *g, ir_ref sum) {
  pass_linear form;
  ir_ref quotient[PASS_TERMS];
  uint32_t count = 0;
  pass_linear_read(g, sum, &form);
  for (uint32_t i = 0; i < form.count; i++)
    if (ir_op_of(g, form.term[i].atom) == IR_OP_FLOORDIV) quotient[count++] = form.term[i].atom;
  return extract_operations(g, quotient, count);
}

ir_ref cheapest_canonical_index(ir_graph *g, ir_ref index, ir_ref valid) {
  ir_ref from[PASS_TERMS], to[PASS_TERMS], canonical = pass_simplify(g, index);
  pass_build b = pass_begin(g);
  pass_facts facts;
  pass_linear sum;
  uint32_t count = 0;
  if (!canonical) return 0;
  pass_facts_read(&b, valid, &facts);
  if (!facts.never) b.facts = &facts;
  pass_linear_read(g, canonical, &sum);
  for (uint32_t i = 0; i < sum.count; i++) {
    ir_ref atom = sum.term[i].atom,
           smaller = is_remainder(g, &sum.term[i]) ? smallest_quotient(&b, atom) : atom;
    if (!smaller) return 0;
    if (quotient_operations(g, smaller) > extract_operations(g, &atom, 1)) smaller = atom;
    if (smaller != atom) from[count] = atom, to[count++] = smaller;
  }
  if (count) canonical = pass_substitute_valid(g, canonical, from, to, count);
  return canonical ? pass_simplify_given(g, canonical, valid) : 0;
}
