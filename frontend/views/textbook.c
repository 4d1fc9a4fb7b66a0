/* The textbook rules, applied where each node is made: unit and zero laws, constants folded and pushed right,
 * like terms combined, quotient and remainder recombined, division and remainder by a constant folded through
 * the bounds of their operand. */
#include "textbook.h"

#include "ir/arith.h"

enum { TERMS = 32 };

typedef struct term {
  ir_ref atom;
  int64_t coef;
} term;

/* A sum as terms in the order in which it was written, and a constant. */
typedef struct sum {
  term term[TERMS];
  uint32_t count;
  int64_t constant;
  bool fits; /* no more than TERMS, and nothing overflowed */
} sum;

static ir_ref make_sum(ir_graph *g, ir_ref a, ir_ref b);
static ir_ref quotient(ir_graph *g, ir_ref a, ir_ref b);

static ir_ref node2(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  ir_dtype dtype = ir_ops[op].cls == IR_CLASS_COMPARE ? IR_BOOL : a ? ir_dtype_of(g, a) : IR_INDEX;
  return ir_make(g, op, dtype, 0, (ir_ref[]){a, b}, 2);
}

/* the classic order of operands */
static int rank_of(const ir_graph *g, ir_ref ref) {
  static const uint8_t order[] = {IR_OP_ADD,   IR_OP_MUL,   IR_OP_FLOORDIV, IR_OP_MAX,  IR_OP_MIN,
                                  IR_OP_MOD,   IR_OP_LT,    IR_OP_NE,       IR_OP_OR,   IR_OP_AND,
                                  IR_OP_WHERE, IR_OP_RANGE, IR_OP_VAR,      IR_OP_CONST};
  int rank = 0, count = sizeof order / sizeof *order;
  while (rank < count && order[rank] != ir_get(g, ref)->op) rank++;
  return rank;
}

static ir_ref sorted(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  if (!a || !b) return 0;
  int x = rank_of(g, a), y = rank_of(g, b);
  bool ranges = ir_op_of(g, a) == IR_OP_RANGE && ir_op_of(g, b) == IR_OP_RANGE;
  bool swap = x > y || (ranges && ir_arg_int(ir_get(g, a)) > ir_arg_int(ir_get(g, b)));
  return swap ? node2(g, op, b, a) : node2(g, op, a, b);
}

/* sums */

static void sum_add(sum *s, ir_ref atom, int64_t coef) {
  uint32_t i = 0;
  while (i < s->count && s->term[i].atom != atom) i++;
  s->fits &= i < TERMS;
  if (!s->fits) return;
  if (i == s->count) s->term[s->count++] = (term){atom, 0};
  s->fits &= ir_add_ok(s->term[i].coef, coef, &s->term[i].coef);
}

static void sum_read(const ir_graph *g, ir_ref ref, sum *s) {
  ir_ref stack[TERMS] = {ref};
  for (uint32_t depth = 1; depth > 0 && s->fits;) {
    ir_ref top = stack[--depth];
    const ir_node *n = ir_get(g, top);
    int64_t value;
    if (n->op == IR_OP_ADD && depth + n->nsrc <= TERMS) { /* sizes come as sums of any number of terms */
      for (uint32_t i = n->nsrc; i-- > 0;) stack[depth++] = n->src[i];
    } else if (ir_is_const(g, top, &value)) {
      s->fits &= ir_add_ok(s->constant, value, &s->constant);
    } else if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &value)) {
      sum_add(s, n->src[0], value);
    } else {
      sum_add(s, top, 1);
    }
  }
}

static sum sum_of(const ir_graph *g, ir_ref ref) {
  sum s = {.fits = true};
  sum_read(g, ref, &s);
  return s;
}

static ir_ref scaled(ir_graph *g, ir_ref atom, int64_t coef) {
  if (coef == 1) return atom;
  return coef == 0 ? ir_index(g, 0) : sorted(g, IR_OP_MUL, atom, ir_index(g, coef));
}

static ir_ref sum_node(ir_graph *g, const sum *s) {
  ir_ref all = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    if (s->term[i].coef == 0) continue;
    ir_ref one = scaled(g, s->term[i].atom, s->term[i].coef);
    all = all ? sorted(g, IR_OP_ADD, all, one) : one;
  }
  if (!all) return ir_index(g, s->constant);
  return s->constant ? node2(g, IR_OP_ADD, all, ir_index(g, s->constant)) : all;
}

static ir_bounds sum_bounds(ir_graph *g, const sum *s) {
  ir_ref made = s->fits ? sum_node(g, s) : 0;
  return made ? ir_bounds_of(g, made) : (ir_bounds){INT64_MIN, INT64_MAX, 1, 0};
}

