/* The folder codegen/opencl. Kernels as OpenCL C.
 *
 *   in      a nest made ready by codegen/emit
 *   out     the text of a kernel, and the prelude of a program
 *   holds   arithmetic is that of the evaluator, on devices without doubles too */

/* Private to codegen/opencl/: the state of one kernel's emission as OpenCL C, and what the files offer each
 * other.
 *
 * There are two styles, by ir_target.lanes. Without lanes a work-group is one work-item and a vector is an
 * OpenCL vector; of more than OC_WIDEST elements, several of them, its pieces. With lanes the elements of a
 * vector are the work-items of a group: work-item i computes lane i of it, in a scalar; those beyond the last
 * lane of a shorter vector compute that last lane too, and store nothing. What has no lane every work-item
 * computes for itself, and the first one stores. So every work-item goes the same way through all loops, and
 * barriers may stand anywhere but behind the branch of a rare value (group.c).
 *
 * How a dtype lives in registers: integers and floats as OpenCL has them; f16 and bf16 as float values
 * already rounded; bool as bool, in vectors as a mask, elements of signed integers that are 0 or -1; index as
 * int or long. In memory bool is a uchar, f16 and bf16 are ushort.
 *
 * Values are expressions as text: the names of variables mostly, index expressions as written. Of a node's
 * copies (codegen/emit/emission_order.h) each is an array of oc_value, one for each piece. After a failure,
 * which is recorded, values are any text and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_OPENCL_OPENCL_H
#define VIEWFOLD_CODEGEN_OPENCL_OPENCL_H

#include "codegen/codegen.h"
#include "codegen/emit/emission_order.h"

enum { OC_WIDEST = 16 };

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

/* How tightly an expression holds together. */
typedef enum oc_level { OC_LOOSE, OC_SUM, OC_PRODUCT, OC_UNARY, OC_ATOM } oc_level;

typedef struct oc_value {
  const char *text;
  uint8_t kind, level;
  uint8_t width; /* elements */
  bool literal;
  int64_t number;   /* of an integer literal */
  const char *bare; /* as_TYPE(bare): an expression of kind and level ... */
  uint8_t bare_kind, bare_level;
} oc_value;

typedef struct oc_type_text {
  char text[16];
} oc_type_text;

/* What barriers have to order, with lanes. */
typedef struct oc_waits {
  uint64_t dirty, read; /* locals that were stored to, read since the last barrier */
  uint32_t exchanging;  /* areas of the group's exchange in which a result may still be read, as a set */
} oc_waits;

/* Areas of the exchange that a round of a loop may use before all work-items have waited for each other. */
typedef struct oc_first {
  uint32_t areas, depth; /* a set; of the loop's blocks */
  bool known;            /* these are all */
} oc_first;

/* An element that was read, in a block at that depth. */
enum { OC_READS = 64 };
typedef struct oc_read {
  const char *text, *name; /* of the load; of its variable */
  uint32_t depth;
} oc_read;

typedef struct oc_emitter {
  cg_order order;
  cg_nest *nest; /* the order's */
  ir_graph *g;   /* the nest's */
  const ir_target *target;
  bool lanes_are_items; /* lanes are work-items */
  uint32_t group;       /* work-items of a group */
  ir_text out;          /* the function's body */
  ir_text head;         /* what is declared before it */
  ir_text late;         /* what is stored at the end of the round at hand, */
  uint32_t late_depth;  /* by effects at this depth; 0: there is no such round */
  uint32_t depth;       /* of blocks */
  uint32_t subvector;   /* of the node at hand */
  /* names of the node at hand: number (0: none given yet), of how many variables which one */
  uint32_t number, variables, variable, last_number;
  uint64_t private_locals; /* locals, by number, that each work-item has for itself */
  oc_waits waits;
  uint64_t exchange[2]; /* bytes that the areas of the group's exchange need */
  oc_first first;       /* of the round at hand */
  bool has_flag;
  bool has_matrix;  /* some sums are computed by matrix instructions */
  uint64_t outputs; /* parameters, by slot, to which something is stored */
  oc_read read[OC_READS];
  uint32_t reads;          /* so far */
  bool streams;            /* some store may go past the caches */
  struct oc_chunk *chunks; /* memory for text */
} oc_emitter;

