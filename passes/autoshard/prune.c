/* Strategies that another one of the same variable makes useless. */
#include "problem.h"

#include <string.h>

bool choice_alive_make(const choice_problem *p, choice_alive *out) {
  *out = (choice_alive){.variables = p->count};
  for (size_t v = 0; v < p->count; v++) out->total += p->counts[v];
  out->of = ir_alloc(p->mem, p->count * sizeof *out->of);
  out->count = ir_alloc(p->mem, p->count * sizeof *out->count);
  out->numbers = ir_alloc(p->mem, out->total * sizeof *out->numbers);
  if (!out->of || !out->count || !out->numbers) return false;
  for (size_t v = 0, at = 0; v < p->count; v++) {
    out->of[v] = out->numbers + at, out->count[v] = p->counts[v];
    for (uint32_t i = 0; i < p->counts[v]; i++) out->numbers[at++] = i;
  }
  return true;
}

void choice_alive_free(const choice_problem *p, choice_alive *a) {
  ir_free(p->mem, a->of, a->variables * sizeof *a->of);
  ir_free(p->mem, a->count, a->variables * sizeof *a->count);
  ir_free(p->mem, a->numbers, a->total * sizeof *a->numbers);
  *a = (choice_alive){0};
}

/* What is alive of a pair, with the variable that is looked at as rows. */
typedef struct rows {
  const double *cost; /* rows of `columns` numbers */
  uint32_t columns;
  const uint32_t *least; /* by row: the column of its least number */
} rows;

typedef struct pruning {
  const choice_problem *p;
  choice_neighbours near;
  choice_store *store;
  choice_alive *alive;
  uint32_t *list; /* by variable: the entry of the store that stands for what is alive of it */
  uint8_t *queued, *gone;
  rows *pairs; /* of one variable, in the order of its neighbours */
  double *numbers;
  uint32_t *columns;
  size_t pairs_cap, numbers_cap, columns_cap;
} pruning;

static bool copy_rows(pruning *s, uint32_t v) {
  const choice_problem *p = s->p;
  const choice_alive *alive = s->alive;
  size_t entries = 0, count = alive->count[v], degree = s->near.first[v + 1] - s->near.first[v];
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++)
    entries += count * alive->count[choice_other(&p->pairs[s->near.list[e]], v)];
  if (!IR_RESERVE(p->mem, s->pairs, s->pairs_cap, degree) ||
      !IR_RESERVE(p->mem, s->numbers, s->numbers_cap, entries) ||
      !IR_RESERVE(p->mem, s->columns, s->columns_cap, count * degree))
    return false;
  double *to = s->numbers;
  for (size_t e = 0; e < degree; e++) {
    const choice_pair *pair = &p->pairs[s->near.list[s->near.first[v] + e]];
    uint32_t other = choice_other(pair, v), columns = alive->count[other], *least = s->columns + e * count;
    s->pairs[e] = (rows){to, columns, least};
    for (size_t i = 0; i < count; i++, to += columns) {
      least[i] = 0;
      for (uint32_t j = 0; j < columns; j++) {
        to[j] = choice_pair_cost(p, pair, v, alive->of[v][i], alive->of[other][j]);
        if (to[j] < to[least[i]]) least[i] = j;
      }
    }
  }
  return true;
}

/* The least by which one row is more than another where it can be at all. Less than minus CHOICE_NEVER / 2:
 * only the other cannot be somewhere. */
static double least_more(const double *ours, const double *theirs, uint32_t columns) {
  double least = CHOICE_NEVER;
  for (uint32_t j = 0; j < columns; j++) {
    double more = ours[j] - theirs[j];
    if (more < least && ours[j] < CHOICE_NEVER) least = more;
  }
  return least;
}

/* Does the strategy that stands at place i of those alive cost at least as much as that at k, whatever the
 * others choose? Those of equal cost: the first one stays. What the others would choose for i decides most.
 */
static bool is_useless(const pruning *s, uint32_t v, uint32_t i, uint32_t k) {
  const uint32_t *alive = s->alive->of[v];
  uint32_t degree = s->near.first[v + 1] - s->near.first[v];
  const double *cost = s->p->cost[v];
  double more = cost[alive[i]] - cost[alive[k]], there = more;
  if (cost[alive[k]] >= CHOICE_NEVER) return false;
  for (uint32_t e = 0; e < degree; e++) {
    const rows *r = &s->pairs[e];
    there += r->cost[(size_t)i * r->columns + r->least[i]] - r->cost[(size_t)k * r->columns + r->least[i]];
  }
  if (there < 0) return false;
  for (uint32_t e = 0; e < degree; e++) {
    const rows *r = &s->pairs[e];
    double least = least_more(r->cost + (size_t)i * r->columns, r->cost + (size_t)k * r->columns, r->columns);
    if (least < -CHOICE_NEVER / 2) return false;
    more += least;
    if (more >= CHOICE_NEVER / 2) return true; /* i is never possible */
  }
  return more > 0 || (more == 0 && k < i);
}

