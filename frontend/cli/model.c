/* Models where a graph is asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/cli/bind.h"
#include "frontend/cli/graph.h"
#include "frontend/cli/model.h"
#include "frontend/cli/progress.h"
#include "frontend/onnx/onnx.h"

typedef struct cli_model {
  vf_context *context;
  vf_graph *graph; /* whose `ir` is the cli_graph's, from opening to closing */
} cli_model;

bool cli_is_model(const char *word) {
  size_t length = strlen(word);
  return length > 5 && strcmp(word + length - 5, ".onnx") == 0;
}

rt_context *cli_model_constants(const cli_graph *s) { return s->model ? s->model->context->runtime : NULL; }

/* values of inputs */

enum { VALUES_MOST = 64 /* inputs whose values are given; models that need any need a few */ };
typedef struct settings {
  vf_import_shape shapes[VALUES_MOST];
  int64_t sizes[VALUES_MOST][IR_MAX_RANK];
  vf_import_value values[VALUES_MOST];
  fe_array arrays[VALUES_MOST];
  char names[VALUES_MOST][256], names_of_shapes[VALUES_MOST][256];
  vf_import_options options;
} settings;

static bool read_value(const cli_pair *pair, ir_dtype dtype, fe_array *out, ir_error *error) {
  if (cli_is_literal(pair->text)) return cli_read_literal(pair->name, pair->text, dtype, out, error);
  cli_read_file(pair->text, out, error);
  return error->status == IR_OK;
}

/* The value of an input that the importer asked for, if it is given. False where it is not, or with an error.
 */
static bool fix_input(settings *s, const onnx_asked *asked, cli_pairs *inputs, ir_error *error) {
  const cli_pair *pair = *asked->name && inputs ? cli_pairs_find(inputs, asked->name) : NULL;
  int i = s->options.value_count;
  if (!pair || i == VALUES_MOST) return false;
  ir_error_clear(error);
  if (!read_value(pair, asked->dtype, &s->arrays[i], error)) return false;
  memcpy(s->names[i], asked->name, sizeof s->names[i]);
  s->values[i] = (vf_import_value){s->names[i], (vf_dtype)s->arrays[i].dtype, s->arrays[i].rank,
                                   s->arrays[i].shape, s->arrays[i].data};
  s->options.value_count++;
  cli_pairs_remove(inputs, pair);
  return true;
}

/* Takes the shapes of all arrays that are given; false where one cannot be read. */
static bool fix_shapes(settings *s, const cli_pairs *inputs) {
  for (size_t k = 0; k < inputs->count && k < VALUES_MOST; k++) {
    ir_error ignored = {0};
    fe_array array;
    if (!read_value(&inputs->items[k], IR_F64, &array, &ignored)) return false;
    memcpy(s->sizes[k], array.shape, (size_t)array.rank * sizeof *array.shape);
    s->shapes[k] = (vf_import_shape){s->names_of_shapes[k], array.rank, s->sizes[k]};
    snprintf(s->names_of_shapes[k], sizeof *s->names_of_shapes, "%.*s", (int)inputs->items[k].length,
             inputs->items[k].name);
    s->options.shape_count = (int)k + 1;
    fe_array_free(&cli_array_mem, &array);
  }
  return inputs->count > 0;
}

/* The graph as a block of the module, which refers to its names and nodes. */
static bool add_block(cli_graph *s, const vf_graph *g) {
  ir_module *m = &s->module;
  if (!IR_RESERVE(m->mem, m->graphs, m->cap, 1)) return false;
  ir_parsed_graph *b = &m->graphs[m->count++];
  *b = (ir_parsed_graph){
      .kind = IR_BLOCK_GRAPH, .name = g->name, .name_length = g->name_length, .line = 1, .column = 1};
  if (!IR_RESERVE(m->mem, b->params, b->param_cap, g->input_count) ||
      !IR_RESERVE(m->mem, b->results, b->result_cap, g->output_count) ||
      !IR_RESERVE(m->mem, b->vars, b->var_cap, g->variable_count))
    return false;
  ir_ref *refs = malloc((g->output_count + 1) * sizeof *refs);
  if (!refs) return false;
  for (size_t i = 0; i < g->input_count; i++) b->params[b->param_count++] = g->inputs[i];
  for (size_t i = 0; i < g->output_count; i++) refs[i] = (b->results[b->result_count++] = g->outputs[i]).ref;
  for (size_t i = 0; i < g->variable_count; i++) b->vars[b->var_count++] = g->variables[i].ref;
  b->root = ir_tuple(&s->g, refs, (uint32_t)g->output_count);
  free(refs);
  return b->root != 0;
}

