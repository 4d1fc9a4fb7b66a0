/* Which kernels of a plan run once, when a program is bound to its constants (runtime/program/hoist.c). */
#ifndef VIEWFOLD_FRONTEND_REPORT_RUN_ONCE_H
#define VIEWFOLD_FRONTEND_REPORT_RUN_ONCE_H

#include "ir/plan.h"

/* once: by step of a plan whose kernels are made. False when memory is short. */
bool fe_find_run_once(const ir_graph *graph, const ir_plan *plan, bool *once);

#endif
