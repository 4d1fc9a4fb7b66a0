/* The bytes left on a stack, and threads with larger stacks.
 *
 * The main thread's stack grows downwards from where the kernel put the random bytes of the auxiliary vector
 * (AT_RANDOM), to its size limit; glibc would read /proc/self/maps to find it. The stacks of other threads
 * are known to the C library. If the current frame is outside that range, the program has switched to a stack
 * of its own, whose size is unknown. Source: getauxval(3), setrlimit(2), pthread_getattr_np(3). */
#define _GNU_SOURCE /* pthread_getattr_np, gettid */
#include "runtime/system/stack.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t left_below(uintptr_t here, uintptr_t lowest, uintptr_t end) {
  return here >= lowest && here < end ? here - lowest : SIZE_MAX;
}

size_t rt_stack_left(void) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (getpid() == gettid()) {
    struct rlimit limit;
    uintptr_t top = getauxval(AT_RANDOM);
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= top)
      return SIZE_MAX;
    return left_below(here, top - (uintptr_t)limit.rlim_cur, top);
  }
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return SIZE_MAX;
  bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known ? left_below(here, (uintptr_t)lowest, (uintptr_t)lowest + size) : SIZE_MAX;
}

/* A thread whose stack has the given size; 0: the usual one, if that is enough. */
static bool start(pthread_t *thread, size_t stack, void *(*main)(void *), void *argument) {
  sigset_t all, old;
  pthread_attr_t attributes;
  size_t usual = 0;
  if (pthread_attr_init(&attributes)) return false;
  if (!stack && pthread_attr_getstacksize(&attributes, &usual) == 0 && usual < RT_STACK_NEED)
    stack = RT_STACK_OWN;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool good = (!stack || pthread_attr_setstacksize(&attributes, stack) == 0) &&
              pthread_create(thread, &attributes, main, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  return good;
}

bool rt_thread_start(pthread_t *thread, void *(*main)(void *), void *argument) {
  return start(thread, 0, main, argument);
}

typedef struct job {
  void (*work)(void *);
  void *user;
} job;

static void *do_job(void *user) {
  job *j = user;
  j->work(j->user);
  return NULL;
}

ir_status rt_stack_run(void (*work)(void *), void *user, ir_error *error) {
  job j = {work, user};
  pthread_t thread;
  size_t left = rt_stack_left();
  if (left >= RT_STACK_NEED) {
    work(user);
    return IR_OK;
  }
  if (!start(&thread, RT_STACK_OWN, do_job, &j))
    return ir_fail(
        error, IR_ERR_MEMORY,
        "compiling takes %d KiB of stack, of which this thread has %zu left, and no thread with more can be "
        "started",
        RT_STACK_NEED / 1024, left / 1024);
  pthread_join(thread, NULL);
  return IR_OK;
}
