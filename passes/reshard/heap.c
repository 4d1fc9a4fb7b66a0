/* A binary heap of ways that are not finished. */
#include "impl.h"

bool reshard_heap_push(const ir_mem *mem, reshard_heap *h, reshard_rank rank, uint32_t node) {
  if (!IR_RESERVE(mem, h->items, h->cap, h->count + 1)) return false;
  size_t i = h->count++;
  for (; i && reshard_compare(&rank, &h->items[(i - 1) / 2].rank) < 0; i = (i - 1) / 2)
    h->items[i] = h->items[(i - 1) / 2];
  h->items[i] = (reshard_queued){rank, node};
  return true;
}

uint32_t reshard_heap_pop(reshard_heap *h) {
  uint32_t top = h->items[0].node;
  reshard_queued last = h->items[--h->count];
  size_t i = 0, child;
  while ((child = 2 * i + 1) < h->count) {
    if (child + 1 < h->count && reshard_compare(&h->items[child + 1].rank, &h->items[child].rank) < 0)
      child++;
    if (reshard_compare(&last.rank, &h->items[child].rank) <= 0) break;
    h->items[i] = h->items[child], i = child;
  }
  h->items[i] = last;
  return top;
}
