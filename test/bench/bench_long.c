/* The cost of long chains: chains of N views of several kinds, each kind a few views that come back to their
 * shape, repeated, or several such groups chosen at random. Prints the time to read and record each chain, to
 * fold it to index and validity, and to extract the printed form; the steps of index reasoning and the nodes
 * it took. Everything runs on a stack of 256 KiB. To count the instructions at N and 2N of one kind:
 *
 *   build/bench/bench_long [N] [KIND]
 *   valgrind --tool=callgrind --callgrind-out-file=/dev/null build/bench/bench_long 100000 ragged */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/timer.h"
#include "frontend/text/chain.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"

enum { STACK = 256 * 1024, UNITS = 8 };

typedef struct kind {
  const char *name, *base, *units[UNITS]; /* units: the first one, then others chosen at random */
} kind;

static const kind kinds[] = {
    {"flip", "f32[2,3]", {".flip(0)"}},
    {"swap", "f32[2,3]", {".permute(1,0)"}},
    {"merged", "f32[4,6]", {".reshape(24).reshape(4,6)"}},
    {"merged3",
     "f32[2,3,4]",
     {".reshape(24).reshape(4,3,2).flip(1).reshape(2,3,4).reshape(24).flip(0).reshape(2,3,4)"}},
    {"split", "f32[4,6]", {".reshape(2,2,6).permute(1,0,2).reshape(4,6)"}},
    {"ragged", "f32[4,6]", {".permute(1,0).reshape(4,6)"}},
    {"ragged3", "f32[2,3,4]", {".permute(1,2,0).flip(0).reshape(2,3,4)"}},
    {"ragged4", "f32[2,3,5,7]", {".permute(3,1,0,2).flip(1,3).reshape(2,3,5,7)"}},
    {"coprime", "f32[7,11]", {".permute(1,0).reshape(7,11).flip(0)"}},
    {"regroup", "f32[4,6]", {".reshape(3,8).flip(0).reshape(4,6).flip(1)"}},
    {"large", "f32[1000,999]", {".permute(1,0).reshape(1000,999)"}},
    {"cut", "f32[8,9]", {".pad((1,2),(0,3)).shrink((1,9),(0,9))"}},
    {"shift", "f32[8,9]", {".pad((0,1),(0,0)).shrink((1,9),(0,9))"}},
    {"mask", "f32[4,6]", {".pad((1,0),(0,1)).shrink((0,4),(1,7))", ".permute(1,0).reshape(4,6)"}},
    {"masked", "f32[4,6]", {".pad((1,2),(0,0)).reshape(42).shrink((5,29)).reshape(4,6)"}},
    {"stride", "f32[4,6]", {".pad((0,0),(0,6)).stride(1,2)", ".permute(1,0).reshape(4,6)"}},
    {"backward", "f32[4,6]", {".stride(-1,1).reshape(6,4).stride(1,-1).reshape(4,6)"}},
    {"repeat", "f32[4,6]", {".reshape(4,1,6).expand(4,3,6).reshape(72).shrink((7,31)).reshape(4,6)"}},
    {"edge", "f32[4,6]", {".pad((1,0),(0,2),mode=edge).shrink((0,4),(2,8))"}},
    {"wrap", "f32[4,6]", {".pad((1,0),(0,2),mode=wrap).shrink((0,4),(2,8))"}},
    {"reflect", "f32[4,6]", {".pad((1,0),(0,2),mode=reflect).shrink((0,4),(2,8))"}},
    {"framed", "f32[4,6].pad((1,1),(0,0))", {".permute(1,0).reshape(4,9).flip(0).reshape(6,6)"}},
    {"worn",
     "f32[1000000]",
     {".pad((0,1)).shrink((1,1000001)).reshape(1000,1000).permute(1,0).reshape(1000000)"}},
    {"eroded",
     "f32[300,400]",
     {".pad((0,1),(1,0)).shrink((1,301),(0,400))", ".permute(1,0).reshape(300,400)"}},
    {"pieces",
     "f32[8,9]",
     {".permute(1,0).reshape(8,9).pad((0,0),(0,1)).reshape(80).shrink((0,72)).reshape(8,9)"}},
    {"slices",
     "f32[100000,7]",
     {".flip(0).pad((0,0),(0,1)).stride(1,1).shrink((0,100000),(1,8))", ".flip(1)"}},
    {"wide", "f32[2,2,2,2,2,2,2,2]", {".permute(7,0,1,2,3,4,5,6).flip(0)"}},
    {"wide2", "f32[2,3,2,3,2,3,2,3]", {".permute(7,0,1,2,3,4,5,6).reshape(2,3,2,3,2,3,2,3)"}},
    {"wide16",
     "f32[2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3]",
     {".permute(7,0,1,2,3,4,5,6,8,9,10,11,12,13,14,15).reshape(2,3,2,3,2,3,2,3,2,3,2,3,2,3,2,3)"}},
    {"join", "f32[4,6]", {".unsqueeze(0).squeeze(0).flip(0)"}},
    {"symbol", "f32[n=2..9,6]", {".permute(1,0).reshape(n,6)"}},
    {"symbol2", "f32[n=2..9,m=2..9]", {".permute(1,0).flip(0).reshape(n,m)"}},
    {"mixed",
     "f32[4,6]",
     {".permute(1,0).reshape(4,6)", ".flip(0)", ".pad((1,2),(0,0)).reshape(42).shrink((5,29)).reshape(4,6)",
      ".reshape(2,2,6).permute(1,0,2).reshape(4,6)", ".reshape(3,8).flip(0).reshape(4,6)",
      ".pad((0,0),(0,6)).stride(1,2)"}},
    {"mixed3",
     "f32[2,3,4]",
     {".permute(1,2,0).reshape(2,3,4)", ".flip(0,2)", ".permute(2,1,0).reshape(2,3,4)",
      ".reshape(24).flip(0).reshape(2,3,4)", ".reshape(4,6).permute(1,0).reshape(2,3,4)"}},
};

