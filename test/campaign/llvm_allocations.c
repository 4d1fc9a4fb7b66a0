/* Allocations that LLVM makes fail, one in each compilation: the call that compiles fails with a status, or
 * makes a correct program; it never ends this process.
 *
 *   llvm_allocations --seed N --count N     COUNT points, spread evenly over the graphs below and drawn among
 * all allocations that compiling each of them makes; every third point has all allocations after it fail, too
 *
 * The last line says what was tried. Status 0, 1 after a failure, 77 where it cannot run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/options.h"

static const struct {
  const char *name, *text;
} graphs[] = {
    {"elementwise",
     "graph @g() { %x = iota dtype=f32 shape=[64] axis=0\n %y = mul %x, 3.0\n %z = add %y, %x\n return %z }"},
    {"softmax",
     "graph @g() { %x = iota dtype=f32 shape=[8,16] axis=1\n %y = softmax %x axis=1\n return %y }"},
    {"product",
     "graph @g() { %a = iota dtype=f32 shape=[16,16] axis=1\n %b = iota dtype=f32 shape=[16,16] axis=0\n"
     "%c = matmul %a, %b\n return %c }"},
    {"views", "graph @g() { %x = iota dtype=i32 shape=[6,10] axis=0\n %p = pad %x pads=[[1,1],[2,3]]\n"
              "%t = permute %p order=[1,0]\n %r = reshape %t shape=[8,15]\n return %r }"},
    {"sums",
     "graph @g() { %x = iota dtype=f64 shape=[40,30] axis=0\n %s = sum %x axes=[0]\n %c = cumsum %s axis=0\n"
     "return %c }"},
};
enum { GRAPHS = sizeof graphs / sizeof *graphs, BYTES = 1 << 16 };

static char place[64], program[4096];

static vf_context *open_with(const char *fault) {
  static char link[160];
  vf_error error;
  vf_options options = {
      .size = sizeof options, .threads = 1, .flags = VF_NO_DISK, .compile_mode = VF_COMPILE_PROCESS};
  snprintf(link, sizeof link, "%s/%s", place, fault);
  if (symlink(program, link) && errno != EEXIST) return NULL;
  options.compile_program = link;
  vf_context *context = vf_context_create(&options, &error);
  if (!context) fprintf(stderr, "%s\n", error.message);
  return context;
}

/* Compiles and runs; false, with `error` set, where there is no program. */
static bool try(const char *fault, int number, unsigned char out[BYTES], vf_error *error) {
  vf_context *context = open_with(fault);
  if (!context) return *error = (vf_error){VF_ERR_INTERNAL, "no context"}, false;
  memset(out, 0, BYTES);
  vf_graph *graph =
      vf_graph_parse(context, graphs[number].text, strlen(graphs[number].text), "g.vf", NULL, error);
  vf_program *made = graph ? vf_compile(graph, error) : NULL;
  bool good = made && vf_program_run(made, NULL, (void *[]){out}, NULL, error) == VF_OK;
  vf_program_destroy(made);
  vf_graph_destroy(graph);
  vf_context_destroy(context);
  return good;
}

/* Allocations of one compilation, as counted and reported by the double; 0 without a report. */
static long count_of(int number) {
  static unsigned char out[BYTES];
  vf_error error;
  long count = 0;
  if (try("count", number, out, &error)) return 0;
  const char *at = strstr(error.message, "allocations: ");
  return at && sscanf(at, "allocations: %ld", &count) == 1 ? count : 0;
}

static bool set_up(void) {
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
  snprintf(place, sizeof place, "/tmp/viewfold-test-XXXXXX");
  if (length <= 0 || !mkdtemp(place)) return false;
  program[length] = '\0';
  strcpy(strrchr(program, '/') + 1, "compile_faults");
  return access(program, X_OK) == 0;
}

typedef struct tally {
  long points, memory, compile, made;
} tally;

static bool try_point(int number, long at, bool all_after, const unsigned char *right, tally *t) {
  static unsigned char out[BYTES];
  vf_error error;
  char fault[48];
  snprintf(fault, sizeof fault, "%s-%ld", all_after ? "failon" : "fail", at);
  t->points++;
  if (try(fault, number, out, &error)) {
    t->made++;
    if (memcmp(out, right, BYTES) == 0) return true;
    printf("%s: allocation %ld fails, and the result is another one\n", graphs[number].name, at);
    return false;
  }
  t->memory += error.status == VF_ERR_MEMORY;
  t->compile += error.status == VF_ERR_COMPILE;
  if (error.status == VF_ERR_MEMORY || error.status == VF_ERR_COMPILE) return true;
  printf("%s: allocation %ld fails: status %d: %s\n", graphs[number].name, at, (int)error.status,
         error.message);
  return false;
}

static int run(unsigned long long seed, long count) {
  static unsigned char right[BYTES];
  tally t = {0};
  long all = 0;
  bool good = true;
  for (int g = 0; g < GRAPHS && good; g++) {
    vf_error error;
    long allocations = count_of(g), points = count / GRAPHS + (g < count % GRAPHS);
    if (!try("none", g, right, &error)) return fprintf(stderr, "%s: %s\n", graphs[g].name, error.message), 1;
    if (!allocations) return printf("this build's double fails no allocation\n"), 77;
    all += allocations;
    for (long i = 0; i < points && good; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
      good = try_point(g, 1 + (long)(seed >> 33) % allocations, i % 3 == 2, right, &t);
    }
  }
  if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD) good = (printf("a child was left\n"), false);
  printf("llvm_allocations: %ld of the %ld allocations of %d compilations fail: %ld times out of memory, %ld "
         "times "
         "compilation failed, %ld times a right program%s\n",
         t.points, all, GRAPHS, t.memory, t.compile, t.made, good ? "" : "; FAILED");
  return good ? 0 : 1;
}

int main(int argc, char **argv) {
  uint64_t seed = 1;
  long count = 20;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count));
  if (!set_up()) return printf("llvm_allocations: compile_faults is not built beside it\n"), 77;
  int status = run(seed, count);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", place);
  return system(command) ? 1 : status;
}
