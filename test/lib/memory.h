/* An allocator for contexts of tests: counts live bytes, and fails at a chosen allocation, or from there on.
 * Thread-safe. */
#ifndef VIEWFOLD_TEST_MEMORY_H
#define VIEWFOLD_TEST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct test_memory {
  atomic_long allocations; /* asked for so far */
  long fail_at;            /* the number, from 1, of the one that fails; 0: none */
  bool fail_after;         /* each after that one fails, too */
  atomic_size_t live;      /* bytes */
  atomic_size_t peak;      /* most live bytes */
  atomic_int wrong_sizes;  /* frees and resizes that told a false old size */
} test_memory;

void *test_memory_hook(void *user, void *ptr, size_t old_size, size_t new_size);

#endif
