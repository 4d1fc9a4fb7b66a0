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

void rt_box_runs_begin(rt_box_runs *r, const ir_box *box, size_t bytes, const ir_box *from,
                       const ir_box *to) {
  int64_t each = (int64_t)bytes, run = each;
  r->box = box;
  r->bytes = 0;
  if (rt_box_is_empty(box)) return;
  r->from = place(box, from, r->in) * each;
  r->to = place(box, to, r->out) * each;
  r->outer = box->rank;
  while (r->outer > 0) {
    run *= size_of(box, --r->outer);
    if (size_of(box, r->outer) != size_of(from, r->outer) || size_of(box, r->outer) != size_of(to, r->outer))
      break;
  }
  for (uint32_t k = 0; k < r->outer; k++) r->in[k] *= each, r->out[k] *= each, r->at[k] = 0;
  r->bytes = (size_t)run;
}

bool rt_box_runs_next(rt_box_runs *r) {
  for (uint32_t k = r->outer; k-- > 0;) {
    int64_t size = size_of(r->box, k);
    r->from += r->in[k], r->to += r->out[k];
    if (++r->at[k] < size) return true;
    r->from -= size * r->in[k], r->to -= size * r->out[k];
    r->at[k] = 0;
  }
  return false;
}

void rt_box_copy(const ir_box *box, size_t bytes, const ir_box *from, const void *source, const ir_box *to,
                 void *target) {
  rt_box_runs r;
  rt_box_runs_begin(&r, box, bytes, from, to);
  for (bool more = r.bytes > 0; more; more = rt_box_runs_next(&r)) {
    const uint8_t *read = (const uint8_t *)source + r.from;
    uint8_t *write = (uint8_t *)target + r.to;
    if (write != read) memcpy(write, read, r.bytes); /* a part may lie in the whole */
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
