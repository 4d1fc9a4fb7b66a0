/* The parts of the proof, each over several processes. Each prints its failures and one line of counts. */
#ifndef VIEWFOLD_TEST_PROVE_PROVE_H
#define VIEWFOLD_TEST_PROVE_PROVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct prove_options {
  uint64_t seed;
  uint64_t limit;         /* points tried of one rule; beyond them a sample */
  uint64_t sample;        /* of so many */
  uint64_t chains;        /* random chains whose rewrites are proven */
  uint64_t wholes;        /* of them, how many are proven as wholes: textbook rules against folding */
  const char *corpus;     /* chains as JSON lines, or NULL */
  unsigned solver_budget; /* most steps of the solver (its rlimit) for one question: a million take about a
                             second */
  int processes;
} prove_options;

/* rules.c: every rule, by the solver and by enumeration, and each conjunct of a condition needed */
int prove_rules(const prove_options *options);
/* measure.c: every rule makes its expression lighter */
int prove_termination(const prove_options *options);
/* rewrites.c: what functions make of expressions, each with its constants */
int prove_rewrites(const prove_options *options);

/* jobs.c: work(user, i) for i in 0..count-1, each once, in forked processes; its answers in order, in out[].
 * What a process did not come to is 0. False when no process could be made. */
typedef uint8_t (*prove_work)(void *user, uint64_t number);
bool prove_parallel(int processes, uint64_t count, prove_work work, void *user, uint8_t *out);

#endif
