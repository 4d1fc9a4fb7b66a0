/* Named graphs: lifetime, names, text. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/api/references.h"
#include "frontend/report/dump.h"
#include "frontend/text/names.h"
#include "frontend/text/reader.h"
#include "ir/print/print.h"
#include "passes/ops/ops.h"

vf_graph *fe_graph_make(vf_context *c, const char *name, size_t length, ir_error *error) {
  vf_graph *g = ir_alloc(&c->mem, sizeof *g);
  if (!g) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory making a graph");
    return NULL;
  }
  *g = (vf_graph){.kind = FE_GRAPH, .context = c};
  int64_t id = -1;
  if (ir_graph_init(&g->ir, &c->mem, error) == IR_OK) id = ir_name(&g->ir, name, length);
  if (id < 0) {
    fe_graph_free(g);
    return NULL;
  }
  g->ir.error = &g->error;
  g->ir.customs = &c->customs.base;
  g->ir.relaxed = c->relaxed;
  fe_statements_open(&g->statements, &g->ir);
  g->name = ir_name_text(&g->ir, id);
  g->name_length = length;
  return g;
}

void fe_graph_free(vf_graph *g) {
  const ir_mem *mem = &g->context->mem;
  fe_graph_release_constants(g);
  ir_free(mem, g->inputs, g->input_cap * sizeof *g->inputs);
  ir_free(mem, g->outputs, g->output_cap * sizeof *g->outputs);
  ir_free(mem, g->variables, g->variable_cap * sizeof *g->variables);
  ir_free(mem, g->references, g->reference_cap * sizeof *g->references);
  ir_free(mem, g->pending.list, g->pending.cap * sizeof *g->pending.list);
  fe_vmap_values_free(g);
  fe_statements_free(&g->statements, &g->ir);
  ir_graph_free(&g->ir);
  fe_handle_ends(g);
  ir_free(mem, g, sizeof *g);
}

vf_graph *vf_graph_create(vf_context *c, const char *name, vf_error *error) {
  ir_error failure = {0};
  vf_graph *g = NULL;
  const char *wrong = fe_not(c, FE_CONTEXT);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "graph: the context is %s", wrong);
  else if ((g = fe_graph_make(c, name ? name : "graph", name ? strlen(name) : 5, &failure)))
    fe_context_retain(c);
  fe_report(error, &failure);
  return g;
}

void vf_graph_destroy(vf_graph *g) {
  if (!fe_is(g, FE_GRAPH) || g->is_session) return;
  vf_context *c = g->context;
  fe_graph_free(g);
  fe_context_release(c);
}

bool fe_graph_has_other_batch(const vf_graph *g, ir_ref value) {
  uint32_t rank = ir_batch_rank(&g->ir, value);
  return rank > g->level && rank > g->explicit_batch;
}

void fe_graph_note_batch(vf_graph *g, ir_ref value) {
  if (fe_graph_has_other_batch(g, value)) g->explicit_batch = ir_batch_rank(&g->ir, value);
}

/* names */

const ir_named *fe_graph_named(const ir_named *list, size_t count, const char *name, size_t length) {
  for (size_t i = 0; i < count; i++)
    if (list[i].length == length && memcmp(list[i].name, name, length) == 0) return &list[i];
  return NULL;
}

bool fe_graph_add(vf_graph *g, ir_named **list, size_t *count, size_t *cap, const char *name, size_t length,
                  ir_ref ref) {
  int64_t id = ir_name(&g->ir, name, length);
  if (id < 0 || !IR_RESERVE(g->ir.mem, *list, *cap, *count + 1)) {
    ir_fail(&g->error, IR_ERR_MEMORY, "out of memory naming %.60s", name);
    return false;
  }
  (*list)[(*count)++] = (ir_named){.name = ir_name_text(&g->ir, id), .length = length, .ref = ref};
  return true;
}