static bool within(ir_bounds b, int64_t lo, int64_t hi) { return b.lo >= lo && b.hi <= hi; }

/* (x%c)*k + (x//c)*(c*k) => x*k among the terms; true when one was found */
static bool recombine(ir_graph *g, sum *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const ir_node *m = ir_get(g, s->term[i].atom);
    int64_t c, whole;
    if (m->op != IR_OP_MOD || !ir_is_const(g, m->src[1], &c) || !ir_mul_ok(s->term[i].coef, c, &whole))
      continue;
    ir_ref over = quotient(g, m->src[0], m->src[1]);
    for (uint32_t j = 0; j < s->count; j++) {
      if (s->term[j].atom != over || s->term[j].coef != whole) continue;
      sum whole_part = sum_of(g, m->src[0]);
      int64_t k = s->term[i].coef;
      s->term[i].coef = s->term[j].coef = 0;
      s->fits &= whole_part.fits;
      for (uint32_t t = 0; t < whole_part.count && s->fits; t++) {
        s->fits &= ir_mul_ok(whole_part.term[t].coef, k, &whole_part.term[t].coef);
        sum_add(s, whole_part.term[t].atom, whole_part.term[t].coef);
      }
      s->fits &= ir_mul_ok(whole_part.constant, k, &k) && ir_add_ok(s->constant, k, &s->constant);
      return s->fits;
    }
  }
  return false;
}

/* A sum without its constant term; 0 when nothing is left. */
static ir_ref without_constant(const ir_graph *g, ir_ref ref, int64_t *constant) {
  const ir_node *n = ir_get(g, ref);
  *constant = 0;
  if (ir_is_const(g, ref, constant)) return 0;
  return n->op == IR_OP_ADD && n->nsrc == 2 && ir_is_const(g, n->src[1], constant) ? n->src[0] : ref;
}

static ir_ref make_sum(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y;
  if (!a || !b) return 0;
  if (ir_is_const(g, a, &x) && x == 0) return b;
  if (ir_is_const(g, b, &y) && y == 0) return a;
  sum both = sum_of(g, a), right = sum_of(g, b);
  uint32_t apart = both.count + right.count;
  sum_read(g, b, &both);
  if (both.fits && (both.count < apart || recombine(g, &both))) return sum_node(g, &both);
  int64_t total;
  ir_ref left = without_constant(g, a, &x), rest = without_constant(g, b, &y);
  if (!ir_add_ok(x, y, &total)) return sorted(g, IR_OP_ADD, a, b);
  ir_ref plain = left && rest ? sorted(g, IR_OP_ADD, left, rest) : left ? left : rest;
  if (!plain) return ir_index(g, total);
  return total ? node2(g, IR_OP_ADD, plain, ir_index(g, total)) : plain;
}

/* products */

static ir_ref make_product(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t x, y, z;
  if (!a || !b) return 0;
  if (ir_is_const(g, a, &x) && !ir_is_const(g, b, NULL)) {
    ir_ref swap = a;
    a = b, b = swap;
  }
  if (!ir_is_const(g, b, &y)) return sorted(g, IR_OP_MUL, a, b);
  if (y == 0) return b;
  if (y == 1) return a;
  if (ir_is_const(g, a, &x)) return ir_mul_ok(x, y, &z) ? ir_index(g, z) : node2(g, IR_OP_MUL, a, b);
  const ir_node *n = ir_get(g, a);
  if (n->op == IR_OP_MUL && n->nsrc == 2 && ir_is_const(g, n->src[1], &x) && ir_mul_ok(x, y, &z))
    return make_product(g, n->src[0], ir_index(g, z));
  if (n->op == IR_OP_ADD && n->nsrc == 2 && ir_is_const(g, n->src[1], &x) &&
      ir_mul_ok(x, y, &z)) /* constants leave the product */
    return node2(g, IR_OP_ADD, make_product(g, n->src[0], b), ir_index(g, z));
  return sorted(g, IR_OP_MUL, a, b);
}

/* quotients and remainders by a constant c > 0 */

/* The sum with its constant reduced modulo c, and each coefficient replaced by its residue modulo c that is
 * closer to zero; *wholes is the difference, divided by c. */
static sum reduce_modulo(const sum *s, int64_t c, sum *wholes) {
  sum left = *s;
  *wholes = *s;
  left.constant = ir_floor_mod(s->constant, c);
  wholes->constant = ir_floor_div(s->constant, c);
  for (uint32_t i = 0; i < s->count; i++) {
    int64_t r = ir_floor_mod(s->term[i].coef, c), q = ir_floor_div(s->term[i].coef, c);
    if (r > c - r) r -= c, q += 1;
    left.term[i].coef = r;
    wholes->term[i].coef = q;
  }
  return left;
}

