/* viewfold-compile with faults: a compiler process whose name says which fault it has, so that tests choose
 * one by calling it through a link.
 *
 *   FAULT[-NUMBER][@WORD]     WORD: only for kernels with it in their symbol
 *
 * The table below says what each fault does. Links need not lie next to the code generator's module; this
 * file does. Allocations are counted in the thread that compiles, from where LLVM is loaded and the request
 * begins; they fail only in builds without a sanitizer, whose allocator comes first. */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/serve/serve.h"
#include "test/lib/sanitized.h"

static char fault[64], word[64];
static long number;

/* allocations */

static _Thread_local long left; /* until one fails; 0: none does */
static _Thread_local long made; /* so far */
static bool all_after;

#if !defined(TEST_SANITIZED)
static bool fails(void) {
  made++;
  if (left == 0 || --left > 0) return false;
  left = all_after;
  errno = ENOMEM;
  return true;
}

/* visible to libLLVM */
#define EXPORTED __attribute__((visibility("default")))
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);
EXPORTED void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
EXPORTED void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
EXPORTED void *realloc(void *at, size_t size) { return fails() ? NULL : __libc_realloc(at, size); }
EXPORTED void *memalign(size_t align, size_t size) { return fails() ? NULL : __libc_memalign(align, size); }
EXPORTED void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
EXPORTED int posix_memalign(void **out, size_t align, size_t size) {
  *out = memalign(align, size);
  return *out ? 0 : ENOMEM;
}
#endif

/* faults of a request */

void llvm_fatal(const char *reason, bool diagnose) __asm__("_ZN4llvm18report_fatal_errorEPKcb");

static void do_abort(void) { abort(); }
static void do_segv(void) { *(volatile int *)(uintptr_t)(64 + 4 * (unsigned)number) = 1; }
static void do_stack(void) {
  for (;;) *(volatile char *)alloca(4096) = 1;
}
static void do_fatal(void) { llvm_fatal("provoked by a test", true); }
static void do_exit(void) { llvm_fatal("provoked without a dump", false); }
static void do_leave(void) { _exit(7); }
/* Tells others (c_is_working) that the request is being worked on. */
static void say_so(void) {
  fputs("at work\n", stderr);
  fflush(stderr);
}
static void do_loop(void) {
  say_so();
  for (volatile unsigned iteration = 0;; iteration++) {}
}
static void do_wait(void) {
  say_so();
  for (;;) pause();
}
static void do_stop(void) { raise(SIGSTOP); }
static void do_kill(void) { raise(SIGKILL); }
static void do_fail(void) { left = number; }
static void do_fail_on(void) { all_after = true, left = number; }
static void do_count(void) { made = 0; }
/* Allocates all memory, so that none is left for LLVM. */
static void do_hoard(void) {
  for (size_t size = 1 << 20; size >= 1 << 12; size /= 2)
    while (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {}
}

/* faults of a start */

static void say_garbage(int socket) {
  char garbage[512];
  memset(garbage, 'x', sizeof garbage);
  send(socket, garbage, sizeof garbage, MSG_NOSIGNAL);
}
/* A proper greeting, and then an answer without a request, of a length that nobody has room for. */
static void say_too_much(int socket) {
  rt_wire_greeting greeting;
  rt_wire_answer answer = {.magic = RT_WIRE_MAGIC, .size = UINT64_MAX, .number = 1};
  rt_wire_greet(&greeting);
  send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL);
  send(socket, &answer, sizeof answer, MSG_NOSIGNAL);
}
static void hang_up(int socket) {
  close(socket);
  _exit(7);
}

/* Closes the socket, and stays alive. */
static void shut(int socket) {
  close(socket);
  for (;;) pause();
}

static const struct {
  const char *name;
  void (*request)(void);
  void (*start)(int socket);
} table[] = {{"abort", do_abort, NULL}, {"segv", do_segv, NULL},        {"stack", do_stack, NULL},
             {"fatal", do_fatal, NULL}, {"exit", do_exit, NULL},        {"leave", do_leave, NULL},
             {"loop", do_loop, NULL},   {"wait", do_wait, NULL},        {"stop", do_stop, NULL},
             {"kill", do_kill, NULL},   {"fail", do_fail, NULL},        {"failon", do_fail_on, NULL},
             {"hoard", do_hoard, NULL}, {"garbage", NULL, say_garbage}, {"much", NULL, say_too_much},
             {"hangup", NULL, hang_up}, {"shut", NULL, shut},           {"count", do_count, NULL},
             {"none", NULL, NULL}};
static size_t chosen;

static void on_start(int socket) {
  if (table[chosen].start) table[chosen].start(socket);
}
static void on_request(const rt_wire_request *head) {
  if (table[chosen].request && strstr(head->symbol, word)) table[chosen].request();
}

static void on_done(const rt_wire_request *head) {
  if (table[chosen].request != do_count) return;
  fprintf(stderr, "allocations: %ld\n", made);
  _exit(1);
}

int main(int argc, char **argv) {
  static const serve_faults faults = {on_start, on_request, on_done};
  const char *slash = strrchr(argv[0], '/');
  sscanf(slash ? slash + 1 : argv[0], "%63[a-z]-%ld", fault, &number);
  const char *at = strchr(slash ? slash : argv[0], '@');
  if (at) snprintf(word, sizeof word, "%s", at + 1);
  while (chosen < sizeof table / sizeof *table && strcmp(table[chosen].name, fault)) chosen++;
  if (chosen == sizeof table / sizeof *table) return 2;
  return serve_main(argc, argv, &faults);
}
