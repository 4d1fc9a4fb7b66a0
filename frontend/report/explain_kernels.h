/* The part of `viewfold explain` about one kernel: why it is one, what it moves and computes, what its loops
 * are like. */
#ifndef VIEWFOLD_FRONTEND_REPORT_EXPLAIN_KERNELS_H
#define VIEWFOLD_FRONTEND_REPORT_EXPLAIN_KERNELS_H

#include "frontend/report/explain_walk.h"
#include "ir/plan.h"
#include "ir/target.h"

typedef struct fe_explained {
  ir_graph *g;
  const ir_plan *plan;  /* after the last pass: kernel steps hold KERNEL nodes */
  const ir_ref *values; /* of each step, the tensor that it computes */
  fe_walk *walk;
  const ir_target *target;
  ir_text *out;
} fe_explained;

/* What the kernel moves and computes, as index expressions. */
typedef struct fe_kernel_work {
  ir_ref read, written, operations; /* bytes, bytes, elements of tensor operations */
} fe_kernel_work;
fe_kernel_work fe_work_of(const fe_explained *e, size_t number);
/* explain_reads.c: bytes of its parameters that the kernel reads, each once. */
ir_ref fe_bytes_read(const fe_explained *e, size_t number);

/* explain_arithmetic.c: additions and multiplications of the loops as they are, weighed by bytes of an
 * element over those of an f32: so many operations on f32s take as long where a multiply-add is one
 * instruction for any of them. */
typedef struct fe_arithmetic {
  ir_ref floats, weighed_floats;     /* + - * / % sqrt min max; a fused multiply-add is two */
  ir_ref integers, weighed_integers; /* of products: a multiply-add is two; weighed by what an instruction
                                        does: a product of two halves of an element each is one */
} fe_arithmetic;
fe_arithmetic fe_arithmetic_of(const fe_explained *e, size_t number);

typedef struct fe_lanes {
  int64_t lanes;     /* the most; below 2: none */
  unsigned gathered; /* loads whose elements lie apart along the lanes */
} fe_lanes;
fe_lanes fe_lanes_of(const fe_explained *e, size_t number);
/* explain_code.c: lanes and copies, and what stands in the way of more. Takes the ir_regions of the kernel.
 */
struct ir_regions;
void fe_explain_code(const fe_explained *e, size_t number, const struct ir_regions *regions);

/* Appends lines about the kernel of the step of that number; sets out->failed when memory is short. */
void fe_explain_kernel(const fe_explained *e, size_t number);

#endif
