/* A problem of choices: variables with a few strategies each, a cost of each strategy, and of each pair of
 * strategies of two variables that have to do with each other. Nothing here knows of graphs or meshes. */
#ifndef VIEWFOLD_PASSES_AUTOSHARD_PROBLEM_H
#define VIEWFOLD_PASSES_AUTOSHARD_PROBLEM_H

#include "ir/base.h"

#define CHOICE_NEVER 1e30 /* the cost of what cannot be: no sum of others comes near */

typedef struct choice_pair {
  uint32_t a, b;      /* variables */
  const double *cost; /* cost[i * count of b + k]; shared by pairs that are alike */
} choice_pair;

typedef struct choice_problem {
  const ir_mem *mem;
  uint32_t *counts;          /* by variable: its strategies */
  const double *const *cost; /* by variable, by strategy */
  size_t count;
  const choice_pair *pairs;
  size_t pair_count;
} choice_problem;

/* problem.c: the cost of an assignment, a strategy for each variable. */
double choice_cost(const choice_problem *p, const uint32_t *chosen);

typedef struct choice_result {
  double cost, bound;
  bool exact;
} choice_result;
/* solve.c: the assignment of least cost, by elimination of one variable after the other where tables have at
 * most `entries` numbers; beyond that a good one, with a bound. False: no memory. */
bool choice_solve(const choice_problem *p, size_t entries, uint32_t *chosen, choice_result *result);

/* prune.c: strategies that cannot be needed: another one of the variable costs no more, whatever the others
 * choose. alive[i]: the `alive_count[i]` numbers of those that are left, in order; both have room for all. */
bool choice_prune(const choice_problem *p, uint32_t *const *alive, uint32_t *alive_count);

/* eliminate.c: the same as choice_solve, of strategies that are alive. */
bool choice_eliminate(const choice_problem *p, uint32_t *const *alive, const uint32_t *alive_count,
                      size_t entries, uint32_t *chosen, choice_result *result);
/* improve.c: changes single strategies, and those of pairs, as long as that costs less. */
bool choice_improve(const choice_problem *p, uint32_t *const *alive, const uint32_t *alive_count,
                    uint32_t *chosen);

/* Pairs by variable: the pairs list[first[v] .. first[v + 1]). */
typedef struct choice_neighbours {
  uint32_t *first, *list;
  size_t count, pair_count;
} choice_neighbours;
bool choice_neighbours_make(const choice_problem *p, choice_neighbours *out);
void choice_neighbours_free(const choice_problem *p, choice_neighbours *n);

/* The variable of the pair that is not v. */
static inline uint32_t choice_other(const choice_pair *pair, uint32_t v) {
  return pair->a == v ? pair->b : pair->a;
}
/* The cost where v has strategy i, and the other variable of the pair has k. */
static inline double choice_pair_cost(const choice_problem *p, const choice_pair *pair, uint32_t v,
                                      uint32_t i, uint32_t k) {
  return pair->a == v ? pair->cost[(size_t)i * p->counts[pair->b] + k]
                      : pair->cost[(size_t)k * p->counts[pair->b] + i];
}

#endif
