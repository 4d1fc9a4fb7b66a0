/* Reverse mode: cotangents of outputs, carried back to the inputs. */
#include "derive.h"

#include "ops/derivative.h"

static bool seed(pass_derivation *w, const ir_ref *cotangents) {
  ir_graph *g = w->g;
  for (size_t i = 0; i < w->of->output_count; i++) {
    ir_ref y = w->of->outputs[i], ones = ir_float(g, ir_dtype_of(g, y), 1);
    if (!cotangents && ir_rank(g, y) > 0)
      return op_refuse(g,
                       "%s: output %zu has shape %s; without cotangents every output is a scalar: give them, "
                       "or sum",
                       w->of->who, i + 1, OP_TYPE(y)) != 0;
    ir_ref given = pass_derivation_given(w, "cotangent", i, cotangents ? cotangents[i] : ones, y);
    if (!given || !pass_derivation_add(w, y, given)) return false;
  }
  return true;
}

/* What has reached a node goes on to its operands. */
static bool pull(pass_derivation *w, ir_ref node) {
  ir_ref cotangent = w->sums[node];
  op_call call = op_call_of(w->g, node);
  if (!cotangent || !w->active[node] || op_registry[call.n->op].derivative <= OP_DERIVATIVE_NONE) return true;
  for (uint32_t i = 0; i < ir_operand_count(call.n); i++) {
    ir_ref x = call.n->src[i];
    if (!w->active[pass_derivation_leaf(w, x)]) continue;
    ir_ref part = op_pull(&call, i, cotangent);
    if (!part || !pass_derivation_add(w, x, part)) return false;
  }
  return true;
}

bool pass_vjp(ir_graph *g, const pass_derivative *of, const ir_ref *cotangents, ir_ref *gradients) {
  pass_derivation w;
  bool good = pass_derivation_begin(&w, g, of) && seed(&w, cotangents);
  for (size_t i = w.live_count; i-- > 0 && good;) good = pull(&w, w.live[i]);
  for (size_t i = 0; i < of->input_count; i++) {
    gradients[i] = good ? pass_derivation_sum(&w, of->inputs[i]) : 0;
    good = gradients[i] != 0;
  }
  pass_derivation_end(&w);
  return good;
}
