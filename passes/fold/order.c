/* The order of loops in which a write may read what it replaces.
 *
 * An iteration at point x loads the element that the iteration at point y replaces. It has to come first, or
 * be the same one. Store and load are read as constant + sum of factor * range, so that the two points obey
 *
 *   sum of f[i] * y[i] - sum of g[i] * x[i] = constant of the load - constant of the store.
 *
 * For each axis y[i] is greater than x[i], equal or less: a direction. Which combinations of directions have
 * solutions is decided by bounds of the terms and by the greatest common divisor of the factors (U. Banerjee,
 * Dependence Analysis for Supercomputing, 1988), axis by axis, so that few combinations are looked at. An
 * axis along which all that is left goes one way becomes the next loop, in that direction; it settles the
 * combinations that are not equal along it (J. R. Allen, K. Kennedy, Automatic loop interchange, 1984). Axes
 * along which all are equal stay where they are. */
#include "order.h"

#include <string.h>

#include "ir/arith.h"
#include "passes/fold/fold.h"
#include "passes/index/affine.h"

enum { MOST_DIRECTIONS = 128 /* combinations of one write [3 in the tests] */ };
enum direction { LESS, EQUAL, GREATER }; /* where the store is, seen from the load */

typedef struct interval {
  int64_t lo, hi;
} interval;

/* One axis of both accesses. */
typedef struct pair {
  int64_t store, load; /* factors */
  int64_t last;        /* of the range, which begins at 0 */
} pair;

typedef struct equation {
  pair axes[IR_MAX_RANK];
  uint32_t rank;
  int64_t right; /* what the sum has to be */
} equation;

typedef struct directions {
  uint8_t of[MOST_DIRECTIONS][IR_MAX_RANK];
  uint32_t count;
  uint32_t rank;
} directions;

/* Factors and bounds are such that no sum of them overflows. */
static bool is_small(int64_t x) { return x > -(INT64_MAX >> 8) && x < INT64_MAX >> 8; }

static int64_t divisor_of(int64_t a, int64_t b) {
  a = a < 0 ? -a : a, b = b < 0 ? -b : b;
  while (b) {
    int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* A term of the index is factor * ref. */
static bool read_term(const ir_graph *g, ir_ref term, ir_ref *ref, int64_t *factor) {
  const ir_node *n = ir_get(g, term);
  *ref = term, *factor = 1;
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], factor)) *ref = n->src[0];
  return is_small(*factor);
}

/* Adds the index to the equation, as that of the store or of the load. False where it is not affine. */
static bool add_index(ir_graph *g, ir_ref index, bool store, const ir_ref *at, equation *e) {
  const ir_node *n = ir_get(g, index);
  uint32_t terms = n->op == IR_OP_ADD ? n->nsrc : 1;
  for (uint32_t k = 0; k < terms; k++) {
    ir_ref term = n->op == IR_OP_ADD ? n->src[k] : index, ref;
    int64_t number, factor, most;
    uint32_t axis = 0;
    if (ir_is_const(g, term, &number)) {
      e->right += store ? -number : number;
      if (!is_small(number) || !is_small(e->right)) return false;
      continue;
    }
    if (!read_term(g, term, &ref, &factor) || ir_op_of(g, ref) != IR_OP_RANGE) return false;
    int64_t last = ir_bounds_of(g, ref).hi;
    if (!is_small(last) || !ir_mul_ok(factor, last, &most) || !is_small(most)) return false;
    while (axis < e->rank && at[axis] != ref) axis++;
    if (axis == e->rank) return false; /* reductions of what is written are stored before */
    *(store ? &e->axes[axis].store : &e->axes[axis].load) += factor;
  }
  return true;
}

static bool read_equation(ir_graph *g, ir_ref store, ir_ref load, const ir_ref *at, uint32_t rank,
                          equation *e) {
  *e = (equation){.rank = rank};
  for (uint32_t i = 0; i < rank; i++)
    if (ir_op_of(g, at[i]) == IR_OP_RANGE && !is_small(e->axes[i].last = ir_bounds_of(g, at[i]).hi))
      return false;
  return add_index(g, store, true, at, e) && add_index(g, load, false, at, e);
}

static void include(interval *x, int64_t value) {
  if (value < x->lo) x->lo = value;
  if (value > x->hi) x->hi = value;
}

/* What the axis adds to the sum where it has this direction; lo > hi: it cannot have it. Extremes are at the
 * corners of a triangle, or at the ends of a line. */
