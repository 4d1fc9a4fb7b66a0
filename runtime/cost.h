/* Arithmetic of a kernel, counted in its text. */
#ifndef VIEWFOLD_RUNTIME_COST_H
#define VIEWFOLD_RUNTIME_COST_H

#include "runtime/values.h"

/* Number of a value: operations on floats (+ - * / % sqrt min max; a fused multiply-add is two) of one
 * launch. Each counts once per pass of the loops it stands in. An extent that depends on an outer position
 * counts as it is at position 0, so that a last block that is not full counts as a full one. 0 where that
 * cannot be told. */
uint32_t rt_flops(rt_value_list *list, const ir_graph *graph, ir_ref kernel, uint32_t *number_of);

#endif
