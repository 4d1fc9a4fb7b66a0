/* The folder runtime/memory. Memory for intermediates.
 *
 *   in      sizes, and the first and last launch that uses each buffer
 *   out     offsets in blocks, and the blocks
 *   holds   buffers that are live at the same time do not overlap */

/* Blocks of memory for intermediates, which are kept for the next program that needs one: the first access to
 * fresh memory costs ten times as much as using memory again. The source of blocks decides what a block is;
 * on a device it is a buffer of the device. */
#ifndef VIEWFOLD_RUNTIME_MEMORY_ARENA_H
#define VIEWFOLD_RUNTIME_MEMORY_ARENA_H

#include <pthread.h>

#include "ir/base.h"

enum { RT_ARENA_KEPT = 4, RT_ARENA_MOST = 32, RT_HUGE_PAGE = 2 << 20 };

/* Asks for huge pages, where the system has them on request, for memory from a multiple of RT_HUGE_PAGE on.
 */
void rt_ask_huge_pages(void *base, size_t size);

typedef struct rt_block {
  uint8_t *base; /* address, on the host a multiple of 64, or of 2 MiB when large; NULL: no block */
  size_t size;
  size_t boundary; /* a range across a multiple of this is not contiguous memory; 0: every range is */
  void *raw;       /* as allocated */
  size_t raw_size;
} rt_block;

typedef struct rt_block_source {
  bool (*allocate)(void *user, size_t size, rt_block *out); /* false: memory is short */
  void (*release)(void *user, rt_block *block);
} rt_block_source;
extern const rt_block_source rt_plain_blocks; /* host memory; the user is an ir_mem */

typedef struct rt_arenas {
  const rt_block_source *source;
  void *user;
  int capacity; /* how many blocks are kept at most; 0: none */
  pthread_mutex_t lock;
  rt_block kept[RT_ARENA_MOST];
} rt_arenas;

/* No block is kept at first. `user` is passed to the source; both must outlive the arenas. capacity: 0 to
 * RT_ARENA_MOST. False when the system has no lock; there is then nothing to free. */
bool rt_arenas_init(rt_arenas *arenas, const rt_block_source *source, void *user, int capacity);
/* Releases the kept blocks. Every acquired block must have been released before. */
void rt_arenas_free(rt_arenas *arenas);

/* Acquires a block of at least `size` bytes, with any contents. False when memory is short; then no block is
 * kept any more. */
bool rt_arena_acquire(rt_arenas *arenas, size_t size, rt_block *out);
void rt_arena_release(rt_arenas *arenas, rt_block *block); /* clears *block */

#endif
