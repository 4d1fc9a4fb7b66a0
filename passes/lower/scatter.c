/* Scatters as writes. The target of the write is a gather of the positions of the data, at the indices of the
 * scatter. With mode=fill the positions have one more element along the axis, which is nowhere, and indices
 * out of range stand for that. Sums of f16 and bf16 are made in f32, and rounded once. */
#include "lower.h"

#include "passes/ops/compose/impl.h"

/* The indices, from 0, and `size` in place of those that are out of range. */
static ir_ref in_padded_axis(ir_graph *g, ir_ref indices, ir_ref size) {
  bool is_unsigned = ir_dtype_of(g, indices) == IR_U64;
  ir_dtype wide = is_unsigned ? IR_U64 : IR_I64;
  ir_ref at = op_cast(g, indices, wide), count = op_size_value(g, wide, size), zero = ir_int(g, wide, 0);
  ir_ref from_start = at;
  if (!is_unsigned)
    from_start = op_where(g, op_binary(g, IR_OP_LT, at, zero), op_binary(g, IR_OP_ADD, at, count), at);
  ir_ref inside = op_binary(g, IR_OP_LT, from_start, count);
  if (!is_unsigned) inside = op_binary(g, IR_OP_AND, inside, op_binary(g, IR_OP_GE, from_start, zero));
  return op_cast(g, op_where(g, inside, from_start, count), IR_I64);
}

/* The positions that the scatter names, in the shape of its updates. */
static ir_ref target_of(ir_graph *g, ir_ref scatter, ir_ref indices, ir_ref updates) {
  const ir_node *n = ir_get(g, scatter);
  uint32_t rank = ir_rank(g, scatter), axis = (uint32_t)ir_arg_int(n);
  int mode = ir_arg_mode(n), batch = ir_arg_small(n);
  ir_ref at = op_address(g, op_dims(g, scatter), rank), pads[2 * IR_MAX_RANK];
  if (mode == IR_GATHER_FILL) {
    for (uint32_t i = 0; i < rank; i++)
      pads[2 * i] = ir_index(g, 0), pads[2 * i + 1] = ir_index(g, i == axis);
    indices = in_padded_axis(g, indices, ir_dim(g, scatter, axis));
    at = at && indices ? op_pad_known(g, at, pads, ir_int(g, IR_I64, -1)) : 0;
    mode = IR_GATHER_CLIP;
  }
  return at ? ir_make_tensor(g, IR_OP_GATHER, IR_I64, ir_shape(g, updates), ir_pack_args(axis, mode, batch),
                             (ir_ref[]){at, indices}, 2)
            : 0;
}

/* The write of the updates, of which each is stored or added. */
static ir_ref write_of(ir_graph *g, ir_ref old, ir_ref x, ir_ref at, ir_ref updates, int op) {
  return at ? ir_make_tensor(g, IR_OP_ASSIGN, ir_dtype_of(g, x), ir_shape(g, old), ir_pack_arg(0, op),
                             (ir_ref[]){x, at, updates}, 3)
            : 0;
}

ir_ref pass_lower_scatter(ir_graph *g, ir_ref old, ir_ref x, ir_ref at, ir_ref updates) {
  const ir_node *n = ir_get(g, old);
  ir_dtype dtype = (ir_dtype)n->dtype;
  bool writes = n->op == IR_OP_ASSIGN;
  bool adds = writes ? ir_arg_mode(n) == IR_WRITE_ADD : n->op == IR_OP_SCATTER_ADD;
  if (!writes) at = target_of(g, old, at, updates);
  if (!adds || (dtype != IR_F16 && dtype != IR_BF16))
    return write_of(g, old, x, at, updates, adds ? IR_WRITE_ADD : IR_WRITE_SET);
  return ir_cast(g, write_of(g, old, ir_cast(g, x, IR_F32), at, ir_cast(g, updates, IR_F32), IR_WRITE_ADD),
                 dtype);
}
