/* Exchanges that go on while other steps run. */
#ifndef VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H
#define VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H

#include "ir/plan.h"

/* Adds a WAIT for each EXCHANGE of a plan, and orders the steps of each function so that an exchange is
 * waited for when nothing is left that does not depend on it: steps that use its result, that may write where
 * its operand lies, or that depend on such steps, come behind others. Conditions and loops keep their places,
 * and nothing moves past them. Exchanges have one order on all devices, which run the same plan.
 * IR_ERR_UNSUPPORTED: more than IR_MAX_STEPS. */
ir_status schedule_overlap(ir_plan *plan, ir_error *error);

#endif
