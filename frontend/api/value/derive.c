/* Builders of derivatives. */
#include "frontend/api/api.h"
#include "frontend/api/tree.h"
#include "frontend/session/lazy.h"
#include "passes/autodiff/derive.h"
#include "passes/ops/ops.h"

/* A realised node of the session is an array: a leaf for derivatives, however it was computed. */
static ir_ref realised(const void *user, ir_ref node) { return fe_lazy_resolve(user, node); }

/* The values of outputs, inputs and cotangents (or tangents) as refs, list after list in one array. */
typedef struct lists {
  ir_ref *refs;
  size_t count;
} lists;

static bool add_values(fe_call *c, lists *all, const char *what, const vf_value *values, int count,
                       bool firm) {
  if (count > 0 && !values) return fe_refuse(c, "the list of %ss is NULL", what);
  if (count > 0 && !fe_operands(c, values, (size_t)count)) return false;
  for (int i = 0; i < count; i++) {
    ir_ref x = values[i].id;
    if (!ir_shape(c->ir, x))
      return fe_refuse(c, "%s %d is an expression of sizes, not a tensor", what, i + 1);
    if (firm && !(x = op_default_dtype(c->ir, x))) return false;
    all->refs[all->count++] = x;
  }
  return true;
}

static void end_values(fe_call *c, const ir_ref *made, int count, vf_value *out) {
  for (int i = 0; i < count && out; i++) out[i] = fe_end(c, made ? made[i] : 0);
}

typedef bool (*pass)(ir_graph *g, const pass_derivative *of, const ir_ref *given, ir_ref *made);

/* vjp: `given` has a cotangent for each output, `out` receives a gradient for each input. jvp: `given` has a
 * tangent for each input, `out` receives one for each output. */
static void derive(const char *who, pass run, bool reverse, int output_count, const vf_value *outputs,
                   int input_count, const vf_value *inputs, const vf_value *given, vf_value *out) {
  fe_call c;
  int given_count = !given    ? 0
                    : reverse ? output_count
                              : input_count,
      made_count = reverse ? input_count : output_count;
  const char *names = reverse ? "cotangent" : "tangent";
  vf_graph *graph = outputs && output_count > 0 ? outputs[0].graph
                    : inputs && input_count > 0 ? inputs[0].graph
                                                : NULL;
  bool good = fe_begin_in(&c, who, graph);
  if (good && (output_count < 0 || input_count < 0))
    good = fe_refuse(&c, "%d outputs and %d inputs are given; a list has 0 entries or more", output_count,
                     input_count);
  if (good && !out && made_count > 0) good = fe_refuse(&c, "the list for its %d results is NULL", made_count);
  if (good && !reverse && !given && input_count > 0) good = fe_refuse(&c, "the list of tangents is NULL");
  if (!good) {
    end_values(&c, NULL, made_count, out);
    return;
  }
  size_t room = (size_t)output_count + (size_t)input_count + (size_t)given_count + (size_t)made_count;
  lists all = {ir_alloc(c.ir->mem, room * sizeof *all.refs), 0};
  good = all.refs && add_values(&c, &all, "output", outputs, output_count, true) &&
         add_values(&c, &all, "input", inputs, input_count, true) &&
         add_values(&c, &all, names, given, given_count, false);
  ir_ref *made = NULL;
  if (good) {
    pass_derivative of = {.who = who,
                          .outputs = all.refs,
                          .output_count = (size_t)output_count,
                          .inputs = all.refs + output_count,
                          .input_count = (size_t)input_count,
                          .leaf = graph->is_session ? realised : NULL,
                          .levels = graph->levels,
                          .user = &graph->context->lazy};
    const ir_ref *with = given ? all.refs + output_count + input_count : NULL;
    made = all.refs + all.count;
    if (!run(c.ir, &of, with, made)) made = NULL;
  }
  end_values(&c, made, made_count, out);
  if (all.refs) ir_free(c.ir->mem, all.refs, room * sizeof *all.refs);
}

void vf_vjp(int output_count, const vf_value *outputs, const vf_value *cotangents, int input_count,
            const vf_value *inputs, vf_value *gradients) {
  derive("vjp", pass_vjp, true, output_count, outputs, input_count, inputs, cotangents, gradients);
}

void vf_jvp(int output_count, const vf_value *outputs, int input_count, const vf_value *inputs,
            const vf_value *tangents, vf_value *results) {
  derive("jvp", pass_jvp, false, output_count, outputs, input_count, inputs, tangents, results);
}

void vf_grad(vf_value output, int input_count, const vf_value *inputs, vf_value *gradients) {
  derive("grad", pass_vjp, true, 1, &output, input_count, inputs, NULL, gradients);
}

/* The gradients by the leaves of `from`, into those of `to`. False after failing. */
static bool grad_leaves(fe_call *c, vf_value output, const fe_leaves *from, const fe_leaves *to) {
  if (from->count != to->count)
    return fe_refuse(
        c, "the tree of gradients has %zu leaves, that of parameters %zu; both must have the same form",
        to->count, from->count);
  size_t room = 2 * from->count * sizeof(vf_value);
  vf_value *values = ir_alloc(c->ir->mem, room);
  if (!values) {
    ir_fail(&c->graph->error, IR_ERR_MEMORY, "grad: out of memory for the leaves of a tree");
    return false;
  }
  vf_value *gradients = values + from->count;
  for (size_t i = 0; i < from->count; i++) values[i] = *from->items[i].value;
  vf_grad(output, (int)from->count, values, gradients);
  for (size_t i = 0; i < to->count; i++) *to->items[i].value = gradients[i];
  ir_free(c->ir->mem, values, room);
  return c->graph->error.status == IR_OK;
}

bool vf_grad_tree(vf_value output, const vf_tree *parameters, vf_tree *gradients) {
  fe_call c;
  fe_leaves from = {0}, to = {0};
  bool good = fe_begin(&c, "grad", &output, 1);
  if (good && (!parameters || !gradients))
    good = fe_refuse(&c, "the tree of %s is NULL", parameters ? "gradients" : "parameters");
  good = good && fe_tree_leaves(&c, "parameters", (vf_tree *)(uintptr_t)parameters, NULL, &from) &&
         fe_tree_leaves(&c, "gradients", gradients, NULL, &to) && grad_leaves(&c, output, &from, &to);
  if (c.ir) fe_leaves_free(c.ir, &from), fe_leaves_free(c.ir, &to);
  if (!good) fe_end(&c, 0); /* notes an error where none was noted */
  return good;
}

FE_BUILDER_OF_X(stop_gradient, (vf_value x), op_stop_gradient(c.ir, x.id))
