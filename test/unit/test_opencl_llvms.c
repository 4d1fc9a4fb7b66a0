/* Two LLVMs in one process: viewfold's own, which compiles for the CPU, and the one that PoCL brings for its
 * device. Each compiles before and after the other, in both orders; each order in a process of its own. */
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "test/lib/opencl.h"
#include "test/lib/unit.h"

enum { N = 1000 };

/* Different libraries called libLLVM that are mapped. */
static int llvms(void) {
  char line[512], seen[4][256];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps && fgets(line, sizeof line, maps)) {
    char *name = strstr(line, "/libLLVM");
    bool known = !name || count == 4;
    for (int i = 0; i < count && !known; i++) known = !strcmp(seen[i], name);
    if (!known) snprintf(seen[count++], sizeof seen[0], "%.255s", name);
  }
  if (maps) fclose(maps);
  return count;
}

/* A kernel that was not compiled before: x * factor + sum of x. */
static bool right_on(const char *device, double factor) {
  static float x[N], y[N];
  vf_error error = {0};
  vf_options options = {.size = sizeof options, .device = device, .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&options, &error);
  vf_graph *g = c ? vf_graph_create(c, "scaled", &error) : NULL;
  bool right = false;
  if (g) {
    vf_value v = vf_input(g, "x", VF_F32, VF_LIST(N));
    vf_output(g, "y", vf_add(vf_mul(v, vf_number(g, factor)), vf_sum(v, VF_LIST(0), false)));
    vf_program *p = vf_compile(g, &error);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 7), y[i] = -1;
    right = p && vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, &error) == VF_OK;
    for (int i = 0; i < N && right; i++)
      right = y[i] == (float)(i % 7) * (float)factor + 2997; /* 142 times 0..6, 0..5: small integers */
    vf_program_destroy(p);
    vf_graph_destroy(g);
  }
  if (!right) fprintf(stderr, "%s, factor %g: %s\n", device, factor, error.message);
  vf_context_destroy(c);
  return right;
}

static int run_alternating(const char *first, const char *second) {
  int before = llvms();
  if (before || !right_on(first, 2) || llvms() != 1) return 1; /* none is loaded before it is needed */
  if (!right_on(second, 3) || llvms() != 2) return 2;
  return right_on(first, 4) && right_on(second, 5) ? 0 : 3;
}

static void assert_alternating(const char *first, const char *second) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) _exit(run_alternating(first, second));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void test_ours_first(void **state) { assert_alternating("cpu", "opencl"); }
static void test_pocl_first(void **state) { assert_alternating("opencl", "cpu"); }

OPENCL_TESTS(NULL, NULL, test_ours_first, test_pocl_first)
