/* What `viewfold index` prints is what is compiled.
 *
 *   prop_printed --seed S --count N      the chains of prop_loops.chains, then N random ones
 *
 * Each chain is compiled. The load of its kernel, once indices have their cheapest form, is printed and
 * compared with the index and the validity that are printed for the chain alone, character by character. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/text/chain.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/passes.h"
#include "test/lib/options.h"
#include "test/lib/view_model.h"

enum { LINE = 1024 };

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

static bool compile(const char *chain, compiled *out, ir_error *error) {
  static const ir_target target = {
      .triple = "x86_64-unknown-linux-gnu", .vector_bytes = 32, .registers = 16, .has_fma = true};
  ir_graph g;
  ir_plan plan;
  if (ir_graph_init(&g, &ir_mem_libc, error) != IR_OK) return false;
  ir_ref node = fe_chain_parse(&g, "<chain>", chain, strlen(chain)),
         results = node ? ir_tuple(&g, &node, 1) : 0;
  pass_options options = {.target = &target, .verify = true, .observer = print_load, .user = out};
  bool done = results && pass_pipeline(&g, results, &options, &plan, error) == IR_OK;
  if (done) ir_plan_free(&plan);
  ir_graph_free(&g);
  return done;
}

static bool print(const char *chain, ir_text *index, ir_text *valid, ir_error *error) {
  ir_graph g;
  ir_ref i, v;
  if (ir_graph_init(&g, &ir_mem_libc, error) != IR_OK) return false;
  ir_ref node = fe_chain_parse(&g, "<chain>", chain, strlen(chain));
  bool done = node && pass_fold_chain(&g, node, &i, &v) && pass_extract_access(&g, &i, &v);
  if (done) ir_print_expr(&g, i, index), ir_print_expr(&g, v, valid);
  ir_graph_free(&g);
  return done;
}

static uint64_t loaded;

static bool try_chain(const char *chain) {
  compiled c = {0};
  ir_text index, valid;
  ir_error error = {0};
  ir_text_init(&index, &ir_mem_libc), ir_text_init(&valid, &ir_mem_libc);
  ir_text_init(&c.index, &ir_mem_libc), ir_text_init(&c.valid, &ir_mem_libc);
  bool good = print(chain, &index, &valid, &error) && compile(chain, &c, &error);
  if (!good) printf("%s\n  %s\n", chain, error.text);
  else if (c.loads)
    good = !differ(chain, "index", &index, &c.index) & !differ(chain, "valid", &valid, &c.valid);
  else if (!(good = strcmp(ir_text_get(&valid), "False") == 0)) printf("%s\n  nothing is loaded\n", chain);
  loaded += c.loads;
  ir_text_free(&index), ir_text_free(&valid), ir_text_free(&c.index), ir_text_free(&c.valid);
  return good;
}

static bool try_table(const char *path, uint64_t *tried) {
  char line[LINE];
  FILE *table = fopen(path, "r");
  bool good = true;
  if (!table) return printf("prop_printed: cannot open %s\n", path), false;
  while (fgets(line, sizeof line, table)) {
    const char *chain = strstr(line, "f32[");
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#' || !chain) continue;
    good &= try_chain(chain);
    ++*tried;
  }
  fclose(table);
  return good;
}

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000, tried = 0;
  const char *table = "test/property/prop_loops.chains";
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--table", &table));
  bool good = try_table(table, &tried);
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
  return !good;
}
