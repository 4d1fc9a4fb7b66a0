/* Index arithmetic is done in 64 bits. Bounds of single variables often do not prove that it fits: sizes do
 * not all take their greatest values at once, since their product has to fit in memory. What bounds do not
 * prove is left to run time, when sizes are known: for each such node an expression of variables that is at
 * least the magnitude of the node and of all partial results, evaluated with overflow checks.
 *
 * Each magnitude is at least 1, so that no factor hides how large the others are, and grows with those of its
 * sources: in whatever order the machine evaluates sums and products, no intermediate result is larger. */
#include "loops.h"

#include <string.h>

typedef struct magnitudes {
  ir_graph *g;
  ir_ref *of; /* by node */
} magnitudes;

static ir_ref two(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  if (!a || !b) return 0;
  return a == b && (op == IR_OP_MIN || op == IR_OP_MAX) ? a
                                                        : ir_make(g, op, IR_INDEX, 0, (ir_ref[]){a, b}, 2);
}

static ir_ref of_number(ir_graph *g, int64_t value) {
  return ir_index(g, value > 0 ? value : value > -INT64_MAX && value < 0 ? -value : value ? INT64_MAX : 1);
}

static ir_ref of_variable(ir_graph *g, ir_ref var) {
  int64_t lo = ir_bounds_of(g, var).lo;
  if (lo >= 1) return var;
  ir_ref size = lo >= 0 ? var : two(g, IR_OP_MAX, var, ir_make(g, IR_OP_NEG, IR_INDEX, 0, &var, 1));
  return two(g, IR_OP_MAX, size, ir_index(g, 1));
}

static ir_ref of_quotient(const magnitudes *m, const ir_node *n) {
  ir_ref by = n->src[1], x = m->of[n->src[0]];
  ir_op op = ir_op_of(m->g, by);
  if (op != IR_OP_CONST && op != IR_OP_VAR) return x;
  ir_ref less_one = two(m->g, IR_OP_ADD, by, ir_index(m->g, -1));
  return two(m->g, IR_OP_FLOORDIV, two(m->g, IR_OP_ADD, x, less_one), by);
}

/* min(x, y) is y or from 0 to x where x >= 0: |min(x, y)| <= |y|. */
static ir_ref of_minimum(const magnitudes *m, const ir_node *n) {
  ir_ref x = m->of[n->src[0]], y = m->of[n->src[1]];
  bool is_natural[] = {ir_bounds_of(m->g, n->src[0]).lo >= 0, ir_bounds_of(m->g, n->src[1]).lo >= 0};
  if (is_natural[0] != is_natural[1]) return is_natural[0] ? y : x;
  return two(m->g, is_natural[0] ? IR_OP_MIN : IR_OP_MAX, x, y);
}

static ir_ref by_sources(const magnitudes *m, ir_ref ref) {
  ir_graph *g = m->g;
  const ir_node *n = ir_get(g, ref);
  ir_ref a = n->nsrc > 0 ? m->of[n->src[0]] : 0, b = n->nsrc > 1 ? m->of[n->src[1]] : 0;
  switch ((int)n->op) {
  case IR_OP_CONST: return of_number(g, n->arg);
  case IR_OP_VAR: return of_variable(g, ref);
  case IR_OP_RANGE:
  case IR_OP_NEG:
  case IR_OP_ABS: return a;
  case IR_OP_BOUND:
  case IR_OP_MOD: return b;
  case IR_OP_FLOORDIV: return of_quotient(m, n);
  case IR_OP_SUB: return two(g, IR_OP_ADD, a, b);
  case IR_OP_ADD:
  case IR_OP_MUL:
    for (uint32_t i = 1; i < n->nsrc; i++) a = two(g, (ir_op)n->op, a, m->of[n->src[i]]);
    return a;
  case IR_OP_MIN: return of_minimum(m, n);
  case IR_OP_MAX: return two(g, IR_OP_MAX, a, b);
  case IR_OP_WHERE: return two(g, IR_OP_MAX, b, m->of[n->src[2]]);
  default: return ir_index(g, INT64_MAX);
  }
}

static bool is_sure(ir_bounds x) { return x.lo != INT64_MIN && x.hi != INT64_MAX; }

/* The magnitude of a node from those of its sources, or from its bounds where these give less. */
static ir_ref magnitude(const magnitudes *m, ir_ref ref) {
  ir_op op = ir_op_of(m->g, ref);
  ir_ref made = by_sources(m, ref);
  ir_bounds x = ir_bounds_of(m->g, ref);
  if (op == IR_OP_CONST || op == IR_OP_VAR || !is_sure(x)) return made;
  ir_ref lo = of_number(m->g, x.lo), hi = of_number(m->g, x.hi);
  if (!lo || !hi) return 0;
  return two(m->g, IR_OP_MIN, made, ir_get(m->g, lo)->arg > ir_get(m->g, hi)->arg ? lo : hi);
}

static ir_ref greatest(ir_graph *g, const ir_ref *live, size_t count) {
  size_t size = (size_t)live[count - 1] + 1;
  magnitudes m = {g, ir_alloc(g->mem, size * sizeof *m.of)};
  ir_ref all = m.of ? ir_index(g, 1) : 0;
  if (m.of) memset(m.of, 0, size * sizeof *m.of);
  for (size_t i = 0; i < count && all; i++) {
    if (ir_dtype_of(g, live[i]) != IR_INDEX) continue;
    ir_ref one = m.of[live[i]] = magnitude(&m, live[i]);
    if (!one) all = 0;
    else if (!is_sure(ir_bounds_of(g, live[i]))) all = two(g, IR_OP_MAX, all, one);
  }
  if (!all) ir_fail(g->error, IR_ERR_MEMORY, "out of memory analysing a kernel's index arithmetic");
  ir_free(g->mem, m.of, size * sizeof *m.of);
  return all;
}

ir_ref pass_index_magnitude(ir_graph *g, ir_ref kernel) {
  ir_ref *live = NULL, most = 0;
  size_t count = 0, cap = 0, i = 0;
  if (ir_reachable(g, &kernel, 1, &live, &count, &cap) == IR_OK) {
    while (i < count && (ir_dtype_of(g, live[i]) != IR_INDEX || is_sure(ir_bounds_of(g, live[i])))) i++;
    most = i < count ? greatest(g, live, count) : ir_index(g, 1);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  /* Bounds saturate: an expression with this lower bound never fits. */
  if (!most || ir_bounds_of(g, most).lo < INT64_MAX - 1) return most;
  ir_fail(g->error, IR_ERR_UNSUPPORTED,
          "a kernel's index arithmetic needs more than 64 bits; store a value in between");
  return 0;
}