static interval with_direction(const pair *p, int direction) {
  interval x = {INT64_MAX, INT64_MIN};
  int64_t last = p->last, f = p->store, g = p->load;
  if (direction == EQUAL) {
    include(&x, 0), include(&x, (f - g) * last);
  } else if (last > 0 && direction == GREATER) {
    include(&x, f), include(&x, f * last), include(&x, f * last - g * (last - 1));
  } else if (last > 0) {
    include(&x, -g), include(&x, -g * last), include(&x, f * (last - 1) - g * last);
  }
  return x;
}

static interval with_any(const pair *p) {
  interval x = {0, 0};
  include(&x, p->store * p->last), include(&x, -p->load * p->last);
  include(&x, (p->store - p->load) * p->last);
  return x;
}

/* Terms of an equation. */
typedef struct terms {
  interval sum;
  int64_t divisor; /* of the sum; 0 of nothing */
} terms;

/* Directions of the first `known` axes are given. Terms of axes whose factors the modulus divides, or of the
 * others; with modulus 0 all. False where an axis cannot have its direction. */
static bool add_terms(const equation *e, const uint8_t *of, uint32_t known, int64_t modulus, bool divided,
                      terms *out) {
  *out = (terms){0};
  for (uint32_t i = 0; i < e->rank; i++) {
    const pair *p = &e->axes[i];
    bool equal = i < known && of[i] == EQUAL;
    if (modulus && (p->store % modulus == 0 && p->load % modulus == 0) != divided) continue;
    interval x = i < known ? with_direction(p, of[i]) : with_any(p);
    if (x.lo > x.hi) return false;
    out->sum.lo += x.lo, out->sum.hi += x.hi;
    out->divisor = equal ? divisor_of(out->divisor, p->store - p->load)
                         : divisor_of(divisor_of(out->divisor, p->store), p->load);
  }
  return true;
}

static bool may_be(const terms *t, int64_t value) {
  return value >= t->sum.lo && value <= t->sum.hi && (t->divisor ? value % t->divisor == 0 : value == 0);
}

/* Low digits are what the modulus leaves of the right side: where only one number of these is within bounds,
 * low and high digits have each an equation of their own. */
static bool digits_may_be(const equation *e, const uint8_t *of, uint32_t known, int64_t modulus) {
  terms low, high;
  if (!add_terms(e, of, known, modulus, false, &low) || !add_terms(e, of, known, modulus, true, &high))
    return false;
  int64_t first = low.sum.lo + ir_floor_mod(e->right - low.sum.lo, modulus);
  if (first > low.sum.hi) return false;
  return low.sum.hi - first >= modulus || (may_be(&low, first) && may_be(&high, e->right - first));
}

/* Directions of the first `known` axes: may the others be such that there is a solution? */
static bool may_be_solved(const equation *e, const uint8_t *of, uint32_t known) {
  terms all;
  if (!add_terms(e, of, known, 0, false, &all) || !may_be(&all, e->right)) return false;
  for (uint32_t i = 0; i < e->rank; i++) {
    int64_t moduli[] = {e->axes[i].store, e->axes[i].load};
    for (int k = 0; k < 2; k++) {
      int64_t modulus = moduli[k] < 0 ? -moduli[k] : moduli[k];
      if (modulus > 1 && !digits_may_be(e, of, known, modulus)) return false;
    }
  }
  return true;
}

/* Adds the combinations that have solutions, but for the one point that is both. False: they are too many. */
static bool add_directions(const equation *e, directions *all) {
  uint32_t first = all->count;
  if (first == MOST_DIRECTIONS) return false;
  memset(all->of[all->count++], EQUAL, IR_MAX_RANK);
  for (uint32_t axis = 0; axis < e->rank; axis++) {
    uint32_t end = all->count;
    for (uint32_t k = first; k < end; k++)
      for (int direction = LESS; direction <= GREATER; direction += GREATER - LESS) {
        uint8_t *next = all->of[all->count];
        if (all->count == MOST_DIRECTIONS) return false;
        memcpy(next, all->of[k], IR_MAX_RANK);
        next[axis] = (uint8_t)direction;
        all->count += may_be_solved(e, next, axis + 1);
      }
    uint32_t kept = first;
    for (uint32_t k = first; k < all->count; k++)
      if (k >= end || may_be_solved(e, all->of[k], axis + 1))
        memmove(all->of[kept++], all->of[k], IR_MAX_RANK);
    all->count = kept;
  }
  uint32_t kept = first;
  for (uint32_t k = first; k < all->count; k++) {
    uint32_t axis = 0;
    while (axis < e->rank && all->of[k][axis] == EQUAL) axis++;
    if (axis < e->rank) memmove(all->of[kept++], all->of[k], IR_MAX_RANK);
  }
  all->count = kept;
  return true;
}

