/* The kernels of a graph, each at every stage, from one run of the passes. */
#ifndef VIEWFOLD_FRONTEND_REPORT_KERNEL_TEXTS_H
#define VIEWFOLD_FRONTEND_REPORT_KERNEL_TEXTS_H

#include "frontend/report/dump.h"

enum { FE_KERNEL_STAGES = FE_STAGE_ASM - FE_STAGE_INDEX + 1 };

/* A kernel as the runtime knows it: kernels of one key are one function. */
typedef struct fe_kernel_text {
  char symbol[96];
  ir_text stages[FE_KERNEL_STAGES]; /* from FE_STAGE_INDEX on, of the first kernel of the key; what has
                                       failed is empty */
} fe_kernel_text;

typedef struct fe_kernel_row {
  uint32_t text;     /* index in texts */
  int64_t bytes;     /* of the elements in its slots, each read or written once; -1: sizes are variables */
  size_t first, end; /* of statements: those that it is for, whole ones (fe_statements_whole) */
} fe_kernel_row;

typedef struct fe_kernel_texts {
  const ir_mem *mem;
  ir_text listing;     /* FE_STAGE_KERNELS */
  fe_kernel_row *rows; /* by kernel number */
  size_t row_count, row_cap;
  uint32_t *statements;
  size_t statement_count, statement_cap;
  fe_kernel_text *texts;
  size_t text_count, text_cap;
  ir_error code_error; /* why code could not be made: nothing else depends on it */
} fe_kernel_texts;

/* Code is made by the module, for the target. *out is to be freed in any case. */
ir_status fe_kernel_texts_make(ir_graph *graph, const ir_parsed_graph *block, const fe_statements *statements,
                               const ir_target *target, rt_module *module, fe_kernel_texts *out,
                               ir_error *error);
void fe_kernel_texts_free(fe_kernel_texts *texts);

#endif
