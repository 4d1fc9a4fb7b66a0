/* The C API in unit tests: what these functions create is destroyed when the running test ends, the last
 * first. Every error fails the running cmocka test. */
#ifndef VIEWFOLD_TEST_API_H
#define VIEWFOLD_TEST_API_H

#include "frontend/viewfold.h"
#include "test/lib/memory.h"

vf_context *api_context(void); /* with default options */
vf_context *api_context_with(vf_options options);
/* Without a cache on disk, for one at a time: its memory, which api_memory counts, must all be freed when it
 * is destroyed. */
vf_context *api_counted_context(void);
extern test_memory api_memory;
vf_graph *api_graph(vf_context *context, const char *name);
vf_graph *api_parse(vf_context *context, const char *text); /* of a file "test" */
vf_program *api_compile(vf_graph *graph);

/* Checks that a message gives this reason, and names no other call than the one behind it. */
void api_check_reason(const char *message, const char *reason);

/* Checks that the graph's text parses, and gives the same text again. */
void api_check_text(vf_context *context, vf_graph *graph);

void api_run(const vf_program *program, const void *const *inputs, void *const *outputs,
             const int64_t *variables);
void api_evaluate(vf_graph *graph, const void *const *inputs, void *const *outputs, const int64_t *variables);

#endif
