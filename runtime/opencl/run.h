/* A run on an OpenCL device, as the files that make it see it. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_RUN_H
#define VIEWFOLD_RUNTIME_OPENCL_RUN_H

#include "runtime/opencl/device.h"
#include "runtime/program/run.h"

/* An array of the host's and what the device has in its place. */
typedef struct rt_cl_bound {
  void *host, *wrapped; /* wrapped: the address of a buffer on the host's bytes, or NULL */
  rt_block block;       /* else a copy */
  size_t bytes;
  bool coming;         /* an input that nothing needed yet */
  const rt_step *last; /* of a result: none after this writes it; NULL: not known */
  cl_event done;       /* it has been written; NULL: nobody noted */
} rt_cl_bound;

/* What rt_run.device is. */
typedef struct rt_cl_state {
  cl_command_queue queue; /* of the run at hand */
  cl_kernel *kernels;
  cl_mem status, *words;    /* of all steps that check; by step, the part of it that is its own, or NULL */
  size_t stride;            /* bytes from one word to the next */
  uint32_t checking;        /* steps that do */
  bool dirty;               /* a word may be set */
  uint8_t *read;            /* room for all words */
  void **inputs, **outputs; /* addresses of the host's arrays */
  rt_cl_bound *bound;       /* all inputs, then all results */
  size_t coming;            /* inputs that are */
  rt_cl_staging *staging;   /* of a run on copies of the host's arrays, else NULL */
} rt_cl_state;

/* IR_ERR_RANGE where a check failed in what was waited for. */
ir_status rt_cl_check(const rt_program *program, rt_cl_state *state, ir_error *error);

/* The step behind this one and what is inside it. */
static inline const rt_step *rt_step_after(const rt_step *s) {
  return s + 1 + (s->grain == RT_GRAIN_OTHER ? s->inside[0] + s->inside[1] : 0);
}

/* arrays.c: a run on arrays of the host's. Between binding and unbinding, which comes in any case and
 * ends what is under way: */
ir_status rt_cl_bind(const rt_program *program, const rt_frame *frame, rt_cl_state *state,
                     const rt_arguments *arguments, ir_error *error);
/* Commands from now on find at this address what belongs there. */
ir_status rt_cl_need(const rt_going *going, const void *address);
ir_status rt_cl_note_results(const rt_going *going,
                             const rt_step *step); /* after a step that is not inside one */
ir_status rt_cl_fetch(const rt_program *program, rt_cl_state *state, ir_error *error);
ir_status rt_cl_unbind(const rt_program *program, rt_cl_state *state, ir_error *error);

#endif
