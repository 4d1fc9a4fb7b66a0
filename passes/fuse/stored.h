/* The folder passes/fuse. Fusion.
 *
 *   in      a lowered graph, function by function
 *   out     which values live in memory, and which kernels share a loop over rows or over blocks of keys
 *   holds   decided by sizes, uses and the target alone */

/* Which values live in memory (stored.c), and the state of scheduling while the kernels of a function are
 * chosen. */
#ifndef VIEWFOLD_PASSES_FUSE_STORED_H
#define VIEWFOLD_PASSES_FUSE_STORED_H

#include "passes/passes.h"
#include "passes/patterns/recompute.h"
#include "passes/strategy.h"

enum {
  SCHEDULE_STORED = 16, /* flag of a value that has memory of its own, beside those of stored.c */
  /* cost (passes/cost/element.c) of a value at repeated indices that is stored: that of an elementary
     function */
  SCHEDULE_MIN_STORED_COST = 12
};

typedef struct scheduler {
  ir_graph *g;
  const ir_target *target;
  const pass_strategy *strategy; /* the target's */
  const uint8_t *not_fused;      /* by node: no fused row group may compute it; NULL: any may */
  const uint8_t *stored;         /* by node: it lies in memory in any case; NULL: none does */
  ir_plan *plan;
  ir_error *error;
  bool failed; /* error says why */
  size_t nodes;
  uint32_t size_count; /* symbolic sizes of the graph */
  /* by node, for the function being scheduled */
  uint8_t *flags;
  uint16_t *cost;   /* operations fused into one element of the value, saturating */
  uint16_t *remaps; /* views among them that may leave divisions, masks or selects in the index, saturating */
  uint16_t *reads;  /* upper bound of the arrays that a kernel of the value reads, saturating */
  uint8_t *uses;    /* uses by other nodes, saturating */
  ir_ref *wanted;   /* of a sort: elements of each line that are read, the first ones */
  uint8_t *epilogues; /* as pass_epilogues leaves them */
  pass_sharing sharing;
  const struct fuse_plan *fusion; /* of the function being scheduled */
  uint32_t *slot_of;              /* slot + 1 */
  uint32_t *data_of;              /* of DATA nodes, for all functions: slot + 1 */
  /* the results of the function being scheduled; live: all that they are made of, in topological order */
  const ir_ref *results;
  uint32_t result_count;
  ir_ref *live;
  size_t count, cap;
} scheduler;

/* Has it memory without being computed by a kernel of the function? */
static inline bool schedule_is_leaf(ir_op op) {
  return op == IR_OP_INPUT || op == IR_OP_BUFFER || op == IR_OP_DATA || op == IR_OP_RESOURCE ||
         op == IR_OP_RESULT;
}

/* Is it a node with operands in memory, and with results that RESULT nodes read? */
static inline bool schedule_is_call(ir_op op) { return ir_has_results(op); }

/* Lowering leaves sorts for targets that have steps for them. */
static inline bool schedule_is_sort(ir_op op) { return op == IR_OP_SORT || op == IR_OP_ARGSORT; }

/* Is it computed by a step of its own that is no kernel, from an operand in memory? */
static inline bool schedule_is_step(ir_op op) { return schedule_is_sort(op) || op == IR_OP_EXCHANGE; }

/* Sets flags, uses, cost, remaps, reads and sharing of all nodes in s->live. */
void schedule_uses(scheduler *s);
/* The number of arrays that a kernel can be passed; UINT32_MAX: any. */
uint32_t schedule_most_slots(const scheduler *s);

#endif
