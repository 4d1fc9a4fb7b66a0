/* Every allocation of recording, compiling and running small graphs fails in turn: alone, and with all later
 * ones. Each attempt, in a context of its own, ends with VF_ERR_MEMORY and a message, or, where the library
 * can do without the allocation, with the right results; nothing stays allocated, and every block is freed
 * with its true size.
 *
 *   allocations [--seed N] [--step N] [--again N] [--jobs N] [--only CASE] [--random N] [--writes N] [FILE
 * ...]
 *
 * --step N: tries one allocation in N, beginning at one that the seed chooses. --again N: of the attempts
 * with one failure, one in N is repeated in the same context after failing, and must then succeed.
 *
 * --random N, --writes N, FILE: also N random graphs, N graphs that write references through views, and
 * graphs of files, which are parsed and compiled; those that write are run, too. Code is made quickly (the
 * target's setting `quick`): its quality takes the most time of an attempt, and none of the allocations.
 *
 * Attempts are made in processes of their own, so that a crash or an endless loop is one more failure of a
 * named allocation. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/ir.h"
#include "test/lib/folder.h"
#include "test/lib/memory.h"
#include "test/lib/random_graph.h"
#include "test/lib/workload.h"
#include "test/lib/write_cases.h"
#include "test/lib/options.h"

/* Seconds of processor time for one attempt; compiling takes tens of milliseconds. */
enum { WRITE_STRIDE = 37 /* between write cases: has no factor in common with their number */ };
enum { MOST_SECONDS = 60, MOST_SHOWN = 20, MOST_JOBS = 16 };

/* The program cache of an attempt: none, an empty directory, or one that holds the programs. */
typedef enum storage { NOWHERE, EMPTY, FILLED } storage;
static const struct row {
  const char *workload, *device;
  storage storage;
} rows[] = {
    {"elementwise", "cpu", NOWHERE},    {"softmax", "cpu", NOWHERE},     {"product", "cpu", NOWHERE},
    {"attention", "cpu", NOWHERE},      {"convolution", "cpu", NOWHERE}, {"scan", "cpu", NOWHERE},
    {"symbolic", "cpu", NOWHERE},       {"elementwise", "cpu", EMPTY},   {"symbolic", "cpu", EMPTY},
    {"softmax", "cpu", FILLED},         {"scan", "cpu", FILLED},         {"custom", "cpu", FILLED},
    {"elementwise", "opencl", NOWHERE}, {"product", "opencl", NOWHERE},  {"scan", "opencl", NOWHERE},
    {"symbolic", "opencl", EMPTY},      {"writes", "cpu", NOWHERE},      {"writes", "cpu", FILLED},
    {"writes", "opencl", NOWHERE},
};
static const char *const storages[] = {"without a cache", "into an empty cache", "from a cache"};
static const char *const modes[] = {"alone", "and all after it"};

/* Shared with the processes that make the attempts. */
typedef struct progress {
  long number;      /* of the allocation that fails now */
  int mode;         /* in modes[] */
  bool ready, done; /* ready: the first attempt, without a failure, succeeded; done: all attempts were made */
  long allocations; /* of an attempt without a failure */
  long attempts, failed, harmless, again, wrong;
} progress;

typedef struct worker {
  const struct row *row;
  const char *text; /* the graph's text; NULL: the graph is one of test/lib/workload.h */
  bool runs;        /* graphs of test/lib/workload.h always do */
  progress *progress;
  long seed, step, again_step, number_alone;
  int number, of; /* worker `number` of `of` */
  char directory[600];
  test_result wanted;
} worker;

typedef struct attempt {
  worker *w;
  test_memory memory;
  vf_context *context;
  bool prepared;
  vf_graph *graph;
  vf_program *program;
  test_result result;
  vf_error error;
} attempt;

static void complain(worker *w, const char *what, const char *detail) {
  const progress *p = w->progress;
  printf("%s on %s %s: allocation %ld %s: %s%s%s\n", w->row->workload, w->row->device,
         storages[w->row->storage], p->number, modes[p->mode], what, *detail ? ": " : "", detail);
  fflush(stdout);
  w->progress->wrong++;
}

