/* Calls of the C library on files fail one at a time, in commands and in a program of the API: the n-th call
 * of each kind, with each of several errors, for every n. Each attempt ends with status 0 and the results of
 * an undisturbed one, or with a documented status and a message; the files that it leaves on disk are intact,
 * and the next process can use them.
 *
 *   file_calls --build DIR --shim FILE.so --programs DIR [--count N] [--seed N] [--only TEXT]
 *
 * --programs: where the program `workload` is. --count: tries so many, chosen by the seed, instead of all.
 * --only: of the scenarios whose name holds TEXT. */
#define _GNU_SOURCE /* strerrorname_np */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/campaign/shim/faults.h"
#include "test/lib/folder.h"
#include "test/lib/options.h"

enum {
  MOST_ARGUMENTS = 12,
  MOST_FAULTS = 1 << 16,
  TEXT = 1 << 16,
  MOST_SHOWN = 20,
  MOST_CPU_SECONDS = 60, /* an attempt takes a tenth of a second */
  MOST_SECONDS = 600     /* for processes that wait without using processor time */
};

/* A command, and the contents of the cache before it. `tells`: its output reports what it did, so that it may
 * differ; `admits`: the output may differ where it contains this word. */
static const struct scenario {
  const char *name, *arguments[MOST_ARGUMENTS];
  bool filled, tells;
  const char *admits;
} scenarios[] = {
    {"run", {"viewfold", "run", "graph.vf", "--in", "x=x.npy", "--out", "y=y.npy"}, false, false, NULL},
    {"run again", {"viewfold", "run", "graph.vf", "--in", "x=x.npy", "--out", "y=y.npy"}, true, false, NULL},
    {"weights", {"viewfold", "run", "weights.vf", "--in", "x=[3]"}, false, false, NULL},
    {"weights again", {"viewfold", "run", "weights.vf", "--in", "x=[3]"}, true, false, NULL},
    {"run and print", {"viewfold", "run", "small.vf", "--in", "x=[1,2,3]"}, true, false, NULL},
    {"cache stat", {"viewfold", "cache", "stat"}, true, false, "ignored"},
    {"cache verify", {"viewfold", "cache", "verify"}, true, false, NULL},
    {"cache prune all", {"viewfold", "cache", "prune", "--max", "0"}, true, true, NULL},
    {"cache prune some", {"viewfold", "cache", "prune", "--max", "30K"}, true, true, NULL},
    {"tune", {"viewfold", "tune", "small.vf", "--seconds", "0.05", "-o", "small.loops"}, true, true, NULL},
    {"tune --list", {"viewfold", "tune", "--list"}, true, false, NULL},
    {"index --json", {"viewfold", "index", "--json"}, true, false, NULL},
    {"custom operation", {"workload", "custom"}, false, false, NULL},
    {"custom operation again", {"workload", "custom"}, true, false, NULL},
    {"scan", {"workload", "scan"}, false, false, NULL},
    {"attention again", {"workload", "attention"}, true, false, NULL},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static const char *const calls[] = {
#define X(name) #name,
    FAULT_CALLS(X)
#undef X
};

/* The errors of each kind of call; 0 stands for doing half of the request. */
enum { MOST_ERRORS = 5, NO_MORE = -1 };
static const int errors[FAULT_COUNT][MOST_ERRORS + 1] = {
    [FAULT_access] = {EACCES, ENOENT, NO_MORE},
    [FAULT_close] = {EIO, EINTR, ENOSPC, NO_MORE},
    [FAULT_fclose] = {EIO, ENOSPC, NO_MORE},
    [FAULT_fflush] = {EIO, ENOSPC, NO_MORE},
    [FAULT_fopen] = {EACCES, EMFILE, ENOMEM, EINTR, NO_MORE},
    [FAULT_fsync] = {EIO, ENOSPC, NO_MORE},
    [FAULT_ftruncate] = {ENOSPC, EIO, NO_MORE},
    [FAULT_fwrite] = {ENOSPC, EIO, NO_MORE},
    [FAULT_link] = {EPERM, ENOSPC, EEXIST, EMLINK, NO_MORE},
    [FAULT_memfd_create] = {ENOMEM, EMFILE, NO_MORE},
    [FAULT_mkdir] = {EACCES, ENOSPC, EIO, NO_MORE},
    [FAULT_mkdtemp] = {EACCES, ENOSPC, NO_MORE},
    [FAULT_mmap] = {ENOMEM, EACCES, EAGAIN, NO_MORE},
    [FAULT_mprotect] = {ENOMEM, EACCES, NO_MORE},
    [FAULT_open] = {EACCES, EMFILE, EIO, EINTR, NO_MORE},
    [FAULT_openat] = {EACCES, EMFILE, EIO, EINTR, NO_MORE},
    [FAULT_opendir] = {EACCES, EMFILE, ENOMEM, NO_MORE},
    [FAULT_pipe] = {EMFILE, ENFILE, NO_MORE},
    [FAULT_pread] = {EIO, EINTR, 0, NO_MORE},
    [FAULT_read] = {EIO, EINTR, 0, NO_MORE},
    [FAULT_readdir] = {EIO, NO_MORE},
    [FAULT_rename] = {EACCES, ENOSPC, EIO, NO_MORE},
    [FAULT_spawn] = {ENOMEM, EAGAIN, ENOENT, NO_MORE},
    [FAULT_stat] = {EIO, EACCES, ENOMEM, NO_MORE},
    [FAULT_unlink] = {EACCES, EIO, EPERM, NO_MORE},
    [FAULT_utimens] = {EACCES, EPERM, NO_MORE},
    [FAULT_write] = {ENOSPC, EIO, EINTR, 0, NO_MORE},
};

typedef struct fault {
  int scenario, call, number, error;
} fault;

typedef struct outcome {
  int status; /* as waitpid returns it */
  char out[TEXT], err[TEXT], file[TEXT];
  size_t file_size;
} outcome;

static struct {
  char root[512], path[8192], shim[4096];
  fault faults[MOST_FAULTS];
  int count, statuses[4], wrong;
  outcome wanted[SCENARIOS];
} all;

static size_t read_all(const char *path, char *text) {
  int fd = open(path, O_RDONLY);
  ssize_t n = fd < 0 ? 0 : read(fd, text, TEXT - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0 ? (size_t)n : 0;
}

/* processes */

static void redirect(const char *path, int to) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(fd, to);
  close(fd);
}

/* Runs a command in the working folder; `fail` is the shim's setting, NULL for no shim. */
static bool run(const char *const *arguments, const char *fail, outcome *out) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit cpu = {MOST_CPU_SECONDS, MOST_CPU_SECONDS}, core = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    alarm(MOST_SECONDS);
    dup2(open("chains.json", O_RDONLY), 0);
    redirect("../out", 1);
    redirect("../err", 2);
    setenv("PATH", all.path, 1);
    setenv("VIEWFOLD_CACHE_DIR", "cache", 1);
    if (fail) setenv("LD_PRELOAD", all.shim, 1), setenv("FAULTS_FAIL", fail, 1);
    execvp(arguments[0], (char *const *)arguments);
    _exit(127);
  }
  if (child < 0 || waitpid(child, &out->status, 0) != child) return false;
  read_all("../out", out->out);
  read_all("../err", out->err);
  out->file_size = read_all("y.npy", out->file);
  unlink("y.npy");
  unlink("small.loops");
  return true;
}

