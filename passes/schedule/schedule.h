/* The folder passes/schedule. The plan.
 *
 *   in      what fusion has decided
 *   out     slots and steps, in a topological order; kernel steps hold tensor values
 *   holds   each slot is written before it is read */

/* Inside scheduling: what lives in memory (passes/fuse/stored.c), and the steps that compute it (steps.c,
 * control.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H
#define VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H

#include "passes/fuse/stored.h"

/* Choose which values live in memory; one kernel step for each computed one, kernel field = its
 * tensor node, and steps for the nodes that call functions. `apart`: by node up to the results, 1 for those
 * that no slab may compute; NULL: there are none. */
ir_status pass_schedule(ir_graph *g, ir_ref results, const ir_target *target, const ir_ref *inputs,
                        size_t input_count, const uint8_t *apart, ir_plan *plan, ir_error *error);

/* A function where it is called, or, at depth 0, the whole graph. */
typedef struct schedule_scope {
  const ir_ref *results;
  const uint32_t *targets; /* slots that the results are to be in */
  uint32_t result_count;
  const ir_ref *params;
  const uint32_t *param_slots;
  uint32_t param_count;
  uint32_t first, count; /* in plan->stored */
  unsigned depth;
} schedule_scope;

/* steps.c */
/* The steps of a function, appended to the plan. Goes down into the functions that it calls, IR_MAX_DEPTH
 * deep at most. */
void schedule_function(scheduler *s, schedule_scope *f);
/* The slot of a node that the function has in memory; UINT32_MAX: it has not. */
uint32_t schedule_slot_of(const scheduler *s, const schedule_scope *f, ir_ref node);
uint32_t schedule_add_slot(scheduler *s, ir_slot_kind kind, ir_ref value);
/* Its slots are to be filled in; NULL on failure. Valid until the next step. */
ir_step *schedule_add_step(scheduler *s, const schedule_scope *f, ir_step_kind kind, uint32_t slot_count);
void schedule_fail(scheduler *s);

/* control.c: the steps of a CONTROL node */
void schedule_control(scheduler *s, const schedule_scope *f, ir_ref node);
/* The CALL step of a CUSTOM node. */
void schedule_custom(scheduler *s, const schedule_scope *f, ir_ref node);
/* The CALL step of a node that stands for a custom operation: likes[k] is a tensor node of the type of result
 * k. name and attributes are interned (attributes -1: none). Operands are the node's. */
void schedule_call(scheduler *s, const schedule_scope *f, ir_ref node, int64_t name, int64_t attributes,
                   const ir_ref *likes, uint32_t count);

#endif
