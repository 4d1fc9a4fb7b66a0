#include "frontend/api/witness.h"

#include <string.h>

#include "frontend/api/api.h"
#include "frontend/report/blame.h"

static size_t ref_count(const fe_witness *w) { return w->result_count + w->input_count + w->variable_count; }

void fe_witness_free(fe_witness *w, const ir_mem *mem) {
  if (!w) return;
  fe_statements_free(&w->statements, &w->graph);
  ir_free(mem, w->refs, ref_count(w) * sizeof *w->refs);
  ir_graph_free(&w->graph);
  ir_free(mem, w, sizeof *w);
}

static bool copy_graph(fe_witness *w, vf_graph *g) {
  ir_ref *map = NULL;
  size_t n = 0;
  for (size_t i = 0; i < g->output_count; i++) w->refs[n++] = g->outputs[i].ref;
  for (size_t i = 0; i < g->reference_count; i++) w->refs[n++] = g->references[i].ref;
  for (size_t i = 0; i < g->input_count; i++) w->refs[n++] = g->inputs[i].ref;
  for (size_t i = 0; i < g->variable_count; i++) w->refs[n++] = g->variables[i].ref;
  fe_statements_open(&w->statements, &w->graph);
  int64_t name = ir_name(&w->graph, g->name, g->name_length);
  if (name < 0 || ir_graph_copy(&w->graph, &g->ir, w->refs, n, &map) != IR_OK) return false;
  w->name = ir_name_text(&w->graph, name);
  w->graph.error = NULL; /* from now on nothing is recorded */
  fe_statements_copy_checked(&w->statements, &w->graph, &g->statements, &g->ir, map);
  ir_free(g->ir.mem, map, g->ir.count * sizeof *map);
  return true;
}

fe_witness *fe_witness_make(vf_graph *g, ir_error *error) {
  const ir_mem *mem = g->ir.mem;
  if (!fe_statements_check_any(&g->ir)) return NULL;
  fe_witness *w = ir_alloc(mem, sizeof *w);
  if (w) {
    *w = (fe_witness){.result_count = g->output_count + g->reference_count,
                      .input_count = g->input_count,
                      .variable_count = g->variable_count};
    w->refs = ir_alloc(mem, ref_count(w) * sizeof *w->refs);
    g->ir.error = error; /* no error of recording */
    bool good = ir_graph_init(&w->graph, mem, error) == IR_OK && w->refs && copy_graph(w, g);
    g->ir.error = &g->error;
    if (good) return w;
    fe_witness_free(w, mem);
  }
  ir_fail(error, IR_ERR_MEMORY, "out of memory making program @%.60s", g->name);
  return NULL;
}

void fe_witness_blame(fe_witness *w, const void *const *inputs, const int64_t *variables, ir_error *error) {
  const ir_mem *mem = w->graph.mem;
  ir_binding_input *in = ir_alloc(mem, w->input_count * sizeof *in);
  ir_var_value *vars = ir_alloc(mem, w->variable_count * sizeof *vars);
  const ir_ref *input = w->refs + w->result_count, *variable = input + w->input_count;
  for (size_t i = 0; in && i < w->input_count; i++) in[i] = (ir_binding_input){input[i], inputs[i]};
  for (size_t i = 0; vars && i < w->variable_count; i++) vars[i] = (ir_var_value){variable[i], variables[i]};
  if (in && vars)
    fe_blame_index(&(fe_blamed){.name = w->name,
                                .graph = &w->graph,
                                .statements = &w->statements,
                                .roots = w->refs,
                                .root_count = w->result_count,
                                .inputs = in,
                                .input_count = w->input_count,
                                .vars = vars,
                                .var_count = w->variable_count},
                   error);
  ir_free(mem, in, w->input_count * sizeof *in);
  ir_free(mem, vars, w->variable_count * sizeof *vars);
}
