/* Results of a run: their comparison with the reference evaluator. */
#ifndef VIEWFOLD_FRONTEND_CLI_ARRAYS_H
#define VIEWFOLD_FRONTEND_CLI_ARRAYS_H

#include "frontend/cli/bind.h"

/* How far the results of a run may be from those of the reference evaluator. They are equal unless they
 * depend on a float sum, mean, product or contraction. The error of such a reduction, of k elements x with
 * unit roundoff u, is at most 128 u sum|x| (mean: divided by k), k u |prod x|, k u sum|a||b|, plus its own
 * rounding. A result that is computed from reductions may have eight times that error, relative to the
 * largest magnitudes of reduction and result. Integers and bools that depend on a float reduction may differ
 * in 1 % of the elements. */
typedef struct cli_tolerance {
  ir_ref node, magnitude; /* the reduction, and sum|x| and the like as a tensor */
  double factor;          /* 128 u and the like */
} cli_tolerance;
typedef struct cli_tolerances {
  cli_tolerance *items;
  size_t count, cap;
} cli_tolerances;
/* Find the reductions under the results; their magnitudes are new nodes. False when memory is short. */
bool cli_tolerances_find(ir_graph *g, ir_ref results, const ir_var_value *vars, size_t var_count,
                         cli_tolerances *out);
void cli_tolerances_free(cli_tolerances *t);
/* values: the evaluated node and magnitude of each item. largest: the largest magnitude of each result. out
 * receives for each result the largest absolute error that is allowed; 0: none, negative: the result is
 * integers or bools, which may differ in 1 % of the elements. */
bool cli_tolerances_apply(const cli_tolerances *t, const ir_graph *g, ir_ref results,
                          const ir_eval_result *values, const double *largest, double *out);
/* What the reference evaluator is asked for. */
typedef struct cli_evaluation {
  const ir_ref *roots;
  size_t root_count;
  const ir_binding_input *inputs; /* then reductions, moved */
  size_t input_count, reduction_count;
  const ir_var_value *vars;
  size_t var_count;
} cli_evaluation;
enum { CLI_DERIVED = 8 }; /* what errors of operands may become in a result */
/* How a result changes: by the largest distance of an element, and in how many elements by more than is
 * allowed. */
typedef struct cli_change {
  double most;
  int64_t count;
} cli_change;
/* check/neighbours.c. Where differences are small, or loops amplify rounding, bounds that follow from the
 * operations are too narrow. The results are evaluated again for inputs each float of which is replaced by a
 * neighbour of it, as far away as rounding once, and once more for the inputs and reductions that are moved;
 * `out`, zeros before, says how they change from `want` at most, by result. allowed: as from
 * cli_tolerances_apply. False when an evaluation fails. */
bool cli_neighbours_find(ir_graph *g, const cli_evaluation *e, const ir_eval_result *want,
                         const double *allowed, cli_change *out);
/* A reduction, each element up or down by 1/CLI_DERIVED of its bound. To be freed; NULL when memory is short.
 */
void *cli_moved_reduction(const ir_eval_result *value, const ir_eval_result *magnitude, double factor);
double cli_largest(const ir_eval_result *values); /* finite magnitude of floats; 0 for others */

/* Evaluate the results with the reference evaluator and compare: one line for each result. Returns CLI_OK,
 * CLI_CHECK_FAILED, or after a message the exit status of the failure. */
int cli_check(cli_graph *s, rt_context *context, const ir_parsed_graph *block, ir_ref results,
              const cli_binding *inputs, const fe_array *outputs, ir_text *out);

#endif
