/* Both directions of the derivative of one node, by its row. */
#include "derivative.h"

#include <string.h>

ir_ref op_derivative_none(op_call *c, uint32_t i, ir_ref d) {
  (void)i, (void)d;
  ir_fail(c->g->error, IR_ERR_INTERNAL, "%s has no derivative", ir_ops[c->n->op].text);
  return 0;
}

op_call op_call_of(ir_graph *g, ir_ref y) { return (op_call){.g = g, .y = y, .n = ir_get(g, y)}; }

ir_dtype op_wide(ir_dtype dtype) { return dtype == IR_F16 || dtype == IR_BF16 ? IR_F32 : dtype; }

ir_ref op_zeros_like(ir_graph *g, ir_ref x) {
  ir_ref zero = ir_const(g, ir_dtype_of(g, x), (ir_value){.i = 0});
  return zero ? op_grow(g, zero, op_dims(g, x), ir_rank(g, x)) : 0;
}

/* d reshaped to the shape of x, whose sizes may be equal by proof only. */
static ir_ref in_shape_of(ir_graph *g, ir_ref d, ir_ref x) {
  return !d || ir_shape(g, d) == ir_shape(g, x) ? d : op_reshape_known(g, d, op_dims(g, x), ir_rank(g, x));
}

ir_ref op_pull(op_call *c, uint32_t i, ir_ref cotangent) {
  const op_row *row = &op_registry[c->n->op];
  ir_ref d = row->derivative == OP_DERIVATIVE_REDUCE ? op_spread(c, cotangent) : cotangent;
  return d ? in_shape_of(c->g, row->rule(c, i, d), c->n->src[i]) : 0;
}

uint32_t op_split_axis(ir_graph *g, const ir_ref *dims, uint32_t rank, uint32_t axis, ir_ref a, ir_ref b,
                       ir_ref *out) {
  uint32_t at = rank < IR_MAX_RANK ? axis : 1;
  if (rank < IR_MAX_RANK) {
    for (uint32_t k = 0; k <= rank; k++) out[k] = dims[k > axis ? k - 1 : k];
  } else {
    out[0] = op_numel(g, dims, axis);
    out[3] = op_numel(g, dims + axis + 1, rank - axis - 1);
  }
  out[at] = a, out[at + 1] = b;
  return at;
}

/* The operation applied to tangents in place of its operands: operand `at` alone, or all of them (at < 0). */
static ir_ref on_tangents(op_call *c, const ir_ref *tangents, int64_t at) {
  ir_graph *g = c->g;
  uint32_t operands = ir_operand_count(c->n);
  ir_ref *src = ir_alloc(g->mem, c->n->nsrc * sizeof *src), made = 0;
  if (!src) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory for a derivative", ir_ops[c->n->op].text);
    return 0;
  }
  memcpy(src, c->n->src, c->n->nsrc * sizeof *src);
  bool good = true;
  for (uint32_t i = 0; i < operands && good; i++)
    if (at < 0 ? ir_is_float(ir_dtype_of(g, src[i])) : at == i)
      good = (src[i] = tangents[i] ? tangents[i] : op_zeros_like(g, src[i])) != 0;
  if (c->n->op == IR_OP_PAD && good) /* the padding is constant */
    good = (src[1] = ir_const(g, (ir_dtype)c->n->dtype, (ir_value){.i = 0})) != 0;
  if (good && c->n->op == IR_OP_REBATCH) good = (src[0] = op_physical_like(g, src[0], c->n->src[0])) != 0;
  if (good)
    made = ir_make_tensor(g, (ir_op)c->n->op, (ir_dtype)c->n->dtype, ir_shape(g, c->y), c->n->arg, src,
                          c->n->nsrc);
  ir_free(g->mem, src, c->n->nsrc * sizeof *src);
  return made;
}

static ir_ref push_one(op_call *c, const ir_ref *tangents, uint32_t i) {
  const op_row *row = &op_registry[c->n->op];
  if (row->derivative == OP_DERIVATIVE_BILINEAR) return on_tangents(c, tangents, i);
  ir_ref d = row->rule(c, i, tangents[i]);
  if (d && row->derivative == OP_DERIVATIVE_REDUCE)
    d = op_reduce(c->g, IR_OP_SUM, d, c->n->src + 1, c->n->nsrc - 1, ir_arg_mode(c->n));
  return d;
}

ir_ref op_push(op_call *c, const ir_ref *tangents) {
  const op_row *row = &op_registry[c->n->op];
  if (row->derivative == OP_DERIVATIVE_LINEAR) return on_tangents(c, tangents, -1);
  ir_ref sum = 0;
  c->forward = true;
  for (uint32_t i = 0; i < ir_operand_count(c->n); i++) {
    if (!tangents[i]) continue;
    ir_ref part = push_one(c, tangents, i);
    if (!part) return 0;
    sum = sum ? op_binary(c->g, IR_OP_ADD, sum, part) : part;
  }
  return in_shape_of(c->g, sum, c->y);
}
