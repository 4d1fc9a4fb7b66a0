/* Inside scheduling: what lives in memory (passes/fuse/stored.c), and the steps that compute it (steps.c,
 * control.c). */
#ifndef VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H
#define VIEWFOLD_PASSES_SCHEDULE_SCHEDULE_H

#include "passes/passes.h"
#include "passes/patterns/recompute.h"

enum { SCHEDULE_STORED = 16 }; /* flag of a value that lives in memory */

typedef struct scheduler {
  ir_graph *g;
  const ir_target *target;
  const uint8_t *apart; /* by node: no slab may compute it; NULL: none is such */
  ir_plan *plan;
  ir_error *error;
  bool failed; /* and error says why */
  size_t nodes;
  uint32_t size_count; /* symbolic sizes of the graph */
  /* by node, for the function at hand */
  uint8_t *flags;
  uint16_t *cost;   /* operations fused into one element of the value, saturating */
  uint16_t *remaps; /* views among them that may leave divisions, masks or choices in the index, saturating */
  uint16_t *reads;  /* arrays that a kernel of the value would read, or more, saturating */
  uint8_t *uses;    /* saturating */
  uint8_t *tails;   /* as pass_tails leaves them */
  pass_sharing sharing;
  const struct slab_plan *slabs; /* of the function at hand */
  uint32_t *slot_of;             /* slot + 1 */
  uint32_t *data_of;             /* of DATA, for all functions: slot + 1 */
  /* the function at hand: its results, and what they are made of */
  const ir_ref *results;
  uint32_t result_count;
  ir_ref *live;
  size_t count, cap;
} scheduler;

/* What has memory without being computed in the function. */
static inline bool schedule_is_leaf(ir_op op) {
  return op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA || op == IR_OP_RESULT;
}

/* A node with operands in memory and results that RESULT takes. */
static inline bool schedule_is_call(ir_op op) { return ir_has_results(op); }

/* passes/fuse/stored.c: flags of all that the results of the function at hand are made of */
void schedule_uses(scheduler *s);
/* So many arrays can be passed to a kernel. */
uint32_t schedule_most_slots(const scheduler *s);

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