vf_value vf_output(vf_graph *g, const char *name, vf_value value) {
  fe_call c;
  ir_ref made = 0;
  bool good = fe_begin_in(&c, "output", g) && fe_operands(&c, &value, 1);
  if (good && (!name || !*name)) good = fe_refuse(&c, "the output has no name");
  if (good && g->is_session)
    good = fe_refuse(&c, "the session has no outputs; keep the value with vf_tensor_keep");
  if (good && fe_graph_named(g->outputs, g->output_count, name, strlen(name)))
    good = fe_refuse(&c, "the name %.60s is taken by another output", name);
  const ir_named *input = good ? fe_graph_named(g->inputs, g->input_count, name, strlen(name)) : NULL;
  if (input && input->ref != value.id) good = fe_refuse(&c, "the name %.60s is taken by an input", name);
  if (good && !ir_shape(c.ir, value.id))
    good = fe_refuse(&c, "%.60s is an expression of sizes, not a tensor", name);
  if (good && fe_graph_has_other_batch(g, value.id))
    good = fe_refuse(
        &c,
        "%.60s depends on a value of the function of a vf_vmap, which has ended; it is one value for "
        "each index there: make it a result of that function, and use the result of vf_vmap",
        name);
  if (good) made = op_default_dtype(c.ir, value.id);
  if (made && !fe_graph_add(g, &g->outputs, &g->output_count, &g->output_cap, name, strlen(name), made))
    made = 0;
  c.statement = 0; /* nothing is computed: a value has a name more */
  if (made && !fe_statements_name_of(&g->statements, c.ir, made))
    fe_statements_name(&g->statements, c.ir, made, name);
  return fe_end(&c, made);
}

vf_value vf_graph_find(vf_graph *g, const char *name) {
  const ir_named *found = NULL;
  size_t length = name ? strlen(name) : 0;
  if (g && name) {
    found = fe_graph_named(g->inputs, g->input_count, name, length);
    if (!found) found = fe_graph_named(g->outputs, g->output_count, name, length);
    if (!found) found = fe_graph_named(g->variables, g->variable_count, name, length);
  }
  if (!g || found) return (vf_value){g, found ? found->ref : 0, g ? g->epoch : 0};
  snprintf(g->missed, sizeof g->missed, "%s", name ? name : "");
  return (vf_value){g, 0, FE_NOT_FOUND};
}

const char *fe_graph_missed(const vf_graph *g, char *out, size_t size) {
  const ir_named *lists[] = {g->inputs, g->outputs, g->variables};
  const size_t counts[] = {g->input_count, g->output_count, g->variable_count};
  size_t used =
      (size_t)snprintf(out, size, "what vf_graph_find returned for '%s', a name that @%.60s does not have",
                       g->missed, g->name);
  const char *lead = "; it has ";
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < counts[k] && used < size; i++, lead = ", ")
      used += (size_t)snprintf(out + used, size - used, "%s%.40s", lead, lists[k][i].name);
  return out;
}

/* errors */

vf_status vf_graph_status(const vf_graph *g) {
  return fe_not(g, FE_GRAPH) ? VF_ERR_INVALID : (vf_status)g->error.status;
}
const char *vf_graph_message(const vf_graph *g) {
  if (fe_not(g, FE_GRAPH)) return g ? "the graph is another handle" : "the graph is NULL";
  return g->error.status ? g->error.text : "";
}
void vf_graph_clear_error(vf_graph *g) {
  if (!fe_is(g, FE_GRAPH)) return;
  ir_error_clear(&g->error);
  g->said_call = false;
}

/* Has the reference been written? */
static bool is_written(const vf_graph *g, const ir_named *reference) {
  return fe_graph_named(g->inputs, g->input_count, reference->name, reference->length)->ref != reference->ref;
}

static size_t result_count(const vf_graph *g) {
  size_t count = g->output_count;
  for (size_t i = 0; i < g->reference_count; i++) count += is_written(g, &g->references[i]);
  return count;
}

/* The first result after the taps that no result depends on. */
static bool keep_taps(vf_graph *g, ir_named *results, size_t count) {
  if (!g->pending.count || !count) return true;
  ir_ref *refs = ir_alloc(g->ir.mem, count * sizeof *refs);
  for (size_t i = 0; i < count && refs; i++) refs[i] = results[i].ref;
  bool good = refs && fe_pending_keep(&g->ir, &g->pending, 0, 0, refs, count, &results[0].ref);
  ir_free(g->ir.mem, refs, count * sizeof *refs);
  return good;
}

ir_named *fe_graph_results(vf_graph *g, size_t *count) {
  *count = result_count(g);
  ir_named *list = ir_alloc(g->ir.mem, *count * sizeof *list);
  size_t n = 0;
  for (size_t i = 0; i < g->output_count && list; i++) list[n++] = g->outputs[i];
  for (size_t i = 0; i < g->reference_count && list; i++)
    if (is_written(g, &g->references[i])) list[n++] = g->references[i];
  if (!list || keep_taps(g, list, n)) return list;
  ir_free(g->ir.mem, list, *count * sizeof *list);
  return NULL;
}

