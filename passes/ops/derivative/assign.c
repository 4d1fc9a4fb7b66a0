/* The transpose of a write. Positions have no derivative. */
#include "derivative.h"

/* Is each update the last one of its position? The updates are numbered from 1, the numbers are written
 * through the same target, read back, and compared. What is dropped is no last update. */
static ir_ref is_last_update(const op_call *c) {
  ir_graph *g = c->g;
  ir_ref x = c->n->src[0], at = c->n->src[1];
  ir_ref count = op_numel(g, op_dims(g, at), ir_rank(g, at));
  ir_ref numbers = op_binary(g, IR_OP_ADD, op_iota(g, IR_I64, &count, 1, 0), op_literal_int(g, 1));
  if (!numbers) return 0;
  numbers = op_reshape_known(g, numbers, op_dims(g, at), ir_rank(g, at));
  ir_ref zeros = op_grow(g, ir_int(g, IR_I64, 0), op_dims(g, x), ir_rank(g, x));
  ir_ref last = zeros && numbers ? op_assign(g, zeros, at, numbers, OP_WRITE_SET) : 0;
  last = last ? op_view_at(g, at, last) : 0;
  return last ? op_binary(g, IR_OP_EQ, last, numbers) : 0;
}

/* y = x with u stored, or added, at the positions `at`. Overwritten elements have no effect, neither those of
 * x nor those of u. */
ir_ref op_derivative_assign(op_call *c, uint32_t i, ir_ref d) {
  ir_graph *g = c->g;
  ir_ref at = c->n->src[1];
  bool adds = ir_arg_mode(c->n) == IR_WRITE_ADD;
  ir_ref zero = ir_const(g, ir_dtype_of(g, d), (ir_value){.i = 0});
  if (i == 0) return adds ? d : op_assign(g, d, at, zero, OP_WRITE_SET);
  ir_ref seen = op_view_at(g, at, d);
  if (adds || !op_target_repeats(g, at)) return seen;
  ir_ref last = is_last_update(c);
  return last ? op_where(g, last, seen, zero) : 0;
}
