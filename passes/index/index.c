/* The public builders and queries: each call starts a pass_build of its own and runs the builders of
 * impl.h. */
#include "impl.h"

/* Machine integers represent an index only if every intermediate value fits. */
static bool fits_machine(ir_graph *g, ir_ref ref) {
  const int64_t most = INT64_MAX / 2;
  ir_bounds x = ir_bounds_of(g, ref);
  return x.lo >= -most && x.hi <= most;
}

/* Do the values of the expression fit machine integers, down to `depth` levels? Deeper nodes existed before
 * the rewrite; so did loads and other values of data, which rules choose between but never make. */
static bool all_fit(ir_graph *g, ir_ref ref, int depth) {
  const ir_node *n = ir_get(g, ref);
  if (n->dtype == IR_INDEX && !fits_machine(g, ref)) return false;
  bool arithmetic = n->op != IR_OP_RANGE && n->op != IR_OP_VAR && n->op != IR_OP_LOAD &&
                    (n->op == IR_OP_WHERE || n->dtype == IR_INDEX || n->dtype == IR_BOOL);
  for (uint32_t i = 0; i < n->nsrc && depth > 0 && arithmetic; i++)
    if (!all_fit(g, n->src[i], depth - 1)) return false;
  return true;
}

/* Could the result of a rewrite overflow machine integers although its sources fit? An expanded numerator, a
 * product of many sizes, can where its quotient does not. */
static bool outgrows(ir_graph *g, const ir_ref *src, uint32_t nsrc, ir_ref result) {
  enum { REWRITTEN = 3 }; /* levels of new nodes that a rule can make: a quotient of a sum of products */
  for (uint32_t i = 0; i < nsrc; i++)
    if (ir_dtype_of(g, src[i]) == IR_INDEX && !fits_machine(g, src[i])) return false;
  return !all_fit(g, result, REWRITTEN);
}

bool pass_allowed(pass_build *b, const char *rule, ir_op op, const ir_ref *src, uint32_t nsrc,
                  ir_ref result) {
  const ir_observer *o = b->g->observer;
  if (!result) return true;
  if (outgrows(b->g, src, nsrc, result)) return false;
  if (!o) return true;
  const ir_node *n = ir_get(b->g, result);
  bool changed = n->op != op || n->nsrc != nsrc;
  for (uint32_t i = 0; i < nsrc && !changed; i++) changed = n->src[i] != src[i];
  return !changed || o->rewrite(o->user, b->g, rule, b->facts ? b->facts->given : 0, op, src, nsrc, result);
}

void pass_index_begin(ir_graph *g) {
  g->budget_spent = 0;
  g->budget = PASS_BUDGET + (uint64_t)PASS_BUDGET_PER_NODE * g->count;
}

/* Each public builder starts with its own limit of steps. */
#define BUILD2(name, make)                                                                                   \
  ir_ref name(ir_graph *g, ir_ref x, ir_ref y) {                                                             \
    pass_build b = pass_begin(g);                                                                            \
    return make(&b, x, y);                                                                                   \
  }
#define BUILD2_INT(name, make)                                                                               \
  ir_ref name(ir_graph *g, ir_ref x, int64_t value) {                                                        \
    pass_build b = pass_begin(g);                                                                            \
    return make(&b, x, ir_index(g, value));                                                                  \
  }

static ir_ref make_min(pass_build *b, ir_ref x, ir_ref y) { return pass_make_minmax(b, IR_OP_MIN, x, y); }
static ir_ref make_max(pass_build *b, ir_ref x, ir_ref y) { return pass_make_minmax(b, IR_OP_MAX, x, y); }
static ir_ref make_and(pass_build *b, ir_ref x, ir_ref y) {
  return pass_make_junction(b, IR_OP_AND, (ir_ref[]){x, y}, 2);
}
static ir_ref make_or(pass_build *b, ir_ref x, ir_ref y) {
  return pass_make_junction(b, IR_OP_OR, (ir_ref[]){x, y}, 2);
}

/* Is this a division by a constant, with the budget exhausted? */
static bool is_easy(const ir_graph *g, ir_ref x, ir_ref y, int64_t *d) {
  return pass_budget_exhausted(g) && x && ir_is_const(g, y, d) && *d >= 1;
}
static ir_ref make_div(pass_build *b, ir_ref x, ir_ref y) {
  int64_t d;
  return is_easy(b->g, x, y, &d) ? pass_cheap_div(b, x, y, d) : pass_make_div(b, x, y);
}
static ir_ref make_mod(pass_build *b, ir_ref x, ir_ref y) {
  int64_t d;
  return is_easy(b->g, x, y, &d) ? pass_cheap_mod(b, x, y, d) : pass_make_mod(b, x, y);
}

