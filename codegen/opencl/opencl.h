/* The folder codegen/opencl. Kernels as OpenCL C.
 *
 *   in      a nest prepared by codegen/emit
 *   out     the text of a kernel, and the prelude of a program
 *   holds   arithmetic is that of the evaluator, on devices without doubles too */

/* Private to codegen/opencl/: the state of one kernel's emission as OpenCL C, and the functions that the
 * files share.
 *
 * There are two styles. The vector style is for targets whose group_items is 0: a work-group is one
 * work-item, and a vector is an OpenCL vector, or, where OpenCL has none of its width, several of at most
 * TX_WIDEST elements, its subvectors. The work-item style is for all other targets: the lanes of a vector are
 * the work-items of a group. Work-item i computes lane i of it, in a scalar; work-items beyond the last lane
 * of a shorter vector compute that last lane as well, and store nothing. A value without vector lanes is
 * computed by every work-item and stored by the first. So control flow is uniform: every work-item goes the
 * same way through all loops, and barriers may stand anywhere but behind the branch of a rare value, unless
 * its condition has been made uniform first (oc_group_any).
 *
 * How a dtype lives in registers: integers and floats as OpenCL has them; f16 and bf16 as float values
 * already rounded; bool as bool, in vectors as a mask, elements of signed integers that are 0 or -1; index as
 * int or long. In memory bool is a uchar, f16 and bf16 are ushort.
 *
 * Values are expressions as text: mostly names of variables; short index expressions are written out. Each of
 * a node's unrolled values (codegen/emit/emission_order.h) is an array of tx_value, one for each subvector.
 * After a failure, which is recorded, values are any text and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_OPENCL_OPENCL_H
#define VIEWFOLD_CODEGEN_OPENCL_OPENCL_H

#include "codegen/text/text.h"

/* Work-item style: what barriers have to order. */
typedef struct oc_barriers {
  uint64_t dirty, read; /* sets of locals stored to, and read, since the last barrier */
  uint32_t areas_read;  /* set of exchange areas of which some work-item may still read */
} oc_barriers;

/* The exchange areas that an iteration of a loop may use before its first barrier (group.c). */
typedef struct oc_first_areas {
  uint32_t areas, depth; /* a set; block depth of the loop's body */
  bool complete;         /* the set is complete */
} oc_first_areas;

/* A load whose value is in a variable, declared in a block at that depth (load_reuse.c). */
enum { OC_READS = 64 }; /* loads that are known [all used in the workloads]; older ones are read again */
typedef struct oc_read {
  const char *text, *name; /* of the load; of its variable */
  uint32_t depth;
} oc_read;

/* The state of a kernel's emission that other languages do not have. */
typedef struct oc_own {
  uint32_t group;          /* work-items of a group */
  ir_text head;            /* what is declared before the function's body */
  ir_text late;            /* stores deferred to the end of the current iteration */
  uint32_t late_depth;     /* block depth at which effects may defer stores; 0: none may */
  uint64_t private_locals; /* set of locals, by number, of which each work-item has its own (private.c) */
  oc_barriers waits;
  uint64_t exchange[2]; /* bytes that each area of the group's exchange needs */
  oc_first_areas first; /* of the current iteration */
  bool has_flag;
  bool has_matrix;  /* some sums are computed by matrix instructions */
  uint64_t outputs; /* set of parameters, by slot, to which something is stored */
  oc_read read[OC_READS];
  uint32_t reads; /* so far; the oldest are overwritten */
} oc_own;
static inline oc_own *oc_of(const tx_emitter *e) { return e->own; }
/* Is PTX understood? Then 64-bit numbers are truncated, and lanes numbered, by functions of the prelude. */
bool oc_has_ptx(const tx_emitter *e);
static inline bool oc_are_items(const tx_emitter *e) { return e->vectors == TX_ITEMS; } /* work-item style */

/* language.c */
extern const tx_language oc_language;

/* soft_float.c: before the kernels of a program for a target that computes some floats with integers */
void oc_put_soft_float(ir_text *out);

/* memory.c: forms of the language */
tx_value oc_item_index(tx_emitter *e, ir_ref param, ir_ref index, const cg_access *how);
tx_value oc_read_whole(tx_emitter *e, const tx_place *a);
tx_value oc_load_scalar(tx_emitter *e, const tx_place *a, tx_value valid, tx_value other);
tx_value oc_load_vector(tx_emitter *e, const tx_place *a, const tx_value *valid, tx_value other);
void oc_write_whole(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored);
void oc_write_elements(tx_emitter *e, const tx_place *a, tx_value stored);
void oc_store_item(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored);
/* Work-item style: `count` elements of a local, as stored, from that of the current lanes on, whose index
 * must be a multiple of `count`. */
tx_value oc_read_aligned(tx_emitter *e, ir_ref param, ir_ref index, uint32_t count);
/* The address of the work-item's element, at the current lanes: `l0 + i`. */
const char *oc_address(tx_emitter *e, ir_ref param, ir_ref index);
void oc_emit_store(void *emitter, ir_ref ref); /* as cg_emits says */
void oc_emit_update(void *emitter, ir_ref ref);

/* local_vector.c: all unrolled values of a load at once, in work-item style where these are contiguous in a
 * local; else false */
