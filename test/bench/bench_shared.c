/* Constants of 64 MiB that products read, in one file: the time until a program is loaded, and the memory of
 * processes that have several programs of other numbers of rows each.
 *
 *   make build/bench/bench_shared && build/bench/bench_shared [PROCESSES [PROGRAMS [ARRAYS]]]   4 8 1 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/folder.h"

enum { MIB = 1 << 20, BYTES = 64 * MIB, INNER = 1024, MOST = 64, NAME = 16, SETTLE_SECONDS = 3 };
static char folder[200], weights[300], cache[300];
static vf_error error;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(bool good) {
  if (good) return;
  fprintf(stderr, "bench_shared: %s\n", error.message);
  _exit(1);
}

static vf_context *open_context(void) {
  vf_options options = {.size = sizeof options, .cache_dir = cache};
  vf_context *c = vf_context_create(&options, &error);
  must(c != NULL);
  return c;
}

static void write_weights(int arrays) {
  const int64_t shape[] = {INNER, BYTES / 4 / INNER / arrays};
  vf_named_array list[MOST];
  static char names[MOST][NAME];
  float *elements = malloc(BYTES);
  vf_context *c = open_context();
  must(elements != NULL);
  for (int i = 0; i < BYTES / 4; i++) elements[i] = (float)(i % 1000);
  for (int i = 0; i < arrays; i++) {
    snprintf(names[i], NAME, "w%d", i);
    list[i] = (vf_named_array){names[i], VF_F32, 2, shape, elements + (BYTES / 4 / arrays) * i};
  }
  must(!vf_arrays_write(c, weights, (size_t)arrays, list, &error));
  vf_context_destroy(c);
  free(elements);
  sleep(SETTLE_SECONDS); /* digests of younger files are not kept */
}

static vf_program *load(vf_context *c, int arrays, int rows) {
  vf_arrays *file = vf_arrays_open(c, weights, &error);
  must(file != NULL);
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_value x = vf_input(g, "x", VF_F32, 2, (int64_t[]){rows, INNER}), sum = vf_number(g, 0);
  for (int i = 0; i < arrays; i++) {
    char name[NAME];
    snprintf(name, sizeof name, "w%d", i);
    vf_value product = vf_matmul(x, vf_arrays_constant(g, file, name));
    sum = vf_add(sum, vf_sum(product, 1, (int64_t[]){1}, false));
  }
  vf_output(g, "y", sum);
  vf_arrays_close(file);
  vf_program *p = vf_compile(g, &error);
  must(p != NULL);
  vf_graph_destroy(g);
  return p;
}

static void print_memory(int number) {
  char line[256];
  long resident = 0, share = 0, own = 0;
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) {
    sscanf(line, "Rss: %ld", &resident);
    sscanf(line, "Pss: %ld", &share);
    sscanf(line, "Anonymous: %ld", &own);
  }
  if (f) fclose(f);
  printf("process %d: resident %.1f MiB, its share of that %.1f MiB, anonymous %.1f MiB\n", number,
         (double)resident / 1024, (double)share / 1024, (double)own / 1024);
}

/* One process: it says that it has run its programs, and waits until all have. */
static void work(int number, int arrays, int count, int ready, int go) {
  vf_program *programs[MOST];
  char nothing;
  static float x[INNER * INNER], y[INNER];
  vf_context *c = open_context();
  double start = now(), first = 0;
  for (int i = 0; i < count; i++) {
    programs[i] = load(c, arrays, 16 + 8 * i);
    if (!i) first = now() - start;
  }
  printf("process %d: first program loaded in %.2f ms, all in %.2f ms\n", number, first, now() - start);
  for (int i = 0; i < count; i++)
    must(!vf_program_run(programs[i], (const void *[]){x}, (void *[]){y}, NULL, &error));
  must(write(ready, "x", 1) == 1);
  if (read(go, &nothing, 1) == 0) print_memory(number);
  fflush(stdout);
  sleep(1); /* until all have printed */
  _exit(0);
}

static void try_processes(int processes, int programs, int arrays) {
  int go[2], ready[2];
  char nothing;
  must(pipe(go) == 0 && pipe(ready) == 0);
  for (int i = 0; i < processes; i++) {
    fflush(stdout);
    if (fork()) continue;
    close(go[1]);
    work(i, arrays, programs, ready[1], go[0]);
  }
  for (int i = 0; i < processes; i++) must(read(ready[0], &nothing, 1) == 1);
  close(go[1]);
  while (wait(NULL) > 0) {}
  close(go[0]), close(ready[0]), close(ready[1]);
}

int main(int argc, char **argv) {
  int processes = argc > 1 ? atoi(argv[1]) : 4, programs = argc > 2 ? atoi(argv[2]) : 8,
      arrays = argc > 3 ? atoi(argv[3]) : 1;
  if (processes < 1 || programs < 1 || programs > MOST || arrays < 1 || arrays > MOST) return 2;
  if (!test_folder_make(folder, sizeof folder)) return 2;
  snprintf(weights, sizeof weights, "%s/w.safetensors", folder);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  pid_t child = fork();
  if (!child) write_weights(arrays), _exit(0);
  waitpid(child, NULL, 0);
  printf("%d arrays of 64 MiB in all, %d programs\nnothing in the cache:\n", arrays, programs);
  try_processes(1, programs, arrays);
  printf("again, one process:\n");
  try_processes(1, programs, arrays);
  printf("again, %d processes:\n", processes);
  try_processes(processes, programs, arrays);
  test_folder_remove(folder);
  return 0;
}
