/* Costs of assignments, and who has to do with whom. */
#include "problem.h"

#include <string.h>

double choice_cost(const choice_problem *p, const uint32_t *chosen) {
  double sum = 0;
  for (size_t v = 0; v < p->count; v++) sum += p->cost[v][chosen[v]];
  for (size_t i = 0; i < p->pair_count; i++) {
    const choice_pair *pair = &p->pairs[i];
    sum += pair->cost[(size_t)chosen[pair->a] * p->counts[pair->b] + chosen[pair->b]];
  }
  return sum;
}

bool choice_neighbours_make(const choice_problem *p, choice_neighbours *n) {
  *n = (choice_neighbours){.count = p->count + 2, .pair_count = 2 * p->pair_count};
  n->first = ir_alloc(p->mem, n->count * sizeof *n->first);
  n->list = ir_alloc(p->mem, n->pair_count * sizeof *n->list);
  if (!n->first || !n->list) return false;
  memset(n->first, 0, n->count * sizeof *n->first);
  for (size_t i = 0; i < p->pair_count; i++) n->first[p->pairs[i].a + 2]++, n->first[p->pairs[i].b + 2]++;
  for (size_t v = 2; v < n->count; v++) n->first[v] += n->first[v - 1];
  for (size_t i = 0; i < p->pair_count; i++) {
    n->list[n->first[p->pairs[i].a + 1]++] = (uint32_t)i;
    n->list[n->first[p->pairs[i].b + 1]++] = (uint32_t)i;
  }
  return true;
}

void choice_neighbours_free(const choice_problem *p, choice_neighbours *n) {
  ir_free(p->mem, n->first, n->count * sizeof *n->first);
  ir_free(p->mem, n->list, n->pair_count * sizeof *n->list);
}