/* Makes the objects that do not exist yet; false after a failure. May be called again to continue. */
static bool go_on(attempt *a) {
  worker *w = a->w;
  vf_options options = {.size = sizeof options,
                        .allocator = test_memory_hook,
                        .allocator_user = &a->memory,
                        .threads = 1,
                        .device = w->row->device,
                        .flags = w->row->storage == NOWHERE ? VF_NO_DISK : 0,
                        .cache_dir = w->directory,
                        .target = strcmp(w->row->device, "cpu") ? NULL : "quick=1"};
  const test_workload *load = test_workload_find(w->row->workload);
  static const test_workload fixed_sizes = {0};
  const char *text = w->text;
  a->error = (vf_error){0};
  if (!a->context && !(a->context = vf_context_create(&options, &a->error))) return false;
  if (text)
    return (a->graph ||
            (a->graph = vf_graph_parse(a->context, text, strlen(text), "case.vf", NULL, &a->error))) &&
           (a->program || (a->program = vf_compile(a->graph, &a->error))) &&
           (!w->runs || test_workload_run(&fixed_sizes, a->program, &a->result, &a->error) == VF_OK);
  return (a->prepared || (a->prepared = test_workload_prepare(load, a->context, &a->error))) &&
         (a->graph || (a->graph = test_workload_record(load, a->context, &a->error))) &&
         (a->program || (a->program = vf_compile(a->graph, &a->error))) &&
         test_workload_run(load, a->program, &a->result, &a->error) == VF_OK;
}

static void finish(attempt *a) {
  vf_program_destroy(a->program);
  vf_graph_destroy(a->graph);
  vf_context_destroy(a->context);
  char text[64];
  snprintf(text, sizeof text, "%zu bytes", atomic_load(&a->memory.live));
  if (atomic_load(&a->memory.live)) complain(a->w, "is left allocated", text);
  if (atomic_load(&a->memory.wrong_sizes)) complain(a->w, "blocks are given back with a wrong size", "");
}

static bool is_right(const attempt *a) {
  return a->result.size == a->w->wanted.size && !memcmp(&a->result, &a->w->wanted, sizeof a->result);
}

/* False when no allocation has that number any more. */
static bool try_one(worker *w, bool again) {
  static attempt a;
  progress *p = w->progress;
  memset(&a, 0, sizeof a);
  a.w = w;
  a.memory = (test_memory){.fail_at = p->number, .fail_after = p->mode == 1};
  struct itimerval limit = {.it_value.tv_sec = MOST_SECONDS};
  setitimer(ITIMER_PROF, &limit, NULL);
  bool good = go_on(&a), reached = atomic_load(&a.memory.allocations) >= p->number;
  p->attempts += reached;
  if (good) {
    p->harmless += reached;
    if (!is_right(&a)) complain(w, "the results are wrong", "");
  } else if (!reached || a.error.status != VF_ERR_MEMORY || !*a.error.message) {
    complain(w, vf_status_text(a.error.status), *a.error.message ? a.error.message : "without a message");
  } else {
    p->failed++;
    if (again && p->mode == 0) {
      p->again++;
      if (!go_on(&a)) complain(w, "it fails again", a.error.message);
      else if (!is_right(&a)) complain(w, "the results are wrong afterwards", "");
    }
  }
  finish(&a);
  if (w->row->storage == EMPTY) test_folder_remove(w->directory);
  return reached;
}

/* An attempt without a failure, which must give the right result. Fills the cache directory. */
static bool try_first(worker *w) {
  static attempt a;
  bool good = true;
  for (int i = 0; i < 2 && good; i++) { /* twice: allocations made once in a process do not count */
    memset(&a, 0, sizeof a);
    a.w = w;
    good = go_on(&a);
    if (!good) complain(w, "it fails without a failed allocation", a.error.message);
    w->wanted = a.result;
    w->progress->allocations = atomic_load(&a.memory.allocations);
    if (good && !w->text &&
        !test_workload_agrees(test_workload_find(w->row->workload), a.graph, a.program, &a.result))
      complain(w, "the results are not the evaluator's", "");
    finish(&a);
    if (w->row->storage == EMPTY) test_folder_remove(w->directory);
  }
  w->progress->ready = good;
  return good;
}

