#include "runtime/mesh/box.h"

#include <string.h>

bool rt_box_is_empty(const rt_box *b) {
  for (uint32_t k = 0; k < b->rank; k++)
    if (b->size[k] <= 0) return true;
  return false;
}

int64_t rt_box_count(const rt_box *b) {
  int64_t count = 1;
  if (rt_box_is_empty(b)) return 0;
  for (uint32_t k = 0; k < b->rank; k++)
    if (__builtin_mul_overflow(count, b->size[k], &count)) return INT64_MAX;
  return count;
}

static int64_t end_of(const rt_box *b, uint32_t k) { return b->first[k] + b->size[k]; }

bool rt_box_meet(const rt_box *a, const rt_box *b, rt_box *out) {
  out->rank = a->rank;
  for (uint32_t k = 0; k < a->rank; k++) {
    int64_t first = a->first[k] > b->first[k] ? a->first[k] : b->first[k];
    int64_t end = end_of(a, k) < end_of(b, k) ? end_of(a, k) : end_of(b, k);
    if (first >= end) return false;
    out->first[k] = first;
    out->size[k] = end - first;
  }
  return true;
}

/* Cuts off, axis by axis, what lies before and behind the intersection. What is left after the last axis is
 * the intersection. */
uint32_t rt_box_subtract(const rt_box *a, const rt_box *b, rt_box out[2 * IR_MAX_RANK]) {
  rt_box meet, left = *a;
  uint32_t count = 0;
  if (rt_box_is_empty(a)) return 0;
  if (!rt_box_meet(a, b, &meet)) return out[0] = *a, 1;
  for (uint32_t k = 0; k < a->rank; k++) {
    int64_t before = meet.first[k] - left.first[k], behind = end_of(&left, k) - end_of(&meet, k);
    if (before > 0) {
      out[count] = left;
      out[count++].size[k] = before;
    }
    if (behind > 0) {
      out[count] = left;
      out[count].first[k] = end_of(&meet, k);
      out[count++].size[k] = behind;
    }
    left.first[k] = meet.first[k];
    left.size[k] = meet.size[k];
  }
  return count;
}

/* The offset of the box's first element in an array of the elements of `of`, in elements, and its strides. */
static int64_t place(const rt_box *box, const rt_box *of, int64_t *stride) {
  int64_t offset = 0, step = 1;
  for (uint32_t k = of->rank; k-- > 0; step *= of->size[k]) {
    stride[k] = step;
    offset += (box->first[k] - of->first[k]) * step;
  }
  return offset;
}

void rt_box_copy(const rt_box *box, size_t bytes, const rt_box *from, const void *source, const rt_box *to,
                 void *target) {
  int64_t in[IR_MAX_RANK], out[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, run = 1;
  if (rt_box_is_empty(box)) return;
  const uint8_t *read = (const uint8_t *)source + (size_t)place(box, from, in) * bytes;
  uint8_t *write = (uint8_t *)target + (size_t)place(box, to, out) * bytes;
  uint32_t outer =
      box->rank; /* the axes inside of it are one run: whole in both arrays, but for its outermost */
  while (outer > 0) {
    run *= box->size[--outer];
    if (box->size[outer] != from->size[outer] || box->size[outer] != to->size[outer]) break;
  }
  for (bool more = true; more;) {
    memcpy(write, read, (size_t)run * bytes);
    more = false;
    for (uint32_t k = outer; k-- > 0 && !more;) {
      more = ++at[k] < box->size[k];
      read += in[k] * (int64_t)bytes, write += out[k] * (int64_t)bytes;
      if (more) break;
      read -= box->size[k] * in[k] * (int64_t)bytes, write -= box->size[k] * out[k] * (int64_t)bytes;
      at[k] = 0;
    }
  }
}
