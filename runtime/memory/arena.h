/* The folder runtime/memory. Memory for intermediates.
 *
 *   in      sizes, and when each is needed
 *   out     offsets in blocks, and the blocks
 *   holds   what is needed at the same time does not overlap */

/* Blocks of memory for intermediates, kept for the next program that needs one: touching fresh memory for the
 * first time costs ten times as much as using it again. What a block is the source decides: of a device it is
 * a buffer of the device's. */
#ifndef VIEWFOLD_RUNTIME_MEMORY_ARENA_H
#define VIEWFOLD_RUNTIME_MEMORY_ARENA_H

#include <pthread.h>

#include "ir/base.h"

enum { RT_ARENA_KEPT = 4, RT_ARENA_MOST = 32 };

typedef struct rt_block {
  uint8_t *base; /* address: a multiple of 64, or of 2 MiB when large; NULL: no block */
  size_t size;
  size_t boundary; /* what lies across its multiples is not in one piece; 0: everything is */
  void *raw;       /* as allocated */
  size_t raw_size;
} rt_block;

typedef struct rt_block_source {
  bool (*allocate)(void *user, size_t size, rt_block *out); /* false: memory is short */
  void (*release)(void *user, rt_block *block);
} rt_block_source;
extern const rt_block_source rt_plain_blocks; /* memory of an ir_mem, which is the user */

typedef struct rt_arenas {
  const rt_block_source *source;
  void *user;
  int places; /* blocks that are kept at most; 0: each is used once */
  pthread_mutex_t lock;
  rt_block kept[RT_ARENA_MOST];
} rt_arenas;

bool rt_arenas_init(rt_arenas *arenas, const rt_block_source *source, void *user, int places);
void rt_arenas_free(rt_arenas *arenas);

/* A block of at least `size` bytes, contents unspecified; false when memory is short, with no block kept. */
bool rt_arena_acquire(rt_arenas *arenas, size_t size, rt_block *out);
void rt_arena_release(rt_arenas *arenas, rt_block *block); /* *block becomes none */

#endif
