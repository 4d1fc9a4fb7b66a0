/* Processes that compile and run graphs with one shared cache on disk, and are killed at random moments.
 * After every iteration the results of the surviving processes are right, no entry of the cache is damaged,
 * and its entries are not much larger than its limit.
 *
 *   killed --build DIR [--processes N] [--iterations N] [--seed N] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/lib/folder.h"
#include "test/lib/options.h"

enum { MOST_PROCESSES = 256, MOST_SHOWN = 20, OLD_GRAPHS = 4, NEW_GRAPHS = 6 };

typedef struct process {
  pid_t id;
  int factor; /* of its graph */
  bool done, was_killed;
} process;

static struct {
  char root[512], command[4096];
  uint64_t state;
  long started, killed, lived, wrong;
} all;

static uint32_t draw(uint32_t below) {
  all.state = all.state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(all.state >> 33) % below;
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void complain(const char *what, const char *detail) {
  if (++all.wrong <= MOST_SHOWN) printf("%s: %s\n", what, detail);
  fflush(stdout);
}

/* WEIGHTS ones as f32, in a file of NumPy's format. */
enum { WEIGHTS = 1 << 16, NPY_HEAD = 128 };
static bool write_weights(void) {
  char head[NPY_HEAD];
  const float one = 1;
  snprintf(head, sizeof head, "\x93NUMPY\x01%c%c%c%-*s", 0, NPY_HEAD - 10, 0, NPY_HEAD - 11,
           "{'descr': '<f4', 'fortran_order': False, 'shape': (65536,), }");
  head[NPY_HEAD - 1] = '\n';
  FILE *f = fopen("ones.npy", "wb");
  if (!f) return false;
  bool good = fwrite(head, 1, sizeof head, f) == sizeof head;
  for (int i = 0; i < WEIGHTS && good; i++) good = fwrite(&one, sizeof one, 1, f) == 1;
  return fclose(f) == 0 && good;
}

/* Kernels that differ only in the factor: a wrong cache entry gives other results. `%p` depends on constants
 * alone, and is an entry that processes map. */
static bool write_graph(int factor) {
  char path[32];
  snprintf(path, sizeof path, "%d.vf", factor);
  FILE *f = fopen(path, "w");
  if (!f) return false;
  fprintf(f,
          "graph @g(%%x: f32[3]) {\n  %%a = mul %%x, %d\n  %%s = sum %%a\n  %%y = sub %%a, %%s\n"
          "  %%w = data file=\"ones.npy\" : f32[65536]\n  %%p = mul %%w, %d\n"
          "  %%o = shrink %%x bounds=[[0,1]]\n  %%e = expand %%o shape=[65536]\n  %%q = mul %%p, %%e\n"
          "  %%l = min %%q\n  %%h = max %%q\n  return %%y, %%s, %%l, %%h\n}\n",
          factor, factor);
  return fclose(f) == 0;
}

/* The printed results for x = [1, 2, 4]. */
static void expected(int factor, char *text, size_t size) {
  snprintf(text, size, "y: f32[3] = [%d.0, %d.0, %d.0]\ns: f32[] = %d.0\nl: f32[] = %d.0\nh: f32[] = %d.0\n",
           -6 * factor, -5 * factor, -3 * factor, 7 * factor, factor, factor);
}

/* gate: the ends of a pipe; the process waits until nobody has the second one open. NULL: it does not
 * wait. */
static pid_t start(const char *const *arguments, const char *out, const int *gate) {
  char nothing;
  fflush(stdout);
  pid_t child = fork();
  if (child) return child;
  if (gate && (close(gate[1]) || read(gate[0], &nothing, 1) != 0)) _exit(126);
  if (gate) close(gate[0]);
  int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  setenv("VIEWFOLD_CACHE_DIR", "cache", 1);
  execv(all.command, (char *const *)arguments);
  _exit(127);
}

static void start_one(process *p, int number, int factor, const int *gate) {
  char graph[32], out[32];
  snprintf(graph, sizeof graph, "%d.vf", factor);
  snprintf(out, sizeof out, "out.%d", number);
  const char *arguments[] = {"viewfold", "run", graph, "--in", "x=[1,2,4]", "--threads", "1", NULL};
  *p = (process){.id = start(arguments, out, gate), .factor = factor};
  all.started++;
}

static void read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY);
  ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
}

static void judge(const process *p, int number, int status) {
  char out[32], text[512], want[128], what[64];
  snprintf(out, sizeof out, "out.%d", number);
  if (p->was_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    all.killed++;
    return;
  }
  all.lived++;
  read_text(out, text, sizeof text);
  expected(p->factor, want, sizeof want);
  snprintf(what, sizeof what, "factor %d, status %x", p->factor, (unsigned)status);
  if (status != 0 || strcmp(text, want)) complain(what, text);
}

