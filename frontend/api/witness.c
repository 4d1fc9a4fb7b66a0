#include "frontend/api/witness.h"

#include <string.h>

#include "frontend/api/api.h"
#include "frontend/blame/blame.h"

static size_t changed_count(const fe_witness *w) { return w->result_count - w->output_count; }
static size_t ref_count(const fe_witness *w) { return w->result_count + w->input_count + w->variable_count; }

void fe_witness_free(fe_witness *w, const ir_mem *mem) {
  if (!w) return;
  fe_statements_free(&w->statements, &w->graph);
  ir_free(mem, w->refs, ref_count(w) * sizeof *w->refs);
  ir_free(mem, w->changed, changed_count(w) * sizeof *w->changed);
  ir_graph_free(&w->graph);
  ir_free(mem, w, sizeof *w);
}

/* named: the results as they are compiled, of which names are taken. Newest versions of references are looked
 * up by name, as the first result is compiled behind the taps, which a search is not to run. */
static bool copy_graph(fe_witness *w, vf_graph *g, const ir_named *named) {
  ir_ref *map = NULL;
  size_t n = 0;
  for (size_t i = 0; i < g->output_count; i++) w->refs[n++] = g->outputs[i].ref;
  for (size_t i = g->output_count; i < w->result_count; i++) {
    const char *name = named[i].name;
    size_t length = named[i].length;
    w->changed[i - g->output_count] =
        (uint32_t)(fe_graph_named(g->inputs, g->input_count, name, length) - g->inputs);
    w->refs[n++] = fe_graph_named(g->references, g->reference_count, name, length)->ref;
  }
  for (size_t i = 0; i < g->input_count; i++) w->refs[n++] = g->inputs[i].ref;
  for (size_t i = 0; i < g->variable_count; i++) w->refs[n++] = g->variables[i].ref;
  fe_statements_open(&w->statements, &w->graph);
  int64_t name = ir_name(&w->graph, g->name, g->name_length);
  if (name < 0 || ir_graph_copy(&w->graph, &g->ir, w->refs, n, &map) != IR_OK) return false;
  w->name = ir_name_text(&w->graph, name);
  w->graph.error = NULL; /* from now on nothing is recorded */
  fe_statements_copy(&w->statements, &w->graph, &g->statements, &g->ir, map, w->watched);
  ir_free(g->ir.mem, map, g->ir.count * sizeof *map);
  return true;
}

fe_witness *fe_witness_make(vf_graph *g, ir_error *error) {
  const ir_mem *mem = g->ir.mem;
  bool watched = g->context->watched != 0;
  if (!watched && !fe_statements_check_any(&g->ir)) return NULL;
  size_t results = 0;
  ir_named *named = fe_graph_results(g, &results);
  fe_witness *w = named ? ir_alloc(mem, sizeof *w) : NULL;
  bool good = false;
  if (w) {
    *w = (fe_witness){.output_count = g->output_count,
                      .result_count = results,
                      .input_count = g->input_count,
                      .variable_count = g->variable_count,
                      .watched = watched};
    w->refs = ir_alloc(mem, ref_count(w) * sizeof *w->refs);
    w->changed = ir_alloc(mem, changed_count(w) * sizeof *w->changed);
    g->ir.error = error; /* no error of recording */
    good = ir_graph_init(&w->graph, mem, error) == IR_OK && w->refs && w->changed && copy_graph(w, g, named);
    g->ir.error = &g->error;
  }
  ir_free(mem, named, results * sizeof *named);
  if (good) return w;
  fe_witness_free(w, mem);
  ir_fail(error, IR_ERR_MEMORY, "out of memory making program @%.60s", g->name);
  return NULL;
}

/* The witness bound to the caller's lists. False when memory is short; to be unbound in any case. */
typedef struct bound {
  ir_binding_input *inputs;
  ir_var_value *variables;
  fe_blamed blamed;
} bound;

static bool bind(fe_witness *w, const void *const *inputs, const int64_t *variables, bound *out) {
  const ir_mem *mem = w->graph.mem;
  const ir_ref *input = w->refs + w->result_count, *variable = input + w->input_count;
  out->inputs = ir_alloc(mem, w->input_count * sizeof *out->inputs);
  out->variables = ir_alloc(mem, w->variable_count * sizeof *out->variables);
  for (size_t i = 0; out->inputs && i < w->input_count; i++)
    out->inputs[i] = (ir_binding_input){input[i], inputs[i]};
  for (size_t i = 0; out->variables && i < w->variable_count; i++)
    out->variables[i] = (ir_var_value){variable[i], variables[i]};
  out->blamed = (fe_blamed){.name = w->name,
                            .graph = &w->graph,
                            .statements = &w->statements,
                            .roots = w->refs,
                            .root_count = w->result_count,
                            .inputs = out->inputs,
                            .input_count = w->input_count,
                            .vars = out->variables,
                            .var_count = w->variable_count};
  return out->inputs && out->variables;
}

static void unbind(const fe_witness *w, bound *b) {
  ir_free(w->graph.mem, b->inputs, w->input_count * sizeof *b->inputs);
  ir_free(w->graph.mem, b->variables, w->variable_count * sizeof *b->variables);
}

void fe_witness_blame(fe_witness *w, const void *const *inputs, const int64_t *variables, ir_error *error) {
  bound b;
  if (bind(w, inputs, variables, &b)) fe_blame_index(&b.blamed, error);
  unbind(w, &b);
}

/* The memory of references. */
static fe_changed *list_changed(const fe_witness *w, const vf_program *p, const void *const *inputs,
                                const int64_t *variables) {
  size_t count = changed_count(w);
  fe_changed *list = ir_alloc(w->graph.mem, count * sizeof *list);
  for (size_t i = 0; list && i < count; i++) {
    int64_t bytes = vf_port_bytes(p, VF_INPUT, (int)w->changed[i], variables, NULL);
    list[i] = (fe_changed){(void *)(uintptr_t)inputs[w->changed[i]], bytes > 0 ? (size_t)bytes : 0};
  }
  return list;
}

ir_status fe_witness_run(fe_witness *w, const vf_program *p, fe_watched_run *run, const void *const *inputs,
                         const int64_t *variables, ir_error *error) {
  const ir_mem *mem = w->graph.mem;
  bound b;
  fe_silent silent;
  size_t references = changed_count(w);
  fe_changed *changed = list_changed(w, p, inputs, variables);
  fe_silent_init(&silent, w->graph.customs);
  if (bind(w, inputs, variables, &b) && changed) {
    run->kinds = fe_program_context(p)->watched;
    run->blamed = &b.blamed;
    run->customs = &silent.base;
    run->changed = changed;
    run->changed_count = references;
    fe_run_watched(run, error);
  } else {
    ir_fail(error, IR_ERR_MEMORY, "out of memory for a watched run");
  }
  unbind(w, &b);
  ir_free(mem, changed, references * sizeof *changed);
  return error->status;
}
