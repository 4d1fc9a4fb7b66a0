/* Evaluating a named graph with the reference evaluator. */
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/api/found_sizes.h"
#include "frontend/api/overlap.h"
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

/* The number of a reference among the inputs, and the caller's memory of it. */
static size_t reference_input(const vf_graph *g, const ir_named *reference) {
  return (size_t)(fe_graph_named(g->inputs, g->input_count, reference->name, reference->length) - g->inputs);
}

static void *reference_memory(const vf_graph *g, const ir_named *reference, const void *const *inputs) {
  return (void *)(uintptr_t)inputs[reference_input(g, reference)];
}

/* 0 where a size has no value, which evaluating reports. */
static size_t input_bytes(const vf_graph *g, const bindings *b, ir_ref input) {
  size_t bytes = ir_dtypes[ir_dtype_of(&g->ir, input)].bytes;
  for (uint32_t i = 0; i < ir_rank(&g->ir, input); i++) {
    int64_t size = 0;
    ir_error unused = {0};
    ir_eval_index(&g->ir, ir_dim(&g->ir, input, i), b->variables, g->variable_count, NULL, 0, &size, &unused);
    bytes = unused.status || size < 0 ? 0 : bytes * (size_t)size;
  }
  return bytes;
}

/* The memory of a reference, which is changed, is that of nothing else. */
static void check_overlaps(const vf_graph *g, const bindings *b, const void *const *inputs,
                           void *const *outputs, ir_error *error) {
  for (size_t r = g->output_count; r < b->count && !error->status; r++) {
    const void *own = reference_memory(g, &b->named[r], inputs);
    const char *other = NULL, *what = "input";
    for (size_t i = 0; i < g->input_count; i++)
      if (i != reference_input(g, &b->named[r]) &&
          fe_overlap(own, b->results[r].bytes, inputs[i], input_bytes(g, b, g->inputs[i].ref)))
        other = g->inputs[i].name;
    for (size_t k = 0; k < g->output_count && !other; k++)
      if (fe_overlap(own, b->results[r].bytes, outputs[k], b->results[k].bytes))
        other = g->outputs[k].name, what = "output";
    if (other)
      ir_fail(
          error, IR_ERR_INVALID,
          "evaluate: %s %.60s overlaps the reference %.60s in memory, which is changed; give each memory of "
          "its own",
          what, other, b->named[r].name);
  }
}

/* The values of variables that the graph finds. given: others have theirs. */
static bool find_sizes(vf_graph *g, bindings *b, bool given, ir_error *error) {
  fe_found found;
  size_t inputs = g->input_count, vars = g->variable_count;
  if (!vars) return true;
  ir_ref *refs = ir_alloc(g->ir.mem, (inputs + vars) * sizeof *refs),
         results = ir_tuple(&g->ir, b->roots, (uint32_t)b->count);
  if (!refs || !results) {
    ir_free(g->ir.mem, refs, (inputs + vars) * sizeof *refs);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory evaluating a graph") == IR_OK;
  }
  for (size_t i = 0; i < inputs; i++) refs[i] = g->inputs[i].ref;
  for (size_t i = 0; i < vars; i++) refs[inputs + i] = g->variables[i].ref;
  bool good = fe_found_list(&g->ir, results, refs, inputs, refs + inputs, vars, &found, error);
  for (size_t i = 0; i < vars && good && !given; i++)
    if (!found.count || !found.is_found[i])
      good = ir_fail(error, IR_ERR_INVALID, "evaluate: a list of variables is NULL") == IR_OK;
  good =
      good && fe_found_evaluate(&g->ir, &found, b->inputs, inputs + g->constant_count, b->variables, error);
  fe_found_free(&found);
  ir_free(g->ir.mem, refs, (inputs + vars) * sizeof *refs);
  return good;
}

static void evaluate(vf_graph *g, bindings *b, const void *const *inputs, void *const *outputs,
                     const int64_t *variables, ir_error *error) {
  for (size_t i = 0; i < g->input_count; i++) b->inputs[i] = (ir_binding_input){g->inputs[i].ref, inputs[i]};
  for (size_t i = 0; i < g->constant_count; i++)
    b->inputs[g->input_count + i] =
        (ir_binding_input){g->constants[i].ref, rt_constant_bytes(g->constants[i].constant)};
  for (size_t i = 0; i < g->variable_count; i++)
    b->variables[i] = (ir_var_value){g->variables[i].ref, variables ? variables[i] : 0};
  for (size_t i = 0; i < b->count; i++) b->roots[i] = b->named[i].ref;
  if (!find_sizes(g, b, variables != NULL, error)) return;
  sigset_t before; /* constants may be in files that change */
  rt_guard_enter(&before);
  ir_eval_fault fault;
  ir_status status =
      ir_eval_finding(&g->ir, b->roots, b->count, b->inputs, g->input_count + g->constant_count, b->variables,
                      g->variable_count, false, b->results, &fault, error);
  rt_guard_leave(&before);
  if (status == IR_ERR_RANGE && fault.node) {
    fe_blame_fault(&(fe_blamed){.name = g->name,
                                .graph = &g->ir,
                                .statements = &g->statements,
                                .vars = b->variables,
                                .var_count = g->variable_count},
                   &fault, error);
  }
  if (status) return;
  for (size_t i = 0; i < g->constant_count && !error->status; i++) {
    const rt_mapped_file *file = rt_constant_file(g->constants[i].constant);
    if (file) rt_mapped_check(file, error);
  }
  if (!error->status) check_overlaps(g, b, inputs, outputs, error);
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
  const char *wrong = fe_not(g, FE_GRAPH);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "evaluate: the graph is %s", wrong);
  else if (g->error.status) failure = g->error;
  else if (g->is_session || g->output_count + g->reference_count == 0)
    ir_fail(&failure, IR_ERR_INVALID, "graph @%.60s has no outputs; name one with vf_output", g->name);
  else if ((!outputs && g->output_count) || (!inputs && g->input_count))
    ir_fail(&failure, IR_ERR_INVALID, "evaluate: a list of %s is NULL",
            !outputs && g->output_count ? "outputs" : "inputs");
  if (!failure.status) {
    unsigned failures = fe_failures(g->context);
    g->ir.error = &failure;
    fe_graph_begin_task(g);
    if (allocate_bindings(g, &b)) evaluate(g, &b, inputs, outputs, variables, &failure);
    else ir_fail(&failure, IR_ERR_MEMORY, "out of memory evaluating graph @%.60s", g->name);
    release_bindings(g, &b);
    fe_graph_end_task(g);
    ir_say_cancelled(&failure, "graph @%.60s: cancelled while it was evaluated; outputs are unspecified",
                     g->name);
    g->ir.error = &g->error;
    fe_report_as_memory(g->context, failures, &failure);
  }
  return fe_report(error, &failure);
}