bool oc_emit_local_vectors(tx_emitter *e, ir_ref load, void **unrolled);

/* matrix.c: emits a loop that adds up products by the target's matrix instructions. sums[] are the unrolled
 * values of its carried value, which are variables. False, and nothing emitted, where the instructions cannot
 * do it. */
bool oc_emit_matrix(tx_emitter *e, const cg_loop *loop, void **sums);

/* half_vector.c: contiguous f16 or bf16 elements by eights or pairs, loaded from inputs and stored to locals
 * and outputs, for targets with matrix instructions; false where no unrolled values are contiguous */
bool oc_emit_vector_loads(tx_emitter *e, ir_ref load, void **unrolled);
bool oc_store_vectors(tx_emitter *e, ir_ref store);
/* The same in steps: the number of vectors that hold a load's unrolled values, 0 where none are contiguous;
 * declares a variable for each, with the returned number and those after it; loads them; fills in the load's
 * unrolled values, as elements of the variables. */
uint32_t oc_count_vector_loads(const tx_emitter *e, ir_ref load);
uint32_t oc_declare_vectors(tx_emitter *e, ir_ref load);
void oc_read_vectors(tx_emitter *e, ir_ref load, uint32_t first);
void oc_extract_vectors(tx_emitter *e, ir_ref load, uint32_t first, void **unrolled);

/* fetch.c: vectors that an iteration stores in locals are loaded during the iteration before it */
/* loads of one iteration: of the two operands of a product; with more, none is early */
enum { OC_FETCHED = 2 };
typedef struct oc_fetch {
  const cg_loop *loop;
  ir_ref load[OC_FETCHED];
  /* the number of each load's first variable; how many loads, 0: nothing is loaded ahead */
  uint32_t first[OC_FETCHED], count;
} oc_fetch;
/* Before the loop: loads what its first iteration stores. */
oc_fetch oc_fetch_first(tx_emitter *e, const cg_loop *loop);
/* At the beginning of an iteration: gives the loads the values that were loaded for this iteration, and
 * returns the text that loads for the next one, which belongs behind this iteration's stores. The caller
 * frees the text. */
ir_text oc_fetch_next(tx_emitter *e, const oc_fetch *f, unsigned kind, const char *counter, const char *end);

/* loop.c. Between oc_enter_iteration and tx_leave_iteration emission is inside iteration `at` of a loop that
 * is not open; the indices of the given loads have been emitted there. Returns the scope to leave. */
size_t oc_enter_iteration(tx_emitter *e, const cg_loop *loop, tx_value at, const ir_ref *loads,
                          uint32_t count);
void oc_emit_running(void *emitter, uint32_t loop);
void oc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled);

/* load_reuse.c: input elements that have been loaded already */
void oc_find_outputs(tx_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
/* Declares a variable for a value of the node; where that is such a load, another may have the name already.
 */
tx_value oc_named(tx_emitter *e, ir_ref ref, tx_value v);
void oc_forget_loads(tx_emitter *e); /* those of blocks that are closed */

/* private.c: locals that are private variables of each work-item */
void oc_find_private(tx_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
bool oc_is_private(const tx_emitter *e, ir_ref buffer);
int64_t oc_private_size(const tx_emitter *e, int64_t size); /* elements per work-item of a local of `size` */
tx_value oc_private_index(tx_emitter *e, ir_ref index);     /* at the current lanes */

/* group.c: barriers, and values exchanged, between the work-items of a group. In vector style these do
 * nothing. */
uint32_t oc_group_size(const cg_nest *nest);
/* Where not all work-items take part in a store to a parameter, the others too load the operands of its
 * value, perhaps after the value has been stored. Then no parameter may share p0's memory: clears
 * nest->in_place. */
void oc_limit_in_place(cg_nest *nest, uint32_t group);
const char *oc_guard(tx_emitter *e, uint32_t lanes); /* "if (...) " where not all work-items take part */
void oc_before_effect(void *emitter, ir_ref effect); /* emits the barrier that the effect needs before it */
void oc_after_effect(tx_emitter *e, ir_ref effect);  /* notes what a store or update accesses */
/* Is it a store to a local that only later iterations read? */
bool oc_is_ahead(const tx_emitter *e, ir_ref store);
/* Between the effects of a value loop's iteration and the values that read what they stored: a barrier where
 * one is needed. */
void oc_before_values(tx_emitter *e, const cg_loop *loop);
/* oc_end_iteration: a barrier where the next iteration could otherwise store to what this one still reads, or
 * read what this one has just stored. oc_begin_iteration returns the state of the enclosing iteration:
 * `outer`. */
oc_first_areas oc_begin_iteration(tx_emitter *e);
void oc_end_iteration(tx_emitter *e, const cg_loop *loop, oc_first_areas outer);
void oc_end_conditional(tx_emitter *e, oc_barriers before); /* ends code that may not have been run */
bool oc_needs_barrier(tx_emitter *e, ir_ref ref);           /* does computing it need a barrier? */
tx_value oc_group_any(tx_emitter *e, tx_value condition);   /* does it hold for any work-item? Uniform */
/* Combines each of the values over the first `lanes` work-items, in pairs i and i + lanes/2; all work-items
 * get the result. */
void oc_group_combine(tx_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, tx_value *values,
                      size_t count);

#endif
