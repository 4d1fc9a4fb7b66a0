/* A plan as bytes that need no graph: what the cache keeps of a program besides its code.
 *
 * A head with counts, then arrays in the order of rt_plan below, each at a multiple of 8, the literal arrays
 * last and at multiples of 64; the whole is a multiple of 64 long. Everything is by number or offset, so the
 * bytes may lie anywhere. Host byte order: the cache key names the machine. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_PLAN_FILE_H
#define VIEWFOLD_RUNTIME_PROGRAM_PLAN_FILE_H

#include "ir/plan.h"
#include "runtime/cache/kernel_key.h"
#include "runtime/program/values.h"

#define RT_PLAN_MAGIC   0x316e616c70676676u /* "vfgplan1" */
#define RT_PLAN_VERSION 2u
#define RT_PLAN_ALIGN   64

typedef struct rt_plan_head {
  uint64_t magic;
  uint32_t version;
  uint32_t kernels; /* different ones; entries of the image that comes with the plan */
  uint64_t size;    /* of the plan in bytes */
  uint64_t data;    /* bytes of literal arrays */
  uint32_t vars, values, slots, results, steps;
  uint32_t dims, step_slots, step_vars; /* lengths of the arrays that the others point into */
  uint32_t names;                       /* bytes, each name ending in NUL; the first is the graph's */
  uint32_t zero;
} rt_plan_head;

typedef struct rt_plan_var {
  uint32_t name, zero; /* offset in names */
  int64_t lo, hi, divisor;
} rt_plan_var;

typedef struct rt_plan_slot {
  uint8_t kind, dtype; /* ir_slot_kind, ir_dtype */
  uint16_t rank;
  uint32_t dims;     /* the first of its dims: values */
  uint32_t elements; /* value */
  uint32_t name;     /* of an input; else the empty name */
  uint64_t data;     /* of IR_SLOT_DATA: offset among the literal arrays; of IR_SLOT_MOVING: the number of the
                        step that moves it, and above 32 bits its place in step_slots there */
} rt_plan_slot;

/* As in ir_step. */
typedef struct rt_plan_step {
  uint8_t kind, reverse; /* ir_step_kind, bool */
  uint16_t zero;
  uint32_t kernel;             /* of a CALL: its name, an offset in names */
  uint32_t count, work, flops; /* values */
  uint32_t slots, slot_count;  /* the first in step_slots, and how many */
  uint32_t vars, var_count;    /* likewise in step_vars: the program's variables that the kernel reads */
  uint32_t inside[2];
  uint32_t carries;
  uint64_t attributes, attribute_bytes; /* of a CALL: offset among the literal arrays, and length */
} rt_plan_step;

typedef struct rt_plan {
  const rt_plan_head *head;
  const rt_plan_var *vars;
  const rt_value *values;
  const rt_plan_slot *slots;
  const uint32_t *results; /* slots */
  const rt_plan_step *steps;
  const uint32_t *dims, *step_slots, *step_vars;
  const char *names;
  const uint8_t *data;
} rt_plan;

static inline bool rt_is_loop(const rt_plan_step *s) { return ir_is_loop_step((ir_step_kind)s->kind); }
static inline uint32_t rt_inside(const rt_plan_step *s) { return s->inside[0] + s->inside[1]; }

/* Where the slots of a WHILE and of a SCAN are, from their first: those of carried values, then pairs. */
enum { RT_CARRY = 5, RT_CARRY_INIT = 0, RT_CARRY_THIS, RT_CARRY_NEXT, RT_CARRY_RESULT, RT_CARRY_SPARE };
enum { RT_PAIR = 2, RT_PAIR_WHOLE = 0, RT_PAIR_SLICE };
static inline uint32_t rt_first_carry(const rt_plan_step *s) { return s->kind == IR_STEP_WHILE; }
static inline uint32_t rt_first_pair(const rt_plan_step *s) {
  return rt_first_carry(s) + RT_CARRY * s->carries;
}

/* Is this place among the slots of a step one that the step moves? */
bool rt_is_moved(const rt_plan_step *step, uint32_t place);

/* Size of the plan that begins these bytes, or 0 when none does. */
size_t rt_plan_size(const void *bytes, size_t size);

/* Check everything and point into the bytes, which must be aligned to 8 (to RT_PLAN_ALIGN for the literal
 * arrays to be). False when anything is amiss; afterwards nothing needs checking but that sizes are sensible,
 * which values decide. */
bool rt_plan_read(const void *bytes, size_t size, rt_plan *out);

/* Make the bytes of a plan, size rounded up to RT_PLAN_ALIGN. *kernels receives one key per different kernel,
 * in the order of their numbers: `*kernel_count` of them in an array of room for *kernel_cap. */
typedef struct rt_plan_bytes {
  uint8_t *bytes;
  size_t size;
  rt_kernel_key *kernels;
  size_t kernel_count, kernel_cap;
} rt_plan_bytes;
ir_status rt_plan_make(const ir_mem *mem, const char *name, const ir_graph *graph, const ir_plan *plan,
                       rt_plan_bytes *out, ir_error *error);
void rt_plan_bytes_free(const ir_mem *mem, rt_plan_bytes *bytes);

/* Where each array of a plan begins, and in the last place where the plan ends. False when a head's counts
 * are absurd. */
enum { RT_PLAN_ARRAYS = 10 };
bool rt_plan_offsets(const rt_plan_head *head, uint64_t offset[RT_PLAN_ARRAYS + 1]);

#endif
