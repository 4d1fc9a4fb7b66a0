#define _GNU_SOURCE /* sched_setaffinity */
/* What exchanges cost: an all_reduce of 64 bytes and one of 16 MiB between two devices, beside what carries
 * their bytes. Devices that are threads of a process: alone. Devices of two processes: in turns with
 * MPI_Allreduce of the MPI that started them. Times are medians of differences between programs of many and
 * of few all_reduces one after the other, each with the kernel that adds up. Threads have a processor each.
 *
 *   test/bench/exchanges.sh
 */
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "viewfold.h"
#include "viewfold_mesh.h"
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { FEW = 1, MOST_ROUNDS = 401 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first two processors that this process may run on; false: there is one. */
static bool find_processors(int *out) {
  cpu_set_t may;
  int count = 0;
  if (sched_getaffinity(0, sizeof may, &may)) return false;
  for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
    if (CPU_ISSET(i, &may)) out[count++] = i;
  return count == 2;
}

/* The threads of the two devices on a processor each, as where nothing else runs. */
static void pin_threads(void) {
  static int processors[2];
  static bool known, found; /* before the first thread is pinned, which narrows what it may run on */
  if (!known) found = find_processors(processors), known = true;
  DIR *tasks = found ? opendir("/proc/self/task") : NULL;
  for (struct dirent *task; tasks && (task = readdir(tasks));) {
    cpu_set_t one;
    if (*task->d_name == '.') continue;
    CPU_ZERO(&one);
    CPU_SET(processors[atoi(task->d_name) != getpid()], &one); /* one device's is that of the process */
    sched_setaffinity(atoi(task->d_name), sizeof one, &one);
  }
  if (tasks) closedir(tasks);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *list, int count) {
  qsort(list, (size_t)count, sizeof *list, ascending);
  return list[count / 2];
}

/* An array of its own pages: those that nothing has written are one in the memory of the machine. */
static float *array_of(long elements) {
  float *a = malloc((size_t)elements * sizeof *a);
  for (long i = 0; i < elements; i++) a[i] = (float)(i % 7);
  return a;
}

/* y = a summed over the devices, and again what all have summed over them, `hops` times. */
static vf_program *compile(vf_context *context, long elements, int hops, vf_error *error) {
  size_t room = 256 + (size_t)hops * 200, at;
  char *text = malloc(room);
  at = (size_t)snprintf(text, room,
                        "mesh @m [x=2]\ngraph @g(%%a: f32[2,%ld] @m[x,-]) {\n  %%s0 = sum %%a axes=[0]\n  "
                        "%%r0 = all_reduce %%s0\n",
                        elements);
  for (int i = 1; i < hops; i++)
    at += (size_t)snprintf(text + at, room - at,
                           "  %%e%d = expand %%r%d shape=[2,%ld] : f32[2,%ld] @m[x,-]\n  %%s%d = sum %%e%d "
                           "axes=[0]\n  %%r%d = all_reduce %%s%d\n",
                           i, i - 1, elements, elements, i, i, i, i);
  snprintf(text + at, room - at, "  return %%r%d\n}\n", hops - 1);
  vf_graph *g = vf_graph_parse(context, text, strlen(text), "exchanges", NULL, error);
  vf_program *p = g ? vf_compile_on(g, NULL, 0, error) : NULL;
  vf_graph_destroy(g);
  free(text);
  return p;
}

/* Seconds of one all_reduce: the median, and the least, which is what there is beside other work. */
typedef struct times {
  double median, least;
} times;

enum { CYCLES = 7 }; /* in turns */
typedef struct size {
  long elements;
  int hops, rounds;
  times ours[CYCLES], theirs[CYCLES];
} size;

static times times_of(double *list, int count) {
  double middle = median(list, count);
  return (times){middle, list[0]};
}

static double time_of(vf_program *p, float **parts, float **results, vf_error *error) {
  double start = now();
  vf_program_run_parts(p, (const void *const *)parts, (void *const *)results, NULL, error);
  return now() - start;
}

static void measure(vf_context *context, size *s, int cycle, vf_error *error) {
  static double few[MOST_ROUNDS], many[MOST_ROUNDS];
  vf_program *one = compile(context, s->elements, FEW, error);
  vf_program *chain = error->status ? NULL : compile(context, s->elements, FEW + s->hops, error);
  float *parts[2], *results[2];
  for (int i = 0; i < 2; i++) {
    parts[i] = array_of(s->elements);
    results[i] = array_of(s->elements);
  }
  for (int i = -2; i < s->rounds && chain && error->status == VF_OK; i++) {
    int at = i < 0 ? 0 : i;
    few[at] = time_of(one, parts, results, error);
    many[at] = time_of(chain, parts, results, error);
#ifndef WITH_MPI
    if (i < 0) pin_threads();
#endif
  }
  times less = times_of(few, s->rounds), more = times_of(many, s->rounds);
  s->ours[cycle] = (times){(more.median - less.median) / s->hops, (more.least - less.least) / s->hops};
  for (int i = 0; i < 2; i++) free(parts[i]), free(results[i]);
  vf_program_destroy(one), vf_program_destroy(chain);
}

#ifdef WITH_MPI
static void measure_mpi(size *s, int cycle) {
  static double list[MOST_ROUNDS];
  float *in = array_of(s->elements), *out = array_of(s->elements);
  for (int i = -2; i < s->rounds; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int k = 0; k < s->hops; k++)
      MPI_Allreduce(in, out, (int)s->elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    list[i < 0 ? 0 : i] = (now() - start) / s->hops;
  }
  s->theirs[cycle] = times_of(list, s->rounds);
  free(in), free(out);
}
#endif

static times middle_of(const times *list) {
  double medians[CYCLES], least[CYCLES];
  for (int i = 0; i < CYCLES; i++) medians[i] = list[i].median, least[i] = list[i].least;
  return (times){median(medians, CYCLES), median(least, CYCLES)};
}

static void report(const size *s) {
  times ours = middle_of(s->ours), theirs = middle_of(s->theirs);
  printf("all_reduce of %ld bytes: median %.3f us, least %.3f", s->elements * (long)sizeof(float),
         ours.median * 1e6, ours.least * 1e6);
  if (theirs.median > 0)
    printf("; MPI_Allreduce %.3f and %.3f: %+.3f and %+.3f us, ratios %.3f and %.3f", theirs.median * 1e6,
           theirs.least * 1e6, (ours.median - theirs.median) * 1e6, (ours.least - theirs.least) * 1e6,
           ours.median / theirs.median, ours.least / theirs.least);
  printf("\n");
}

int main(int argc, char **argv) {
  static size sizes[] = {{16, 20, 301}, {4 << 20, 1, 9}};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  vf_error error = {VF_OK, ""};
  bool speaks = true;
#ifdef WITH_MPI
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
#endif
  (void)argc, (void)argv;
  for (int cycle = 0; cycle < CYCLES && error.status == VF_OK; cycle++) {
#ifdef WITH_MPI
    for (int i = 0; i < SIZES; i++) measure_mpi(&sizes[i], cycle); /* while no thread of ours calls MPI */
#endif
    vf_options options = {.size = sizeof options, .threads = 1};
    vf_context *context = vf_context_create(&options, &error);
#ifdef WITH_MPI
    vf_processes_join(context, 0, &error);
#endif
    speaks = vf_process_number(context) == 0;
    for (int i = 0; i < SIZES && error.status == VF_OK; i++) measure(context, &sizes[i], cycle, &error);
    vf_context_destroy(context);
  }
  if (error.status) fprintf(stderr, "%s\n", error.message);
  for (int i = 0; i < SIZES && speaks && error.status == VF_OK; i++) report(&sizes[i]);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return error.status != VF_OK;
}
