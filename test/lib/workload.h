/* Small graphs of the kinds that users' programs contain, recorded through the API and run on fixed elements,
 * for tests of what surrounds compiling and running. */
#ifndef VIEWFOLD_TEST_WORKLOAD_H
#define VIEWFOLD_TEST_WORKLOAD_H

#include "frontend/viewfold.h"

typedef struct test_workload {
  const char *name;
  void (*record)(vf_graph *graph);
  bool (*prepare)(vf_context *context, vf_error *error); /* NULL: nothing to do */
  int64_t variables[1];                                  /* of a run; unused ones are 0 */
} test_workload;

extern const test_workload test_workloads[];
extern const int test_workload_count;
const test_workload *test_workload_find(const char *name); /* NULL: there is none */

/* The results of a run: all outputs, one after the other, then all inputs, of which it changes references
 * alone. */
typedef struct test_result {
  size_t size;
  float elements[1 << 14];
} test_result;

/* Registers the operations that the graph uses; call it once per context, before recording. */
bool test_workload_prepare(const test_workload *w, vf_context *context, vf_error *error);
/* The graph with its outputs. NULL, with *error set, on failure. */
vf_graph *test_workload_record(const test_workload *w, vf_context *context, vf_error *error);
/* Runs the program on inputs that hold small dyadic numbers. VF_ERR_INTERNAL where it fails for want of
 * memory, and changes an input all the same. */
vf_status test_workload_run(const test_workload *w, const vf_program *program, test_result *out,
                            vf_error *error);
/* Do the results agree with the evaluator's, up to rounding? */
bool test_workload_agrees(const test_workload *w, vf_graph *graph, const vf_program *program,
                          const test_result *result);

#endif
