/* Termination. The weight of each operation is a polynomial in the weights of its operands (`measure` lines
 * of the rule file); the weight of a constant is given by its own line, and no weight is less. Each
 * polynomial increases in each operand, and the left side of each rule weighs more than its right side: so
 * rewriting terminates. */
#include "test/prove/prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/prove/rule_text.h"

typedef struct weights {
  const pass_measure *of[TERM_OPS];
  char letters[TERM_OPS][4];
  int64_t constant;
} weights;

static bool read_weights(const pass_rule_set *set, weights *w) {
  *w = (weights){0};
  for (size_t i = 0; i < set->measure_count; i++) {
    term_op op;
    char letters[4];
    if (!rule_operation(set->measures[i].expression, &op, letters)) return false;
    if (op == TERM_VARIABLE) w->constant = strtoll(set->measures[i].weight, NULL, 10);
    w->of[op] = &set->measures[i];
    memcpy(w->letters[op], letters, sizeof letters);
  }
  if (w->constant < 1) printf("measure: a constant must weigh at least 1: measure c = NUMBER\n");
  return w->constant >= 1;
}

static int unknown(obligation *o, int number, int64_t least) {
  variable v = {.lo = least, .hi = INT64_MAX};
  snprintf(v.name, sizeof v.name, "w%d", number);
  return obligation_variable(o, &v);
}

/* The weight of op, given the weights of its operands; -1 after a message. */
static int weigh_op(const weights *w, obligation *o, term_op op, const int *operands) {
  int letters[128] = {0};
  if (!w->of[op]) {
    printf("%s: no measure for '%s'\n", o->name, term_texts[op]);
    return -1;
  }
  for (int i = 0; i < 3 && w->letters[op][i]; i++) letters[(int)w->letters[op][i]] = operands[i] + 1;
  return rule_expression(o, w->of[op]->weight, letters);
}

static int weigh(const weights *w, const obligation *rule, int root, obligation *o) {
  int *of = malloc((size_t)rule->term_count * sizeof *of), result = 0;
  if (!of) exit(2);
  for (int i = 0; i <= root && result >= 0; i++) {
    const term *t = &rule->terms[i];
    int operands[3] = {0};
    for (int k = 0; k < 3 && t->arg[k] >= 0; k++) operands[k] = of[t->arg[k]];
    if (t->constant || t->op == TERM_NUMBER) of[i] = obligation_number(o, w->constant);
    else if (t->op == TERM_VARIABLE) of[i] = unknown(o, (int)t->value, w->constant);
    else of[i] = weigh_op(w, o, (term_op)t->op, operands);
    result = of[i];
  }
  free(of);
  return result;
}

static bool greater(const prove_options *options, obligation *o, int a, int b) {
  if (a < 0 || b < 0) return false;
  o->left = obligation_term(o, TERM_GT, a, b, -1);
  o->right = obligation_truth(o, true);
  int64_t *at = calloc((size_t)o->term_count, sizeof *at);
  solver *s = solver_new(options->solver_budget);
  verdict v = solver_prove(s, o, at);
  if (v != VERDICT_PROVEN) {
    printf("not proven to grow lighter\n");
    obligation_show(o);
    if (v == VERDICT_REFUTED) obligation_show_point(o, at);
  }
  solver_free(s);
  free(at);
  return v == VERDICT_PROVEN;
}

static bool rule_is_lighter(const prove_options *options, const weights *w, const pass_rule *rule) {
  obligation r, o;
  bool proven = rule_obligation(rule, &r);
  obligation_init(&o, rule->name);
  if (proven) {
    int left = weigh(w, &r, r.left, &o), right = weigh(w, &r, r.right, &o);
    proven = greater(options, &o, left, right);
  }
  obligation_free(&o);
  obligation_free(&r);
  return proven;
}

/* operand 0, 1, 2: proves that the weight increases in this operand; 3: that it is at least a constant's */
static bool weight_grows(const prove_options *options, const weights *w, term_op op, int operand) {
  obligation o;
  obligation_init(&o, w->of[op]->expression);
  int less[3], more[3];
  for (int i = 0; i < 3; i++) less[i] = more[i] = unknown(&o, i, w->constant);
  if (operand < 3) more[operand] = obligation_term(&o, TERM_ADD, less[operand], unknown(&o, 3, 1), -1);
  int from = operand < 3 ? weigh_op(w, &o, op, less) : obligation_number(&o, w->constant - 1);
  bool proven = greater(options, &o, weigh_op(w, &o, op, more), from);
  obligation_free(&o);
  return proven;
}

int prove_termination(const prove_options *options) {
  const pass_rule_set *set = &pass_index_rule_set;
  int failed = 0, lighter = 0, operations = 0;
  weights w;
  if (!read_weights(set, &w)) return 1;
  for (int op = TERM_ADD; op < TERM_OPS; op++) {
    bool proven = w.of[op] != NULL;
    for (int i = 0; i < 4 && proven; i++)
      if (i == 3 || w.letters[op][i]) proven = weight_grows(options, &w, (term_op)op, i);
    operations += proven;
    failed += w.of[op] && !proven;
  }
  for (size_t i = 0; i < set->rule_count; i++) {
    bool proven = rule_is_lighter(options, &w, &set->rules[i]);
    lighter += proven;
    failed += !proven;
  }
  printf("termination: %d of %zu rules proven to make expressions lighter; %d operations weighed\n", lighter,
         set->rule_count, operations);
  return failed;
}
