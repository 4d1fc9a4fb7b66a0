/* Gathers and scatters along an axis that is divided: each device serves the indices that lie in its part.
 *
 * Indices are made positions first, which counts negative ones from the end, and clips or reports others as
 * the operation does for the whole axis; then positions in the part, of which those outside are skipped. So
 * parts of a gather have 0 for the elements of other devices, and their sum is the result. Where the indices
 * of a scatter_add are divided, the updates of each device are a summand, and the data is that of the first.
 */
#include "impl.h"

/* 0 .. n-1 for indices in range; -1 for those that are to be skipped. */
static ir_ref positions(ir_graph *g, ir_ref at, ir_ref size, int mode) {
  ir_ref all = op_iota(g, IR_I64, &size, 1, 0);
  if (mode != IR_GATHER_FILL) return all ? op_gather(g, all, at, 0, mode) : 0;
  ir_ref one = op_literal_int(g, 1), some = all ? op_binary(g, IR_OP_ADD, all, one) : 0;
  some = some ? op_gather(g, some, at, 0, mode) : 0;
  return some ? op_binary(g, IR_OP_SUB, some, one) : 0;
}

ir_ref shard_indirect(shard_state *s, ir_ref node, const shard_choice *choice, ir_ref *operands) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  uint32_t axis = (uint32_t)ir_arg_int(n), shared = (uint32_t)ir_arg_small(n), count, split = 0;
  const ir_subaxis *axes = ir_spec_axes(&choice->operands[0], axis, &count);
  int mode = ir_arg_mode(n);
  for (uint32_t d = shared; d < choice->operands[1].rank; d++)
    split += ir_spec_count(&choice->operands[1], d);
  if (count) {
    ir_ref size = ir_dim(g, n->src[0], axis), start = shard_start(s, size, axes, count);
    ir_ref at = start ? positions(g, operands[1], size, mode) : 0;
    at = at ? op_binary(g, IR_OP_SUB, at, shard_scalar(s, start)) : 0;
    ir_ref none = at ? shard_scalar(s, ir_dim(g, operands[0], axis)) : 0;
    ir_ref before = none ? op_binary(g, IR_OP_LT, at, op_literal_int(g, 0)) : 0;
    operands[1] = before ? op_where(g, before, none, at) : 0;
    mode = IR_GATHER_FILL;
  }
  if (n->op == IR_OP_GATHER)
    return operands[1] ? op_gather_batched(g, operands[0], operands[1], axis, mode, shared) : 0;
  if (split) { /* sums over the devices that have the updates */
    shard_axes over = {0};
    for (uint32_t d = shared; d < choice->operands[1].rank; d++) {
      const ir_subaxis *more = ir_spec_axes(&choice->operands[1], d, &count);
      for (uint32_t i = 0; i < count; i++) over.axes[over.count++] = more[i];
    }
    operands[0] = shard_begin_pending(s, operands[0], &over, IR_OP_ADD);
  }
  if (!operands[0] || !operands[1]) return 0;
  return op_scatter(g, (ir_op)n->op, operands[0], operands[1], operands[2], axis, mode, shared);
}
