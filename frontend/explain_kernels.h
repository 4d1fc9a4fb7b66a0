/* The part of `viewfold explain` about one kernel: why it is one, what it moves and computes, what its loops
 * are like. */
#ifndef VIEWFOLD_FRONTEND_EXPLAIN_KERNELS_H
#define VIEWFOLD_FRONTEND_EXPLAIN_KERNELS_H

#include "ir/plan.h"

typedef struct fe_explained {
  ir_graph *g;
  const ir_plan *plan;   /* after the last pass: kernel steps hold KERNEL nodes */
  const ir_ref *values;  /* of each step, the tensor that it computes */
  const uint8_t *stored; /* by tensor node: it lies in memory */
  size_t nodes;          /* of that table */
  ir_text *out;
} fe_explained;

/* Appends lines about the kernel of the step of that number; sets out->failed when memory is short. */
void fe_explain_kernel(const fe_explained *e, size_t number);

#endif
