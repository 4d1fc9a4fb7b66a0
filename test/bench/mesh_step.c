#define _GNU_SOURCE /* MADV_HUGEPAGE */
/* What a step on a mesh takes, in milliseconds, the median and the fastest: of devices that have their parts.
 * Each device of processes that MPI has started takes random inputs of f32; all processes call it alike.
 *
 *   mesh_step RUNS FILE.vf
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "viewfold.h"
#include "viewfold_mesh.h"

enum { WARM = 3, MOST_RANK = 16, THREADS = 1, PAGE = 2 << 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static vf_graph *read_graph(vf_context *context, const char *path, vf_error *error) {
  static char text[1 << 20];
  FILE *file = fopen(path, "r");
  size_t size = file ? fread(text, 1, sizeof text, file) : 0;
  if (file) fclose(file);
  return vf_graph_parse(context, text, size, path, NULL, error);
}

/* Memory for the parts of a port, of all devices. */
static void make_parts(const vf_program *p, vf_port port, void **parts, vf_error *error) {
  int64_t devices = vf_program_device_count(p);
  int ports = vf_port_count(p, port);
  for (int64_t d = 0; d < devices && error->status == VF_OK; d++)
    for (int i = 0; i < ports && error->status == VF_OK; i++) {
      int64_t shape[MOST_RANK], offset[MOST_RANK], elements = 1;
      if (vf_port_part(p, port, i, d, NULL, shape, offset, NULL, error) != VF_OK) return;
      for (int k = 0; k < vf_port_rank(p, port, i); k++) elements *= shape[k];
      size_t bytes = ((size_t)elements * sizeof(float) + PAGE - 1) / PAGE * PAGE;
      float *part = aligned_alloc(PAGE, bytes);
      madvise(part, bytes, MADV_HUGEPAGE); /* as inputs of the command */
      for (int64_t k = 0; k < elements; k++) part[k] = (float)rand() / (float)RAND_MAX - 0.5F;
      parts[d * ports + i] = part;
    }
}

int main(int argc, char **argv) {
  static void *inputs[256], *outputs[256];
  vf_error error = {VF_OK, ""};
  if (argc != 3) return fprintf(stderr, "mesh_step RUNS FILE.vf\n"), 2;
  int runs = atoi(argv[1]);
  double *took = malloc((size_t)runs * sizeof *took);
  vf_options options = {.size = sizeof options, .threads = THREADS};
  vf_context *context = vf_context_create(&options, &error);
  if (!error.status) vf_processes_join(context, 0, &error);
  vf_graph *g = error.status ? NULL : read_graph(context, argv[2], &error);
  vf_program *p = g ? vf_compile_on(g, NULL, 0, &error) : NULL;
  if (p) make_parts(p, VF_INPUT, inputs, &error), make_parts(p, VF_OUTPUT, outputs, &error);
  for (int i = -WARM; i < runs && !error.status; i++) {
    double start = now();
    vf_program_run_parts(p, (const void *const *)inputs, (void *const *)outputs, NULL, &error);
    if (i >= 0) took[i] = now() - start;
  }
  if (error.status) return fprintf(stderr, "%s\n", error.message), 1;
  qsort(took, (size_t)runs, sizeof *took, ascending);
  if (vf_process_number(context) == 0) printf("%.6f %.6f\n", took[runs / 2], took[0]);
  vf_program_destroy(p);
  vf_graph_destroy(g);
  vf_context_destroy(context);
  return 0;
}
