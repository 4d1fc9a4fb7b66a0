/* The same bits whatever is stored: a plan may store a value that is fused into a kernel
 * (passes/alternatives).
 *
 *   prop_alternatives --seed S --count N
 *   prop_alternatives --case SEED         one case again, by the seed in its report
 *   prop_alternatives --show SEED         its graph as text, not compiled
 *
 * A case is a random graph of test/lib/sum_graph.h. It is compiled as scheduling leaves it, and with a value
 * stored in each kernel in which there is one that keeps the order of additions, whatever it costs; on
 * machines whose loops differ. The test prints how many kernels more these plans have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/api/compile.h"
#include "passes/passes.h"
#include "test/lib/sum_graph.h"

enum { MACHINES = 2 };
static const case_machine machines[MACHINES] = {
    {1, NULL}, {1, "vector_bytes=32 registers=16 l1=32768 l2=262144 l3=4194304"}};

static long compared, kernels, more;

/* Runs the graph with these alternatives, and returns the number of kernels; 0 on failure. */
static long run_with(trial *t, int machine, pass_compared choice, void *const *inputs, void *const *outputs) {
  pass_shaping shaping = {.compared = choice};
  ir_plan plan;
  long count = 0;
  trial_run_shaped(t, machine, &shaping, inputs, outputs);
  if (*t->wrong || !trial_plan_shaped(t, machine, &shaping, &plan)) return 0;
  for (size_t i = 0; i < plan.step_count; i++) count += plan.steps[i].kind == IR_STEP_KERNEL;
  ir_plan_free(&plan);
  return count;
}

static void run(trial *t) {
  void *inputs[TRIAL_INPUTS] = {NULL}, *outputs[2][TRIAL_RESULTS] = {{NULL}};
  bool good = sum_graph_inputs(t, inputs);
  for (uint32_t i = 0; i < 2 * t->result_count && good; i++) {
    void **output = &outputs[i % 2][i / 2];
    good = (*output = calloc(sum_graph_bytes(t, i / 2) + 1, 1)) != NULL;
  }
  if (!good) snprintf(t->wrong, sizeof t->wrong, "out of memory");
  for (int k = 0; k < MACHINES && !*t->wrong; k++) {
    long fused = run_with(t, k, PASS_COMPARED_NEVER, inputs, outputs[0]),
         stored = *t->wrong ? 0 : run_with(t, k, PASS_COMPARED_ALWAYS, inputs, outputs[1]);
    kernels += fused, more += stored - fused;
    for (uint32_t i = 0; i < t->result_count && !*t->wrong; i++) {
      size_t bytes = sum_graph_bytes(t, i);
      if (memcmp(outputs[0][i], outputs[1][i], bytes) != 0)
        snprintf(t->wrong, sizeof t->wrong, "other bits where values are stored, with %s",
                 machines[k].target ? machines[k].target : "the processor as it is");
      compared += (long)bytes;
    }
  }
  for (uint32_t i = 0; i < t->input_count; i++) free(inputs[i]);
  for (uint32_t i = 0; i < 2 * t->result_count; i++) free(outputs[i % 2][i / 2]);
}

static void report(const cases *c) {
  printf("%ld graphs, %ld bytes of results compared, %ld kernels and %ld more where values are stored",
         c->done, compared, kernels, more);
}

static bool enough(const cases *c) { return c->repeat || more >= c->done; }

TRIAL_MAIN("alternatives", 40, machines, MACHINES, sizeof(sum_graph), sum_graph_record, run, report, enough)
