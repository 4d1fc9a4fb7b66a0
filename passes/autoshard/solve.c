/* The choice. Strategies that cannot be needed go, and variables that others decide about; what is left is
 * eliminated, if its tables are small enough. Else messages give a bound and an assignment near it: what
 * costs at least more than that cannot be better and goes, and so on, until what is left is small enough or
 * stays as it is. */
#include "problem.h"

#include <string.h>

enum { LEVELS = 8 }; /* because each takes a few sweeps of messages, and the first ones help most */

/* Problems, each what is left of the one before. */
typedef struct solving {
  const choice_problem *p;
  size_t entries;
  choice_store store;
  choice_alive alive[LEVELS];
  choice_reduced reduced[LEVELS];
  int levels;
  uint32_t *now, *next; /* assignments */
  uint32_t *best;
  double cost, bound, constant;
} solving;

static const choice_problem *problem_of(const solving *s, int level) {
  return level ? &s->reduced[level - 1].problem : s->p;
}

/* An assignment of the last problem: is it the best so far? `now` is that of all. */
static void take(solving *s) {
  for (int i = s->levels; i-- > 0;) {
    choice_expand(&s->reduced[i], &s->alive[i], s->now, s->next);
    uint32_t *swap = s->now;
    s->now = s->next, s->next = swap;
  }
  double cost = choice_cost(s->p, s->now);
  if (cost < s->cost) s->cost = cost, memcpy(s->best, s->now, s->p->count * sizeof *s->best);
}

/* Drops what cannot be needed of the last problem, and variables: one level more. */
static bool descend(solving *s) {
  const choice_problem *q = problem_of(s, s->levels);
  choice_alive *alive = &s->alive[s->levels];
  if (!alive->of && !choice_alive_make(q, alive)) return false;
  if (!choice_prune(q, &s->store, alive)) return false;
  bool good = choice_reduce(q, &s->store, alive, &s->reduced[s->levels]);
  s->constant += s->reduced[s->levels++].constant;
  return good;
}

/* *gone: a part of the strategies that cannot be better than what is known. */
static bool drop_dear(solving *s, const choice_messages *m, double *gone) {
  const choice_problem *q = problem_of(s, s->levels);
  choice_alive *alive = &s->alive[s->levels];
  size_t kept = 0;
  if (!choice_alive_make(q, alive)) return false;
  for (size_t v = 0; v < q->count; v++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < q->counts[v]; i++)
      if (m->least[v][i] + s->constant <= s->cost * (1 + 1e-9)) alive->of[v][count++] = i;
    if (!count) alive->of[v][count++] = m->chosen[v]; /* what is known is the best */
    alive->count[v] = count, kept += count;
  }
  *gone = alive->total ? 1 - (double)kept / (double)alive->total : 0;
  return true;
}

/* The last problem by messages. */
static bool approach(solving *s, double *gone) {
  const choice_problem *q = problem_of(s, s->levels);
  choice_messages m;
  bool good = choice_pass_messages(q, &m);
  if (good) {
    double bound = m.bound + s->constant;
    if (bound > s->bound) s->bound = bound;
    memcpy(s->now, m.chosen, q->count * sizeof *s->now);
    good = choice_improve(q, s->now);
  }
  if (good) take(s);
  good = good && (s->levels == LEVELS || drop_dear(s, &m, gone));
  choice_messages_free(q, &m);
  return good;
}

static bool solve(solving *s, bool *exact) {
  double gone = 1;
  bool good = descend(s) && descend(s);
  while (good) {
    const choice_problem *q = problem_of(s, s->levels);
    if (!choice_eliminate(q, s->entries, s->now, exact)) return false;
    if (*exact) {
      take(s);
      return true;
    }
    if (s->levels == LEVELS || gone < 0.02) return true;
    good = approach(s, &gone) && (s->levels == LEVELS || descend(s));
  }
  return good;
}

bool choice_solve(const choice_problem *p, size_t entries, uint32_t *chosen, choice_result *out) {
  solving s = {
      .p = p, .entries = entries, .store = {.mem = p->mem}, .best = chosen, .cost = 2 * CHOICE_NEVER};
  bool exact = false;
  memset(chosen, 0, p->count * sizeof *chosen);
  s.now = ir_alloc(p->mem, p->count * sizeof *s.now);
  s.next = ir_alloc(p->mem, p->count * sizeof *s.next);
  bool good = s.now && s.next && solve(&s, &exact);
  *out = (choice_result){.cost = s.cost, .bound = exact || s.bound > s.cost ? s.cost : s.bound};
  out->exact = exact || s.bound >= s.cost * (1 - 1e-9);
  ir_free(p->mem, s.now, p->count * sizeof *s.now);
  ir_free(p->mem, s.next, p->count * sizeof *s.next);
  for (int i = LEVELS; i-- > 0;) {
    choice_alive_free(problem_of(&s, i), &s.alive[i]);
    choice_reduced_free(&s.reduced[i]);
  }
  choice_store_free(&s.store);
  return good;
}
