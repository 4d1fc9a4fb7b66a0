/* What a program keeps of its graph to say which index was out of range; the graph may be gone by then. */
#ifndef VIEWFOLD_FRONTEND_API_WITNESS_H
#define VIEWFOLD_FRONTEND_API_WITNESS_H

#include "frontend/text/statements.h"
#include "frontend/viewfold.h"

struct fe_watched_run;

typedef struct fe_witness {
  const char *name; /* of the graph: a name of the copy */
  ir_graph graph;
  fe_statements statements;
  ir_ref *refs; /* outputs, inputs and variables, in this order */
  size_t output_count, input_count, variable_count;
  uint32_t *changed; /* inputs that are the references of the roots */
  size_t root_count; /* outputs and references, the latter behind all in refs; 0: runs are not watched */
} fe_witness;

/* A copy of the graph where an index of it must be in range or its context watches runs, else NULL, with an
 * error without memory. */
fe_witness *fe_witness_make(vf_graph *g, ir_error *error);
void fe_witness_free(fe_witness *w, const ir_mem *mem); /* accepts NULL */
/* Let the error of a run, IR_ERR_RANGE, say which index it was. The lists are those of vf_program_run. */
void fe_witness_blame(fe_witness *w, const void *const *inputs, const int64_t *variables, ir_error *error);

/* A watched run of the program; run lacks the graph. The lists are those of vf_program_run. */
ir_status fe_witness_run(fe_witness *w, const vf_program *program, struct fe_watched_run *run,
                         const void *const *inputs, const int64_t *variables, ir_error *error);

#endif
