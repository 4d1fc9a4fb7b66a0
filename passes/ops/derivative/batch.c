/* Transposes of the views of batch axes. */
#include "derivative.h"

#define RULE(name) ir_ref op_derivative_##name(op_call *c, uint32_t i, ir_ref d)

ir_ref op_physical_like(ir_graph *g, ir_ref d, ir_ref x) {
  if (!d || !(d = op_repeat_batch(g, d, x, 0))) return 0;
  uint32_t rank = ir_batch_rank(g, d);
  bool same = rank == ir_batch_rank(g, x);
  for (uint32_t k = 0; k < rank && same; k++)
    same = op_decided(g, IR_OP_EQ, ir_src(g, ir_batch(g, d), k), ir_src(g, ir_batch(g, x), k));
  if (same) return d;
  return op_refuse(
      g,
      "rebatch: inside a vmap, a view of the physical axes of %s cannot be differentiated along the batch "
      "of %s; broadcast the value to the batch before (broadcast_batch_dims)",
      OP_TYPE(x), OP_TYPE(d));
}

RULE(rebatch) {
  d = op_physical_like(c->g, d, c->y);
  return d ? op_rebatch(c->g, d, ir_batch_rank(c->g, c->n->src[i])) : 0;
}

RULE(batch) {
  uint32_t axis = (uint32_t)ir_arg_int(c->n);
  return op_unbatch(c->g, d, ir_dim(c->g, c->n->src[i], axis), axis, ir_arg_mode(c->n));
}

RULE(unbatch) {
  (void)i;
  return op_batch(c->g, d, ir_arg_int(c->n), ir_arg_mode(c->n));
}
