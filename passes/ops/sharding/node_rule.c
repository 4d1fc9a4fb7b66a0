/* The sharding rule of a recorded node: its row's template applied to its shapes and attributes. */
#include "ir/mesh/sharding.h"
#include "passes/ops/custom.h"
#include "sharding.h"

#include <string.h>

/* Does the operation have the attribute? Looks in the column of ir/ops.def. */
static bool has_attribute(const ir_node *n, const char *attribute) {
  return strstr(ir_ops[n->op].attributes, attribute) != NULL;
}

static bool differs(const ir_graph *g, ir_ref x, int64_t from) {
  int64_t value;
  return !ir_is_const(g, x, &value) || value != from;
}

/* The axes that the node flips, slices, pads, strides or reduces. `list`: the sources that hold the
 * attribute. */
static uint32_t changed_axes(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  const ir_ref *list = n->src + ir_operand_count(n);
  uint32_t set = 0, rank = n->nsrc ? ir_rank(g, n->src[0]) : 0;
  if (has_attribute(n, "axis:int")) return 1u << ir_arg_int(n);
  if (has_attribute(n, "value:value")) list++;
  for (uint32_t i = 0; i < rank; i++) {
    if (has_attribute(n, "bounds:"))
      set |= (uint32_t)(differs(g, list[2 * i], 0) || list[2 * i + 1] != ir_dim(g, n->src[0], i)) << i;
    if (has_attribute(n, "pads:"))
      set |= (uint32_t)(differs(g, list[2 * i], 0) || differs(g, list[2 * i + 1], 0)) << i;
    if (has_attribute(n, "steps:")) set |= (uint32_t)differs(g, list[i], 1) << i;
  }
  int64_t axis;
  for (uint32_t i = ir_operand_count(n); has_attribute(n, "axes:") && i < n->nsrc; i++)
    if (ir_is_const(g, n->src[i], &axis)) set |= 1u << axis;
  return set;
}

bool op_sharding_of(ir_graph *g, ir_ref node, op_sharding *out) {
  const ir_node *n = ir_get(g, node);
  uint32_t operands = ir_operand_count(n);
  if (n->op == IR_OP_CUSTOM) return op_custom_sharding(g, node, out);
  op_sharding_ask ask = {
      .who = ir_ops[n->op].text, .rule = op_registry[n->op].sharding, .operands = operands, .results = 1};
  memset(out, 0, sizeof *out);
  if (!strcmp(ask.rule, "own"))
    return !ir_fail(g->error, IR_ERR_INTERNAL, "%s: it has no sharding rule of its own", ask.who);
  ir_ref *shapes = ir_alloc(g->mem, (operands + 1) * sizeof *shapes);
  if (!shapes) {
    ir_fail(g->error, IR_ERR_MEMORY, "%s: out of memory for a sharding rule", ask.who);
    return false;
  }
  for (uint32_t i = 0; i < operands; i++) shapes[i] = ir_shape(g, n->src[i]);
  shapes[operands] = ir_shape(g, node);
  ask.shapes = shapes;
  ask.axis = has_attribute(n, "axis:int") ? (uint32_t)ir_arg_int(n) : 0;
  ask.batch = has_attribute(n, "batch:small") ? (uint32_t)ir_arg_small(n) : 0;
  ask.changed = changed_axes(g, node);
  ask.kept = has_attribute(n, "keepdims:bool") && ir_arg_mode(n);
  ask.order = has_attribute(n, "order:[]") ? n->src + operands : NULL;
  bool done = op_sharding_make(g, &ask, out);
  ir_free(g->mem, shapes, (operands + 1) * sizeof *shapes);
  if (done && n->op == IR_OP_ASSIGN && !(done = op_sharding_write(g, node, out))) op_sharding_free(out);
  return done;
}

bool op_sharding_known(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_class cls = (ir_class)ir_ops[n->op].cls;
  if (ir_only_divides((ir_op)n->op)) return n->op == IR_OP_SHARD; /* a collective says what its result is */
  return cls != IR_CLASS_LEAF && cls != IR_CLASS_CONTROL && cls != IR_CLASS_CUSTOM && cls != IR_CLASS_META &&
         ir_operand_count(n) <= OP_SHARDING_OPERANDS && op_registry[n->op].sharding &&
         strcmp(op_registry[n->op].sharding, "own") != 0;
}

ir_op op_sharding_joined_by(ir_op op) {
  switch ((int)op) {
  case IR_OP_PROD: return IR_OP_MUL;
  case IR_OP_REDUCE_MAX: return IR_OP_MAX;
  case IR_OP_REDUCE_MIN: return IR_OP_MIN;
  case IR_OP_ANY: return IR_OP_OR;
  case IR_OP_ALL: return IR_OP_AND;
  default: return IR_OP_ADD;
  }
}

bool op_moves(ir_op op) {
  static const ir_op moving[] = {IR_OP_FLIP,   IR_OP_SHRINK,  IR_OP_STRIDE, IR_OP_PAD,   IR_OP_CONCAT,
                                 IR_OP_CUMSUM, IR_OP_CUMPROD, IR_OP_CUMMAX, IR_OP_CUMMIN};
  for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
    if (op == moving[i]) return true;
  return false;
}
