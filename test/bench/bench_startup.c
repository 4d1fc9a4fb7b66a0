/* Whole processes, from fork to exit, in turn: an empty program, LLVM's own JIT on one kernel, the same
 * kernel through viewfold with an empty cache, and with a warm one (which must compile nothing).
 *
 *   bench_startup DIRECTORY [REPETITIONS]     DIRECTORY holds lljit_minimal and one_kernel
 *
 * Prints medians in milliseconds and the ratios of viewfold's times to the JIT's and the empty program's. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/lib/median.h"

enum { KINDS = 4, MOST = 1000 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double run(const char *path, char **environment) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int status = -1;
  double start = now_ms();
  if (posix_spawn(&child, path, &quiet, NULL, (char *[]){(char *)path, NULL}, environment) == 0)
    waitpid(child, &status, 0);
  double ms = now_ms() - start;
  posix_spawn_file_actions_destroy(&quiet);
  if (status != 0) {
    fprintf(stderr, "%s failed\n", path);
    exit(1);
  }
  return ms;
}

int main(int argc, char **argv) {
  const char *directory = argc > 1 ? argv[1] : ".";
  int iterations = argc > 2 ? atoi(argv[2]) : 31;
  static double ms[KINDS][MOST];
  char lljit[4096], ours[4096], cache[4096], root[] = "/tmp/viewfold-startup-XXXXXX", remove_all[64];
  if (iterations < 1 || iterations > MOST || !mkdtemp(root)) return 2;
  snprintf(lljit, sizeof lljit, "%s/lljit_minimal", directory);
  snprintf(ours, sizeof ours, "%s/one_kernel", directory);
  char *cold_only[] = {cache, NULL}, *warm_only[] = {cache, "VIEWFOLD_COMPILE=0", NULL}, *nothing[] = {NULL};
  for (int i = 0; i < iterations; i++) {
    snprintf(cache, sizeof cache, "VIEWFOLD_CACHE_DIR=%s/%d", root, i);
    ms[0][i] = run("/bin/true", nothing);
    ms[1][i] = run(lljit, nothing);
    ms[2][i] = run(ours, cold_only);
    ms[3][i] = run(ours, warm_only);
  }
  snprintf(remove_all, sizeof remove_all, "rm -rf %s", root);
  if (system(remove_all)) return 1;
  double empty = median(ms[0], (size_t)iterations), jit = median(ms[1], (size_t)iterations),
         cold = median(ms[2], (size_t)iterations), warm = median(ms[3], (size_t)iterations);
  printf("startup: /bin/true %.2f ms, LLJIT %.2f ms, cold %.2f ms, warm %.2f ms; cold/LLJIT %.2f, warm/cold "
         "%.3f\n",
         empty, jit, cold, warm, cold / jit, warm / cold);
  return 0;
}
