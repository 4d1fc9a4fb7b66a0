/* Results of a run: their summary, and their comparison with the reference evaluator. */
#ifndef VIEWFOLD_FRONTEND_CLI_ARRAYS_H
#define VIEWFOLD_FRONTEND_CLI_ARRAYS_H

#include "frontend/cli_bind.h"

/* One line, the same on every machine: `y: f32[2,2] = [[0.0, 1.0], [2.0, 3.0]]`, or for more than 16 elements
 * `y: f32[64,64] min -1.0 max 3.5 mean 0.25 first 0.0 1.0 ...`, min, max and mean without the NaNs, which are
 * counted. */
void cli_summary(const char *name, const fe_array *array, ir_text *out);

/* Evaluate the results with the reference evaluator and compare: one line for each result. Results that no
 * float reduction goes into must have the same bits (NaNs are alike); for others the tolerance is relative to
 * the largest magnitude of the reference result, 1024 units of rounding of the coarsest of f32 and f64 that
 * take part, 4 of f16 or bf16, plus one unit in the last place; integers and bools behind a float reduction
 * may differ in 1 % of the elements. CLI_OK, CLI_CHECK_FAILED, or after a message what the failure gives. */
int cli_check(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *inputs,
              const fe_array *outputs, ir_text *out);

#endif
