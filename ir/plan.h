/* A plan: what the passes hand to the runtime. Buffers by slot, steps in order. Sizes are index expressions
 * of the graph's variables, evaluated when a run supplies the variables' values. Offsets of intermediates are
 * not part of a plan: the runtime lays one arena out by lifetime, which the order of steps implies.
 *
 * The list of steps is flat: a step that calls functions is followed by the steps of its first function, then
 * by those of its second, and their numbers are all that says so. A function is written out where it is
 * called, so its steps name slots of the one table. */
#ifndef VIEWFOLD_IR_PLAN_H
#define VIEWFOLD_IR_PLAN_H

#include "ir.h"

enum { IR_MAX_STEPS = 1 << 16 }; /* with those of functions; they nest IR_MAX_DEPTH deep at most */

typedef enum ir_slot_kind {
  IR_SLOT_INPUT,  /* the caller's, read only */
  IR_SLOT_OUTPUT, /* the caller's, written by the program alone */
  IR_SLOT_TEMP,   /* an intermediate */
  IR_SLOT_DATA,   /* a literal array of the graph */
  IR_SLOT_MOVING  /* no memory of its own: part of others', set by one loop in every round */
} ir_slot_kind;

typedef struct ir_slot {
  ir_slot_kind kind;
  ir_ref value;    /* a tensor node that it holds: gives dtype and shape; a DATA node for IR_SLOT_DATA */
  ir_ref elements; /* index expression */
} ir_slot;

/* What a step does, and its slots in order.
 *   KERNEL  launches a kernel: of each PARAM
 *   COPY    to, from
 *   COND    runs one of two functions: predicate, then the results, which both functions write
 *   WHILE   runs its first function, which writes the predicate, and while that holds its second: predicate,
 *           then five slots of each carried value
 *   SCAN    runs its function `count` times: five slots of each carried value; then two of each operand that
 *           is sliced and of each result that is stacked: the whole and, moving, the part of this round
 *   CALL    a custom operation: results, then operands
 * The five slots of a carried value: what it is before the first round; moving, what it is in this round;
 * moving, where this round writes it; the result; a spare buffer of its size. Rounds alternate between the
 * last two. */
typedef enum ir_step_kind {
  IR_STEP_KERNEL,
  IR_STEP_COPY,
  IR_STEP_COND,
  IR_STEP_WHILE,
  IR_STEP_SCAN,
  IR_STEP_CALL,
  IR_STEP_KINDS
} ir_step_kind;
extern const char *const ir_step_names[IR_STEP_KINDS];

/* What a value is where a slab goes over one of its axes (keys) in blocks. */
typedef enum ir_fused_role {
  IR_FUSED_PLAIN,   /* computed when all blocks are */
  IR_FUSED_BLOCK,   /* over the keys: one block at a time */
  IR_FUSED_WEIGHT,  /* the same, exp(x - s) */
  IR_FUSED_MAXIMUM, /* the maximum of x over the keys */
  IR_FUSED_SUM      /* over the keys, of multiples of the weight */
} ir_fused_role;

/* Of a kernel that computes several tensors, one after the other at each position of the loops that they
 * share (a slab): one of them, in order. */
typedef struct ir_fused_value {
  ir_ref value;
  bool local;                /* those behind it read it, from a local */
  bool transposed;           /* in which the rows of a round lie side by side, not one after the other */
  bool copied;               /* the value lies in memory already, and is only taken into the local */
  uint32_t slot;             /* where it goes; UINT32_MAX: only there */
  uint8_t axes[IR_MAX_RANK]; /* of the value: the axis that walks each shared loop */
  uint8_t keys;              /* of a BLOCK or WEIGHT: that axis of the value; of a SUM: of its operand */
  ir_fused_role role;
} ir_fused_value;

/* Does a local of it hold one block of keys? */
static inline bool ir_has_key_block(const ir_fused_value *v) {
  return v->role == IR_FUSED_BLOCK || v->role == IR_FUSED_WEIGHT;
}

typedef struct ir_row_group {
  ir_fused_value *values;
  uint32_t count;
  uint32_t loops; /* outermost first */
  int64_t rows;   /* positions of the innermost that one round takes */
  int64_t block;  /* keys that are taken together; 0: the slab has none */
} ir_row_group;

/* Why a kernel that reads what an earlier one computes is not in one slab with that. */
typedef enum ir_apart {
  IR_APART_NOT,   /* it is, or reads nothing of the kind, or comes too late */
  IR_APART_LOOPS, /* it reads other positions than those at which the loops stand: none can be shared */
  IR_APART_ROWS,  /* rows do not fit in a cache, or there are too few */
  IR_APART_TILES, /* a contraction uses what it reads over more rows than fit */
  IR_APART_MASKS, /* it is cut where masks end */
  IR_APART_COUNT
} ir_apart;

typedef struct ir_step {
  ir_ref kernel; /* of a KERNEL: a KERNEL node, before fold the tensor node that it computes */
  ir_ref count;  /* index expression. KERNEL: extent of the thread loop, the end of the range that the kernel
                    accepts; COPY: elements; WHILE: most rounds, below 0: any number; SCAN: rounds */
  ir_ref work;   /* KERNEL: index expression: scalar operations and bytes of the whole launch, roughly */
  ir_ref flops;  /* KERNEL: index expression: operations on floats; 0: not counted */
  ir_ref magnitude; /* KERNEL: index expression: the kernel may run where evaluating it does not overflow; 0:
                       always */
  uint32_t *slots;  /* of a KERNEL: those that it writes come first */
  uint32_t slot_count;
  ir_row_group row_group; /* of a KERNEL that computes one tensor: of no values */
  ir_apart apart;
  ir_step_kind kind;
  uint32_t inside[2];       /* how many of the steps that follow are its first and its second function's */
  uint32_t carries;         /* carried values; of a CALL: results */
  bool reverse;             /* a SCAN that begins with the last slice */
  int64_t name, attributes; /* of a CALL: interned name, and bytes that say more; -1: none */
  uint32_t first_stored, stored_count; /* what is in memory where this step is */
} ir_step;

/* In one function: this tensor node is in memory, in this slot. Of each function in order of nodes. */
typedef struct ir_stored {
  ir_ref node;
  uint32_t slot;
} ir_stored;

typedef struct ir_plan {
  const ir_mem *mem;
  ir_slot *slots;
  size_t slot_count, slot_cap;
  ir_step *steps;
  size_t step_count, step_cap;
  uint32_t *results; /* slot of each result of the graph, in order; results may share a slot */
  size_t result_count;
  ir_stored *stored; /* what passes need to make kernels of tensors */
  size_t stored_count, stored_cap;
} ir_plan;

/* How many of a kernel step's slots it writes. */
static inline uint32_t ir_written_slots(const ir_step *step) {
  uint32_t count = step->row_group.count == 0;
  for (uint32_t i = 0; i < step->row_group.count; i++) count += step->row_group.values[i].slot != UINT32_MAX;
  return count;
}

/* Does the kernel of the step compute the value, as one of several? */
static inline bool ir_in_row_group(const ir_step *step, ir_ref value) {
  for (uint32_t i = 0; i < step->row_group.count; i++)
    if (step->row_group.values[i].value == value) return !step->row_group.values[i].copied;
  return false;
}

static inline bool ir_is_loop_step(ir_step_kind kind) {
  return kind == IR_STEP_WHILE || kind == IR_STEP_SCAN;
}

void ir_plan_free(ir_plan *plan);

#endif