BUILD2(pass_add, pass_make_add)
BUILD2(pass_sub, pass_make_sub)
BUILD2(pass_mul, pass_make_mul)
BUILD2(pass_div, make_div)
BUILD2(pass_mod, make_mod)
BUILD2(pass_min, make_min)
BUILD2(pass_max, make_max)
BUILD2(pass_and, make_and)
BUILD2(pass_or, make_or)
BUILD2_INT(pass_add_int, pass_make_add)
BUILD2_INT(pass_mul_int, pass_make_mul)
BUILD2_INT(pass_div_int, make_div)
BUILD2_INT(pass_mod_int, make_mod)

ir_ref pass_mod_given_quotient(ir_graph *g, ir_ref a, ir_ref size, ir_ref quotient) {
  int64_t d;
  ir_ref r = pass_sub(g, a, pass_mul(g, quotient, size));
  if (r && pass_budget_exhausted(g) && ir_is_const(g, size, &d) && d >= 1) ir_bounds_tighten(g, r, 0, d - 1);
  return r;
}

ir_ref pass_and_deferred(ir_graph *g, ir_ref x, ir_ref y) {
  pass_build b = pass_begin(g);
  b.deferred = true;
  return make_and(&b, x, y);
}

ir_ref pass_compare(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  pass_build build = pass_begin(g);
  ir_ref r = a && b && pass_budget_exhausted(g) ? pass_cheap_compare(&build, op, a, b) : 0;
  return r ? r : pass_make_compare(&build, op, a, b);
}

ir_ref pass_not(ir_graph *g, ir_ref a) {
  pass_build build = pass_begin(g);
  return pass_make_not(&build, a);
}

ir_ref pass_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b) {
  pass_build build = pass_begin(g);
  return pass_make_where(&build, condition, a, b);
}

ir_ref pass_ceil_div(ir_graph *g, ir_ref a, ir_ref b) {
  pass_build build = pass_begin(g);
  ir_ref up = a && b ? pass_make_add(&build, a, pass_make_sub(&build, b, ir_index(g, 1))) : 0;
  return pass_make_div(&build, up, b);
}

/* rebuilding one node from new sources */

static bool same_sources(const ir_node *n, const ir_ref *src, uint32_t nsrc) {
  if (n->nsrc != nsrc) return false;
  for (uint32_t i = 0; i < nsrc; i++)
    if (n->src[i] != src[i]) return false;
  return true;
}

/* an n-ary sum in one linear form, so that no nodes are made for partial sums */
static ir_ref sum_of(pass_build *b, ir_ref node, const ir_ref *src, uint32_t nsrc) {
  pass_linear sum, part;
  pass_linear_const(&sum, 0);
  for (uint32_t i = 0; i < nsrc; i++) {
    pass_linear_read(b->g, src[i], &part);
    if (pass_linear_add(b->g, &sum, &part, 1)) continue;
    ir_ref r = src[0]; /* too big for one form: add pairwise */
    for (uint32_t j = 1; j < nsrc; j++) r = pass_make_add(b, r, src[j]);
    return r;
  }
  if (!pass_linear_worthwhile(b->g, &sum, nsrc)) return ir_remake(b->g, node, src, nsrc);
  return pass_linear_node(b, &sum);
}

/* a product; sorted plain atoms make one n-ary MUL at once */
static ir_ref product_of(pass_build *b, const ir_ref *src, uint32_t nsrc) {
  bool sorted = nsrc <= PASS_FACTORS;
  for (uint32_t i = 0; i < nsrc && sorted; i++) {
    ir_op op = ir_op_of(b->g, src[i]);
    sorted = op != IR_OP_ADD && op != IR_OP_MUL && op != IR_OP_CONST &&
             (i == 0 || ir_compare(b->g, src[i - 1], src[i]) <= 0);
  }
  if (sorted) {
    pass_linear in;
    pass_linear_const(&in, 0);
    pass_linear_term(b->g, &in, pass_product(b->g, src, nsrc), 1);
    return pass_linear_node(b, &in);
  }
  ir_ref r = src[0];
  for (uint32_t i = 1; i < nsrc; i++) r = pass_make_mul(b, r, src[i]);
  return r;
}

/* A junction with a CARRY combines the value carried by a loop with one other value: both stay its two
 * sources. */
static bool is_carried(const ir_graph *g, const ir_ref *src, uint32_t nsrc) {
  return nsrc == 2 && (ir_op_of(g, src[0]) == IR_OP_CARRY || ir_op_of(g, src[1]) == IR_OP_CARRY);
}

