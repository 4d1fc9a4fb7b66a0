/* Compiling and running on small stacks, and the stack that compiling uses. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "runtime/system/stack.h"
#include "test/lib/unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
enum {
  SMALL_STACK = 128 << 10, /* the least that threads may have on AArch64 */
  LARGE_STACK = 16 << 20,
  CHAIN = 1000
};

static const char *const graphs[] = {
    "graph @g(%x: f32[8]) {\n%y = exp %x\nreturn %y\n}\n",
    "graph @g(%x: f32[64,64]) {\n%y = softmax %x axis=1\n%z = matmul %y, %x\nreturn %z\n}\n",
    "graph @g(%x: f32[2,32,16]) {\n%y = attention %x, %x, %x\nreturn %y\n}\n",
    "graph @g(%x: f32[1,4,12,12], %w: f32[8,4,3,3]) {\n%y = conv %x, %w padding=[1,1]\n%z = erfinv "
    "%y\nreturn %z\n}\n",
    "graph @g(%x: f32[n=1..64,32]) {\n%y = sort %x axis=1\n%z = cumsum %y axis=0\nreturn %z\n}\n",
    "graph @f(%c: f32[8]) {\n%v = sin %c\nreturn %v\n}\n"
    "graph @g(%x: f32[8]) {\n%y = scan %x do=@f length=9 carries=1\nreturn %y\n}\n",
};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

/* A long graph: CHAIN operations in one kernel. */
static const char *long_graph(void) {
  static char text[CHAIN * 40 + 200];
  size_t length = (size_t)snprintf(text, sizeof text, "graph @g(%%x: f32[8]) {\n%%v0 = exp %%x\n");
  for (int i = 1; i < CHAIN; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, "%%v%d = %s %%v%d, %%x\n", i,
                               i % 2 ? "mul" : "add", i - 1);
  snprintf(text + length, sizeof text - length, "return %%v%d\n}\n", CHAIN - 1);
  return text;
}

static void compile_all(vf_error *error) {
  vf_options o = {.size = sizeof o, .flags = VF_NO_DISK};
  vf_context *c = vf_context_create(&o, error);
  bool good = c != NULL;
  for (int i = 0; i <= GRAPHS && good; i++) {
    const char *text = i < GRAPHS ? graphs[i] : long_graph();
    vf_graph *g = vf_graph_parse(c, text, strlen(text), "test", NULL, error);
    vf_program *p = g ? vf_compile(g, error) : NULL;
    good = p != NULL;
    vf_program_destroy(p), vf_graph_destroy(g);
  }
  vf_context_destroy(c);
  if (good) error->status = VF_OK;
}

static void *compile_cold(void *user) {
  compile_all(user);
  return NULL;
}

/* Results as on any other thread: exp(0) = 1, run and evaluated. */
static void *compile_and_run(void *user) {
  vf_error *error = user;
  vf_context *c = vf_context_create(NULL, error);
  vf_graph *g = c ? vf_graph_parse(c, graphs[0], strlen(graphs[0]), "test", NULL, error) : NULL;
  vf_program *p = g ? vf_compile(g, error) : NULL;
  float x[8] = {0}, y[8] = {0}, z[8] = {0};
  vf_status status = p ? vf_program_run(p, (const void *[]){x}, (void *[]){y}, NULL, error) : error->status;
  if (!status) status = vf_evaluate(g, (const void *[]){x}, (void *[]){z}, NULL, error);
  error->status = status ? status : y[7] == 1 && z[7] == 1 ? VF_OK : VF_ERR_INTERNAL;
  vf_program_destroy(p), vf_graph_destroy(g), vf_context_destroy(c);
  return NULL;
}

/* Runs `body` on a stack of the given size. Returns how many bytes of it were touched. */
static size_t on_stack(void *(*body)(void *), void *user, size_t size) {
  unsigned char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  size_t untouched = 0;
  assert_ptr_not_equal(stack, MAP_FAILED);
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstack(&attributes, stack, size), 0);
  assert_int_equal(pthread_create(&thread, &attributes, body, user), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  while (untouched < size && stack[untouched] == 0) untouched++;
  munmap(stack, size);
  return size - untouched;
}

static void test_small_stack(void **state) {
  vf_error error = {.status = VF_ERR_INTERNAL};
  on_stack(compile_cold, &error, SMALL_STACK);
  if (error.status) fail_msg("%s", error.message);
  error.status = VF_ERR_INTERNAL;
  on_stack(compile_and_run, &error, SMALL_STACK);
  if (error.status) fail_msg("%s", error.message);
}

/* Half of the requested stack suffices. */
static void test_need(void **state) {
  vf_error error = {.status = VF_ERR_INTERNAL};
  size_t used = on_stack(compile_cold, &error, LARGE_STACK);
  if (error.status) fail_msg("%s", error.message);
  if (used > RT_STACK_NEED / 2) fail_msg("compiling took %zu bytes of stack", used);
}

static void *ask(void *user) {
  *(size_t *)user = rt_stack_left();
  return NULL;
}

static void test_left(void **state) {
  size_t left = 0;
  struct rlimit limit;
  on_stack(ask, &left, LARGE_STACK);
  assert_in_range(left, LARGE_STACK / 2, LARGE_STACK);
  assert_int_equal(getrlimit(RLIMIT_STACK, &limit), 0);
  left = rt_stack_left();
  if (limit.rlim_cur == RLIM_INFINITY) assert_true(left == SIZE_MAX);
  else assert_in_range(left, 1, limit.rlim_cur);
}

/* Where there is no memory for another thread, nothing is compiled, and the message says what is needed. */
static void compile_without_threads(vf_error *error) {
  struct rlimit none;
  size_t pages = 0;
  vf_options o = {.size = sizeof o, .flags = VF_NO_DISK, .threads = 1};
  vf_context *c = vf_context_create(&o, error);
  vf_graph *g = c ? vf_graph_parse(c, graphs[0], strlen(graphs[0]), "test", NULL, error) : NULL;
  FILE *size = fopen("/proc/self/statm", "r"); /* the first number: pages of address space */
  if (!size || fscanf(size, "%zu", &pages) != 1) return;
  fclose(size);
  none.rlim_cur = none.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + (1 << 20);
  setrlimit(RLIMIT_AS, &none);
  if (g && vf_compile(g, error)) error->status = VF_OK;
}

static void *compile_cornered(void *user) {
  compile_without_threads(user);
  return NULL;
}

static void test_no_thread(void **state) {
  vf_error *error = mmap(NULL, sizeof *error, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int status = 0;
  if (SANITIZED || unit_is_emulated()) skip(); /* neither sanitizers nor qemu have the limit on memory */
  assert_ptr_not_equal(error, MAP_FAILED);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    on_stack(compile_cornered, error, SMALL_STACK);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(error->status, VF_ERR_MEMORY);
  assert_non_null(strstr(error->message, "compiling takes 256 KiB of stack, of which this thread has "));
  munmap(error, sizeof *error);
}

/* test_no_thread comes first: the C library keeps the stacks of threads that ended. */
UNIT_TESTS(test_no_thread, test_small_stack, test_need, test_left)
