/* `viewfold import`: a model as a graph in text, and its weights in a file beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frontend/api/api.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/model.h"
#include "frontend/cli/options.h"
#include "frontend/files/arrays.h"

static const char help_text[] =
    "Usage: viewfold import MODEL.onnx -o GRAPH.vf [--in NAME=VALUE]...\n"
    "\n"
    "Writes a model as a graph in text. Weights of more than 1,024 bytes go to GRAPH.safetensors beside it, "
    "under "
    "the names\n"
    "that the model gives them; without weights there is no such file. Symbolic sizes are variables of the "
    "graph.\n"
    "\n"
    "  $ viewfold import model.onnx -o model.vf\n"
    "  $ viewfold run model.vf --in x=x.npy\n"
    "\n"
    "Options:\n"
    "  -o FILE           the graph, `-` for standard output\n"
    "  --in NAME=VALUE   the value of an input that the importer must know, such as a shape; it is part of "
    "the "
    "graph then\n"
    "\n"
    "Exit status: 0; 2 when the model is wrong or has an operator that viewfold lacks.\n";

/* GRAPH.safetensors of GRAPH.vf. False where it does not fit. */
static bool weights_path(const char *graph, char *out, size_t size) {
  size_t length = strlen(graph);
  if (strcmp(graph, "-") == 0) return (size_t)snprintf(out, size, "model.safetensors") < size;
  if (length > 3 && strcmp(graph + length - 3, ".vf") == 0) length -= 3;
  int made = snprintf(out, size, "%.*s.safetensors", (int)length, graph);
  return made > 0 && (size_t)made < size;
}

static ir_status write_weights(const vf_graph *g, const char *path, ir_error *error) {
  fe_named_array *list = calloc(g->constant_count + 1, sizeof *list);
  int64_t(*shapes)[IR_MAX_RANK] = calloc(g->constant_count + 1, sizeof *shapes);
  ir_text names;
  ir_text_init(&names, &ir_mem_libc);
  size_t *starts = calloc(g->constant_count + 1, sizeof *starts);
  if (!list || !shapes || !starts) ir_fail(error, IR_ERR_MEMORY, "out of memory listing weights");
  for (size_t i = 0; i < g->constant_count && !error->status; i++) {
    ir_ref ref = g->constants[i].ref;
    ir_origin origin = {0};
    ir_resource_origin(&g->ir, ref, &origin);
    starts[i] = names.len;
    ir_text_add(&names, origin.name, origin.name_length);
    ir_text_add(&names, "", 1);
    for (uint32_t k = 0; k < ir_rank(&g->ir, ref); k++)
      ir_is_const(&g->ir, ir_dim(&g->ir, ref, k), &shapes[i][k]);
    list[i] = (fe_named_array){NULL, ir_dtype_of(&g->ir, ref), (int)ir_rank(&g->ir, ref), shapes[i],
                               rt_constant_bytes(g->constants[i].constant)};
  }
  if (names.failed) ir_fail(error, IR_ERR_MEMORY, "out of memory listing weights");
  for (size_t i = 0; i < g->constant_count && !error->status; i++) list[i].name = names.data + starts[i];
  if (!error->status) fe_arrays_write(path, list, g->constant_count, &ir_mem_libc, error);
  ir_text_free(&names);
  free(starts);
  free(shapes);
  free(list);
  return error->status;
}

static ir_status write_text(vf_graph *g, const char *path, ir_error *error) {
  vf_error failure = {0};
  fe_atomic_file file;
  char *text = vf_graph_text(g, &failure);
  if (!text) return ir_fail(error, (ir_status)failure.status, "%s", failure.message);
  ir_status status =
      strcmp(path, "-") == 0 ? fe_atomic_stdout(&file, error) : fe_atomic_open(&file, path, error);
  if (!status && fe_atomic_write(&file, text, strlen(text), error) == IR_OK) fe_atomic_commit(&file, error);
  vf_text_free(g->context, text);
  return error->status;
}

