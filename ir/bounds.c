/* Bounds of integer expressions, memoised per node: an interval and a congruence.
 *
 * lo <= value <= hi, where INT64_MIN and INT64_MAX mean "no bound known", and value = rem (mod div) with div
 * >= 1 and 0 <= rem < div; a constant has div 0, rem = lo = hi. Interval ends saturate: an end that would
 * leave int64 becomes "unknown" or moves to the safe side, so every bound holds for the mathematical integer.
 * An expression that is never evaluated (it depends on a range of extent 0) may have any bounds. When memory
 * is short the answer is "unknown" and is not remembered. */
#include "ir.h"
#include "arith.h"

#include <string.h>

enum { STACK = 64 };

static const ir_bounds unknown = {INT64_MIN, INT64_MAX, 1, 0};

static bool no_lo(ir_bounds b) { return b.lo == INT64_MIN; }
static bool no_hi(ir_bounds b) { return b.hi == INT64_MAX; }

/* interval ends */

static int64_t safe_lo(int64_t lo) { return lo == INT64_MAX ? INT64_MAX - 1 : lo; }
static int64_t safe_hi(int64_t hi) { return hi == INT64_MIN ? INT64_MIN + 1 : hi; }

static int64_t add_lo(int64_t a, int64_t b) {
  int64_t r;
  if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
  return ir_add_ok(a, b, &r) ? safe_lo(r) : a < 0 ? INT64_MIN : INT64_MAX - 1;
}

static int64_t add_hi(int64_t a, int64_t b) {
  int64_t r;
  if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
  return ir_add_ok(a, b, &r) ? safe_hi(r) : a < 0 ? INT64_MIN + 1 : INT64_MAX;
}

