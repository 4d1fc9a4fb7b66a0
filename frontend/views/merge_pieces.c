/* Merging by pieces: the mask of the last view of a run is halved, until each part merges with every view
 * before it. The parts that are valid must fill a box, and agree on one affine function of the position.
 *
 * The halves are those of the axes along which a quotient is not affine, short axes first, so that how many
 * parts there are depends on how ragged the views are, not on how long. */
#include <string.h>

#include "impl.h"
#include "integer_solve.h"
#include "ir/arith.h"

enum { MOST_PIECES = 256, MOST_STEPS = 1024 };

typedef struct piece {
  pass_view_numbers view; /* over the whole shape; its mask is the piece */
  size_t level;           /* how many of the views it has yet to merge with */
} piece;

typedef struct pieces {
  const ir_mem *mem;
  piece *queue;
  pass_view_numbers *valid;
  size_t waiting, queue_cap, done, valid_cap;
  uint32_t told;               /* axes along which some valid piece is longer than one */
  int64_t stride[IR_MAX_RANK]; /* along these */
} pieces;

static bool push(pieces *p, const piece *next) {
  if (p->waiting == MOST_PIECES || !IR_RESERVE(p->mem, p->queue, p->queue_cap, p->waiting + 1)) return false;
  p->queue[p->waiting++] = *next;
  return true;
}

static bool halve(pieces *p, const piece *whole, uint32_t axes) {
  uint32_t axis = IR_MAX_RANK;
  const pass_view_numbers *v = &whole->view;
  for (uint32_t k = 0; k < v->rank; k++) {
    int64_t size = v->end[k] - v->begin[k];
    bool smaller = axis == IR_MAX_RANK || size < v->end[axis] - v->begin[axis];
    if (axes >> k & 1 && size > 1 && smaller) axis = k;
  }
  if (axis == IR_MAX_RANK) return false;
  int64_t middle = v->begin[axis] + (v->end[axis] - v->begin[axis]) / 2;
  piece low = *whole, high = *whole;
  low.view.end[axis] = high.view.begin[axis] = middle;
  return push(p, &low) && push(p, &high);
}

/* A piece that has merged with every view: no other may have other strides. */
static view_answer take(pieces *p, const pass_view_numbers *v) {
  for (uint32_t k = 0; k < v->rank; k++) {
    if (v->end[k] - v->begin[k] == 1) continue;
    if (p->told >> k & 1 && p->stride[k] != v->stride[k]) return VIEW_NO;
    p->told |= 1u << k;
    p->stride[k] = v->stride[k];
  }
  if (p->done == MOST_PIECES || !IR_RESERVE(p->mem, p->valid, p->valid_cap, p->done + 1)) return VIEW_UNKNOWN;
  p->valid[p->done++] = *v;
  return VIEW_YES;
}

/* YES: every piece is through; NO: they are not one view; UNKNOWN: too many, or numbers too large. */
static view_answer settle_all(pieces *p, const pass_view_numbers *views) {
  for (int steps = 0; p->waiting > 0; steps++) {
    piece now = p->queue[--p->waiting];
    pass_view_numbers merged;
    uint32_t split;
    int64_t worst;
    if (now.level == 0) {
      view_answer fits = take(p, &now.view);
      if (fits != VIEW_YES) return fits;
      continue;
    }
    if (steps == MOST_STEPS) return VIEW_UNKNOWN;
    switch (view_merge_core(&views[now.level - 1], &now.view, &merged, &split, &worst)) {
    case VIEW_ONE:
      if (!push(p, &(piece){merged, now.level - 1})) return VIEW_UNKNOWN;
      break;
    case VIEW_VOID: break;
    case VIEW_NOT_ONE:
      if (!halve(p, &now, split)) return VIEW_UNKNOWN;
      break;
    case VIEW_OUTSIDE:
    case VIEW_UNDECIDED: return VIEW_UNKNOWN;
    }
  }
  return VIEW_YES;
}

