/* Bytes of each device in all steps. The search adds up what each step brings to the device that gets most in
 * it, and that may be another one in each step: where parts are uneven, and sums are finished in one step and
 * spread in the next, ways that are dearer step by step can be cheaper for each device. So for few devices
 * all ways are searched again, with the bytes of each device. */
#include <string.h>

#include "impl.h"

enum {
  DEVICES = 16,          /* that differ */
  MOST_LABELS = 1 << 13, /* tens of milliseconds; beyond, the way stays as it is */
  NONE = -1              /* no label */
};

typedef struct label { /* a way to a layout that no other way to it is better than for all devices */
  reshard_layout at;
  uint64_t received[DEVICES], total, effort;
  int parent;
  uint32_t depth;
  bool flat;
} label;

typedef struct labels {
  const reshard_problem *p;
  label *list;
  size_t count, cap;
  reshard_heap heap;
  uint64_t below; /* bytes of the device that receives most, of the way that is there */
  uint32_t current, devices;
  bool failed;
} labels;

typedef struct received { /* bytes of each device by a step, or of the one that gets most by all of a path */
  const reshard_problem *p;
  const reshard_path *path;
  const reshard_layout *from, *to;
  bool flat, pending;
  uint64_t *out, most;
  uint32_t count;
} received;

static uint32_t all_digits(const reshard_problem *p) {
  return (uint32_t)(((uint64_t)1 << p->digit_count) - 1);
}

static void add_step(void *user, const uint32_t *at) {
  received *r = user;
  r->out[r->count++] += reshard_received(r->p, r->from, r->to, r->flat, at);
}

/* What a device still has to receive: all of its part, where sums are not finished. */
static void add_rest(void *user, const uint32_t *at) {
  received *r = user;
  r->out[r->count++] +=
      r->pending ? reshard_part(r->p, r->to, at) : reshard_received(r->p, r->from, r->to, false, at);
}

static void add_path(void *user, const uint32_t *at) {
  received *r = user;
  uint64_t sum = 0;
  for (uint32_t i = 1; i < r->path->count; i++)
    sum += reshard_received(r->p, &r->path->at[i - 1], &r->path->at[i], r->path->flat[i], at);
  if (sum > r->most) r->most = sum;
}

uint64_t reshard_path_received(const reshard_problem *p, const reshard_path *path) {
  received r = {.p = p, .path = path};
  uint32_t used = 0;
  uint64_t devices = 1, sum = 0;
  for (uint32_t i = 0; i < path->count; i++)
    used |= path->at[i].pending | reshard_used(&path->at[i], p->rank);
  for (uint32_t k = 0; k < p->digit_count; k++)
    if (used >> k & 1) devices *= (uint64_t)p->digits[k].size;
  bool alike = true; /* all devices receive the same */
  for (uint32_t i = 1; i < path->count; i++) {
    pass_reshard_cost cost;
    reshard_path_cost(p, path, i, &cost);
    sum += cost.recv;
    alike &= cost.total == cost.recv * p->devices;
  }
  if (path->count <= 2 || alike || devices > RESHARD_COUNTED) return sum;
  reshard_each_device(p, used, add_path, &r);
  return r.most;
}

/* Is there a way to the layout that is no worse for any device? */
static bool is_worse(const labels *s, const label *l) {
  for (size_t i = 0; i < s->count; i++) {
    const label *other = &s->list[i];
    if (!reshard_equal(&other->at, &l->at) || other->total > l->total) continue;
    uint32_t d = 0;
    while (d < s->devices && other->received[d] <= l->received[d]) d++;
    if (d == s->devices) return true;
  }
  return false;
}

static bool add_label(labels *s, const label *l) {
  reshard_rank rank = {.total = l->total, .effort = l->effort};
  uint64_t whole[DEVICES];
  memcpy(whole, l->received, sizeof whole);
  received r = {.p = s->p, .from = &l->at, .to = &s->p->to, .pending = l->at.pending != 0, .out = whole};
  reshard_each_device(s->p, all_digits(s->p), add_rest, &r);
  for (uint32_t d = 0; d < s->devices; d++)
    if (whole[d] > rank.cost) rank.cost = whole[d];
  if (rank.cost >= s->below || is_worse(s, l)) return true;
  if (!IR_RESERVE(s->p->mem, s->list, s->cap, s->count + 1) ||
      !reshard_heap_push(s->p->mem, &s->heap, rank, (uint32_t)s->count)) {
    s->failed = true;
    return false;
  }
  s->list[s->count++] = *l;
  return s->count < MOST_LABELS;
}

static bool step(void *user, const reshard_layout *to, bool flat) {
  labels *s = user;
  label from = s->list[s->current], l = from;
  pass_reshard_cost cost;
  (flat ? reshard_flat : reshard_hop)(s->p, &from.at, to, &cost);
  if (s->p->limit && cost.peak > s->p->limit) return true;
  l.at = *to, l.parent = (int)s->current, l.depth++, l.flat = flat;
  l.total += cost.total, l.effort += reshard_effort(s->p, to);
  received r = {.p = s->p, .from = &from.at, .to = to, .flat = flat, .out = l.received};
  reshard_each_device(s->p, all_digits(s->p), add_step, &r);
  return add_label(s, &l);
}

/* The label of the best way; NONE: none is better than the one that is there. */
static int search(labels *s) {
  label start = {.at = s->p->from, .parent = NONE};
  if (!add_label(s, &start)) return NONE;
  while (s->heap.count && !s->failed && s->count < MOST_LABELS) {
    s->current = reshard_heap_pop(&s->heap);
    reshard_layout at = s->list[s->current].at;
    if (reshard_equal(&at, &s->p->to)) return (int)s->current;
    if (s->list[s->current].depth < PASS_RESHARD_STEPS) reshard_neighbours(s->p, &at, step, s);
  }
  return NONE;
}

ir_status reshard_even_out(const reshard_problem *p, reshard_path *path, ir_error *error) {
  labels s = {.p = p, .devices = 1};
  pass_reshard_cost bound;
  reshard_bound(p, &p->from, &bound);
  for (uint32_t k = 0; k < p->digit_count && s.devices <= DEVICES; k++)
    s.devices *= (uint32_t)p->digits[k].size;
  if (p->mode != PASS_RESHARD_BYTES || s.devices > DEVICES) return IR_OK;
  s.below = reshard_path_received(p, path);
  if (s.below <= bound.recv) return IR_OK;
  int found = search(&s);
  if (found != NONE) {
    path->count = s.list[found].depth + 1;
    for (uint32_t i = path->count; i--; found = s.list[found].parent)
      path->at[i] = s.list[found].at, path->flat[i] = s.list[found].flat;
  }
  ir_free(p->mem, s.list, s.cap * sizeof *s.list);
  ir_free(p->mem, s.heap.items, s.heap.cap * sizeof *s.heap.items);
  return s.failed ? ir_fail(error, IR_ERR_MEMORY, "reshard: out of memory") : IR_OK;
}
