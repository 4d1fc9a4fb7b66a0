/* Transpose and scale a 2x3 array: record, compile, run. */
#include <stdio.h>
#include <viewfold.h>

int main(void) {
  float in[6] = {0, 1, 2, 3, 4, 5}, out[6];
  vf_context *context = vf_context_create(NULL, NULL);
  vf_graph *graph = vf_graph_create(context, "scale", NULL);
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(2, 3));
  vf_output(graph, "y", vf_mul(vf_permute(x, VF_LIST(1, 0)), vf_number(graph, 0.5)));
  vf_program *program = vf_compile(graph, NULL);
  if (vf_program_run(program, (const void *[]){in}, (void *[]){out}, NULL, NULL) != VF_OK) return 1;
  for (int i = 0; i < 6; i++) printf("%g%c", out[i], i % 2 ? '\n' : ' ');
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
}
