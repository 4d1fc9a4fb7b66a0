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
 * OC_WIDEST elements, its subvectors. The work-item style is for all other targets: the lanes of a vector are
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
 * a node's unrolled values (codegen/emit/emission_order.h) is an array of oc_value, one for each subvector.
 * After a failure, which is recorded, values are any text and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_OPENCL_OPENCL_H
#define VIEWFOLD_CODEGEN_OPENCL_OPENCL_H

#include "codegen/codegen.h"
#include "codegen/emit/emission_order.h"
#include "codegen/emit/scratch_text.h"

enum { OC_WIDEST = 16 }; /* elements of the widest OpenCL vector */

typedef enum oc_kind {
  OC_BOOL,
  OC_CHAR,
  OC_UCHAR,
  OC_SHORT,
  OC_USHORT,
  OC_INT,
  OC_UINT,
  OC_LONG,
  OC_ULONG,
  OC_FLOAT,
  OC_DOUBLE,
  OC_SOFT_DOUBLE /* f64 where the target has no doubles (soft_float.c) */
} oc_kind;

/* The precedence of an expression's outermost operator. */
typedef enum oc_level { OC_LOOSE, OC_SUM, OC_PRODUCT, OC_UNARY, OC_ATOM } oc_level;

typedef struct oc_value {
  const char *text;
  uint8_t kind, level;
  uint8_t width; /* elements */
  bool literal;
  int64_t number;   /* of an integer literal */
  const char *bare; /* where text is as_TYPE(bare): the inner expression, of this kind and level */
  uint8_t bare_kind, bare_level;
} oc_value;

typedef struct oc_type_text {
  char text[16];
} oc_type_text;

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

typedef struct oc_emitter {
  cg_order order;
  cg_nest *nest; /* the order's */
  ir_graph *g;   /* the nest's */
  const ir_target *target;
  bool lanes_are_items; /* work-item style */
  uint32_t group;       /* work-items of a group */
  ir_text out;          /* the function's body */
  ir_text head;         /* what is declared before it */
  ir_text late;         /* stores deferred to the end of the current iteration */
  uint32_t late_depth;  /* block depth at which effects may defer stores; 0: none may */
  uint32_t depth;       /* current nesting depth of blocks */
  uint32_t subvector;   /* the current one, of the current node */
  /* names of the current node's variables: their number (0: none yet), how many there are, which is the next;
   * numbers given out so far */
  uint32_t number, variables, variable, last_number;
  uint64_t private_locals; /* set of locals, by number, of which each work-item has its own (private.c) */
  oc_barriers waits;
  uint64_t exchange[2]; /* bytes that each area of the group's exchange needs */
  oc_first_areas first; /* of the current iteration */
  bool has_flag;
  bool has_matrix;  /* some sums are computed by matrix instructions */
  uint64_t outputs; /* set of parameters, by slot, to which something is stored */
  oc_read read[OC_READS];
  uint32_t reads;        /* so far; the oldest are overwritten */
  bool streams;          /* some store may bypass the caches */
  cg_scratch_text texts; /* text of expressions */
} oc_emitter;

