/* What property tests that try random cases share: their arguments, and contexts for several machines. */
#ifndef VIEWFOLD_TEST_LIB_CASES_H
#define VIEWFOLD_TEST_LIB_CASES_H

#include "runtime/runtime.h"

/* --seed N, --count N, --case N: one case, which is tried again as it was. */
typedef struct cases {
  uint64_t seed;
  long count, done, failed;
  bool again;
} cases;
cases cases_read(int argc, char **argv, long count); /* count: where none is asked for */
/* check gives false for a case that fails; five failures are enough. */
void cases_run(cases *c, bool (*check)(uint64_t seed));

/* A context without a disk, on the device that VIEWFOLD_DEVICE names and for the target that
 * VIEWFOLD_TEST_TARGET sets (ir/target.h; a machine's own comes first), so that whole tests can be run on
 * other devices. */
rt_options cases_options(void);

/* Other numbers of threads, and other machines; NULL: this one. */
typedef struct case_machine {
  int threads;
  const char *target;
} case_machine;
/* Are terms added in the order of the first machine? Not where lanes are, or are not, work-items of a group,
 * nor where other products are computed in parts. */
bool cases_same_order(const case_machine *first, const case_machine *machine);
/* A context without a disk for each; false, and said why on standard error, when one cannot be made. */
bool cases_open(const case_machine *machines, int count, rt_context **contexts);
void cases_close(rt_context **contexts, int count);
/* "other bits with 2 threads and vector_bytes=16" */
void cases_tell_bits(const case_machine *machine, char *text, size_t room);

#endif
