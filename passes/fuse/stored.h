/* The folder passes/fuse. Fusion.
 *
 *   in      a lowered graph, function by function
 *   out     which values live in memory, and which kernels share a loop over rows or over blocks of keys
 *   holds   decided by sizes, uses and the target alone */

/* Which values live in memory, and all that is known of a function while its kernels are chosen. */
#ifndef VIEWFOLD_PASSES_FUSE_STORED_H
#define VIEWFOLD_PASSES_FUSE_STORED_H

#include "ir/plan.h"
#include "ir/target.h"
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
  uint8_t *epilogues; /* as pass_epilogues leaves them */
  pass_sharing sharing;
  const struct fuse_plan *fusion; /* of the function at hand */
  uint32_t *slot_of;              /* slot + 1 */
  uint32_t *data_of;              /* of DATA, for all functions: slot + 1 */
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

/* Flags of all that the results of the function at hand are made of */
void schedule_uses(scheduler *s);
/* So many arrays can be passed to a kernel. */
uint32_t schedule_most_slots(const scheduler *s);

#endif