/* The process of a worker: it continues where its predecessor ended. */
static void work(worker *w) {
  progress *p = w->progress;
  if (!try_first(w)) _exit(1); /* after a message */
  long stride = w->step * w->of;
  for (; p->mode < 2; p->mode++, p->number = 0) {
    if (!p->number) p->number = 1 + (w->seed + w->number * w->step) % stride;
    while (try_one(w, p->number / w->step % w->again_step == 0)) p->number += stride;
  }
  p->done = true;
  _exit(0);
}

/* Tries one allocation, in this process. */
static pid_t work_here(worker *w) {
  progress *p = w->progress;
  if (try_first(w))
    for (; p->mode < 2; p->mode++) {
      p->number = w->number_alone;
      try_one(w, true);
    }
  p->done = true;
  return 0;
}

static pid_t start(worker *w) {
  if (w->number_alone) return work_here(w);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) work(w);
  return child;
}

/* Called after a worker's process has ended. Starts another one where attempts are left; returns 0 where none
 * are. */
static pid_t follow(worker *w, int status) {
  progress *p = w->progress;
  char text[64];
  if (p->done || (!p->ready && WIFEXITED(status))) return 0;
  snprintf(text, sizeof text, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  complain(w, "the process ended", text);
  if (!p->ready || p->wrong > MOST_SHOWN) return 0;
  p->attempts++;
  p->number += w->step * w->of;
  p->ready = false;
  return start(w);
}

static const char *no_device(const char *device) {
  pid_t child = fork(); /* drivers start threads, which do not survive a fork */
  if (child == 0) {
    vf_options options = {.size = sizeof options, .device = device, .flags = VF_NO_DISK};
    vf_context *c = vf_context_create(&options, NULL);
    vf_context_destroy(c);
    _exit(c ? 0 : 77);
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
    return "no such device; .ci/deps install opencl";
  return NULL;
}

/* Makes all attempts of a row; adds the counts to *sum. */
static void try_row(const struct row *row, worker with, const char *root, progress *shared, progress *sum) {
  static worker workers[MOST_JOBS];
  pid_t running[MOST_JOBS];
  for (int i = 0; i < with.of; i++) {
    shared[i] = (progress){0};
    workers[i] = with;
    workers[i].row = row;
    workers[i].progress = &shared[i];
    workers[i].number = i;
    snprintf(workers[i].directory, sizeof workers[i].directory, "%s/%d", root, i);
    running[i] = start(&workers[i]);
    if (running[i] < 0) complain(&workers[i], "fork failed", "");
  }
  int status, alive = 0;
  for (int i = 0; i < with.of; i++) alive += running[i] > 0;
  while (alive) {
    pid_t ended = wait(&status);
    for (int i = 0; i < with.of; i++)
      if (running[i] == ended && (running[i] = follow(&workers[i], status)) <= 0) alive--;
  }
  for (int i = 0; i < with.of; i++) test_folder_remove(workers[i].directory);
  progress all = {.allocations = shared[0].allocations};
  for (int i = 0; i < with.of; i++) {
    const progress *p = &shared[i];
    all.attempts += p->attempts, all.failed += p->failed, all.harmless += p->harmless;
    all.again += p->again, all.wrong += p->wrong + (p->done ? 0 : 1);
  }
  printf("%s on %s %s: %ld allocations, %ld attempts, %ld failed with a message, %ld needed it not, %ld made "
         "again, "
         "%ld wrong\n",
         row->workload, row->device, storages[row->storage], all.allocations, all.attempts, all.failed,
         all.harmless, all.again, all.wrong);
  fflush(stdout);
  sum->allocations += all.allocations, sum->attempts += all.attempts, sum->wrong += all.wrong;
}

/* A random graph as text, whose last values are results. NULL: no memory. */
static char *random_text(uint64_t seed) {
  static random_graph r;
  ir_text text;
  random_graph_make(&r, seed, 24);
  int count = r.value_count < 3 ? r.value_count : 3;
  ir_ref results[3];
  for (int i = 0; i < count; i++) results[i] = r.values[r.value_count - count + i].ref;
  ir_text_init(&text, &ir_mem_libc);
  ir_print_graph(&r.g, "case", ir_tuple(&r.g, results, (uint32_t)count), &text);
  char *copy = text.failed ? NULL : strdup(ir_text_get(&text));
  ir_text_free(&text);
  ir_graph_free(&r.g);
  return copy;
}

static char *file_text(const char *path) {
  FILE *f = fopen(path, "rb");
  static char text[1 << 20];
  size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[size] = '\0';
  return size ? strdup(text) : NULL;
}

/* A graph that changes a reference through views; NULL where the operation takes no such view, or memory is
 * short. */
static char *write_text(size_t number) {
  char text[2048], changed[2048];
  bool positive;
  if (!write_case(number, text, sizeof text, &positive)) return NULL;
  const char *base = strstr(text, "%a: ") + strlen("%a: "), *end = strstr(text, "return %y");
  snprintf(changed, sizeof changed, "%.*sref %.*s%%a = %%y\nreturn\n}\n", (int)(base - text), text,
           (int)(end - base), base);
  return strdup(changed);
}

static bool try_text(const char *name, char *text, worker with, const char *root, progress *shared,
                     progress *sum) {
  struct row row = {name, "cpu", NOWHERE};
  with.text = text;
  if (!text) printf("%s: cannot be read\n", name);
  else try_row(&row, with, root, shared, sum);
  free(text);
  return text != NULL;
}

int main(int argc, char **argv) {
  worker with = {.seed = 1, .step = 1, .again_step = 16, .of = 1};
  const char *only = "";
  long random = 0, writes = 0;
  int files = OPTIONS_READ(argc, argv, OPTION("--seed", &with.seed), OPTION("--step", &with.step),
                           OPTION("--again", &with.again_step), OPTION("--number", &with.number_alone),
                           OPTION("--jobs", &with.of), OPTION("--random", &random),
                           OPTION("--writes", &writes), OPTION("--only", &only));
  if (with.of < 1 || with.of > MOST_JOBS || with.step < 1 || with.again_step < 1 || with.seed < 0) return 2;
  char root[512];
  progress *shared =
      mmap(NULL, MOST_JOBS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || !test_folder_make(root, sizeof root)) return 2;
  const char *missing = with.number_alone ? "not in this process" : no_device("opencl");
  progress sum = {0};
  int cases = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s on %s", rows[i].workload, rows[i].device);
    if (!strstr(name, only)) continue;
    if (missing && !strcmp(rows[i].device, "opencl")) {
      printf("skip: %s on opencl: %s\n", rows[i].workload, missing);
      continue;
    }
    try_row(&rows[i], with, root, shared, &sum);
    cases++;
  }
  for (int i = files; i < argc; i++) cases += try_text(argv[i], file_text(argv[i]), with, root, shared, &sum);
  for (long i = 0; i < random; i++) {
    char name[32];
    snprintf(name, sizeof name, "random %ld", with.seed + i);
    cases += try_text(name, random_text((uint64_t)(with.seed + i)), with, root, shared, &sum);
  }
  size_t writes_tried = 0;
  with.runs = true;
  for (size_t k = (size_t)with.seed;
       writes_tried < (size_t)writes && k < (size_t)with.seed + write_case_count(); k++) {
    char name[64], *text = write_text(k * WRITE_STRIDE % write_case_count());
    if (!text) continue;
    snprintf(name, sizeof name, "writes %zu", k * WRITE_STRIDE % write_case_count());
    cases += try_text(name, text, with, root, shared, &sum);
    writes_tried++;
  }
  test_folder_remove(root);
  printf(
      "allocations: %d cases of %ld allocations in all, %ld attempts with failures, %ld wrong (seed %ld)\n",
      cases, sum.allocations, sum.attempts, sum.wrong, with.seed);
  return sum.wrong || !sum.attempts;
}
