/* Which code runs for operations given as C source, in processes that close and reuse descriptors, and in
 * several threads and contexts at once. Cases that close the library's descriptors run in a child process. */
#define _GNU_SOURCE /* close_range */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/viewfold.h"
#include "runtime/native/library.h"
#include "test/lib/unit.h"

enum { LIBRARIES = 3, THREADS = 4 };

/* Registers an operation that gives `value` for every element, and runs it. Returns its result, -1 after a
 * failure. */
static int add_and_run(vf_context *c, const char *name, int value, vf_error *error) {
  char source[160], text[160];
  snprintf(source, sizeof source,
           "int give(float *y, long n) { for (long i = 0; i < n; i++) y[i] = %d; return 0; }\n", value);
  snprintf(text, sizeof text, "graph @g(%%x: f32[2]) {\n%%y = %s %%x\nreturn %%y\n}\n", name);
  vf_op_description d = {.size = sizeof d,
                         .name = name,
                         .operands = 1,
                         .results = 1,
                         .source = source,
                         .symbol = "give",
                         .signature = "int(out0, long in0.count)"};
  float x[2] = {0}, y[2] = {0};
  if (vf_register_op(c, &d, error) != VF_OK) return -1;
  vf_graph *g = vf_graph_parse(c, text, strlen(text), "test", NULL, error);
  vf_status status = g ? vf_evaluate(g, (const void *[]){x}, (void *[]){y}, NULL, error) : VF_ERR_INVALID;
  vf_graph_destroy(g);
  return status == VF_OK && y[0] == y[1] ? (int)y[0] : -1;
}

static const char *const names[LIBRARIES] = {"first", "second", "third"};

/* Runs `body` in a child; it fills `said` with what it saw. */
static void in_child(void (*body)(int *said), int *said, size_t count) {
  int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status = 0;
  assert_ptr_not_equal(shared, MAP_FAILED);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    body(shared);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  memcpy(said, shared, count * sizeof *said);
  munmap(shared, 4096);
}

/* results */

static void close_between(int *said) {
  vf_error error;
  vf_context *c = vf_context_create(NULL, &error);
  for (int i = 0; c && i < LIBRARIES; i++) {
    said[i] = add_and_run(c, names[i], 101 + 100 * i, &error);
    close_range(3, ~0u, 0);
  }
  vf_context_destroy(c);
}

static void test_closed_descriptors(void **state) {
  int said[LIBRARIES];
  in_child(close_between, said, LIBRARIES);
  for (int i = 0; i < LIBRARIES; i++) assert_int_equal(said[i], 101 + 100 * i);
}

/* The host's files get descriptor numbers that the library had before the context ends: they must stay
 * open. */
static void reuse_numbers(int *said) {
  enum { FILES = 32 };
  vf_error error;
  vf_context *c = vf_context_create(NULL, &error);
  close_range(3, ~0u, 0);
  said[0] = c ? add_and_run(c, names[0], 7, &error) : -1;
  close_range(3, ~0u, 0);
  for (int i = 0; i < FILES; i++) said[1] += open("/dev/null", O_RDONLY) >= 0;
  vf_context_destroy(c);
  for (int fd = 3; fd < 3 + FILES; fd++) said[2] += fcntl(fd, F_GETFD) >= 0;
}

static void test_reused_descriptors(void **state) {
  int said[3];
  in_child(reuse_numbers, said, 3);
  assert_int_equal(said[0], 7);
  assert_int_equal(said[1], 32);
  assert_int_equal(said[2], 32);
}

/* No descriptor stays open while a context lives: the limit is on descriptors that are open at once. */
static void count_open(int *said) {
  vf_error error;
  vf_context *c = vf_context_create(NULL, &error);
  for (int i = 0; c && i < LIBRARIES; i++) {
    said[i] = add_and_run(c, names[i], 5 + i, &error);
    for (int fd = 0; i == 0 && fd < 256; fd++) said[LIBRARIES] -= fcntl(fd, F_GETFD) >= 0;
  }
  for (int fd = 0; fd < 256; fd++) said[LIBRARIES] += fcntl(fd, F_GETFD) >= 0;
  vf_context_destroy(c);
}

static void test_no_descriptor_kept(void **state) {
  int said[LIBRARIES + 1];
  in_child(count_open, said, LIBRARIES + 1);
  for (int i = 0; i < LIBRARIES; i++) assert_int_equal(said[i], 5 + i);
  assert_int_equal(said[LIBRARIES], 0);
}

/* threads */

