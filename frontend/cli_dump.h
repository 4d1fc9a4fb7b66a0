/* What the files of `viewfold dump` share. */
#ifndef VIEWFOLD_FRONTEND_CLI_DUMP_H
#define VIEWFOLD_FRONTEND_CLI_DUMP_H

#include "frontend/cli_graph.h"

typedef struct cli_kernels {
  ir_ref *values;  /* of each launch: the tensor that it computes */
  uint32_t *loads; /* of each launch and slot: how many places of the kernel read it, by launch * slot_count +
                      slot */
  size_t launches, slots;
} cli_kernels;

/* To be called from a pass_observer: notes what later passes forget. False when memory is short. */
bool cli_kernels_note(cli_kernels *kernels, const char *pass, const ir_graph *g, const ir_plan *plan,
                      ir_ref root, int kernel);
/* The kernels of a plan, as text for a reader. */
void cli_kernels_print(const cli_kernels *kernels, ir_graph *g, const ir_parsed_graph *block,
                       const ir_plan *plan, ir_text *out);
void cli_kernels_free(cli_kernels *kernels);

#endif
