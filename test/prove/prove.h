/* The groups of proofs, each over several processes. Each function prints its failures and one line of
 * counts. */
#ifndef VIEWFOLD_TEST_PROVE_PROVE_H
#define VIEWFOLD_TEST_PROVE_PROVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct prove_options {
  uint64_t seed;
  uint64_t limit;         /* points tried of one rule; of more a sample */
  uint64_t sample;        /* the size of the sample */
  uint64_t chains;        /* random chains whose rewrites are proven */
  uint64_t wholes;        /* of these, how many are proven end to end: textbook rules against folding */
  const char *corpus;     /* chains as JSON lines, or NULL */
  unsigned solver_budget; /* most steps of the solver (its rlimit) for one question: a million take about a
                             second */
  int processes;
} prove_options;

/* rules.c: every rule, by the solver and by enumeration; and that each conjunct of a condition is needed */
int prove_rules(const prove_options *options);
/* measure.c: every rule makes its expression lighter */
int prove_termination(const prove_options *options);
/* rewrites.c: rewrites by functions, each with its constants */
int prove_rewrites(const prove_options *options);

/* jobs.c: work(user, i) for i in 0..count-1, each once, in forked processes; the answers, in order, in out[].
 * Jobs that a process did not reach have answer 0. False when no process could be made. */
typedef uint8_t (*prove_work)(void *user, uint64_t number);
bool prove_parallel(int processes, uint64_t count, prove_work work, void *user, uint8_t *out);

#endif
