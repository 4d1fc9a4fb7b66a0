/* Memory of large packets, kept for the next of the same size: else the system gives each new pages, which it
 * clears, and takes them back. */
#ifndef VIEWFOLD_RUNTIME_MPI_KEPT_H
#define VIEWFOLD_RUNTIME_MPI_KEPT_H

#include <pthread.h>

#include "ir/base.h"

enum {
  KEPT_BLOCKS = 4,        /* one to be sent and one that arrives, of two exchanges */
  KEPT_LEAST = 128 << 10, /* smaller ones stay in the heap */
  KEPT_MOST = 64 << 20    /* bytes of a block: a process keeps 256 MiB at most */
};

typedef struct kept_memory {
  ir_mem mem; /* what gives packets */
  const ir_mem *under;
  pthread_mutex_t lock;
  struct {
    void *data;
    size_t size;
  } blocks[KEPT_BLOCKS];
  uint32_t next; /* whose place the next block takes, if there is none */
} kept_memory;

/* A block of so many bytes that was kept; NULL: there is none. */
static void *kept_take(kept_memory *k, size_t size) {
  void *found = NULL;
  pthread_mutex_lock(&k->lock);
  for (int i = 0; i < KEPT_BLOCKS && !found; i++)
    if (k->blocks[i].data && k->blocks[i].size == size) found = k->blocks[i].data, k->blocks[i].data = NULL;
  pthread_mutex_unlock(&k->lock);
  return found;
}

/* Keeps a block, in place of another where there is no room. */
static void kept_put(kept_memory *k, void *data, size_t size) {
  pthread_mutex_lock(&k->lock);
  uint32_t at = 0;
  while (at < KEPT_BLOCKS && k->blocks[at].data) at++;
  if (at == KEPT_BLOCKS) at = k->next++ % KEPT_BLOCKS;
  void *old = k->blocks[at].data;
  size_t old_size = k->blocks[at].size;
  k->blocks[at].data = data;
  k->blocks[at].size = size;
  pthread_mutex_unlock(&k->lock);
  if (old) k->under->fn(k->under->user, old, old_size, 0);
}

/* The function of an ir_mem. */
static void *kept_change(void *user, void *data, size_t old_size, size_t new_size) {
  kept_memory *k = (kept_memory *)user;
  if (!data && new_size >= KEPT_LEAST && new_size <= KEPT_MOST) data = kept_take(k, new_size);
  else if (data && !new_size && old_size >= KEPT_LEAST && old_size <= KEPT_MOST)
    return kept_put(k, data, old_size), NULL;
  else return k->under->fn(k->under->user, data, old_size, new_size);
  return data ? data : k->under->fn(k->under->user, NULL, 0, new_size);
}

/* k->mem gives memory of `under`, and nothing is kept so far. */
static void kept_begin(kept_memory *k, const ir_mem *under) {
  *k = (kept_memory){.mem = {.fn = kept_change, .user = k}, .under = under};
  pthread_mutex_init(&k->lock, NULL);
}

/* Gives back what is kept. Blocks that are in use may be freed by `under` only. */
static void kept_end(kept_memory *k) {
  for (int i = 0; i < KEPT_BLOCKS; i++)
    if (k->blocks[i].data) k->under->fn(k->under->user, k->blocks[i].data, k->blocks[i].size, 0);
  pthread_mutex_destroy(&k->lock);
}

#endif
