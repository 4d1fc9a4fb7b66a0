/* Single views: canonical form and movement. */
#include "view.h"

#include <string.h>

#include "ir/arith.h"

static bool is_empty(const pass_view *v) {
  for (uint32_t i = 0; i < v->rank; i++)
    if (v->shape[i] == 0) return true;
  return false;
}

static bool plain_strides(uint32_t rank, const int64_t *shape, int64_t *out) {
  int64_t step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    out[i] = shape[i] == 1 ? 0 : step;
    if (!ir_mul_ok(step, shape[i] ? shape[i] : 1, &step)) return false;
  }
  return true;
}

static void drop_mask(pass_view *v) {
  v->masked = false;
  memset(v->begin, 0, sizeof v->begin);
  memcpy(v->end, v->shape, sizeof v->end);
}

static void mask_everything(pass_view *v) {
  v->masked = true;
  v->offset = 0;
  memset(v->stride, 0, sizeof v->stride);
  memset(v->begin, 0, sizeof v->begin);
  memset(v->end, 0, sizeof v->end);
}

/* *v += position * stride */
static bool move_offset(pass_view *v, int64_t position, int64_t stride) {
  int64_t distance;
  return ir_mul_ok(position, stride, &distance) && ir_add_ok(v->offset, distance, &v->offset);
}

static pass_view_status canonical(pass_view *v) {
  if (is_empty(v)) {
    v->offset = 0;
    memset(v->stride, 0, sizeof v->stride);
    drop_mask(v);
    return PASS_VIEW_DONE;
  }
  bool nothing = false;
  v->masked = false;
  for (uint32_t i = 0; i < v->rank; i++) {
    v->masked |= v->begin[i] != 0 || v->end[i] != v->shape[i];
    nothing |= v->begin[i] >= v->end[i];
    if (v->shape[i] == 1) v->stride[i] = 0;
  }
  if (nothing) {
    mask_everything(v);
    return PASS_VIEW_DONE;
  }
  for (uint32_t i = 0; i < v->rank; i++) {
    if (v->end[i] - v->begin[i] != 1) continue;
    if (!move_offset(v, v->begin[i], v->stride[i])) return PASS_VIEW_TOO_LARGE;
    v->stride[i] = 0;
  }
  return PASS_VIEW_DONE;
}

pass_view_status pass_view_create(uint32_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                                  const int64_t *begin, const int64_t *end, pass_view *out) {
  pass_view v = {.rank = rank, .offset = offset};
  memcpy(v.shape, shape, rank * sizeof *shape);
  if (strides) memcpy(v.stride, strides, rank * sizeof *strides);
  else if (!plain_strides(rank, shape, v.stride)) return PASS_VIEW_TOO_LARGE;
  drop_mask(&v);
  if (begin) memcpy(v.begin, begin, rank * sizeof *begin);
  if (end) memcpy(v.end, end, rank * sizeof *end);
  *out = v;
  return canonical(out);
}

static pass_view_status fresh(uint32_t rank, const int64_t *shape, pass_view *out) {
  return pass_view_create(rank, shape, NULL, 0, NULL, NULL, out);
}

bool pass_view_contiguous(const pass_view *v) {
  int64_t plain[IR_MAX_RANK];
  if (is_empty(v)) return true;
  return v->offset == 0 && !v->masked && plain_strides(v->rank, v->shape, plain) &&
         memcmp(plain, v->stride, v->rank * sizeof *plain) == 0;
}

bool pass_view_equal(const pass_view *a, const pass_view *b) {
  size_t bytes = a->rank * sizeof *a->shape;
  return a->rank == b->rank && a->masked == b->masked && a->offset == b->offset &&
         !memcmp(a->shape, b->shape, bytes) && !memcmp(a->stride, b->stride, bytes) &&
         !memcmp(a->begin, b->begin, bytes) && !memcmp(a->end, b->end, bytes);
}

pass_view_status pass_view_permute(const pass_view *v, const uint32_t *order, pass_view *out) {
  pass_view from = *v;
  *out = from;
  for (uint32_t i = 0; i < from.rank; i++) {
    out->shape[i] = from.shape[order[i]];
    out->stride[i] = from.stride[order[i]];
    out->begin[i] = from.begin[order[i]];
    out->end[i] = from.end[order[i]];
  }
  return PASS_VIEW_DONE;
}

