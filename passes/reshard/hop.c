/* Hops of any sizes: device by device, over the coordinates of the digits that either layout divides by. */
#include <string.h>

#include "impl.h"

typedef struct interval {
  int64_t lo, hi;
} interval;

static interval chunk(int64_t size, int64_t parts, int64_t position) {
  int64_t c = ir_part_size(size, parts), lo = position * c;
  if (lo > size) lo = size;
  return (interval){lo, size - lo < c ? size : lo + c};
}

static int64_t length(interval i) { return i.hi > i.lo ? i.hi - i.lo : 0; }

static interval meet(interval a, interval b) {
  return (interval){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* What a device has of a dimension: its part, by mixed radix. */
static interval part(const reshard_problem *p, const reshard_layout *l, uint32_t dim, const uint32_t *at,
                     int64_t *parts) {
  int64_t position = 0;
  *parts = 1;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim]; i++) {
    int64_t k = p->digits[l->order[i]].size;
    position = position * k + at[l->order[i]], *parts *= k;
  }
  return chunk(p->shape[dim], *parts, position);
}

void reshard_each_device(const reshard_problem *p, uint32_t digits, reshard_visit *visit, void *user) {
  uint32_t at[RESHARD_DIGITS] = {0}, k;
  do {
    visit(user, at);
    for (k = 0; k < p->digit_count; k++) {
      if (!(digits >> k & 1)) continue;
      if (++at[k] < (uint32_t)p->digits[k].size) break;
      at[k] = 0;
    }
  } while (k < p->digit_count);
}

/* A hop as one device sees it. */
typedef struct view {
  uint64_t before, after, kept;                  /* elements */
  int64_t first[IR_MAX_RANK], last[IR_MAX_RANK]; /* of the old parts that the new one meets */
  uint64_t sources;                              /* product of their numbers */
} view;

static view look(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                 const uint32_t *at) {
  view v = {.before = 1, .after = 1, .kept = 1, .sources = 1};
  for (uint32_t d = 0; d < p->rank; d++) {
    int64_t old_parts, new_parts;
    interval have = part(p, from, d, at, &old_parts), need = part(p, to, d, at, &new_parts);
    int64_t c = ir_part_size(p->shape[d], old_parts);
    v.before *= (uint64_t)length(have), v.after *= (uint64_t)length(need);
    v.kept *= (uint64_t)length(meet(have, need));
    if (!length(need)) continue;
    v.first[d] = need.lo / c, v.last[d] = (need.hi - 1) / c;
    v.sources *= (uint64_t)(v.last[d] - v.first[d] + 1);
  }
  if (!v.after) v.sources = 0;
  return v;
}

static uint64_t summands_of(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if ((from->pending & ~to->pending) >> k & 1) n *= (uint64_t)p->digits[k].size;
  return n;
}

typedef struct sum {
  const reshard_problem *p;
  const reshard_layout *from, *to;
  uint64_t summands;
  pass_reshard_cost cost;
  bool at_least; /* messages are taken to differ along the fastest axis */
} sum;

/* The time of a device: for each of its messages, the axes along which the sender differs. */
typedef struct walk {
  const sum *s;
  const uint32_t *at;
  const view *v;
  uint32_t axes;
  uint64_t elements;
  double time;
} walk;

static void add_message(walk *w) {
  double latency = 0, per_byte = 0;
  const reshard_problem *p = w->s->p;
  for (uint32_t a = 0; a < IR_MESH_AXES; a++) {
    if (!(w->axes >> a & 1)) continue;
    if (p->latency[a] > latency) latency = p->latency[a];
    if (p->per_byte[a] > per_byte) per_byte = p->per_byte[a];
  }
  if (w->axes) w->time += latency + (double)(w->elements * p->item) * per_byte;
}

/* The senders' coordinates of digits that pend, from digit k on. */
static void each_summand(walk *w, uint32_t k) {
  const sum *s = w->s;
  uint32_t reduced = s->from->pending & ~s->to->pending, axes = w->axes;
  while (k < s->p->digit_count && !(reduced >> k & 1)) k++;
  if (k == s->p->digit_count) {
    add_message(w);
    return;
  }
  for (uint32_t i = 0; i < (uint32_t)s->p->digits[k].size; i++) {
    w->axes = axes | (i != w->at[k] ? 1u << s->p->digits[k].axis : 0);
    each_summand(w, k + 1);
  }
  w->axes = axes;
}

static void each_source(walk *w, uint32_t dim) {
  const reshard_problem *p = w->s->p;
  const reshard_layout *from = w->s->from;
  uint32_t axes = w->axes;
  uint64_t elements = w->elements;
  int64_t parts;
  if (dim == p->rank) {
    each_summand(w, 0);
    return;
  }
  for (int64_t source = w->v->first[dim]; source <= w->v->last[dim]; source++) {
    int64_t position = source;
    interval need = part(p, w->s->to, dim, w->at, &parts);
    w->axes = axes;
    parts = 1;
    for (uint32_t i = from->ends[dim]; i > reshard_first(from, dim); i--) {
      uint32_t digit = from->order[i - 1];
      int64_t k = p->digits[digit].size;
      if (position % k != w->at[digit]) w->axes |= 1u << p->digits[digit].axis;
      position /= k, parts *= k;
    }
    w->elements = elements * (uint64_t)length(meet(need, chunk(p->shape[dim], parts, source)));
    each_source(w, dim + 1);
  }
  w->axes = axes, w->elements = elements;
}

