/* The choices of a graph as numbers, for other solvers, and what passes/autoshard makes of them.
 *
 *   auto_problem FILE.vf [LIMIT]
 *
 * A line `found COST BOUND EXACT SECONDS PEAK`; without a limit, in bytes, one `cost VARIABLE NUMBERS...` for
 * each variable, `table NUMBERS...`, row by row, and `pair A B TABLE` for each pair, the number of its table
 * from 0; -1 stands for what cannot be. SECONDS are of the processor. A result `next_w` is the new value of
 * the input `w`. A limit of 0: none. */
#include "passes/autoshard/impl.h"
#include "test/lib/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096 }; /* inputs */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put(double cost) { printf(" %.17g", cost < CHOICE_NEVER ? cost : -1); }

static void put_problem(const choice_problem *p) {
  for (size_t v = 0; v < p->count; v++) {
    printf("cost %zu", v);
    for (uint32_t i = 0; i < p->counts[v]; i++) put(p->cost[v][i]);
    puts("");
  }
  size_t tables = 0;
  const double **table = malloc(p->pair_count * sizeof *table);
  for (size_t e = 0; e < p->pair_count && table; e++) {
    const choice_pair *pair = &p->pairs[e];
    size_t known = 0;
    while (known < tables && table[known] != pair->cost) known++;
    if (known == tables) {
      table[tables++] = pair->cost;
      printf("table");
      for (size_t i = 0; i < (size_t)p->counts[pair->a] * p->counts[pair->b]; i++) put(pair->cost[i]);
      puts("");
    }
    printf("pair %u %u %zu\n", pair->a, pair->b, known);
  }
  free(table);
}

/* Results next_NAME are divided as inputs NAME. */
static void read_references(const ir_graph *g, const ir_parsed_graph *b, autoshard_request *request) {
  static ir_ref inputs[MOST];
  static pass_reference references[MOST];
  const ir_node *root = ir_get(g, b->root);
  for (size_t i = 0; i < b->param_count && i < MOST; i++) {
    char name[64];
    inputs[i] = b->params[i].ref;
    size_t length =
        (size_t)snprintf(name, sizeof name, "next_%.*s", (int)b->params[i].length, b->params[i].name);
    const ir_defined *d = ir_defined_find(b, name, length);
    for (uint32_t k = 0; d && k < root->nsrc; k++)
      if (root->src[k] == d->ref) references[request->reference_count++] = (pass_reference){(uint32_t)i, k};
  }
  request->inputs = inputs, request->input_count = b->param_count;
  request->references = references;
}

static bool solve(ir_graph *g, const ir_parsed_graph *block, const char *limit) {
  auto_model m;
  choice_problem p = {0};
  choice_result result;
  autoshard_request request = {.root = block->root};
  read_references(g, block, &request);
  double begin = now();
  bool good = auto_model_make(&m, g, &request) && auto_problem_make(&m, &p);
  uint32_t *chosen = good ? malloc(p.count * sizeof *chosen) : NULL;
  double *room = malloc(2 * (m.live_count + 2) * sizeof *room);
  good = chosen && room && auto_choose(&m, &p, AUTOSHARD_ENTRIES, limit ? atof(limit) : 0, chosen, &result);
  if (good) {
    double seconds = now() - begin;
    size_t worst;
    printf("found %.17g %.17g %d %.3f %.0f\n", result.cost, result.bound, result.exact, seconds,
           auto_peak(&m, chosen, room, &worst));
    if (!limit) put_problem(&p);
  }
  free(chosen);
  free(room);
  auto_problem_free(&m, &p);
  auto_model_free(&m);
  return good;
}

int main(int argc, char **argv) {
  return !with_graph_file(argc > 1 ? argv[1] : NULL, "auto_problem FILE.vf [LIMIT]", solve,
                          argc > 2 ? argv[2] : NULL);
}
