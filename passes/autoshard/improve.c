/* Local search: one variable at a time, and two that have to do with each other. */
#include "problem.h"

#include <string.h>

enum { ROUNDS = 50 }; /* because changes that gain no more than rounding errors could go round for ever */

typedef struct improving {
  const choice_problem *p;
  choice_neighbours near;
  uint32_t *chosen;
  double *first, *second; /* room for the costs of two variables */
  uint8_t *changed, *next;
} improving;

/* What the strategies of v cost, with all pairs but those to `except`. */
static void costs_of(const improving *s, uint32_t v, uint32_t except, double *out) {
  const choice_problem *p = s->p;
  uint32_t count = p->counts[v];
  memcpy(out, p->cost[v], count * sizeof *out);
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    const choice_pair *pair = &p->pairs[s->near.list[e]];
    uint32_t other = choice_other(pair, v);
    if (other == except) continue;
    size_t step = pair->a == v ? p->counts[pair->b] : 1;
    const double *at =
        pair->a == v ? pair->cost + s->chosen[other] : pair->cost + (size_t)s->chosen[other] * count;
    for (uint32_t i = 0; i < count; i++) out[i] += at[i * step];
  }
}

static bool is_less(double a, double b) { return a < b - 1e-12 * b; }

static void note_change(improving *s, uint32_t v) {
  s->next[v] = 1;
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++)
    s->next[choice_other(&s->p->pairs[s->near.list[e]], v)] = 1;
}

static void improve_one(improving *s, uint32_t v) {
  uint32_t best = s->chosen[v];
  costs_of(s, v, UINT32_MAX, s->first);
  for (uint32_t i = 0; i < s->p->counts[v]; i++)
    if (is_less(s->first[i], s->first[best])) best = i;
  if (best == s->chosen[v]) return;
  s->chosen[v] = best;
  note_change(s, v);
}

static void improve_two(improving *s, const choice_pair *pair) {
  uint32_t a = pair->a, b = pair->b, i = s->chosen[a], k = s->chosen[b], columns = s->p->counts[b];
  costs_of(s, a, b, s->first);
  costs_of(s, b, a, s->second);
  double now = s->first[i] + s->second[k] + pair->cost[(size_t)i * columns + k];
  for (uint32_t r = 0; r < s->p->counts[a]; r++) {
    const double *row = pair->cost + (size_t)r * columns;
    if (!is_less(s->first[r], now)) continue;
    for (uint32_t c = 0; c < columns; c++)
      if (is_less(s->first[r] + s->second[c] + row[c], now))
        i = r, k = c, now = s->first[r] + s->second[c] + row[c];
  }
  if (i == s->chosen[a] && k == s->chosen[b]) return;
  s->chosen[a] = i, s->chosen[b] = k;
  note_change(s, a), note_change(s, b);
}

/* Pairs of equal variables are one in a problem that was reduced, so the pair is all that lies between. */
static void run(improving *s) {
  const choice_problem *p = s->p;
  bool more = true;
  memset(s->next, 1, p->count);
  for (int round = 0; round < ROUNDS && more; round++) {
    uint8_t *swap = s->changed;
    s->changed = s->next, s->next = swap;
    memset(s->next, 0, p->count);
    for (uint32_t v = 0; v < p->count; v++)
      if (s->changed[v]) improve_one(s, v);
    for (size_t e = 0; e < p->pair_count; e++)
      if (s->changed[p->pairs[e].a] || s->changed[p->pairs[e].b]) improve_two(s, &p->pairs[e]);
    more = memchr(s->next, 1, p->count) != NULL;
  }
}

bool choice_improve(const choice_problem *p, uint32_t *chosen) {
  improving s = {.p = p, .chosen = chosen};
  uint32_t most = 1;
  for (size_t v = 0; v < p->count; v++) most = p->counts[v] > most ? p->counts[v] : most;
  s.first = ir_alloc(p->mem, most * sizeof *s.first);
  s.second = ir_alloc(p->mem, most * sizeof *s.second);
  s.changed = ir_alloc(p->mem, p->count);
  s.next = ir_alloc(p->mem, p->count);
  bool good = choice_neighbours_make(p, &s.near) && s.first && s.second && s.changed && s.next;
  if (good && p->count) run(&s);
  ir_free(p->mem, s.first, most * sizeof *s.first);
  ir_free(p->mem, s.second, most * sizeof *s.second);
  ir_free(p->mem, s.changed, p->count);
  ir_free(p->mem, s.next, p->count);
  choice_neighbours_free(p, &s.near);
  return good;
}
