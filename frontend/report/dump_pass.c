#include <string.h>

#include "frontend/report/dump_pass.h"

#include "frontend/report/dump_graph.h"
#include "frontend/report/dump_steps.h"
#include "ir/print/print.h"

static ir_block_kind takes(const pass_info *step) {
  return step->scope & (PASS_ON_GRAPH | PASS_OF_PLAN) ? IR_BLOCK_GRAPH : IR_BLOCK_INDEX;
}

typedef struct printer {
  const ir_parsed_graph *block;
  const char *step;
  fe_copy copy;
  ir_plan plan;
  ir_text *out;
} printer;

static void put_left(void *user, const char *step, ir_graph *g, ir_ref root, int kernel) {
  printer *p = user;
  if (strcmp(step, p->step) != 0) return; /* run again by this one, as schedule is by in_place */
  if (p->out->len) ir_text_str(p->out, "\n");
  if (kernel >= 0) {
    fe_put_place(&p->plan, (size_t)kernel, p->out);
    fe_put_kernel(p->block, &p->plan, g, (size_t)kernel, root, p->out);
  }
  if (kernel < 0 && p->block->kind == IR_BLOCK_GRAPH) fe_put_graph(p->block, &p->copy, root, p->out);
  else if (kernel < 0) ir_print_graph(g, p->block->name, root, p->out);
}

static void run_step(const fe_request *request, const ir_parsed_graph *block, const pass_info *step,
                     const ir_target *target, ir_text *out, ir_error *error) {
  printer p = {.block = block, .step = step->name, .out = out};
  if (fe_request_copy(request, &p.copy, error) != IR_OK) return;
  pass_options options = fe_pass_options(&p.copy.request, target);
  options.verify = true;
  options.observer = put_left;
  options.user = &p;
  pass_alone(&p.copy.graph, step, &options, p.copy.request.results, &p.plan, error);
  ir_plan_free(&p.plan);
  fe_copy_free(&p.copy);
}

ir_status fe_dump_pass(ir_graph *g, const ir_parsed_graph *block, const pass_info *step,
                       const ir_target *target, const ir_observer *observer, ir_text *out, ir_error *error) {
  static const char *const kinds[] = {[IR_BLOCK_GRAPH] = "a tensor graph (`graph @...`)",
                                      [IR_BLOCK_INDEX] = "a kernel without loops (`index @...`)",
                                      [IR_BLOCK_KERNEL] = "a kernel with loops (`kernel @...`)"};
  static const char *const stages[] = {
      [IR_BLOCK_GRAPH] = "", [IR_BLOCK_INDEX] = "index", [IR_BLOCK_KERNEL] = "loops"};
  if (block->kind != takes(step) && block->kind == IR_BLOCK_GRAPH)
    return ir_fail(error, IR_ERR_INVALID,
                   "%s takes %s; @%.60s is %s: viewfold dump --stage=%s FILE.vf | viewfold pass %s -",
                   step->name, kinds[takes(step)], block->name, kinds[block->kind], stages[takes(step)],
                   step->name);
  if (block->kind != takes(step))
    return ir_fail(error, IR_ERR_INVALID, "%s takes %s; @%.60s is %s", step->name, kinds[takes(step)],
                   block->name, kinds[block->kind]);
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
