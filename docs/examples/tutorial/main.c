/* Runs the examples of docs/tutorial.md that are named on the command line. A function that takes a graph
 * records: its outputs are computed and printed here. One that takes a context does everything itself. */
#include "tutorial.h"

#include <stdlib.h>

#include "examples.h" /* cut out of the page by build.sh */

static const struct {
  const char *name;
  void (*records)(vf_graph *graph);
  void (*runs)(vf_context *context);
} examples[] = {
#include "examples.list"
};

void stop(const vf_error *error) {
  printf("%s\n", error->message);
  exit(1);
}

static double element(vf_dtype dtype, const void *elements, int64_t i) {
  switch (dtype) {
  case VF_BOOL: return ((const bool *)elements)[i];
  case VF_U8: return ((const uint8_t *)elements)[i];
  case VF_I32: return ((const int32_t *)elements)[i];
  case VF_I64: return (double)((const int64_t *)elements)[i];
  case VF_F32: return (double)((const float *)elements)[i];
  case VF_F64: return ((const double *)elements)[i];
  default: return 0;
  }
}

/* Elements at *at and on, of an array of this shape. */
static void print_elements(vf_dtype dtype, int rank, const int64_t *shape, const void *elements,
                           int64_t *at) {
  if (rank == 0) {
    printf("%.6g", element(dtype, elements, (*at)++));
    return;
  }
  printf("[");
  for (int64_t i = 0; i < *shape; i++) {
    if (i) printf(", ");
    print_elements(dtype, rank - 1, shape + 1, elements, at);
  }
  printf("]");
}

void print_array(const char *name, vf_dtype dtype, int rank, const int64_t *shape, const void *elements) {
  int64_t at = 0;
  printf("%s: %s[", name, vf_dtype_name(dtype));
  for (int i = 0; i < rank; i++) printf("%s%lld", i ? "," : "", (long long)shape[i]);
  printf("] = ");
  print_elements(dtype, rank, shape, elements, &at);
  printf("\n");
}

void run_and_print(const vf_program *program, const void *const *inputs, const int64_t *sizes) {
  enum { MOST = 16 };
  void *outputs[MOST];
  vf_error error;
  int count = vf_port_count(program, VF_OUTPUT);
  for (int i = 0; i < count && i < MOST; i++) {
    int64_t bytes = vf_port_bytes(program, VF_OUTPUT, i, sizes, &error);
    if (bytes < 0) stop(&error);
    outputs[i] = malloc((size_t)bytes + 1);
  }
  if (vf_program_run(program, inputs, outputs, sizes, &error) != VF_OK) stop(&error);
  for (int i = 0; i < count && i < MOST; i++) {
    int64_t shape[16];
    if (vf_port_shape(program, VF_OUTPUT, i, sizes, shape, &error) != VF_OK) stop(&error);
    print_array(vf_port_name(program, VF_OUTPUT, i), vf_port_dtype(program, VF_OUTPUT, i),
                vf_port_rank(program, VF_OUTPUT, i), shape, outputs[i]);
    free(outputs[i]);
  }
}

static void compute(vf_context *context, const char *name, void (*records)(vf_graph *graph)) {
  vf_error error;
  vf_graph *graph = vf_graph_create(context, name, &error);
  if (!graph) stop(&error);
  records(graph);
  vf_program *program = vf_compile(graph, &error);
  if (!program) stop(&error);
  run_and_print(program, NULL, NULL);
  vf_program_destroy(program);
  vf_graph_destroy(graph);
}

int main(int count, char **argument) {
  vf_error error;
  vf_context *context = vf_context_create(NULL, &error);
  if (!context) stop(&error);
  for (int a = 1; a < count; a++) {
    size_t i = 0;
    while (i < sizeof examples / sizeof *examples && strcmp(examples[i].name, argument[a]) != 0) i++;
    if (i == sizeof examples / sizeof *examples) return fprintf(stderr, "no example %s\n", argument[a]), 2;
    if (examples[i].records) compute(context, argument[a], examples[i].records);
    else examples[i].runs(context);
  }
  vf_context_destroy(context);
  return 0;
}
