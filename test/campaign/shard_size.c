/* How long dividing a graph takes, and how much memory.
 *
 *   shard_size FILE.vf [propagate]
 *
 * Prints the operations of the graph, the seconds of the processor for specs of all values and their
 * conflicts, and for the program of a device with its plans (without, where `propagate` is asked for alone),
 * and the most memory in MB. */
#include "ir/mesh/sharding.h"
#include "passes/propagate/propagate.h"
#include "passes/shard/shard.h"
#include "test/lib/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool divide(ir_graph *g, const ir_parsed_graph *b, const char *option) {
  bool all = !option;
  propagate_notes notes = {0};
  shard_program program = {0};
  ir_ref *inputs = calloc(b->param_count + 1, sizeof *inputs), *live = NULL;
  size_t count = 0, cap = 0;
  for (size_t i = 0; i < b->param_count; i++) inputs[i] = b->params[i].ref;
  shard_request request = {
      .root = b->root, .inputs = inputs, .input_count = b->param_count, .device = SHARD_ALL};
  bool good = ir_reachable(g, &b->root, 1, &live, &count, &cap) == IR_OK;
  double begin = now();
  good = good && pass_propagate(g, b->root, NULL, 0, &notes);
  double middle = now();
  good = good && (!all || pass_shard(g, &request, &program));
  double end = now();
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (good)
    printf("%zu nodes, %zu conflicts, %zu moves: specs %.3f s, all %.3f s, %ld MB\n", count, notes.count,
           program.note_count, middle - begin, end - begin, usage.ru_maxrss / 1024);
  propagate_notes_free(g, &notes);
  if (all) shard_program_free(&program);
  ir_free(g->mem, live, cap * sizeof *live);
  free(inputs);
  return good;
}

int main(int argc, char **argv) {
  return !with_graph_file(argc > 1 ? argv[1] : NULL, "shard_size FILE.vf [propagate]", divide,
                          argc > 2 ? argv[2] : NULL);
}
