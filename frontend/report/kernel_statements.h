/* Which statements of the user each step of a plan is for. */
#ifndef VIEWFOLD_FRONTEND_REPORT_KERNEL_STATEMENTS_H
#define VIEWFOLD_FRONTEND_REPORT_KERNEL_STATEMENTS_H

#include "frontend/report/explain_walk.h"
#include "ir/cause.h"

typedef struct fe_kernel_statements {
  const ir_graph *g; /* a copy of a request's graph that has causes */
  uint8_t *live;     /* by statement: NEEDED, a result of it is; COMPUTES, more than views */
  size_t count;
} fe_kernel_statements;

/* Notes which statements are needed, before passes change the graph. False when memory is short. To be closed
 * in any case. */
bool fe_kernel_statements_open(fe_kernel_statements *k, const ir_graph *g, ir_ref results);
void fe_kernel_statements_close(fe_kernel_statements *k);

/* Appends the statements that a step is for, in order. Of a kernel: those of which it computes a value, or a
 * part of one that no other statement's value stands for. value: the tensor that a kernel computes. False
 * when memory is short. */
bool fe_step_statements(const fe_kernel_statements *k, fe_walk *walk, const ir_plan *plan, size_t number,
                        ir_ref value, ir_cause_items *out);

#endif
