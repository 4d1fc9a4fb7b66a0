#include "frontend/cli/graph.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/compiling.h"
#include "frontend/api/references.h"
#include "frontend/cli/bind.h"
#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "frontend/cli/trace.h"
#include "frontend/cli/progress.h"
#include "frontend/files/npy_header.h"
#include "frontend/report/summary.h"
#include "frontend/text/chain.h"
#include "frontend/text/reader.h"
#include "passes/ops/ops.h"

int cli_failure(const char *command, const ir_error *error) {
  bool placed = strstr(error->text, ": error: ") != NULL; /* begins with a file's name */
  size_t length = strlen(command);
  /* of the library's function of that name */
  bool named = !strncmp(error->text, command, length) && error->text[length] == ':';
  cli_work_erase();
  if (error->status == IR_ERR_CANCELLED) fprintf(stderr, "viewfold %s: interrupted\n", command);
  else if (placed) fprintf(stderr, "%s\n", error->text);
  else if (named) fprintf(stderr, "viewfold %s\n", error->text);
  else fprintf(stderr, "viewfold %s: %s\n", command, error->text);
  switch (error->status) {
  case IR_OK:
  case IR_ERR_INVALID:
  case IR_ERR_IO:
  case IR_ERR_RANGE: return CLI_BAD_INPUT;
  case IR_ERR_MEMORY:
  case IR_ERR_UNSUPPORTED:
  case IR_ERR_COMPILE:
  case IR_ERR_DEVICE:
  case IR_ERR_INTERNAL: return CLI_DEVICE;
  case IR_ERR_VALUE: return CLI_CHECK_FAILED;
  case IR_ERR_CANCELLED: return CLI_SIGNAL + SIGINT;
  }
  return CLI_DEVICE;
}

/* graphs */

static bool is_chain(const char *word) {
  size_t length = strcspn(word, "[");
  return word[length] == '[' && ir_dtype_parse(word, length) != IR_NONE;
}

static bool add_named(const ir_mem *mem, ir_named **list, size_t *count, size_t *cap, ir_named item) {
  if (!IR_RESERVE(mem, *list, *cap, 1)) return false;
  (*list)[(*count)++] = item;
  return true;
}

/* Make the chain the only graph of the module. */
static void open_chain(cli_graph *s, const char *text) {
  ir_graph *g = &s->g;
  ir_module *m = &s->module;
  ir_ref made = fe_chain_parse(g, "<chain>", text, strlen(text)), buffer = made;
  while (buffer && ir_op_of(g, buffer) != IR_OP_INPUT) buffer = ir_src(g, buffer, 0);
  if (!made) return;
  ir_ref root = ir_tuple(g, &made, 1);
  if (root && IR_RESERVE(m->mem, m->graphs, m->cap, 1)) {
    ir_parsed_graph *block = &m->graphs[m->count++];
    *block = (ir_parsed_graph){
        .kind = IR_BLOCK_GRAPH, .name = "chain", .name_length = 5, .root = root, .line = 1, .column = 1};
    if (add_named(m->mem, &block->params, &block->param_count, &block->param_cap,
                  (ir_named){.name = "x", .length = 1, .ref = buffer}) &&
        add_named(m->mem, &block->results, &block->result_count, &block->result_cap,
                  (ir_named){.name = "y", .length = 1, .ref = made}))
      return;
  }
  ir_fail(g->error, IR_ERR_MEMORY, "out of memory reading a chain");
}

int cli_graph_no_values(const char *command, const char *word, const struct cli_pairs *given) {
  if (!given->count || cli_is_model(word)) return CLI_OK;
  return cli_usage(command,
                   "--in %.*s: it tells the importer of an ONNX model an input that it must know; %s is a "
                   "graph, to which `viewfold run` gives arrays",
                   (int)given->items[0].length, given->items[0].name, word);
}

int cli_graph_open(cli_graph *s, const char *command, const char *word, bool trace, struct cli_pairs *given) {
  *s = (cli_graph){.command = command};
  int status = cli_trace_init(&s->watch, command, trace);
  if (status) return status;
  ir_graph_init(&s->g, &ir_mem_libc, &s->error);
  if (!s->error.status) fe_precision_read(&s->g.relaxed, &s->error);
  s->g.customs = &cli_taps()->base;
  s->g.task = cli_task();
  s->module.mem = &ir_mem_libc;
  s->statements = &s->own;
  fe_statements_open(s->statements, &s->g);
  if (!s->error.status && cli_is_model(word)) cli_model_open(s, word, given);
  else if (!s->error.status && is_chain(word)) open_chain(s, word);
  else if (!s->error.status) fe_read_graphs(&s->g, word, s->statements, &s->module);
  return s->error.status ? cli_failure(command, &s->error) : CLI_OK;
}

void cli_graph_close(cli_graph *s) {
  cli_model_close(s);
  ir_module_free(&s->module);
  fe_statements_free(&s->own, &s->g);
  ir_graph_free(&s->g);
}