/* text.c: expressions, statements, types */
oc_type_text oc_type(unsigned kind, uint32_t width);
unsigned oc_bytes(unsigned kind);
unsigned oc_signed(unsigned kind); /* the signed integer of its size */
unsigned oc_unsigned(unsigned kind);
unsigned oc_kind_of(const oc_emitter *e, ir_dtype dtype);    /* of scalars in registers; index as long */
unsigned oc_storage_of(const oc_emitter *e, ir_dtype dtype); /* in memory */
bool oc_is_signed(unsigned kind);
const char *oc_text(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
oc_value oc_make(oc_emitter *e, unsigned kind, uint32_t width, oc_level level, const char *format, ...)
    IR_PRINTF(5, 6);
oc_value oc_literal(oc_emitter *e, unsigned kind, int64_t value);
oc_value oc_real(oc_emitter *e, unsigned kind, double value);
const char *oc_parenthesised(oc_emitter *e, oc_value v, oc_level level); /* in parentheses where it must be */
oc_value oc_splat(oc_emitter *e, oc_value v, uint32_t width);
oc_value oc_element(oc_emitter *e, oc_value v, uint32_t i);
oc_value oc_lane(oc_emitter *e, ir_dtype dtype, oc_value v, uint32_t i); /* element i; of a mask, as a bool */
oc_value oc_convert(oc_emitter *e, oc_value v, unsigned kind);     /* integers modulo 2^bits, or floats */
oc_value oc_reinterpret(oc_emitter *e, oc_value v, unsigned kind); /* the same bits */
oc_value oc_mask(oc_emitter *e, oc_value v, unsigned kind, uint32_t width); /* a truth value as a mask */
void oc_line(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void oc_open(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void oc_close(oc_emitter *e);
oc_value oc_variable(oc_emitter *e, oc_value v);  /* declares the current node's next variable */
oc_value oc_temporary(oc_emitter *e, oc_value v); /* a variable of its own, unless v is a name or literal */
oc_value oc_fail(oc_emitter *e, ir_status status, const char *format, ...) IR_PRINTF(3, 4);
void oc_text_free(oc_emitter *e);

/* emit.c: values and the kernel */
/* Of a vector of `lanes` lanes: the number of its subvectors; the width of the current one; the first lane of
 * that one. */
uint32_t oc_subvectors(const oc_emitter *e, uint32_t lanes);
uint32_t oc_width(const oc_emitter *e, uint32_t lanes);
uint32_t oc_first_lane(const oc_emitter *e, uint32_t lanes);
oc_value oc_at(oc_emitter *e, ir_ref ref);             /* at the current lanes and subvector */
oc_value *oc_values(oc_emitter *e, uint32_t count);    /* NULL when memory is short */
void oc_begin_node(oc_emitter *e, uint32_t variables); /* whose variables oc_variable declares */
void oc_emit_unrolled(void *emitter, ir_ref ref, void *unrolled);

/* value.c: nodes */
oc_value oc_emit_value(oc_emitter *e, ir_ref ref); /* at the current lanes and subvector */
unsigned oc_index_kind(oc_emitter *e, ir_ref ref);
oc_value oc_index_literal(oc_emitter *e, int64_t value);
oc_value oc_sum(oc_emitter *e, oc_value a, oc_value b); /* of indices */
oc_value oc_product(oc_emitter *e, oc_value a, oc_value b);
oc_value oc_index_as(oc_emitter *e, oc_value v, unsigned kind);

/* arith.c */
/* One operation on values of the dtype: the result is of the same dtype, f16 and bf16 already rounded, or of
 * a comparison a truth value. oc_select is a where the condition holds, else b. What kernels do not have
 * fails by oc_unknown_op. */
oc_value oc_unary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a);
oc_value oc_combine(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b);
oc_value oc_compare(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b);
oc_value oc_fma(oc_emitter *e, ir_dtype dtype, oc_value a, oc_value b, oc_value c);
oc_value oc_select(oc_emitter *e, oc_value condition, oc_value a, oc_value b);
oc_value oc_any(oc_emitter *e, oc_value condition);                         /* some element is true */
oc_value oc_both(oc_emitter *e, oc_value a, oc_value b, const char *infix); /* truth values by & | ^ */
/* A float value rounded to f16 or bf16; of other dtypes a itself. */
oc_value oc_round_narrow(oc_emitter *e, ir_dtype dtype, oc_value a);
/* Fails with IR_ERR_INTERNAL, naming operation and dtype; gives what oc_fail gives. */
oc_value oc_unknown_op(oc_emitter *e, ir_op op, ir_dtype dtype);

/* soft_float.c: before the kernels of a program for a target that computes some floats with integers */
void oc_put_soft_float(ir_text *out);

/* convert.c */
/* The value in another dtype, by the rules of ir_value_cast; the same bits as another dtype, which fails
 * where the sizes differ. */
oc_value oc_cast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a);
oc_value oc_bitcast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a);
/* From registers to the form in memory, and back: f16 and bf16 are stored as ushort, bool as uchar 0 or 1,
 * other dtypes as they are. */
oc_value oc_to_storage(oc_emitter *e, ir_dtype dtype, oc_value a);
oc_value oc_from_storage(oc_emitter *e, ir_dtype dtype, oc_value stored);

/* memory.c */
/* The value of a LOAD at the current lanes, and that of a BOUND, whose test it emits. */
oc_value oc_emit_load(oc_emitter *e, ir_ref ref);
oc_value oc_emit_bound(oc_emitter *e, ir_ref ref);
/* The `count` elements in memory from that of lane `lane` of the current subvector on, as stored. */
oc_value oc_read_contiguous(oc_emitter *e, ir_ref param, ir_ref index, uint32_t lane, uint32_t count);
/* Work-item style: `count` elements of a local, as stored, from that of the current lanes on, whose index
 * must be a multiple of `count`. */
oc_value oc_read_aligned(oc_emitter *e, ir_ref param, ir_ref index, uint32_t count);
/* The address of the work-item's element, at the current lanes: `l0 + i`. */
const char *oc_address(oc_emitter *e, ir_ref param, ir_ref index);
void oc_emit_store(void *emitter, ir_ref ref);
void oc_emit_update(void *emitter, ir_ref ref);

/* tile.c: all unrolled values of a load at once, where these are contiguous and the vector lanes are not
 * (cg_tile_of); false where there is no such tile */
bool oc_emit_tile(oc_emitter *e, ir_ref load, void **unrolled);
/* Interleaves `count` vectors in place: element 0 of each, then element 1 of each, ...; count is a power of
 * two. */
void oc_interleave(oc_emitter *e, oc_value *vectors, uint32_t count);

/* local_vector.c: the same in work-item style, where unrolled values are contiguous in a local */
bool oc_emit_local_vectors(oc_emitter *e, ir_ref load, void **unrolled);

