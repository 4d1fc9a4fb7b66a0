/* A plan: the result of the passes and the input of the runtime. It lists buffers (slots) and steps in order.
 * Sizes are index expressions over the graph's variables, evaluated when a run supplies the variables'
 * values. Offsets of intermediates are not part of a plan: the runtime lays out one arena by lifetimes, which
 * follow from the order of steps.
 *
 * The list of steps is flat: a step that calls functions is followed by the steps of its first function, then
 * by those of its second; `function_steps` counts them. A function is expanded at each call, so its steps
 * name slots of the same table. */
#ifndef VIEWFOLD_IR_PLAN_H
#define VIEWFOLD_IR_PLAN_H

#include "ir.h"

enum { IR_MAX_STEPS = 1 << 16 }; /* steps of functions included; functions nest at most IR_MAX_DEPTH deep */

/* A kernel that depends on constants alone runs once, when a program is bound to them, if it writes at most
 * so many times the elements that it reads, bytes as f32 among them: what it writes takes memory as long as
 * the program, in place of a share of an arena. Panels have at most twice the columns, since the last is
 * filled. */
enum { IR_MAX_HOISTED_GROWTH = 2 };
/* The mode of a KERNEL node whose kernel runs once, and for so short that its code is made quickly rather
 * than to be fast; otherwise 0. Kernels of different modes have different keys. */
enum { IR_KERNEL_ONCE = 1 };

typedef enum ir_slot_kind {
  IR_SLOT_INPUT,    /* the caller's, read only */
  IR_SLOT_OUTPUT,   /* the caller's, written by the program alone */
  IR_SLOT_TEMP,     /* an intermediate */
  IR_SLOT_DATA,     /* a literal array of the graph */
  IR_SLOT_ALIAS,    /* no memory of its own: points into the memory of others, set anew by one loop in each
                        iteration */
  IR_SLOT_RESOURCE, /* an array that an owner outside of the graph keeps, given when a program is bound */
  IR_SLOT_KINDS
} ir_slot_kind;

typedef struct ir_slot {
  ir_slot_kind kind;
  ir_ref value;    /* a tensor node that it holds: gives dtype and shape; a DATA node for IR_SLOT_DATA */
  ir_ref elements; /* index expression */
} ir_slot;

/* What a step does, and its slots in order.
 *   KERNEL  launches a kernel: the slot of each PARAM
 *   COPY    to, from
 *   COND    runs one of two functions: predicate, then the results, which both functions write
 *   WHILE   runs its first function, which writes the predicate, and while that holds its second: predicate,
 *           then five slots of each carried value
 *   SCAN    runs its function `count` times: five slots of each carried value; then two of each operand that
 *           is sliced and of each result that is stacked: the whole array, and a moving slot, the slice of
 *           the current iteration
 *   CALL    a custom operation: results, then operands
 *   SORT    the elements of each line along an axis in order: to, from
 *   ARGSORT the indices that they have there: to, from
 *   EXCHANGE starts to bring a box of an array that is distributed over devices: to, from
 *   WAIT    until an EXCHANGE before it in the same function is done, with the same slots: before it `to` is
 *           not used, nor `from` written
 * The five slots of a carried value: its initial value; a moving slot, its value in the current iteration; a
 * moving slot, where the current iteration writes the next value; the result; a spare buffer of the same
 * size. Iterations write alternately to the last two (double buffering). Where these are one slot, iterations
 * change it in place, and use the first moving slot alone. */
typedef enum ir_step_kind {
  IR_STEP_KERNEL,
  IR_STEP_COPY,
  IR_STEP_COND,
  IR_STEP_WHILE,
  IR_STEP_SCAN,
  IR_STEP_CALL,
  IR_STEP_SORT,
  IR_STEP_ARGSORT,
  IR_STEP_EXCHANGE,
  IR_STEP_WAIT,
  IR_STEP_KINDS
} ir_step_kind;
extern const char *const ir_step_names[IR_STEP_KINDS];

/* The role of a value in a fused row group that processes one axis of its values (the keys) in blocks. */
typedef enum ir_fused_role {
  IR_FUSED_PLAIN,   /* computed after all blocks */
  IR_FUSED_BLOCK,   /* has a keys axis: computed one block at a time */
  IR_FUSED_WEIGHT,  /* the same, exp(x - s) */
  IR_FUSED_MAXIMUM, /* the maximum of x over the keys */
  IR_FUSED_SUM      /* the sum over the keys of multiples of the weight */
} ir_fused_role;

/* One of the tensors that a fused row group computes. A fused row group is a kernel that computes several
 * tensors, one after the other in each iteration of the loops that they share. */
typedef struct ir_fused_value {
  ir_ref value;
  bool local;      /* later values of the group read it, from a local */
  bool transposed; /* the local is transposed: the rows of an iteration are contiguous, one element of each */
  bool copied;     /* the value is in memory already, and is only copied to the local */
  uint32_t slot;   /* where it is stored; UINT32_MAX: only in the local */
  uint8_t axes[IR_MAX_RANK]; /* of the value: the axis that each shared loop indexes */
  uint8_t keys;              /* the keys axis: of a BLOCK or WEIGHT, of the value; of a SUM, of its operand */
  ir_fused_role role;
} ir_fused_value;

/* Does its local hold one block of keys? */
static inline bool ir_has_key_block(const ir_fused_value *v) {
  return v->role == IR_FUSED_BLOCK || v->role == IR_FUSED_WEIGHT;
}

