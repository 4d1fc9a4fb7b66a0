/* A run on an OpenCL device, for the files that implement it. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_RUN_H
#define VIEWFOLD_RUNTIME_OPENCL_RUN_H

#include "runtime/opencl/device.h"
#include "runtime/program/run.h"

/* An array of the host and the device memory that stands for it. */
typedef struct rt_cl_bound {
  void *host, *wrapped; /* wrapped: address of a buffer on the host's bytes, or NULL */
  rt_block block;       /* otherwise the block that holds a copy */
  size_t bytes;
  bool unsent;                 /* an input that has not been sent yet */
  struct rt_cl_bound *changed; /* of a result: the input in whose block it is; NULL: it has its own */
  const rt_step *last;         /* of a result: the last step that uses it; NULL: none, or not known */
  cl_event done;               /* event after the last step; NULL: not set */
} rt_cl_bound;

/* The state of a run, to which rt_run.device points. */
typedef struct rt_cl_state {
  cl_command_queue queue; /* of the current run */
  cl_kernel *kernels;
  cl_mem status, *status_words; /* status words of all steps that check; by step, its sub-buffer or NULL */
  size_t stride;                /* bytes from one word to the next */
  uint32_t checking;            /* number of steps that check */
  bool dirty;                   /* a word may be set */
  bool unread;                  /* a step that checks has been sent since the host read the words */
  uint8_t *read;                /* receives all words */
  void **inputs, **outputs;     /* device addresses of the arrays */
  rt_cl_bound *bound;           /* all inputs, then all results */
  size_t unsent_count;          /* number of inputs not sent yet */
  rt_cl_staging *staging;       /* where the device computes in copies of the host's arrays, else NULL */
} rt_cl_state;

/* IR_ERR_RANGE where an index check of the commands waited for has failed. */
ir_status rt_cl_check(const rt_program *program, rt_cl_state *state, ir_error *error);

/* The next step after this one and the steps inside it. */
static inline const rt_step *rt_step_after(const rt_step *s) {
  return s + 1 + (s->grain == RT_GRAIN_OTHER ? s->inside[0] + s->inside[1] : 0);
}

/* Defined in arrays.c: a run on arrays of the host. Every rt_cl_bind, failed ones included, must be followed
 * by rt_cl_unbind, which waits for all commands of the run. */
ir_status rt_cl_bind(const rt_program *program, const rt_frame *frame, rt_cl_state *state,
                     const rt_arguments *arguments, ir_error *error);
/* Sends the input at this address if it has not been sent. To be called before any command that uses the
 * address. */
ir_status rt_cl_send_input(const rt_run_context *run, const void *address);
ir_status rt_cl_note_results(const rt_run_context *run, const rt_step *step); /* after a top-level step */
/* Makes the host's results current; changed: only arrays that the run was given and has changed. */
ir_status rt_cl_fetch(const rt_program *program, rt_cl_state *state, bool changed, ir_error *error);
ir_status rt_cl_unbind(const rt_program *program, rt_cl_state *state, ir_error *error);

#endif
