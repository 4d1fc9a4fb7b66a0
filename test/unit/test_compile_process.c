/* Compiling in another process: it gives the same code; when it is started, what it inherits, when it
 * ends. */
#define _GNU_SOURCE /* memfd_create */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/lib/compiling.h"
#include "test/lib/kernels.h"
#include "test/lib/unit.h"

/* code */

static ir_ref some_kernel(ir_graph *g, int number) {
  ir_ref p = k_param(g, IR_F32, 0, 64), q = k_param(g, IR_F32, 1, 64), i = k_range(g, ir_index(g, 16), 0);
  ir_ref lane = k_range(g, ir_index(g, 4), 1), at = k_sum(g, k_times(g, i, 4), lane);
  ir_ref x = k_load(g, q, at);
  for (int k = 0; k < 3 + number; k++)
    x = ir_binary(g, k % 2 ? IR_OP_MUL : IR_OP_ADD, x, ir_float(g, IR_F32, k + 0.5));
  ir_ref params[] = {p, q}, store = k_store(g, p, at, x);
  return k_kernel(g, k_loop(g, i, IR_THREAD, k_loop(g, lane, number % 2 ? IR_VECTOR : IR_UNROLL, store)),
                  params, 2);
}

static void same_code(void **state) {
  rt_module here, there;
  ir_error error = {0};
  rt_compiling how = {.process = true};
  assert_int_equal(rt_module_init(&here, NULL, &error), IR_OK);
  assert_int_equal(rt_module_init(&there, &how, &error), IR_OK);
  for (int number = 0; number < 4; number++) {
    ir_graph g;
    assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &error), IR_OK);
    g.error = &error;
    ir_ref kernel = some_kernel(&g, number);
    k_target t;
    for (int machine = 0; k_target_at(machine, &t); machine++)
      for (int want = CG_OBJECT; want <= CG_LLVM; want++) {
        cg_blob a, b;
        ir_status first = rt_module_compile(&here, &g, kernel, "f", &t.target, (cg_output)want, &a, &error);
        ir_status second = rt_module_compile(&there, &g, kernel, "f", &t.target, (cg_output)want, &b, &error);
        if (first || second) fail_msg("%s", error.text);
        assert_true(a.size > 0);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.bytes, b.bytes, a.size + 1);
        assert_int_equal(a.scratch, b.scratch);
        assert_int_equal(a.in_place, b.in_place);
        cg_blob_free(&a);
        cg_blob_free(&b);
      }
    ir_graph_free(&g);
  }
  assert_int_equal(there.compiler->started, 1);
  rt_module_free(&here);
  rt_module_free(&there);
  c_check_childless();
}

/* The process refuses the same kernels as the code generator, with the same messages. */
static void same_refusals(void **state) {
  ir_error errors[2] = {{0}, {0}};
  rt_compiling how = {.process = true};
  for (int variant = 0; variant < 2; variant++) {
    rt_module module;
    ir_graph g;
    cg_blob blob;
    k_target t;
    k_target_at(0, &t);
    assert_int_equal(rt_module_init(&module, variant ? &how : NULL, &errors[variant]), IR_OK);
    assert_int_equal(ir_graph_init(&g, &ir_mem_libc, &errors[variant]), IR_OK);
    ir_ref p = k_param(&g, IR_F32, 0, 4), i = k_range(&g, ir_index(&g, 4), 0);
    ir_ref kernel = k_kernel(&g, k_store(&g, p, i, ir_float(&g, IR_F32, 1)), &p, 1);
    rt_module_compile(&module, &g, kernel, "f", &t.target, CG_OBJECT, &blob, &errors[variant]);
    ir_graph_free(&g);
    rt_module_free(&module);
  }
  assert_int_equal(errors[0].status, IR_ERR_INTERNAL);
  assert_int_equal(errors[1].status, errors[0].status);
  assert_string_equal(errors[1].text, errors[0].text);
}

/* starting and ending */

static void one_for_a_context(void **state) {
  vf_context *contexts[2];
  for (int i = 0; i < 2; i++) contexts[i] = c_open(NULL, (vf_options){0});
  c_check_childless();
  for (int i = 0; i < 2; i++)
    for (int number = 0; number < 3; number++) c_check_works(contexts[i], number);
  for (int i = 0; i < 2; i++) assert_int_equal(c_compiler(contexts[i])->started, 1);
  assert_int_not_equal(c_compiler(contexts[0])->pid, c_compiler(contexts[1])->pid);
  vf_context_destroy(contexts[0]);
  c_check_works(contexts[1], 9);
  vf_context_destroy(contexts[1]);
  c_check_childless();
}

