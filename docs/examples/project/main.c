/* Blurs an array by a model that is a part of the program, and then transposes it by the library. */
#include <stdio.h>
#include <viewfold.h>

#include "blur.h"

int main(void) {
  float x[4 * 3] = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}, h[4 * 3], t[3 * 4];
  static char arena[blur_ARENA_BYTES + 1];
  blur_arrays arrays = {x, h};
  if (blur_run(&arrays, arena) != 0) return 1;

  vf_context *context = vf_context_create(NULL, NULL);
  vf_graph *graph = vf_graph_create(context, "transpose", NULL);
  vf_output(graph, "t", vf_permute(vf_input(graph, "h", VF_F32, VF_LIST(4, 3)), VF_LIST(1, 0)));
  vf_error error;
  vf_program *program = vf_compile(graph, &error);
  if (!program || vf_program_run(program, (const void *[]){h}, (void *[]){t}, NULL, &error) != VF_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (int i = 0; i < 12; i++) printf("%g%c", t[i], i % 4 == 3 ? '\n' : ' ');
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
}
