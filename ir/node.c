/* Small builders and queries over nodes: constants, variables, tuples, elementwise nodes, shapes, packed
 * arguments. */
#include "attr.h"

#include <string.h>

const ir_op_info ir_ops[IR_OP_COUNT] = {
#define OP(name, text, operands, cls, level, infix, precedence, attributes, verify)                          \
  {text, operands, IR_CLASS_##cls, IR_LEVEL_##level, precedence, infix, attributes},
#include "ops.def"
};

const char *const ir_pad_modes[4] = {"constant", "edge", "reflect", "wrap"};
const char *const ir_gather_modes[3] = {"check", "clip", "fill"};
const char *const ir_write_ops[2] = {"set", "add"};
const char *const ir_bindings[4] = {"serial", "unroll", "vector", "thread"};

ir_ref ir_tuple(ir_graph *g, const ir_ref *items, uint32_t count) {
  return ir_make(g, IR_OP_TUPLE, IR_NONE, 0, items, count);
}

ir_ref ir_const(ir_graph *g, ir_dtype dtype, ir_value value) {
  ir_value rounded =
      dtype == IR_INDEX ? value : ir_value_cast(value, ir_is_float(dtype) ? IR_F64 : IR_I64, dtype);
  if (dtype == IR_U64) rounded = value;
  if (dtype == IR_INDEX) return ir_make(g, IR_OP_CONST, dtype, rounded.i, NULL, 0);
  return ir_make_tensor(g, IR_OP_CONST, dtype, ir_tuple(g, NULL, 0), rounded.i, NULL, 0);
}

ir_ref ir_int(ir_graph *g, ir_dtype dtype, int64_t value) {
  return ir_const(g, dtype, (ir_value){.i = value});
}
ir_ref ir_bool(ir_graph *g, bool value) { return ir_int(g, IR_BOOL, value); }
ir_ref ir_float(ir_graph *g, ir_dtype dtype, double value) {
  return ir_const(g, dtype, (ir_value){.f = value});
}

ir_value ir_const_value(const ir_graph *g, ir_ref ref) { return (ir_value){.i = ir_get(g, ref)->arg}; }

ir_ref ir_var(ir_graph *g, const char *name, size_t length, int64_t lo, int64_t hi, int64_t divisor) {
  int64_t id = ir_name(g, name, length);
  if (id < 0) return 0;
  ir_ref facts[3] = {0}; /* one statement each: the order in which nodes are made is part of the result */
  facts[0] = ir_index(g, lo);
  facts[1] = ir_index(g, hi);
  facts[2] = ir_index(g, divisor);
  return ir_make(g, IR_OP_VAR, IR_INDEX, id, facts, 3);
}

static ir_ref elementwise(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *src, uint32_t nsrc) {
  ir_ref shape = 0;
  for (uint32_t i = 0; i < nsrc; i++) { /* operands have equal shapes, or are constants of rank 0 */
    ir_ref s = ir_shape(g, src[i]);
    if (s && (!shape || ir_get(g, s)->nsrc > ir_get(g, shape)->nsrc)) shape = s;
  }
  return shape ? ir_make_tensor(g, op, dtype, shape, 0, src, nsrc) : ir_make(g, op, dtype, 0, src, nsrc);
}

ir_ref ir_unary(ir_graph *g, ir_op op, ir_ref a) { return elementwise(g, op, ir_dtype_of(g, a), &a, 1); }
ir_ref ir_cast(ir_graph *g, ir_ref a, ir_dtype dtype) {
  return ir_dtype_of(g, a) == dtype ? a : elementwise(g, IR_OP_CAST, dtype, &a, 1);
}
ir_ref ir_bitcast(ir_graph *g, ir_ref a, ir_dtype dtype) {
  return ir_dtype_of(g, a) == dtype ? a : elementwise(g, IR_OP_BITCAST, dtype, &a, 1);
}

ir_ref ir_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b) {
  ir_dtype dtype = ir_ops[op].cls == IR_CLASS_COMPARE ? IR_BOOL : ir_dtype_of(g, a);
  return elementwise(g, op, dtype, (ir_ref[]){a, b}, 2);
}

ir_ref ir_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b) {
  return elementwise(g, IR_OP_WHERE, ir_dtype_of(g, a), (ir_ref[]){condition, a, b}, 3);
}

ir_ref ir_rare(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b) {
  return elementwise(g, IR_OP_RARE, ir_dtype_of(g, a), (ir_ref[]){condition, a, b}, 3);
}

int64_t ir_arg_int(const ir_node *n) { return (int32_t)(uint32_t)n->arg; }
int ir_arg_mode(const ir_node *n) { return (int)(n->arg >> 32 & 255); }
int ir_arg_small(const ir_node *n) { return (int)(n->arg >> 40 & 255); }
int64_t ir_pack_arg(int64_t value, int mode) { return ir_pack_args(value, mode, 0); }
int64_t ir_pack_args(int64_t value, int mode, int small) {
  return (int64_t)((uint64_t)small << 40 | (uint64_t)mode << 32 | (uint32_t)value);
}

uint32_t ir_operands_of(ir_op op, uint32_t nsrc) {
  int operands = ir_ops[op].operands;
  uint32_t behind = operands < 0 ? (uint32_t)(-1 - operands) : 0;
  if (operands < 0) return nsrc > behind ? nsrc - behind : 0;
  return (uint32_t)operands > nsrc ? nsrc : (uint32_t)operands;
}

uint32_t ir_operand_count(const ir_node *n) { return ir_operands_of((ir_op)n->op, n->nsrc); }

bool ir_reduces_axis(const ir_graph *g, const ir_node *reduce, uint32_t axis) {
  if (reduce->op == IR_OP_ARGMAX || reduce->op == IR_OP_ARGMIN) return ir_arg_int(reduce) == axis;
  for (uint32_t i = 1; i < reduce->nsrc; i++)
    if (ir_get(g, reduce->src[i])->arg == axis) return true;
  return false;
}

bool ir_next_attribute(const char **at, char *name, char *kind, size_t size) {
  const char *s = *at;
  while (*s == ' ') s++;
  const char *colon = strchr(s, ':');
  if (!colon) return false;
  size_t first = (size_t)(colon - s), second = strcspn(colon + 1, " ");
  if (first >= size || second >= size) return false;
  memcpy(name, s, first);
  name[first] = '\0';
  memcpy(kind, colon + 1, second);
  kind[second] = '\0';
  *at = colon + 1 + second;
  return true;
}

uint32_t ir_list_end(const ir_node *n, uint32_t from) {
  char name[16], kind[16];
  uint32_t lists = 0;
  for (const char *column = ir_ops[n->op].attributes; ir_next_attribute(&column, name, kind, sizeof name);)
    lists += kind[0] == '[';
  return lists > 1 ? from + (n->nsrc - ir_operand_count(n)) / lists : n->nsrc;
}
