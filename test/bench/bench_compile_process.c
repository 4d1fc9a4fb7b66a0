/* The cost of compiling in another process: new processes compile in themselves and through viewfold-compile,
 * in turn.
 *
 *   build/bench/bench_compile_process [REPETITIONS [KERNELS]]
 *
 * Starts itself REPETITIONS (101) times for each variant. Prints medians and least times in milliseconds, and
 * those of the differences within a repetition:
 *
 *   first     vf_compile of a context's first program, of KERNELS (1) kernels: LLVM is loaded
 *   later     vf_compile of a later one, of another graph: the median of 20
 *   whole     from the start of main until the context is destroyed
 *   process   from fork to exit, as the caller of a program sees it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/viewfold.h"
#include "ir/timer.h"
#include "test/lib/median.h"

enum { MEASURES = 4, VARIANTS = 2, MOST = 2000, LATER = 20 };
static const char *const names[MEASURES] = {"first", "later", "whole", "process"};

static double compile(vf_context *context, int number, int kernels) {
  vf_error error;
  vf_graph *graph = vf_graph_create(context, "g", &error);
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(32, 64));
  for (int k = 0; k < kernels; k++) {
    char name[24];
    snprintf(name, sizeof name, "y%d", k);
    vf_value y = vf_add(vf_mul(x, vf_number(graph, 1.5 + number)), vf_number(graph, 0.25 * k));
    vf_output(graph, name, vf_sum(vf_exp(y), 1, (const int64_t[]){k % 2}, false));
  }
  int64_t start = ir_now_ns();
  vf_program *program = vf_compile(graph, &error);
  double ms = (double)(ir_now_ns() - start) * 1e-6;
  if (!program) fprintf(stderr, "%s\n", error.message), exit(1);
  vf_program_destroy(program);
  vf_graph_destroy(graph);
  return ms;
}

static int child(int mode, int kernels) {
  int64_t start = ir_now_ns();
  double later[LATER];
  vf_options options = {.size = sizeof options,
                        .flags = VF_NO_DISK,
                        .compile_mode = mode ? VF_COMPILE_PROCESS : VF_COMPILE_IN_PROCESS};
  vf_context *context = vf_context_create(&options, NULL);
  if (!context) return 1;
  double first = compile(context, 0, kernels);
  for (int i = 0; i < LATER; i++) later[i] = compile(context, i + 1, kernels);
  vf_context_destroy(context);
  printf("%f %f %f\n", first, median(later, LATER), (double)(ir_now_ns() - start) * 1e-6);
  return 0;
}

static int measure(const char *self, int mode, int kernels, double ms[MEASURES]) {
  char command[4200], line[200];
  snprintf(command, sizeof command, "exec '%s' --child %d %d", self, mode, kernels);
  int64_t start = ir_now_ns();
  FILE *f = popen(command, "r");
  int good = f && fgets(line, sizeof line, f) && sscanf(line, "%lf %lf %lf", &ms[0], &ms[1], &ms[2]) == 3;
  good = f && pclose(f) == 0 && good;
  ms[3] = (double)(ir_now_ns() - start) * 1e-6;
  return good;
}

int main(int argc, char **argv) {
  static double all[VARIANTS + 1][MEASURES][MOST];
  if (argc == 4 && strcmp(argv[1], "--child") == 0) return child(atoi(argv[2]), atoi(argv[3]));
  int iterations = argc > 1 ? atoi(argv[1]) : 101, kernels = argc > 2 ? atoi(argv[2]) : 1;
  if (iterations < 1 || iterations > MOST) return 2;
  for (int i = 0; i < iterations; i++) {
    double ms[VARIANTS][MEASURES];
    for (int k = 0; k < VARIANTS; k++)
      if (!measure(argv[0], (k + i) % 2, kernels, ms[(k + i) % 2])) return 1;
    for (int p = 0; p < MEASURES; p++)
      all[0][p][i] = ms[0][p], all[1][p][i] = ms[1][p], all[2][p][i] = ms[1][p] - ms[0][p];
  }
  printf("compile_process, %d repetitions of %d kernels, ms:", iterations, kernels);
  for (int p = 0; p < MEASURES; p++) {
    double in = median(all[0][p], (size_t)iterations), out = median(all[1][p], (size_t)iterations),
           more = median(all[2][p], (size_t)iterations);
    printf("%s %s in-process %.2f (least %.2f), process %.2f (%.2f), more %+.2f", p ? ";" : "", names[p], in,
           all[0][p][0], out, all[1][p][0], more);
  }
  printf("\n");
  return 0;
}
