/* Where intermediates lie: one arena, in which buffers that are never needed at the same time share bytes. */
#ifndef VIEWFOLD_RUNTIME_MEMORY_LAYOUT_H
#define VIEWFOLD_RUNTIME_MEMORY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_LAYOUT_ALIGN 64

/* A buffer of `bytes`, needed from launch `first` to launch `last`, both included. */
typedef struct rt_span {
  size_t bytes;
  uint32_t first, last;
  size_t offset;  /* out: a multiple of RT_LAYOUT_ALIGN */
  uint32_t order; /* scratch */
} rt_span;

/* Place every span so that no two needed at one time overlap, the largest first, each in the tightest gap
 * that is left for it. part: where that is not 0, the arena is cut at its multiples, it being one of
 * RT_LAYOUT_ALIGN, and no span lies across a cut but those that are larger than a part, which begin at one.
 * Deterministic. *total receives the size of the arena; false when it exceeds PTRDIFF_MAX. */
bool rt_layout(rt_span *spans, size_t count, size_t boundary, size_t *total);

#endif
