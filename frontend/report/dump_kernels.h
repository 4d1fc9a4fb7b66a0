/* The stage `kernels` of a dump: for each kernel its outputs, its inputs, and the operations fused into
 * it. */
#ifndef VIEWFOLD_FRONTEND_REPORT_DUMP_KERNELS_H
#define VIEWFOLD_FRONTEND_REPORT_DUMP_KERNELS_H

#include "frontend/report/dump.h"
#include "frontend/report/explain_writes.h"
#include "frontend/report/kernel_statements.h"
#include "ir/plan.h"

typedef struct fe_kernels {
  const ir_mem *mem; /* set before the first note */
  ir_ref *values;    /* of each kernel step: the tensor that it computes */
  uint32_t
      *loads; /* of each slot of a kernel step: how many places of the kernel read it, from first[step] on */
  size_t load_count, load_cap;
  size_t *first;
  size_t steps;
  fe_accesses accesses;
  fe_kernel_statements statements; /* opened before the passes run, or all zero */
} fe_kernels;

/* To be called from a pass_observer: notes what is lost in later passes. False when memory is short. */
bool fe_kernels_note(fe_kernels *kernels, const char *pass, const ir_graph *g, const ir_plan *plan,
                     ir_ref root, int kernel);
/* To be called when the passes have run: counts steps as in the finished plan. False when memory is short. */
bool fe_kernels_settle(fe_kernels *kernels, const ir_plan *plan);
/* Print the kernels of a plan on g, a copy of the graph `home`. Only the names of block are used; the options
 * say what is explained. */
void fe_kernels_print(const fe_kernels *kernels, ir_graph *g, ir_graph *home, const ir_parsed_graph *block,
                      const ir_plan *plan, ir_text *out, const fe_dump_options *options);
void fe_kernels_free(fe_kernels *kernels);

#endif