/* The greatest common divisor of c and every coefficient. */
static int64_t common_divisor(const sum *s, int64_t c) {
  int64_t common = c;
  for (uint32_t i = 0; i < s->count; i++) common = ir_gcd(common, s->term[i].coef);
  return common < 0 ? -common : common;
}

static void divide_terms(sum *s, int64_t by) {
  for (uint32_t i = 0; i < s->count; i++) s->term[i].coef /= by;
}

static bool has_terms(const sum *s) {
  for (uint32_t i = 0; i < s->count; i++)
    if (s->term[i].coef) return true;
  return false;
}

static ir_ref remainder_by(ir_graph *g, ir_ref x, int64_t c) {
  ir_bounds b = ir_bounds_of(g, x);
  if (within(b, 0, c - 1)) return x;
  if (b.lo != INT64_MIN && b.hi != INT64_MAX && b.lo == b.hi) return ir_index(g, ir_floor_mod(b.lo, c));
  const ir_node *n = ir_get(g, x);
  int64_t inner;
  if (n->op == IR_OP_MOD && ir_is_const(g, n->src[1], &inner) && inner % c == 0)
    return remainder_by(g, n->src[0], c);
  sum s = sum_of(g, x), wholes;
  if (!s.fits) return node2(g, IR_OP_MOD, x, ir_index(g, c));
  sum left = reduce_modulo(&s, c, &wholes);
  if (within(sum_bounds(g, &left), 0, c - 1)) return sum_node(g, &left);
  left = s; /* keep what is not a multiple of c, with coefficients that are not negative */
  for (uint32_t i = 0; i < s.count; i++) left.term[i].coef = ir_floor_mod(s.term[i].coef, c);
  left.constant = ir_floor_mod(s.constant, c);
  int64_t common = common_divisor(&left, c);
  if (common > 1 && has_terms(&left)) { /* (g*y+k) % (g*d) = g*(y%d)+k for 0 <= k < g */
    int64_t k = left.constant % common;
    divide_terms(&left, common);
    left.constant /= common;
    return make_sum(g, make_product(g, remainder_by(g, sum_node(g, &left), c / common), ir_index(g, common)),
                    ir_index(g, k));
  }
  ir_ref y = sum_node(g, &left);
  bool changed = left.constant != s.constant;
  for (uint32_t i = 0; i < s.count; i++) changed |= left.term[i].coef != s.term[i].coef;
  if (!changed) y = x;
  return within(ir_bounds_of(g, y), 0, c - 1) ? y : node2(g, IR_OP_MOD, y, ir_index(g, c));
}

/* ((x//c)+a)//d => (x+a*c)//(c*d) */
static ir_ref nested_quotient(ir_graph *g, const sum *s, int64_t d) {
  uint32_t only = TERMS, live = 0;
  for (uint32_t i = 0; i < s->count; i++)
    if (s->term[i].coef) only = i, live++;
  if (live != 1 || s->term[only].coef != 1) return 0;
  const ir_node *n = ir_get(g, s->term[only].atom);
  int64_t c, both, a;
  if (n->op != IR_OP_FLOORDIV || !ir_is_const(g, n->src[1], &c) || !ir_mul_ok(c, d, &both) ||
      !ir_mul_ok(s->constant, c, &a))
    return 0;
  return quotient(g, make_sum(g, n->src[0], ir_index(g, a)), ir_index(g, both));
}

static ir_ref quotient_by(ir_graph *g, ir_ref x, int64_t c) {
  ir_bounds b = ir_bounds_of(g, x);
  if (c == 1) return x;
  if (b.lo != INT64_MIN && b.hi != INT64_MAX && ir_floor_div(b.lo, c) == ir_floor_div(b.hi, c))
    return ir_index(g, ir_floor_div(b.lo, c));
  sum s = sum_of(g, x), wholes;
  if (!s.fits) return node2(g, IR_OP_FLOORDIV, x, ir_index(g, c));
  sum left = reduce_modulo(&s, c, &wholes);
  if (within(sum_bounds(g, &left), 0, c - 1)) return sum_node(g, &wholes);
  left = s; /* take out the terms that c divides */
  wholes = (sum){.fits = true, .count = s.count, .constant = ir_floor_div(s.constant, c)};
  left.constant = ir_floor_mod(s.constant, c);
  for (uint32_t i = 0; i < s.count; i++) {
    bool whole = s.term[i].coef % c == 0;
    wholes.term[i] = (term){s.term[i].atom, whole ? s.term[i].coef / c : 0};
    if (whole) left.term[i].coef = 0;
  }
  bool out = wholes.constant || has_terms(&wholes);
  int64_t common = common_divisor(&left, c), by = c / common;
  ir_ref rest = nested_quotient(g, &left, c);
  if (!rest) {
    bool same = !out && common == 1;
    divide_terms(&left, common);
    left.constant = ir_floor_div(left.constant, common);
    ir_ref y = same ? x : sum_node(g, &left);
    rest = by == 1 ? y : common > 1 ? quotient_by(g, y, by) : node2(g, IR_OP_FLOORDIV, y, ir_index(g, by));
  }
  return out ? make_sum(g, sum_node(g, &wholes), rest) : rest;
}

