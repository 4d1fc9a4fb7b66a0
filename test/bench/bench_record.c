/* The cost of recording and compiling per operation, for several kinds of graphs: time and bytes of recording
 * N operations; and, to count instructions at N, 2N and 4N, the compilation of one graph of N operations
 * alone.
 *
 *   build/bench/bench_record [N [KIND]]
 *   build/bench/bench_record provenance [N [KIND]]  what noting the names and places of values costs: the
 * same with and without, in pairs; `on` or `off` in place of `provenance` record once, to count instructions
 *   valgrind --tool=callgrind --callgrind-out-file=/dev/null build/bench/bench_record compile N KIND */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/timer.h"
#undef VF_NO_PLACES /* places of calls are part of what is measured */
#include "frontend/viewfold.h"
#include "frontend/api/api.h"
#include "test/lib/median.h"
#include "test/lib/memory.h"

enum { SIZE = 64, KEPT = 16, ITERATIONS = 3, PAIRS = 31 };

typedef struct tape {
  vf_graph *graph;
  uint64_t state;      /* of the random numbers */
  vf_value kept[KEPT]; /* operands of shape [SIZE, SIZE] */
  vf_value bias;       /* [SIZE] */
  vf_ref reference;    /* [SIZE, SIZE]; made by the first read or write */
  size_t place;        /* in `kept`: the operand that the next operation replaces */
  int64_t count;       /* operations so far */
} tape;

static uint64_t draw(tape *t) {
  t->state = t->state * 6364136223846793005u + 1442695040888963407u;
  return t->state >> 33;
}

static vf_value some(tape *t) { return t->kept[draw(t) % KEPT]; }
static vf_value replaced(tape *t) { return t->kept[t->place]; } /* so that no operation is recorded twice */

/* Each function records one operation, or a few, and counts them. */
static vf_value elementwise(tape *t) {
  vf_value x = replaced(t);
  t->count++;
  switch (draw(t) % 6) {
  case 0: return vf_add(x, some(t));
  case 1: return vf_mul(x, some(t));
  case 2: return vf_max(x, some(t));
  case 3: return vf_sub(x, vf_number(t->graph, (double)(draw(t) % 1000)));
  case 4: return vf_abs(x);
  default: return vf_neg(x);
  }
}
static vf_value broadcast(tape *t) {
  t->count++;
  return vf_add(replaced(t), t->bias);
}

static vf_value view(tape *t) {
  vf_value x = replaced(t);
  t->count += 2;
  switch (draw(t) % 3) {
  case 0: return vf_neg(vf_permute(x, VF_LIST(1, 0)));
  case 1: return vf_abs(vf_flip(x, VF_LIST((int64_t)(draw(t) % 2))));
  default: return vf_reshape(vf_reshape(x, VF_LIST(SIZE * SIZE)), VF_LIST(SIZE, SIZE));
  }
}

static vf_value normalised(tape *t) {
  vf_value x = replaced(t);
  t->count += 2;
  return vf_sub(x, vf_mean(x, VF_LIST(1), true));
}

static vf_value layer(tape *t) {
  t->count += 3;
  return vf_relu(vf_add(vf_matmul(replaced(t), some(t)), t->bias));
}

static vf_value chain(tape *t) {
  t->count++;
  t->place = 0;
  return draw(t) % 2 ? vf_add(replaced(t), t->bias) : vf_tanh(replaced(t));
}

/* A write through a row or a column of one reference, or a read. */
static vf_value write(tape *t) {
  if (!vf_ok(t->reference.target)) t->reference = vf_ref_input(t->graph, "r", VF_F32, VF_LIST(SIZE, SIZE));
  int64_t axis = (int64_t)(draw(t) % 2), index = (int64_t)(draw(t) % SIZE);
  vf_ref part = vf_ref_view(t->reference, vf_point(t->reference.target, index, axis));
  t->count++;
  if (draw(t) % 2) vf_ref_update(part, t->bias, draw(t) % 2 ? VF_WRITE_ADD : VF_WRITE_SET);
  else t->bias = vf_ref_get(part);
  return t->kept[t->place];
}

static vf_value mixed(tape *t) {
  static vf_value (*const all[])(tape *) = {elementwise, elementwise, elementwise,
                                            broadcast,   view,        normalised};
  return all[draw(t) % (sizeof all / sizeof *all)](t);
}