typedef struct ir_row_group {
  ir_fused_value *values;
  uint32_t count;
  uint32_t loops; /* shared loops, outermost first */
  int64_t rows;   /* indices of the innermost shared loop that one iteration covers, or the most */
  int64_t
      elements;  /* of about so many elements of a row of variable size is an iteration; 0: of `rows` rows */
  int64_t block; /* keys that are processed together; 0: the group has no key blocks */
} ir_row_group;

/* Why a kernel is not in the same fused row group as the earlier kernel that computes what it reads. */
typedef enum ir_not_fused {
  IR_NOT_FUSED_NONE,  /* it is in the group, or it reads nothing of an earlier kernel, or it comes too late */
  IR_NOT_FUSED_LOOPS, /* it reads the value at other indices than those of the loops: no loop can be shared */
  IR_NOT_FUSED_ROWS,  /* the rows do not fit in a cache, or there are too few */
  IR_NOT_FUSED_TILES, /* a contraction reuses what it reads for more rows than fit */
  IR_NOT_FUSED_MASKS, /* it is split where its masks end, in loops of its own */
  IR_NOT_FUSED_COUNT
} ir_not_fused;

/* A tensor node and the slot that holds it. */
typedef struct ir_stored {
  ir_ref node;
  uint32_t slot;
} ir_stored;

/* A kernel as it is, and with a value stored that is fused into it: predicted times of one run on one thread
 * (passes/alternatives). */
typedef struct ir_alternative {
  ir_ref value;               /* the tensor node that is stored, or would be; 0: nothing was compared */
  double fused_ns, stored_ns; /* stored: of all kernels that take the place of the one */
  bool taken;                 /* the value is stored: this step computes it, or a reader of it */
} ir_alternative;

typedef struct ir_step {
  ir_ref kernel; /* of a KERNEL: a KERNEL node; before the pass fold, the tensor node that it computes. Of an
                    EXCHANGE or WAIT: that node */
  ir_ref count;  /* index expression. KERNEL: extent of the thread loop, the end of the range that the kernel
                    accepts; COPY: elements; WHILE: maximum iterations, below 0: no limit; SCAN: iterations;
                    SORT, ARGSORT: elements of each line that are read, the first ones */
  ir_ref work;   /* KERNEL: index expression: estimate of scalar operations and bytes of the whole launch */
  ir_ref flops;  /* KERNEL: index expression: floating-point operations; 0: not counted */
  ir_ref magnitude; /* KERNEL: index expression: the kernel may run only if evaluating this does not overflow;
                       0: always */
  uint32_t *slots;  /* of a KERNEL: the slots that it writes come first */
  uint32_t slot_count;
  ir_row_group row_group; /* of a KERNEL that computes one tensor: no values */
  ir_not_fused not_fused;
  ir_step_kind kind;
  uint32_t
      function_steps[2]; /* how many of the following steps belong to its first and its second function */
  uint32_t carries;      /* number of carried values; of a CALL: of results */
  uint32_t axis;         /* of a SORT or ARGSORT */
  bool reverse;          /* a SCAN that begins with the last slice; a SORT or ARGSORT in descending order */
  int64_t name, attributes; /* of a CALL: interned name, and interned bytes of its attributes; -1: none */
  uint32_t first_stored, stored_count; /* the entries of ir_plan.stored that hold at this step */
  /* KERNEL: further values that are in memory for this step, where others compute them */
  ir_stored *own_stored;
  uint32_t own_count;
  ir_alternative alternative; /* KERNEL: the best one that was compared */
  uint32_t made_as; /* its number when kernels were made, before exchanges changed the order; of a WAIT: that
                       of its EXCHANGE */
} ir_step;

typedef struct ir_plan {
  const ir_mem *mem;
  ir_slot *slots;
  size_t slot_count, slot_cap;
  ir_step *steps;
  size_t step_count, step_cap;
  uint32_t *results; /* slot of each result of the graph, in order; results may share a slot */
  size_t result_count;
  ir_stored *stored; /* what passes need to generate kernels from tensors: the entries of a function follow
                        one another, in order of nodes */
  size_t stored_count, stored_cap;
} ir_plan;

/* The number of slots that a kernel step writes; they come first. */
static inline uint32_t ir_written_slots(const ir_step *step) {
  uint32_t count = step->row_group.count == 0;
  for (uint32_t i = 0; i < step->row_group.count; i++) count += step->row_group.values[i].slot != UINT32_MAX;
  return count;
}

/* Is the value computed by the step's fused row group? */
static inline bool ir_in_row_group(const ir_step *step, ir_ref value) {
  for (uint32_t i = 0; i < step->row_group.count; i++)
    if (step->row_group.values[i].value == value) return !step->row_group.values[i].copied;
  return false;
}

/* Is it WHILE or SCAN, whose functions run again for each iteration? */
static inline bool ir_is_loop_step(ir_step_kind kind) {
  return kind == IR_STEP_WHILE || kind == IR_STEP_SCAN;
}

/* Does it sort lines? */
static inline bool ir_is_sort_step(ir_step_kind kind) {
  return kind == IR_STEP_SORT || kind == IR_STEP_ARGSORT;
}

/* Frees what the step holds. */
void ir_step_free(const ir_mem *mem, ir_step *step);
/* Frees all that the plan holds and leaves it empty, with the same mem. The plan may be all zero. */
void ir_plan_free(ir_plan *plan);

#endif
