/* Runs a graph of test/lib/workload.h through the API, in a context of its own with the default cache, and
 * prints the bits of its results. Campaigns let its calls fail.
 *
 *   workload NAME
 *
 * Exit status: 0; 3 after a failure, with a message on standard error. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test/lib/workload.h"

static bool run(const test_workload *w, vf_context *c, test_result *result, vf_error *error) {
  if (!test_workload_prepare(w, c, error)) return false;
  vf_graph *g = test_workload_record(w, c, error);
  vf_program *p = g ? vf_compile(g, error) : NULL;
  bool good = p && test_workload_run(w, p, result, error) == VF_OK;
  vf_program_destroy(p);
  vf_graph_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  static test_result result;
  const test_workload *w = argc == 2 ? test_workload_find(argv[1]) : NULL;
  if (!w) return 2;
  vf_error error = {0};
  vf_options options = {.size = sizeof options, .threads = 1};
  vf_context *c = vf_context_create(&options, &error);
  bool good = c && run(w, c, &result, &error);
  vf_context_destroy(c);
  if (!good) fprintf(stderr, "workload: %s: %s\n", vf_status_text(error.status), error.message);
  for (size_t i = 0; i < result.size / sizeof(float) && good; i++) {
    uint32_t bits;
    memcpy(&bits, &result.elements[i], sizeof bits);
    printf("%08" PRIx32 "\n", bits);
  }
  if (good && (fflush(stdout) || ferror(stdout))) {
    perror("workload: standard output");
    good = false;
  }
  return good ? 0 : 3;
}