/* The box around all pieces, which they fill. */
static bool box_of(const pieces *p, pass_view_numbers *box) {
  int64_t filled = 0, whole = 1;
  *box = p->valid[0];
  for (uint32_t i = 0; i < p->done; i++) {
    const pass_view_numbers *v = &p->valid[i];
    int64_t volume = 1;
    for (uint32_t k = 0; k < v->rank; k++) {
      if (v->begin[k] < box->begin[k]) box->begin[k] = v->begin[k];
      if (v->end[k] > box->end[k]) box->end[k] = v->end[k];
      if (!ir_mul_ok(volume, v->end[k] - v->begin[k], &volume)) return false;
    }
    if (!ir_add_ok(filled, volume, &filled)) return false;
  }
  for (uint32_t k = 0; k < box->rank; k++)
    if (!ir_mul_ok(whole, box->end[k] - box->begin[k], &whole)) return false;
  return whole == filled;
}

static bool value_of(const pass_view_numbers *v, const int64_t *at, int64_t *out) {
  int64_t step;
  *out = v->offset;
  for (uint32_t k = 0; k < v->rank; k++)
    if (!ir_mul_ok(at[k], v->stride[k], &step) || !ir_add_ok(*out, step, out)) return false;
  return true;
}

/* What the piece around a position reads there. */
static bool value_at(const pieces *p, const int64_t *at, int64_t *out) {
  for (uint32_t i = 0; i < p->done; i++) {
    const pass_view_numbers *v = &p->valid[i];
    bool inside = true;
    for (uint32_t k = 0; k < v->rank; k++) inside &= v->begin[k] <= at[k] && at[k] < v->end[k];
    if (inside) return value_of(v, at, out);
  }
  return false;
}

/* The affine function that the corner of the box and its neighbours tell. */
static bool guess(const pieces *p, pass_view_numbers *box) {
  int64_t at[IR_MAX_RANK], corner, next, step;
  memcpy(at, box->begin, sizeof at);
  if (!value_at(p, at, &corner)) return false;
  box->offset = corner;
  for (uint32_t k = 0; k < box->rank; k++) {
    box->stride[k] = 0;
    if (box->end[k] - box->begin[k] == 1) continue;
    at[k]++;
    if (!value_at(p, at, &next) || !ir_sub_ok(next, corner, &box->stride[k]) ||
        !ir_mul_ok(box->stride[k], box->begin[k], &step) || !ir_sub_ok(box->offset, step, &box->offset))
      return false;
    at[k]--;
  }
  return true;
}

static bool agree(const pieces *p, const pass_view_numbers *box) {
  for (uint32_t i = 0; i < p->done; i++) {
    const pass_view_numbers *v = &p->valid[i];
    int64_t own, told;
    if (!value_of(v, v->begin, &own) || !value_of(box, v->begin, &told) || own != told) return false;
    for (uint32_t k = 0; k < v->rank; k++)
      if (v->end[k] - v->begin[k] > 1 && v->stride[k] != box->stride[k]) return false;
  }
  return true;
}

view_merged view_merge_pieces(const ir_mem *mem, const pass_view_numbers *views, size_t count,
                              pass_view_numbers *out) {
  pieces p = {.mem = mem};
  view_answer through = VIEW_UNKNOWN;
  if (push(&p, &(piece){views[count - 1], count - 1})) through = settle_all(&p, views);
  view_merged result = through == VIEW_UNKNOWN ? VIEW_UNDECIDED : VIEW_NOT_ONE;
  if (through == VIEW_YES && p.done == 0) result = VIEW_VOID;
  else if (through == VIEW_YES && box_of(&p, out) && guess(&p, out) && agree(&p, out)) result = VIEW_ONE;
  ir_free(mem, p.queue, p.queue_cap * sizeof *p.queue);
  ir_free(mem, p.valid, p.valid_cap * sizeof *p.valid);
  return result;
}
