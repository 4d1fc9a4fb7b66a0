/* Writes to parts: each device stores the updates whose positions lie in its part.
 *
 * The positions of a write are a chain of views and gathers that names elements of the array. On a device it
 * is the same chain of the positions of the part, padded to the sizes of the array: padding is nowhere, so
 * updates of other parts are dropped. Where an axis of the updates is divided as the one of the array that it
 * is, the chain is cut to the part of that axis. */
#include "impl.h"

static const int64_t nowhere = -1; /* a position of no element */

/* The positions of the part, in an array of all sizes. */
static ir_ref own_positions(shard_state *s, ir_ref node, const ir_spec *spec, ir_ref part) {
  ir_graph *g = s->g;
  const ir_ref *dims = op_dims(g, node);
  ir_ref start[IR_MAX_RANK], pads[2 * IR_MAX_RANK], at = op_address(g, op_dims(g, part), spec->rank);
  if (!at || !shard_local_start(s, dims, spec, start)) return 0;
  for (uint32_t d = 0; d < spec->rank; d++) {
    ir_ref end = pass_add(g, start[d], ir_dim(g, part, d));
    pads[2 * d] = start[d], pads[2 * d + 1] = end ? pass_sub(g, dims[d], end) : 0;
    if (!pads[2 * d + 1]) return 0;
  }
  return op_pad_known(g, at, pads, ir_int(g, IR_I64, nowhere));
}

/* The chain down from `at`, of other positions of the array. */
static ir_ref chain_of(shard_state *s, ir_ref node, ir_ref at, ir_ref positions) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, at);
  ir_ref src[SHARD_OPERANDS + 4 * IR_MAX_RANK];
  if (n->op == IR_OP_IOTA) return op_reshape_known(g, positions, op_dims(g, at), ir_rank(g, at));
  for (uint32_t i = 0; i < n->nsrc; i++) src[i] = n->src[i];
  if (!(src[0] = chain_of(s, node, src[0], positions))) return 0;
  if (n->op == IR_OP_GATHER) { /* its indices are those of the whole chain */
    ir_spec whole;
    ir_spec_init(&whole, ir_rank(g, n->src[1]));
    if (!(src[1] = shard_take(s, n->src[1], &whole, node, 1, SHARD_OTHERS))) return 0;
  }
  return ir_remake(g, at, src, n->nsrc);
}

ir_ref shard_write(shard_state *s, ir_ref node, const shard_choice *choice, ir_ref part, ir_ref updates) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref at = n->src[1], start[IR_MAX_RANK], size[IR_MAX_RANK], bounds[2 * IR_MAX_RANK];
  const ir_spec *cut = &choice->operands[2]; /* of the updates, which have the shape of the positions */
  ir_ref own = own_positions(s, node, &choice->result, part), local = own ? chain_of(s, node, at, own) : 0;
  if (!local || !shard_local_start(s, op_dims(g, at), cut, start) ||
      !shard_local_shape(s, op_dims(g, at), cut, size))
    return 0;
  for (uint32_t d = 0; d < cut->rank; d++)
    bounds[2 * d] = start[d], bounds[2 * d + 1] = pass_add(g, start[d], size[d]);
  local = op_shrink_known(g, local, bounds);
  ir_ref src[3] = {part, local, updates};
  return local ? ir_make_tensor(g, IR_OP_ASSIGN, (ir_dtype)n->dtype, ir_shape(g, part), n->arg, src, 3) : 0;
}
