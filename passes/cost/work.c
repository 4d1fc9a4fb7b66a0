/* The work of a kernel, by which the runtime decides whether to run it on several threads. */
#include "cost.h"

#include "passes/index/affine.h"

#include "passes/index/index.h"

static bool reduces(const ir_node *reduce, ir_ref range) {
  bool any = false;
  for (uint32_t i = 1; i < reduce->nsrc; i++) any |= reduce->src[i] == range;
  return any;
}

/* The trip count of one effect: that of its free ranges, times the sum of the terms of its reductions. */
static ir_ref trip_count_of(ir_graph *g, const ir_ref *live, size_t count) {
  ir_ref free_ranges = ir_index(g, 1), all_terms = ir_index(g, 0);
  bool reduced = false;
  for (size_t i = 0; i < count; i++) {
    bool excluded = ir_op_of(g, live[i]) != IR_OP_RANGE;
    for (size_t k = i + 1; k < count && !excluded; k++)
      excluded = ir_op_of(g, live[k]) == IR_OP_REDUCE && reduces(ir_get(g, live[k]), live[i]);
    if (!excluded) free_ranges = pass_mul(g, free_ranges, affine_most_extent(g, live[i]));
    if (ir_op_of(g, live[i]) != IR_OP_REDUCE) continue;
    const ir_node *reduce = ir_get(g, live[i]);
    ir_ref terms = ir_index(g, 1);
    for (uint32_t k = 1; k < reduce->nsrc; k++)
      if (ir_op_of(g, reduce->src[k]) == IR_OP_RANGE && (k == 1 || reduce->src[k] != reduce->src[1]))
        terms = pass_mul(g, terms, affine_most_extent(g, reduce->src[k]));
    all_terms = pass_add(g, all_terms, terms);
    reduced = true;
  }
  return reduced ? pass_mul(g, free_ranges, all_terms) : free_ranges;
}

/* Bytes loaded and stored plus scalar operations of one effect, over all its iterations; rarely needed values
 * (affine_always_needed) do not count. Every operation is counted once for each term, so operations outside a
 * reduction are overstated. The error favours threads, for kernels that are large anyway. */
static ir_ref work_of_one(ir_graph *g, ir_ref store) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  int64_t each = 0;
  ir_ref total = ir_index(g, 1);
  bool reached = ir_reachable(g, &store, 1, &live, &count, &cap) == IR_OK;
  size_t size = g->count;
  bool *usual = reached ? affine_always_needed(g, &store, 1, live, count) : NULL;
  for (size_t i = 0; i < count && usual; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (!usual[live[i]]) continue;
    if (n->op == IR_OP_LOAD) each += ir_dtypes[n->dtype].bytes;
    else if (n->op == IR_OP_UPDATE) each += 2 * ir_dtypes[ir_dtype_of(g, n->src[3])].bytes;
    else if (n->op == IR_OP_STORE) each += ir_dtypes[ir_dtype_of(g, n->src[2])].bytes;
    else if (n->dtype != IR_INDEX && ir_ops[n->op].cls != IR_CLASS_LEAF) each++;
  }
  if (usual) total = trip_count_of(g, live, count);
  ir_free(g->mem, live, cap * sizeof *live);
  ir_free(g->mem, usual, usual ? size : 0);
  return pass_mul_int(g, total, each);
}

ir_ref pass_work(ir_graph *g, ir_ref effect) {
  const ir_node *n = ir_get(g, effect);
  if (n->op != IR_OP_SEQ) return work_of_one(g, effect);
  ir_ref total = ir_index(g, 0);
  for (uint32_t i = 0; i < n->nsrc; i++) total = pass_add(g, total, work_of_one(g, n->src[i]));
  return total;
}
