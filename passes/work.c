/* What a kernel costs: the measure by which the runtime decides whether threads pay. */
#include "loops.h"

#include "index.h"

/* Bytes loaded and stored plus scalar operations, for one element and for all. Every range counts once, so
 * operations outside a reduction are overstated; that errs on the side of threads for kernels that are large
 * anyway. */
/* The extent of a range; where it depends on another range, the most that it can be. */
static ir_ref extent_of(ir_graph *g, ir_ref range) {
  ir_ref size = ir_src(g, range, 0), other;
  return loop_find(g, size, IR_OP_RANGE, &other, 1) ? ir_index(g, ir_bounds_of(g, size).hi) : size;
}

static ir_ref work_of_one(ir_graph *g, ir_ref store) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  int64_t each = 0;
  ir_ref total = ir_index(g, 1);
  if (ir_reachable(g, &store, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count; i++) {
      const ir_node *n = ir_get(g, live[i]);
      if (n->op == IR_OP_RANGE) total = pass_mul(g, total, extent_of(g, live[i]));
      else if (n->op == IR_OP_LOAD) each += ir_dtypes[n->dtype].bytes;
      else if (n->op == IR_OP_UPDATE) each += 2 * ir_dtypes[ir_dtype_of(g, n->src[3])].bytes;
      else if (n->op == IR_OP_STORE) each += ir_dtypes[ir_dtype_of(g, n->src[2])].bytes;
      else if (n->dtype != IR_INDEX && ir_ops[n->op].cls != IR_CLASS_LEAF) each++;
    }
  ir_free(g->mem, live, cap * sizeof *live);
  return pass_mul_int(g, total, each);
}

ir_ref pass_work(ir_graph *g, ir_ref effect) {
  const ir_node *n = ir_get(g, effect);
  if (n->op != IR_OP_SEQ) return work_of_one(g, effect);
  ir_ref total = ir_index(g, 0);
  for (uint32_t i = 0; i < n->nsrc; i++) total = pass_add(g, total, work_of_one(g, n->src[i]));
  return total;
}
