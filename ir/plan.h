/* A plan: what the passes hand to the runtime. Buffers by slot, launches in order. Sizes are index
 * expressions of the graph's variables, evaluated when a run supplies the variables' values. Offsets of
 * intermediates are not part of a plan: the runtime lays one arena out by lifetime, which the order of
 * launches implies. */
#ifndef VIEWFOLD_IR_PLAN_H
#define VIEWFOLD_IR_PLAN_H

#include "ir.h"

typedef enum ir_slot_kind {
  IR_SLOT_INPUT,  /* the caller's, read only */
  IR_SLOT_OUTPUT, /* the caller's, written once by one launch */
  IR_SLOT_TEMP,   /* an intermediate */
  IR_SLOT_DATA    /* a literal array of the graph */
} ir_slot_kind;

typedef struct ir_slot {
  ir_slot_kind kind;
  ir_ref value;    /* the tensor node that it holds: gives dtype and shape; a DATA node for IR_SLOT_DATA */
  ir_ref elements; /* index expression */
} ir_slot;

typedef struct ir_launch {
  ir_ref kernel; /* KERNEL node */
  ir_ref
      count;   /* index expression: extent of the thread loop, the end of the range that the kernel accepts */
  ir_ref work; /* index expression: scalar operations and bytes of the whole launch, roughly */
  uint32_t *slots; /* slot of each PARAM, in order */
  uint32_t slot_count;
} ir_launch;

typedef struct ir_plan {
  const ir_mem *mem;
  ir_slot *slots;
  size_t slot_count, slot_cap;
  ir_launch *launches;
  size_t launch_count, launch_cap;
  uint32_t *results; /* slot of each result of the graph, in order; results may share a slot */
  size_t result_count;
} ir_plan;

void ir_plan_free(ir_plan *plan);

#endif