/* Refuses an output that is the model's file, or one of those of its weights. */
static ir_status check_output(const char *path, const char *model, const vf_graph *g, ir_error *error) {
  struct stat output, input;
  if (strcmp(path, "-") == 0 || stat(path, &output)) return IR_OK;
  bool same = stat(model, &input) == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino;
  for (size_t i = 0; i < g->constant_count && !same; i++) {
    const rt_mapped_file *file = rt_constant_file(g->constants[i].constant);
    const rt_file_identity *mapped = file ? rt_mapped_identity(file) : NULL;
    same = mapped && mapped->device == (uint64_t)output.st_dev && mapped->inode == (uint64_t)output.st_ino;
  }
  return same ? ir_fail(error, IR_ERR_INVALID,
                        "%.200s: error: it is a file of the model %.200s; give -o another "
                        "name",
                        path, model)
              : IR_OK;
}

static bool ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), own = strlen(ending);
  return length > own && strcmp(path + length - own, ending) == 0;
}

/* Refuses a name of a file that is no text. */
static ir_status check_ending(const char *path, ir_error *error) {
  static const char *const others[] = {".onnx", ".npy", ".npz", ".safetensors", ".json"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (ends_with(path, others[i]))
      return ir_fail(error, IR_ERR_INVALID,
                     "-o %.200s: a graph is written as text, a .vf; a name that ends with %s would mislead",
                     path, others[i]);
  return IR_OK;
}

/* Values are for inputs that the model has. Those that the importer asked for have been taken. */
static ir_status check_given(const vf_graph *g, const cli_pairs *given, ir_error *error) {
  char list[300] = "";
  size_t used = 0;
  for (size_t i = 0; i < g->input_count && used < sizeof list - 64; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%.40s", i ? ", " : "", g->inputs[i].name);
  for (size_t i = 0; i < given->count && !error->status; i++) {
    const cli_pair *pair = &given->items[i];
    if (!fe_graph_named(g->inputs, g->input_count, pair->name, pair->length))
      ir_fail(error, IR_ERR_INVALID, "--in %.*s: the model has no such input; it has %s",
              (int)(pair->length < 60 ? pair->length : 60), pair->name, *list ? list : "none");
  }
  return error->status;
}

static int import(const char *model, const char *output, cli_pairs *given) {
  char weights[4096];
  ir_error error = {0};
  if (!weights_path(output, weights, sizeof weights)) return cli_usage("import", "-o: the name is too long");
  const char *slash = strrchr(weights, '/');
  vf_context *context = cli_model_context(&error);
  vf_graph *g = context ? cli_model_import(context, model, given, slash ? slash + 1 : weights, &error) : NULL;
  if (g && check_given(g, given, &error) == IR_OK && check_output(output, model, g, &error) == IR_OK &&
      check_ending(output, &error) == IR_OK && g->constant_count)
    check_output(weights, model, g, &error);
  if (g && !error.status && g->constant_count) write_weights(g, weights, &error);
  if (g && !error.status) write_text(g, output, &error);
  vf_graph_destroy(g);
  vf_context_destroy(context);
  return error.status ? cli_failure("import", &error) : CLI_OK;
}

int cli_import(int argc, char **argv) {
  const char *word = NULL, *output = NULL;
  cli_pairs given = {0};
  const cli_option options[] = {{"-o", "a file to write", cli_last, &output},
                                {"--in", "NAME=VALUE", cli_pairs_add, &given}};
  int status = cli_read_word(help_text, options, sizeof options / sizeof *options, &word,
                             "one model at a time, found '%s' as well", argc, argv);
  if (status == CLI_END && (!word || !output))
    status = cli_usage("import", "%s; for example: viewfold import model.onnx -o model.vf",
                       word ? "no -o FILE to write to" : "no model given");
  if (status == CLI_END) status = import(word, output, &given);
  cli_pairs_free(&given);
  return status;
}
