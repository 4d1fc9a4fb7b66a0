/* The cost of looking at the buffers of a run, in ns a port: whether they are aligned, and overlap nothing.
 * Where a program's runs have the same buffers as lately, where they have others each time, and a whole run
 * of the latter.
 *
 *   make build/bench/bench_ports && build/bench/bench_ports [ITERATIONS CALLS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/program.h"
#include "ir/timer.h"
#include "runtime/runtime.h"
#include "test/lib/median.h"

enum { MOST = 128, SETS = 16, FLOATS = 16 };
static int iterations = 51, calls = 20000;

typedef struct workload {
  vf_program *p;
  const void *inputs[SETS][MOST];
  void *outputs[SETS][MOST];
  size_t input_count, output_count;
} workload;

static void make(vf_context *c, workload *w, size_t inputs, size_t outputs, float *memory) {
  vf_graph *g = vf_graph_create(c, "ports", NULL);
  char name[32];
  vf_value sum[MOST];
  for (size_t i = 0; i < inputs; i++) {
    snprintf(name, sizeof name, "x%zu", i);
    vf_value x = vf_input(g, name, VF_F32, VF_LIST(4));
    sum[i % outputs] = i < outputs ? x : vf_add(sum[i % outputs], x);
  }
  for (size_t k = 0; k < outputs; k++) {
    snprintf(name, sizeof name, "y%zu", k);
    vf_output(g, name, vf_sqrt(sum[k % (inputs < outputs ? inputs : outputs)]));
  }
  vf_error error = {0};
  w->p = vf_compile(g, &error);
  if (!w->p) fprintf(stderr, "%s\n", error.message), exit(1);
  vf_graph_destroy(g);
  w->input_count = inputs, w->output_count = outputs;
  for (size_t s = 0; s < SETS; s++) {
    for (size_t i = 0; i < inputs; i++, memory += FLOATS) w->inputs[s][i] = memory;
    for (size_t k = 0; k < outputs; k++, memory += FLOATS) w->outputs[s][k] = memory;
  }
}

static double time_known(workload *w) {
  fe_good_lists *good = fe_good_lists_make(&ir_mem_libc, w->input_count + w->output_count);
  fe_run_list list = {w->inputs[0], w->outputs[0], NULL, w->input_count, w->output_count, 0};
  fe_good_lists_note(good, list);
  int known = 0;
  uint64_t begin = ir_now_ns();
  for (int i = 0; i < calls; i++) {
    known += fe_good_lists_know(good, list);
    __asm__ volatile("" : : : "memory");
  }
  double ns = (double)(ir_now_ns() - begin) / calls;
  fe_good_lists_free(good, &ir_mem_libc, w->input_count + w->output_count);
  return known == calls ? ns : -1;
}

static double time_other(workload *w) {
  fe_good_lists *good = fe_good_lists_make(&ir_mem_libc, w->input_count + w->output_count);
  int found = 0;
  uint64_t begin = ir_now_ns();
  for (int i = 0; i < calls; i++) {
    fe_run_list list = {w->inputs[i % SETS], w->outputs[i % SETS], NULL, w->input_count, w->output_count, 0};
    if (fe_good_lists_know(good, list)) continue;
    ir_error error;
    found += !fe_check_buffers(w->p, list.inputs, list.outputs, &error);
    fe_good_lists_note(good, list);
  }
  double ns = (double)(ir_now_ns() - begin) / calls;
  fe_good_lists_free(good, &ir_mem_libc, w->input_count + w->output_count);
  return found ? -1 : ns;
}

/* Without any look at the buffers. */
static double time_runtime(workload *w) {
  ir_error error = {0};
  uint64_t begin = ir_now_ns();
  for (int i = 0; i < calls; i++)
    if (rt_program_run(w->p->program, (void *const *)(uintptr_t)w->inputs[0], w->outputs[0], NULL, &error))
      exit(1);
  return (double)(ir_now_ns() - begin) / calls;
}

static double time_run(workload *w, int sets) {
  uint64_t begin = ir_now_ns();
  for (int i = 0; i < calls; i++)
    if (vf_program_run(w->p, w->inputs[i % sets], w->outputs[i % sets], NULL, NULL)) exit(1);
  return (double)(ir_now_ns() - begin) / calls;
}

int main(int argc, char **argv) {
  if (argc > 2) iterations = atoi(argv[1]), calls = atoi(argv[2]);
  static const size_t counts[][2] = {{1, 1}, {6, 2}, {63, 1}, {56, 8}, {32, 32}};
  vf_context *c = vf_context_create(NULL, NULL);
  float *memory = calloc((size_t)SETS * MOST * FLOATS, sizeof *memory);
  double *times = malloc(sizeof *times * (size_t)iterations * 5);
  if (!c || !memory || !times) return 1;
  printf("inputs outputs   known  others   (ns a port)   run, known  run, others  no look (ns)\n");
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
    workload w;
    make(c, &w, counts[n][0], counts[n][1], memory);
    for (int i = 0; i < iterations; i++) {
      times[i] = time_known(&w), times[iterations + i] = time_other(&w);
      times[2 * iterations + i] = time_run(&w, 1), times[3 * iterations + i] = time_run(&w, SETS);
      times[4 * iterations + i] = time_runtime(&w);
    }
    size_t it = (size_t)iterations, ports = counts[n][0] + counts[n][1];
    printf("%6zu %7zu  %6.2f  %6.2f %26.1f %12.1f %12.1f\n", counts[n][0], counts[n][1],
           median(times, it) / (double)ports, median(times + it, it) / (double)ports,
           median(times + 2 * it, it), median(times + 3 * it, it), median(times + 4 * it, it));
    vf_program_destroy(w.p);
  }
  free(times), free(memory);
  vf_context_destroy(c);
  return 0;
}