static const struct {
  const char *name;
  vf_value (*step)(tape *);
} kinds[] = {{"elementwise", elementwise},
             {"broadcast", broadcast},
             {"view", view},
             {"normalised", normalised},
             {"layer", layer},
             {"chain", chain},
             {"write", write},
             {"mixed", mixed}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double now(void) { return (double)ir_now_ns() * 1e-9; }

static void die(const char *what, const char *why) {
  fprintf(stderr, "bench_record: %s: %s\n", what, why);
  exit(1);
}

static tape begin(vf_context *c, bool provenance) {
  vf_error error = {0};
  tape t = {.graph = vf_graph_create(c, "tape", &error), .state = 1};
  if (!t.graph) die("graph", error.message);
  if (!provenance) t.graph->ir.causes = NULL; /* notes no statements, then */
  for (int i = 0; i < KEPT; i++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", i);
    t.kept[i] = vf_input(t.graph, name, VF_F32, VF_LIST(SIZE, SIZE));
  }
  t.bias = vf_input(t.graph, "bias", VF_F32, VF_LIST(SIZE));
  return t;
}

static void record(tape *t, int kind, int64_t count) {
  while (t->count < count) {
    t->place = draw(t) % KEPT;
    vf_value made = kinds[kind].step(t);
    t->kept[t->place] = made;
  }
  if (vf_graph_status(t->graph) != VF_OK) die(kinds[kind].name, vf_graph_message(t->graph));
}

/* Seconds of recording, and the bytes that the graph then has. */
static double record_once(int kind, int64_t count, bool provenance, double *bytes) {
  test_memory memory = {0};
  vf_context *c = test_memory_context(&memory);
  if (!c) die("context", "none");
  tape t = begin(c, provenance);
  size_t before = memory.live;
  double start = now();
  record(&t, kind, count);
  double seconds = now() - start;
  *bytes = (double)(memory.live - before) / (double)t.graph->ir.count;
  vf_graph_destroy(t.graph);
  vf_context_destroy(c);
  return seconds;
}

/* The least time of each way, taken in turns, since other work on the machine only adds. The causes lie
 * behind the nodes with and without: 4 bytes a node, to be added. */
static void compare(int kind, int64_t count) {
  double least[2] = {1e9, 1e9}, bytes[2];
  for (int r = 0; r < 2 * PAIRS; r++) {
    double seconds = record_once(kind, count, r % 2, &bytes[r % 2]);
    if (seconds < least[r % 2]) least[r % 2] = seconds;
  }
  printf("%-12s %10lld operations take %.3f of the time without provenance, and %4.1f bytes a node for it\n",
         kinds[kind].name, (long long)count, least[1] / least[0], bytes[1] - bytes[0] + sizeof(ir_cause));
}

static void measure(int kind, int64_t count) {
  double seconds[ITERATIONS], live = 0, peak = 0;
  for (int r = 0; r < ITERATIONS; r++) {
    test_memory memory = {0};
    vf_context *c = test_memory_context(&memory);
    if (!c) die("context", "none");
    tape t = begin(c, true);
    size_t before = memory.live;
    double start = now();
    record(&t, kind, count);
    seconds[r] = now() - start;
    live = (double)(memory.live - before) / (double)t.count;
    peak = (double)(memory.peak - before) / (double)t.count;
    vf_graph_destroy(t.graph);
    vf_context_destroy(c);
  }
  median(seconds, ITERATIONS);
  printf("%-12s %10lld operations recorded in %6.3f s, %5.0f ns and %4.0f bytes each (%.0f at the most)\n",
         kinds[kind].name, (long long)count, seconds[ITERATIONS / 2],
         seconds[ITERATIONS / 2] / (double)count * 1e9, live, peak);
}

static void compile(int kind, int64_t count) {
  vf_error error = {0};
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK, .threads = 1};
  vf_context *c = vf_context_create(&options, &error);
  if (!c) die("context", error.message);
  tape t = begin(c, true);
  record(&t, kind, count);
  vf_value sum = t.kept[0];
  for (int i = 1; i < KEPT; i++) sum = vf_add(sum, t.kept[i]);
  vf_output(t.graph, "y", sum);
  double start = now();
  vf_program *p = vf_compile(t.graph, &error);
  if (!p) die("compile", error.message);
  vf_stats stats = {.size = sizeof stats};
  vf_program_stats(p, &stats);
  printf("%-12s %10lld operations compiled in %.3f s to %u launches of %u kernels\n", kinds[kind].name,
         (long long)count, now() - start, stats.launches, stats.kernels);
  vf_program_destroy(p);
  vf_graph_destroy(t.graph);
  vf_context_destroy(c);
}

static void on(int kind, int64_t count) { record_once(kind, count, true, &(double){0}); }
static void off(int kind, int64_t count) { record_once(kind, count, false, &(double){0}); }

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(int kind, int64_t count);
  } jobs[] = {{"compile", compile}, {"provenance", compare}, {"on", on}, {"off", off}};
  void (*job)(int, int64_t) = measure;
  for (size_t j = 0; j < sizeof jobs / sizeof *jobs && argc > 1; j++)
    if (strcmp(argv[1], jobs[j].name) == 0) job = jobs[j].run, argv++, argc--;
  for (int k = 0; k < KINDS; k++)
    if (argc < 3 || strcmp(argv[2], kinds[k].name) == 0) job(k, argc > 1 ? atoll(argv[1]) : 1000000);
  return 0;
}
