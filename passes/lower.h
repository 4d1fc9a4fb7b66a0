/* Inside lowering: operations whose primitive form takes a file of its own. x is the operand, lowered. */
#ifndef VIEWFOLD_PASSES_LOWER_H
#define VIEWFOLD_PASSES_LOWER_H

#include "ir/ir.h"
#include "ir/target.h"

ir_ref pass_lower_cumulative(ir_graph *g, ir_ref node, ir_ref x); /* CUMSUM CUMPROD CUMMAX CUMMIN */
ir_ref pass_lower_sort(ir_graph *g, ir_ref node, ir_ref x);       /* SORT ARGSORT */

/* The reduction of x over the axes that are `gone`, without them, in two steps; false where one will do.
 * *made is 0 after failing. Its shape has as many elements as there are results, in their order. */
bool pass_lower_parts(ir_graph *g, const ir_target *target, ir_op op, ir_ref x, const bool *gone,
                      ir_ref *made);

#endif
