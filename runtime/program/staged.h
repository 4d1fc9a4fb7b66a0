/* Exchanges of a device whose memory the host does not read: the part goes to the host's memory before others
 * may read it, and what arrives goes from there to the device. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_STAGED_H
#define VIEWFOLD_RUNTIME_PROGRAM_STAGED_H

#include "runtime/program/run.h"

/* Host memory for one transfer in progress, which is kept for later ones. */
typedef struct rt_staged {
  uint8_t *part, *box;
  size_t part_room, box_room;
  void *to; /* the device address of the result */
} rt_staged;

/* The memory number `number` < RT_TRANSFERS of a run, with a box of the result's size; fetches the step's
 * operand if `reads`, for which it waits. NULL after failing. */
rt_staged *rt_staged_fetch(const rt_run_context *run, const rt_step *exchange, uint32_t number, bool reads);
/* Writes the box to the result of the step. */
ir_status rt_staged_deliver(const rt_run_context *run, uint32_t step, const rt_staged *staged);
void rt_staged_free(const ir_mem *mem, rt_staged *list); /* of RT_TRANSFERS; accepts NULL */

#endif