static bool ended(const outcome *o, int most) {
  return WIFEXITED(o->status) && WEXITSTATUS(o->status) <= most;
}

static bool same_results(const outcome *a, const outcome *b) {
  return !strcmp(a->out, b->out) && a->file_size == b->file_size && !memcmp(a->file, b->file, a->file_size);
}

static void complain(const fault *f, const char *what, const outcome *o) {
  if (++all.wrong > MOST_SHOWN) return;
  printf("%s: %s number %d fails (%s): %s", scenarios[f->scenario].name, calls[f->call], f->number,
         f->error ? strerrorname_np(f->error) : "half", what);
  if (WIFSIGNALED(o->status)) printf(", signal %d\n", WTERMSIG(o->status));
  else printf(", exit status %d\n", WEXITSTATUS(o->status));
  printf("  | %.300s\n  | %.600s\n", o->out, o->err);
}

/* Makes a new cache, empty or filled as the scenarios leave it. */
static bool furnish(bool filled) {
  test_folder_remove("cache");
  return !filled || test_folder_copy("../filled", "cache");
}

/* The files on disk afterwards are intact, and the next process gets right results from them. */
static void check_afterwards(const fault *f, outcome *o) {
  static const char *const verify[] = {"viewfold", "cache", "verify", NULL};
  const struct scenario *s = &scenarios[f->scenario];
  if (run(verify, NULL, o) && (!WIFEXITED(o->status) || WEXITSTATUS(o->status)))
    complain(f, "the cache is bad afterwards", o);
  const struct scenario *next = s->tells ? &scenarios[1] : s;
  if (!run(next->arguments, NULL, o) || !ended(o, 0) || !same_results(o, &all.wanted[next - scenarios]))
    if (strcmp(s->arguments[1], "cache")) complain(f, "the next process fails or has other results", o);
}

