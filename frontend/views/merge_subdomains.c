/* Merging over sub-domains: the mask of the last view of a run is halved until each sub-domain merges with
 * every view before it. The valid sub-domains must fill a box, and agree on one affine function of the index.
 *
 * A sub-domain is halved along the shortest axis along which a quotient is not affine, so that the number of
 * sub-domains depends on how irregular the views are, not on their sizes. */
#include <string.h>

#include "impl.h"
#include "integer_solve.h"
#include "ir/arith.h"

enum { MOST_SUBDOMAINS = 256, MOST_STEPS = 1024 };

typedef struct subdomain {
  pass_view_numbers view; /* over the whole shape; its mask is the sub-domain */
  size_t level;           /* number of views with which it has yet to merge */
} subdomain;

typedef struct subdomains {
  const ir_mem *mem;
  subdomain *queue;
  pass_view_numbers *valid;
  size_t waiting, queue_cap, done, valid_cap;
  uint32_t known_axes;         /* set of axes along which some valid sub-domain has more than one index */
  int64_t stride[IR_MAX_RANK]; /* along these */
} subdomains;

static bool push_subdomain(subdomains *p, const subdomain *next) {
  if (p->waiting == MOST_SUBDOMAINS || !IR_RESERVE(p->mem, p->queue, p->queue_cap, p->waiting + 1))
    return false;
  p->queue[p->waiting++] = *next;
  return true;
}

static bool halve_subdomain(subdomains *p, const subdomain *whole, uint32_t axes) {
  uint32_t axis = IR_MAX_RANK;
  const pass_view_numbers *v = &whole->view;
  for (uint32_t k = 0; k < v->rank; k++) {
    int64_t size = v->end[k] - v->begin[k];
    bool smaller = axis == IR_MAX_RANK || size < v->end[axis] - v->begin[axis];
    if (axes >> k & 1 && size > 1 && smaller) axis = k;
  }
  if (axis == IR_MAX_RANK) return false;
  int64_t middle = v->begin[axis] + (v->end[axis] - v->begin[axis]) / 2;
  subdomain low = *whole, high = *whole;
  low.view.end[axis] = high.view.begin[axis] = middle;
  return push_subdomain(p, &low) && push_subdomain(p, &high);
}

/* Add a sub-domain that has merged with every view. NO: its strides are not those of the others. */
static view_answer accept_merged(subdomains *p, const pass_view_numbers *v) {
  for (uint32_t k = 0; k < v->rank; k++) {
    if (v->end[k] - v->begin[k] == 1) continue;
    if (p->known_axes >> k & 1 && p->stride[k] != v->stride[k]) return VIEW_NO;
    p->known_axes |= 1u << k;
    p->stride[k] = v->stride[k];
  }
  if (p->done == MOST_SUBDOMAINS || !IR_RESERVE(p->mem, p->valid, p->valid_cap, p->done + 1))
    return VIEW_UNKNOWN;
  p->valid[p->done++] = *v;
  return VIEW_YES;
}

/* YES: all sub-domains have merged; NO: they are not one view; UNKNOWN: too many, or numbers too large. */
static view_answer merge_all(subdomains *p, const pass_view_numbers *views) {
  for (int steps = 0; p->waiting > 0; steps++) {
    subdomain now = p->queue[--p->waiting];
    pass_view_numbers merged;
    uint32_t split;
    int64_t worst;
    if (now.level == 0) {
      view_answer fits = accept_merged(p, &now.view);
      if (fits != VIEW_YES) return fits;
      continue;
    }
    if (steps == MOST_STEPS) return VIEW_UNKNOWN;
    switch (view_merge_core(&views[now.level - 1], &now.view, &merged, &split, &worst)) {
    case VIEW_ONE:
      if (!push_subdomain(p, &(subdomain){merged, now.level - 1})) return VIEW_UNKNOWN;
      break;
    case VIEW_VOID: break;
    case VIEW_NOT_ONE:
      if (!halve_subdomain(p, &now, split)) return VIEW_UNKNOWN;
      break;
    case VIEW_OUTSIDE:
    case VIEW_UNDECIDED: return VIEW_UNKNOWN;
    }
  }
  return VIEW_YES;
}

/* The least box around all sub-domains. False: they do not fill it. */
static bool box_of(const subdomains *p, pass_view_numbers *box) {
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

/* The element that the sub-domain around an index reads there. False: it is in none. */
static bool value_at(const subdomains *p, const int64_t *at, int64_t *out) {
  for (uint32_t i = 0; i < p->done; i++) {
    const pass_view_numbers *v = &p->valid[i];
    bool inside = true;
    for (uint32_t k = 0; k < v->rank; k++) inside &= v->begin[k] <= at[k] && at[k] < v->end[k];
    if (inside) return value_of(v, at, out);
  }
  return false;
}

/* Set offset and strides of the box from the values at its first index and at its successor along each
 * axis. */
static bool fit_affine(const subdomains *p, pass_view_numbers *box) {
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

static bool agrees_on_box(const subdomains *p, const pass_view_numbers *box) {
  for (uint32_t i = 0; i < p->done; i++) {
    const pass_view_numbers *v = &p->valid[i];
    int64_t value, expected;
    if (!value_of(v, v->begin, &value) || !value_of(box, v->begin, &expected) || value != expected)
      return false;
    for (uint32_t k = 0; k < v->rank; k++)
      if (v->end[k] - v->begin[k] > 1 && v->stride[k] != box->stride[k]) return false;
  }
  return true;
}

view_merged view_merge_subdomains(const ir_mem *mem, const pass_view_numbers *views, size_t count,
                                  pass_view_numbers *out) {
  subdomains p = {.mem = mem};
  view_answer through = VIEW_UNKNOWN;
  if (push_subdomain(&p, &(subdomain){views[count - 1], count - 1})) through = merge_all(&p, views);
  view_merged result = through == VIEW_UNKNOWN ? VIEW_UNDECIDED : VIEW_NOT_ONE;
  if (through == VIEW_YES && p.done == 0) result = VIEW_VOID;
  else if (through == VIEW_YES && box_of(&p, out) && fit_affine(&p, out) && agrees_on_box(&p, out))
    result = VIEW_ONE;
  ir_free(mem, p.queue, p.queue_cap * sizeof *p.queue);
  ir_free(mem, p.valid, p.valid_cap * sizeof *p.valid);
  return result;
}
