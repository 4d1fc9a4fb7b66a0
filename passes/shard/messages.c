/* When pieces arrive that go together, or each by itself, over one link (ir/mesh/link.h): a message is in
 * flight as soon as all of it is known, whatever else is, and then passes the link when it is free. An
 * exchange in several rounds passes it as often, and others do in between. */
#include "messages.h"

#include <string.h>

enum { MOST_COSTS = 5000000 }; /* ps: two kernels and an exchange of few bytes took 2 to 5 us over MPI */

typedef struct way {
  uint64_t ready, end;
  shard_rounds rounds;
  uint32_t done; /* rounds */
} way;

typedef struct ways {
  way of[SHARD_CUTS + 1];
  uint64_t last; /* when all have arrived */
} ways;

void shard_sizes_of(const shard_cutting *c, int64_t elements, ir_ref *dims) {
  memcpy(dims, c->dims, c->to->rank * sizeof *dims);
  dims[c->d] = ir_index(c->s->g, elements);
}

/* When a message is known, and its rounds. */
static bool look_at(const shard_cutting *c, uint32_t message, way *out) {
  ir_ref dims[IR_MAX_RANK];
  int64_t elements = 0;
  *out = (way){0};
  for (uint32_t i = 0; i < c->count; i++) {
    const shard_piece *p = &c->pieces[i];
    if (p->message != message) continue;
    elements += p->hi - p->lo;
    if (p->ready > out->ready) out->ready = p->ready;
  }
  out->end = out->ready;
  shard_sizes_of(c, elements, dims);
  return shard_move_rounds(c->s, ir_dtype_of(c->s->g, c->x), dims, c->from, c->to, &out->rounds);
}

static uint64_t reaches_link(const way *w) { return w->end + w->rounds.flight[w->done]; }

/* Lets them go: whose next round reaches the link first passes it next. */
static void go(ways *w, uint32_t count) {
  uint64_t free = 0;
  w->last = 0;
  for (;;) {
    way *next = NULL;
    for (uint32_t m = 0; m < count; m++) {
      way *one = &w->of[m];
      if (one->done < one->rounds.count && (!next || reaches_link(one) < reaches_link(next))) next = one;
    }
    if (!next) return;
    if (reaches_link(next) > free) free = reaches_link(next);
    next->end = free += next->rounds.passes[next->done++];
    if (free > w->last) w->last = free;
  }
}

static bool find_arrivals(const shard_cutting *c, ways *out) {
  for (uint32_t m = 0; m < c->messages; m++)
    if (!look_at(c, m, &out->of[m])) return false;
  go(out, c->messages);
  return true;
}

/* A message starts as soon as it reaches a free link, with all that is known. */
static bool send_early(shard_cutting *c) {
  uint64_t start, free = 0;
  way w;
  for (uint32_t i = 0; i < c->count; i++) c->pieces[i].message = UINT32_MAX;
  for (c->messages = 0;; c->messages++) {
    start = UINT64_MAX;
    for (uint32_t i = 0; i < c->count; i++)
      if (c->pieces[i].message == UINT32_MAX && c->pieces[i].ready < start) start = c->pieces[i].ready;
    if (start == UINT64_MAX) return true;
    for (uint32_t i = 0; i < c->count; i++)
      if (c->pieces[i].message == UINT32_MAX && c->pieces[i].ready <= start)
        c->pieces[i].message = c->messages;
    if (!look_at(c, c->messages, &w)) return false;
    uint64_t flight = w.rounds.count ? w.rounds.flight[0] : 0;
    if (start + flight < free)
      for (uint32_t i = 0; i < c->count; i++)
        if (c->pieces[i].message == UINT32_MAX && c->pieces[i].ready + flight <= free)
          c->pieces[i].message = c->messages;
    if (!look_at(c, c->messages, &w)) return false;
    if (w.ready + flight > free) free = w.ready + flight;
    free += w.rounds.count ? w.rounds.passes[0] : 0;
  }
}

static void join_next(shard_cutting *c, uint32_t message) {
  for (uint32_t i = 0; i < c->count; i++)
    if (c->pieces[i].message > message) c->pieces[i].message--;
  c->messages--;
}

/* Two messages are one where that arrives no later than the second of them, and the last neither, but for
 * what a message costs. */
bool shard_choose_messages(shard_cutting *c, uint64_t *out) {
  ways now, then;
  if (!send_early(c) || !find_arrivals(c, &now)) return false;
  uint64_t first = now.last;
  for (uint32_t m = 0; m + 1 < c->messages;) {
    shard_cutting joined = *c;
    join_next(&joined, m);
    if (!find_arrivals(&joined, &then)) return false;
    uint64_t costs = then.of[m].rounds.time / SHARD_WORTH;
    if (costs > MOST_COSTS) costs = MOST_COSTS;
    bool joins = then.of[m].end <= now.of[m + 1].end + costs && then.last <= first + costs;
    if (!joins && !(m == 0 && c->messages > SHARD_MOST_MESSAGES)) {
      m++;
      continue;
    }
    *c = joined, now = then;
    m = 0;
  }
  *out = now.last;
  return true;
}
