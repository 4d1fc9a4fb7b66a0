/* Hops of any sizes: device by device, over the coordinates of the digits that either layout divides by. */
#include <string.h>

#include "extent.h"

enum { MOST_ENTRIES = 1024 /* 32 KiB of stack; most hops of 4096 devices along three axes have fewer */ };

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
  const reshard_view *v;
  uint32_t axes;
  uint64_t elements;
  reshard_clock clock;
} walk;

static void add_message(walk *w) {
  if (w->axes) reshard_clock_add(&w->clock, w->axes, 1, w->elements * w->s->p->item);
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
  if (dim == p->rank) {
    each_summand(w, 0);
    return;
  }
  for (int64_t source = w->v->first[dim]; source <= w->v->last[dim]; source++) {
    int64_t position = source;
    reshard_interval need = reshard_part_along(p, w->s->to, dim, w->at);
    reshard_interval have = reshard_part_at(p, from, dim, source);
    w->axes = axes;
    if (have.lo == have.hi) continue;
    for (uint32_t i = from->ends[dim]; i > reshard_first(from, dim); i--) {
      uint32_t digit = from->order[i - 1];
      int64_t k = p->digits[digit].size;
      if (position % k != w->at[digit]) w->axes |= 1u << p->digits[digit].axis;
      position /= k;
    }
    w->elements = elements * (uint64_t)reshard_length(reshard_meet(need, have));
    each_source(w, dim + 1);
  }
  w->axes = axes, w->elements = elements;
}

static uint64_t time_of(const sum *s, const reshard_view *v, uint64_t messages, uint64_t recv,
                        const uint32_t *at) {
  if (!messages) return 0;
  if (s->p->uniform || s->at_least) return (uint64_t)reshard_least_time(s->p, messages, recv);
  walk w = {.s = s, .at = at, .v = v, .elements = 1, .clock.p = s->p};
  each_source(&w, 0);
  return (uint64_t)reshard_clock_end(&w.clock);
}

static void most(uint64_t *out, uint64_t value) {
  if (value > *out) *out = value;
}

static void count_device(sum *s, const reshard_extent *e, const reshard_view *v, const uint32_t *at) {
  uint64_t item = s->p->item, recv = (s->summands * e->after - e->kept) * item;
  uint64_t messages = s->summands * e->sources - (e->kept > 0);
  uint64_t stack = s->summands > 1 ? s->summands * e->after * item : 0;
  uint64_t larger = e->before > e->after ? e->before : e->after;
  most(&s->cost.recv, recv);
  most(&s->cost.messages, messages);
  most(&s->cost.peak, s->summands > 1 ? stack + larger * item : (e->before + e->after) * item);
  most(&s->cost.time, time_of(s, v, messages, recv, at));
  s->cost.total += recv;
}

