/* Pruning, elimination, and improvement where that was not exact. */
#include "problem.h"

bool choice_solve(const choice_problem *p, size_t entries, uint32_t *chosen, choice_result *out) {
  size_t total = 0;
  for (size_t v = 0; v < p->count; v++) total += p->counts[v];
  uint32_t *numbers = ir_alloc(p->mem, total * sizeof *numbers);
  uint32_t **alive = ir_alloc(p->mem, p->count * sizeof *alive);
  uint32_t *count = ir_alloc(p->mem, p->count * sizeof *count);
  bool good = numbers && alive && count;
  for (size_t v = 0, at = 0; v < p->count && good; v++) {
    alive[v] = numbers + at, count[v] = p->counts[v];
    for (uint32_t i = 0; i < p->counts[v]; i++) numbers[at++] = i;
  }
  good = good && choice_prune(p, alive, count) && choice_eliminate(p, alive, count, entries, chosen, out);
  if (good && !out->exact) {
    good = choice_improve(p, alive, count, chosen);
    out->cost = choice_cost(p, chosen);
  }
  if (out->exact || out->bound > out->cost) out->bound = out->cost; /* they differ by rounding */
  ir_free(p->mem, numbers, total * sizeof *numbers);
  ir_free(p->mem, alive, p->count * sizeof *alive);
  ir_free(p->mem, count, p->count * sizeof *count);
  return good;
}