static int list_graphs(const cli_graph *s, char *out, size_t size) {
  int used = 0, count = 0;
  for (size_t i = 0; i < s->module.count; i++) {
    if (s->module.graphs[i].kind != IR_BLOCK_GRAPH || s->module.graphs[i].called) continue;
    if (used < (int)size)
      used +=
          snprintf(out + used, size - (size_t)used, "%s@%.60s", count ? ", " : "", s->module.graphs[i].name);
    count++;
  }
  return count;
}

ir_parsed_graph *cli_graph_pick(cli_graph *s, const char *word, const char *name) {
  char names[400] = "";
  ir_parsed_graph *found = NULL;
  int count = list_graphs(s, names, sizeof names);
  if (name && *name == '@') name++;
  for (size_t i = 0; i < s->module.count; i++) {
    ir_parsed_graph *block = &s->module.graphs[i];
    if (block->kind == IR_BLOCK_GRAPH &&
        (name ? strcmp(block->name, name) == 0 : count == 1 && !block->called))
      found = block;
  }
  if (found) return found;
  if (count == 0 && s->module.count)
    cli_usage(s->command, "%s holds no tensor graph, but %s @%.60s; this command takes graphs", word,
              s->module.graphs[0].kind == IR_BLOCK_GRAPH    ? "functions such as"
              : s->module.graphs[0].kind == IR_BLOCK_KERNEL ? "the kernel"
                                                            : "the index expressions of the kernel",
              s->module.graphs[0].name);
  else if (count == 0) cli_usage(s->command, "%s holds no tensor graph", word);
  else if (name) cli_usage(s->command, "%s holds no graph @%s; it holds %s", word, name, names);
  else cli_usage(s->command, "%s holds %d graphs, %s; choose one with --graph", word, count, names);
  return NULL;
}

ir_ref cli_graph_results(cli_graph *s, const ir_parsed_graph *block) {
  ir_ref *firm = malloc(block->result_count * sizeof *firm), made = 0;
  for (size_t i = 0; firm && i < block->result_count; i++)
    firm[i] = fe_firm_result(&s->g, block->params, block->param_count, &block->results[i]);
  if (firm) made = ir_tuple(&s->g, firm, (uint32_t)block->result_count);
  free(firm);
  if (!made) {
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
    cli_failure(s->command, &s->error);
  }
  return made;
}

/* options */

static bool read_threads(const char *text, int *threads) {
  char *end;
  long value = strtol(text, &end, 10);
  *threads = (int)value;
  return *text && !*end && value >= 1 && value <= 4096;
}

int cli_compiling(const char *command, rt_compiling *how, bool *forbidden) {
  fe_compile_settings read;
  ir_error error = {0};
  if (fe_compiling_read(&read, &error) != IR_OK) return cli_failure(command, &error);
  *how = read.how;
  how->process |= !read.given;
  *forbidden = read.forbidden;
  return CLI_OK;
}

static void print_tapped(void *user, const vf_tapped *t) {
  (void)user;
  ir_text text;
  fe_array a = {.dtype = (ir_dtype)t->dtype, .rank = t->rank, .data = (void *)(uintptr_t)t->elements};
  if (t->rank) memcpy(a.shape, t->shape, (size_t)t->rank * sizeof *a.shape);
  ir_text_init(&text, &ir_mem_libc);
  if (t->text) ir_textf(&text, "%s\n", t->text);
  else if (fe_shape_bytes(a.dtype, a.rank, a.shape, &a.bytes)) fe_summary(t->name, &a, &text);
  cli_work_erase();
  fputs(ir_text_get(&text), stderr); /* one call, so that lines stay whole */
  ir_text_free(&text);
}

fe_taps *cli_taps(void) {
  static fe_taps taps;
  if (!taps.base.find) fe_taps_init(&taps, print_tapped, NULL);
  return &taps;
}

int cli_context_options(const char *command, const char *threads, const char *device, rt_options *options) {
  *options = (rt_options){0};
  const char *variable = getenv("VIEWFOLD_THREADS");
  fe_debug debug;
  int status = cli_debug(command, &debug);
  if (!status) status = cli_compiling(command, &options->compiling, &options->no_compile);
  if (status) return status;
  if (threads && !read_threads(threads, &options->threads))
    return cli_usage(command, "--threads takes a number from 1 to 4096, found '%s'", threads);
  if (!threads && variable && *variable && !read_threads(variable, &options->threads))
    return cli_usage(command, "VIEWFOLD_THREADS takes a number from 1 to 4096, found '%s'", variable);
  options->device = device ? device : getenv("VIEWFOLD_DEVICE");
  if (options->device && !*options->device) options->device = NULL;
  if (options->device && !rt_device_is_name(options->device))
    return cli_usage(command, "%s device '%s'; expected cpu, c, opencl, opencl:NUMBER or opencl:PART OF NAME",
                     device ? "unknown" : "VIEWFOLD_DEVICE names an unknown", options->device);
  options->calls = fe_taps_calls(cli_taps());
  options->progress = cli_work();
  options->perf_map = debug.perf;
  static ir_log log; /* one for all contexts of the command */
  log = fe_debug_log(&debug, true);
  options->log = &log;
  options->no_disk = debug.bisects; /* programs compiled with rewrites left out are not kept */
  return CLI_OK;
}
