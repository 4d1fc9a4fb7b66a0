/* The model as an object and as a program of libviewfold, called in turn on one thread. Prints the medians in
 * nanoseconds and whether the results have the same bits.   against FILE.vf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arrays.h"
#include "frontend/viewfold.h"
#include "test/lib/median.h"

enum { CALLS = 2001 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static double object[CALLS], library[CALLS];
  static float result[8 * 10];
  static char text[1 << 16];
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file || fread(text, 1, sizeof text - 1, file) == 0) return 2;
  fclose(file);
  vf_context *context = vf_context_create(NULL, NULL);
  vf_graph *graph = vf_graph_parse(context, text, strlen(text), argv[1], NULL, NULL);
  vf_program *program = vf_compile(graph, NULL);
  const void *in[] = {x, w, b, v, c};
  void *out[] = {result};
  for (int i = 0; i < CALLS; i++) {
    double start = now_ns();
    if (call()) return 1;
    double between = now_ns();
    if (vf_program_run(program, in, out, NULL, NULL) != VF_OK) return 1;
    library[i] = now_ns() - between;
    object[i] = between - start;
  }
  printf("%.0f %.0f %s\n", median(object, CALLS), median(library, CALLS),
         memcmp(result, y, sizeof y) ? "differ" : "same");
  vf_program_destroy(program), vf_graph_destroy(graph), vf_context_destroy(context);
}
