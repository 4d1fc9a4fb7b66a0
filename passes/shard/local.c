/* An operation on parts: its attributes with the sizes of the part. */
#include "impl.h"

#include <string.h>

/* Appends the sources that follow the operands: sizes and whole windows are those of the part, all others are
 * unchanged. Returns the number of sources. */
static uint32_t attributes(shard_state *s, ir_ref node, const shard_choice *choice, const ir_ref *operands,
                           const ir_ref *dims, ir_ref *src) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  uint32_t at = ir_operand_count(n), count = at;
  char name[16], kind[16];
  for (const char *column = ir_ops[n->op].attributes; ir_next_attribute(&column, name, kind, sizeof name);) {
    if (!strcmp(kind, "value") || !strcmp(kind, "expr")) {
      src[count++] = n->src[at++];
    } else if (kind[0] == '[') {
      bool shape = !strcmp(name, "shape"), bounds = !strcmp(name, "bounds");
      for (uint32_t i = 0; at < n->nsrc; i++, at++) {
        bool end = bounds && i % 2 && ir_spec_count(&choice->operands[0], i / 2);
        src[count++] = shape ? dims[i] : end ? ir_dim(g, operands[0], i / 2) : n->src[at];
      }
    }
  }
  return count;
}

/* Means are divided after their parts are added up: the bits are those of the quotient of the whole sum. */
ir_dtype shard_wide(ir_dtype t) { return t == IR_F16 || t == IR_BF16 ? IR_F32 : t; }

ir_ref shard_mean_sum(shard_state *s, ir_ref node, ir_ref x) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  return op_reduce(g, IR_OP_SUM, op_cast(g, x, shard_wide((ir_dtype)n->dtype)), n->src + 1, n->nsrc - 1,
                   ir_arg_mode(n));
}

ir_ref shard_mean_of_sum(shard_state *s, ir_ref node, ir_ref sum) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_dtype t = (ir_dtype)n->dtype, wide = shard_wide(t);
  ir_ref count = ir_index(g, 1), scalar = ir_tuple(g, NULL, 0), all;
  for (uint32_t i = 1; i < n->nsrc; i++)
    count = pass_mul(g, count, ir_dim(g, n->src[0], (uint32_t)ir_get(g, n->src[i])->arg));
  int64_t value;
  if (!count || !scalar) return 0;
  if (ir_is_const(g, count, &value)) all = op_const(g, wide, (ir_value){.f = (double)value});
  else all = ir_make_tensor(g, IR_OP_CAST, wide, scalar, 0, &count, 1);
  return op_cast(g, op_binary(g, IR_OP_DIV, sum, all), t);
}

ir_ref shard_local(shard_state *s, ir_ref node, const op_sharding *rule, const shard_choice *choice,
                   const ir_ref *operands) {
  ir_graph *g = s->g;
  const ir_node *n = ir_get(g, node);
  ir_ref dims[IR_MAX_RANK], src[SHARD_OPERANDS + 4 * IR_MAX_RANK];
  for (uint32_t i = 0; i < rule->operands; i++) src[i] = operands[i];
  if (!shard_local_shape(s, op_dims(g, node), &choice->result, dims)) return 0;
  uint32_t count = attributes(s, node, choice, operands, dims, src);
  int64_t arg = n->op == IR_OP_RESHAPE ? 0 : n->arg; /* which has the letters of its axes */
  ir_ref shape = ir_tuple(g, dims, ir_rank(g, node));
  return ir_make_tensor(g, (ir_op)n->op, (ir_dtype)n->dtype, shape, arg, src, count);
}
