/* Property tests of compiled graphs: the main program that they share. A case records a graph, compiles it
 * for several machines, runs it on each and reports what is wrong with the results. */
#ifndef VIEWFOLD_TEST_LIB_TRIAL_H
#define VIEWFOLD_TEST_LIB_TRIAL_H

#include "ir/eval/eval.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "test/lib/cases.h"

enum { TRIAL_INPUTS = 20, TRIAL_RESULTS = 5, TRIAL_MACHINES = 16 };

/* The first member of a test's own struct for a case. */
typedef struct trial {
  uint64_t state; /* of the random generator; initially the seed of the case */
  ir_graph g;
  ir_error error;
  ir_ref input[TRIAL_INPUTS], result[TRIAL_RESULTS], var; /* var: a variable size; 0: there is none */
  uint32_t input_count, result_count;                     /* the first `result_count` results are compiled */
  uint32_t exact_count; /* number of further results, which are only evaluated, as references */
  double bound;         /* of the relative errors of a sum: see trial_check */
  char what[400];       /* describes the case; empty: reports show the graph */
  char wrong[200];      /* the error; empty: none */
} trial;

typedef struct trial_property {
  const char *name; /* without prop_ */
  long count;       /* default number of cases */
  const case_machine *machines;
  int machine_count;
  size_t size;                    /* of the test's own struct */
  bool (*record)(trial *t);       /* records the graph; false if something was refused */
  void (*run)(trial *t);          /* sets t->wrong on an error */
  void (*report)(const cases *c); /* prints what was tried, without the number of failures and the seed */
  bool (*enough)(const cases *c); /* were all required situations met? NULL: none are required */
} trial_property;

/* The main program, given the members of a trial_property. Besides the arguments of cases.h, --show SEED
 * prints the graph of a case as text. */
int trial_main(int argc, char **argv, const trial_property *property);
#define TRIAL_MAIN(...)                                                                                      \
  int main(int argc, char **argv) { return trial_main(argc, argv, &(trial_property){__VA_ARGS__}); }

const ir_target *trial_target(int machine);
int64_t trial_pick(trial *t, int64_t lo, int64_t hi);
ir_dtype trial_dtype(trial *t); /* of elements, each as likely */
/* A new input, called a, b, ... in order. */
ir_ref trial_input(trial *t, ir_dtype dtype, const ir_ref *shape, size_t rank);
/* The number of elements of the tensor if the variable is n. */
size_t trial_elements(const trial *t, ir_ref tensor, int64_t n);
ir_ref trial_results(trial *t); /* the compiled results, as a TUPLE */

/* The program for the machine, which the caller releases; NULL, with t->wrong set, on failure. */
rt_program *trial_compile(trial *t, int machine);
/* Compiles for the machine and runs once; sets t->wrong on failure. */
void trial_run_on(trial *t, int machine, void *const *inputs, void *const *outputs);
/* The same with choices of the passes; NULL: as they are. */
void trial_run_shaped(trial *t, int machine, pass_shaping *shaping, void *const *inputs,
                      void *const *outputs);

/* The plan for the machine, verified, which the caller frees; false, with t->wrong set, on failure. */
bool trial_plan(trial *t, int machine, ir_plan *plan);
bool trial_plan_shaped(trial *t, int machine, pass_shaping *shaping, ir_plan *plan);

/* The bound of the numeric contract for a sum of `terms` products in f32, as a factor of the sum of their
 * absolute values in f64. */
double trial_sum_bound(int64_t terms);

/* Are two elements the same, with NaNs as a class? */
bool trial_same(const void *a, const void *b, ir_dtype dtype);

/* The elements of an input. */
typedef struct trial_data {
  ir_ref input;
  ir_dtype dtype;
  size_t count;
  unsigned char *elements;
} trial_data;
/* Replaces up to two elements by any of `n` numbers. */
void trial_sprinkle(trial *t, const trial_data *data, const double *numbers, int64_t n);

typedef struct trial_check {
  int runs;
  ir_value (*element)(trial *t, ir_dtype dtype);    /* draws one of an input, in order */
  void (*change)(trial *t, const trial_data *data); /* then changes some; NULL: none */
  /* Is element i of a result right? `want` are all evaluated results. NULL: if it is the same as the
   * evaluated one, or, where t->bound is not 0, no farther from the element of result 1 than t->bound times
   * that of result 2. */
  bool (*is_right)(const trial *t, const ir_eval_result *want, uint32_t result, int64_t i, const void *got);
} trial_check;

/* Results must have the same bits on all machines that add in the same order as the first, and must be right
 * on the first and on all others. Returns the number of elements compared. */
int64_t trial_evaluate(trial *t, const trial_check *check);

#endif
