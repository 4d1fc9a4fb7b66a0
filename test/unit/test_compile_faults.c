/* Whatever ends or stops the compiling process becomes a status and a message of the call that compiles;
 * nothing of the process is left, and a new one compiles the next program. Each fault is provoked by a test
 * double of the process. */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test/lib/compiling.h"
#include "test/lib/kernels.h"
#include "test/lib/sanitized.h"
#include "test/lib/unit.h"

/* The beginning of the name of c_compile's first kernel. */
#define KERNEL "vf_add_mul_f32_"

/* After the fault the same context compiles with the working process, and keeps that process. */
static void mend(vf_context *context) {
  rt_compiler *compiler = c_compiler(context);
  assert_int_equal(compiler->pid, 0);
  uint32_t before = compiler->started;
  compiler->how.program = NULL;
  c_check_works(context, 1);
  c_check_works(context, 2);
  assert_int_equal(compiler->started, before + 1);
}

static void close_context(vf_context *context) {
  vf_context_destroy(context);
  c_check_childless();
}

#define CHECK_FAULT(fault, options, status, ...)                                                             \
  do {                                                                                                       \
    vf_context *context_ = c_open(fault, (vf_options)options);                                               \
    c_check_fails(context_, status, KERNEL, __VA_ARGS__, NULL);                                              \
    mend(context_);                                                                                          \
    close_context(context_);                                                                                 \
  } while (0)
#define DEFAULTS                                                                                             \
  { 0 }
#define LIST(...)                                                                                            \
  { __VA_ARGS__ }

static void crashes(void **state) {
  CHECK_FAULT("abort", DEFAULTS, VF_ERR_COMPILE, "LLVM ended its process (signal 6, Aborted)",
              "please report");
  CHECK_FAULT("segv", DEFAULTS, VF_ERR_COMPILE, "(signal 11, Segmentation fault)");
  CHECK_FAULT("stack", DEFAULTS, VF_ERR_COMPILE, "(signal 11, Segmentation fault)");
  CHECK_FAULT("kill", DEFAULTS, VF_ERR_COMPILE, "was killed (signal 9, Killed)", "memory");
  CHECK_FAULT("leave", DEFAULTS, VF_ERR_COMPILE, "(exit status 7)");
}

static void fatal_errors(void **state) {
  CHECK_FAULT("fatal", DEFAULTS, VF_ERR_COMPILE, "LLVM ERROR: provoked by a test", "(signal 6");
  CHECK_FAULT("exit", DEFAULTS, VF_ERR_COMPILE, "LLVM ERROR: provoked without a dump", "(exit status 1)");
}

static void processor_time_ends(void **state) {
  int seconds = unit_is_emulated() ? 20 : 1; /* enough for what is compiled afterwards */
  char limit[60];
  snprintf(limit, sizeof limit, "more than %d seconds of processor time", seconds);
  CHECK_FAULT("loop", LIST(.compile_seconds = seconds), VF_ERR_COMPILE, limit, "VIEWFOLD_COMPILE_SECONDS",
              "compile_seconds");
}

static void silence_ends(void **state) {
  static const char *const faults[] = {"stop", "wait"};
  for (int i = 0; i < 2; i++) {
    vf_context *context = c_open(faults[i], (vf_options){0});
    c_compiler(context)->how.wall = 1;
    c_check_fails(context, VF_ERR_COMPILE, KERNEL, "has not answered within 1 seconds", NULL);
    c_compiler(context)->how.wall = 0;
    mend(context);
    close_context(context);
  }
}

static void memory_ends(void **state) {
#if defined(TEST_SANITIZED)
  skip(); /* the sanitizer's own memory exceeds every limit */
#endif
  if (unit_is_emulated()) skip(); /* qemu does not have the limit */
  CHECK_FAULT("hoard", LIST(.compile_bytes = 400 << 20), VF_ERR_MEMORY, "419430400 bytes",
              "VIEWFOLD_COMPILE_BYTES", "compile_bytes");
}

