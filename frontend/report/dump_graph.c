#include "frontend/report/dump_graph.h"

#include <stdio.h>

#include "frontend/api/references.h"
#include "frontend/report/dump_steps.h"
#include "ir/print/print.h"
#include "passes/batch/batch.h"
#include "passes/ops/ops.h"

bool fe_block_request(ir_graph *g, const ir_parsed_graph *block, const ir_observer *observer,
                      fe_request *out) {
  ir_ref *inputs = ir_alloc(g->mem, (block->param_count + block->result_count) * sizeof *inputs);
  pass_reference *references = ir_alloc(g->mem, block->param_count * sizeof *references);
  *out = (fe_request){.graph = g,
                      .inputs = inputs,
                      .input_count = block->param_count,
                      .references = references,
                      .name = block->name,
                      .observer = observer,
                      .causes = true};
  if (!inputs || !references) return false;
  out->reference_count =
      fe_list_references(block->params, block->param_count, block->results, block->result_count, references);
  ir_ref *results = inputs + block->param_count;
  for (size_t i = 0; i < block->param_count; i++) inputs[i] = block->params[i].ref;
  for (size_t i = 0; i < block->result_count; i++)
    if (!(results[i] = fe_firm_result(g, block->params, block->param_count, &block->results[i])))
      return false;
  out->results = ir_tuple(g, results, (uint32_t)block->result_count);
  return out->results != 0;
}

void fe_block_request_free(ir_graph *g, const ir_parsed_graph *block, fe_request *request) {
  size_t count = block->param_count + block->result_count;
  ir_free(g->mem, (ir_ref *)request->inputs, count * sizeof *request->inputs);
  ir_free(g->mem, (pass_reference *)request->references, block->param_count * sizeof *request->references);
}

void fe_put_graph(const ir_parsed_graph *b, fe_copy *copy, ir_ref root, ir_text *out) {
  ir_graph *g = &copy->graph;
  size_t count = b->param_count + b->result_count;
  ir_named *params = ir_alloc(g->mem, count * sizeof *params);
  if (!params) {
    out->failed = true;
    return;
  }
  ir_named *results = params + b->param_count;
  for (size_t i = 0; i < b->param_count; i++)
    params[i] = (ir_named){.name = b->params[i].name,
                           .length = b->params[i].length,
                           .reference = b->params[i].reference,
                           .ref = pass_physical_leaf(g, copy->request.inputs[i])};
  for (size_t i = 0; i < b->result_count; i++)
    results[i] = (ir_named){.name = b->results[i].name,
                            .length = b->results[i].length,
                            .ref = ir_src(g, root, (uint32_t)i),
                            .reference = b->results[i].reference};
  ir_print_named(g, b->name, b->name_length, params, b->param_count, results, b->result_count, out);
  ir_free(g->mem, params, count * sizeof *params);
}

void fe_put_kernel(const ir_parsed_graph *block, const ir_plan *plan, const ir_graph *g, size_t step,
                   ir_ref kernel, ir_text *out) {
  char name[80];
  snprintf(name, sizeof name, "%.60s_%zu", block->name, fe_kernel_number(plan, step));
  ir_print_graph(g, name, kernel, out);
}
