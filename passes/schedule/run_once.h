/* Which kernels of a plan run once, when a program is bound to its constants (runtime/program/hoist.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_RUN_ONCE_H
#define VIEWFOLD_PASSES_SCHEDULE_RUN_ONCE_H

#include "ir/plan.h"

/* once: by step of a plan whose kernels are made. False when memory is short. */
bool schedule_find_run_once(const ir_graph *graph, const ir_plan *plan, bool *once);
/* Marks the kernels that run once, where that is short, as IR_KERNEL_ONCE. False when memory is short. */
bool schedule_mark_run_once(ir_graph *graph, ir_plan *plan);

#endif
