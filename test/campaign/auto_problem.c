/* The choices of a graph as numbers, for other solvers, and what passes/autoshard makes of them.
 *
 *   auto_problem FILE.vf
 *
 * A line `found COST BOUND EXACT SECONDS`; one `cost VARIABLE NUMBERS...` for each variable, and one `pair A
 * B NUMBERS...` for each pair, row by row; -1 stands for what cannot be. */
#include "frontend/text/reader.h"
#include "passes/autoshard/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
  for (size_t e = 0; e < p->pair_count; e++) {
    const choice_pair *pair = &p->pairs[e];
    printf("pair %u %u", pair->a, pair->b);
    for (size_t i = 0; i < (size_t)p->counts[pair->a] * p->counts[pair->b]; i++) put(pair->cost[i]);
    puts("");
  }
}

static bool solve(ir_graph *g, ir_ref root) {
  auto_model m;
  choice_problem p = {0};
  choice_result result;
  autoshard_request request = {.root = root};
  double begin = now();
  bool good = auto_model_make(&m, g, &request) && auto_problem_make(&m, &p);
  fprintf(stderr,"model %.3f\n",now()-begin);
  uint32_t *chosen = good ? malloc(p.count * sizeof *chosen) : NULL;
  good = chosen && choice_solve(&p, AUTOSHARD_ENTRIES, chosen, &result);
  if (good) {
    printf("found %.17g %.17g %d %.3f\n", result.cost, result.bound, result.exact, now() - begin);
    put_problem(&p);
  }
  free(chosen);
  auto_problem_free(&m, &p);
  auto_model_free(&m);
  return good;
}

int main(int argc, char **argv) {
  static char text[1 << 20];
  ir_graph g;
  ir_module module;
  ir_error error = {0};
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file) return fputs("auto_problem FILE.vf\n", stderr), 2;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  ir_graph_init(&g, &ir_mem_libc, &error);
  bool good =
      fe_parse_graphs(&g, argv[1], text, length, &module) == IR_OK && solve(&g, module.graphs[0].root);
  if (!good) fprintf(stderr, "%s\n", error.text);
  ir_module_free(&module);
  ir_graph_free(&g);
  return !good;
}
