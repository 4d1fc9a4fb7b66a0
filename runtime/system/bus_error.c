#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "runtime/system/bus_error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The handler reads these without a lock. A range is set while its size is 0, and its size last. */
struct rt_guard {
  atomic_uintptr_t begin;
  atomic_size_t size; /* 0: not in use */
  atomic_bool damaged;
  bool taken; /* under the lock */
};

/* Guards are allocated a page at a time: BLOCK_BYTES. */
enum { BLOCK_BYTES = 4096, BLOCK_GUARDS = (BLOCK_BYTES - sizeof(void *)) / sizeof(rt_guard) };

/* Guards are never freed, so that the handler may walk them at any time. Their number is the largest number
 * of files that were mapped at once. */
typedef struct block {
  _Atomic(struct block *) next;
  rt_guard guards[BLOCK_GUARDS];
} block;

static struct {
  pthread_mutex_t lock; /* for all but the handler */
  _Atomic(block *) blocks;
  uintptr_t page;      /* bytes of a page */
  size_t count;        /* guards in use */
  atomic_bool damaged; /* one has been damaged at some time */
  bool installed;      /* the handler is, or other handlers may pass signals on to it */
  struct sigaction previous;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Replaces the range from the page of the address on by zeros, if it is guarded. mmap is a plain system call,
 * which a handler may make here although POSIX does not list it. */
static bool replace(uintptr_t address) {
  for (block *b = atomic_load_explicit(&state.blocks, memory_order_acquire); b;
       b = atomic_load_explicit(&b->next, memory_order_acquire))
    for (size_t i = 0; i < BLOCK_GUARDS; i++) {
      rt_guard *g = &b->guards[i];
      size_t size = atomic_load_explicit(&g->size, memory_order_acquire);
      uintptr_t begin = atomic_load_explicit(&g->begin, memory_order_relaxed);
      if (address - begin >= size) continue;
      uintptr_t from = address & ~(state.page - 1), end = (begin + size + state.page - 1) & ~(state.page - 1);
      atomic_store_explicit(&g->damaged, true, memory_order_release);
      atomic_store_explicit(&state.damaged, true, memory_order_release);
      return mmap((void *)from, end - from, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    }
  return false;
}

/* What would have happened without this handler. */
static void pass_on(int number, siginfo_t *info, void *context) {
  const struct sigaction *to = &state.previous;
  bool sent = info->si_code <= 0; /* by a process; otherwise the read that failed is tried again on return */
  if (to->sa_flags & SA_SIGINFO || (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN)) {
    pthread_sigmask(SIG_BLOCK, &to->sa_mask, NULL); /* until this handler returns */
    if (to->sa_flags & SA_SIGINFO) to->sa_sigaction(number, info, context);
    else to->sa_handler(number);
    return;
  }
  if (sent && to->sa_handler == SIG_IGN) return;
  struct sigaction standard = {.sa_handler = SIG_DFL};
  sigemptyset(&standard.sa_mask);
  sigaction(number, &standard, NULL);
  if (sent) kill(getpid(), number);
}

static void handle(int number, siginfo_t *info, void *context) {
  int code = errno;
  bool read = info->si_code > 0 && info->si_code != BUS_ADRALN;
  if (!read || !replace((uintptr_t)info->si_addr)) pass_on(number, info, context);
  errno = code;
}

static bool is_ours(const struct sigaction *action) {
  return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}
static bool is_plain(const struct sigaction *action) {
  return !(action->sa_flags & SA_SIGINFO) && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

/* A handler that was installed after ours may pass signals on to it: to install ours once more would close a
 * circle. */
static bool install(void) {
  struct sigaction now, handler = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  if (sigaction(SIGBUS, NULL, &now)) return false;
  if (is_ours(&now) || (state.installed && !is_plain(&now))) return true;
  handler.sa_sigaction = handle;
  sigemptyset(&handler.sa_mask);
  state.previous = now;
  state.installed = sigaction(SIGBUS, &handler, NULL) == 0;
  return state.installed;
}

static void uninstall(void) {
  struct sigaction now;
  if (!state.installed || sigaction(SIGBUS, NULL, &now) || !is_ours(&now)) return;
  state.installed = sigaction(SIGBUS, &state.previous, NULL) != 0;
}

/* A guard that is not in use, from a new block where there is none. */
static rt_guard *find_free(void) {
  for (block *b = atomic_load(&state.blocks); b; b = atomic_load(&b->next))
    for (size_t i = 0; i < BLOCK_GUARDS; i++)
      if (!b->guards[i].taken) return &b->guards[i];
  _Static_assert(sizeof(block) <= BLOCK_BYTES, "a block is a page");
  block *made = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return NULL;
  atomic_store_explicit(&made->next, atomic_load(&state.blocks), memory_order_relaxed);
  atomic_store_explicit(&state.blocks, made, memory_order_release);
  return &made->guards[0];
}

void rt_guard_enter(sigset_t *before) {
  sigset_t let;
  sigemptyset(&let);
  sigaddset(&let, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &let, before);
}

void rt_guard_leave(const sigset_t *before) {
  if (sigismember(before, SIGBUS) == 1) pthread_sigmask(SIG_SETMASK, before, NULL);
}

rt_guard *rt_guard_add(const void *begin, size_t size) {
  pthread_mutex_lock(&state.lock);
  if (!state.page) state.page = (uintptr_t)sysconf(_SC_PAGESIZE);
  rt_guard *g = find_free();
  if (g && !install()) g = NULL;
  if (g) {
    g->taken = true;
    atomic_store_explicit(&g->damaged, false, memory_order_relaxed);
    atomic_store_explicit(&g->begin, (uintptr_t)begin, memory_order_relaxed);
    atomic_store_explicit(&g->size, size, memory_order_release);
    state.count++;
  }
  pthread_mutex_unlock(&state.lock);
  return g;
}

bool rt_guard_damaged(const rt_guard *g) { return atomic_load_explicit(&g->damaged, memory_order_acquire); }

bool rt_guards_damaged(void) { return atomic_load_explicit(&state.damaged, memory_order_acquire); }

void rt_guard_remove(rt_guard *g) {
  pthread_mutex_lock(&state.lock);
  atomic_store_explicit(&g->size, 0, memory_order_release);
  g->taken = false;
  if (--state.count == 0) uninstall();
  pthread_mutex_unlock(&state.lock);
}