static ir_ref quotient(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t c;
  if (!a || !b) return 0;
  return ir_is_const(g, b, &c) && c >= 1 ? quotient_by(g, a, c) : node2(g, IR_OP_FLOORDIV, a, b);
}

static ir_ref remainder_of(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t c;
  if (!a || !b) return 0;
  return ir_is_const(g, b, &c) && c >= 1 ? remainder_by(g, a, c) : node2(g, IR_OP_MOD, a, b);
}

/* comparisons: < only, and its negation */

static ir_ref less_than(ir_graph *g, ir_ref a, ir_ref b) {
  int64_t limit;
  if (!a || !b) return 0;
  ir_bounds x = ir_bounds_of(g, a), y = ir_bounds_of(g, b);
  if (x.hi < y.lo) return ir_bool(g, true);
  if (x.lo >= y.hi && x.lo != INT64_MIN && y.hi != INT64_MAX) return ir_bool(g, false);
  sum s = sum_of(g, a);
  if (!ir_is_const(g, b, &limit) || !s.fits || !ir_sub_ok(limit, s.constant, &limit))
    return node2(g, IR_OP_LT, a, b);
  bool positive = true;
  int64_t moved = s.constant;
  s.constant = 0;
  for (uint32_t i = 0; i < s.count; i++) {
    positive &= s.term[i].coef > 0 && ir_bounds_of(g, s.term[i].atom).lo >= 0;
    int64_t unit = s.term[i].coef < 0 ? -s.term[i].coef : s.term[i].coef;
    if (unit < 2 || s.term[i].coef == INT64_MIN) continue;
    sum multiples = s, rest = s; /* (u*y+r) < u*k => y < k for 0 <= r < u */
    for (uint32_t t = 0; t < s.count; t++)
      *(s.term[t].coef % unit == 0 ? &rest.term[t].coef : &multiples.term[t].coef) = 0;
    bool alone = !has_terms(&rest);
    if (!alone && (limit % unit != 0 || !within(sum_bounds(g, &rest), 0, unit - 1))) continue;
    divide_terms(&multiples, unit);
    return less_than(g, sum_node(g, &multiples), ir_index(g, -ir_floor_div(-limit, unit)));
  }
  bool ones = true;
  for (uint32_t i = 0; i < s.count; i++) ones &= s.term[i].coef == 1;
  if (limit == 1 && positive && !ones) /* nothing but zeros is below 1 */
    for (uint32_t i = 0; i < s.count; i++) s.term[i].coef = 1;
  bool plain = moved == 0 && (ones || limit != 1 || !positive);
  return node2(g, IR_OP_LT, plain ? a : sum_node(g, &s), ir_index(g, limit));
}

static ir_ref not_true(ir_graph *g, ir_ref a) {
  if (!a) return 0;
  if (ir_is_true(g, a) || ir_is_false(g, a)) return ir_bool(g, ir_is_false(g, a));
  return node2(g, IR_OP_NE, a, ir_bool(g, true));
}

static ir_ref make_comparison(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  switch ((int)op) {
  case IR_OP_LT: return less_than(g, a, b);
  case IR_OP_GE: return not_true(g, less_than(g, a, b));
  case IR_OP_GT: return less_than(g, b, a);
  case IR_OP_LE: return not_true(g, less_than(g, b, a));
  default: return !a || !b ? 0 : node2(g, op, a, b);
  }
}

static ir_ref make_and(ir_graph *g, ir_ref a, ir_ref b) {
  if (!a || !b) return 0;
  if (ir_is_true(g, a) || ir_is_false(g, b) || a == b) return b;
  if (ir_is_true(g, b) || ir_is_false(g, a)) return a;
  return sorted(g, IR_OP_AND, a, b);
}

const pass_arith pass_textbook = {make_sum, make_product,    quotient, remainder_of,
                                  NULL,     make_comparison, make_and};
