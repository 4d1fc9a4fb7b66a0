/* Threads that record, compile and run graphs at once: in contexts of their own and in a shared one; and
 * programs that all of them run. Each result has the same bits as the first one of its graph. Meant for
 * ThreadSanitizer.
 *
 *   threads --seconds S [--threads N] [--seed N]
 *
 * Contexts use the default cache on disk, or none, in turn. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/lib/workload.h"
#include "test/lib/options.h"

enum { MOST_THREADS = 64, MOST_GRAPHS = 16, MOST_SHOWN = 20 };

static struct {
  vf_context *context; /* shared */
  const vf_program *programs[MOST_GRAPHS];
  test_result wanted[MOST_GRAPHS];
  int64_t end_ns;
  atomic_long contexts, compiled, runs, wrong;
} all;

typedef struct worker {
  uint64_t state;
  test_result result;
  pthread_t thread;
} worker;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t draw(worker *w, uint32_t below) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(w->state >> 33) % below;
}

static void complain(const char *graph, const char *what, const char *message) {
  if (atomic_fetch_add(&all.wrong, 1) >= MOST_SHOWN) return;
  printf("%s: %s: %s\n", graph, what, message);
  fflush(stdout);
}

/* A graph without custom operations, which can be registered in a context once only. */
static const test_workload *graph_of(uint32_t number) {
  const test_workload *w = &test_workloads[number];
  return w->prepare ? NULL : w;
}

static uint32_t any_graph(worker *w) {
  uint32_t graph;
  do graph = draw(w, (uint32_t)test_workload_count);
  while (!graph_of(graph));
  return graph;
}

static void run(worker *w, uint32_t graph, const vf_program *p) {
  vf_error error = {0};
  const char *name = test_workloads[graph].name;
  for (uint32_t k = 1 + draw(w, 4); k > 0; k--) {
    if (test_workload_run(&test_workloads[graph], p, &w->result, &error))
      complain(name, "run", error.message);
    else if (memcmp(&w->result, &all.wanted[graph], sizeof w->result)) complain(name, "run", "other results");
    atomic_fetch_add(&all.runs, 1);
  }
}

/* Records, compiles and runs; the objects are destroyed in random order. */
static void build(worker *w, uint32_t graph, vf_context *c) {
  vf_error error = {0};
  vf_graph *g = test_workload_record(&test_workloads[graph], c, &error);
  vf_program *p = g ? vf_compile(g, &error) : NULL;
  if (draw(w, 2)) {
    vf_graph_destroy(g);
    g = NULL;
  }
  if (!p) complain(test_workloads[graph].name, "compile", error.message);
  else run(w, graph, p);
  atomic_fetch_add(&all.compiled, 1);
  vf_program_destroy(p);
  vf_graph_destroy(g);
}

static vf_context *make_context(worker *w, vf_error *error) {
  vf_options options = {
      .size = sizeof options, .threads = 1 + (int)draw(w, 3), .flags = draw(w, 2) ? VF_NO_DISK : 0};
  atomic_fetch_add(&all.contexts, 1);
  return vf_context_create(&options, error);
}

static void *work(void *argument) {
  worker *w = argument;
  do { /* at least once */
    uint32_t graph = any_graph(w);
    switch (draw(w, 4)) {
    case 0: run(w, graph, all.programs[graph]); break;
    case 1:
    case 2: build(w, graph, all.context); break;
    default: {
      vf_error error = {0};
      vf_context *c = make_context(w, &error);
      if (!c) complain("context", "create", error.message);
      for (uint32_t k = 1 + draw(w, 3); k > 0 && c; k--) {
        build(w, graph, c);
        graph = any_graph(w);
      }
      vf_context_destroy(c);
    }
    }
  } while (now_ns() < all.end_ns);
  return NULL;
}

/* Makes the shared context, its programs, and their results, which must agree with the evaluator. */
static bool begin(void) {
  vf_error error = {0};
  vf_options options = {.size = sizeof options, .threads = 2};
  all.context = vf_context_create(&options, &error);
  if (!all.context) complain("context", "create", error.message);
  for (int i = 0; i < test_workload_count && i < MOST_GRAPHS && all.context; i++) {
    const test_workload *load = graph_of((uint32_t)i);
    if (!load) continue;
    vf_graph *g = test_workload_record(load, all.context, &error);
    vf_program *p = g ? vf_compile(g, &error) : NULL;
    if (!p || test_workload_run(load, p, &all.wanted[i], &error))
      complain(load->name, "begin", error.message);
    else if (!test_workload_agrees(load, g, p, &all.wanted[i]))
      complain(load->name, "begin", "wrong results");
    all.programs[i] = p;
    vf_graph_destroy(g);
  }
  return atomic_load(&all.wrong) == 0;
}

int main(int argc, char **argv) {
  static worker workers[MOST_THREADS];
  long seconds = 5, threads = 8;
  uint64_t seed = 1;
  OPTIONS_READ(argc, argv, OPTION("--seconds", &seconds), OPTION("--threads", &threads),
               OPTION("--seed", &seed));
  if (threads < 1 || threads > MOST_THREADS || !begin()) return 1;
  all.end_ns = now_ns() + seconds * 1000000000;
  long started = 0;
  for (; started < threads; started++) {
    workers[started].state = seed * 1000003 + (uint64_t)started;
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started])) break;
  }
  for (long i = 0; i < started; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < test_workload_count; i++) vf_program_destroy((vf_program *)(uintptr_t)all.programs[i]);
  vf_context_destroy(all.context);
  printf("threads: %ld threads for %ld seconds: %ld contexts, %ld graphs compiled, %ld runs, %ld wrong (seed "
         "%llu)\n",
         started, seconds, atomic_load(&all.contexts), atomic_load(&all.compiled), atomic_load(&all.runs),
         atomic_load(&all.wrong), (unsigned long long)seed);
  return started < threads || atomic_load(&all.wrong) || !atomic_load(&all.runs);
}
