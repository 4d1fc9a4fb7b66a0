/* An allocator for contexts of tests: counts live bytes, and fails at a chosen allocation, or from that one
 * on. Thread-safe. */
#ifndef VIEWFOLD_TEST_MEMORY_H
#define VIEWFOLD_TEST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct test_memory {
  atomic_long allocations; /* requested so far */
  long fail_at;            /* number of the allocation that fails, from 1; 0: none */
  bool fail_after;         /* all later ones fail, too */
  atomic_size_t live;      /* bytes */
  atomic_size_t peak;      /* most live bytes */
  atomic_int wrong_sizes;  /* frees and resizes with a wrong old size */
} test_memory;

void *test_memory_hook(void *user, void *ptr, size_t old_size, size_t new_size);
/* A context with this allocator, without a cache on disk; NULL where there is none. */
struct vf_context *test_memory_context(test_memory *memory);

/* An allocator that fails for good after `left` requests. Thread-safe. */
typedef struct test_budget {
  atomic_long left, live; /* live: bytes */
} test_budget;
void *test_budget_hook(void *user, void *ptr, size_t old_size, size_t new_size);

#endif
