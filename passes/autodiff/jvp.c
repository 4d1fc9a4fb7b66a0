/* Forward mode (JVP): propagates tangents from inputs to outputs. */
#include "derive.h"

#include "passes/ops/custom.h"
#include "passes/ops/derivative/derivative.h"

/* The tangents of a custom operation's results from those of its operands. */
static bool push_custom(pass_differentiation *w, size_t at) {
  ir_custom_call c;
  ir_ref results[IR_CUSTOM_MAX], tangents[IR_CUSTOM_MAX] = {0}, parts[IR_CUSTOM_MAX] = {0};
  bool varies = false;
  ir_custom_of(w->g, w->live[at], &c);
  pass_differentiation_results(w, at, results, c.results);
  for (uint32_t i = 0; i < c.operands; i++)
    varies |= (tangents[i] = w->sums[pass_differentiation_leaf(w, ir_src(w->g, w->live[at], i))]) != 0;
  if (!varies || !w->active[w->live[at]]) return true;
  if (!op_custom_push(w->g, w->live[at], tangents, parts)) return false;
  for (uint32_t i = 0; i < c.results; i++)
    if (results[i] && parts[i] && w->active[results[i]] && !pass_differentiation_add(w, results[i], parts[i]))
      return false;
  return true;
}

/* The tangent of a node from those of its operands. */
static bool push_node(pass_differentiation *w, ir_ref node) {
  op_call call = op_call_of(w->g, node);
  uint32_t count = ir_operand_count(call.n);
  ir_ref few[4], *tangents = few, part = 0;
  bool varies = false;
  if (ir_ops[call.n->op].cls == IR_CLASS_CONTROL) return !w->active[node] || pass_push_control(w, node);
  if (call.n->op == IR_OP_RESULT) return true; /* done for all results at the node that has them */
  if (!w->active[node] || op_registry[call.n->op].derivative <= OP_DERIVATIVE_NONE) return true;
  if (count > sizeof few / sizeof *few && !(tangents = ir_alloc(w->g->mem, count * sizeof *tangents))) {
    ir_fail(w->g->error, IR_ERR_MEMORY, "%s: out of memory", w->of->who);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    tangents[i] = w->sums[pass_differentiation_leaf(w, call.n->src[i])];
    varies |= tangents[i] != 0;
  }
  if (varies) part = op_push(&call, tangents);
  if (tangents != few) ir_free(w->g->mem, tangents, count * sizeof *tangents);
  return !varies || (part && pass_differentiation_add(w, node, part));
}

bool pass_jvp(ir_graph *g, const pass_derivative *of, const ir_ref *tangents, ir_ref *results) {
  pass_differentiation w;
  bool good = pass_differentiation_begin(&w, g, of, UINT32_MAX);
  for (size_t i = 0; i < of->input_count && good; i++) {
    ir_ref given = pass_differentiation_given(&w, "tangent", i, tangents[i], of->inputs[i]);
    good = given && pass_differentiation_add(&w, of->inputs[i], given);
  }
  for (size_t i = 0; i < w.live_count && good; i++) {
    ir_cause before = ir_cause_enter_derivative(g, w.live[i]);
    good = ir_op_of(g, w.live[i]) == IR_OP_CUSTOM ? push_custom(&w, i) : push_node(&w, w.live[i]);
    ir_cause_leave(g, before, w.live[i], 0);
  }
  for (size_t i = 0; i < of->output_count; i++) {
    results[i] = good ? pass_differentiation_sum(&w, of->outputs[i]) : 0;
    good = results[i] != 0;
  }
  pass_differentiation_end(&w);
  return good;
}
