/* The part of `viewfold explain` about one kernel: why it is separate, the bytes and operations it takes, and
 * its loops. */
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
  struct rt_module *module; /* NULL: the machine code is not counted */
  ir_text *code;            /* where not NULL, that is put here, a line of JSON for each kernel */
  ir_text *out;
  const bool *once; /* by step: the kernel runs when the program is made */
  size_t kernel;    /* number of the kernel that is explained */
  char brief[120];  /* the statements that it is for, in short: "%h, %y (lines 2-5)" */
} fe_explained;

/* The bytes and operations of a kernel, as index expressions. */
typedef struct fe_kernel_work {
  ir_ref read, written, operations; /* bytes, bytes, elements of tensor operations */
} fe_kernel_work;
fe_kernel_work fe_work_of(const fe_explained *e, size_t number);
/* explain_reads.c: bytes of its parameters that the kernel reads, each counted once. */
ir_ref fe_bytes_read(const fe_explained *e, size_t number);

/* explain_arithmetic.c: operations of the loops as they are, as index expressions. Weighed operations are
 * multiplied by the bytes of their element over those of an f32: that many f32 operations take as long, if a
 * multiply-add is one instruction for either element. */
typedef struct fe_arithmetic {
  ir_ref floats, weighed_floats;     /* + - * / % sqrt min max; a fused multiply-add is two */
  ir_ref integers, weighed_integers; /* of products: a multiply-add is two, a DOT2 four, a DOT4 eight; both
                                        are weighed as one instruction */
} fe_arithmetic;
fe_arithmetic fe_arithmetic_of(const fe_explained *e, size_t number);

/* explain_code.c: vector lanes and unroll factors, and what prevents more. regions: of the kernel. */
struct ir_regions;
void fe_explain_code(const fe_explained *e, size_t number, const struct ir_regions *regions);

/* listing/explain_listing.c: what the machine code does in each loop. e->module is not NULL. */
void fe_explain_listing(const fe_explained *e, size_t number);

/* explain_copies.c: what a copy of a view would cost and save, of views that are read often and dearly. */
void fe_explain_copies(const fe_explained *e, size_t number, const struct ir_regions *regions);

/* Append lines about the kernel of step `number`; sets out->failed when memory is short. */
void fe_explain_kernel(const fe_explained *e, size_t number);

#endif
