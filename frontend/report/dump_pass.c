#include "frontend/report/dump_pass.h"

#include "frontend/report/dump_graph.h"
#include "ir/print/print.h"

static bool takes(const pass_info *step, ir_block_kind kind) {
  return kind == (step->scope & PASS_ON_GRAPH ? IR_BLOCK_GRAPH : IR_BLOCK_INDEX);
}

static void put_left(const ir_parsed_graph *block, fe_copy *copy, ir_ref root, ir_text *out) {
  if (out->len) ir_text_str(out, "\n");
  if (block->kind == IR_BLOCK_GRAPH) fe_put_graph(block, copy, root, out);
  else ir_print_graph(&copy->graph, block->name, root, out);
}

static void run_step(const fe_request *request, const ir_parsed_graph *block, const pass_info *step,
                     const ir_target *target, ir_text *out, ir_error *error) {
  fe_copy copy;
  if (fe_request_copy(request, &copy, error) != IR_OK) return;
  pass_options options = fe_pass_options(&copy.request, target);
  ir_ref root = copy.request.results;
  options.verify = true;
  if (pass_alone(&copy.graph, step, &options, &root, error) == IR_OK) put_left(block, &copy, root, out);
  fe_copy_free(&copy);
}

ir_status fe_dump_pass(ir_graph *g, const ir_parsed_graph *block, const pass_info *step,
                       const ir_target *target, const ir_observer *observer, ir_text *out, ir_error *error) {
  static const char *const kinds[] = {[IR_BLOCK_GRAPH] = "a tensor graph (`graph @...`)",
                                      [IR_BLOCK_INDEX] = "a kernel without loops (`index @...`)",
                                      [IR_BLOCK_KERNEL] = "a kernel with loops (`kernel @...`)"};
  if (!(step->scope & PASS_OF_PLAN) && !takes(step, block->kind))
    return ir_fail(error, IR_ERR_INVALID, "%s takes %s; @%.60s is %s", step->name,
                   kinds[step->scope & PASS_ON_GRAPH ? IR_BLOCK_GRAPH : IR_BLOCK_INDEX], block->name,
                   kinds[block->kind]);
  bool graph = block->kind == IR_BLOCK_GRAPH;
  fe_request request = {.graph = g, .results = block->root, .name = block->name, .observer = observer};
  ir_error *noted = g->error;
  g->error = error; /* a failure here is no error of recording */
  if (graph && !fe_block_request(g, block, observer, &request))
    ir_fail(error, IR_ERR_MEMORY, "out of memory dumping @%.60s", block->name);
  else run_step(&request, block, step, target, out, error);
  if (graph) fe_block_request_free(g, block, &request);
  g->error = noted;
  if (out->failed) ir_fail(error, IR_ERR_MEMORY, "out of memory dumping @%.60s", block->name);
  return error->status;
}