pass_view_status pass_view_expand(const pass_view *v, const int64_t *shape, pass_view *out) {
  *out = *v;
  for (uint32_t i = 0; i < out->rank; i++) {
    if (out->shape[i] == shape[i]) continue;
    out->end[i] = out->end[i] == 1 ? shape[i] : 0; /* the one element, or none of its copies */
    out->shape[i] = shape[i];
  }
  return canonical(out);
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

pass_view_status pass_view_shrink(const pass_view *v, const int64_t *begin, const int64_t *end,
                                  pass_view *out) {
  *out = *v;
  for (uint32_t i = 0; i < out->rank; i++) {
    out->shape[i] = end[i] - begin[i];
    out->begin[i] = clamp(v->begin[i] - begin[i], 0, out->shape[i]);
    out->end[i] = clamp(v->end[i] - begin[i], 0, out->shape[i]);
    if (!move_offset(out, begin[i], out->stride[i])) return PASS_VIEW_TOO_LARGE;
  }
  return canonical(out);
}

pass_view_status pass_view_pad(const pass_view *v, const int64_t *lo, const int64_t *hi, pass_view *out) {
  bool changes = false;
  *out = *v;
  if (is_empty(v)) drop_mask(out); /* what follows masks everything */
  for (uint32_t i = 0; i < out->rank; i++) {
    changes |= lo[i] != 0 || hi[i] != 0;
    if (!ir_add_ok(out->shape[i], lo[i], &out->shape[i]) || !ir_add_ok(out->shape[i], hi[i], &out->shape[i]))
      return PASS_VIEW_TOO_LARGE;
    out->begin[i] += lo[i];
    out->end[i] += lo[i];
    if (!move_offset(out, -lo[i], out->stride[i])) return PASS_VIEW_TOO_LARGE;
  }
  return changes ? canonical(out) : PASS_VIEW_DONE;
}

/* the least k with k*step >= x, for step >= 1 */
static int64_t first_step(int64_t x, int64_t step) { return -ir_floor_div(-x, step); }

pass_view_status pass_view_stride(const pass_view *v, const int64_t *steps, pass_view *out) {
  *out = *v;
  for (uint32_t i = 0; i < out->rank; i++) {
    int64_t size = out->shape[i], step = steps[i] < 0 ? -steps[i] : steps[i], begin = out->begin[i],
            end = out->end[i];
    if (steps[i] < 0) {
      if (size && !move_offset(out, size - 1, out->stride[i])) return PASS_VIEW_TOO_LARGE;
      int64_t mirrored = size - end;
      end = size - begin;
      begin = mirrored;
    }
    out->shape[i] = first_step(size, step);
    out->begin[i] = first_step(begin, step);
    out->end[i] = first_step(end, step);
    if (out->shape[i] > 1 && !ir_mul_ok(out->stride[i], steps[i], &out->stride[i]))
      return PASS_VIEW_TOO_LARGE;
  }
  return canonical(out);
}

/* reshape */

/* Neighbouring axes that are walked as one: `size` positions, `stride` apart; only the last `real` of them
 * differ. */
typedef struct block {
  int64_t size, stride, real;
} block;

/* From the left: an axis joins the block when one step of the block is all of the axis, or when the block has
 * a single position to offer. */
static uint32_t blocks_of(const pass_view *v, block *out) {
  uint32_t count = 0;
  bool single = false;
  for (uint32_t i = 0; i < v->rank; i++) {
    int64_t size = v->shape[i], stride = v->stride[i], whole;
    block *last = count ? &out[count - 1] : NULL;
    if (last && size == 1) continue;
    bool joins = last && (single || (ir_mul_ok(size, stride, &whole) && whole == last->stride));
    if (joins) {
      *last = (block){last->size * size, stride, single ? size : last->real * size};
    } else {
      bool repeats = count == 0 && stride == 0; /* one position after the other, all the same */
      out[count++] = (block){size, stride, repeats ? 0 : size};
    }
    single = v->masked ? v->end[i] - v->begin[i] == 1 : size == 1;
  }
  return count;
}

/* Strides of the new axes: each block is cut into them from the right. */
static pass_view_status cut_blocks(const pass_view *v, pass_view *to) {
  block blocks[IR_MAX_RANK];
  uint32_t k = to->rank;
  for (uint32_t b = blocks_of(v, blocks); b-- > 0;) {
    int64_t done = 1;
    while (done < blocks[b].size) {
      if (k == 0) return PASS_VIEW_NONE;
      int64_t size = to->shape[--k];
      to->stride[k] = 0;
      if (done == 1 || done < blocks[b].real)
        if (!ir_mul_ok(blocks[b].stride, done, &to->stride[k])) return PASS_VIEW_TOO_LARGE;
      if (!ir_mul_ok(done, size, &done)) return PASS_VIEW_NONE;
    }
    if (done != blocks[b].size) return PASS_VIEW_NONE;
  }
  while (k > 0) to->stride[--k] = 0;
  return PASS_VIEW_DONE;
}

typedef struct axis_mask {
  int64_t size, begin, end;
} axis_mask;

/* The old axis to the left of *left; beyond the first one, an axis of size 1. */
static axis_mask next_axis(const pass_view *v, uint32_t *left) {
  if (*left == 0) return (axis_mask){1, 0, 1};
  uint32_t i = --*left;
  return (axis_mask){v->shape[i], v->begin[i], v->end[i]};
}

/* The masks of the new axes, from the right: old axes are split into new ones or combined until the sizes
 * agree. */
static pass_view_status cut_mask(const pass_view *v, pass_view *to) {
  uint32_t left = v->rank, k = to->rank;
  axis_mask old = next_axis(v, &left);
  int64_t unit = 1; /* of the old axis, what the new axes so far have used */
  while (k > 0) {
    int64_t chunk;
    if (!ir_mul_ok(to->shape[k - 1], unit, &chunk)) return PASS_VIEW_NONE;
    if (chunk == old.size) {
      k--;
      to->begin[k] = old.begin / unit;
      to->end[k] = (old.end - 1) / unit + 1;
      unit = 1;
      old = next_axis(v, &left);
    } else if (chunk < old.size) {
      bool within_one = old.begin / chunk == (old.end - 1) / chunk;
      if (old.size % chunk || (!within_one && (old.begin % chunk || old.end % chunk))) return PASS_VIEW_NONE;
      k--;
      to->begin[k] = old.begin % chunk / unit;
      to->end[k] = (old.end - 1) % chunk / unit + 1;
      unit = chunk;
    } else {
      axis_mask outer = next_axis(v, &left);
      bool whole = old.begin == 0 && old.end == old.size;
      if (!whole && outer.end - outer.begin != 1) return PASS_VIEW_NONE;
      old = (axis_mask){outer.size * old.size, outer.begin * old.size + old.begin,
                        (outer.end - 1) * old.size + old.end};
    }
  }
  return PASS_VIEW_DONE; /* what is left of the old axes has size 1, and the mask is not empty */
}

static bool same_shape(const pass_view *v, uint32_t rank, const int64_t *shape) {
  return v->rank == rank && memcmp(v->shape, shape, rank * sizeof *shape) == 0;
}

pass_view_status pass_view_reshape(const pass_view *v, uint32_t rank, const int64_t *shape, pass_view *out) {
  pass_view from = *v;
  if (same_shape(v, rank, shape)) {
    *out = from;
    return PASS_VIEW_DONE;
  }
  if (is_empty(v) || pass_view_contiguous(v)) return fresh(rank, shape, out);
  pass_view to = {.rank = rank, .offset = from.offset};
  memcpy(to.shape, shape, rank * sizeof *shape);
  if (from.masked && from.end[0] == 0) {  /* nothing is valid */
    if (rank == 0) return PASS_VIEW_NONE; /* a view without axes has no mask to say so */
    mask_everything(&to);
    *out = to;
    return PASS_VIEW_DONE;
  }
  drop_mask(&to);
  pass_view_status status = cut_blocks(&from, &to);
  if (status == PASS_VIEW_DONE && from.masked) status = cut_mask(&from, &to);
  if (status != PASS_VIEW_DONE) return status;
  for (uint32_t i = 0; i < from.rank; i++)
    if (!move_offset(&to, from.begin[i], from.stride[i])) return PASS_VIEW_TOO_LARGE;
  for (uint32_t i = 0; i < rank; i++)
    if (!move_offset(&to, -to.begin[i], to.stride[i])) return PASS_VIEW_TOO_LARGE;
  *out = to;
  return canonical(out);
}

/* printing */

static void print_tuple(const int64_t *items, uint32_t count, ir_text *out) {
  ir_text_str(out, "(");
  for (uint32_t i = 0; i < count; i++) ir_textf(out, "%s%lld", i ? "," : "", (long long)items[i]);
  ir_text_str(out, count == 1 ? ",)" : ")");
}

void pass_view_print(const pass_view *v, ir_text *out) {
  ir_text_str(out, "V(");
  print_tuple(v->shape, v->rank, out);
  ir_text_str(out, ";");
  print_tuple(v->stride, v->rank, out);
  ir_textf(out, ";%lld", (long long)v->offset);
  if (v->masked) {
    ir_text_str(out, ";(");
    for (uint32_t i = 0; i < v->rank; i++)
      ir_textf(out, "%s(%lld,%lld)", i ? "," : "", (long long)v->begin[i], (long long)v->end[i]);
    ir_text_str(out, v->rank == 1 ? ",)" : ")");
  }
  ir_text_str(out, ")");
}