static void *load_both(void *user) {
  int own = *(int *)user;
  vf_error error;
  vf_context *c = vf_context_create(NULL, &error);
  bool good =
      c && add_and_run(c, names[0], 1000, &error) == 1000 && add_and_run(c, names[1], own, &error) == own;
  vf_context_destroy(c);
  return good ? user : NULL;
}

static void test_threads(void **state) {
  pthread_t thread[THREADS];
  int own[THREADS];
  for (int i = 0; i < THREADS; i++) {
    own[i] = 2000 + i;
    assert_int_equal(pthread_create(&thread[i], NULL, load_both, &own[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(thread[i], &result);
    assert_ptr_equal(result, &own[i]);
  }
}

/* symbols */

/* A symbol of another library, and a data symbol, are not functions of the source. */
static void test_symbols_elsewhere(void **state) {
  static const char *const symbols[] = {"cos", "getpid", "table"};
  for (int i = 0; i < 3; i++) {
    vf_error error;
    vf_context *c = vf_context_create(NULL, &error);
    vf_op_description d = {.size = sizeof d,
                           .name = "own",
                           .operands = 1,
                           .results = 1,
                           .source = "int table[4] = {1};\nint other(void) { return table[0]; }\n",
                           .symbol = symbols[i],
                           .signature = "void(in0, out0)"};
    static const char text[] = "graph @g(%x: f32[1]) {\n%y = own %x\nreturn %y\n}\n";
    char want[96];
    float x = 0, y;
    assert_int_equal(vf_register_op(c, &d, &error), VF_OK);
    vf_graph *g = vf_graph_parse(c, text, sizeof text - 1, "test", NULL, &error);
    assert_non_null(g);
    assert_int_equal(vf_evaluate(g, (const void *[]){&x}, (void *[]){&y}, NULL, &error), VF_ERR_COMPILE);
    snprintf(want, sizeof want, "own: its source has no function %s that is not static", symbols[i]);
    assert_string_equal(error.message, want);
    vf_graph_destroy(g), vf_context_destroy(c);
  }
}

/* A loaded object must have the expected build-id: one with another build-id, or none, is refused and not
 * called. */
static void test_identity(void **state) {
  const rt_digest own = {1, 2}, other = {1, 3};
  char folder[] = "/tmp/viewfold-test-XXXXXX", option[RT_LIBRARY_ID_ROOM], command[512], file[64];
  static uint8_t object[1 << 20];
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/a.so", folder);
  for (int named = 0; named < 2; named++) {
    rt_library_id_option(own, option);
    snprintf(command, sizeof command, "echo 'int f(void) { return 3; }' | cc -shared -fPIC -xc %s -o %s -",
             named ? option : "-Wl,--build-id=none", file);
    assert_int_equal(system(command), 0);
    FILE *in = fopen(file, "rb");
    assert_non_null(in);
    size_t size = fread(object, 1, sizeof object, in);
    fclose(in);
    for (int right = 0; right < 2; right++) {
      ir_error failure = {0};
      void *library = NULL;
      void (*function)(void) = NULL;
      ir_status status =
          rt_library_load("f", object, size, right ? own : other, "f", &library, &function, &failure);
      assert_int_equal(status, named && right ? IR_OK : IR_ERR_IO);
      if (status == IR_OK) assert_int_equal(((int (*)(void))function)(), 3);
      else
        assert_non_null(
            strstr(failure.text, "f: the dynamic linker gave other code than its own (build-id 0"));
      assert_true((function != NULL) == (status == IR_OK) && (library != NULL) == (status == IR_OK));
      rt_library_close(&library);
    }
  }
  unlink(file), rmdir(folder);
}

/* Bytes that are no shared object, and no descriptor to keep them by. */
static void test_not_loaded(void **state) {
  const rt_digest id = {1, 2};
  for (int full = 0; full < 2; full++) {
    struct rlimit before, none = {0, 0};
    ir_error failure = {0};
    void *library;
    void (*function)(void);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    if (full) setrlimit(RLIMIT_NOFILE, &none);
    ir_status status = rt_library_load("f", "none", 4, id, "f", &library, &function, &failure);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(status, IR_ERR_IO);
    const char *want =
        full ? "f: cannot keep its code in memory: Too many open files" : "f: cannot load its code: ";
    assert_memory_equal(failure.text, want, strlen(want));
  }
}

UNIT_TESTS(test_closed_descriptors, test_reused_descriptors, test_no_descriptor_kept, test_threads,
           test_symbols_elsewhere, test_identity, test_not_loaded)
