/* Greedy best fit by size, which is known to come within a few percent of optimal on neural networks
 * (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). O(n^2) for n spans.
 * The `order` fields of the spans hold two consecutive lists of span numbers: the spans already placed, by
 * offset, then the others, by size. */
#include "runtime/memory/layout.h"

static size_t align_size(size_t bytes) {
  return (bytes + RT_LAYOUT_ALIGN - 1) & ~(size_t)(RT_LAYOUT_ALIGN - 1);
}

/* Is a placed before b? Larger first; ties by number, so that equal plans have equal layouts. */
static bool before(const rt_span *spans, uint32_t a, uint32_t b) {
  return spans[a].bytes != spans[b].bytes ? spans[a].bytes > spans[b].bytes : a < b;
}

/* Heap sort of the order fields: it allocates nothing, and no input is slow. */
static void sift_down(rt_span *spans, size_t root, size_t count) {
  for (size_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && before(spans, spans[child].order, spans[child + 1].order)) child++;
    if (!before(spans, spans[root].order, spans[child].order)) return;
    uint32_t swap = spans[root].order;
    spans[root].order = spans[child].order;
    spans[child].order = swap;
  }
}

static void sort_by_size(rt_span *spans, size_t count) {
  for (size_t i = 0; i < count; i++) spans[i].order = (uint32_t)i;
  for (size_t i = count / 2; i-- > 0;) sift_down(spans, i, count);
  for (size_t n = count; n-- > 1;) {
    uint32_t swap = spans[0].order;
    spans[0].order = spans[n].order;
    spans[n].order = swap;
    sift_down(spans, 0, n);
  }
}

static bool live_at_once(const rt_span *a, const rt_span *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* The least offset from `at` on where a span of this size does not cross a multiple of boundary, or begins at
 * one. */
static size_t within_boundary(size_t at, size_t bytes, size_t boundary) {
  if (!boundary || at % boundary == 0 || at % boundary + bytes <= boundary) return at;
  return at + boundary - at % boundary;
}

/* The offset for span s: in the smallest gap that holds it among the placed spans that are live at the same
 * time (order[0..placed), by offset), or behind them all if there is none. */
static size_t best_gap(const rt_span *spans, size_t placed, const rt_span *s, size_t boundary) {
  size_t top = 0, best = SIZE_MAX, best_size = SIZE_MAX;
  for (size_t i = 0; i < placed; i++) {
    const rt_span *other = &spans[spans[i].order];
    if (!live_at_once(s, other)) continue;
    size_t at = within_boundary(top, s->bytes, boundary);
    if (other->offset > at && other->offset - at >= s->bytes && other->offset - top < best_size) {
      best = at;
      best_size = other->offset - top;
    }
    size_t end = other->offset + align_size(other->bytes);
    if (end > top) top = end;
  }
  return best != SIZE_MAX ? best : within_boundary(top, s->bytes, boundary);
}

/* Inserts a span into order[0..placed), which is sorted by offset. */
static void insert_by_offset(rt_span *spans, size_t placed, uint32_t number) {
  size_t i = placed;
  for (; i > 0 && spans[spans[i - 1].order].offset > spans[number].offset; i--)
    spans[i].order = spans[i - 1].order;
  spans[i].order = number;
}

bool rt_layout(rt_span *spans, size_t count, size_t boundary, size_t *total) {
  const size_t most = (size_t)PTRDIFF_MAX - RT_LAYOUT_ALIGN;
  size_t sum = 0;
  for (size_t i = 0; i < count; i++) { /* bounds all sums below, which cannot overflow then */
    spans[i].offset = 0;
    if (boundary > most - sum || spans[i].bytes > most - sum - boundary) return false;
    sum += align_size(spans[i].bytes) + boundary;
  }
  sort_by_size(spans, count);
  *total = 0;
  for (size_t placed = 0; placed < count; placed++) {
    uint32_t number = spans[placed].order;
    rt_span *s = &spans[number];
    s->offset = s->bytes ? best_gap(spans, placed, s, boundary) : 0;
    size_t end = s->offset + align_size(s->bytes);
    if (end > *total) *total = end;
    insert_by_offset(spans, placed, number);
  }
  return true;
}