/* A kernel of thousands of operations, compiled by the installed process. */
static void memory_is_limited(void **state) {
#if defined(TEST_SANITIZED)
  skip();
#endif
  if (unit_is_emulated()) skip();
  rt_module module;
  ir_graph g;
  ir_error error = {0};
  k_target t;
  rt_compiling how = {.process = true, .bytes = RT_COMPILER_LEAST};
  assert_int_equal(rt_module_init(&module, &how, &error), IR_OK);
  assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
  assert_true(k_target_at(0, &t));
  g.error = &error;
  ir_ref p = k_param(&g, IR_F32, 0, 64), q = k_param(&g, IR_F32, 1, 64), i = k_range(&g, ir_index(&g, 64), 0);
  ir_ref x = k_load(&g, q, i), params[] = {p, q};
  for (int k = 0; k < 20000; k++)
    x = ir_binary(&g, k % 2 ? IR_OP_MUL : IR_OP_ADD, x, ir_float(&g, IR_F32, k + 0.5));
  ir_ref kernel = k_kernel(&g, k_loop(&g, i, IR_SERIAL, k_store(&g, p, i, x)), params, 2);
  cg_blob out;
  ir_status status = rt_module_compile(&module, &g, kernel, "f", &t.target, CG_OBJECT, &out, &error);
  if (status != IR_ERR_MEMORY || !strstr(error.text, "33554432 bytes")) fail_msg("%d %s", status, error.text);
  rt_module_free(&module);
  ir_graph_free(&g);
  c_check_childless();
}

/* The n-th allocation of a compilation fails, for a sample of n; test/campaign/llvm_allocations.sh tries
 * more. */
static void allocations_fail(void **state) {
#if defined(TEST_SANITIZED)
  skip(); /* under the sanitizer the double fails no allocations */
#endif
  static const long numbers[] = {1, 10, 100, 400, 1000, 2000};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int on = 0; on < 2; on++) {
      char fault[40];
      snprintf(fault, sizeof fault, "%s-%ld", on ? "failon" : "fail", numbers[i]);
      vf_context *context = c_open(fault, (vf_options){0});
      c_check_fails(context, VF_ERR_MEMORY, "out of memory", NULL);
      close_context(context);
    }
}

/* answers */

static void answers_are_checked(void **state) {
  CHECK_FAULT("garbage", DEFAULTS, VF_ERR_COMPILE,
              "/garbage does not answer as viewfold-compile of this build");
  CHECK_FAULT("much", DEFAULTS, VF_ERR_COMPILE, "/much does not answer as viewfold-compile of this build");
  CHECK_FAULT("hangup", DEFAULTS, VF_ERR_COMPILE, "/hangup ended as soon as it was started (exit status 7)");
}

/* A program unrelated to viewfold. */
static void other_programs(void **state) {
  vf_context *context = c_open(NULL, (vf_options){.compile_program = "/bin/true"});
  c_check_fails(context, VF_ERR_COMPILE, KERNEL, "/bin/true ended as soon as it was started (exit status 0)",
                NULL);
  c_check_fails(context, VF_ERR_COMPILE, "/bin/true", NULL); /* each time */
  mend(context);
  vf_context_destroy(context);
  context = c_open(NULL, (vf_options){.compile_program = "/nowhere/at/all"});
  c_check_fails(context, VF_ERR_COMPILE, "/nowhere/at/all", "compile_program", "VIEWFOLD_COMPILE=inprocess",
                NULL);
  vf_context_destroy(context);
  char path[96];
  snprintf(path, sizeof path, "%s/not-executable", c_place());
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("#!/bin/false\n", file);
  fclose(file);
  chmod(path, 0600);
  context = c_open(NULL, (vf_options){.compile_program = path});
  /* qemu starts programs by fork, and so does not tell that one cannot be started */
  const char *why = unit_is_emulated() ? "exit status 127" : "cannot be started: Permission denied";
  c_check_fails(context, VF_ERR_COMPILE, path, why, "executable", "VIEWFOLD_COMPILE=inprocess", NULL);
  mend(context);
  vf_context_destroy(context);
  c_check_childless();
}

/* faults from outside */

static void killed_between(void **state) {
  vf_context *context = c_open(NULL, (vf_options){0});
  c_check_works(context, 1);
  for (int iteration = 0; iteration < 3; iteration++) {
    siginfo_t ended;
    kill(c_compiler(context)->pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)c_compiler(context)->pid, &ended, WEXITED | WNOWAIT), 0);
    c_check_works(context, 2 + iteration);
  }
  vf_context_destroy(context);
  c_check_childless();
}

