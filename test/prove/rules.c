/* Each rule by two oracles: the solver for all integers, evaluation on the small domain. With each conjunct
 * of a side condition dropped, some point must show that the conjunct is needed. */
#include "test/prove/prove.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/prove/rule_text.h"

enum { BY_SOLVER, BY_POINTS, CONJUNCT_DROPPED, TASKS };
enum { ANSWER_NONE, ANSWER_GOOD, ANSWER_GOOD_SAMPLED, ANSWER_REFUTED, ANSWER_UNDECIDED };

typedef struct task {
  const pass_rule *rule;
  int kind, conjunct;
} task;

typedef struct rules {
  const prove_options *options;
  task *tasks;
  size_t count;
} rules;

static void say(const pass_rule *rule, const char *what, const obligation *o, const int64_t *at) {
  printf("%s: %s => %s%s%s: %s\n", rule->name, rule->left, rule->right, *rule->condition ? " if " : "",
         rule->condition, what);
  if (at) obligation_show_point(o, at);
}

static uint8_t solve(const rules *r, const task *t, const obligation *o, int64_t *at) {
  solver *s = solver_new(r->options->solver_budget);
  verdict v = solver_prove(s, o, at);
  solver_free(s);
  if (v == VERDICT_PROVEN) return ANSWER_GOOD;
  bool refuted = v == VERDICT_REFUTED;
  say(t->rule, refuted ? "wrong" : "not decided by the solver", o, refuted ? at : NULL);
  return refuted ? ANSWER_REFUTED : ANSWER_UNDECIDED;
}

static uint8_t try_points(const rules *r, const task *t, const obligation *o, int64_t *at) {
  trial tried = {r->options->limit, r->options->sample, r->options->seed, 0, false};
  point found = obligation_try(o, t->conjunct, &tried, at);
  uint8_t good = tried.sampled ? ANSWER_GOOD_SAMPLED : ANSWER_GOOD;
  if (t->kind == CONJUNCT_DROPPED) {
    if (found == POINT_FAILS) return good;
    printf("%s: conjunct %d of '%s' is not needed: no point shows it\n", t->rule->name, t->conjunct + 1,
           t->rule->condition);
    return ANSWER_UNDECIDED;
  }
  if (found == POINT_HOLDS) return good;
  say(t->rule, found == POINT_FAILS ? "wrong" : "its condition holds nowhere on the small domain", o,
      found == POINT_FAILS ? at : NULL);
  return found == POINT_FAILS ? ANSWER_REFUTED : ANSWER_UNDECIDED;
}

static uint8_t work(void *user, uint64_t number) {
  const rules *r = user;
  const task *t = &r->tasks[number];
  obligation o;
  uint8_t answer = ANSWER_UNDECIDED;
  bool read = rule_obligation(t->rule, &o);
  int64_t *at = calloc((size_t)o.term_count + 1, sizeof *at);
  if (read && at) answer = t->kind == BY_SOLVER ? solve(r, t, &o, at) : try_points(r, t, &o, at);
  free(at);
  obligation_free(&o);
  return answer;
}

static int conjuncts_of(const pass_rule *rule) {
  obligation o;
  int conjuncts = rule_obligation(rule, &o) ? o.conjuncts : 0;
  obligation_free(&o);
  return conjuncts;
}

int prove_rules(const prove_options *options) {
  const pass_rule_set *set = &pass_index_rule_set;
  rules r = {options, NULL, 0};
  size_t cap = 0;
  for (size_t i = 0; i < set->rule_count; i++) cap += 2 + (size_t)conjuncts_of(&set->rules[i]);
  r.tasks = malloc((cap + 1) * sizeof *r.tasks);
  uint8_t *answers = calloc(cap + 1, 1);
  if (!r.tasks || !answers) exit(2);
  for (size_t i = 0; i < set->rule_count; i++) {
    const pass_rule *rule = &set->rules[i];
    r.tasks[r.count++] = (task){rule, BY_SOLVER, CONJUNCT_NONE};
    r.tasks[r.count++] = (task){rule, BY_POINTS, CONJUNCT_NONE};
    for (int conjunct = 0, n = conjuncts_of(rule); conjunct < n; conjunct++)
      r.tasks[r.count++] = (task){rule, CONJUNCT_DROPPED, conjunct};
  }
  int counts[TASKS][ANSWER_UNDECIDED + 1] = {0}, asked[TASKS] = {0}, failed = 0;
  if (!prove_parallel(options->processes, r.count, work, &r, answers)) failed++;
  for (size_t i = 0; i < r.count; i++) {
    counts[r.tasks[i].kind][answers[i]]++;
    asked[r.tasks[i].kind]++;
    failed += answers[i] != ANSWER_GOOD && answers[i] != ANSWER_GOOD_SAMPLED;
  }
  printf("rules: %zu; %d proven by Z3, %d refuted, %d unknown; %d by all points, %d by a sample, %d refuted; "
         "conjuncts: %d dropped, %d caught\nrules of data integers, which would be bit-vectors: 0\n",
         set->rule_count, counts[BY_SOLVER][ANSWER_GOOD], counts[BY_SOLVER][ANSWER_REFUTED],
         asked[BY_SOLVER] - counts[BY_SOLVER][ANSWER_GOOD] - counts[BY_SOLVER][ANSWER_REFUTED],
         counts[BY_POINTS][ANSWER_GOOD], counts[BY_POINTS][ANSWER_GOOD_SAMPLED],
         asked[BY_POINTS] - counts[BY_POINTS][ANSWER_GOOD] - counts[BY_POINTS][ANSWER_GOOD_SAMPLED],
         asked[CONJUNCT_DROPPED],
         counts[CONJUNCT_DROPPED][ANSWER_GOOD] + counts[CONJUNCT_DROPPED][ANSWER_GOOD_SAMPLED]);
  free(r.tasks);
  free(answers);
  return failed;
}
