/* The cost of folding a chain: for each chain of a corpus (JSON lines in the format of `viewfold index
 * --json`) the time to record it, to fold it to index and validity in canonical form, and to extract the
 * printed form. Each chain has a graph of its own, with empty fact caches, in an arena whose memory was used
 * before. Prints the median over the chains of the least of several runs.
 *
 *   build/bench/bench_fold CHAINS.jsonl [-v] */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "ir/timer.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"
#include "passes/ops/ops.h"
#include "test/lib/median.h"

enum { RUNS = 60, MAX_CHAINS = 4096, MAX_STEPS = 32, ARENA = 16 << 20 };

/* an arena that frees all its memory at once */

static char arena[ARENA];
static size_t arena_used;

static void *arena_fn(void *user, void *ptr, size_t old_size, size_t new_size) {
  if (new_size == 0) return NULL;
  size_t start = (arena_used + 15) & ~(size_t)15;
  if (start + new_size > sizeof arena) return NULL;
  arena_used = start + new_size;
  if (ptr) memcpy(arena + start, ptr, old_size < new_size ? old_size : new_size);
  return arena + start;
}

static const ir_mem arena_mem = {arena_fn, NULL};

/* chains as arrays of numbers */

typedef struct step {
  char name; /* p r e d(pad) s f t */
  uint32_t count;
  int64_t value[IR_MAX_RANK][2];
} step;
typedef struct chain {
  char name[64];
  uint32_t rank, steps;
  int64_t base[IR_MAX_RANK];
  step step[MAX_STEPS];
} chain;

static bool read_chain(const char *line, chain *c) {
  static const char *const names[] = {"permute", "reshape", "expand", "dpad", "shrink", "flip", "tstride"};
  json_t *j = json_loads(line, 0, NULL), *base = json_object_get(j, "base"), *ops = json_object_get(j, "ops");
  memset(c, 0, sizeof *c);
  snprintf(c->name, sizeof c->name, "%s", json_string_value(json_object_get(j, "name")));
  c->rank = (uint32_t)json_array_size(base);
  for (uint32_t i = 0; i < c->rank; i++) c->base[i] = json_integer_value(json_array_get(base, i));
  c->steps = (uint32_t)json_array_size(ops);
  for (uint32_t i = 0; i < c->steps && i < MAX_STEPS; i++) {
    json_t *op = json_array_get(ops, i), *list = json_array_get(op, 1);
    const char *name = json_string_value(json_array_get(op, 0));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (strcmp(names[k], name) == 0 || strcmp(names[k] + 1, name) == 0) c->step[i].name = names[k][0];
    c->step[i].count = (uint32_t)json_array_size(list);
    for (uint32_t k = 0; k < c->step[i].count; k++) {
      json_t *v = json_array_get(list, k);
      for (uint32_t e = 0; e < 2; e++)
        c->step[i].value[k][e] = json_integer_value(json_is_array(v) ? json_array_get(v, e) : v);
    }
  }
  json_decref(j);
  return c->steps <= MAX_STEPS;
}

static ir_ref record(ir_graph *g, const chain *c) {
  ir_ref list[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < c->rank; i++) list[i] = ir_index(g, c->base[i]);
  ir_ref x = op_input(g, "x", 1, IR_F32, list, c->rank);
  for (uint32_t i = 0; i < c->steps; i++) {
    const step *s = &c->step[i];
    uint32_t per = s->name == 'd' || s->name == 's' ? 2 : 1;
    for (uint32_t k = 0; k < per * s->count; k++) list[k] = ir_index(g, s->value[k / per][k % per]);
    switch (s->name) {
    case 'p': x = op_permute(g, x, list, s->count); break;
    case 'r': x = op_reshape(g, x, list, s->count); break;
    case 'e': x = op_expand(g, x, list, s->count); break;
    case 'd': x = op_pad(g, x, list, s->count, 0, IR_PAD_CONSTANT); break;
    case 's': x = op_shrink(g, x, list, s->count); break;
    case 'f': x = op_flip(g, x, list, s->count); break;
    default: x = op_stride(g, x, list, s->count);
    }
  }
  return x;
}

static double now(void) { return (double)ir_now_ns() * 1e-3; }

typedef struct times {
  double record, fold, extract;
} times;

static bool run(const chain *c, times *least) {
  ir_graph g;
  ir_error error = {0};
  ir_ref root[2];
  arena_used = 0;
  double start = now();
  if (ir_graph_init(&g, &arena_mem, &error)) return false;
  ir_ref x = record(&g, c);
  double recorded = now();
  if (!x || !pass_fold_chain(&g, x, &root[0], &root[1]))
    return fprintf(stderr, "%s: %s\n", c->name, error.text), false;
  double folded = now();
  pass_extract_access(&g, &root[0], &root[1]);
  double extracted = now();
  if (recorded - start < least->record) least->record = recorded - start;
  if (folded - recorded < least->fold) least->fold = folded - recorded;
  if (extracted - folded < least->extract) least->extract = extracted - folded;
  ir_graph_free(&g);
  return true;
}

int main(int argc, char **argv) {
  static double all[4][MAX_CHAINS];
  static char line[1 << 20];
  static chain c;
  size_t count = 0;
  FILE *in = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!in) return fprintf(stderr, "usage: bench_fold CHAINS.jsonl [-v]\n"), 2;
  while (count < MAX_CHAINS && fgets(line, sizeof line, in)) {
    times least = {1e9, 1e9, 1e9};
    if (!read_chain(line, &c)) continue;
    for (int i = 0; i < RUNS; i++)
      if (!run(&c, &least)) return 1;
    if (argc > 2) printf("%-34s %7.2f %7.2f %7.2f us\n", c.name, least.record, least.fold, least.extract);
    all[0][count] = least.record, all[1][count] = least.fold, all[2][count] = least.extract;
    all[3][count++] = least.record + least.fold;
  }
  fclose(in);
  static const char *const names[] = {"record", "fold", "extract", "record and fold"};
  for (int k = 0; k < 4; k++) {
    median(all[k], count);
    printf("%-16s median %6.2f us, 90 %% %6.2f us, most %7.2f us, of %zu chains\n", names[k],
           all[k][count / 2], all[k][count * 9 / 10], all[k][count - 1], count);
  }
  return 0;
}
