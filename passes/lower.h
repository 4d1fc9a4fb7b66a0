/* Inside lowering: operations whose primitive form takes a file of its own. x is the operand, lowered. */
#ifndef VIEWFOLD_PASSES_LOWER_H
#define VIEWFOLD_PASSES_LOWER_H

#include "ir/ir.h"

ir_ref pass_lower_cumulative(ir_graph *g, ir_ref node, ir_ref x); /* CUMSUM CUMPROD CUMMAX CUMMIN */
ir_ref pass_lower_sort(ir_graph *g, ir_ref node, ir_ref x);       /* SORT ARGSORT */

#endif