/* matrix.c: emits a loop that adds up products by the target's matrix instructions. sums[] are the unrolled
 * values of its carried value, which are variables. False, and nothing emitted, where the instructions cannot
 * do it. */
bool oc_emit_matrix(oc_emitter *e, const cg_loop *loop, void **sums);

/* half_vector.c: contiguous f16 or bf16 elements by eights or pairs, loaded from inputs and stored to locals
 * and outputs, for targets with matrix instructions; false where no unrolled values are contiguous */
bool oc_emit_vector_loads(oc_emitter *e, ir_ref load, void **unrolled);
bool oc_store_vectors(oc_emitter *e, ir_ref store);
/* The same in steps: the number of vectors that hold a load's unrolled values, 0 where none are contiguous;
 * declares a variable for each, with the returned number and those after it; loads them; fills in the load's
 * unrolled values, as elements of the variables. */
uint32_t oc_count_vector_loads(const oc_emitter *e, ir_ref load);
uint32_t oc_declare_vectors(oc_emitter *e, ir_ref load);
void oc_read_vectors(oc_emitter *e, ir_ref load, uint32_t first);
void oc_extract_vectors(oc_emitter *e, ir_ref load, uint32_t first, void **unrolled);

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
oc_fetch oc_fetch_first(oc_emitter *e, const cg_loop *loop);
/* At the beginning of an iteration: gives the loads the values that were loaded for this iteration, and
 * returns the text that loads for the next one, which belongs behind this iteration's stores. The caller
 * frees the text. */
ir_text oc_fetch_next(oc_emitter *e, const oc_fetch *f, unsigned kind, const char *counter, const char *end);

/* loop.c. Between oc_enter_iteration and oc_leave_iteration emission is inside iteration `at` of a loop that
 * is not open; the indices of the given loads have been emitted there. Returns the scope to leave. */
size_t oc_enter_iteration(oc_emitter *e, const cg_loop *loop, oc_value at, const ir_ref *loads,
                          uint32_t count);
void oc_leave_iteration(oc_emitter *e, const cg_loop *loop, size_t scope);
void oc_emit_running(void *emitter, uint32_t loop);
void oc_emit_lanes(void *emitter, uint32_t loop);
void oc_emit_rare(oc_emitter *e, ir_ref ref, void **unrolled);

/* load_reuse.c: input elements that have been loaded already */
void oc_find_outputs(oc_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
bool oc_is_reusable_load(const oc_emitter *e, ir_ref ref);             /* is it a load of an input? */
const char *oc_reused_load(const oc_emitter *e, const char *text);     /* the variable's name, or NULL */
void oc_remember_load(oc_emitter *e, const char *text, const char *name);
void oc_forget_loads(oc_emitter *e); /* those of blocks that are closed */

/* private.c: locals that are private variables of each work-item */
void oc_find_private(oc_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
bool oc_is_private(const oc_emitter *e, ir_ref buffer);
int64_t oc_private_size(const oc_emitter *e, int64_t size); /* elements per work-item of a local of `size` */
oc_value oc_private_index(oc_emitter *e, ir_ref index);     /* at the current lanes */

/* group.c: barriers, and values exchanged, between the work-items of a group. In vector style these do
 * nothing. */
uint32_t oc_group_size(const cg_nest *nest);
/* Where not all work-items take part in a store to a parameter, the others too load the operands of its
 * value, perhaps after the value has been stored. Then no parameter may share p0's memory: clears
 * nest->in_place. */
void oc_limit_in_place(cg_nest *nest, uint32_t group);
const char *oc_guard(oc_emitter *e, uint32_t lanes); /* "if (...) " where not all work-items take part */
void oc_before_effect(void *emitter, ir_ref effect); /* emits the barrier that the effect needs before it */
void oc_after_effect(oc_emitter *e, ir_ref effect);  /* notes what a store or update accesses */
/* Is it a store to a local that only later iterations read? */
bool oc_is_ahead(const oc_emitter *e, ir_ref store);
/* Between the effects of a value loop's iteration and the values that read what they stored: a barrier where
 * one is needed. */
void oc_before_values(oc_emitter *e, const cg_loop *loop);
/* oc_end_iteration: a barrier where the next iteration could otherwise store to what this one still reads, or
 * read what this one has just stored. oc_begin_iteration returns the state of the enclosing iteration:
 * `outer`. */
oc_first_areas oc_begin_iteration(oc_emitter *e);
void oc_end_iteration(oc_emitter *e, const cg_loop *loop, oc_first_areas outer);
void oc_end_conditional(oc_emitter *e, oc_barriers before); /* ends code that may not have been run */
bool oc_needs_barrier(oc_emitter *e, ir_ref ref);           /* does computing it need a barrier? */
oc_value oc_group_any(oc_emitter *e, oc_value condition);   /* does it hold for any work-item? Uniform */
/* Combines each of the values over the first `lanes` work-items, in pairs i and i + lanes/2; all work-items
 * get the result. */
void oc_group_combine(oc_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, oc_value *values,
                      size_t count);

#endif
