/* Interval arithmetic over the inner loops of a kernel, for each iteration of the threads' loop. */
#include "codegen/emit/iterations.h"

#include "ir/regions.h"

/* Beyond this limit nothing is known of a kernel. */
enum { MOST_EVALUATED = 1 << 17 }; /* because a node takes 3 ns: twice as many take a sixth of making code */

static cg_interval products(cg_interval a, cg_interval b) {
  int64_t p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  cg_interval all = {p[0], p[0]};
  for (int i = 1; i < 4; i++) all = cg_hull(all, (cg_interval){p[i], p[i]});
  return all;
}

static int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* of b > 0, rounded down */

/* The value of an operation; false: nothing is known but its bounds. Sizes are below 2^31 (is_small), so that
 * nothing overflows. */
static bool combine(ir_op op, cg_interval a, cg_interval b, cg_interval *out) {
  switch (op) {
  case IR_OP_ADD: *out = (cg_interval){a.lo + b.lo, a.hi + b.hi}; return true;
  case IR_OP_MUL: *out = products(a, b); return true;
  case IR_OP_MIN: *out = (cg_interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; return true;
  case IR_OP_MAX: *out = (cg_interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; return true;
  case IR_OP_FLOORDIV:
    if (b.lo != b.hi || b.lo < 1) return false;
    *out = (cg_interval){quotient(a.lo, b.lo), quotient(a.hi, b.lo)};
    return true;
  case IR_OP_MOD:
    if (b.lo != b.hi || b.lo < 1 || quotient(a.lo, b.lo) != quotient(a.hi, b.lo)) return false;
    *out = (cg_interval){a.lo - quotient(a.lo, b.lo) * b.lo, a.hi - quotient(a.lo, b.lo) * b.lo};
    return true;
  default: return false;
  }
}

static bool is_small(cg_interval v) { return v.lo > -INT32_MAX && v.hi < INT32_MAX; }

/* Of a node in this iteration; false: it is too large to be looked at. */
static bool evaluate(cg_iterations *it, ir_ref ref, int64_t iteration) {
  const ir_node *n = ir_get(it->g, ref);
  cg_interval *out = &it->value[ref];
  int64_t number;
  if (ir_is_const(it->g, ref, &number)) {
    *out = (cg_interval){number, number};
  } else if (ref == it->threads) {
    *out = (cg_interval){iteration, iteration};
  } else if (n->op == IR_OP_RANGE) {
    int64_t most = it->value[n->src[0]].hi;
    *out = (cg_interval){0, most > 0 ? most - 1 : 0};
  } else {
    bool known = n->nsrc >= 2;
    cg_interval all = known ? it->value[n->src[0]] : (cg_interval){0, 0};
    for (uint32_t i = 1; i < n->nsrc && known; i++)
      known = combine(n->op, all, it->value[n->src[i]], &all) && is_small(all);
    ir_bounds b = ir_bounds_of(it->g, ref);
    *out = known ? all : (cg_interval){b.lo, b.hi};
  }
  return is_small(*out);
}

/* Evaluates those nodes that are the same in all iterations, and takes them off the list; false as above. */
static bool evaluate_once(cg_iterations *it) {
  size_t kept = 0;
  for (size_t i = 0; i < it->node_count; i++) {
    ir_ref ref = it->nodes[i];
    const ir_node *n = ir_get(it->g, ref);
    bool varies = ref == it->threads;
    for (uint32_t k = 0; k < n->nsrc && ref != it->threads; k++) varies |= it->varies[n->src[k]];
    it->varies[ref] = varies;
    if (varies) it->nodes[kept++] = ref;
    else if (!evaluate(it, ref, 0)) return false;
  }
  it->node_count = kept;
  return true;
}

bool cg_iterations_evaluate(cg_iterations *it, int64_t iteration) {
  for (size_t i = 0; i < it->node_count; i++)
    if (!evaluate(it, it->nodes[i], iteration)) return false;
  return true;
}

cg_interval cg_hull_of_digit(const cg_iterations *it, const cg_interval *by_iteration, int64_t divisor,
                             int64_t period, int64_t value) {
  cg_interval all = by_iteration[value * divisor];
  for (int64_t from = value * divisor; from < it->count; from += period)
    for (int64_t t = from; t < from + divisor && t < it->count; t++) all = cg_hull(all, by_iteration[t]);
  return all;
}

void cg_iterations_add_divisor(cg_iterations *it, int64_t divisor) {
  for (uint32_t i = 0; i < it->divisor_count; i++)
    if (it->divisors[i] == divisor) return;
  if (it->divisor_count < CG_MOST_DIVISORS && divisor > 0) it->divisors[it->divisor_count++] = divisor;
}

bool cg_iterations_begin(cg_iterations *it, ir_graph *g, ir_ref kernel) {
  ir_ref loop = ir_thread_loop(g, kernel);
  *it = (cg_iterations){.g = g, .threads = loop ? ir_src(g, loop, 0) : 0};
  return it->threads && ir_is_const(g, ir_src(g, it->threads, 0), &it->count) && it->count >= 2;
}

bool cg_iterations_look(cg_iterations *it, const ir_ref *indices, uint32_t count, ir_error *error) {
  it->node_count = it->divisor_count = 0;
  if (!it->value) it->value = ir_alloc(it->g->mem, it->g->count * sizeof *it->value);
  if (!it->varies) it->varies = ir_alloc(it->g->mem, it->g->count * sizeof *it->varies);
  if (!it->value || !it->varies ||
      ir_reachable(it->g, indices, count, &it->nodes, &it->node_count, &it->node_cap) != IR_OK) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory analysing a kernel");
    return false;
  }
  cg_iterations_add_divisor(it, 1), cg_iterations_add_divisor(it, it->count);
  for (size_t i = 0; i < it->node_count; i++) {
    const ir_node *n = ir_get(it->g, it->nodes[i]);
    int64_t divisor;
    if ((n->op == IR_OP_FLOORDIV || n->op == IR_OP_MOD) && ir_is_const(it->g, n->src[1], &divisor))
      cg_iterations_add_divisor(it, divisor);
  }
  return evaluate_once(it) && (int64_t)it->node_count <= MOST_EVALUATED / it->count;
}

void cg_iterations_free(cg_iterations *it) {
  if (it->value) ir_free(it->g->mem, it->value, it->g->count * sizeof *it->value);
  if (it->varies) ir_free(it->g->mem, it->varies, it->g->count * sizeof *it->varies);
  ir_free(it->g->mem, it->nodes, it->node_cap * sizeof *it->nodes);
}
