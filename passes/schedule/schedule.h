/* The folder passes/schedule. The plan.
 *
 *   in      what fusion has decided
 *   out     slots and steps, in a topological order; kernel steps hold tensor values
 *   holds   each slot is written before it is read */

/* Internal to scheduling: which values are in memory (passes/fuse/stored.c), and the steps that compute them
 * (steps.c, control.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H
#define VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H

#include "passes/fuse/stored.h"

/* Chooses which values are in memory. The plan gets a kernel step for each of them that is computed, with its
 * tensor node as kernel, one for each fused row group, and steps for nodes that call functions. `not_fused`:
 * by node up to the results, 1 for those that no fused row group may compute; `stored`: likewise, 1 for those
 * that lie in memory whatever else is decided; NULL: there are none. On failure the plan is freed. */
ir_status pass_schedule(ir_graph *g, ir_ref results, const ir_target *target, const pass_strategy *strategy,
                        const ir_ref *inputs, size_t input_count, const uint8_t *not_fused,
                        const uint8_t *stored, ir_plan *plan, ir_error *error);

/* The number of elements of a tensor, for its slot; 0 when memory is short. */
ir_ref pass_slot_elements(ir_graph *g, ir_ref node);

/* A function at one of its calls, or, at depth 0, the whole graph. */
typedef struct schedule_scope {
  const ir_ref *results;
  const uint32_t *targets; /* the slots for the results */
  uint32_t result_count;
  const ir_ref *params;
  const uint32_t *param_slots;
  uint32_t param_count;
  uint32_t first, count; /* its entries in plan->stored */
  unsigned depth;
} schedule_scope;

/* steps.c */
/* Appends the steps of a function to the plan, and those of the functions that it calls, at most IR_MAX_DEPTH
 * deep. */
void schedule_function(scheduler *s, schedule_scope *f);
/* The slot of a node that is in memory in the function; UINT32_MAX: it is not. */
uint32_t schedule_slot_of(const scheduler *s, const schedule_scope *f, ir_ref node);
uint32_t schedule_add_slot(scheduler *s, ir_slot_kind kind, ir_ref value);
/* The caller fills in the slots. NULL on failure. The pointer is valid until the next step is added. */
ir_step *schedule_add_step(scheduler *s, const schedule_scope *f, ir_step_kind kind, uint32_t slot_count);
void schedule_fail(scheduler *s);

/* control.c: the steps of a CONTROL node. */
void schedule_control(scheduler *s, const schedule_scope *f, ir_ref node);
/* The CALL step of a CUSTOM node. */
void schedule_custom(scheduler *s, const schedule_scope *f, ir_ref node);
/* The CALL step of a node that stands for a custom operation: prototypes[k] is a tensor node of the type of
 * result k. name and attributes are interned (attributes -1: none). Operands are the node's. */
void schedule_call(scheduler *s, const schedule_scope *f, ir_ref node, int64_t name, int64_t attributes,
                   const ir_ref *prototypes, uint32_t count);

#endif
