#include "heap.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 16, SHOWN = 8, LEAKED = 99 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void __real_free(void *block);

typedef struct held {
  const void *what;
  size_t size;
  void **frames; /* FRAMES of them, unused ones NULL; NULL if not traced */
} held;

/* A hash table with open addressing: an entry is at its hash, or after it with no gap in between. */
static held *table;
static size_t room, count; /* room: 0, or a power of two above count */
static bool traced, lost;  /* lost: there was no memory for an entry */
static pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t home(const void *what) {
  return (size_t)((uintptr_t)what * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
}

static size_t find(const void *what) {
  size_t at = home(what);
  while (table[at].what && table[at].what != what) at = (at + 1) & (room - 1);
  return at;
}

static bool grow(void) {
  held *old = table;
  size_t old_room = room, new_room = room ? 2 * room : 1024;
  held *made = __real_calloc(new_room, sizeof *made);
  if (!made) return false;
  table = made, room = new_room;
  for (size_t i = 0; i < old_room; i++)
    if (old[i].what) table[find(old[i].what)] = old[i];
  __real_free(old);
  return true;
}

void heap_hold(const void *what, size_t size) {
  if (!what) return;
  held one = {what, size, NULL};
  if (traced && (one.frames = __real_calloc(FRAMES, sizeof *one.frames))) backtrace(one.frames, FRAMES);
  pthread_mutex_lock(&lock);
  if (2 * count >= room && !grow()) lost = true;
  if (lost) {
    __real_free(one.frames);
  } else {
    held *at = &table[find(what)]; /* occupied if code that is not wrapped freed the block */
    count += at->what == NULL;
    __real_free(at->frames);
    *at = one;
  }
  pthread_mutex_unlock(&lock);
}

void heap_forget(const void *what) {
  if (!what) return;
  pthread_mutex_lock(&lock);
  size_t gap = room ? find(what) : 0;
  if (room && table[gap].what) {
    __real_free(table[gap].frames);
    count--;
    /* Shift entries after the gap into it where that brings them closer to their home (backward-shift
     * deletion). */
    for (size_t at = (gap + 1) & (room - 1); table[at].what; at = (at + 1) & (room - 1)) {
      if (((at - home(table[at].what)) & (room - 1)) < ((at - gap) & (room - 1))) continue;
      table[gap] = table[at];
      gap = at;
    }
    table[gap] = (held){0};
  }
  pthread_mutex_unlock(&lock);
}

/* ---- the functions that allocate */

static void *held_block(void *block, size_t size) {
  heap_hold(block, size);
  return block;
}
void *__wrap_malloc(size_t size) { return held_block(__real_malloc(size), size); }
void *__wrap_calloc(size_t n, size_t size) { return held_block(__real_calloc(n, size), n * size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return held_block(__real_aligned_alloc(alignment, size), size);
}
char *__wrap_strdup(const char *text) { return held_block(__real_strdup(text), strlen(text) + 1); }
char *__wrap_strndup(const char *text, size_t size) {
  return held_block(__real_strndup(text, size), strnlen(text, size) + 1);
}
void __wrap_free(void *block) {
  heap_forget(block); /* before another thread is given the same address */
  __real_free(block);
}
void *__wrap_realloc(void *block, size_t size) {
  heap_forget(block);
  void *moved = __real_realloc(block, size);
  heap_hold(moved ? moved : block, size); /* a failed one leaves the block unchanged */
  return moved;
}

/* ---- the process */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void begin(void) {
  const char *trace = getenv("HEAP_TRACE");
  traced = trace && *trace;
  owner = getpid();
  pthread_atfork(before_fork, after_fork, after_fork);
}

static void report(void) {
  size_t bytes = 0, shown = 0;
  for (size_t i = 0; i < room; i++) bytes += table[i].what ? table[i].size : 0;
  fprintf(stderr, "never freed: %zu blocks, %zu bytes%s\n", count, bytes,
          traced ? "" : " (HEAP_TRACE=1 says where they come from)");
  for (size_t i = 0; traced && i < room && shown < SHOWN; i++) {
    if (!table[i].what) continue;
    int frames = 0;
    while (table[i].frames && frames < FRAMES && table[i].frames[frames]) frames++;
    fprintf(stderr, "%zu bytes from (addr2line -f -e FILE ADDRESS):\n", table[i].size);
    backtrace_symbols_fd(table[i].frames, frames, STDERR_FILENO);
    shown++;
  }
}

/* Not in children that a test has forked. */
__attribute__((destructor)) static void end(void) {
  if (!count || getpid() != owner) return;
  report();
  fflush(NULL);
  _exit(LEAKED);
}

/* ---- settings of the sanitizers. Their leak checker stops all threads of a process and scans their memory,
 * and sometimes crashes if there are threads and libraries with thread-local variables. */

#define EXPORTED __attribute__((visibility("default")))
EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__ubsan_default_options(void);
const char *__asan_default_options(void) {
  return "detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1";
}
const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }
