/* A plan as bytes that need no graph: what the cache keeps of a program besides its code.
 *
 * A head with counts, then the arrays of rt_plan below in their order, each at a multiple of 8; the literal
 * arrays come last, at multiples of 64. The size is a multiple of 64. All references are numbers or offsets,
 * so the bytes may lie anywhere in memory. The byte order is the host's: the cache key contains the
 * target. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PLAN_FILE_H
#define VIEWFOLD_RUNTIME_PROGRAM_PLAN_FILE_H

#include "ir/plan.h"
#include "runtime/cache/kernel_key.h"
#include "runtime/program/values.h"

#define RT_PLAN_MAGIC   0x316e616c70676676u /* "vfgplan1" */
#define RT_PLAN_VERSION 5u
#define RT_PLAN_ALIGN   64

typedef struct rt_plan_head {
  uint64_t magic;
  uint32_t version;
  uint32_t kernels; /* different kernels; entries of the image that belongs to the plan */
  uint64_t size;    /* of the plan in bytes */
  uint64_t data;    /* bytes of literal arrays */
  uint32_t vars, values, slots, results, steps;
  uint32_t dims, step_slots, step_vars; /* lengths of the arrays of these names */
  uint32_t names;                       /* bytes of all names, each ending in NUL; the first is the graph's */
  uint32_t zero;
} rt_plan_head;

typedef struct rt_plan_var {
  uint32_t name, zero; /* offset in names */
  int64_t lo, hi, divisor;
} rt_plan_var;

typedef struct rt_plan_slot {
  uint8_t kind, dtype; /* ir_slot_kind, ir_dtype */
  uint16_t rank;
  uint32_t dims;     /* index in dims of its first size */
  uint32_t elements; /* index in values */
  uint32_t name;     /* offset in names: of an input's name, else of the empty name */
  uint64_t data;     /* of IR_SLOT_DATA: offset among the literal arrays; of IR_SLOT_ALIAS: the number of the
                        step that sets it, and in the upper 32 bits its index in step_slots */
} rt_plan_slot;

/* The fields of ir_step. */
typedef struct rt_plan_step {
  uint8_t kind, reverse; /* ir_step_kind, bool */
  uint16_t axis;
  uint32_t kernel; /* of a KERNEL: number of its code; of a CALL: offset of its name in names; of an
                      EXCHANGE: offset of its kind there */
  uint32_t count, work, flops; /* indices in values */
  uint32_t slots, slot_count;  /* the first index in step_slots, and how many */
  uint32_t written;            /* of a KERNEL: how many of them, the first ones, it writes */
  uint32_t vars, var_count;    /* likewise in step_vars: the variables that the kernel reads */
  uint32_t inside[2];
  uint32_t carries;
  uint64_t attributes, attribute_bytes; /* of a CALL: offset among the literal arrays, and length; of an
                                           EXCHANGE: the first index in dims of where its result begins, one
                                           for each axis, and then of where its operand does; of a WAIT: the
                                           number of the EXCHANGE */
} rt_plan_step;

typedef struct rt_plan {
  const rt_plan_head *head;
  const rt_plan_var *vars;
  const rt_value *values;
  const rt_plan_slot *slots;
  const uint32_t *results; /* indices in slots */
  const rt_plan_step *steps;
  const uint32_t *dims, *step_slots, *step_vars;
  const char *names;
  const uint8_t *data;
} rt_plan;

/* Is it a WHILE or a SCAN? */
static inline bool rt_is_loop(const rt_plan_step *s) { return ir_is_loop_step((ir_step_kind)s->kind); }
/* How many of the steps that follow belong to its functions, those inside of them included. */
static inline uint32_t rt_inside(const rt_plan_step *s) { return s->inside[0] + s->inside[1]; }

/* The order of the slots of a WHILE and of a SCAN: the predicate of a WHILE, five slots of each carried
 * value, then a pair for each sliced array. */
enum { RT_CARRY = 5, RT_CARRY_INIT = 0, RT_CARRY_THIS, RT_CARRY_NEXT, RT_CARRY_RESULT, RT_CARRY_SPARE };
enum { RT_SLICED = 2, RT_SLICED_WHOLE = 0, RT_SLICED_SLICE };
static inline uint32_t rt_first_carry(const rt_plan_step *s) { return s->kind == IR_STEP_WHILE; }
static inline uint32_t rt_first_pair(const rt_plan_step *s) {
  return rt_first_carry(s) + RT_CARRY * s->carries;
}

/* Does the step set the slot at this index among its slots, which is then a moving slot? */
bool rt_is_moved(const rt_plan_step *step, uint32_t place);

/* Size of the plan at the beginning of these bytes, or 0 when there is none. */
size_t rt_plan_size(const void *bytes, size_t size);

/* Checks all numbers and makes *out point into the bytes, which must be aligned to 8 (for aligned literal
 * arrays to RT_PLAN_ALIGN). False when anything is wrong. Afterwards only sizes remain to be checked, because
 * they depend on the values of variables. */
bool rt_plan_read(const void *bytes, size_t size, rt_plan *out);

/* Makes the bytes of a plan, their size rounded up to RT_PLAN_ALIGN. out->kernels receives one key for each
 * different kernel, in the order of their numbers: kernel_count keys in an array with room for kernel_cap. */
typedef struct rt_plan_bytes {
  uint8_t *bytes;
  size_t size;
  rt_kernel_key *kernels;
  size_t kernel_count, kernel_cap;
} rt_plan_bytes;
ir_status rt_plan_make(const ir_mem *mem, const char *name, const ir_graph *graph, const ir_plan *plan,
                       rt_plan_bytes *out, ir_error *error);
void rt_plan_bytes_free(const ir_mem *mem, rt_plan_bytes *bytes);

/* Computes the offset of each array of a plan, and in the last element that of the literal arrays. False when
 * the head's counts are impossible. */
enum { RT_PLAN_ARRAYS = 10 };
bool rt_plan_offsets(const rt_plan_head *head, uint64_t offset[RT_PLAN_ARRAYS + 1]);

#endif
