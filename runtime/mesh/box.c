#include "runtime/mesh/box.h"

#include <string.h>

bool rt_box_is_empty(const ir_box *b) {
  for (uint32_t k = 0; k < b->rank; k++)
    if (b->lo[k] >= b->hi[k]) return true;
  return false;
}

/* Cuts off, axis by axis, what lies before and behind the intersection. What is left after the last axis is
 * the intersection. */
uint32_t rt_box_subtract(const ir_box *a, const ir_box *b, ir_box out[2 * IR_MAX_RANK]) {
  ir_box meet, left = *a;
  uint32_t count = 0;
  if (rt_box_is_empty(a)) return 0;
  if (!ir_box_meet(a, b, &meet)) return out[0] = *a, 1;
  for (uint32_t k = 0; k < a->rank; k++) {
    if (left.lo[k] < meet.lo[k]) {
      out[count] = left;
      out[count++].hi[k] = meet.lo[k];
    }
    if (meet.hi[k] < left.hi[k]) {
      out[count] = left;
      out[count++].lo[k] = meet.hi[k];
    }
    left.lo[k] = meet.lo[k], left.hi[k] = meet.hi[k];
  }
  return count;
}

static int64_t size_of(const ir_box *b, uint32_t k) { return b->hi[k] - b->lo[k]; }

/* The offset of the box's first element in an array of the elements of `of`, in elements; and its strides. */
static int64_t place(const ir_box *box, const ir_box *of, int64_t *stride) {
  int64_t offset = 0, step = 1;
  for (uint32_t k = of->rank; k-- > 0; step *= size_of(of, k)) {
    stride[k] = step;
    offset += (box->lo[k] - of->lo[k]) * step;
  }
  return offset;
}

void rt_box_copy(const ir_box *box, size_t bytes, const ir_box *from, const void *source, const ir_box *to,
                 void *target) {
  int64_t in[IR_MAX_RANK], out[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, run = 1, each = (int64_t)bytes;
  if (rt_box_is_empty(box)) return;
  const uint8_t *read = (const uint8_t *)source + place(box, from, in) * each;
  uint8_t *write = (uint8_t *)target + place(box, to, out) * each;
  uint32_t outer = box->rank; /* of the axes from here on, the elements follow one another in both arrays */
  while (outer > 0) {
    run *= size_of(box, --outer);
    if (size_of(box, outer) != size_of(from, outer) || size_of(box, outer) != size_of(to, outer)) break;
  }
  for (bool more = true; more;) {
    if (write != read) memcpy(write, read, (size_t)(run * each)); /* a part may lie in the whole */
    more = false;
    for (uint32_t k = outer; k-- > 0 && !more;) {
      read += in[k] * each, write += out[k] * each;
      if ((more = ++at[k] < size_of(box, k))) break;
      read -= size_of(box, k) * in[k] * each, write -= size_of(box, k) * out[k] * each;
      at[k] = 0;
    }
  }
}

int64_t rt_box_offset(const ir_box *whole, const ir_box *box) {
  int64_t offset = 0;
  bool inside = false; /* an axis before this one has more than one index */
  for (uint32_t k = 0; k < box->rank; k++) {
    int64_t size = box->hi[k] - box->lo[k];
    if (inside && size != whole->hi[k]) return -1;
    inside |= size > 1;
    offset = offset * whole->hi[k] + box->lo[k];
  }
  return offset;
}
