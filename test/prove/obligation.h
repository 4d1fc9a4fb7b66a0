/* What is to be proven: two expressions of integers and truth values are equal wherever some facts hold.
 *
 * An obligation is a list of terms, operands before their users and none twice. It can be decided at a point
 * (evaluate.c) and by the solver (solve.c), which share nothing but this form. */
#ifndef VIEWFOLD_TEST_PROVE_OBLIGATION_H
#define VIEWFOLD_TEST_PROVE_OBLIGATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum term_op {
  TERM_NUMBER,   /* value: the number; of bools 0 and 1 */
  TERM_VARIABLE, /* value: its number */
  TERM_ADD,
  TERM_SUB,
  TERM_MUL,
  TERM_DIV, /* rounds down, as does the remainder; divisors are at least 1 */
  TERM_MOD,
  TERM_LT,
  TERM_LE,
  TERM_GT,
  TERM_GE,
  TERM_EQ,
  TERM_NE,
  TERM_AND,
  TERM_OR,
  TERM_NOT,
  TERM_MIN,
  TERM_MAX,
  TERM_WHERE,
  TERM_GCD,
  TERM_OPS
} term_op;

typedef struct term {
  uint8_t op; /* term_op */
  uint8_t truth, constant;
  int arg[3]; /* -1: absent */
  int64_t value;
} term;

typedef struct variable {
  char name[12];
  uint8_t truth, constant;
  int64_t lo, hi;             /* facts; INT64_MIN, INT64_MAX: none */
  int64_t small_lo, small_hi; /* the small domain where it is tried */
} variable;

enum { CONJUNCT_NONE = -1 };
typedef struct fact {
  int term;     /* a bool */
  int conjunct; /* the conjunct of the side condition that the fact belongs to, or CONJUNCT_NONE */
} fact;

typedef struct obligation {
  char name[64];
  term *terms;
  variable *variables;
  fact *facts;
  int *demands; /* bools that must follow from the facts: divisors of the right side are at least 1 */
  int term_count, variable_count, fact_count, demand_count, term_cap, variable_cap, fact_cap, demand_cap;
  int left, right, witness_left, witness_right; /* witness_left -1: none */
  int conjuncts;                                /* conjuncts of the side condition */
} obligation;

typedef enum verdict { VERDICT_NONE, VERDICT_PROVEN, VERDICT_REFUTED, VERDICT_UNKNOWN } verdict;

extern const char *const term_texts[TERM_OPS];

void obligation_init(obligation *o, const char *name);
void obligation_free(obligation *o);
/* The term with these fields, a new one if there is none. Operations on numbers are folded. */
int obligation_term(obligation *o, term_op op, int a, int b, int c);
int obligation_number(obligation *o, int64_t value);
int obligation_truth(obligation *o, bool value);
int obligation_variable(obligation *o, const variable *fields);
/* The same obligation with a number in place of a variable. */
void obligation_with(const obligation *o, int number, int64_t value, obligation *out);
void obligation_fact(obligation *o, int term, int conjunct);
void obligation_demand(obligation *o, int term);
/* "x + c ..." for messages; the text is truncated at `size` */
void obligation_print(const obligation *o, int term, char *out, size_t size);
/* left => right given facts, with the bounds of the variables */
void obligation_show(const obligation *o);

/* evaluate.c */
/* One operation on the values of terms; a quotient by less than 1 is 0. False when the result does not fit.
 */
bool term_value(const term *t, const int64_t *values, int64_t *out);
typedef enum point { POINT_OUTSIDE, POINT_HOLDS, POINT_FAILS } point;
/* Evaluates the obligation. Of values[term_count], those of variables were set by obligation_set; `without`:
 * the conjunct that is not required. */
point obligation_at(const obligation *o, int without, int64_t *values);
void obligation_set(const obligation *o, int64_t *values, int number, int64_t value);
/* Tries all points of the small domain, or `sample` seeded ones where there are more than `limit`. */
typedef struct trial {
  uint64_t limit, sample, seed;
  uint64_t points; /* out: how many satisfied the facts */
  bool sampled;    /* out */
} trial;
point obligation_try(const obligation *o, int without, trial *t, int64_t *values);
void obligation_show_point(const obligation *o, const int64_t *values);

/* solve.c: the solver's answer; REFUTED only with a point that evaluation confirms, left in values.
 * Obligations that are not decided otherwise are divided into cases by the values of variables of small range
 * (cases.c). */
typedef struct solver solver;
solver *solver_new(unsigned solver_budget);
void solver_free(solver *s);
verdict solver_prove(solver *s, const obligation *o, int64_t *values);
verdict solver_ask(solver *s, const obligation *o, int64_t *values); /* without case distinctions */

#endif