/* False after failing: a builder's error, nothing to compute. */
static bool can_compile(const vf_graph *g, ir_error *error) {
  size_t results = result_count(g);
  if (g->error.status) *error = g->error;
  else if (g->is_session)
    ir_fail(
        error, IR_ERR_INVALID,
        "the session is compiled as its tensors are asked for, by vf_tensor_data or vf_tensor_realise; for a "
        "program of one's own record into a graph of vf_graph_create");
  else if (results == 0 || results > UINT32_MAX)
    ir_fail(error, IR_ERR_INVALID, "graph @%.60s has no outputs; name one with vf_output", g->name);
  return !error->status;
}

/* The results as they are compiled. */
static ir_ref firm_results(vf_graph *g, ir_ref *refs, pass_reference *references, size_t *reference_count) {
  size_t count;
  ir_named *results = fe_graph_results(g, &count);
  ir_ref made = 0;
  bool good = results != NULL;
  for (size_t i = 0; i < count && good; i++)
    good = (refs[i] = fe_firm_result(&g->ir, g->inputs, g->input_count, &results[i])) != 0;
  if (good) {
    *reference_count = fe_list_references(g->inputs, g->input_count, results, count, references);
    made = ir_tuple(&g->ir, refs, (uint32_t)count);
  }
  ir_free(g->ir.mem, results, count * sizeof *results);
  return made;
}

void fe_graph_begin_task(vf_graph *g) {
  ir_task_begin(&g->task, g->context->progress);
  g->ir.task = &g->task;
}

void fe_graph_end_task(vf_graph *g) {
  g->ir.task = NULL;
  if (g->error.status == IR_ERR_CANCELLED) ir_error_clear(&g->error); /* no error of recording */
}

bool fe_graph_request(vf_graph *g, fe_request *out, ir_error *error) {
  *out = (fe_request){.graph = &g->ir,
                      .name = g->name,
                      .input_count = g->input_count,
                      .var_count = g->variable_count,
                      .observer = fe_watch_observer(&g->context->watch)};
  if (!can_compile(g, error)) return false;
  fe_graph_begin_task(g);
  size_t inputs = g->input_count, variables = g->variable_count;
  ir_ref *refs = ir_alloc(g->ir.mem, (inputs + variables + result_count(g)) * sizeof *refs);
  pass_reference *references = ir_alloc(g->ir.mem, inputs * sizeof *references);
  out->inputs = refs;
  out->references = references;
  if (refs && references) {
    for (size_t i = 0; i < inputs; i++) refs[i] = g->inputs[i].ref;
    for (size_t i = 0; i < variables; i++) refs[inputs + i] = g->variables[i].ref;
    out->vars = refs + inputs;
    g->ir.error = error;
    out->results = firm_results(g, refs + inputs + variables, references, &out->reference_count);
    g->ir.error = &g->error;
  }
  if (out->results) return true;
  fe_graph_request_free(g, out);
  ir_fail(error, IR_ERR_MEMORY, "out of memory listing the outputs of a graph");
  return false;
}

void fe_graph_request_free(vf_graph *g, fe_request *request) {
  size_t count = g->input_count + g->variable_count + result_count(g);
  fe_graph_end_task(g);
  ir_free(g->ir.mem, (ir_ref *)request->inputs, count * sizeof(ir_ref));
  ir_free(g->ir.mem, (pass_reference *)request->references, g->input_count * sizeof *request->references);
}

/* text */

static bool add_reference(vf_graph *g, const ir_named *input, ir_ref newest) {
  if (!fe_graph_add(g, &g->references, &g->reference_count, &g->reference_cap, input->name, input->length,
                    newest))
    return false;
  g->references[g->reference_count - 1].reference = true;
  return true;
}

static ir_ref newest_of(const ir_parsed_graph *block, const ir_named *input) {
  for (size_t i = 0; i < block->result_count; i++) {
    const ir_named *r = &block->results[i];
    if (r->reference && r->length == input->length && !memcmp(r->name, input->name, r->length)) return r->ref;
  }
  return input->ref;
}

