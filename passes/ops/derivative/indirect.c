/* Transposes of gather and scatter. Indices have no derivative. An exchange has none here: what is
 * differentiated is the graph as it was before it was split. */
#include "derivative.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

/* The call's operation with other data. */
static ir_ref gather_like_call(const op_call *c, ir_ref x) {
  return op_gather_batched(c->g, x, c->n->src[1], ir_arg_int(c->n), ir_arg_mode(c->n), ir_arg_small(c->n));
}
static ir_ref scattered(const op_call *c, ir_op op, ir_ref x, ir_ref updates) {
  return op_scatter(c->g, op, x, c->n->src[1], updates, ir_arg_int(c->n), ir_arg_mode(c->n),
                    ir_arg_small(c->n));
}

/* Each element of the data sums the cotangents of the indices that selected it. */
RULE(gather) {
  ir_ref zeros = op_zeros_like(c->g, c->n->src[i]);
  return zeros ? scattered(c, IR_OP_SCATTER_ADD, zeros, d) : 0;
}

RULE(scatter_add) { return i == 0 ? d : gather_like_call(c, d); }

/* Is each index the last one that refers to its element? In a shape that broadcasts to the updates: the
 * indices are numbered from 1, the numbers are scattered in the same way, gathered back, and compared. */
static ir_ref is_last_update(const op_call *c) {
  ir_graph *g = c->g;
  ir_ref x = c->n->src[0], indices = c->n->src[1], one = ir_index(g, 1), dims[IR_MAX_RANK];
  uint32_t axis = (uint32_t)ir_arg_int(c->n), batch = (uint32_t)ir_arg_small(c->n),
           places = ir_rank(g, indices), rank = ir_rank(g, x) - 1 + places - batch;
  int mode = ir_arg_mode(c->n);
  ir_ref count = op_numel(g, op_dims(g, indices), places);
  ir_ref numbers = op_binary(g, IR_OP_ADD, op_iota(g, IR_I64, &count, 1, 0), op_literal_int(g, 1));
  if (!numbers) return 0;
  numbers = op_reshape_known(g, numbers, op_dims(g, indices), places);
  for (uint32_t k = 0; k < batch; k++) dims[k] = ir_dim(g, x, k);
  dims[batch] = ir_dim(g, x, axis);
  ir_ref last = op_grow(g, ir_int(g, IR_I64, 0), dims, batch + 1);
  last = op_scatter(g, IR_OP_SCATTER, last, indices, numbers, batch, mode, batch);
  last = op_gather_batched(g, last, indices, batch, mode, batch);
  ir_ref same = op_binary(g, IR_OP_EQ, last, numbers);
  for (uint32_t k = 0; k < rank; k++) {
    bool shared = k < batch, own = k >= axis && k < axis + places - batch;
    dims[k] = shared ? ir_dim(g, indices, k) : own ? ir_dim(g, indices, batch + k - axis) : one;
  }
  return same ? op_reshape_known(g, same, dims, rank) : 0;
}

/* Overwritten values have no effect, neither of the data nor of the updates. */
RULE(scatter) {
  ir_graph *g = c->g;
  ir_ref zero = ir_const(g, ir_dtype_of(g, d), (ir_value){.i = 0});
  if (i == 0) return scattered(c, IR_OP_SCATTER, d, zero);
  ir_ref last = is_last_update(c);
  return last ? op_where(g, last, gather_like_call(c, d), zero) : 0;
}

RULE(exchange) {
  (void)i, (void)d;
  return op_refuse(
      c->g, "exchange: it has no derivative; a graph is differentiated before it is split over a mesh");
}