static void add_device(void *user, const uint32_t *at) {
  sum *s = user;
  reshard_view v = reshard_look(s->p, s->from, s->to, at);
  count_device(s, &v.all, &v, at);
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

/* Digits that divide a dimension, before or after. */
static uint32_t digits_along(const reshard_layout *l, uint32_t dim) {
  uint32_t digits = 0;
  for (uint32_t i = reshard_first(l, dim); i < l->ends[dim]; i++) digits |= 1u << l->order[i];
  return digits;
}

/* What devices have along each dimension, by their coordinates of the digits that divide it: a few numbers
 * for many devices. */
typedef struct tables {
  const sum *s;
  reshard_extent entries[MOST_ENTRIES];
  uint32_t count, at[IR_MAX_RANK]; /* at: the entry of the device, of a dimension that is divided */
  uint32_t step[IR_MAX_RANK][RESHARD_DIGITS];
  uint32_t dim_count;
  reshard_extent same; /* of all other dimensions together */
} tables;

typedef struct filling {
  tables *t;
  uint32_t dim;
} filling;
static void add_entry(void *user, const uint32_t *at) {
  filling *f = user;
  int64_t first, last;
  f->t->entries[f->t->count++] =
      reshard_look_along(f->t->s->p, f->t->s->from, f->t->s->to, f->dim, at, &first, &last);
}

/* False: they have too many entries. */
static bool fill_tables(tables *t) {
  const reshard_problem *p = t->s->p;
  for (uint32_t d = 0; d < p->rank; d++) {
    uint32_t digits = digits_along(t->s->from, d) | digits_along(t->s->to, d), step = 1;
    if (!digits) {
      reshard_extent whole = {(uint64_t)p->shape[d], (uint64_t)p->shape[d], (uint64_t)p->shape[d],
                              p->shape[d] > 0};
      reshard_multiply(&t->same, &whole);
      continue;
    }
    if (t->count + devices_of(p, digits) > MOST_ENTRIES) return false;
    uint32_t n = t->dim_count++;
    t->at[n] = t->count;
    for (uint32_t k = 0; k < p->digit_count; k++) {
      t->step[n][k] = digits >> k & 1 ? step : 0;
      if (digits >> k & 1) step *= (uint32_t)p->digits[k].size;
    }
    reshard_each_device(p, digits, add_entry, &(filling){t, d});
  }
  return true;
}

/* The same as by add_device, where the time depends on the number of messages alone. */
static bool sum_tables(sum *s, uint32_t used) {
  const reshard_problem *p = s->p;
  tables t;
  t.s = s, t.count = t.dim_count = 0, t.same = (reshard_extent){1, 1, 1, 1};
  if (!(p->uniform || s->at_least) || !fill_tables(&t)) return false;
  uint32_t at[RESHARD_DIGITS] = {0}, k;
  do {
    reshard_extent e = t.same;
    for (uint32_t n = 0; n < t.dim_count; n++) reshard_multiply(&e, &t.entries[t.at[n]]);
    count_device(s, &e, NULL, at);
    for (k = 0; k < p->digit_count; k++) {
      if (!(used >> k & 1)) continue;
      uint32_t back = (uint32_t)p->digits[k].size - 1;
      bool more = at[k] < back;
      for (uint32_t n = 0; n < t.dim_count; n++) t.at[n] += more ? t.step[n][k] : -back * t.step[n][k];
      at[k] = more ? at[k] + 1 : 0;
      if (more) break;
    }
  } while (k < p->digit_count);
  return true;
}

static void sum_devices(sum *s, pass_reshard_cost *out) {
  uint32_t used = reshard_used(s->from, s->p->rank) | reshard_used(s->to, s->p->rank);
  uint32_t digits = digits_of(s->p, s->from, s->to);
  s->summands = summands_of(s->p, s->from, s->to);
  if (sum_tables(s, used)) digits = used; /* all devices along the others receive alike */
  else reshard_each_device(s->p, digits, add_device, s);
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
  uint64_t n = reshard_look(s->p, s->from, s->from, at).all.before, item = s->p->item;
  uint64_t c = n / s->summands + (n % s->summands != 0), chunks = n ? (n + c - 1) / c : 0;
  uint64_t recv = flat_received(n, s->summands, 0), messages = chunks ? s->summands - 1 + chunks - 1 : 0;
  double rounds = (chunks > 0) + (chunks > 1);
  double time = 0;
  uint32_t reduced = s->from->pending & ~s->to->pending, axes = 0;
  for (uint32_t k = 0; k < s->p->digit_count; k++)
    if (reduced >> k & 1) axes |= 1u << s->p->digits[k].axis;
  for (uint32_t a = 0; a < IR_MESH_AXES; a++)
    if (axes >> a & 1) {
      const ir_link *l = &s->p->links[a];
      double t = rounds * l->flight + (double)messages * l->work + (double)(recv * item) * l->byte;
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
  reshard_view v = reshard_look(p, from, to, at);
  uint64_t summands = summands_of(p, from, to), position = 0;
  for (uint32_t k = 0; k < p->digit_count; k++)
    if ((from->pending & ~to->pending) >> k & 1) position = position * (uint64_t)p->digits[k].size + at[k];
  return p->item *
         (flat ? flat_received(v.all.before, summands, position) : summands * v.all.after - v.all.kept);
}

uint64_t reshard_part(const reshard_problem *p, const reshard_layout *layout, const uint32_t *at) {
  return reshard_look(p, layout, layout, at).all.before * p->item;
}
