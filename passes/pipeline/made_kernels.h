/* Kernels of one plan whose loops have been made, found by the scalar expressions that they were made of.
 * Layers that repeat compute the same, and parameters and ranges are numbered from 0 in each kernel: so the
 * expressions are one node, and its loops are made once. */
#ifndef VIEWFOLD_PASSES_PIPELINE_MADE_KERNELS_H
#define VIEWFOLD_PASSES_PIPELINE_MADE_KERNELS_H

#include "ir/plan.h"
#include "passes/passes.h"

/* What the shaping of one kernel has reported of its sums, in order. */
typedef struct made_sums {
  pass_sum_order *orders;
  size_t count, cap;
  bool failed; /* memory was short */
} made_sums;

typedef struct made_kernel {
  ir_ref effect;                                /* what it was made of */
  bool once;                                    /* it runs once: its loops are those of such a kernel */
  ir_ref kernel, count, work, flops, magnitude; /* as in ir_step */
  uint32_t *params;                             /* by parameter of the kernel: its number in `effect` */
  uint32_t param_count;
  made_sums sums;
} made_kernel;

typedef struct made_kernels {
  const ir_mem *mem;
  made_kernel *all;
  size_t count, cap;
  uint32_t *table;  /* open addressing, by effect: the number of a kernel + 1; 0: empty */
  size_t table_cap; /* a power of two, at least twice the count */
} made_kernels;

/* NULL: none was made of the effect. */
const made_kernel *made_kernels_find(const made_kernels *made, ir_ref effect, bool once);
/* Adds the kernel of a step, whose slots are the numbers of parameters of `effect`, and takes what `sums`
 * holds. Where memory is short it is not added. */
void made_kernels_add(made_kernels *made, ir_ref effect, bool once, const ir_step *step, made_sums *sums);
void made_kernels_free(made_kernels *made);

/* Where memory is short sums->failed is set. */
void made_sums_add(const ir_mem *mem, made_sums *sums, pass_sum_order order);
/* Frees what they hold. */
void made_sums_free(const ir_mem *mem, made_sums *sums);

#endif
