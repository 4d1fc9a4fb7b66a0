/* The steps of a plan as text: what stands in what, and what each step that is no kernel does. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_STEPS_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_STEPS_H

#include "ir/plan.h"

/* How many kernel steps stand before this one. */
size_t fe_kernel_number(const ir_plan *plan, size_t step);

/* Every step by put, with a line between them; those of functions indented under the name of their function.
 */
void fe_put_steps(const ir_plan *plan, void (*put)(void *user, size_t step, ir_text *out), void *user,
                  ir_text *out);

/* A step that is no kernel. put_slot writes a slot's name and type to the same text. */
void fe_put_step(const ir_graph *g, const ir_plan *plan, size_t step,
                 void (*put_slot)(void *user, uint32_t slot), void *user, ir_text *out);

/* A comment that says which functions the step is in; nothing for a step of the graph itself. */
void fe_put_place(const ir_plan *plan, size_t step, ir_text *out);

#endif
