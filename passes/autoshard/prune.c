/* Strategies that another one of the same variable makes useless. */
#include "problem.h"

#include <string.h>

typedef struct pruning {
  const choice_problem *p;
  choice_neighbours near;
  uint32_t *const *alive;
  uint32_t *alive_count;
  uint8_t *queued;
} pruning;

/* Does strategy i cost at least as much as k, whatever the others choose? Those of equal cost: the first one
 * stays. */
static bool is_useless(const pruning *s, uint32_t v, uint32_t i, uint32_t k) {
  const choice_problem *p = s->p;
  double more = p->cost[v][i] - p->cost[v][k];
  if (p->cost[v][k] >= CHOICE_NEVER) return false;
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    const choice_pair *pair = &p->pairs[s->near.list[e]];
    uint32_t other = choice_other(pair, v);
    double least = CHOICE_NEVER;
    for (uint32_t j = 0; j < s->alive_count[other]; j++) {
      double ours = choice_pair_cost(p, pair, v, i, s->alive[other][j]);
      double theirs = choice_pair_cost(p, pair, v, k, s->alive[other][j]);
      if (ours >= CHOICE_NEVER) continue;
      if (ours - theirs < least) least = ours - theirs;
      if (theirs >= CHOICE_NEVER) return false;
    }
    more += least;
    if (more >= CHOICE_NEVER / 2) return true; /* i is never possible */
  }
  return more > 0 || (more == 0 && k < i);
}

/* Order of tests: those that help most often first. True: some went. */
static bool prune_variable(pruning *s, uint32_t v) {
  uint32_t *alive = s->alive[v], kept = 0, count = s->alive_count[v];
  uint8_t gone[1 << 12];
  if (count > sizeof gone) return false;
  memset(gone, 0, count);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < count && !gone[i]; k++)
      if (k != i && !gone[k] && is_useless(s, v, alive[i], alive[k])) gone[i] = 1;
  for (uint32_t i = 0; i < count; i++)
    if (!gone[i]) alive[kept++] = alive[i];
  s->alive_count[v] = kept;
  return kept < count;
}

bool choice_prune(const choice_problem *p, uint32_t *const *alive, uint32_t *alive_count) {
  pruning s = {.p = p, .alive = alive, .alive_count = alive_count};
  s.queued = ir_alloc(p->mem, p->count);
  bool good = choice_neighbours_make(p, &s.near) && s.queued, more = good;
  if (good) memset(s.queued, 1, p->count);
  while (more) {
    more = false;
    for (uint32_t v = 0; v < p->count; v++) {
      if (!s.queued[v]) continue;
      s.queued[v] = 0;
      if (!prune_variable(&s, v)) continue;
      more = true;
      for (uint32_t e = s.near.first[v]; e < s.near.first[v + 1]; e++)
        s.queued[choice_other(&p->pairs[s.near.list[e]], v)] = 1;
    }
  }
  ir_free(p->mem, s.queued, p->count);
  choice_neighbours_free(p, &s.near);
  return good;
}
