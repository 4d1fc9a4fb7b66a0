#include "test/lib/compiling.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "frontend/api/api.h"

static char place[64];

int c_set_up(void **state) {
  snprintf(place, sizeof place, "/tmp/viewfold-test-XXXXXX");
  return mkdtemp(place) ? 0 : 1;
}
int c_tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", place);
  return system(command);
}
const char *c_place(void) { return place; }

const char *c_double(const char *fault) {
  static char link[160];
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
  assert_true(length > 0);
  program[length] = '\0';
  strcpy(strrchr(program, '/') + 1, "compile_faults");
  snprintf(link, sizeof link, "%s/%s", place, fault);
  if (symlink(program, link)) assert_int_equal(errno, EEXIST);
  return link;
}

vf_context *c_open(const char *fault, vf_options more) {
  vf_error error;
  more.size = sizeof more;
  more.flags |= VF_NO_DISK;
  more.compile_mode = VF_COMPILE_PROCESS;
  if (fault) more.compile_program = c_double(fault);
  vf_context *context = vf_context_create(&more, &error);
  if (!context) fail_msg("%s", error.message);
  return context;
}

rt_compiler *c_compiler(vf_context *context) { return context->runtime->codegen.compiler; }

vf_program *c_compile(vf_context *context, int number, bool root, vf_error *error) {
  vf_graph *graph = vf_graph_create(context, "g", error);
  if (!graph) return NULL;
  vf_value x = vf_input(graph, "x", VF_F32, VF_LIST(8));
  vf_value y = vf_mul(vf_add(x, vf_number(graph, number)), vf_number(graph, 2));
  vf_output(graph, "y", root ? vf_sqrt(y) : y);
  vf_program *program = vf_compile(graph, error);
  vf_graph_destroy(graph);
  return program;
}

void c_check_works(vf_context *context, int number) {
  vf_error error;
  float in[8], out[8];
  vf_program *program = c_compile(context, number, false, &error);
  if (!program) fail_msg("%s", error.message);
  for (int i = 0; i < 8; i++) in[i] = (float)i;
  assert_int_equal(vf_program_run(program, (const void *[]){in}, (void *[]){out}, NULL, &error), VF_OK);
  for (int i = 0; i < 8; i++) assert_true(out[i] == 2.0f * (float)(i + number));
  vf_program_destroy(program);
}

void c_check_fails(vf_context *context, vf_status status, ...) {
  vf_error error;
  va_list texts;
  assert_null(c_compile(context, 1, false, &error));
  if (error.status != status) fail_msg("status %d: %s", (int)error.status, error.message);
  va_start(texts, status);
  for (const char *text; (text = va_arg(texts, const char *));)
    if (!strstr(error.message, text)) fail_msg("no '%s' in '%s'", text, error.message);
  va_end(texts);
}

void c_check_childless(void) {
  pid_t found = waitpid(-1, NULL, WNOHANG);
  int why = errno;
  assert_int_equal(found, -1);
  assert_int_equal(why, ECHILD);
}

bool c_is_working(void *compiler) {
  rt_compiler *c = compiler;
  struct stat words;
  pthread_mutex_lock(&c->lock);
  bool working = c->pid && fstat(c->stderr_file, &words) == 0 && words.st_size > 0;
  pthread_mutex_unlock(&c->lock);
  return working;
}

bool c_wait_until(bool (*is_so)(void *user), void *user) {
  for (int attempt = 0; attempt < 120000; attempt++) {
    if (is_so(user)) return true;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return false;
}
