/* The same kernel as lljit_minimal.c through the library: record, compile or find in the cache, run once. */
#include "frontend/viewfold.h"

#include <stdio.h>

enum { N = 4096 };

int main(void) {
  static float out[N], a[N], b[N], c[N];
  for (int i = 0; i < N; i++) a[i] = (float)i, b[i] = 2, c[i] = 1;
  vf_context *context = vf_context_create(NULL, NULL);
  vf_graph *graph = vf_graph_create(context, "fma_kernel", NULL);
  vf_value x = vf_input(graph, "a", VF_F32, VF_LIST(N)), y = vf_input(graph, "b", VF_F32, VF_LIST(N)),
           z = vf_input(graph, "c", VF_F32, VF_LIST(N));
  vf_output(graph, "out", vf_add(vf_mul(x, y), z));
  vf_error error = {0};
  vf_program *program = vf_compile(graph, &error);
  if (!program || vf_program_run(program, (const void *[]){a, b, c}, (void *[]){out}, NULL, &error) != VF_OK)
    return fprintf(stderr, "%s\n", error.message), 1;
  printf("%g\n", out[N - 1]);
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
  return 0;
}
