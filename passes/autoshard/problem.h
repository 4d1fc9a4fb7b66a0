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
/* solve.c: the assignment of least cost, by elimination where its tables have at most `entries` numbers;
 * beyond that a good one, with a bound. False: no memory. */
bool choice_solve(const choice_problem *p, size_t entries, uint32_t *chosen, choice_result *result);

/* made.c: what was made, by its key, a list of words: kinds, addresses of tables, numbers of other entries.
 */
typedef struct choice_made {
  uint64_t *key;
  size_t words;
  uint64_t hash;
  void *value;
  size_t bytes;
} choice_made;
typedef struct choice_store {
  const ir_mem *mem;
  choice_made *items;
  size_t count, cap;
  uint32_t *table;
  size_t table_cap;
  uint64_t *key; /* the next one, as far as it is written */
  size_t key_count, key_cap;
} choice_store;
bool choice_word(choice_store *s, uint64_t word); /* to the next key. False: no memory */
bool choice_words_of(choice_store *s, const double *numbers, size_t count);
/* The entry of the key, and the next key is empty; fresh: it is new, and its value has to be written.
 * UINT32_MAX: no memory. */
uint32_t choice_make(choice_store *s, size_t bytes, bool *fresh);
void choice_store_free(choice_store *s);

/* Strategies of each variable that are left: the `count[v]` numbers at of[v], in order. */
typedef struct choice_alive {
  uint32_t **of, *count, *numbers;
  size_t variables, total;
} choice_alive;
bool choice_alive_make(const choice_problem *p, choice_alive *out); /* all. False: no memory */
void choice_alive_free(const choice_problem *p, choice_alive *alive);

/* prune.c: drops strategies that cannot be needed: another one of the variable costs no more, whatever the
 * others choose. */
bool choice_prune(const choice_problem *p, choice_store *store, choice_alive *alive);

/* A variable that is gone: the least over it of its costs and of tables with one or two others. */
typedef struct choice_step {
  uint32_t variable, count, others[2];
  const double *cost, *table[2];
  bool rows[2]; /* the variable is the row of the table */
} choice_step;
/* reduce.c: the problem of strategies that are alive without variables that one or two others decide about,
 * as far as tables do not grow. It refers to tables of the store. */
typedef struct choice_reduced {
  choice_problem problem;
  uint32_t *of; /* by variable: that of the original */
  choice_step *steps;
  size_t step_count, step_cap, pair_cap, variables; /* variables: of the original */
  double constant;                                  /* to be added to costs of the problem */
} choice_reduced;
bool choice_reduce(const choice_problem *p, choice_store *store, const choice_alive *alive,
                   choice_reduced *out);
/* From an assignment of the reduced problem to one of the original. */
void choice_expand(const choice_reduced *r, const choice_alive *alive, const uint32_t *chosen, uint32_t *out);
void choice_reduced_free(choice_reduced *r);

/* eliminate.c: the least, if no table has more than `entries` numbers, and all together a few times that;
 * *fits: so it was. False: no memory. */
bool choice_eliminate(const choice_problem *p, size_t entries, uint32_t *chosen, bool *fits);

/* messages.c: a bound, something good, and what each strategy costs at least, whatever the others choose. */
typedef struct choice_messages {
  double bound, cost; /* cost: of chosen */
  double **least;     /* by variable, by strategy */
  double *numbers;
  uint32_t *chosen;
  size_t total;
} choice_messages;
bool choice_pass_messages(const choice_problem *p, choice_messages *out); /* false: no memory */
void choice_messages_free(const choice_problem *p, choice_messages *m);

/* improve.c: changes single strategies, and those of pairs, as long as that costs less. */
bool choice_improve(const choice_problem *p, uint32_t *chosen);

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