ir_ref pass_make_node(pass_build *b, ir_ref node, const ir_ref *src, uint32_t nsrc) {
  const ir_node *n = ir_get(b->g, node);
  ir_op op = (ir_op)n->op;
  for (uint32_t i = 0; i < nsrc; i++)
    if (!src[i]) return 0;
  if (pass_budget_exhausted(b->g) && !b->facts && same_sources(n, src, nsrc)) return node;
  if (n->weak || ir_rank(b->g, node) > 0 || nsrc == 0) return ir_remake(b->g, node, src, nsrc);
  bool index = n->dtype == IR_INDEX, boolean = n->dtype == IR_BOOL;
  if (op == IR_OP_WHERE) return pass_make_where(b, src[0], src[1], src[2]);
  if (op == IR_OP_LOAD && ir_is_false(b->g, src[2])) return src[3];
  if (index) {
    if (op == IR_OP_ADD) return sum_of(b, node, src, nsrc);
    if (op == IR_OP_MUL) return product_of(b, src, nsrc);
    if (op == IR_OP_SUB) return pass_make_sub(b, src[0], src[1]);
    if (op == IR_OP_NEG) return pass_make_mul(b, src[0], ir_index(b->g, -1));
    if (op == IR_OP_FLOORDIV) return make_div(b, src[0], src[1]);
    if (op == IR_OP_MOD) return make_mod(b, src[0], src[1]);
    if (op == IR_OP_MIN || op == IR_OP_MAX) return pass_make_minmax(b, op, src[0], src[1]);
  }
  if (boolean) {
    bool junction = op == IR_OP_AND || op == IR_OP_OR;
    if (junction && !is_carried(b->g, src, nsrc)) return pass_make_junction(b, op, src, nsrc);
    if (op == IR_OP_NOT) return pass_make_not(b, src[0]);
    if (ir_ops[op].cls == IR_CLASS_COMPARE && ir_dtype_of(b->g, src[0]) == IR_INDEX)
      return pass_make_compare(b, op, src[0], src[1]);
  }
  return ir_remake(b->g, node, src, nsrc);
}

ir_ref pass_rebuild(ir_graph *g, ir_ref node, const ir_ref *src, uint32_t nsrc) {
  pass_build b = pass_begin(g);
  return pass_make_node(&b, node, src, nsrc);
}

/* decided facts */

/* x - y as a linear form, products expanded; false when it does not fit */
static bool difference_form(pass_build *b, ir_ref x, ir_ref y, pass_linear *out) {
  ir_ref d = pass_make_sub(b, x, y);
  if (d) pass_linear_read(b->g, d, out);
  return d != 0;
}

/* x < y, or x <= y, by the bounds of each alone */
static bool is_below(ir_graph *g, ir_ref x, ir_ref y, bool strictly) {
  ir_bounds low = ir_bounds_of(g, x), high = ir_bounds_of(g, y);
  if (low.hi == INT64_MAX || high.lo == INT64_MIN) return false;
  return strictly ? low.hi < high.lo : low.hi <= high.lo;
}

/* x >= y, or x > y (op): holds for x = min(p, q) if it holds for p and q, and for y = max(p, q) likewise. */
static bool proves_of_both(ir_graph *g, ir_op op, ir_ref x, ir_ref y) {
  if (ir_op_of(g, x) == IR_OP_MIN)
    return pass_proves(g, op, ir_src(g, x, 0), y) && pass_proves(g, op, ir_src(g, x, 1), y);
  if (ir_op_of(g, y) == IR_OP_MAX)
    return pass_proves(g, op, x, ir_src(g, y, 0)) && pass_proves(g, op, x, ir_src(g, y, 1));
  return false;
}

bool pass_proves(ir_graph *g, ir_op op, ir_ref x, ir_ref y) {
  pass_build b = pass_begin(g);
  pass_linear d;
  if (!x || !y) return false;
  bool swap = op == IR_OP_GT || op == IR_OP_LE;
  bool order = op == IR_OP_LT || op == IR_OP_GT || op == IR_OP_LE || op == IR_OP_GE;
  bool swapped = op == IR_OP_GT || op == IR_OP_GE;
  bool strictly = op == IR_OP_LT || op == IR_OP_GT;
  if (order && is_below(g, swapped ? y : x, swapped ? x : y, strictly)) return true;
  if (!difference_form(&b, swap ? y : x, swap ? x : y, &d)) return false;
  switch (op) {
  case IR_OP_LT:
  case IR_OP_GT:
  case IR_OP_GE:
  case IR_OP_LE:
    return (strictly ? pass_linear_below(&b, &d) : pass_linear_at_least(&b, &d)) ||
           pass_never_above(g, swapped ? y : x, swapped ? x : y, strictly) ||
           proves_of_both(g, strictly ? IR_OP_GT : IR_OP_GE, swapped ? x : y, swapped ? y : x);
  case IR_OP_EQ:
    return (d.count == 0 && d.constant == 0) || pass_polynomial_zero(&b, &d) ||
           ir_is_true(g, pass_make_compare(&b, op, x, y));
  case IR_OP_NE: return ir_is_true(g, pass_make_compare(&b, op, x, y));
  default: return false;
  }
}

bool pass_divides(ir_graph *g, ir_ref divisor, ir_ref a) {
  int64_t r;
  ir_bounds by = ir_bounds_of(g, divisor);
  pass_build b = pass_begin(g);
  if (!divisor || !a || by.lo < 1) return false;
  ir_ref m = pass_make_mod(&b, a, divisor);
  return m && ir_is_const(g, m, &r) && r == 0;
}
