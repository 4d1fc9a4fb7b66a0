/* Shared by the compositions. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_IMPL_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_IMPL_H

#include "compose.h"
#include "passes/ops/check.h"

/* Converts weak constants to their default dtypes; false after an earlier error, or when an operand is no
 * tensor. */
bool op_compose_begin(ir_graph *g, const char *who, ir_ref *x, size_t n);
/* Returns `made`; if it is 0 because a builder refused it, the error names `who`. */
ir_ref op_compose_end(ir_graph *g, const char *who, ir_ref made);

ir_dtype op_float_wide(ir_dtype dtype); /* the float dtype to compute in: f32 for f16 and bf16 */
/* a + b, a - b, a * b and a / b as op_binary makes them: operands broadcast and promote; 0 after an error. */
ir_ref op_add(ir_graph *g, ir_ref a, ir_ref b);
ir_ref op_sub(ir_graph *g, ir_ref a, ir_ref b);
ir_ref op_mul(ir_graph *g, ir_ref a, ir_ref b);
ir_ref op_div(ir_graph *g, ir_ref a, ir_ref b);
/* A size, which may be symbolic, as a scalar of the dtype. */
ir_ref op_size_value(ir_graph *g, ir_dtype dtype, ir_ref size);
/* moments.c: the variance of x, which already has the dtype to compute in. */
ir_ref op_squared_deviation(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims,
                            double correction);

#endif