/* A product of interval ends, saturated: unknown ends act as infinities, and infinity times zero is zero. */
static int64_t corner(int64_t a, int64_t b) {
  int64_t r;
  if (a == 0 || b == 0) return 0;
  bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  if (!infinite && ir_mul_ok(a, b, &r)) return r;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* congruences: div 0 stands for "equals rem" */

static ir_bounds congruent(int64_t lo, int64_t hi, int64_t div, int64_t rem) {
  ir_bounds b = {lo, hi, div, div > 0 ? ir_floor_mod(rem, div) : rem};
  if (div > 1) { /* ends move to the nearest value of the right residue */
    if (!no_lo(b)) b.lo = add_lo(b.lo, ir_floor_mod(b.rem - ir_floor_mod(b.lo, div), div));
    if (!no_hi(b)) b.hi = add_hi(b.hi, -ir_floor_mod(ir_floor_mod(b.hi, div) - b.rem, div));
    if (b.lo > b.hi) b.lo = lo, b.hi = hi; /* no value: never evaluated, but lo <= hi must hold */
  }
  if (b.lo == b.hi && !no_lo(b) && !no_hi(b)) return (ir_bounds){b.lo, b.lo, 0, b.lo};
  if (div == 0) b.div = 1, b.rem = 0; /* a constant that saturated */
  return b;
}

static ir_bounds exactly(int64_t value) {
  if (value == INT64_MIN || value == INT64_MAX) return (ir_bounds){value, value, 1, 0};
  return (ir_bounds){value, value, 0, value};
}
static ir_bounds between(int64_t lo, int64_t hi) { return congruent(lo, hi, 1, 0); }

static ir_bounds add_bounds(ir_bounds a, ir_bounds b) {
  int64_t div = ir_gcd(a.div, b.div), rem;
  if (div && !ir_add_ok(ir_floor_mod(a.rem, div), ir_floor_mod(b.rem, div), &rem)) div = 1, rem = 0;
  if (!div && !ir_add_ok(a.rem, b.rem, &rem))
    return (ir_bounds){add_lo(a.lo, b.lo), add_hi(a.hi, b.hi), 1, 0};
  return congruent(add_lo(a.lo, b.lo), add_hi(a.hi, b.hi), div, rem);
}

static ir_bounds negate(ir_bounds a) {
  int64_t lo = no_hi(a) ? INT64_MIN : -a.hi, hi = no_lo(a) ? INT64_MAX : -a.lo;
  return congruent(lo, hi, a.div, -a.rem);
}

static ir_bounds mul_bounds(ir_bounds a, ir_bounds b) {
  int64_t c[4] = {corner(a.lo, b.lo), corner(a.lo, b.hi), corner(a.hi, b.lo), corner(a.hi, b.hi)};
  int64_t lo = min64(min64(c[0], c[1]), min64(c[2], c[3])), hi = max64(max64(c[0], c[1]), max64(c[2], c[3]));
  /* (k*A + r)(l*B + s) is r*s modulo gcd(A*B, A*s, B*r) */
  int64_t ab, as, br, rs;
  if (!ir_mul_ok(a.div, b.div, &ab) || !ir_mul_ok(a.div, b.rem, &as) || !ir_mul_ok(b.div, a.rem, &br) ||
      !ir_mul_ok(a.rem, b.rem, &rs))
    return between(safe_lo(lo), safe_hi(hi));
  return congruent(safe_lo(lo), safe_hi(hi), ir_gcd(ab, ir_gcd(as, br)), rs);
}

/* b >= 1, or nothing is known */
static ir_bounds floor_div(ir_bounds a, ir_bounds b) {
  if (b.lo < 1) return unknown;
  int64_t lo = no_lo(a) ? INT64_MIN : ir_floor_div(a.lo, a.lo < 0 ? b.lo : b.hi);
  int64_t hi = no_hi(a) ? INT64_MAX : ir_floor_div(a.hi, a.hi < 0 ? b.hi : b.lo);
  if (b.div == 0 && a.div % b.rem == 0)
    return congruent(lo, hi, a.div / b.rem, ir_floor_div(a.rem, b.rem)); /* (k*A*d + r)//d = k*A + r//d */
  return between(lo, hi);
}

static ir_bounds floor_mod(ir_bounds a, ir_bounds b) {
  if (b.lo < 1) return unknown;
  if (a.lo >= 0 && a.hi < b.lo) return a;
  int64_t lo = 0, hi = no_hi(b) ? INT64_MAX : b.hi - 1;
  if (a.lo >= 0) hi = min64(hi, a.hi);
  if (b.div != 0) {
    int64_t common = ir_gcd(a.div, ir_gcd(b.div, b.rem)); /* divides every multiple of the divisor */
    return congruent(lo, hi, common ? common : 1, common ? a.rem : 0);
  }
  int64_t d = b.rem, common = ir_gcd(a.div, d);
  if (!no_lo(a) && !no_hi(a) && ir_floor_div(a.lo, d) == ir_floor_div(a.hi, d))
    lo = ir_floor_mod(a.lo, d), hi = ir_floor_mod(a.hi, d);
  return congruent(lo, hi, common, a.rem);
}

static ir_bounds either(ir_bounds a, ir_bounds b, int64_t lo, int64_t hi) {
  int64_t difference,
      div = ir_sub_ok(a.rem, b.rem, &difference) ? ir_gcd(ir_gcd(a.div, b.div), difference) : 1;
  return congruent(lo, hi, div, a.rem);
}

static ir_bounds bounds_of_truth(bool yes, bool no) {
  return yes ? exactly(1) : no ? exactly(0) : between(0, 1);
}

static ir_bounds equality(ir_bounds a, ir_bounds b, bool negated) {
  int64_t difference, common = ir_gcd(a.div, b.div);
  bool never = a.hi < b.lo || b.hi < a.lo ||
               (common > 1 && ir_sub_ok(a.rem, b.rem, &difference) && ir_floor_mod(difference, common) != 0);
  bool always = a.div == 0 && b.div == 0 && a.rem == b.rem;
  return negated ? bounds_of_truth(never, always) : bounds_of_truth(always, never);
}

static ir_bounds bounds_of_less(ir_bounds a, ir_bounds b) {
  return bounds_of_truth(a.hi < b.lo, b.hi <= a.lo && !no_hi(b) && !no_lo(a));
}
static ir_bounds at_most(ir_bounds a, ir_bounds b) {
  return bounds_of_truth(a.hi <= b.lo && !no_hi(a) && !no_lo(b), b.hi < a.lo);
}

/* the bounds that the dtype implies */
static ir_bounds of_type(ir_dtype type) {
  int bits = 8 * ir_dtypes[type].bytes;
  switch (ir_dtypes[type].kind) {
  case IR_KIND_BOOL: return between(0, 1);
  case IR_KIND_SIGNED:
    return bits < 64 ? between(-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1) : unknown;
  case IR_KIND_UNSIGNED: return bits < 64 ? between(0, ((int64_t)1 << bits) - 1) : unknown;
  default: return unknown;
  }
}

static ir_bounds of_extent(ir_bounds extent) {
  return between(0, no_hi(extent) ? INT64_MAX : max64(extent.hi - 1, 0));
}

/* s: bounds of the sources */
static ir_bounds bounds_of_op(const ir_graph *g, const ir_node *n, const ir_bounds *s) {
  ir_dtype type = (ir_dtype)n->dtype;
  bool index = type == IR_INDEX, boolean = type == IR_BOOL;
  ir_bounds r;
  switch ((ir_op)n->op) {
  case IR_OP_CONST: return ir_is_float(type) || type == IR_U64 ? unknown : exactly(n->arg);
  case IR_OP_VAR:
    return n->nsrc == 3 ? congruent(s[0].lo, s[1].hi, s[2].div == 0 && s[2].lo >= 1 ? s[2].lo : 1, 0)
                        : unknown;
  case IR_OP_RANGE:
  case IR_OP_BOUND: return of_extent(s[n->op == IR_OP_RANGE ? 0 : 1]);
  case IR_OP_NEG: return index ? negate(s[0]) : of_type(type);
  case IR_OP_ADD:
  case IR_OP_MUL:
    if (!index) return of_type(type);
    r = s[0];
    for (uint32_t i = 1; i < n->nsrc; i++) r = n->op == IR_OP_ADD ? add_bounds(r, s[i]) : mul_bounds(r, s[i]);
    return r;
  case IR_OP_SUB: return index ? add_bounds(s[0], negate(s[1])) : of_type(type);
  case IR_OP_FLOORDIV: return index ? floor_div(s[0], s[1]) : of_type(type);
  case IR_OP_MOD: return index ? floor_mod(s[0], s[1]) : of_type(type);
  case IR_OP_MIN:
    if (ir_is_float(type) || type == IR_U64) return unknown;
    return either(s[0], s[1], min64(s[0].lo, s[1].lo), min64(s[0].hi, s[1].hi));
  case IR_OP_MAX:
    if (ir_is_float(type) || type == IR_U64) return unknown;
    return either(s[0], s[1], max64(s[0].lo, s[1].lo), max64(s[0].hi, s[1].hi));
  case IR_OP_WHERE:
    if (ir_is_float(type)) return unknown;
    if (s[0].div == 0) return s[0].lo ? s[1] : s[2];
    return either(s[1], s[2], min64(s[1].lo, s[2].lo), max64(s[1].hi, s[2].hi));
  case IR_OP_NOT: return boolean ? bounds_of_truth(s[0].hi == 0, s[0].lo == 1) : of_type(type);
  case IR_OP_AND:
  case IR_OP_OR:
    if (!boolean) return of_type(type);
    r = s[0];
    for (uint32_t i = 1; i < n->nsrc; i++) {
      bool conjunction = n->op == IR_OP_AND;
      r = conjunction ? between(min64(r.lo, s[i].lo), min64(r.hi, s[i].hi))
                      : between(max64(r.lo, s[i].lo), max64(r.hi, s[i].hi));
    }
    return r;
  case IR_OP_EQ:
  case IR_OP_NE:
  case IR_OP_LT:
  case IR_OP_LE:
  case IR_OP_GT:
  case IR_OP_GE:
    switch (ir_dtypes[ir_dtype_of(g, n->src[0])].kind) { /* bounds decide indices and bools only */
    case IR_KIND_INDEX:
    case IR_KIND_BOOL: break;
    default: return between(0, 1);
    }
    switch ((ir_op)n->op) {
    case IR_OP_EQ: return equality(s[0], s[1], false);
    case IR_OP_NE: return equality(s[0], s[1], true);
    case IR_OP_LT: return bounds_of_less(s[0], s[1]);
    case IR_OP_LE: return at_most(s[0], s[1]);
    case IR_OP_GT: return bounds_of_less(s[1], s[0]);
    default: return at_most(s[1], s[0]);
    }
  case IR_OP_CAST: { /* exact if the source's values fit the new type */
    ir_dtype from = ir_dtype_of(g, n->src[0]);
    if (type == IR_BOOL || ir_is_float(type) || ir_is_float(from) || from == IR_U64) return of_type(type);
    r = of_type(type);
    return s[0].lo >= r.lo && s[0].hi <= r.hi && type != IR_U64 ? s[0] : r;
  }
  default: return of_type(type);
  }
}

static bool reserve_bounds(ir_graph *g) {
  if (g->bounds_cap >= g->count) return true;
  size_t grown = g->bounds_cap ? g->bounds_cap : 256;
  while (grown < g->count) grown *= 2;
  ir_bounds *bounds = ir_alloc(g->mem, grown * sizeof *bounds);
  uint8_t *known = ir_alloc(g->mem, grown);
  if (!bounds || !known) {
    ir_free(g->mem, bounds, grown * sizeof *bounds);
    ir_free(g->mem, known, grown);
    return false;
  }
  memset(known, 0, grown);
  if (g->bounds_cap) {
    memcpy(bounds, g->bounds, g->bounds_cap * sizeof *bounds);
    memcpy(known, g->bounds_known, g->bounds_cap);
  }
  ir_free(g->mem, g->bounds, g->bounds_cap * sizeof *bounds);
  ir_free(g->mem, g->bounds_known, g->bounds_cap);
  g->bounds = bounds;
  g->bounds_known = known;
  g->bounds_cap = grown;
  return true;
}

/* Are bounds derived for the node? Floats and effects have none: the traversal does not go beyond them. */
static bool has_facts(const ir_node *n) {
  ir_kind kind = (ir_kind)ir_dtypes[n->dtype].kind;
  return kind == IR_KIND_INDEX || kind == IR_KIND_BOOL || kind == IR_KIND_SIGNED || kind == IR_KIND_UNSIGNED;
}

/* Bounds of one node whose sources all have theirs. False when memory is short. */
static bool set_bounds(ir_graph *g, ir_ref ref) {
  const ir_node *n = ir_get(g, ref);
  ir_bounds few[STACK], *s = few;
  if (n->nsrc > STACK && !(s = ir_alloc(g->mem, n->nsrc * sizeof *s))) return false;
  for (uint32_t i = 0; i < n->nsrc; i++) s[i] = g->bounds[n->src[i]];
  g->bounds[ref] = bounds_of_op(g, n, s);
  g->bounds_known[ref] = 1;
  if (s != few) ir_free(g->mem, s, n->nsrc * sizeof *s);
  return true;
}

ir_bounds ir_bounds_derive(ir_graph *g, ir_ref ref) {
  if (ref == 0) return unknown;
  if (!reserve_bounds(g)) return unknown;
  ir_ref few[STACK], *stack = few, *heap = NULL;
  size_t heap_cap = 0, depth = 0, cap = STACK;
  bool failed = false;
  stack[depth++] = ref;
  while (depth && !failed) {
    ir_ref top = stack[depth - 1];
    const ir_node *n = ir_get(g, top);
    if (g->bounds_known[top]) {
      depth--;
      continue;
    }
    if (!has_facts(n)) {
      g->bounds[top] = unknown;
      g->bounds_known[top] = 1;
      depth--;
      continue;
    }
    size_t before = depth;
    for (uint32_t i = 0; i < n->nsrc && !failed; i++) {
      if (g->bounds_known[n->src[i]]) continue;
      if (depth == cap) {
        failed = !IR_RESERVE(g->mem, heap, heap_cap, depth + 1);
        if (!failed && stack == few) memcpy(heap, few, sizeof few);
        if (!failed) stack = heap, cap = heap_cap;
      }
      if (!failed) stack[depth++] = n->src[i];
    }
    if (depth == before && !failed) {
      failed = !set_bounds(g, top);
      depth--;
    }
  }
  ir_free(g->mem, heap, heap_cap * sizeof *heap);
  return failed ? unknown : g->bounds[ref];
}

void ir_bounds_tighten(ir_graph *g, ir_ref ref, int64_t lo, int64_t hi) {
  ir_bounds r = ir_bounds_of(g, ref);
  if (ref >= g->bounds_cap || !g->bounds_known[ref]) return;
  g->bounds_known[ref] = 2;
  if (r.div == 0) return;
  lo = max64(lo, r.lo), hi = min64(hi, r.hi);
  if (lo <= hi) g->bounds[ref] = congruent(lo, hi, r.div, r.rem);
}