static uint32_t steps_of(const char *unit) {
  uint32_t steps = 0;
  for (; *unit; unit++) steps += unit[0] == '.';
  return steps;
}

/* the chain as text */
static char *written(const kind *k, uint32_t n) {
  uint32_t state = 1, choices = 0, steps = 0;
  size_t used = strlen(k->base), longest = 0;
  for (; choices < UNITS && k->units[choices]; choices++)
    if (strlen(k->units[choices]) > longest) longest = strlen(k->units[choices]);
  char *text = malloc(used + (n + 1) * longest + 1);
  if (!text) return NULL;
  strcpy(text, k->base);
  while (steps < n) {
    state = state * 1664525u + 1013904223u;
    const char *unit = k->units[(state >> 16) % choices];
    strcpy(text + used, unit);
    used += strlen(unit);
    steps += steps_of(unit);
  }
  return text;
}

static double now(void) { return (double)ir_now_ns() * 1e-9; }

static bool measure(const kind *k, uint32_t n) {
  char *text = written(k, n);
  ir_graph g;
  ir_error error = {0};
  ir_ref root[2], x = 0;
  double start = now(), at[3] = {0};
  if (text && ir_graph_init(&g, &ir_mem_libc, &error) == IR_OK)
    x = fe_chain_parse(&g, k->name, text, strlen(text));
  uint32_t recorded = g.count;
  at[0] = now();
  bool done = x && pass_fold_chain(&g, x, &root[0], &root[1]);
  uint32_t folded = g.count;
  at[1] = now();
  done = done && pass_extract(&g, &pass_print_costs, root, 2);
  at[2] = now();
  if (done)
    printf("%-9s record %.3f s, fold %.3f s, extract %.3f s; of one view: %.1f and %.1f nodes, effort %.0f\n",
           k->name, at[0] - start, at[1] - at[0], at[2] - at[1], recorded * 1.0 / n,
           (folded - recorded) * 1.0 / n, (double)g.budget_spent / n);
  else fprintf(stderr, "%s: %s\n", k->name, error.text);
  fflush(stdout);
  ir_graph_free(&g);
  free(text);
  return done;
}

typedef struct job {
  uint32_t n;
  const char *only;
  bool done;
} job;

static void *all(void *user) {
  job *j = user;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!j->only || strcmp(j->only, kinds[i].name) == 0) j->done &= measure(&kinds[i], j->n);
  return NULL;
}

int main(int argc, char **argv) {
  job j = {argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000, argc > 2 ? argv[2] : NULL, true};
  pthread_attr_t attributes;
  pthread_t thread;
  if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK) ||
      pthread_create(&thread, &attributes, all, &j) || pthread_join(thread, NULL))
    return fprintf(stderr, "bench_long: no thread\n"), 1;
  return j.done ? 0 : 1;
}
