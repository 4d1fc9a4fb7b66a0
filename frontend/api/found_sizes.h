/* Sizes that a run finds out: variables that `found` nodes of a graph give values, and no input's shape.
 * Values are computed before the run, by programs of their own with the same inputs, in as many stages as
 * sizes depend on one another; so the run itself knows all sizes, and its memory is laid out for them. */
#ifndef VIEWFOLD_FRONTEND_API_FOUND_SIZES_H
#define VIEWFOLD_FRONTEND_API_FOUND_SIZES_H

#include "frontend/api/compile.h"
#include "ir/eval/eval.h"

/* Found at once: value i is that of variable vars[i], by number in a list. */
typedef struct fe_found_stage {
  ir_ref *values;
  uint32_t *vars;
  size_t count;
  rt_program *program; /* NULL before it has been compiled */
  uint32_t *inputs_from, *variables_from;
} fe_found_stage;

typedef struct fe_found {
  const ir_mem *mem;
  fe_found_stage *stages;
  size_t count, cap;
  size_t var_count;
  rt_variable *variables; /* of the list; names are the found object's own */
  uint8_t *is_found;      /* by number of variable */
} fe_found;

/* Lists what the results have a run find, of the variables vars; inputs: those whose shapes tell sizes. False
 * after failing. *out is to be freed in any case. */
bool fe_found_list(ir_graph *g, ir_ref results, const ir_ref *inputs, size_t input_count, const ir_ref *vars,
                   size_t var_count, fe_found *out, ir_error *error);
/* Compiles the stages of a request whose graph, inputs and variables were listed. */
bool fe_found_compile(rt_context *context, const fe_request *request, fe_found *found, ir_error *error);
/* Sets the values of the variables that are found; others, and the inputs, are in the order of the lists. A
 * value that its declaration excludes is IR_ERR_RANGE. */
bool fe_found_run(const fe_found *found, const void *const *inputs, int64_t *values, ir_error *error);
/* The same by the reference evaluator. vars: by number of variable. */
bool fe_found_evaluate(ir_graph *g, const fe_found *found, const ir_binding_input *inputs, size_t input_count,
                       ir_var_value *vars, ir_error *error);
/* Is the value as declared? IR_ERR_RANGE otherwise. */
bool fe_found_check(const fe_found *found, uint32_t var, int64_t value, ir_error *error);
void fe_found_free(fe_found *found);

#endif