static uint64_t time_of(const sum *s, const view *v, uint64_t messages, uint64_t recv, const uint32_t *at) {
  if (!messages) return 0;
  if (s->p->uniform || s->at_least)
    return (uint64_t)((double)messages * s->p->least_latency + (double)recv * s->p->least_per_byte);
  walk w = {.s = s, .at = at, .v = v, .elements = 1};
  each_source(&w, 0);
  return (uint64_t)w.time;
}

static void most(uint64_t *out, uint64_t value) {
  if (value > *out) *out = value;
}

static void add_device(void *user, const uint32_t *at) {
  sum *s = user;
  view v = look(s->p, s->from, s->to, at);
  uint64_t item = s->p->item, recv = (s->summands * v.after - v.kept) * item;
  uint64_t messages = s->summands * v.sources - (v.kept > 0);
  uint64_t stack = s->summands > 1 ? s->summands * v.after * item : 0;
  uint64_t larger = v.before > v.after ? v.before : v.after;
  most(&s->cost.recv, recv);
  most(&s->cost.messages, messages);
  most(&s->cost.peak, s->summands > 1 ? stack + larger * item : (v.before + v.after) * item);
  most(&s->cost.time, time_of(s, &v, messages, recv, at));
  s->cost.total += recv;
}

static uint64_t devices_of(const reshard_problem *p, uint32_t digits) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if (digits >> k & 1) n *= (uint64_t)p->digits[k].size;
  return n;
}

static uint32_t digits_of(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to) {
  return reshard_used(from, p->rank) | reshard_used(to, p->rank) | (from->pending & ~to->pending);
}

static void sum_devices(sum *s, pass_reshard_cost *out) {
  uint32_t digits = digits_of(s->p, s->from, s->to);
  s->summands = summands_of(s->p, s->from, s->to);
  reshard_each_device(s->p, digits, add_device, s);
  *out = s->cost;
  out->total *= s->p->devices / devices_of(s->p, digits);
}

void reshard_hop(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                 pass_reshard_cost *out) {
  sum s = {.p = p, .from = from, .to = to};
  if (!reshard_hop_evenly(p, from, to, out)) sum_devices(&s, out);
}

void reshard_hop_at_least(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          pass_reshard_cost *out) {
  sum s = {.p = p, .from = from, .to = to, .at_least = true};
  if (!reshard_hop_evenly(p, from, to, out)) sum_devices(&s, out);
}

uint64_t reshard_hop_work(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          const pass_reshard_cost *cost) {
  pass_reshard_cost even;
  if (reshard_hop_evenly(p, from, to, &even)) return 1;
  return devices_of(p, digits_of(p, from, to)) * (p->uniform ? 1 : 1 + cost->messages);
}

/* ---- all_reduce of flat chunks: P of them, of c = ceil(n / P) of the n elements of a part */

static uint64_t flat_received(uint64_t n, uint64_t summands, uint64_t position) {
  uint64_t c = n / summands + (n % summands != 0), lo = position * c;
  uint64_t mine = lo >= n ? 0 : n - lo < c ? n - lo : c;
  return (summands - 1) * mine + (n - mine);
}

static void add_flat(void *user, const uint32_t *at) {
  sum *s = user;
  uint64_t n = look(s->p, s->from, s->from, at).before, item = s->p->item;
  uint64_t c = n / s->summands + (n % s->summands != 0), chunks = n ? (n + c - 1) / c : 0;
  uint64_t recv = flat_received(n, s->summands, 0), messages = chunks ? s->summands - 1 + chunks - 1 : 0;
  double time = 0;
  uint32_t reduced = s->from->pending & ~s->to->pending, axes = 0;
  for (uint32_t k = 0; k < s->p->digit_count; k++)
    if (reduced >> k & 1) axes |= 1u << s->p->digits[k].axis;
  for (uint32_t a = 0; a < IR_MESH_AXES; a++)
    if (axes >> a & 1) {
      double t = (double)messages * s->p->latency[a] + (double)(recv * item) * s->p->per_byte[a];
      if (t > time) time = t;
    }
  most(&s->cost.recv, recv * item);
  most(&s->cost.messages, messages);
  most(&s->cost.peak, (n + s->summands * c) * item);
  most(&s->cost.time, (uint64_t)time);
  s->cost.total += 2 * n * (s->summands - 1) * item;
}

void reshard_flat(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                  pass_reshard_cost *out) {
  pass_reshard_cost even;
  bool alike = reshard_hop_evenly(p, from, from, &even); /* all devices have parts of one size */
  uint32_t digits = alike ? 0 : reshard_used(from, p->rank);
  sum s = {.p = p, .from = from, .to = to, .summands = summands_of(p, from, to)};
  reshard_each_device(p, digits, add_flat, &s);
  *out = s.cost;
  out->total *= p->devices / devices_of(p, digits) / s.summands;
}

uint64_t reshard_received(const reshard_problem *p, const reshard_layout *from, const reshard_layout *to,
                          bool flat, const uint32_t *at) {
  view v = look(p, from, to, at);
  uint64_t summands = summands_of(p, from, to), position = 0;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if ((from->pending & ~to->pending) >> k & 1) position = position * (uint64_t)p->digits[k].size + at[k];
  return p->item * (flat ? flat_received(v.before, summands, position) : summands * v.after - v.kept);
}

uint64_t reshard_part(const reshard_problem *p, const reshard_layout *layout, const uint32_t *at) {
  return look(p, layout, layout, at).before * p->item;
}