static void warm_runs_start_none(void **state) {
  for (int warm = 0; warm < 2; warm++) {
    vf_options options = {.size = sizeof options, .compile_mode = VF_COMPILE_PROCESS, .cache_dir = c_place()};
    vf_context *context = vf_context_create(&options, NULL);
    c_check_works(context, 31);
    assert_int_equal(c_compiler(context)->started, warm ? 0 : 1);
    if (warm) c_check_childless();
    vf_context_destroy(context);
  }
}

static void settings(void **state) {
  static const struct {
    const char *variable, *value, *says; /* says: the message; NULL for success */
  } rows[] = {
      {"VIEWFOLD_COMPILE", "process", NULL},
      {"VIEWFOLD_COMPILE", "inprocess", NULL},
      {"VIEWFOLD_COMPILE", "proces", "VIEWFOLD_COMPILE is 'proces'; it must be process, inprocess or 0"},
      {"VIEWFOLD_COMPILE_SECONDS", "5", NULL},
      {"VIEWFOLD_COMPILE_SECONDS", "0", "VIEWFOLD_COMPILE_SECONDS is '0'; it must be a number from 1"},
      {"VIEWFOLD_COMPILE_SECONDS", "5s", "VIEWFOLD_COMPILE_SECONDS is '5s'"},
      {"VIEWFOLD_COMPILE_BYTES", "1000000000", NULL},
      {"VIEWFOLD_COMPILE_BYTES", "1000",
       "VIEWFOLD_COMPILE_BYTES is '1000'; it must be a number from 33554432"},
      {"VIEWFOLD_PRECISION", "relaxed", NULL},
      {"VIEWFOLD_PRECISION", "fast", "VIEWFOLD_PRECISION is 'fast'; it must be exact or relaxed"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    vf_error error;
    vf_options options = {.size = sizeof options, .flags = VF_NO_DISK};
    setenv(rows[i].variable, rows[i].value, 1);
    vf_context *context = vf_context_create(&options, &error);
    unsetenv(rows[i].variable);
    if (rows[i].says) {
      assert_null(context);
      assert_int_equal(error.status, VF_ERR_INVALID);
      if (!strstr(error.message, rows[i].says)) fail_msg("%s", error.message);
      continue;
    }
    rt_compiler *compiler = c_compiler(context);
    assert_int_equal(compiler != NULL, strcmp(rows[i].value, "process") == 0);
    vf_context_destroy(context);
  }
  setenv("VIEWFOLD_COMPILE", "inprocess", 1); /* options take precedence over variables */
  setenv("VIEWFOLD_COMPILE_SECONDS", "77", 1);
  vf_context *context = c_open(NULL, (vf_options){.compile_bytes = 1 << 30});
  assert_int_equal(c_compiler(context)->how.seconds, 77);
  assert_int_equal(c_compiler(context)->how.bytes, 1 << 30);
  vf_context_destroy(context);
  unsetenv("VIEWFOLD_COMPILE");
  unsetenv("VIEWFOLD_COMPILE_SECONDS");
  vf_options wrong[] = {
      {.compile_mode = 3}, {.compile_seconds = -1}, {.compile_bytes = -1}, {.compile_bytes = 4096}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    vf_error error;
    wrong[i].size = sizeof wrong[i];
    assert_null(vf_context_create(&wrong[i], &error));
    assert_int_equal(error.status, VF_ERR_INVALID);
  }
}

/* A program of many kernels, which are compiled at once: no more threads compile than the context has, and
 * the results are those of code compiled in this process. */
static void many_at_once(void **state) {
  enum { KERNELS = 24 };
  for (int threads = 1; threads <= 3; threads++) {
    vf_error error;
    vf_context *context = c_open(NULL, (vf_options){.threads = threads});
    vf_graph *graph = vf_graph_create(context, "many", &error);
    vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(3, 5));
    float in[15], results[KERNELS][5];
    void *out[KERNELS];
    for (int i = 0; i < 15; i++) in[i] = (float)i;
    for (int k = 0; k < KERNELS; k++) {
      char name[24];
      snprintf(name, sizeof name, "y%d", k);
      vf_output(graph, name, vf_sum(vf_mul(x, vf_number(graph, k)), 1, (const int64_t[]){k % 2}, false));
      out[k] = results[k];
    }
    vf_program *program = vf_compile(graph, &error);
    if (!program) fail_msg("%s", error.message);
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)c_compiler(context)->pid);
    int tasks = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) tasks += e->d_name[0] != '.';
    closedir(folder);
    if (!unit_is_emulated()) assert_in_range(tasks, 2, threads + 1); /* the first thread listens */
    assert_int_equal(vf_program_run(program, (const void *[]){in}, out, NULL, &error), VF_OK);
    for (int k = 0; k < KERNELS; k++)
      for (int i = 0; i < (k % 2 ? 3 : 5); i++) /* sums of the numbers 0..14 by column or by row */
        assert_true(results[k][i] == (float)(k * (k % 2 ? 25 * i + 10 : 3 * i + 15)));
    assert_int_equal(c_compiler(context)->started, 1);
    vf_program_destroy(program);
    vf_graph_destroy(graph);
    vf_context_destroy(context);
  }
  c_check_childless();
}

