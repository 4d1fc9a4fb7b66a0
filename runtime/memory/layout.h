/* Lays out the arena of intermediates: buffers with disjoint live ranges may share bytes. */
#ifndef VIEWFOLD_RUNTIME_MEMORY_LAYOUT_H
#define VIEWFOLD_RUNTIME_MEMORY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_LAYOUT_ALIGN 64

/* A buffer of `bytes` with its live range, from launch `first` to launch `last`, both included. */
typedef struct rt_span {
  size_t bytes;
  uint32_t first, last;
  size_t offset;  /* out: a multiple of RT_LAYOUT_ALIGN */
  uint32_t order; /* scratch */
} rt_span;

/* Place every span so that no two with intersecting live ranges overlap: the largest first, each in the
 * smallest gap that holds it. boundary (a multiple of RT_LAYOUT_ALIGN, or 0 for none): no span crosses a
 * multiple of it, except spans larger than boundary, which begin at one. Deterministic. *total receives the
 * size of the arena; false when it exceeds PTRDIFF_MAX. */
bool rt_layout(rt_span *spans, size_t count, size_t boundary, size_t *total);

#endif
