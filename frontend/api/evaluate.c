/* Evaluating a named graph with the reference evaluator. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/api/witness.h"
#include "frontend/blame/blame.h"
#include "ir/eval/eval.h"
#include "runtime/system/bus_error.h"

typedef struct bindings {
  ir_binding_input *inputs;
  ir_var_value *variables;
  ir_eval_result *results;
  ir_ref *roots;
  ir_named *named; /* the outputs, then references */
  size_t count;
} bindings;

static bool allocate_bindings(vf_graph *g, bindings *b) {
  const ir_mem *mem = g->ir.mem;
  b->inputs = ir_alloc(mem, (g->input_count + g->constant_count) * sizeof *b->inputs);
  b->variables = ir_alloc(mem, g->variable_count * sizeof *b->variables);
  b->named = fe_graph_results(g, &b->count);
  b->results = ir_alloc(mem, b->count * sizeof *b->results);
  b->roots = ir_alloc(mem, b->count * sizeof *b->roots);
  return b->inputs && b->variables && b->results && b->roots && b->named;
}

static void release_bindings(const vf_graph *g, bindings *b) {
  const ir_mem *mem = g->ir.mem;
  ir_free(mem, b->inputs, (g->input_count + g->constant_count) * sizeof *b->inputs);
  ir_free(mem, b->variables, g->variable_count * sizeof *b->variables);
  ir_free(mem, b->results, b->count * sizeof *b->results);
  ir_free(mem, b->roots, b->count * sizeof *b->roots);
  ir_free(mem, b->named, b->count * sizeof *b->named);
}

/* The caller's memory of a reference, which is an input. */
static void *reference_memory(const vf_graph *g, const ir_named *reference, const void *const *inputs) {
  const ir_named *input = fe_graph_named(g->inputs, g->input_count, reference->name, reference->length);
  return (void *)(uintptr_t)inputs[input - g->inputs];
}

static void evaluate(vf_graph *g, bindings *b, const void *const *inputs, void *const *outputs,
                     const int64_t *variables, ir_error *error) {
  for (size_t i = 0; i < g->input_count; i++) b->inputs[i] = (ir_binding_input){g->inputs[i].ref, inputs[i]};
  for (size_t i = 0; i < g->constant_count; i++)
    b->inputs[g->input_count + i] =
        (ir_binding_input){g->constants[i].ref, rt_constant_bytes(g->constants[i].constant)};
  for (size_t i = 0; i < g->variable_count; i++)
    b->variables[i] = (ir_var_value){g->variables[i].ref, variables[i]};
  for (size_t i = 0; i < b->count; i++) b->roots[i] = b->named[i].ref;
  sigset_t before; /* constants may be in files that change */
  rt_guard_enter(&before);
  ir_eval_fault fault;
  ir_status status =
      ir_eval_finding(&g->ir, b->roots, b->count, b->inputs, g->input_count + g->constant_count, b->variables,
                      g->variable_count, false, b->results, &fault, error);
  rt_guard_leave(&before);
  if (status == IR_ERR_RANGE && fault.node) {
    fe_blame_fault(&(fe_blamed){.name = g->name, .graph = &g->ir, .statements = &g->statements}, &fault,
                   error);
  }
  if (status) return;
  for (size_t i = 0; i < g->constant_count && !error->status; i++) {
    const rt_mapped_file *file = rt_constant_file(g->constants[i].constant);
    if (file) rt_mapped_check(file, error);
  }
  for (size_t i = 0; i < b->count && !error->status; i++) {
    void *to = b->named[i].reference ? reference_memory(g, &b->named[i], inputs) : outputs[i];
    if (b->results[i].bytes && !to)
      ir_fail(error, IR_ERR_INVALID, "evaluate: the buffer of %s %.60s is NULL",
              b->named[i].reference ? "reference" : "output", b->named[i].name);
    else if (b->results[i].bytes) memcpy(to, b->results[i].data, b->results[i].bytes);
  }
  ir_eval_free(&g->ir, b->results, b->count);
}

vf_status vf_evaluate(vf_graph *g, const void *const *inputs, void *const *outputs, const int64_t *variables,
                      vf_error *error) {
  ir_error failure = {0};
  bindings b = {0};
  if (!g) ir_fail(&failure, IR_ERR_INVALID, "evaluate: the graph is NULL");
  else if (g->error.status) failure = g->error;
  else if (g->is_session || g->output_count + g->reference_count == 0)
    ir_fail(&failure, IR_ERR_INVALID, "graph @%.60s has no outputs; name one with vf_output", g->name);
  else if ((!outputs && g->output_count) || (!inputs && g->input_count) || (!variables && g->variable_count))
    ir_fail(&failure, IR_ERR_INVALID, "evaluate: a list of %s is NULL",
            !outputs && g->output_count ? "outputs"
            : !inputs && g->input_count ? "inputs"
                                        : "variables");
  if (!failure.status) {
    unsigned failures = fe_failures(g->context);
    g->ir.error = &failure;
    if (allocate_bindings(g, &b)) evaluate(g, &b, inputs, outputs, variables, &failure);
    else ir_fail(&failure, IR_ERR_MEMORY, "out of memory evaluating graph @%.60s", g->name);
    release_bindings(g, &b);
    g->ir.error = &g->error;
    fe_report_as_memory(g->context, failures, &failure);
  }
  return fe_report(error, &failure);
}