/* inheritance */

static size_t read_proc(pid_t pid, const char *name, char *out, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  ssize_t size = read(fd, out, room - 1);
  close(fd);
  assert_true(size >= 0);
  out[size] = '\0';
  return (size_t)size;
}

/* The mask of signals after this word in /proc/PID/status. */
static uint64_t signals_of(pid_t pid, const char *word) {
  char text[8192];
  read_proc(pid, "status", text, sizeof text);
  const char *at = strstr(text, word);
  assert_non_null(at);
  return strtoull(at + strlen(word), NULL, 16);
}

static void inherits_nothing(void **state) {
  char text[65536], link[300], path[300];
  struct sigaction before, ignored = {.sa_handler = SIG_IGN};
  sigset_t blocked, old;
  int planted = memfd_create("planted", 0); /* which an executed program would inherit open */
  assert_true(planted >= 0 && dup2(planted, 200) == 200);
  setenv("VIEWFOLD_PLANTED", "yes", 1);
  setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  sigaction(SIGINT, &ignored, &before);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  vf_context *context = c_open(NULL, (vf_options){0});
  c_check_works(context, 1);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  sigaction(SIGINT, &before, NULL);
  unsetenv("VIEWFOLD_PLANTED");
  unsetenv("LD_LIBRARY_PATH");

  pid_t child = c_compiler(context)->pid;
  size_t size = read_proc(child, "environ", text, sizeof text);
  bool found = false;
  for (char *at = text; at < text + size; at += strlen(at) + 1) {
    assert_null(strstr(at, "VIEWFOLD"));
    assert_int_not_equal(strncmp(at, "PATH=", 5), 0);
    found |= strcmp(at, "LD_LIBRARY_PATH=/nowhere") == 0;
  }
  assert_true(found);
  uint64_t internal = (uint64_t)3 << 31; /* 32 and 33, which are the C library's own */
  assert_int_equal(signals_of(child, "SigBlk:") & ~internal, 0);
  assert_int_equal(signals_of(child, "SigIgn:") & ~internal & ~((uint64_t)1 << (SIGXFSZ - 1)), 0);
  assert_int_not_equal(getsid(child), getsid(0));

  int descriptors = 0;
  snprintf(path, sizeof path, "/proc/%ld/fd", (long)child);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
    if (length < 0) continue;
    link[length] = '\0';
    assert_null(strstr(link, "planted"));
    descriptors++;
  }
  closedir(directory);
  assert_in_range(descriptors, 4, 5); /* 0 to 3, and the one that watches the parent */
  snprintf(path, sizeof path, "/proc/%ld/cwd", (long)child);
  assert_int_equal(readlink(path, link, sizeof link), 1);
  vf_context_destroy(context);
  close(planted);
  close(200);
  c_check_childless();
}

/* A process without standard streams: newly opened descriptors get their numbers. */
static void low_descriptors(void **state) {
  int kept[3];
  vf_context *context = c_open(NULL, (vf_options){0});
  for (int i = 0; i < 3; i++) {
    kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 50);
    close(i);
  }
  vf_error error;
  vf_program *program = c_compile(context, 1, false, &error);
  for (int i = 0; i < 3; i++) {
    if (kept[i] < 0) continue;
    dup2(kept[i], i);
    close(kept[i]);
  }
  if (!program) fail_msg("%s", error.message);
  vf_program_destroy(program);
  vf_context_destroy(context);
  c_check_childless();
}

/* A process that closes descriptors that it has not opened, as daemons do, and opens other files under the
 * same numbers. */
static void descriptors_that_others_close(void **state) {
  vf_context *context = c_open(NULL, (vf_options){0});
  c_check_works(context, 1);
  int numbers[2] = {c_compiler(context)->socket, c_compiler(context)->stderr_file}, pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  for (int i = 0; i < 2; i++) assert_int_equal(dup2(pair[0], numbers[i]), numbers[i]);
  c_check_works(context, 2);
  assert_int_equal(c_compiler(context)->started, 2);
  vf_context_destroy(context);
  for (int i = 0; i < 2; i++) assert_int_equal(fcntl(numbers[i], F_GETFD), 0); /* they are still open */
  char byte;
  assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1); /* and nothing was sent to them */
  for (int i = 0; i < 2; i++) close(numbers[i]), close(pair[i]);
  c_check_childless();
}