static void ask_for(const onnx_asked *asked, ir_error *error) {
  size_t used = strlen(error->text);
  snprintf(error->text + used, sizeof error->text - used, ": --in %s=VALUE", asked->name);
}

/* Imports with the values that the importer asks for, as long as they are given. */
static vf_graph *import_asking(vf_context *context, const char *path, settings *s, cli_pairs *given,
                               const char *weights_file, onnx_asked *asked, ir_error *error) {
  vf_graph *graph;
  do {
    *asked = (onnx_asked){0};
    graph = onnx_import_asking(context, path, &s->options, weights_file, asked, error);
  } while (!graph && fix_input(s, asked, given, error));
  return graph;
}

/* May the model be right for the sizes of the arrays that are given, though not for all? */
static bool may_depend_on_sizes(const ir_error *error) {
  return error->status == IR_ERR_INVALID || error->status == IR_ERR_UNSUPPORTED;
}

vf_graph *cli_model_import(vf_context *context, const char *path, cli_pairs *given, const char *weights_file,
                           ir_error *error) {
  settings *s = calloc(1, sizeof *s);
  vf_graph *graph;
  onnx_asked asked;
  if (!s) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory reading a model");
    return NULL;
  }
  s->options = (vf_import_options){.size = sizeof s->options, .values = s->values, .shapes = s->shapes};
  cli_work_show();
  graph = import_asking(context, path, s, given, weights_file, &asked, error);
  if (!graph && given && may_depend_on_sizes(error) && fix_shapes(s, given)) {
    const ir_error first = *error;
    ir_error_clear(error);
    graph = import_asking(context, path, s, given, weights_file, &asked, error);
    if (error->status == IR_ERR_UNSUPPORTED && first.status == error->status) *error = first;
  }
  cli_work_hide();
  if (!graph && *asked.name) ask_for(&asked, error);
  if (error->status == IR_ERR_UNSUPPORTED) error->status = IR_ERR_INVALID; /* a model is input */
  for (int i = 0; i < s->options.value_count; i++) fe_array_free(&cli_array_mem, &s->arrays[i]);
  free(s);
  return graph;
}

static void say(void *user, vf_log_level level, const char *text) {
  (void)user, (void)level;
  fprintf(stderr, "viewfold: %s\n", text);
}

vf_context *cli_model_context(ir_error *error) {
  vf_error failure = {0};
  const vf_options options = {.size = sizeof options, .threads = 1, .device = "cpu"};
  vf_context *made = fe_context_create(&options, NULL, cli_work(), &failure);
  if (!made) ir_fail(error, (ir_status)failure.status, "%s", failure.message);
  else vf_set_log(made, VF_LOG_WARNING, say, NULL);
  return made;
}

void cli_model_open(cli_graph *s, const char *path, cli_pairs *given) {
  cli_model *m = calloc(1, sizeof *m);
  s->model = m;
  if (!m) ir_fail(&s->error, IR_ERR_MEMORY, "out of memory reading a model");
  if (!m || !(m->context = cli_model_context(&s->error))) return;
  m->graph = cli_model_import(m->context, path, given, NULL, &s->error);
  if (!m->graph) return;
  ir_graph_free(&s->g);
  s->g = m->graph->ir;
  s->statements = &m->graph->statements;
  s->g.error = &s->error;
  s->g.task = cli_task();
  if (!add_block(s, m->graph)) ir_fail(&s->error, IR_ERR_MEMORY, "out of memory reading a model");
}

void cli_model_close(cli_graph *s) {
  cli_model *m = s->model;
  if (!m) return;
  if (m->graph) {
    m->graph->ir = s->g; /* which has grown */
    m->graph->ir.error = &m->graph->error;
    s->g = (ir_graph){.mem = &ir_mem_libc};
    vf_graph_destroy(m->graph);
  }
  vf_context_destroy(m->context);
  free(m);
  s->model = NULL;
}