static bool find_useless(pruning *s, uint32_t v) {
  uint32_t count = s->alive->count[v];
  if (!copy_rows(s, v)) return false;
  memset(s->gone, 0, count);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < count && !s->gone[i]; k++)
      if (k != i && !s->gone[k] && is_useless(s, v, i, k)) s->gone[i] = 1;
  return true;
}

/* What is alive of the variable, as an entry of the store. */
static bool note_alive(pruning *s, uint32_t v) {
  bool fresh, good = choice_word(s->store, 'l');
  for (uint32_t i = 0; i < s->alive->count[v] && good; i++) good = choice_word(s->store, s->alive->of[v][i]);
  s->list[v] = good ? choice_make(s->store, 0, &fresh) : UINT32_MAX;
  return s->list[v] != UINT32_MAX;
}

/* All that the answer depends on: what is alive here and at the neighbours, and the costs. */
static bool write_key(const pruning *s, uint32_t v) {
  bool good = choice_word(s->store, 'p') && choice_word(s->store, s->list[v]) &&
              choice_word(s->store, s->p->counts[v]) &&
              choice_words_of(s->store, s->p->cost[v], s->p->counts[v]);
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1] && good; e++) {
    const choice_pair *pair = &s->p->pairs[s->near.list[e]];
    good = choice_word(s->store, (uintptr_t)pair->cost) && choice_word(s->store, pair->a == v) &&
           choice_word(s->store, s->list[choice_other(pair, v)]);
  }
  return good;
}

/* *some: of the variable went. False: no memory. */
static bool prune_variable(pruning *s, uint32_t v, bool *some) {
  uint32_t kept = 0, count = s->alive->count[v], *alive = s->alive->of[v];
  bool fresh;
  *some = false;
  if (count < 2) return true;
  uint32_t entry = write_key(s, v) ? choice_make(s->store, count, &fresh) : UINT32_MAX;
  if (entry == UINT32_MAX) return false;
  uint8_t *known = s->store->items[entry].value;
  if (fresh && !find_useless(s, v)) return false;
  if (fresh) memcpy(known, s->gone, count);
  for (uint32_t i = 0; i < count; i++)
    if (!known[i]) alive[kept++] = alive[i];
  s->alive->count[v] = kept;
  *some = kept < count;
  return !*some || note_alive(s, v);
}

bool choice_prune(const choice_problem *p, choice_store *store, choice_alive *alive) {
  pruning s = {.p = p, .store = store, .alive = alive};
  uint32_t most = 1;
  for (size_t v = 0; v < p->count; v++) most = alive->count[v] > most ? alive->count[v] : most;
  s.queued = ir_alloc(p->mem, p->count);
  s.gone = ir_alloc(p->mem, most);
  s.list = ir_alloc(p->mem, p->count * sizeof *s.list);
  bool good = choice_neighbours_make(p, &s.near) && s.queued && s.gone && s.list, more = good;
  if (good) memset(s.queued, 1, p->count);
  for (uint32_t v = 0; v < p->count && good; v++) good = note_alive(&s, v);
  while (more && good) {
    more = false;
    for (uint32_t v = 0; v < p->count && good; v++) {
      bool some = false;
      if (!s.queued[v]) continue;
      s.queued[v] = 0;
      good = prune_variable(&s, v, &some);
      if (!good || !some) continue;
      more = true;
      for (uint32_t e = s.near.first[v]; e < s.near.first[v + 1]; e++)
        s.queued[choice_other(&p->pairs[s.near.list[e]], v)] = 1;
    }
  }
  ir_free(p->mem, s.queued, p->count);
  ir_free(p->mem, s.gone, most);
  ir_free(p->mem, s.list, p->count * sizeof *s.list);
  ir_free(p->mem, s.pairs, s.pairs_cap * sizeof *s.pairs);
  ir_free(p->mem, s.numbers, s.numbers_cap * sizeof *s.numbers);
  ir_free(p->mem, s.columns, s.columns_cap * sizeof *s.columns);
  choice_neighbours_free(p, &s.near);
  return good;
}
