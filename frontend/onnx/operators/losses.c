/* Losses. */
#include "frontend/onnx/import.h"

/* Minus the logarithm at the target's class, weighted, unless the target is to be ignored. */
static ir_ref likelihood(onnx_node *n, ir_ref logs, ir_ref target, ir_ref weight) {
  const onnx_attribute *ignore = onnx_attribute_of(n, "ignore_index");
  ir_graph *g = n->g;
  if (!logs || !target || n->m->error->status) return 0;
  target = onnx_like(n, target, IR_I64);
  ir_ref used = ignore ? onnx_with(n, IR_OP_NE, target, (double)ignore->i) : 0;
  ir_ref safe = used ? op_where(g, used, target, onnx_full(n, target, 0)) : target;
  ir_ref axis = ir_index(g, 1);
  ir_ref loss = op_take_along_axis(g, logs, op_unsqueeze(g, safe, 1), 1, IR_GATHER_CHECK);
  loss = op_unary(g, IR_OP_NEG, op_squeeze(g, loss, &axis, 1));
  ir_ref weights = weight ? op_gather(g, weight, safe, 0, IR_GATHER_CHECK) : onnx_full(n, loss, 1);
  if (used) weights = op_where(g, used, weights, onnx_full(n, weights, 0));
  loss = op_binary(g, IR_OP_MUL, loss, weights);
  if (onnx_text_is(n, "reduction", "none", "mean")) return loss;
  ir_ref total = op_reduce(g, IR_OP_SUM, loss, NULL, 0, false);
  if (onnx_text_is(n, "reduction", "sum", "mean")) return total;
  return op_binary(g, IR_OP_DIV, total, op_reduce(g, IR_OP_SUM, weights, NULL, 0, false));
}

static bool likelihood_loss(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), y = likelihood(n, x, onnx_in(n, 1), onnx_optional(n, 2));
  return y && onnx_put(n, 0, onnx_like(n, y, ir_dtype_of(n->g, x)));
}

static bool cross_entropy(onnx_node *n) {
  ir_ref logs = op_log_softmax(n->g, onnx_in(n, 0), 1);
  return onnx_put(n, 0, likelihood(n, logs, onnx_in(n, 1), onnx_optional(n, 2))) && onnx_put(n, 1, logs);
}

const onnx_operator onnx_losses[] = {{"NegativeLogLikelihoodLoss", likelihood_loss, NULL, 0, 2, 3},
                                     {"SoftmaxCrossEntropyLoss", cross_entropy, NULL, 0, 2, 3},
                                     {0}};
