/* The counting allocator: the size of a block is stored in front of it. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/viewfold.h"

enum { HEAD = 16 };

static void note_peak(test_memory *m) {
  size_t live = atomic_load(&m->live), peak = atomic_load(&m->peak);
  while (live > peak && !atomic_compare_exchange_weak(&m->peak, &peak, live)) {}
}

void *test_memory_hook(void *user, void *ptr, size_t old_size, size_t new_size) {
  test_memory *m = user;
  char *block = ptr ? (char *)ptr - HEAD : NULL;
  size_t true_size = 0;
  if (block) memcpy(&true_size, block, sizeof true_size);
  if (true_size != old_size) atomic_fetch_add(&m->wrong_sizes, 1);
  if (new_size == 0) {
    atomic_fetch_sub(&m->live, true_size);
    free(block);
    return NULL;
  }
  long number = atomic_fetch_add(&m->allocations, 1) + 1;
  if (number == m->fail_at || (m->fail_after && m->fail_at && number > m->fail_at)) return NULL;
  char *moved = realloc(block, new_size + HEAD);
  if (!moved) return NULL;
  memcpy(moved, &new_size, sizeof new_size);
  atomic_fetch_add(&m->live, new_size - true_size);
  note_peak(m);
  return moved + HEAD;
}

void *test_budget_hook(void *user, void *ptr, size_t old_size, size_t new_size) {
  test_budget *b = user;
  if (new_size && atomic_fetch_sub(&b->left, 1) <= 0) return NULL;
  void *moved = new_size ? realloc(ptr, new_size) : NULL;
  if (!new_size) free(ptr);
  if (moved || !new_size) atomic_fetch_add(&b->live, (long)new_size - (long)old_size);
  return moved;
}

vf_context *test_memory_context(test_memory *memory) {
  vf_options options = {
      .size = sizeof options, .allocator = test_memory_hook, .allocator_user = memory, .flags = VF_NO_DISK};
  return vf_context_create(&options, NULL);
}
