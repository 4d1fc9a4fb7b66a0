/* Constants from a file of 64 MiB: the first time, and when its digests are in the cache on disk, in a
 * context of its own each time. What a run costs more that has constants in a file, and memory that is
 * resident.
 *
 *   make build/bench/bench_weights && build/bench/bench_weights [ARRAYS]   64 MiB in that many; 1 when not
 * given */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/folder.h"
#include "test/lib/median.h"

enum { MIB = 1 << 20, BYTES = 64 * MIB, TIMES = 21, RUNS = 2001, MOST = 4096, NAME = 16 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static vf_error error;
static void must(bool good) {
  if (good) return;
  fprintf(stderr, "bench_weights: %s\n", error.message);
  exit(1);
}

/* Sums a few elements of each array, so that compiling is short. */
static vf_graph *record(vf_context *c, vf_arrays *file, int count) {
  vf_graph *g = vf_graph_create(c, "g", &error);
  vf_value sum = vf_number(g, 0);
  for (int i = 0; i < count; i++) {
    char name[NAME];
    snprintf(name, sizeof name, "w%d", i);
    vf_value w = vf_arrays_constant(g, file, name);
    sum = vf_add(sum, vf_sum(vf_shrink(w, 2, (int64_t[]){0, 4}), 1, (int64_t[]){0}, false));
  }
  vf_output(g, "y", sum);
  return g;
}

static double resident(void) {
  long pages = 0, unused;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &unused, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / MIB;
}

static double load(const char *folder, const char *path, int count, double parts[3], bool runs) {
  char cache[300];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  vf_options options = {.size = sizeof options, .cache_dir = cache};
  vf_context *c = vf_context_create(&options, &error);
  must(c != NULL);
  double start = now();
  vf_arrays *file = vf_arrays_open(c, path, &error);
  must(file != NULL);
  double opened = now();
  vf_graph *g = record(c, file, count);
  double recorded = now();
  vf_program *p = vf_compile(g, &error);
  must(p != NULL);
  double end = now();
  parts[0] = opened - start, parts[1] = recorded - opened, parts[2] = end - recorded;
  vf_arrays_close(file);
  if (runs) {
    float y;
    double times[RUNS];
    for (int i = 0; i < RUNS; i++) {
      double before = now();
      must(!vf_program_run(p, NULL, (void *[]){&y}, NULL, &error));
      times[i] = now() - before;
    }
    printf("a run: %.5f ms; resident: %.1f MiB\n", median(times, RUNS), resident());
  }
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
  return end - start;
}

int main(int argc, char **argv) {
  char folder[200], path[300];
  int count = argc > 1 ? atoi(argv[1]) : 1;
  if (count < 1 || count > MOST || !test_folder_make(folder, sizeof folder)) return 2;
  snprintf(path, sizeof path, "%s/w.safetensors", folder);
  vf_context *c = vf_context_create(NULL, &error);
  vf_named_array list[MOST];
  static char names[MOST][NAME];
  int64_t each = BYTES / 4 / count;
  float *elements = malloc(BYTES);
  if (!c || !elements) return 2;
  for (int i = 0; i < BYTES / 4; i++) elements[i] = (float)(i % 1000);
  for (int i = 0; i < count; i++) {
    snprintf(names[i], NAME, "w%d", i);
    list[i] = (vf_named_array){names[i], VF_F32, 1, &each, elements + i * each};
  }
  must(!vf_arrays_write(c, path, (size_t)count, list, &error));
  free(elements);
  vf_context_destroy(c);
  struct timespec settle = {2, 100000000}; /* younger files are digested each time */
  nanosleep(&settle, NULL);
  double times[TIMES], parts[3];
  printf("%d arrays of 64 MiB in all\nfirst: %.3f ms\n", count, load(folder, path, count, parts, false));
  for (int i = 0; i < TIMES; i++) times[i] = load(folder, path, count, parts, false);
  printf("again: %.3f ms (the last: open %.3f, record %.3f, compile %.3f)\n", median(times, TIMES), parts[0],
         parts[1], parts[2]);
  load(folder, path, count, parts, true);
  test_folder_remove(folder);
  return 0;
}
