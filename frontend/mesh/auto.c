#include "frontend/mesh/auto.h"

#include <string.h>

#include "frontend/machine/agree.h"
#include "frontend/machine/mesh_costs.h"
#include "passes/batch/batch.h"

typedef struct choosing {
  const fe_request *request;
  ir_graph copy;
  ir_ref *refs, *map; /* the results, then the inputs; map: of the original's nodes */
  size_t count, map_size;
} choosing;

static ir_status no_memory(const choosing *c, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "graph @%.60s: out of memory choosing shardings", c->request->name);
}

static ir_status copy_graph(choosing *c, ir_error *error) {
  const fe_request *r = c->request;
  c->refs[0] = r->results;
  if (r->input_count) memcpy(c->refs + 1, r->inputs, r->input_count * sizeof *c->refs);
  if (ir_graph_init(&c->copy, r->graph->mem, error) != IR_OK) return error->status;
  c->copy.customs = r->graph->customs;
  if (ir_graph_copy(&c->copy, r->graph, c->refs, c->count, &c->map) != IR_OK) return no_memory(c, error);
  if (pass_physicalize(&c->copy, c->refs, c->count)) return IR_OK;
  return error->status ? error->status : no_memory(c, error);
}

/* The spec of a node of the copy, for a value of the graph, which may be in a batch there. */
static bool take_spec(const choosing *c, ir_ref to, ir_ref from) {
  const ir_spec *spec = ir_spec_of(&c->copy, from);
  return !spec || spec->rank != ir_rank(c->request->graph, to) || ir_set_spec(c->request->graph, to, spec);
}

static ir_status take_specs(const choosing *c, ir_error *error) {
  bool good = true;
  for (ir_ref i = 1; i < c->map_size && good; i++)
    if (c->map[i] && ir_shape(c->request->graph, i)) good = take_spec(c, i, c->map[i]);
  for (size_t i = 0; i < c->request->input_count && good; i++)
    good = take_spec(c, c->request->inputs[i], c->refs[1 + i]);
  return good ? IR_OK : no_memory(c, error);
}

ir_status fe_shard_auto(const fe_request *r, const fe_auto *with, autoshard_report *report, ir_error *error) {
  choosing c = {.request = r, .count = 1 + r->input_count, .map_size = r->graph->count};
  const ir_mem *mem = r->graph->mem;
  if (!ir_graph_mesh(r->graph))
    return ir_fail(error, IR_ERR_INVALID,
                   "graph @%.60s has no mesh; a text declares one, as in mesh @m [x=2,y=4]", r->name);
  if (!(c.refs = ir_alloc(mem, c.count * sizeof *c.refs))) return no_memory(&c, error);
  autoshard_rates rates = with->rates;
  ir_status status = copy_graph(&c, error);
  if (!status) status = fe_mesh_take_kept(with->context, &c.copy, NULL, error);
  if (!status && with->context)
    status = fe_mesh_agree(with->context, ir_graph_mesh(r->graph), &rates, sizeof rates, error);
  double pace = ir_graph_mesh(&c.copy) && !with->given ? ir_graph_mesh(&c.copy)->pace : 0;
  if (pace > 0) rates.flops *= pace, rates.bytes *= pace;
  if (!status) {
    autoshard_request of = {.root = c.refs[0],
                            .inputs = c.refs + 1,
                            .input_count = r->input_count,
                            .references = r->references,
                            .reference_count = r->reference_count,
                            .rates = rates,
                            .memory = with->memory};
    if (!pass_autoshard(&c.copy, &of, report)) status = error->status ? error->status : no_memory(&c, error);
  }
  if (!status) status = take_specs(&c, error);
  ir_free(mem, c.refs, c.count * sizeof *c.refs);
  ir_free(mem, c.map, c.map_size * sizeof *c.map);
  ir_graph_free(&c.copy);
  return status;
}
