/* Batch axes of tensor nodes. They are part of a value's type and follow from the node's operands. */
#include "ir.h"

#include <string.h>

ir_ref ir_batch(const ir_graph *g, ir_ref ref) { return ref < g->batches_cap ? g->batches[ref] : 0; }

uint32_t ir_batch_rank(const ir_graph *g, ir_ref ref) {
  ir_ref batch = ir_batch(g, ref);
  return batch ? ir_get(g, batch)->nsrc : 0;
}

uint32_t ir_physical(const ir_graph *g, ir_ref ref, ir_ref *dims) {
  uint32_t lead = ir_batch_rank(g, ref), rank = ir_rank(g, ref);
  if (lead) memcpy(dims, ir_get(g, ir_batch(g, ref))->src, lead * sizeof *dims);
  if (rank) memcpy(dims + lead, ir_get(g, ir_shape(g, ref))->src, rank * sizeof *dims);
  return lead + rank;
}

static bool is_one(const ir_graph *g, ir_ref size) {
  int64_t value;
  return ir_is_const(g, size, &value) && value == 1;
}

/* The longest batch of the operands; the others align with its last axes, and a size of 1 is replaced by the
 * size that another operand has there. */
static bool merge_batches(ir_graph *g, const ir_ref *x, uint32_t count, ir_ref *batch) {
  ir_ref dims[IR_MAX_RANK], longest = 0;
  uint32_t rank = 0;
  bool alike = true;
  for (uint32_t i = 0; i < count; i++) {
    ir_ref x_batch = ir_batch(g, x[i]);
    if (!x_batch) continue;
    alike &= longest == 0 || x_batch == longest;
    if (ir_get(g, x_batch)->nsrc > rank) longest = x_batch, rank = ir_get(g, x_batch)->nsrc;
  }
  *batch = longest;
  if (alike || rank > IR_MAX_RANK) return true;
  memcpy(dims, ir_get(g, longest)->src, rank * sizeof *dims);
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *sizes = ir_batch(g, x[i]) ? ir_get(g, ir_batch(g, x[i])) : NULL;
    for (uint32_t k = 0; sizes && k < sizes->nsrc; k++) {
      ir_ref *size = &dims[rank - sizes->nsrc + k];
      if (is_one(g, *size)) *size = sizes->src[k];
    }
  }
  return (*batch = ir_tuple(g, dims, rank)) != 0;
}

/* BATCH: axis `axis` of x becomes the first of `level` batch axes. The batch that x has follows it, padded in
 * front with sizes of 1 to `level` - 1 axes. */
static bool push_axis(ir_graph *g, ir_ref x, int64_t arg, ir_ref *batch) {
  uint32_t level = (uint32_t)(arg >> 32 & 255), axis = (uint32_t)(int32_t)arg, x_rank = ir_batch_rank(g, x);
  ir_ref dims[IR_MAX_RANK];
  if (axis >= ir_rank(g, x) || x_rank >= level || level > IR_MAX_RANK) return false;
  dims[0] = ir_dim(g, x, axis);
  for (uint32_t i = 1; i < level; i++) {
    bool missing = i < level - x_rank;
    dims[i] = missing ? ir_index(g, 1) : ir_src(g, ir_batch(g, x), i - (level - x_rank));
  }
  return (*batch = ir_tuple(g, dims, level)) != 0;
}

/* UNBATCH: the batch of x without the first of its `level` axes; a batch of fewer axes has none to remove.
 * Sizes of 1 that are then in front are padding and go, too. */
static bool pop_axis(ir_graph *g, ir_ref x, int64_t arg, ir_ref *batch) {
  uint32_t level = (uint32_t)(arg >> 32 & 255), x_rank = ir_batch_rank(g, x), first = x_rank == level;
  if (x_rank > level) return false;
  while (first < x_rank && is_one(g, ir_src(g, ir_batch(g, x), first))) first++;
  if (first == x_rank) return true;
  *batch = first ? ir_tuple(g, ir_get(g, ir_batch(g, x))->src + first, x_rank - first) : ir_batch(g, x);
  return *batch != 0;
}

bool ir_batch_of(ir_graph *g, ir_op op, int64_t arg, const ir_ref *src, uint32_t nsrc, ir_ref *batch) {
  *batch = 0;
  if (op == IR_OP_INPUT || op == IR_OP_BUFFER) {
    bool given = nsrc && src[nsrc - 1] && ir_op_of(g, src[nsrc - 1]) == IR_OP_TUPLE;
    if (given) *batch = src[nsrc - 1];
    return true;
  }
  if (op == IR_OP_REBATCH) {
    ir_ref dims[2 * IR_MAX_RANK];
    uint32_t count = (uint32_t)(int32_t)arg, rank = src[0] ? ir_physical(g, src[0], dims) : 0;
    if (count > rank || count > IR_MAX_RANK) return false;
    return count == 0 || (*batch = ir_tuple(g, dims, count)) != 0;
  }
  if (op == IR_OP_BATCH) return push_axis(g, src[0], arg, batch);
  if (op == IR_OP_UNBATCH) return pop_axis(g, src[0], arg, batch);
  if (g->batches_cap == 0) return true;
  if (op == IR_OP_RESULT) { /* a function is called once per element of the operands' batch */
    const ir_node *control = ir_get(g, src[0]);
    return merge_batches(g, control->src, ir_operand_count(control), batch);
  }
  return merge_batches(g, src, ir_operands_of(op, nsrc), batch);
}

ir_ref ir_leaf(ir_graph *g, ir_op op, ir_dtype dtype, ir_ref batch, ir_ref shape, int64_t arg) {
  ir_ref src[IR_MAX_RANK + 1];
  if (!shape || arg < 0) return 0;
  uint32_t rank = ir_get(g, shape)->nsrc;
  if (rank) memcpy(src, ir_get(g, shape)->src, rank * sizeof *src);
  if (batch && ir_get(g, batch)->nsrc) src[rank++] = batch;
  return ir_make_tensor(g, op, dtype, shape, arg, src, rank);
}
