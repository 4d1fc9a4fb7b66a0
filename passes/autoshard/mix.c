/* Between two assignments, of which one fits the memory: variables in which they differ fall into groups that
 * have nothing to do with each other, as the states of different layers. Each group may be as in the one or
 * as in the other, and what that costs and saves adds up. So those that save a byte for the least time change
 * first, until what there is fits. */
#include "impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct group {
  double cost, saved;
  uint32_t label;
} group;

typedef struct mixing {
  const choice_problem *p;
  const uint32_t *from, *to;
  uint32_t *now;
  uint32_t *label; /* by variable: one of its group, which may be labelled itself */
  group *groups;
  size_t count;
  uint32_t *rank; /* by variable, of those that differ: when it changes */
} mixing;

static bool differs(const mixing *s, uint32_t v) { return s->from[v] != s->to[v]; }

static uint32_t label_of(mixing *s, uint32_t v) {
  while (s->label[v] != v) v = s->label[v] = s->label[s->label[v]];
  return v;
}

static double pair_cost(const mixing *s, const choice_pair *pair, const uint32_t *a, const uint32_t *b) {
  return pair->cost[(size_t)a[pair->a] * s->p->counts[pair->b] + b[pair->b]];
}

static void find_groups(mixing *s, const double *saved) {
  const choice_problem *p = s->p;
  for (uint32_t v = 0; v < p->count; v++) s->label[v] = v;
  for (size_t e = 0; e < p->pair_count; e++) {
    uint32_t a = p->pairs[e].a, b = p->pairs[e].b;
    if (differs(s, a) && differs(s, b)) s->label[label_of(s, a)] = label_of(s, b);
  }
  for (uint32_t v = 0; v < p->count; v++) {
    if (!differs(s, v) || label_of(s, v) != v) continue;
    s->rank[v] = (uint32_t)s->count;
    s->groups[s->count++] = (group){.label = v};
  }
  for (uint32_t v = 0; v < p->count; v++) {
    if (!differs(s, v)) continue;
    group *g = &s->groups[s->rank[label_of(s, v)]];
    g->cost += p->cost[v][s->to[v]] - p->cost[v][s->from[v]], g->saved += saved[v];
  }
  for (size_t e = 0; e < p->pair_count; e++) {
    const choice_pair *pair = &p->pairs[e];
    uint32_t v = differs(s, pair->a) ? pair->a : pair->b;
    if (!differs(s, v)) continue;
    double more = pair_cost(s, pair, s->to, s->to) - pair_cost(s, pair, s->from, s->from);
    s->groups[s->rank[label_of(s, v)]].cost += more;
  }
}

/* What costs nothing first, then by the time of a byte; what saves none last. */
static int by_price(const void *x, const void *y) {
  const group *a = x, *b = y;
  double left = a->cost * (b->saved > 0 ? b->saved : 0), right = b->cost * (a->saved > 0 ? a->saved : 0);
  bool free_a = a->cost <= 0, free_b = b->cost <= 0, none_a = a->saved <= 0, none_b = b->saved <= 0;
  if (free_a != free_b) return free_a ? -1 : 1;
  if (!free_a && none_a != none_b) return none_a ? 1 : -1;
  if (!free_a && left != right) return left < right ? -1 : 1;
  return a->label < b->label ? -1 : a->label > b->label;
}

/* Groups in the order of their prices. */
static void rank_groups(mixing *s) {
  qsort(s->groups, s->count, sizeof *s->groups, by_price);
  for (size_t i = 0; i < s->count; i++) s->rank[s->groups[i].label] = (uint32_t)i;
  for (uint32_t v = 0; v < s->p->count; v++)
    if (differs(s, v)) s->rank[v] = s->rank[label_of(s, v)];
}

/* In the order of the program, or from its end. */
static void rank_places(mixing *s, const auto_model *m, bool backwards) {
  uint32_t last = (uint32_t)m->live_count - 1;
  for (uint32_t v = 0; v < s->p->count; v++) {
    uint32_t place = m->place[m->variables[v].node];
    s->rank[v] = backwards ? last - place : place;
  }
  s->count = m->live_count;
}

/* Variables of the first ranks as in `to`. */
static void put(const mixing *s, size_t ranks, uint32_t *out) {
  for (uint32_t v = 0; v < s->p->count; v++)
    out[v] = differs(s, v) && s->rank[v] < ranks ? s->to[v] : s->from[v];
}

/* As few as fit, if that costs less than *cost. */
static void change_few(mixing *s, const auto_model *m, double limit, double *room, uint32_t *out,
                       double *cost) {
  size_t few = 0, enough = s->count, worst; /* all of them fit */
  while (few < enough) {
    size_t half = few + (enough - few) / 2;
    put(s, half, s->now);
    if (auto_peak(m, s->now, room, &worst) <= limit) enough = half;
    else few = half + 1;
  }
  put(s, enough, s->now);
  double now = choice_cost(s->p, s->now);
  if (now < *cost) *cost = now, memcpy(out, s->now, s->p->count * sizeof *out);
}

bool auto_mix(const auto_model *m, const choice_problem *p, const uint32_t *from, const uint32_t *to,
              const double *saved, double limit, double *room, uint32_t *out, double *cost) {
  mixing s = {.p = p, .from = from, .to = to};
  s.label = ir_alloc(p->mem, p->count * sizeof *s.label);
  s.rank = ir_alloc(p->mem, p->count * sizeof *s.rank);
  s.groups = ir_alloc(p->mem, p->count * sizeof *s.groups);
  s.now = ir_alloc(p->mem, p->count * sizeof *s.now);
  bool good = s.label && s.rank && s.groups && s.now;
  if (good) {
    find_groups(&s, saved);
    rank_groups(&s);
    change_few(&s, m, limit, room, out, cost);
    for (int backwards = 0; backwards < 2; backwards++) {
      rank_places(&s, m, backwards);
      change_few(&s, m, limit, room, out, cost);
    }
  }
  ir_free(p->mem, s.label, p->count * sizeof *s.label);
  ir_free(p->mem, s.rank, p->count * sizeof *s.rank);
  ir_free(p->mem, s.groups, p->count * sizeof *s.groups);
  ir_free(p->mem, s.now, p->count * sizeof *s.now);
  return good;
}
