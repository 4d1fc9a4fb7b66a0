/* A run of a program with other steps than kernels. */
#ifndef VIEWFOLD_RUNTIME_RUN_H
#define VIEWFOLD_RUNTIME_RUN_H

#include "runtime/program.h"

typedef struct rt_going {
  const rt_program *program;
  const rt_frame *frame;
  rt_run *run;               /* its table of temporaries is where slots move */
  void *const *const *bases; /* the pointers of each kind of slot */
  void **buffers;            /* room for the parameters of any kernel and one more */
  ir_error *error;
  int64_t *ns_by_step; /* of a timed run, else NULL */
} rt_going;

static inline void *rt_address(void *const *const *bases, uint32_t source) {
  return bases[source >> RT_SOURCE_SHIFT][source & RT_SOURCE_NUMBER];
}

/* run.c: the steps before end. Calls itself through rt_run_other, as deep as a plan may be nested. */
ir_status rt_run_steps(const rt_going *run, const rt_step *steps, const rt_step *end);
/* run_steps.c: a step that is no kernel */
ir_status rt_run_other(const rt_going *run, const rt_step *step);

#endif
