/* The same bits for every description of a machine, every number of threads and whatever was measured.
 *
 *   prop_machines --seed S --count N
 *   prop_machines --case SEED         one case again, by the seed in its report
 *   prop_machines --show SEED         its graph as text, not compiled
 *
 * A case is a random graph of test/lib/sum_graph.h. It is compiled for the machines of the table and run on
 * each. The first one is the processor as it is; no evaluator is asked, since other tests compare with that.
 * The test prints how many cases had non-temporal accesses for a small cache and none for a large one: what
 * is measured had a part in their code. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/sum_graph.h"

#define NARROW "vector_bytes=16 registers=16 "
#define AVX2   "vector_bytes=32 registers=16 "

enum { LARGE_CACHE = 2, SMALL_CACHE = 3 }; /* of the table */
enum { MACHINES = 15 };
static const case_machine machines[MACHINES] = {
    {1, NULL},
    {1, "l3=2097152"},
    {2, "l3=536870912"},
    {1, "l3=4096"},
    {3, "l3=4096 read_past=1"},
    {1, "l3=536870912 read_past=1 read_ahead=1 gather=1"},
    {2, "l1=16384 l2=131072 l3=1048576"},
    {1, "l1=131072 l2=16777216 l3=67108864"},
    {1, AVX2 "l1=32768 l2=262144 l3=4194304"},
    {4, AVX2 "masks=0 l3=4096 read_past=1 read_ahead=1"},
    {64, AVX2 "l2=1048576 l3=536870912"},
    {2, NARROW "masks=0 l1=8192 l2=32768 l3=65536"},
    {1, NARROW "dot2=0 l3=33554432"},
    {2, "vector_bytes=16 registers=32 l1=65536 l2=1048576 l3=33554432"}, /* as AArch64's */
    {2, "quick=1"},
};

static long compared, streaming;

/* Does the plan for the machine have non-temporal accesses? Each plan adds nodes to the graph; before the
 * first one there are none of these. */
static bool is_streaming(trial *t, int machine) {
  ir_plan plan;
  bool found = false;
  uint32_t before = t->g.count;
  if (!trial_plan(t, machine, &plan)) return false;
  for (ir_ref ref = before; ref < t->g.count; ref++) {
    const ir_node *n = ir_get(&t->g, ref);
    found |= (n->op == IR_OP_STORE && ir_arg_mode(n)) || (n->op == IR_OP_LOAD && n->arg && ir_arg_mode(n));
  }
  ir_plan_free(&plan);
  return found;
}

static void run(trial *t) {
  void *inputs[TRIAL_INPUTS] = {NULL}, *outputs[MACHINES][TRIAL_RESULTS] = {{NULL}};
  size_t bytes[TRIAL_RESULTS];
  if (!sum_graph_inputs(t, inputs)) snprintf(t->wrong, sizeof t->wrong, "out of memory");
  for (uint32_t i = 0; i < t->result_count; i++) bytes[i] = sum_graph_bytes(t, i);
  for (int k = 0; k < MACHINES && !*t->wrong; k++) {
    for (uint32_t i = 0; i < t->result_count; i++) outputs[k][i] = calloc(bytes[i] + 1, 1);
    trial_run_on(t, k, inputs, outputs[k]);
    for (uint32_t i = 0; i < t->result_count && !*t->wrong; compared += (long)bytes[i++])
      if (memcmp(outputs[0][i], outputs[k][i], bytes[i]) != 0)
        cases_tell_bits(&machines[k], t->wrong, sizeof t->wrong);
  }
  for (uint32_t i = 0; i < t->input_count; i++) free(inputs[i]);
  for (int k = 0; k < MACHINES; k++)
    for (uint32_t i = 0; i < t->result_count; i++) free(outputs[k][i]);
  streaming += !*t->wrong && !is_streaming(t, LARGE_CACHE) && is_streaming(t, SMALL_CACHE);
}

static void report(const cases *c) {
  printf(
      "%ld graphs on %d machines, %ld bytes of results compared, %ld graphs stored past a small cache only",
      c->done, MACHINES, compared, streaming);
}

static bool enough(const cases *c) { return c->repeat || c->done < 20 || streaming >= c->done / 4; }

TRIAL_MAIN("machines", 40, machines, MACHINES, sizeof(sum_graph), sum_graph_record, run, report, enough)
