#include "frontend/report/mesh/divided.h"

#include <string.h>

#include "frontend/machine/mesh_costs.h"
#include "frontend/report/dump_graph.h"
#include "ir/print/print.h"
#include "ir/verify/verify.h"
#include "passes/batch/batch.h"

static bool copy_graph(fe_divided *d, ir_graph *g, const ir_parsed_graph *b, ir_ref results,
                       ir_error *error) {
  d->count = 1 + b->param_count;
  d->map_size = g->count;
  d->refs = ir_alloc(g->mem, d->count * sizeof *d->refs);
  if (!d->refs) return ir_fail(error, IR_ERR_MEMORY, "out of memory dividing graph @%.60s", b->name) == IR_OK;
  d->refs[0] = results;
  for (size_t i = 0; i < b->param_count; i++) d->refs[1 + i] = b->params[i].ref;
  return ir_graph_copy(&d->g, g, d->refs, d->count, &d->map) == IR_OK;
}

bool fe_divided_make(fe_divided *d, ir_graph *g, const ir_parsed_graph *b, int64_t device,
                     rt_context *context, ir_error *error) {
  fe_request request;
  *d = (fe_divided){0};
  if (!ir_graph_mesh(g))
    return ir_fail(error, IR_ERR_INVALID,
                   "graph @%.60s has no mesh; a text declares one, as in mesh @m [x=2,y=4]",
                   b->name) == IR_OK;
  if (ir_graph_init(&d->g, g->mem, error) != IR_OK) return false;
  bool good = fe_block_request(g, b, NULL, &request) && copy_graph(d, g, b, request.results, error) &&
              fe_mesh_take_kept(context, &d->g, &d->kept, error) == IR_OK &&
              pass_physicalize(&d->g, d->refs, d->count);
  shard_request of = {.inputs = d->refs + 1,
                      .input_count = b->param_count,
                      .references = request.references,
                      .reference_count = request.reference_count,
                      .device = device};
  if (good) {
    of.root = d->refs[0];
    good = pass_shard(&d->g, &of, &d->program) &&
           ir_verify(&d->g, d->program.root, IR_LEVEL_TENSOR, error) == IR_OK;
  }
  fe_block_request_free(g, b, &request);
  if (!good && !error->status) ir_fail(error, IR_ERR_MEMORY, "out of memory dividing graph @%.60s", b->name);
  return good;
}

void fe_divided_free(fe_divided *d) {
  const ir_mem *mem = d->g.mem;
  if (!mem) return;
  shard_program_free(&d->program);
  ir_free(mem, d->refs, d->count * sizeof *d->refs);
  ir_free(mem, d->map, d->map_size * sizeof *d->map);
  ir_graph_free(&d->g);
}

void fe_divided_name(const fe_divided *d, const ir_parsed_graph *b, ir_ref node, ir_text *out) {
  for (size_t i = 0; i < b->value_count; i++) {
    const ir_defined *v = &b->values[i];
    if (v->ref >= d->map_size || d->map[v->ref] != node) continue;
    ir_text_str(out, "%");
    ir_lex_print_name(out, v->name, strlen(v->name));
    return;
  }
  ir_op op = ir_op_of(&d->g, node);
  if (op == IR_OP_INPUT) ir_textf(out, "%%%s", ir_name_text(&d->g, ir_get(&d->g, node)->arg));
  else ir_text_str(out, ir_ops[op].text);
}
