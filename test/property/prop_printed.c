/* What `viewfold index` prints is what is compiled, and says where it reads.
 *
 *   prop_printed --seed S --count N      the workloads and the chains of prop_loops.chains, then N random
 * chains
 *
 * Each is compiled. The load of its kernel, once indices have their cheapest form, is printed and compared
 * with the index and the validity that are printed for the chain alone, character by character. Then the
 * chain's machine code runs on an array whose elements are their own positions, and the printed text is read
 * and evaluated for each element of the result by the test's own means: both have to name the same position,
 * or padding. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "frontend/text/reader.h"
#include "frontend/viewfold.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/passes.h"
#include "test/lib/expression.h"
#include "test/lib/level.h"
#include "test/lib/options.h"
#include "test/lib/view_model.h"

enum { LINE = 1024, ELEMENTS = 16384, PATH = 64 };

/* A chain, or the path of a file with a graph. */
typedef struct source {
  const char *chain, *path;
} source;

typedef struct compiled {
  ir_text index, valid;
  uint32_t kernels, loads;
} compiled;

static void print_load(void *user, const char *pass, ir_graph *g, ir_ref root, int kernel) {
  compiled *c = user;
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (kernel < 0 || strcmp(pass, "index") != 0) return;
  c->kernels++;
  if (ir_reachable(g, &root, 1, &live, &count, &cap) != IR_OK) return;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (n->op != IR_OP_LOAD) continue;
    c->loads++;
    ir_print_expr(g, n->src[1], &c->index);
    ir_print_expr(g, n->src[2], &c->valid);
  }
  ir_free(g->mem, live, cap * sizeof *live);
}

static bool differ(const char *chain, const char *what, const ir_text *printed, const ir_text *in_kernel) {
  if (strcmp(ir_text_get(printed), ir_text_get(in_kernel)) == 0) return false;
  printf("%s\n  %s printed  %s\n  %s compiled %s\n", chain, what, ir_text_get(printed), what,
         ir_text_get(in_kernel));
  return true;
}

/* The value that the source describes, in an empty graph; 0 on failure. */
static ir_ref read_source(ir_graph *g, const source *of) {
  ir_module module = {.mem = &ir_mem_libc};
  ir_ref node = 0;
  if (of->chain) return fe_chain_parse(g, "<chain>", of->chain, strlen(of->chain));
  if (fe_read_graphs(g, of->path, NULL, &module) == IR_OK && module.count == 1)
    node = ir_src(g, module.graphs[0].root, 0);
  ir_module_free(&module);
  return node;
}

/* Views of one value each, down to an input? */
static bool is_chain(const ir_graph *g, ir_ref node) {
  while (ir_ops[ir_op_of(g, node)].cls == IR_CLASS_VIEW) {
    const ir_node *n = ir_get(g, node);
    for (uint32_t k = 1; k < n->nsrc; k++)
      if (ir_shape(g, n->src[k]) && ir_rank(g, n->src[k]) > 0) return false; /* a fill is none */
    node = n->src[0];
  }
  return ir_op_of(g, node) == IR_OP_INPUT;
}

static bool compile(const source *of, compiled *out, ir_error *error) {
  static const ir_target target = {
      .triple = "x86_64-unknown-linux-gnu", .vector_bytes = 32, .registers = 16, .has_fma = true};
  ir_graph g;
  ir_plan plan;
  if (ir_graph_init(&g, &ir_mem_libc, error) != IR_OK) return false;
  ir_ref node = read_source(&g, of), results = node ? ir_tuple(&g, &node, 1) : 0;
  pass_options options = {.target = &target, .verify = true, .observer = print_load, .user = out};
  bool done = results && pass_pipeline(&g, results, &options, &plan, error) == IR_OK;
  if (done) ir_plan_free(&plan);
  ir_graph_free(&g);
  return done;
}

static bool print(const source *of, ir_text *index, ir_text *valid, ir_text *graph, ir_error *error) {
  ir_graph g;
  ir_ref i, v;
  if (ir_graph_init(&g, &ir_mem_libc, error) != IR_OK) return false;
  ir_ref node = read_source(&g, of);
  bool done = is_chain(&g, node) && pass_fold_chain(&g, node, &i, &v) && pass_extract_access(&g, &i, &v);
  if (done) ir_print_expr(&g, i, index), ir_print_expr(&g, v, valid);
  if (done) ir_print_graph(&g, "chain", ir_tuple(&g, &node, 1), graph);
  ir_graph_free(&g);
  return done;
}

/* running */

static vf_context *context;

/* Runs the graph's machine code on the numbers 1, 2, ...; returns the number of elements of the result, 0
 * where an array has too many, -1 on failure. */
static int64_t run(const char *text, float *out, int64_t *shape, int *rank, vf_error *error) {
  static float in[ELEMENTS];
  int64_t elements = -1, inputs;
  vf_graph *g = vf_graph_parse(context, text, strlen(text), "<chain>", NULL, error);
  vf_program *p = g ? vf_compile(g, error) : NULL;
  if (p) {
    inputs = vf_port_bytes(p, VF_INPUT, 0, NULL, error) / (int64_t)sizeof *in;
    elements = vf_port_bytes(p, VF_OUTPUT, 0, NULL, error) / (int64_t)sizeof *in;
    *rank = vf_port_rank(p, VF_OUTPUT, 0);
    vf_port_shape(p, VF_OUTPUT, 0, NULL, shape, error);
    if (inputs > ELEMENTS || elements > ELEMENTS) elements = 0;
    for (int64_t i = 0; i < inputs && elements; i++) in[i] = (float)(i + 1);
    if (elements && vf_program_run(p, (const void *[]){in}, (void *[]){out}, NULL, error) != VF_OK)
      elements = -1;
  }
  vf_program_destroy(p), vf_graph_destroy(g);
  return elements;
}

