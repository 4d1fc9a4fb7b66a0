/* A small cache of free blocks. */
#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include "runtime/memory/arena.h"

#include <sys/mman.h>

enum { SMALL_ALIGN = 64 };

bool rt_arenas_init(rt_arenas *a, const rt_block_source *source, void *user, int capacity) {
  *a = (rt_arenas){.source = source, .user = user, .capacity = capacity};
  return pthread_mutex_init(&a->lock, NULL) == 0;
}

static void release_block(const rt_arenas *a, rt_block *block) {
  if (block->base) a->source->release(a->user, block);
  *block = (rt_block){0};
}

/* Releases all kept blocks. False: there were none. */
static bool release_kept(rt_arenas *a) {
  bool any = false;
  pthread_mutex_lock(&a->lock);
  for (int i = 0; i < a->capacity; i++) {
    any |= a->kept[i].base != NULL;
    release_block(a, &a->kept[i]);
  }
  pthread_mutex_unlock(&a->lock);
  return any;
}

void rt_arenas_free(rt_arenas *a) {
  release_kept(a);
  pthread_mutex_destroy(&a->lock);
}

void rt_ask_huge_pages(void *base, size_t size) {
#if defined(MADV_HUGEPAGE)
  madvise(base, size & ~(size_t)(RT_HUGE_PAGE - 1), MADV_HUGEPAGE);
#else
  (void)base, (void)size;
#endif
}

/* Large blocks begin at a huge page and ask for such pages: the first access is six times faster, and there
 * are fewer TLB misses. */
static bool allocate_plain(void *mem, size_t size, rt_block *out) {
  size_t align = size >= 2 * (size_t)RT_HUGE_PAGE ? RT_HUGE_PAGE : SMALL_ALIGN;
  if (size > PTRDIFF_MAX - align) return false;
  void *raw = ir_alloc(mem, size + align);
  if (!raw) return false;
  uint8_t *base = (uint8_t *)(((uintptr_t)raw + align - 1) & ~(uintptr_t)(align - 1));
  if (align == RT_HUGE_PAGE) rt_ask_huge_pages(base, size);
  *out = (rt_block){.base = base, .size = size, .raw = raw, .raw_size = size + align};
  return true;
}

static void release_plain(void *mem, rt_block *block) { ir_free(mem, block->raw, block->raw_size); }

const rt_block_source rt_plain_blocks = {allocate_plain, release_plain};

/* A kept block is used if it is large enough, and at most twice as large as needed or no larger than a huge
 * page: otherwise a program that needs a large block would miss it. */
static bool fits_block(const rt_block *block, size_t size) {
  return block->base && block->size >= size && (block->size / 2 <= size || block->size <= RT_HUGE_PAGE);
}

bool rt_arena_acquire(rt_arenas *a, size_t size, rt_block *out) {
  int best = -1;
  pthread_mutex_lock(&a->lock);
  for (int i = 0; i < a->capacity; i++)
    if (fits_block(&a->kept[i], size) && (best < 0 || a->kept[i].size < a->kept[best].size)) best = i;
  if (best >= 0) {
    *out = a->kept[best];
    a->kept[best] = (rt_block){0};
  }
  pthread_mutex_unlock(&a->lock);
  if (best >= 0 || a->source->allocate(a->user, size, out)) return true;
  return release_kept(a) && a->source->allocate(a->user, size, out); /* they may be what is missing */
}

void rt_arena_release(rt_arenas *a, rt_block *block) {
  if (!block->base) return;
  pthread_mutex_lock(&a->lock);
  int smallest = 0;
  for (int i = 1; i < a->capacity; i++)
    if (a->kept[i].size < a->kept[smallest].size) smallest = i;
  if (a->capacity && block->size > a->kept[smallest].size) { /* an empty place has size 0 */
    rt_block swap = a->kept[smallest];
    a->kept[smallest] = *block;
    *block = swap;
  }
  pthread_mutex_unlock(&a->lock);
  release_block(a, block);
}
