/* Floating-point operations of a kernel, counted on its expression before loops are shaped: vectorising does
 * not change the count. */
#include "cost.h"

#include "passes/index/index.h"
#include "passes/patterns/contraction.h"

/* sets of ranges whose trip count is kept [9 in the workloads]; those of others are made anew */
enum { MAX_SETS = 16 };

typedef struct counter {
  ir_graph *g;
  ir_ref ranges[COST_MAX_RANGES];
  uint32_t range_count;
  uint64_t *depends; /* by ref: set of the ranges that the node depends on */
  uint64_t sets[MAX_SETS];
  ir_ref trip_counts[MAX_SETS]; /* of each of the sets */
  uint32_t set_count;
  ir_ref total;
} counter;

int64_t pass_flops_of(const ir_node *n) {
  if (!ir_is_float((ir_dtype)n->dtype)) return 0;
  switch ((int)n->op) {
  case IR_OP_FMA: return 2;
  case IR_OP_FMA2: return 4;
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_DIV:
  case IR_OP_FLOORDIV:
  case IR_OP_MOD:
  case IR_OP_SQRT:
  case IR_OP_MIN:
  case IR_OP_MAX: return 1;
  default: return 0;
  }
}

/* Does the fused multiply-add that makes a term also add it? The sum then has no additions of its own. */
static bool adds_products(const ir_graph *g, const ir_node *reduce) {
  return ir_arg_int(reduce) == IR_OP_ADD && pass_is_product(g, reduce->src[0]);
}

static bool is_index_reduction(const ir_node *reduce) {
  return ir_arg_int(reduce) == IR_OP_ARGMAX || ir_arg_int(reduce) == IR_OP_ARGMIN;
}

static ir_ref trip_count_of(counter *c, uint64_t set) {
  ir_ref ranges[COST_MAX_RANGES] = {0};
  uint32_t count = 0, at = 0;
  while (at < c->set_count && c->sets[at] != set) at++;
  if (at < c->set_count) return c->trip_counts[at];
  for (uint32_t i = 0; i < c->range_count; i++)
    if (set >> i & 1) ranges[count++] = c->ranges[i];
  ir_ref trip_counts = pass_trip_count(c->g, ranges, count);
  if (at == MAX_SETS) return trip_counts;
  c->sets[at] = set, c->trip_counts[at] = trip_counts, c->set_count++;
  return trip_counts;
}

static void count_operations(counter *c, int64_t each, uint64_t set) {
  if (each) c->total = pass_add(c->g, c->total, pass_mul_int(c->g, trip_count_of(c, set), each));
}

static void count_node(counter *c, ir_ref ref) {
  const ir_node *n = ir_get(c->g, ref);
  uint64_t set = 0, reduced = 0;
  for (uint32_t i = 0; i < n->nsrc; i++) set |= c->depends[n->src[i]];
  if (n->op == IR_OP_RANGE) {
    set = c->range_count < COST_MAX_RANGES ? (uint64_t)1 << c->range_count : 0;
    if (set) c->ranges[c->range_count++] = ref;
  } else if (n->op == IR_OP_REDUCE) {
    for (uint32_t i = is_index_reduction(n) ? 2 : 1; i < n->nsrc; i++) reduced |= c->depends[n->src[i]];
    bool counts = ir_is_float(ir_dtype_of(c->g, n->src[0])) && !adds_products(c->g, n);
    count_operations(c, counts, set | reduced);
  } else {
    count_operations(c, pass_flops_of(n), set);
  }
  c->depends[ref] = set & ~reduced;
}

ir_ref pass_flops(ir_graph *g, ir_ref effect) {
  ir_ref *live = NULL;
  size_t live_count = 0, cap = 0, size = ((size_t)effect + 1) * sizeof(uint64_t);
  counter c = {.g = g, .depends = ir_alloc(g->mem, size), .total = ir_index(g, 0)};
  bool ok = c.depends && ir_reachable(g, &effect, 1, &live, &live_count, &cap) == IR_OK;
  if (!ok) ir_fail(g->error, IR_ERR_MEMORY, "out of memory counting a kernel's operations");
  for (size_t i = 0; i < live_count && ok; i++) count_node(&c, live[i]);
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, c.depends, c.depends ? size : 0);
  return ok ? c.total : 0;
}
