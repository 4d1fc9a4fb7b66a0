/* Steps that exchanges wait for come early. */
#ifndef VIEWFOLD_PASSES_SCHEDULE_EARLY_H
#define VIEWFOLD_PASSES_SCHEDULE_EARLY_H

#include "ir/plan.h"

/* Slots that a step writes, which come first; not of conditions and loops. */
static inline uint32_t schedule_written_slots(const ir_step *s) {
  return s->kind == IR_STEP_KERNEL ? ir_written_slots(s) : s->kind == IR_STEP_CALL ? s->carries : 1;
}

/* Orders list[0..count), steps of one function that hold no others and have no moving slots: exchanges come
 * in the order of the work that they need done before them, least first, each as early as it can; the steps
 * that no exchange needs come behind. So an exchange begins when its operand can be there, in whatever order
 * values were recorded, and something is left to do meanwhile. Exchanges that have numbers (ir/exchange.h)
 * keep their order. has_references: as for schedule_overlap. False: out of memory. */
bool schedule_early(const ir_graph *g, const ir_plan *plan, bool has_references, const ir_step **list,
                    size_t count);

#endif
