/* Long chains, for which the budget of index reasoning is soon exhausted, against plain copying of elements.
 *
 *   prop_long --seed S --count N
 *
 * Chains of up to 150 random views are lowered one view at a time; the budget is enough to reason about the
 * first few views only. Such expressions are too long to print, so their nodes are evaluated one by one, by
 * the meaning of each operation: for every element the validity and, where it holds, the index must be those
 * that plain loops give, and each node's value must lie within the bounds that are noted for it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/index/index.h"
#include "passes/view/index_map.h"
#include "test/lib/cases.h"
#include "test/lib/random_graph.h"
#include "test/lib/view_model.h"
#include "test/lib/view_record.h"

enum { LONGEST = 150, MOST_ELEMENTS = 120 };

static int between(uint64_t *state, int lo, int hi) { return (int)random_between(state, lo, hi); }

/* a step that can be taken */

static void random_order(uint64_t *state, int rank, int *order) {
  for (int i = 0; i < rank; i++) order[i] = i;
  for (int i = rank; i-- > 1;) {
    int j = between(state, 0, i), kept = order[i];
    order[i] = order[j], order[j] = kept;
  }
}

static void random_factors(uint64_t *state, int elements, model_step *out) {
  out->n = between(state, 1, 4);
  for (int i = 0; i + 1 < out->n; i++) {
    do out->a[i] = between(state, 1, 8 < elements ? 8 : elements);
    while (elements % out->a[i]);
    elements /= out->a[i];
  }
  out->a[out->n - 1] = elements;
}

static model_step random_step(uint64_t *state, const model_shape *s) {
  static const int kinds[] = {MODEL_PERMUTE, MODEL_RESHAPE, MODEL_RESHAPE, MODEL_FLIP,   MODEL_FLIP,
                              MODEL_SHRINK,  MODEL_PAD,     MODEL_PAD,     MODEL_STRIDE, MODEL_EXPAND};
  model_step step = {.kind = kinds[between(state, 0, sizeof kinds / sizeof *kinds - 1)], .n = s->rank};
  if (step.kind == MODEL_PERMUTE) random_order(state, s->rank, step.a);
  if (step.kind == MODEL_RESHAPE) random_factors(state, model_elements(s), &step);
  if (step.kind == MODEL_FLIP) {
    random_order(state, s->rank, step.a);
    step.n = between(state, 1, s->rank);
  }
  if (step.kind == MODEL_PAD && between(state, 0, 3) == 0)
    step.mode = between(state, MODEL_CONSTANT, MODEL_WRAP);
  for (int i = 0; i < s->rank; i++) {
    bool cut = step.kind == MODEL_SHRINK || step.kind == MODEL_PAD;
    if (cut) step.a[i] = between(state, 0, 1), step.b[i] = between(state, 0, 1);
    if (step.kind == MODEL_STRIDE) step.a[i] = between(state, 0, 9) ? (between(state, 0, 1) ? 1 : -1) : 2;
    if (step.kind == MODEL_EXPAND) step.a[i] = s->size[i] == 1 ? between(state, 1, 3) : s->size[i];
  }
  return step;
}

/* a chain, and the buffer it reads */

static ir_ref random_chain(ir_graph *g, uint64_t *state, model_array *reads, int *size) {
  static model_array next;
  model_shape base = {.rank = between(state, 1, 3)};
  for (int i = 0; i < base.rank; i++) base.size[i] = between(state, 2, 5);
  model_base(&base, reads);
  *size = model_elements(&base);
  ir_ref x = view_record_base(g, &base, 0);
  for (int left = between(state, 10, LONGEST); x && left > 0; left--) {
    model_step step = random_step(state, &reads->shape);
    model_shape after;
    if (!model_shape_after(&reads->shape, &step, &after) || model_elements(&after) > MOST_ELEMENTS ||
        model_elements(&after) < 2 || !model_apply(reads, &step, &next))
      continue;
    *reads = next;
    x = view_record_step(g, x, &step);
  }
  return x;
}

/* Lowers x with a budget of `steps_left`. */
static bool lower(ir_graph *g, ir_ref x, uint64_t steps_left, ir_ref *index, ir_ref *valid) {
  pass_point p = {.rank = ir_rank(g, x)};
  for (uint32_t i = 0; i < p.rank; i++) {
    ir_ref size = ir_dim(g, x, i);
    p.at[i] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &size, 1);
  }
  g->budget = 1 << 20;
  g->budget_spent = g->budget + 1 - steps_left;
  *valid = ir_bool(g, true);
  for (; *valid && ir_ops[ir_op_of(g, x)].cls == IR_CLASS_VIEW; x = ir_src(g, x, 0))
    *valid = pass_and_deferred(g, *valid, pass_view_index(g, &pass_canonical, x, &p));
  if (*valid) *valid = pass_finalize_clauses(g, *valid);
  *index = *valid ? pass_flatten(g, &pass_canonical, ir_shape(g, x), &p) : 0;
  if (*index) *index = pass_simplify_given(g, *index, *valid);
  return *index && *valid;
}

/* evaluation */

static int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d < 0); }

