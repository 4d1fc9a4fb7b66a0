/* Exchanges that go on while other steps run. */
#ifndef VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H
#define VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H

#include "ir/plan.h"

/* Adds a WAIT for each EXCHANGE of a plan, and orders the steps of each function so that an exchange is
 * waited for when nothing is left that does not depend on it: steps that use its result, that may write where
 * its operand lies, or that depend on such steps, come behind others; and what exchanges alone read comes
 * early (early.h). Conditions and loops keep their places,
 * and nothing moves past them. has_references: outputs may lie where inputs do, so that what reads any input
 * comes before what writes an output. Exchanges have one order on all devices, which run the same plan.
 * IR_ERR_UNSUPPORTED: more than IR_MAX_STEPS. */
ir_status schedule_overlap(const ir_graph *g, ir_plan *plan, bool has_references, ir_error *error);

#endif
