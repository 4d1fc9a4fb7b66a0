/* Exhaustive search for index expressions: what search.py calls through ctypes. It shares nothing with
 * folding. */
#ifndef VIEWFOLD_TEST_OPTIMAL_SEARCH_H
#define VIEWFOLD_TEST_OPTIMAL_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { AXES = 6, LANES = 2048, WORDS = LANES / 64 };

/* The lanes: at[axis * count + lane]; target[lane]: the index, or whether the condition holds; the constants
 * at hand, ascending, each at least 1. */
typedef struct search_lanes {
  int32_t axes, count, constants;
  const int32_t *at, *target, *constant;
} search_lanes;

/* coefficients of the axes, then the constant */
typedef struct search_form {
  int32_t c[AXES + 1];
} search_form;

/* Operations of the cheapest expression for a linear form, terms with a common factor taken together. */
int search_cost(const search_form *f, int axes);

/* (form // by) such that the target may be alpha*(form // by) plus a linear form: those of one residue of
 * every coefficient that a constant at hand has modulo `by`. */
typedef struct search_quotient {
  search_form of;
  int32_t by;
} search_quotient;
/* Fills out[0..most) and returns how many there are. *finished is cleared where it does not try all. */
int search_quotients(const search_lanes *s, search_quotient *out, int most, int32_t *finished);

/* lo <= value <= hi, where value is a linear form, what is free, or a quotient or remainder of a form. */
typedef enum search_how { SEARCH_LINEAR, SEARCH_FREE, SEARCH_DIV, SEARCH_MOD } search_how;
typedef enum search_test { SEARCH_GE, SEARCH_LT, SEARCH_BETWEEN, SEARCH_EQ, SEARCH_NE } search_test;
typedef struct search_clause {
  int32_t how, test, by, lo, hi, free; /* GE lo; LT hi; EQ, NE lo */
  search_form of;
} search_clause;
/* The cheapest conjunction, or with `either` disjunction of the opposite clauses, that is the target on the
 * lanes where care is set, of at most `most` operations. outer: one more clause around it, joined by the
 * other connective; NULL: none is tried. Returns the number of clauses in out, whose last is `outer` where
 * *nested is set; 0: none was found. */
typedef struct search_condition {
  int32_t clauses, either, nested, cost, finished;
  search_clause clause[16];
} search_condition;
void search_conditions(const search_lanes *s, const int32_t *free, int32_t free_count, int32_t most,
                       search_condition *out);

#endif