/* text.c: expressions, statements, types */
oc_type_text oc_type(unsigned kind, uint32_t width);
unsigned oc_bytes(unsigned kind);
unsigned oc_signed(unsigned kind); /* the signed integer of its size */
unsigned oc_unsigned(unsigned kind);
unsigned oc_kind_of(const oc_emitter *e, ir_dtype dtype);    /* of scalars in registers; index as long */
unsigned oc_storage_of(const oc_emitter *e, ir_dtype dtype); /* in memory */
bool oc_is_integer(unsigned kind);
bool oc_is_signed(unsigned kind);
const char *oc_text(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
oc_value oc_make(oc_emitter *e, unsigned kind, uint32_t width, oc_level level, const char *format, ...)
    IR_PRINTF(5, 6);
oc_value oc_literal(oc_emitter *e, unsigned kind, int64_t value);
oc_value oc_real(oc_emitter *e, unsigned kind, double value);
const char *oc_in(oc_emitter *e, oc_value v, oc_level level); /* in parentheses where it must be */
oc_value oc_splat(oc_emitter *e, oc_value v, uint32_t width);
oc_value oc_element(oc_emitter *e, oc_value v, uint32_t i);
oc_value oc_lane(oc_emitter *e, ir_dtype dtype, oc_value v,
                 uint32_t i);                                      /* likewise; of a mask, whether it holds */
oc_value oc_convert(oc_emitter *e, oc_value v, unsigned kind);     /* an integer, modulo, or a float */
oc_value oc_reinterpret(oc_emitter *e, oc_value v, unsigned kind); /* of one size */
oc_value oc_mask(oc_emitter *e, oc_value v, unsigned kind, uint32_t width); /* a truth value as a mask */
void oc_line(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void oc_open(oc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void oc_close(oc_emitter *e);
oc_value oc_variable(oc_emitter *e, oc_value v);  /* declared as the node's next variable */
oc_value oc_temporary(oc_emitter *e, oc_value v); /* declared as a variable of its own, unless it is a name */
oc_value oc_fail(oc_emitter *e, ir_status status, const char *format, ...) IR_PRINTF(3, 4);
void oc_text_free(oc_emitter *e);

/* emit.c: values and the kernel */
/* Of a vector of so many lanes: its pieces, elements of the current one, and which lane that begins with. */
uint32_t oc_subvectors(const oc_emitter *e, uint32_t lanes);
uint32_t oc_width(const oc_emitter *e, uint32_t lanes);
uint32_t oc_first_lane(const oc_emitter *e, uint32_t lanes);
oc_value oc_at(oc_emitter *e, ir_ref ref);             /* at the current digits and piece */
oc_value *oc_values(oc_emitter *e, uint32_t count);    /* NULL when memory is short */
void oc_begin_node(oc_emitter *e, uint32_t variables); /* of which the next names are */
void oc_emit_unrolled(void *emitter, ir_ref ref, void *unrolled);

/* value.c: nodes */
oc_value oc_emit_value(oc_emitter *e, ir_ref ref); /* at the current digits and piece */
unsigned oc_index_kind(oc_emitter *e, ir_ref ref);
oc_value oc_index_literal(oc_emitter *e, int64_t value);
oc_value oc_sum(oc_emitter *e, oc_value a, oc_value b); /* of indices */
oc_value oc_product(oc_emitter *e, oc_value a, oc_value b);
oc_value oc_index_as(oc_emitter *e, oc_value v, unsigned kind);

/* arith.c */
oc_value oc_unary(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a);
oc_value oc_combine(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b);
oc_value oc_compare(oc_emitter *e, ir_op op, ir_dtype dtype, oc_value a, oc_value b);
oc_value oc_fma(oc_emitter *e, ir_dtype dtype, oc_value a, oc_value b, oc_value c);
oc_value oc_select(oc_emitter *e, oc_value condition, oc_value a, oc_value b);
oc_value oc_any(oc_emitter *e, oc_value condition);                         /* some element is true */
oc_value oc_both(oc_emitter *e, oc_value a, oc_value b, const char *infix); /* truth values by & | ^ */
oc_value oc_round_narrow(oc_emitter *e, ir_dtype dtype, oc_value a);
oc_value oc_unknown_op(oc_emitter *e, ir_op op, ir_dtype dtype);

/* soft_float.c: before the kernels of a program for a target that computes some floats with integers */
void oc_put_soft_float(ir_text *out);

/* convert.c */
oc_value oc_cast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a);
oc_value oc_bitcast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a);
oc_value oc_to_storage(oc_emitter *e, ir_dtype dtype, oc_value a);
oc_value oc_from_storage(oc_emitter *e, ir_dtype dtype, oc_value stored);

/* memory.c */
oc_value oc_emit_load(oc_emitter *e, ir_ref ref);
oc_value oc_emit_bound(oc_emitter *e, ir_ref ref);
/* As many stored elements as `count` from that of lane `lane` of the current piece on. */
oc_value oc_read_contiguous(oc_emitter *e, ir_ref param, ir_ref index, uint32_t lane, uint32_t count);
/* With lanes: `count` stored elements from the current digits' on, which lie at a multiple of so many. */
oc_value oc_read_aligned(oc_emitter *e, ir_ref param, ir_ref index, uint32_t count);
/* Where the element of this work-item's is, at the current digits: `l0 + i`. */
const char *oc_address(oc_emitter *e, ir_ref param, ir_ref index);
void oc_emit_store(void *emitter, ir_ref ref);
void oc_emit_update(void *emitter, ir_ref ref);

/* tile.c: all copies of a load at once, where they lie side by side and the lanes do not; false where
 * they do not */
bool oc_emit_tile(oc_emitter *e, ir_ref load, void **unrolled);
/* Elements of the vectors by turns, in as many vectors; count: a power of two. */
enum { OC_MOST_INTERLEAVED = 4 };
void oc_interleave(oc_emitter *e, oc_value *vectors, uint32_t count);

/* vector_load.c: the same with lanes, where they lie side by side in a local */
bool oc_emit_wide(oc_emitter *e, ir_ref load, void **unrolled);

/* matrix.c: a loop that adds up products, by matrix instructions of the target's, to the variables
 * sums[] of its carried value's copies; false where it is none that these can do */
bool oc_emit_matrix(oc_emitter *e, const cg_loop *loop, void **sums);

/* wide_copy.c: narrow floats of input and of locals by eights or pairs, for targets with matrix
 * instructions; false where none lie side by side */
bool oc_emit_vector_loads(oc_emitter *e, ir_ref load, void **unrolled);
bool oc_store_vectors(oc_emitter *e, ir_ref store);
/* The same in steps: how many runs a load's copies are, 0 where they are none; a variable for each, from the
 * returned number on; what is read into them; the load's copies, as parts of them. */
uint32_t oc_count_vector_loads(const oc_emitter *e, ir_ref load);
uint32_t oc_declare_vectors(oc_emitter *e, ir_ref load);
void oc_read_vectors(oc_emitter *e, ir_ref load, uint32_t first);
void oc_extract_vectors(oc_emitter *e, ir_ref load, uint32_t first, void **unrolled);

/* fetch.c: runs that a round stores in locals are read by the round before it */
enum { OC_FETCHED = 2 };
typedef struct oc_fetch {
  const cg_loop *loop;
  ir_ref load[OC_FETCHED];
  uint32_t first[OC_FETCHED], count; /* numbers of variables; of loads, 0: nothing is read ahead */
} oc_fetch;
/* In front of the loop: reads what its first round stores. */
oc_fetch oc_fetch_first(oc_emitter *e, const cg_loop *loop);
/* At the beginning of a round: what reads for the next one, to be put behind the stores. The loads have the
 * values then that were read for this one. */
ir_text oc_fetch_next(oc_emitter *e, const oc_fetch *f, unsigned kind, const char *counter, const char *end);

/* loop.c. Between entering and leaving it, what is emitted belongs to the round `at` of a loop that is
 * not open; what says where the loads read is there. Returns the scope to leave. */
size_t oc_enter_iteration(oc_emitter *e, const cg_loop *loop, oc_value at, const ir_ref *loads,
                          uint32_t count);
void oc_leave_iteration(oc_emitter *e, const cg_loop *loop, size_t scope);
void oc_emit_running(void *emitter, uint32_t loop);
void oc_emit_lanes(void *emitter, uint32_t loop);
void oc_emit_rare(oc_emitter *e, ir_ref ref, void **unrolled);

/* load_reuse.c: elements of inputs that were read already */
void oc_find_outputs(oc_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
bool oc_is_reusable_load(const oc_emitter *e, ir_ref ref);             /* is it such a load? */
const char *oc_reused_load(const oc_emitter *e, const char *text); /* the variable's name; NULL: not read */
void oc_remember_load(oc_emitter *e, const char *text, const char *name);
void oc_forget_loads(oc_emitter *e); /* of blocks that are closed */

/* private.c: locals that are variables of each work-item */
void oc_find_private(oc_emitter *e, const ir_ref *live, size_t count); /* among all nodes of the kernel */
bool oc_is_private(const oc_emitter *e, ir_ref buffer);
int64_t oc_private_size(const oc_emitter *e, int64_t size); /* elements of each, where the local has `size` */
oc_value oc_private_index(oc_emitter *e, ir_ref index);     /* which of them, at the current digits */

/* group.c: work-items that wait for each other. Nothing without lanes. */
uint32_t oc_group_size(const cg_nest *nest);
/* Where not all work-items take part in a store to p0, the others too load what its value is made of, when it
 * may be there already: then no parameter may lie where p0 does. */
void oc_limit_in_place(cg_nest *nest, uint32_t group);
const char *oc_guard(oc_emitter *e, uint32_t lanes); /* "if (...) " where not all work-items take part */
void oc_before_effect(void *emitter, ir_ref effect); /* what it reads of locals has been stored by all */
void oc_after_effect(oc_emitter *e, ir_ref effect);  /* a store or update */
/* A store to a local of which only later rounds read. */
bool oc_is_ahead(const oc_emitter *e, ir_ref store);
/* Between what each round of a value loop does, and the values that read it. */
void oc_before_values(oc_emitter *e, const cg_loop *loop);
/* The next round may store. What the first one gives, for the second. */
oc_first oc_begin_iteration(oc_emitter *e);
void oc_end_iteration(oc_emitter *e, const cg_loop *loop, oc_first outer);
void oc_end_maybe(oc_emitter *e, oc_waits before);        /* of code that may not have been run */
bool oc_needs_barrier(oc_emitter *e, ir_ref ref);         /* computing it makes work-items wait */
oc_value oc_group_any(oc_emitter *e, oc_value condition); /* of any work-item, known to all */
/* Each of the values combined over the first `lanes` work-items, in pairs i and i + lanes/2. */
void oc_group_combine(oc_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, oc_value *values,
                      size_t count);

#endif