/* A process that ignores SIGCHLD, so that its children vanish unreaped, or that reaps all children itself. */
static void children_that_others_reap(void **state) {
  for (int variant = 0; variant < 2; variant++) {
    struct sigaction before, ignored = {.sa_handler = SIG_IGN};
    if (variant == 0) sigaction(SIGCHLD, &ignored, &before);
    vf_context *context = c_open(NULL, (vf_options){0});
    c_check_works(context, 1);
    kill(c_compiler(context)->pid, SIGKILL);
    while (variant == 1 && waitpid(-1, NULL, 0) < 0 && errno == EINTR) {}
    siginfo_t ended;
    if (variant == 0) waitid(P_PID, (id_t)c_compiler(context)->pid, &ended, WEXITED); /* until it is gone */
    c_check_works(context, 2);
    assert_int_equal(c_compiler(context)->started, 2);
    vf_context_destroy(context);
    context = c_open("segv", (vf_options){0});
    c_check_fails(context, VF_ERR_COMPILE, "signal 11", NULL);
    vf_context_destroy(context);
    if (variant == 0) sigaction(SIGCHLD, &before, NULL);
    c_check_childless();
  }
}

/* processes that fork */

static void forked_processes_have_their_own(void **state) {
  vf_context *context = c_open(NULL, (vf_options){.threads = 1});
  c_check_works(context, 1);
  pid_t first = c_compiler(context)->pid, forked = fork();
  if (forked == 0) {
    vf_error error;
    vf_program *program = c_compile(context, 2, false, &error);
    bool own = program && c_compiler(context)->pid != first && c_compiler(context)->started == 2;
    vf_program_destroy(program);
    vf_context_destroy(context);
    _exit(own ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(forked, &status, 0), forked);
  assert_int_equal(status, 0);
  c_check_works(context, 3);
  forked = fork();
  if (forked == 0) { /* a child process that compiles nothing must not end its parent's compiler */
    vf_context_destroy(context);
    _exit(0);
  }
  assert_int_equal(waitpid(forked, &status, 0), forked);
  c_check_works(context, 4);
  assert_int_equal(c_compiler(context)->pid, first);
  vf_context_destroy(context);
  c_check_childless();
}

static void *compile_forever(void *user) {
  vf_error error;
  c_compile(user, 1, false, &error);
  return NULL;
}

/* Writes which process compiles for it, and never returns. */
static void host(const char *fault, bool forks, int out) {
  vf_context *context = c_open(fault, (vf_options){.threads = 1});
  pthread_t thread;
  pid_t said[2] = {0, 0};
  if (pthread_create(&thread, NULL, compile_forever, context) ||
      !c_wait_until(c_is_working, c_compiler(context)))
    _exit(1);
  said[0] = c_compiler(context)->pid;
  if (forks && (said[1] = fork()) == 0)
    for (;;) pause();
  if (write(out, said, sizeof said) != sizeof said) _exit(1);
  for (;;) pause();
}

static bool is_gone(void *user) {
  pid_t pid = *(pid_t *)user, found = waitpid(pid, NULL, WNOHANG);
  return found == pid || (found < 0 && kill(pid, 0) < 0);
}

/* kill -9 of a process ends the process that compiles for it, in the middle of its work; also where a forked
 * process holds a copy of the socket. */
static void ends_with_its_host(void **state) {
  static const char *const faults[] = {"loop", "wait", "loop", "wait"};
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) && unit_is_emulated()) skip(); /* qemu 7.2 does not hand that on */
  for (int variant = 0; variant < 4; variant++) {
    int ends[2], status;
    pid_t said[2];
    c_double(faults[variant]);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) host(faults[variant], variant >= 2, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], said, sizeof said), sizeof said);
    close(ends[0]);
    assert_int_equal(kill(said[0], 0), 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool gone = c_wait_until(is_gone, &said[0]);
    if (!gone) kill(said[0], SIGKILL), waitpid(said[0], NULL, 0);
    if (said[1]) kill(said[1], SIGKILL), waitpid(said[1], NULL, 0);
    assert_true(gone);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  c_check_childless();
}

UNIT_TESTS_BETWEEN(c_set_up, c_tear_down, same_code, same_refusals, one_for_a_context, warm_runs_start_none,
                   settings, many_at_once, inherits_nothing, low_descriptors, descriptors_that_others_close,
                   children_that_others_reap, forked_processes_have_their_own, ends_with_its_host)
