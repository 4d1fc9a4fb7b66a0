/* Which operation made a NaN or an infinity: said after a watched run has failed with IR_ERR_VALUE, of which
 * the runtime knows the kernel alone. */
#ifndef VIEWFOLD_FRONTEND_BLAME_BLAME_VALUE_H
#define VIEWFOLD_FRONTEND_BLAME_BLAME_VALUE_H

#include "frontend/blame/blame.h"
#include "ir/custom.h"

typedef enum fe_made {
  FE_MADE_FOUND,    /* the error says it */
  FE_MADE_GIVEN,    /* none: such values are among the inputs and constants */
  FE_MADE_NOT_FOUND /* none that has no such value already: it is in what a kernel adds up */
} fe_made;

/* Evaluates the graph by the reference evaluator until an operation makes a value of these kinds
 * (rt_watch.kinds) of operands that have none, and replaces the error:
 *
 *   graph @net: %c = div %a, %b (net.vf:4) makes a NaN: %c[3] is nan, where %a[3] is 0.0 and %b[3] is 0.0
 *
 * One that nothing takes over, as of the branch of a `where` that is not chosen, counts only if there is no
 * other. customs: of the graph, for the evaluator. After another failure, such as a lack of memory, the error
 * stays as it is, and the answer is FE_MADE_NOT_FOUND. */
fe_made fe_blame_value(const fe_blamed *b, unsigned kinds, const ir_customs *customs, ir_error *error);

#endif
