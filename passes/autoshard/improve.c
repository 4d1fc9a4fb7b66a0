/* Local search: one variable at a time, and two that have to do with each other. */
#include "problem.h"

enum { ROUNDS = 50 }; /* because time must have a bound: rounds end where no change costs less */

typedef struct improving {
  const choice_problem *p;
  choice_neighbours near;
  uint32_t *const *alive;
  const uint32_t *alive_count;
  uint32_t *chosen;
} improving;

/* What strategy i of v costs, with all pairs but the one to `except`. */
static double cost_at(const improving *s, uint32_t v, uint32_t i, uint32_t except) {
  double sum = s->p->cost[v][i];
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    const choice_pair *pair = &s->p->pairs[s->near.list[e]];
    uint32_t other = choice_other(pair, v);
    if (other != except) sum += choice_pair_cost(s->p, pair, v, i, s->chosen[other]);
  }
  return sum;
}

static bool is_less(double a, double b) { return a < b - 1e-12 * b; }

static bool improve_one(improving *s, uint32_t v) {
  double now = cost_at(s, v, s->chosen[v], UINT32_MAX);
  bool better = false;
  for (uint32_t i = 0; i < s->alive_count[v]; i++) {
    double cost = cost_at(s, v, s->alive[v][i], UINT32_MAX);
    if (is_less(cost, now)) now = cost, s->chosen[v] = s->alive[v][i], better = true;
  }
  return better;
}

/* The cost of all pairs of both variables. */
static double between(const improving *s, uint32_t v, uint32_t i, uint32_t w, uint32_t k) {
  double sum = 0;
  for (uint32_t e = s->near.first[v]; e < s->near.first[v + 1]; e++) {
    const choice_pair *pair = &s->p->pairs[s->near.list[e]];
    if (choice_other(pair, v) == w) sum += choice_pair_cost(s->p, pair, v, i, k);
  }
  return sum;
}

static bool improve_two(improving *s, uint32_t v, uint32_t w) {
  bool better = false;
  double now = cost_at(s, v, s->chosen[v], w) + cost_at(s, w, s->chosen[w], v) +
               between(s, v, s->chosen[v], w, s->chosen[w]);
  for (uint32_t i = 0; i < s->alive_count[v]; i++) {
    double first = cost_at(s, v, s->alive[v][i], w);
    for (uint32_t k = 0; k < s->alive_count[w] && is_less(first, now); k++) {
      double cost =
          first + cost_at(s, w, s->alive[w][k], v) + between(s, v, s->alive[v][i], w, s->alive[w][k]);
      if (!is_less(cost, now)) continue;
      now = cost, better = true;
      s->chosen[v] = s->alive[v][i], s->chosen[w] = s->alive[w][k];
    }
  }
  return better;
}

bool choice_improve(const choice_problem *p, uint32_t *const *alive, const uint32_t *alive_count,
                    uint32_t *chosen) {
  improving s = {.p = p, .alive = alive, .alive_count = alive_count, .chosen = chosen};
  bool good = choice_neighbours_make(p, &s.near), better = good;
  for (int round = 0; round < ROUNDS && better; round++) {
    better = false;
    for (uint32_t v = 0; v < p->count; v++) better |= improve_one(&s, v);
    for (size_t e = 0; e < p->pair_count; e++) better |= improve_two(&s, p->pairs[e].a, p->pairs[e].b);
  }
  choice_neighbours_free(p, &s.near);
  return good;
}
