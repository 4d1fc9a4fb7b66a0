/* Reports which request ended the compiler process, and why. The signal handlers of that process write the
 * report, using only async-signal-safe calls. */
#define _GNU_SOURCE /* sigaltstack */
#include "runtime/serve/serve.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Thread_local uint32_t serve_working_on;

/* The signals of processor exceptions and of abort. */
static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};

static size_t put_text(char *to, const char *text) {
  size_t length = strlen(text);
  memcpy(to, text, length);
  return length;
}

static size_t put_number(char *to, uint32_t number) {
  char digits[10];
  size_t count = 0, at = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) to[at++] = digits[--count];
  return at;
}

void serve_report_end(uint32_t request, const char *reason, int number) {
  char line[128];
  size_t length = put_text(line, "\n" RT_REASON_PREFIX);
  length += put_number(line + length, request);
  length += put_text(line + length, ": ");
  length += put_text(line + length, reason);
  if (number) length += put_number(line + length, (uint32_t)number);
  length += put_text(line + length, "\n");
  ssize_t written = write(STDERR_FILENO, line, length);
  (void)written; /* if this fails the reason is lost */
}

static void on_signal(int number) {
  if (serve_working_on) serve_report_end(serve_working_on, RT_REASON_SIGNAL, number);
  signal(number, SIG_DFL); /* returning repeats a fault; for abort and others: */
  raise(number);
}

/* LLVM ends a process after some fatal errors with exit(1). */
static void on_exit_call(void) {
  if (serve_working_on) serve_report_end(serve_working_on, RT_REASON_EXIT, 0);
}

bool serve_set_last_words(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
    if (sigaction(fatal[i], &action, NULL)) return false;
  return atexit(on_exit_call) == 0;
}

bool serve_set_signal_stack(void) {
  size_t size = 64 << 10; /* many times the largest register state, which determines SIGSTKSZ */
  void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return false;
  stack_t given = {.ss_sp = stack, .ss_size = size};
  return sigaltstack(&given, NULL) == 0; /* never freed: in use until the process ends */
}