static bool apply(ir_op op, int64_t a, int64_t b, int64_t *out) {
  switch ((int)op) {
  case IR_OP_ADD: return !__builtin_add_overflow(a, b, out);
  case IR_OP_MUL: return !__builtin_mul_overflow(a, b, out);
  case IR_OP_FLOORDIV: return b >= 1 ? *out = floor_div(a, b), true : false;
  case IR_OP_MOD: return b >= 1 ? *out = a - b * floor_div(a, b), true : false;
  case IR_OP_MIN: return *out = a < b ? a : b, true;
  case IR_OP_MAX: return *out = a > b ? a : b, true;
  case IR_OP_LT: return *out = a < b, true;
  case IR_OP_GE: return *out = a >= b, true;
  case IR_OP_EQ: return *out = a == b, true;
  case IR_OP_NE: return *out = a != b, true;
  case IR_OP_AND: return *out = a && b, true;
  case IR_OP_OR: return *out = a || b, true;
  default: return false;
  }
}

static bool evaluate(const ir_graph *g, ir_ref ref, const int64_t *at, int64_t *value) {
  const ir_node *n = ir_get(g, ref);
  if (n->op == IR_OP_CONST) return value[ref] = n->arg, true;
  if (n->op == IR_OP_RANGE) return value[ref] = at[ir_arg_int(n)], true;
  if (n->op == IR_OP_NOT) return value[ref] = !value[n->src[0]], true;
  if (n->op == IR_OP_WHERE) return value[ref] = value[n->src[value[n->src[0]] ? 1 : 2]], true;
  value[ref] = value[n->src[0]];
  for (uint32_t i = 1; i < n->nsrc; i++)
    if (!apply((ir_op)n->op, value[ref], value[n->src[i]], &value[ref])) return false;
  return n->nsrc >= 2;
}

static bool within_bounds(ir_graph *g, ir_ref ref, int64_t value) {
  ir_bounds b = ir_bounds_of(g, ref);
  int64_t apart = value - b.rem;
  return value >= b.lo && value <= b.hi && (b.div ? apart % b.div == 0 : apart == 0);
}

/* the first element that is wrong, or -1 */
static int wrong_at(ir_graph *g, ir_ref index, ir_ref valid, const model_array *want, const char **why) {
  ir_ref roots[] = {index, valid}, *live = NULL;
  size_t count = 0, cap = 0;
  int wrong = -1;
  int64_t *value = calloc(g->count, sizeof *value);
  if (!value || ir_reachable(g, roots, 2, &live, &count, &cap) != IR_OK) abort();
  for (int k = 0; k < want->count && wrong < 0; k++) {
    int64_t at[MODEL_RANK] = {0};
    for (int i = want->shape.rank, rest = k; i-- > 0; rest /= want->shape.size[i])
      at[i] = rest % want->shape.size[i];
    for (size_t i = 0; i < count && wrong < 0; i++)
      if (!evaluate(g, live[i], at, value)) *why = "a node has no value", wrong = k;
      else if (!within_bounds(g, live[i], value[live[i]])) *why = "a value is out of its bounds", wrong = k;
    bool inside = want->at[k] >= 0;
    if (wrong < 0 && (value[valid] != 0) != inside) *why = "validity", wrong = k;
    if (wrong < 0 && inside && value[index] != want->at[k]) *why = "index", wrong = k;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  free(value);
  return wrong;
}

typedef struct totals {
  uint64_t nodes, read, masked; /* chains that read something, and padding, too */
} totals;

static void count_reads(const model_array *want, totals *t) {
  int inside = 0;
  for (int k = 0; k < want->count; k++) inside += want->at[k] >= 0;
  t->read += inside > 0;
  t->masked += inside > 0 && inside < want->count;
}

static bool holds(uint64_t seed, totals *t) {
  static model_array want;
  uint64_t state = seed;
  ir_error error = {0};
  ir_graph g;
  ir_ref index, valid;
  int size = 0, wrong = -1;
  const char *why = error.text;
  if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return false;
  ir_ref x = random_chain(&g, &state, &want, &size);
  uint64_t steps_left = between(&state, 0, 1) ? 0 : (uint64_t)between(&state, 0, 1 << 16);
  uint32_t before = g.count;
  bool good = x && lower(&g, x, steps_left, &index, &valid);
  if (good) wrong = wrong_at(&g, index, valid, &want, &why);
  t->nodes += g.count - before;
  count_reads(&want, t);
  if (!good || wrong >= 0)
    printf("seed %" PRIu64 ", effort %" PRIu64 ": element %d: %s\n", seed, steps_left, wrong, why);
  ir_graph_free(&g);
  return good && wrong < 0;
}

int main(int argc, char **argv) {
  cases given = cases_read(argc, argv, 1000);
  uint64_t seed = given.seed, count = (uint64_t)given.count, failed = 0;
  totals t = {0};
  for (uint64_t i = 0; i < count && failed < 10; i++) failed += !holds(seed * 1000003 + i, &t);
  printf("prop_long: %" PRIu64 " cases, %" PRIu64 " failed, seed %" PRIu64 "; %" PRIu64
         " read something, %" PRIu64 " of them padding, too; %.1f nodes each\n",
         count, failed, seed, t.read, t.masked, (double)t.nodes / (double)(count ? count : 1));
  return failed ? 1 : 0;
}
