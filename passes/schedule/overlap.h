/* Exchanges that go on while other steps run. */
#ifndef VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H
#define VIEWFOLD_PASSES_SCHEDULE_OVERLAP_H

#include "ir/mesh/link.h"
#include "ir/plan.h"

/* Adds a WAIT for each EXCHANGE of a plan, and orders the steps of each function so that an exchange is
 * waited for when nothing is left that does not depend on it: steps that use its result, that may write where
 * its operand lies, or that depend on such steps, come behind others; and what exchanges alone read comes
 * early (early.h). Conditions and loops keep their places,
 * and nothing moves past them. has_references: outputs may lie where inputs do, so that what reads any input
 * comes before what writes an output. Where an exchange needs the result of another one, as the second round
 * of a sum, and the link is known, that is waited for when three times the time has passed that it
 * should take, while there still is something to do meanwhile. Exchanges have one order on all devices, which
 * run the same plan. IR_ERR_UNSUPPORTED: more than IR_MAX_STEPS. */
ir_status schedule_overlap(ir_graph *g, ir_plan *plan, bool has_references, ir_link link, ir_error *error);

#endif