static void try_fault(const fault *f) {
  static outcome o;
  const struct scenario *s = &scenarios[f->scenario];
  char fail[64];
  snprintf(fail, sizeof fail, "%s %d %d", calls[f->call], f->number, f->error);
  if (!furnish(s->filled) || !run(s->arguments, fail, &o)) {
    printf("%s: cannot be tried\n", s->name);
    all.wrong++;
    return;
  }
  if (!ended(&o, 3)) complain(f, "no documented end", &o);
  else if (WEXITSTATUS(o.status) && !*o.err && !*o.out) complain(f, "no message", &o);
  else if (!WEXITSTATUS(o.status) && !s->tells && !(s->admits && strstr(o.out, s->admits)) &&
           !same_results(&o, &all.wanted[f->scenario]))
    complain(f, "other results", &o);
  if (ended(&o, 3)) all.statuses[WEXITSTATUS(o.status)]++;
  check_afterwards(f, &o);
}

/* the list of faults */

static bool count_calls(int scenario, uint32_t *counts) {
  static const uint32_t none[FAULT_COUNT];
  int fd = open("../counts", O_RDWR | O_CREAT | O_TRUNC, 0600);
  bool good = fd >= 0 && write(fd, none, sizeof none) == sizeof none && furnish(scenarios[scenario].filled) &&
              run(scenarios[scenario].arguments, "none 0 0", &all.wanted[scenario]);
  good = good && pread(fd, counts, sizeof none, 0) == sizeof none;
  if (fd >= 0) close(fd);
  if (good && ended(&all.wanted[scenario], 0)) return true;
  printf("%s fails undisturbed: %s\n", scenarios[scenario].name, all.wanted[scenario].err);
  return false;
}

static bool list_faults(const char *only) {
  for (int i = 0; i < SCENARIOS; i++) {
    uint32_t counts[FAULT_COUNT];
    if (!count_calls(i, counts)) return false;
    if (!strstr(scenarios[i].name, only)) continue;
    for (int c = 0; c < FAULT_COUNT; c++)
      for (uint32_t n = 1; n <= counts[c]; n++)
        for (const int *e = errors[c]; *e != NO_MORE && all.count < MOST_FAULTS; e++)
          all.faults[all.count++] = (fault){i, c, (int)n, *e};
  }
  return true;
}

static void shuffle(uint64_t state) {
  for (int i = all.count - 1; i > 0; i--) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int k = (int)((state >> 33) % (uint64_t)(i + 1));
    fault f = all.faults[i];
    all.faults[i] = all.faults[k];
    all.faults[k] = f;
  }
}

static bool write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

/* Makes the working folder with the files that the scenarios read, and a cache with the entries that they
 * need. */
