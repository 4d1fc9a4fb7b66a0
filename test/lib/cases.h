/* What property tests with random cases share: their arguments, and contexts for several machines. */
#ifndef VIEWFOLD_TEST_LIB_CASES_H
#define VIEWFOLD_TEST_LIB_CASES_H

#include "runtime/runtime.h"
#include "test/lib/options.h"

/* --seed N, --count N; --case SEED repeats one case, --show SEED repeats it and shows its graph. */
typedef struct cases {
  uint64_t seed;
  long count, done, failed;
  bool repeat, show;
} cases;
cases cases_read(int argc, char **argv, long count); /* count: the default */
/* With more options of the program. */
cases cases_read_with(int argc, char **argv, long count, const option *more, size_t more_count);
/* check returns false for a case that fails; the run stops after five failures. */
void cases_run(cases *c, bool (*check)(uint64_t seed));

/* A context without a cache on disk, for the device that VIEWFOLD_DEVICE names and the target that
 * VIEWFOLD_TEST_TARGET sets (ir/target.h; it overrides that of a machine), so that whole tests can be run on
 * other devices. */
rt_options cases_options(void);

/* A number of threads and a target; NULL: the host's. */
typedef struct case_machine {
  int threads;
  const char *target;
} case_machine;
/* Seven that differ in what decides how reductions are computed. */
enum { CASE_MACHINES = 7 };
extern const case_machine case_machines[CASE_MACHINES];
/* Does the machine add terms in the same order as the first? It does if both have the same `lanes`
 * (work-group size) and `parts` (threshold of batch streaming). */
bool cases_same_order(const case_machine *first, const case_machine *machine);
/* A context without a cache on disk for each machine, in `make test` with the setting `quick` for all but the
 * first: code is made of the same loops, of the same bits, in a third of the time. False, with the reason on
 * standard error, if one cannot be created. */
bool cases_open(const case_machine *machines, int count, rt_context **contexts);
void cases_close(rt_context **contexts, int count);
/* "other bits with 2 threads and vector_bytes=16" */
void cases_tell_bits(const case_machine *machine, char *text, size_t room);

#endif
