/* One program for every size: the mean of each group of four numbers, of any multiple of four of them. */
#include <stdio.h>
#include <viewfold.h>

static vf_program *compile(vf_context *context, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "means", error);
  vf_value n = vf_variable(graph, "n", 4, 1 << 20, 4);
  vf_value x = vf_input_sized(graph, "x", VF_F32, 1, &n);
  vf_value groups = vf_apply(graph, "reshape", &x, 1, "shape=[n//4,4]");
  vf_output(graph, "y", vf_mean(groups, VF_LIST(1), false));
  vf_program *program = vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

int main(void) {
  float in[12] = {1, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 1}, out[3];
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  vf_program *program = context ? compile(context, &error) : NULL;
  if (!program) fprintf(stderr, "%s\n", error.message);
  for (int64_t n = 8; program && n <= 12; n += 2) { /* 10 is refused */
    if (vf_program_run(program, (const void *[]){in}, (void *[]){out}, &n, &error) != VF_OK) {
      printf("%s\n", error.message);
      continue;
    }
    printf("n=%d:", (int)n);
    for (int i = 0; i < n / 4; i++) printf(" %g", out[i]);
    printf("\n");
  }
  vf_program_destroy(program);
  vf_context_destroy(context);
  return program ? 0 : 1;
}