static bool verify(int iteration) {
  static const char *const arguments[] = {"viewfold", "cache", "verify", NULL};
  char text[2048], what[64];
  int status = 0;
  pid_t child = start(arguments, "verified", NULL);
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  read_text("verified", text, sizeof text);
  snprintf(what, sizeof what, "round %d: cache verify", iteration);
  if (status != 0) complain(what, text);
  return true;
}

/* Starts all processes at once; then most are killed, in random order and at random moments. How long a
 * process takes depends on the machine: the moments lie within the first half of the last iteration's time.
 * Some processes are killed together, as sleeping takes longer than requested. */
static bool try_iteration(int iteration, int count, int64_t *iteration_ns) {
  static process p[MOST_PROCESSES];
  int gate[2];
  if (pipe(gate)) return false;
  int first = OLD_GRAPHS + 1 + iteration * NEW_GRAPHS;
  for (int i = 0; i < NEW_GRAPHS; i++)
    if (!write_graph(first + i)) return false;
  for (int i = 0; i < count; i++) {
    int old = 1 + (int)draw(OLD_GRAPHS), fresh = first + (int)draw(NEW_GRAPHS);
    start_one(&p[i], i, draw(3) ? fresh : old, gate);
    if (p[i].id < 0) return false;
  }
  close(gate[0]);
  close(gate[1]);
  int64_t begin = now_ns();
  int left = count, kills = count * 3 / 4, status;
  int64_t pause = *iteration_ns / 2 / (kills + 1);
  while (left > 0) {
    if (kills > 0) {
      uint32_t victim = draw((uint32_t)count);
      int64_t ns = pause / 2 + (int64_t)draw((uint32_t)(pause > UINT32_MAX / 2 ? UINT32_MAX / 2 : pause + 1));
      if (draw(4) == 0) nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
      for (int i = 0; i < count && (p[victim].done || p[victim].was_killed); i++)
        victim = (victim + 1) % (uint32_t)count;
      if (!p[victim].done) p[victim].was_killed = kill(p[victim].id, SIGKILL) == 0;
      kills--;
    }
    pid_t ended;
    while (left > 0 && (ended = waitpid(-1, &status, kills > 0 ? WNOHANG : 0)) > 0)
      for (int i = 0; i < count; i++)
        if (p[i].id == ended && !p[i].done) p[i].done = true, left--, judge(&p[i], i, status);
  }
  *iteration_ns = now_ns() - begin;
  return verify(iteration);
}

/* After pruning the cache is at most as large as requested. */
static void check_limit(void) {
  static const char *const prune[] = {"viewfold", "cache", "prune", "--max", "40K", NULL};
  static const char *const stat[] = {"viewfold", "cache", "stat", NULL};
  char text[2048];
  int status = 0;
  pid_t child = start(prune, "pruned", NULL);
  if (child < 0 || waitpid(child, &status, 0) != child || status) complain("cache prune", "fails");
  child = start(stat, "stat", NULL);
  if (child < 0 || waitpid(child, &status, 0) != child || status) complain("cache stat", "fails");
  read_text("stat", text, sizeof text);
  const char *total = strstr(text, "total");
  long entries = 0, bytes = 0;
  if (!total || sscanf(total, "total %ld %*[a-z], %ld", &entries, &bytes) != 2 || bytes > 40 * 1024)
    complain("the cache has more than its limit", text);
}

int main(int argc, char **argv) {
  const char *build = "build";
  char here[2048];
  int processes = 64, iterations = 2;
  all.state = 1;
  OPTIONS_READ(argc, argv, OPTION("--build", &build), OPTION("--processes", &processes),
               OPTION("--iterations", &iterations), OPTION("--seed", &all.state));
  unsigned long long seed = all.state;
  if (processes < 1 || processes > MOST_PROCESSES || !getcwd(here, sizeof here)) return 2;
  snprintf(all.command, sizeof all.command, "%s%s%s/viewfold", *build == '/' ? "" : here,
           *build == '/' ? "" : "/", build);
  if (!test_folder_make(all.root, sizeof all.root) || chdir(all.root)) return 2;
  bool good = write_weights();
  for (int i = 1; i <= OLD_GRAPHS && good; i++) good = write_graph(i);
  int64_t iteration_ns = 1000000000;
  int iteration = 0;
  for (; iteration < iterations && good; iteration++)
    good = try_iteration(iteration, processes, &iteration_ns);
  if (!good) complain("a round cannot be tried", strerror(errno));
  check_limit();
  if (chdir("/") == 0) test_folder_remove(all.root);
  printf("killed: %d iterations of %d processes: %ld started, %ld killed, %ld ended by themselves, %ld wrong "
         "(seed %llu)\n",
         iteration, processes, all.started, all.killed, all.lived, all.wrong, seed);
  return all.wrong || !all.lived;
}
