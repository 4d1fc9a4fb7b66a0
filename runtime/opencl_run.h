/* A run on an OpenCL device, as the files that make it see it. */
#ifndef VIEWFOLD_RUNTIME_OPENCL_RUN_H
#define VIEWFOLD_RUNTIME_OPENCL_RUN_H

#include "runtime/opencl_device.h"
#include "runtime/run.h"

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
} rt_cl_state;

/* An array of the host's and what the device has in its place. */
typedef struct rt_cl_bound {
  void *host, *wrapped; /* wrapped: the address of a buffer on the host's bytes, or NULL */
  rt_block block;       /* else a copy */
  size_t bytes;
} rt_cl_bound;

/* IR_ERR_RANGE where a check failed in what was waited for. */
ir_status rt_cl_check(const rt_program *program, rt_cl_state *state, ir_error *error);

#endif
