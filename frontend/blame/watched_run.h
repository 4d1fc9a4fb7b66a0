/* Runs that stop where an operation makes a NaN or an infinity. */
#ifndef VIEWFOLD_FRONTEND_BLAME_WATCHED_RUN_H
#define VIEWFOLD_FRONTEND_BLAME_WATCHED_RUN_H

#include "frontend/blame/blame.h"
#include "ir/custom.h"
#include "runtime/runtime.h"

/* Memory of the caller that a run changes, of an input that is a reference. */
typedef struct fe_changed {
  void *memory;
  size_t bytes;
} fe_changed;

typedef struct fe_watched_run {
  const rt_program *program;
  unsigned kinds;                       /* rt_watch.kinds */
  void *const *inputs, *const *outputs; /* of rt_program_run, */
  const int64_t *values;                /* with its variables */
  const fe_blamed *blamed;              /* the graph, bound to all inputs but constants */
  const fe_changed *changed;
  size_t changed_count;
  const ir_customs *customs;
} fe_watched_run;

/* rt_program_run that fails with IR_ERR_VALUE, and a message of fe_blame_value, where an operation makes one;
 * what a run changes is then as it was before. Where such values come from inputs and constants, the run goes
 * on. */
ir_status fe_run_watched(const fe_watched_run *run, ir_error *error);

#endif
