/* The table of built-in workloads, from the graphs frontend/workloads/ID.vf and
 * frontend/workloads/workloads.def. */
#include <string.h>

#include "frontend/cli/bench/bench.h"
#include "frontend/text/nearest.h"
#include "workloads.h" /* the graphs as arrays, workload_ID */

static const bench_workload workloads[] = {
#define WORKLOAD(ID, WHAT, RANGES, READ, WRITTEN, FLOPS, TOLERANCE)                                          \
  {#ID, WHAT, workload_##ID, RANGES, READ, WRITTEN, FLOPS, TOLERANCE},
#include "frontend/workloads/workloads.def"
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

size_t bench_workload_count(void) { return WORKLOADS; }
const bench_workload *bench_workload_at(size_t number) { return &workloads[number]; }

const bench_workload *bench_workload_find(const char *id) {
  for (size_t i = 0; i < WORKLOADS; i++)
    if (strcmp(workloads[i].id, id) == 0) return &workloads[i];
  return NULL;
}

void bench_workload_unknown(const char *id, ir_error *error) {
  const char *names[WORKLOADS];
  for (size_t i = 0; i < WORKLOADS; i++) names[i] = workloads[i].id;
  const char *near = fe_nearest(id, strlen(id), names, WORKLOADS);
  const char *ending = strrchr(id, '.');
  bool file = ending && strcmp(ending, ".vf") == 0;
  ir_fail(error, IR_ERR_INVALID,
          file   ? "there is no workload '%.60s'; a graph is timed by viewfold run FILE.vf --time, by kernel "
                   "with --profile"
          : near ? "there is no workload '%.60s'; did you mean %s?"
                 : "there is no workload '%.60s'; --list prints them",
          id, near);
}