typedef struct thread {
  vf_context *context;
  vf_program *program;
  vf_error error;
  bool root;
  int number;
} thread;

static void *compile(void *user) {
  thread *t = user;
  t->program = c_compile(t->context, t->number, t->root, &t->error);
  return NULL;
}

static void killed_in_the_middle(void **state) {
  vf_context *context = c_open("wait", (vf_options){0});
  thread t = {.context = context};
  pthread_t handle;
  assert_int_equal(pthread_create(&handle, NULL, compile, &t), 0);
  assert_true(c_wait_until(c_is_working, c_compiler(context)));
  kill(c_compiler(context)->pid, SIGKILL);
  pthread_join(handle, NULL);
  assert_null(t.program);
  assert_int_equal(t.error.status, VF_ERR_COMPILE);
  assert_non_null(strstr(t.error.message, KERNEL));
  mend(context);
  close_context(context);
}

static void count_ends(void *user, vf_log_level level, const char *text) {
  static const char said[] = "compiler: the process has ended; the next kernel starts another one";
  *(int *)user += level == VF_LOG_INFO && strcmp(text, said) == 0;
}

/* One of several programs compiled at once crashes the process: its message names its kernel, the others
 * work. The log says it once. */
static void only_the_guilty_fails(void **state) {
  enum { THREADS = 6 };
  int ends = 0;
  vf_context *context = c_open("segv@sqrt", (vf_options){0});
  vf_set_log(context, VF_LOG_INFO, count_ends, &ends);
  thread all[THREADS];
  pthread_t handles[THREADS];
  for (int i = 0; i < THREADS; i++) {
    all[i] = (thread){.context = context, .root = i == 2, .number = i};
    assert_int_equal(pthread_create(&handles[i], NULL, compile, &all[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(handles[i], NULL);
    if (i != 2 && !all[i].program) fail_msg("%s", all[i].error.message);
    vf_program_destroy(all[i].program);
  }
  assert_null(all[2].program);
  assert_int_equal(all[2].error.status, VF_ERR_COMPILE);
  assert_non_null(strstr(all[2].error.message, "sqrt"));
  assert_in_range(c_compiler(context)->started, 1, 2);
  assert_int_equal(ends, 1);
  close_context(context);
}

/* The same for kernels of one program that are compiled at once: the program fails because of the one that
 * crashes, every time, and the code of the other kernels is kept. */
static void guilty_among_many(void **state) {
  enum { KERNELS = 12, ROOTS = 6 };
  vf_context *context = c_open("segv@sqrt", (vf_options){0});
  for (int roots = 0; roots <= ROOTS; roots += ROOTS) {
    vf_error error;
    vf_graph *graph = vf_graph_create(context, "many", &error);
    vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(4, 6));
    for (int k = 0; k < KERNELS; k++) {
      char name[24];
      snprintf(name, sizeof name, "y%d", k);
      vf_value y = vf_add(x, vf_number(graph, k + 100 * roots));
      vf_output(graph, name, vf_sum(k < roots ? vf_sqrt(y) : y, 1, (const int64_t[]){k % 2}, false));
    }
    vf_program *program = vf_compile(graph, &error);
    if (!roots && !program) fail_msg("%s", error.message);
    if (roots) {
      assert_null(program);
      assert_int_equal(error.status, VF_ERR_COMPILE);
      if (!strstr(error.message, "sqrt") || !strstr(error.message, "LLVM ended its process"))
        fail_msg("%s", error.message);
      assert_in_range(c_compiler(context)->started, 2, ROOTS + 2);
    }
    vf_program_destroy(program);
    vf_graph_destroy(graph);
  }
  c_check_works(context, 5);
  close_context(context);
}

UNIT_TESTS_BETWEEN(c_set_up, c_tear_down, crashes, fatal_errors, processor_time_ends, silence_ends,
                   memory_ends, memory_is_limited, allocations_fail, answers_are_checked, other_programs,
                   killed_between, killed_in_the_middle, only_the_guilty_fails, guilty_among_many)