static bool adopt_variables(vf_graph *g, const ir_parsed_graph *block) {
  for (size_t i = 0; i < block->var_count; i++) {
    const ir_node *n = ir_get(&g->ir, block->vars[i]);
    if (!fe_graph_add(g, &g->variables, &g->variable_count, &g->variable_cap, ir_name_text(&g->ir, n->arg),
                      ir_name_length(&g->ir, n->arg), block->vars[i]))
      return false;
  }
  for (size_t i = 0; i < block->param_count; i++) {
    const ir_named *p = &block->params[i];
    if (!fe_graph_add(g, &g->inputs, &g->input_count, &g->input_cap, p->name, p->length, p->ref))
      return false;
    g->inputs[g->input_count - 1].reference = p->reference;
    fe_graph_note_batch(g, p->ref);
    if (p->reference && !add_reference(g, p, newest_of(block, p))) return false;
  }
  for (size_t i = 0; i < block->result_count; i++) {
    const ir_named *r = &block->results[i];
    if (r->reference) continue;
    ir_ref firm = op_default_dtype(&g->ir, r->ref);
    fe_graph_note_batch(g, firm);
    if (!firm || !fe_graph_add(g, &g->outputs, &g->output_count, &g->output_cap, r->name, r->length, firm))
      return false;
  }
  g->name = block->name;
  g->name_length = block->name_length;
  return fe_graph_use_constants(g, 1);
}

static const ir_parsed_graph *choose_graph(const ir_module *module, const char *which) {
  if (which) return ir_module_find(module, which);
  for (size_t i = 0; i < module->count; i++)
    if (module->graphs[i].kind == IR_BLOCK_GRAPH && !module->graphs[i].called) return &module->graphs[i];
  return NULL;
}

static void fail_other_graphs(ir_error *error, const char *file, const char *which, const ir_module *module) {
  char names[160] = "";
  for (size_t i = 0, at = 0; i < module->count && at < sizeof names; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s@%.*s", i ? ", " : "",
                           module->graphs[i].name_length < 40 ? (int)module->graphs[i].name_length : 40,
                           module->graphs[i].name);
  ir_fail(error, IR_ERR_INVALID, "%.200s: error: no graph%s%.60s; it holds %s", file, which ? " @" : "",
          which ? which : "", names);
}

/* Is the error at the last bytes of a text that ends within a graph? */
static bool is_at_end(const ir_error *error, const char *text, size_t length) {
  char last[32];
  int line = 1;
  size_t start = 0;
  while (length && strchr(" \n\t\r", text[length - 1])) length--;
  if (!length || text[length - 1] == '}') return false;
  for (size_t i = 0; i < length; i++)
    if (text[i] == '\n') line++, start = i + 1;
  if (strstr(error->text, "the end of the text")) return true;
  snprintf(last, sizeof last, ":%d:%zu: ", line, length - start);
  return strstr(error->text, last) != NULL;
}

/* The text ends where its length ends, which may be another than that of the text. */
static void say_length(ir_error *error, size_t length) {
  size_t used = strlen(error->text);
  snprintf(error->text + used, sizeof error->text - used,
           length == sizeof(char *) ? "; the text has %zu bytes, as a pointer has: its length is strlen(text)"
                                    : "; the text ends after %zu bytes, the length that is given",
           length);
}

static bool is_file_name(const char *text, size_t length) {
  bool dot = false;
  for (size_t i = 0; text && i < length; i++) {
    if (strchr(" \n\t@%{", text[i])) return false;
    dot |= text[i] == '.' || text[i] == '/';
  }
  return dot;
}