static bool set_up(const char *build, const char *programs, const char *shim) {
  static const char chain[] = "{\"name\":\"t\",\"base\":[3,2],\"ops\":[[\"permute\",[1,0]]]}\n";
  char here[2048], counts[600];
  static outcome o;
  if (!getcwd(here, sizeof here)) return false;
  snprintf(all.shim, sizeof all.shim, "%s%s%s", *shim == '/' ? "" : here, *shim == '/' ? "" : "/", shim);
  snprintf(all.path, sizeof all.path, "%s/%s:%s/%s:%s", here, build, here, programs, getenv("PATH"));
  if (*build == '/') snprintf(all.path, sizeof all.path, "%s:%s:%s", build, programs, getenv("PATH"));
  if (!test_folder_make(all.root, sizeof all.root) || chdir(all.root) || mkdir("work", 0700) || chdir("work"))
    return false;
  snprintf(counts, sizeof counts, "%s/counts", all.root);
  setenv("FAULTS_IN", "viewfold workload", 1);
  setenv("FAULTS_COUNTS", counts, 1);
  if (!write_text("chains.json", chain) ||
      !write_text("small.vf", "graph @small(%x: f32[3]) {\n  %y = mul %x, 3\n  return %y\n}\n") ||
      !write_text("iota.vf",
                  "graph @iota() {\n  %x = iota shape=[6,50] axis=1 dtype=f32\n  return %x\n}\n") ||
      !write_text("stored.vf",
                  "graph @stored() {\n  %w = iota shape=[65536] axis=0 dtype=f32\n  return %w\n}\n") ||
      !write_text("weights.vf",
                  "graph @weights(%x: f32[1]) {\n  %w = data file=\"w.npy\" : f32[65536]\n  %p = mul %w, 7\n"
                  "  %e = expand %x shape=[65536]\n  %q = mul %p, %e\n  %y = max %q\n  return %y\n}\n") ||
      !write_text("graph.vf",
                  "graph @graph(%x: f32[6,50]) {\n  %m = mul %x, 0.125\n  %y = softmax %m axis=1\n"
                  "  return %y\n}\n"))
    return false;
  static const char *const iota[] = {"viewfold", "run", "iota.vf", "--out", "x=x.npy", NULL},
                           *const stored[] = {"viewfold", "run", "stored.vf", "--out", "w=w.npy", NULL};
  if (!run(iota, NULL, &o) || !ended(&o, 0)) return printf("%s\n", o.err), false;
  if (!run(stored, NULL, &o) || !ended(&o, 0)) return printf("%s\n", o.err), false;
  for (int i = 0; i < SCENARIOS; i++)
    if (strcmp(scenarios[i].arguments[1], "cache") &&
        (!run(scenarios[i].arguments, NULL, &o) || !ended(&o, 0)))
      return printf("%s: %s\n", scenarios[i].name, o.err), false;
  return test_folder_copy("cache", "../filled");
}

int main(int argc, char **argv) {
  const char *build = "build", *shim = "build/campaign/file_calls.so", *programs = "build/check/campaign",
             *only = "";
  long count = 0;
  uint64_t seed = 1;
  OPTIONS_READ(argc, argv, OPTION("--build", &build), OPTION("--shim", &shim),
               OPTION("--programs", &programs), OPTION("--only", &only), OPTION("--count", &count),
               OPTION("--seed", &seed));
  bool ready = set_up(build, programs, shim) && list_faults(only);
  if (ready && count > 0 && count < all.count) shuffle(seed);
  int most = count > 0 && count < all.count ? (int)count : all.count;
  for (int i = 0; i < most && ready; i++) try_fault(&all.faults[i]);
  if (chdir("/") == 0) test_folder_remove(all.root);
  printf("file_calls: %d of %d failures of %d commands: %d ended with 0, %d with 1, %d with 2, %d with 3, %d "
         "wrong "
         "(seed %llu)\n",
         most, all.count, SCENARIOS, all.statuses[0], all.statuses[1], all.statuses[2], all.statuses[3],
         all.wrong, (unsigned long long)seed);
  return !ready || all.wrong || most == 0;
}