static bool find_directions(ir_graph *g, ir_ref effect, const ir_ref *loads, uint32_t count, const ir_ref *at,
                            uint32_t rank, directions *all) {
  all->count = 0, all->rank = rank;
  for (uint32_t k = 0; k < count; k++) {
    equation e;
    if (!read_equation(g, ir_src(g, effect, 1), ir_src(g, loads[k], 1), at, rank, &e) ||
        !add_directions(&e, all))
      return false;
  }
  return true;
}

/* The way in which all combinations go along the axis: LESS or GREATER; EQUAL: none, or there are both. */
static int way_along(const directions *all, uint32_t axis) {
  bool found[GREATER + 1] = {false};
  for (uint32_t k = 0; k < all->count; k++) found[all->of[k][axis]] = true;
  return found[LESS] == found[GREATER] ? EQUAL : found[LESS] ? LESS : GREATER;
}

static void settle(directions *all, uint32_t axis) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < all->count; k++)
    if (all->of[k][axis] == EQUAL) memmove(all->of[kept++], all->of[k], IR_MAX_RANK);
  all->count = kept;
}

bool fold_find_order(ir_graph *g, ir_ref effect, const ir_ref *loads, uint32_t count, const ir_ref *at,
                     uint32_t rank, fold_order *out) {
  directions all;
  uint32_t sequence[IR_MAX_RANK], found = 0, next = 0;
  bool moves[IR_MAX_RANK] = {false};
  *out = (fold_order){0};
  if (!find_directions(g, effect, loads, count, at, rank, &all)) return false;
  for (uint32_t k = 0; k < all.count; k++)
    for (uint32_t i = 0; i < rank; i++) moves[i] |= all.of[k][i] != EQUAL;
  while (all.count) {
    uint32_t axis = 0;
    while (axis < rank && way_along(&all, axis) == EQUAL) axis++;
    if (axis == rank) return false;
    out->ordered[axis] = out->any = true;
    out->backwards[axis] = way_along(&all, axis) == LESS;
    sequence[found++] = axis;
    settle(&all, axis);
  }
  for (uint32_t i = 0; i < rank; i++)
    if (moves[i] && !out->ordered[i]) sequence[found++] = i;
  for (uint32_t i = 0; i < rank; i++) out->axes[i] = moves[i] ? sequence[next++] : i;
  return true;
}

/* Adds the range, outermost first: by numbers. */
static void add_range(const ir_graph *g, ir_ref range, ir_ref *at, uint32_t *rank) {
  uint32_t place = *rank;
  for (uint32_t i = 0; i < *rank; i++)
    if (at[i] == range) return;
  for (; place > 0 && ir_arg_int(ir_get(g, at[place - 1])) > ir_arg_int(ir_get(g, range)); place--)
    at[place] = at[place - 1];
  at[place] = range;
  ++*rank;
}

bool fold_is_in_order(ir_graph *g, ir_ref effect, const ir_ref *loads, uint32_t count) {
  ir_ref found[IR_MAX_RANK + 1], at[2 * IR_MAX_RANK] = {0};
  const ir_node *n = ir_get(g, effect);
  uint32_t ranges = affine_find_range(g, n->src[1], IR_OP_RANGE, found, IR_MAX_RANK + 1), rank = 0;
  uint32_t over = n->op == IR_OP_UPDATE ? n->nsrc : 4;
  directions all;
  if (ranges > IR_MAX_RANK || over > 4 + IR_MAX_RANK) return false;
  for (uint32_t i = 0; i < ranges; i++) add_range(g, found[i], at, &rank);
  for (uint32_t i = 4; i < over; i++)
    if (ir_op_of(g, n->src[i]) == IR_OP_RANGE) add_range(g, n->src[i], at, &rank);
  if (rank > IR_MAX_RANK || !find_directions(g, effect, loads, count, at, rank, &all)) return false;
  for (uint32_t i = 0; i < rank && all.count; i++) {
    bool ordered = false, greater = false;
    for (uint32_t k = 4; k < over; k++) ordered |= n->src[k] == at[i];
    for (uint32_t k = 0; k < all.count; k++) {
      if (all.of[k][i] == LESS) return false;
      greater |= all.of[k][i] == GREATER;
    }
    if (greater && !ordered) return false;
    settle(&all, i);
  }
  return all.count == 0;
}
