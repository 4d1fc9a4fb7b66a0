/* The rewrite rules as text, generated from passes/index/rules/NAME.rules together with the matcher compiled
 * from the same lines. */
#ifndef VIEWFOLD_PASSES_INDEX_RULE_H
#define VIEWFOLD_PASSES_INDEX_RULE_H

#include <stddef.h>

typedef struct pass_rule {
  const char *name, *left, *right;
  const char *condition; /* "" when there is none */
  const char *witness;   /* the equality that the proof may use; "" when it needs none */
  const char *reason;
} pass_rule;

/* Weight of an operation as a polynomial in the weights of its operands. Every rule lowers the weight of its
 * expression, so rewriting terminates. */
typedef struct pass_measure {
  const char *expression, *weight;
} pass_measure;

typedef struct pass_rule_set {
  const char *name;
  const pass_rule *rules;
  size_t rule_count;
  const pass_measure *measures;
  size_t measure_count;
} pass_rule_set;

extern const pass_rule_set pass_index_rule_set;

#endif