vf_graph *vf_graph_parse(vf_context *c, const char *text, size_t length, const char *file, const char *which,
                         vf_error *error) {
  ir_error failure = {0};
  vf_graph *g = NULL;
  if (!file) file = "<text>";
  if (fe_not(c, FE_CONTEXT))
    ir_fail(&failure, IR_ERR_INVALID, "%.60s: the context is %s", file, fe_not(c, FE_CONTEXT));
  else if (!text && length) ir_fail(&failure, IR_ERR_INVALID, "%.60s: the text is NULL", file);
  else g = fe_graph_make(c, "graph", 5, &failure);
  if (g) {
    ir_module module;
    unsigned failures = fe_failures(c);
    fe_weights weights;
    fe_weights_init(&weights, &c->mem, c->runtime);
    bool good = fe_parse_graphs_with(&g->ir, file, text ? text : "", length, &weights, &g->statements,
                                     &module) == IR_OK;
    const ir_parsed_graph *block = good ? choose_graph(&module, which) : NULL;
    if (good && (!block || block->kind != IR_BLOCK_GRAPH)) fail_other_graphs(&g->error, file, which, &module);
    if (block && !g->error.status && !adopt_variables(g, block) && !g->error.status)
      ir_fail(&g->error, IR_ERR_MEMORY, "%.200s: out of memory", file);
    ir_module_free(&module);
    fe_weights_close(&weights);
    fe_report_as_memory(c, failures, &g->error);
    failure = g->error;
    if (failure.status == IR_ERR_INVALID && text && is_at_end(&failure, text, length))
      say_length(&failure, length);
    if (failure.status) {
      fe_graph_free(g);
      g = NULL;
    } else {
      fe_context_retain(c);
    }
  }
  if (!g && failure.status == IR_ERR_INVALID && is_file_name(text, length)) {
    size_t used = strlen(failure.text);
    snprintf(failure.text + used, sizeof failure.text - used,
             "; this is the text of graphs, not the name of a file");
  }
  fe_report(error, &failure);
  return g;
}

static ir_parsed_graph block_of(const vf_graph *g, ir_named *results, size_t count) {
  return (ir_parsed_graph){.kind = IR_BLOCK_GRAPH,
                           .name = g->name,
                           .name_length = g->name_length,
                           .params = g->inputs,
                           .param_count = g->input_count,
                           .results = results,
                           .result_count = count};
}

char *vf_graph_text(vf_graph *g, vf_error *error) {
  ir_error failure = {0};
  char *made = NULL;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "text: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (g->error.status) {
    failure = g->error;
  } else {
    ir_text text;
    size_t count;
    ir_named *results = fe_graph_results(g, &count);
    ir_text_init(&text, g->ir.mem);
    g->ir.error = &failure;
    const ir_parsed_graph block = block_of(g, results, count);
    fe_names names = {0};
    if (results && fe_names_of(&g->statements, &g->ir, &block, &names))
      ir_print_with_names(&g->ir, &block, names.list, names.count, &text);
    else text.failed = true;
    g->ir.error = &g->error;
    fe_names_free(g->ir.mem, &names);
    ir_free(g->ir.mem, results, count * sizeof *results);
    made = fe_text_out(g->context, &text, &failure);
  }
  fe_report(error, &failure);
  return made;
}

static void dump_stage(vf_graph *g, const char *stage, ir_text *out, ir_error *error) {
  size_t count;
  ir_named *results = fe_graph_results(g, &count);
  const ir_parsed_graph block = block_of(g, results, count);
  fe_dump_options options = {.module = rt_context_codegen(g->context->runtime),
                             .context = g->context->runtime,
                             .statements = &g->statements,
                             .observer = fe_watch_observer(&g->context->watch)};
  if (!results) ir_fail(error, IR_ERR_MEMORY, "out of memory listing the outputs of a graph");
  else if (fe_stage_find(stage, &options, error) == IR_OK) {
    options.target = rt_context_target(g->context->runtime, error);
    if (options.target) fe_dump(&g->ir, &block, &options, out, error);
    else ir_fail(error, IR_ERR_MEMORY, "out of memory describing the processor");
  }
  ir_free(g->ir.mem, results, count * sizeof *results);
}

char *vf_graph_dump(vf_graph *g, const char *stage, vf_error *error) {
  if (stage && strcmp(stage, "graph") == 0) return vf_graph_text(g, error);
  ir_error failure = {0};
  char *made = NULL;
  if (fe_not(g, FE_GRAPH)) {
    ir_fail(&failure, IR_ERR_INVALID, "dump: the graph is %s", fe_not(g, FE_GRAPH));
  } else if (!stage) {
    ir_fail(&failure, IR_ERR_INVALID, "dump: the stage is NULL");
  } else if (can_compile(g, &failure)) {
    ir_text text;
    ir_text_init(&text, g->ir.mem);
    unsigned failures = fe_failures(g->context);
    fe_graph_begin_task(g);
    dump_stage(g, stage, &text, &failure);
    fe_graph_end_task(g);
    ir_say_cancelled(&failure, "graph @%.60s: cancelled while its stage '%.20s' was made; ask for it again",
                     g->name, stage);
    fe_report_as_memory(g->context, failures, &failure);
    if (failure.status) ir_text_free(&text);
    else made = fe_text_out(g->context, &text, &failure);
  }
  fe_report(error, &failure);
  return made;
}
