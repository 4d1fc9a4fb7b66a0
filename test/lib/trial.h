/* Property tests of compiled graphs: the program around what is particular to each. A case records a graph,
 * compiles it for several machines, runs it on each and says what is wrong with the results. */
#ifndef VIEWFOLD_TEST_LIB_TRIAL_H
#define VIEWFOLD_TEST_LIB_TRIAL_H

#include "ir/eval/eval.h"
#include "runtime/runtime.h"
#include "test/lib/cases.h"

enum { TRIAL_INPUTS = 20, TRIAL_RESULTS = 5, TRIAL_MACHINES = 8 };

/* What a test's own struct for a case begins with. */
typedef struct trial {
  uint64_t state; /* of the generator: the seed of the case to begin with */
  ir_graph g;
  ir_error error;
  ir_ref input[TRIAL_INPUTS], result[TRIAL_RESULTS], var; /* var: a size; 0: none is a variable */
  uint32_t input_count, result_count;                     /* of these the first `result_count` are compiled */
  uint32_t exact_count; /* and so many more evaluated, which tell what is right */
  char what[400];       /* the case in words; empty: reports show the graph */
  char wrong[200];      /* empty: nothing */
} trial;

typedef struct trial_property {
  const char *name; /* without prop_ */
  long count;       /* of cases, where none is asked for */
  const case_machine *machines;
  int machine_count;
  size_t size;                    /* of the test's own struct */
  bool (*record)(trial *t);       /* the graph; false: something was refused */
  void (*run)(trial *t);          /* says what is wrong */
  void (*tell)(const cases *c);   /* prints what was tried, but for the number of failures and the seed */
  bool (*enough)(const cases *c); /* NULL, or: was everything met that should be? */
} trial_property;

/* The main program. Besides the arguments of cases.h, --show SEED prints the graph of a case as text. */
int trial_main(int argc, char **argv, const trial_property *property);

const ir_target *trial_target(int machine);
int64_t trial_pick(trial *t, int64_t lo, int64_t hi);
/* Elements of the tensor, the variable being n. */
size_t trial_elements(const trial *t, ir_ref tensor, int64_t n);
ir_ref trial_results(trial *t); /* those that are compiled, as a TUPLE */

/* Compiles for the machine and runs once; a failure is said. */
void trial_run_on(trial *t, int machine, void *const *inputs, void *const *outputs);

/* The plan for the machine, verified, to be freed; false after a failure, which is said. */
bool trial_plan(trial *t, int machine, ir_plan *plan);

/* Is element i of result 0, a sum of so many products in f32, as near as the contract asks to result 1, the
 * same in f64? Result 2 is the sum of the absolute products. */
bool trial_is_near(const ir_eval_result *want, int64_t i, const void *got, int64_t terms);

/* Are elements the same, NaNs as a class? */
bool trial_same(const void *a, const void *b, ir_dtype dtype);

typedef struct trial_check {
  int runs;
  unsigned char *(*data)(trial *t, ir_ref input, int64_t n); /* for a run with this size; to be freed */
  /* Element i of a result, `want` being all that are evaluated. */
  bool (*is_right)(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i, const void *got);
} trial_check;

/* Results must have the same bits on all machines that add in the same order, and be right on all others and
 * on the first. Gives how many elements were compared. */
int64_t trial_evaluate(trial *t, const trial_check *check);

#endif
