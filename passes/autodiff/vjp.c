/* Reverse mode (VJP): propagates cotangents from outputs to inputs. */
#include "derive.h"

#include "passes/ops/custom.h"
#include "passes/ops/derivative/derivative.h"
#include "passes/ops/mesh.h"

static bool seed_cotangents(pass_differentiation *w, const ir_ref *cotangents) {
  ir_graph *g = w->g;
  for (size_t i = 0; i < w->of->output_count; i++) {
    ir_ref y = w->of->outputs[i], ones = ir_float(g, ir_dtype_of(g, y), 1);
    if (!cotangents && ir_rank(g, y) > 0)
      return op_refuse(g,
                       "%s: output %zu has shape %s; without cotangents every output is a scalar: give them, "
                       "or sum",
                       w->of->who, i + 1, OP_TYPE(y)) != 0;
    ir_ref given = pass_differentiation_given(w, "cotangent", i, cotangents ? cotangents[i] : ones, y);
    if (!given || !pass_differentiation_add(w, y, given)) return false;
  }
  return true;
}

/* Adds the cotangents of a custom operation's operands, given those of its results. */
static bool pull_custom(pass_differentiation *w, size_t at) {
  ir_custom_call c;
  ir_ref results[IR_CUSTOM_MAX], cotangents[IR_CUSTOM_MAX] = {0}, parts[IR_CUSTOM_MAX] = {0};
  bool reached = false;
  ir_custom_of(w->g, w->live[at], &c);
  pass_differentiation_results(w, at, results, c.results);
  for (uint32_t i = 0; i < c.results; i++)
    if (results[i] && pass_differentiation_leaf(w, results[i]) == results[i])
      reached |= (cotangents[i] = w->sums[results[i]]) != 0;
  if (!reached || !w->active[w->live[at]]) return true;
  if (!op_custom_pull(w->g, w->live[at], cotangents, parts)) return false;
  for (uint32_t i = 0; i < c.operands; i++) {
    ir_ref x = ir_src(w->g, w->live[at], i);
    bool wanted = parts[i] && w->active[pass_differentiation_leaf(w, x)];
    if (wanted && !pass_differentiation_add(w, x, parts[i])) return false;
  }
  return true;
}

/* Adds the cotangents of a node's operands, given its own. */
static bool pull_node(pass_differentiation *w, size_t at) {
  ir_ref node = w->live[at], cotangent = w->sums[node];
  op_call call = op_call_of(w->g, node);
  if (ir_ops[call.n->op].cls == IR_CLASS_CONTROL) return !w->active[node] || pass_pull_control(w, node);
  if (call.n->op == IR_OP_RESULT) return true; /* done for all results at the node that has them */
  if (!cotangent || !w->active[node] || op_registry[call.n->op].derivative <= OP_DERIVATIVE_NONE) return true;
  for (uint32_t i = 0; i < ir_operand_count(call.n); i++) {
    ir_ref x = call.n->src[i];
    if (!w->active[pass_differentiation_leaf(w, x)]) continue;
    ir_ref part = op_pull(&call, i, cotangent);
    if (!part || !pass_differentiation_add(w, x, part)) return false;
  }
  return true;
}

bool pass_vjp(ir_graph *g, const pass_derivative *of, const ir_ref *cotangents, ir_ref *gradients) {
  pass_differentiation w;
  bool good = pass_differentiation_begin(&w, g, of, of->levels) && seed_cotangents(&w, cotangents);
  for (size_t i = w.live_count; i-- > 0 && good;) {
    ir_cause before = ir_cause_enter_derivative(g, w.live[i]);
    good = ir_op_of(g, w.live[i]) == IR_OP_CUSTOM ? pull_custom(&w, i) : pull_node(&w, i);
    ir_cause_leave(g, before, w.live[i], 0);
  }
  for (size_t i = 0; i < of->input_count; i++) {
    ir_ref input = of->inputs[i];
    gradients[i] = !good        ? 0
                   : of->sparse ? w.sums[pass_differentiation_leaf(&w, input)]
                                : op_shard_like(g, pass_differentiation_sum(&w, input), input);
    good = good && (of->sparse || gradients[i] != 0);
  }
  pass_differentiation_end(&w);
  return good;
}