/* Does the machine code read, for each element of the result, what the printed text says? */
static bool reads_as_printed(const char *name, const char *graph, const char *index, const char *valid) {
  static expression at, where;
  static float read[ELEMENTS];
  int64_t shape[64], ranges[64] = {0};
  int rank = 0;
  vf_error error;
  int64_t elements = run(graph, read, shape, &rank, &error);
  if (elements < 0) return printf("%s\n  %s\n", name, error.message), false;
  if (!expression_read(&at, index) || !expression_read(&where, valid))
    return printf("%s\n  not to be read: %s if %s\n", name, index, valid), false;
  for (int64_t k = 0; k < elements; k++) {
    int64_t rest = k, inside = 0, position = -1;
    for (int i = rank; i-- > 0; rest /= shape[i]) ranges[i] = rest % shape[i];
    bool known = expression_eval(&where, ranges, 0, &inside) &&
                 (!inside || expression_eval(&at, ranges, 0, &position));
    if (known && read[k] == (float)(position + 1)) continue;
    printf("%s\n  element %" PRId64 " is read from %g, printed %" PRId64 ": %s if %s\n", name, k, read[k] - 1,
           position, index, valid);
    return false;
  }
  return true;
}

static uint64_t loaded, chains, run_every = 16;

/* *chain: is it one access? Only a graph that is none may be left out. */
static bool try_source(const source *of, bool *chain) {
  const char *name = of->chain ? of->chain : of->path;
  compiled c = {0};
  ir_text index, valid, graph;
  ir_error error = {0};
  ir_text_init(&index, &ir_mem_libc), ir_text_init(&valid, &ir_mem_libc), ir_text_init(&graph, &ir_mem_libc);
  ir_text_init(&c.index, &ir_mem_libc), ir_text_init(&c.valid, &ir_mem_libc);
  *chain = print(of, &index, &valid, &graph, &error);
  bool good = !*chain ? of->path != NULL : compile(of, &c, &error);
  if (!good) printf("%s\n  %s\n", name, error.text);
  else if (c.loads)
    good = !differ(name, "index", &index, &c.index) & !differ(name, "valid", &valid, &c.valid);
  else if (*chain && !(good = strcmp(ir_text_get(&valid), "False") == 0))
    printf("%s\n  nothing is loaded\n", name);
  if (good && of->chain && chains++ % run_every == 0)
    good = reads_as_printed(name, ir_text_get(&graph), ir_text_get(&index), ir_text_get(&valid));
  loaded += c.loads;
  ir_text_free(&index), ir_text_free(&valid), ir_text_free(&graph);
  ir_text_free(&c.index), ir_text_free(&c.valid);
  return good;
}

static bool try_chain(const char *text) {
  source of = {.chain = text};
  bool chain;
  return try_source(&of, &chain);
}

/* The workloads that are one chain of views. */
static bool try_workloads(uint64_t *tried) {
  static const char *const names[] = {
#define WORKLOAD(name, ...) #name,
#include "frontend/workloads/workloads.def"
#undef WORKLOAD
  };
  bool good = true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[PATH];
    bool chain;
    snprintf(path, sizeof path, "frontend/workloads/%s.vf", names[i]);
    good &= try_source(&(source){.path = path}, &chain);
    *tried += chain;
  }
  return good;
}

static bool try_table(const char *path, uint64_t *tried) {
  char line[LINE];
  FILE *table = fopen(path, "r");
  bool good = true;
  int rows = 0, step = level_step(1);
  if (!table) return printf("prop_printed: cannot open %s\n", path), false;
  while (fgets(line, sizeof line, table)) {
    const char *chain = strstr(line, "f32[");
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#' || !chain || rows++ % step) continue;
    good &= try_chain(chain);
    ++*tried;
  }
  fclose(table);
  return good;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000, tried = 0;
  const char *table = "test/property/prop_loops.chains";
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--table", &table),
               OPTION("--run", &run_every));
  vf_options with = {.size = sizeof with, .flags = VF_NO_DISK, .threads = 1};
  vf_error error;
  if (!(context = vf_context_create(&with, &error))) return printf("%s\n", error.message), 1;
  bool good = try_workloads(&tried);
  if (tried == 0) good = false, printf("no workload is a chain\n");
  good = try_table(table, &tried) && good;
  for (uint64_t k = 0; k < count && good; k++) {
    uint64_t state = seed * 0x9e3779b97f4a7c15u + k;
    model_chain c;
    char text[MODEL_TEXT];
    model_random_small(&state, 6, &c);
    model_print(&c, text);
    good = try_chain(text);
    tried++;
  }
  if (loaded < tried / 2) good = false, printf("most chains load nothing\n");
  printf("prop_printed: %" PRIu64 " chains, %" PRIu64 " loads, seed %" PRIu64 "\n", tried, loaded, seed);
  vf_context_destroy(context);
  return !good;
}
