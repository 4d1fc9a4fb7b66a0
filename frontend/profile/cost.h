/* What a kernel costs for given values of the variables: the bytes that it moves, and its operations. */
#ifndef VIEWFOLD_FRONTEND_PROFILE_COST_H
#define VIEWFOLD_FRONTEND_PROFILE_COST_H

#include "frontend/report/explain_kernels.h"
#include "ir/eval/eval.h"
#include "runtime/runtime.h"

/* The variables of a graph, and their values. */
typedef struct fe_sizes {
  ir_var_value *list;
  size_t count;
} fe_sizes;

/* Find the variables of the program in a graph, by name; values in the program's order. False when memory is
 * short. */
bool fe_sizes_find(const ir_mem *mem, ir_graph *graph, const rt_program *program, const int64_t *values,
                   fe_sizes *out);
void fe_sizes_free(const ir_mem *mem, fe_sizes *sizes);
double fe_number_of(ir_graph *graph, ir_ref expression, const fe_sizes *sizes);

/* Of one run of a kernel. at_best: the f32 operations that take as long as its operations when they are
 * vectorised; of elements twice as wide, half as many fit in a vector. */
typedef struct fe_kernel_cost {
  double read, written, operations, at_best;
  int threads; /* that can share it */
} fe_kernel_cost;
/* number: the step of the plan, which is that of the program. */
fe_kernel_cost fe_kernel_cost_of(const fe_explained *e, const rt_program *program, const int64_t *values,
                                 size_t number, const fe_sizes *sizes);

#endif
