/* The steps of a plan as text: how they nest, and what each step other than a kernel does. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_STEPS_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_STEPS_H

#include "ir/plan.h"

/* The number of kernel steps before this step. */
size_t fe_kernel_number(const ir_plan *plan, size_t step);

/* Print every step by put, with empty lines between them; steps of a function are indented under its name. */
void fe_put_steps(const ir_plan *plan, void (*put)(void *user, size_t step, ir_text *out), void *user,
                  ir_text *out);

/* Print a step that is no kernel. put_slot writes a slot's name and type to the same text. */
void fe_put_step(const ir_graph *g, const ir_plan *plan, size_t step,
                 void (*put_slot)(void *user, uint32_t slot), void *user, ir_text *out);

/* Print a comment that says which functions the step is in; nothing for a step of the graph itself. */
void fe_put_place(const ir_plan *plan, size_t step, ir_text *out);

#endif
