/* The folder codegen/c. Kernels and programs as C11.
 *
 *   in      a nest prepared by codegen/emit, or a program
 *   out     the text of one C file
 *   holds   arithmetic is that of the evaluator, with vector extensions of the compiler and without */

/* Private to codegen/c/: the state of one file, that of one kernel's emission, and the functions that the
 * files share.
 *
 * How a dtype lives in registers: integers and floats as C has them; f16 and bf16 as f32 values already
 * rounded; bool as bool, in vectors as a mask, elements of signed integers that are 0 or -1; index as i32 or
 * i64. In memory bool is a u8, f16 and bf16 are u16.
 *
 * Scalars are computed by the language's operators, vectors by functions called OPERATION_TYPE, as
 * add_f32x16(a, b). The prelude (prelude.c) has a macro for each kind of such function, with two definitions:
 * by the compiler's vector extensions, and by loops over elements. A file has one line for each function that
 * it uses (helper.c). A vector's type has as many elements as the next power of two; elements beyond the
 * lanes of a vector may be anything, and nothing of them reaches memory.
 *
 * Values are expressions as text: mostly names of variables; short index expressions are written out. Each of
 * a node's unrolled values (codegen/emit/emission_order.h) is a cc_value. After a failure, which is recorded,
 * values are any text and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_C_C_H
#define VIEWFOLD_CODEGEN_C_C_H

#include "codegen/codegen.h"
#include "codegen/emit/emission_order.h"
#include "codegen/emit/scratch_text.h"
#include "codegen/program.h"

typedef enum cc_kind {
  CC_BOOL,
  CC_I8,
  CC_U8,
  CC_I16,
  CC_U16,
  CC_I32,
  CC_U32,
  CC_I64,
  CC_U64,
  CC_F32,
  CC_F64,
  CC_POINTER
} cc_kind;

/* The precedence of an expression's outermost operator. */
typedef enum cc_level { CC_LOOSE, CC_SUM, CC_PRODUCT, CC_UNARY, CC_ATOM } cc_level;

typedef struct cc_value {
  const char *text;
  uint8_t kind, level;
  bool literal;
  uint16_t width; /* lanes */
  int64_t number; /* of an integer literal */
} cc_value;

typedef struct cc_type_text {
  char text[16];
} cc_type_text;

/* One C file: the lines that define the functions its kernels use, each once. */
typedef struct cc_file {
  const ir_mem *mem;
  ir_text helpers;
  uint64_t *known; /* digests of the lines, a table with open addressing; 0: free */
  size_t known_count, known_cap;
  ir_text body; /* kernels, and the functions of a program */
} cc_file;
void cc_file_init(cc_file *file, const ir_mem *mem);
void cc_file_free(cc_file *file);
/* The whole file, in memory of file->mem. `head` is what it begins with, before the prelude. */
ir_status cc_file_text(cc_file *file, const char *head, char **bytes, size_t *size, ir_error *error);

typedef struct cc_emitter {
  cg_order order;
  cg_nest *nest; /* the order's */
  ir_graph *g;   /* the nest's */
  const ir_target *target;
  cc_file *file;
  ir_text out;    /* the function's body */
  uint32_t depth; /* current nesting depth of blocks */
  /* names of the current node's variables: their number (0: none yet), how many there are, which is the next;
   * numbers given out so far */
  uint32_t number, variables, variable, last_number;
  bool streams;          /* some store may bypass the caches */
  bool checks;           /* the function may store to its status word */
  bool scratch;          /* it uses its scratch memory */
  cg_scratch_text texts; /* text of expressions */
} cc_emitter;

/* text.c: expressions, statements, types */
uint32_t cc_padded(uint32_t lanes); /* the next power of two */
cc_type_text cc_type(unsigned kind, uint32_t width);
unsigned cc_bytes(unsigned kind);
unsigned cc_signed(unsigned kind); /* the signed integer of its size */
unsigned cc_unsigned(unsigned kind);
unsigned cc_kind_of(ir_dtype dtype);    /* of scalars in registers; index as i64 */
unsigned cc_storage_of(ir_dtype dtype); /* in memory */
bool cc_is_signed(unsigned kind);
static inline bool cc_is_real(unsigned kind) { return kind == CC_F32 || kind == CC_F64; }
const char *cc_text(cc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
cc_value cc_make(cc_emitter *e, unsigned kind, uint32_t width, cc_level level, const char *format, ...)
    IR_PRINTF(5, 6);
cc_value cc_literal(cc_emitter *e, unsigned kind, int64_t value);
cc_value cc_real(cc_emitter *e, unsigned kind, double value);
const char *cc_parenthesised(cc_emitter *e, cc_value v, cc_level level); /* in parentheses where it must be */
void cc_line(cc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void cc_open(cc_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void cc_close(cc_emitter *e);
cc_value cc_variable(cc_emitter *e, cc_value v);  /* declares the current node's next variable */
cc_value cc_temporary(cc_emitter *e, cc_value v); /* a variable of its own, unless v is a name or literal */
bool cc_is_name(const char *text);
cc_value cc_fail(cc_emitter *e, ir_status status, const char *format, ...) IR_PRINTF(3, 4);
void cc_text_free(cc_emitter *e);

/* helper.c: vectors. What a function is called that is defined by the line MACRO(...) is in the prelude. */
void cc_define(cc_emitter *e, const char *format, ...) IR_PRINTF(2, 3); /* adds a line, unless it is there */
void cc_use_type(cc_emitter *e, unsigned kind, uint32_t width);
/* NAME_TYPE(a, b, c) of as many operands as `count`, for vectors element by element where the prelude has no
 * other definition; scalars become vectors. */
cc_value cc_mapped(cc_emitter *e, const char *name, unsigned count, const cc_value *operands);
cc_value cc_splat(cc_emitter *e, cc_value v, uint32_t width);
cc_value cc_lanes(cc_emitter *e, unsigned kind, uint32_t width, int64_t stride); /* 0, stride, 2 stride ... */
cc_value cc_element(cc_emitter *e, cc_value v, uint32_t i);
cc_value cc_lane(cc_emitter *e, ir_dtype dtype, cc_value v, uint32_t i); /* element i; of a mask, as a bool */
cc_value cc_convert(cc_emitter *e, cc_value v, unsigned kind);     /* integers modulo 2^bits, or floats */
cc_value cc_reinterpret(cc_emitter *e, cc_value v, unsigned kind); /* the same bits */
cc_value cc_mask(cc_emitter *e, cc_value v, unsigned kind, uint32_t width); /* a truth value as a mask */
cc_value cc_any(cc_emitter *e, cc_value condition);                         /* some lane is true */
/* The elements order[i] of a's elements followed by b's, `width` of them. */
cc_value cc_shuffle(cc_emitter *e, cc_value a, cc_value b, const uint32_t *order, uint32_t width);
/* `a op b` by the language, also for vectors; what = its name in functions. */
cc_value cc_infix(cc_emitter *e, const char *what, const char *op, cc_value a, cc_value b);
cc_value cc_extremum(cc_emitter *e, bool greatest, cc_value a, cc_value b);
cc_value cc_selected(cc_emitter *e, cc_value mask, cc_value a,
                     cc_value b); /* of vectors, element by element */
cc_value cc_negated(cc_emitter *e, cc_value a);
cc_value cc_absolute(cc_emitter *e, cc_value a);
cc_value cc_dot2(cc_emitter *e, cc_value a, cc_value b);
cc_value cc_inverted(cc_emitter *e, cc_value a);                          /* each bit */
cc_value cc_shifted(cc_emitter *e, bool left, cc_value a, int64_t count); /* by fewer bits than it has */
/* NAME_TYPE(a), whose elements are of another kind; `of`: the prelude has a macro VF_NAME(n). */
cc_value cc_function_to(cc_emitter *e, const char *name, unsigned kind, cc_value a);
cc_value cc_function_of(cc_emitter *e, const char *name, unsigned kind, cc_value a);

/* emit.c: values and the kernel */
cc_value cc_at(cc_emitter *e, ir_ref ref);             /* at the current lanes */
cc_value *cc_values(cc_emitter *e, uint32_t count);    /* NULL when memory is short */
void cc_begin_node(cc_emitter *e, uint32_t variables); /* whose variables cc_variable declares */
void cc_emit_unrolled(void *emitter, ir_ref ref, void *unrolled);
/* Emits a kernel as a function of the file; `terms` receives what a caller has to know. */
ir_status cc_emit_kernel(cc_file *file, const cg_request *request, bool is_static, cg_blob *terms,
                         ir_error *error);

/* value.c: nodes */
cc_value cc_emit_value(cc_emitter *e, ir_ref ref); /* at the current lanes */
unsigned cc_index_kind(cc_emitter *e, ir_ref ref);
cc_value cc_index_literal(cc_emitter *e, int64_t value);
cc_value cc_sum(cc_emitter *e, cc_value a, cc_value b); /* of indices */
cc_value cc_product(cc_emitter *e, cc_value a, cc_value b);
cc_value cc_index_as(cc_emitter *e, cc_value v, unsigned kind);

/* arith.c: one operation on values of the dtype. The result is of the same dtype, f16 and bf16 already
 * rounded, or of a comparison a truth value. cc_select is a where the condition holds, else b. */
cc_value cc_unary(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a);
cc_value cc_combine(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b);
cc_value cc_compare(cc_emitter *e, ir_op op, ir_dtype dtype, cc_value a, cc_value b);
cc_value cc_fma(cc_emitter *e, ir_dtype dtype, cc_value a, cc_value b, cc_value c);
cc_value cc_select(cc_emitter *e, cc_value condition, cc_value a, cc_value b);
cc_value cc_both(cc_emitter *e, cc_value a, cc_value b, char op); /* truth values by & | ^ */
/* A float value rounded to f16 or bf16; of other dtypes a itself. */
cc_value cc_round_narrow(cc_emitter *e, ir_dtype dtype, cc_value a);
/* Fails with IR_ERR_INTERNAL, naming operation and dtype; gives what cc_fail gives. */
cc_value cc_unknown_op(cc_emitter *e, ir_op op, ir_dtype dtype);

/* convert.c */
/* The value in another dtype, by the rules of ir_value_cast; the same bits as another dtype, which fails
 * where the sizes differ. */
cc_value cc_cast(cc_emitter *e, ir_dtype from, ir_dtype to, cc_value a);
cc_value cc_bitcast(cc_emitter *e, ir_dtype from, ir_dtype to, cc_value a);
/* From registers to the form in memory, and back. */
cc_value cc_to_storage(cc_emitter *e, ir_dtype dtype, cc_value a);
cc_value cc_from_storage(cc_emitter *e, ir_dtype dtype, cc_value stored);

/* memory.c: where elements are, loads, run-time bounds */
typedef struct cc_place {
  ir_dtype dtype;
  unsigned kind; /* in memory */
  uint32_t width;
  bool affine;
  int64_t stride;
  const char *memory;
  cc_value base;      /* affine: index of the first lane; else what all lanes have in common */
  cc_value lane_term; /* unless affine: what each lane adds */
} cc_place;
cc_place cc_place_of(cc_emitter *e, ir_ref param, ir_ref index, uint32_t lanes);
static inline bool cc_is_whole(const cc_place *a) { return a->affine && (a->stride == 1 || a->stride == -1); }
cc_value cc_element_at(cc_emitter *e, const cc_place *a, uint32_t lane); /* as stored: `p1[i]` */
const char *cc_address(cc_emitter *e, const cc_place *a);     /* of the first lane's element: `p1 + i` */
const char *cc_low_address(cc_emitter *e, const cc_place *a); /* the lowest one of a vector access */
/* From the order of lanes to that of addresses, or back. */
cc_value cc_memory_order(cc_emitter *e, const cc_place *a, cc_value v);
/* The `count` elements in memory from that of lane `lane` on, as stored. */
cc_value cc_read_contiguous(cc_emitter *e, const cc_place *a, uint32_t lane, uint32_t count);
cc_value cc_emit_load(cc_emitter *e, ir_ref ref);
cc_value cc_emit_bound(cc_emitter *e, ir_ref ref);

/* store.c: as cg_emits says */
void cc_emit_store(void *emitter, ir_ref ref);
void cc_emit_update(void *emitter, ir_ref ref);

/* tile.c: all unrolled values of a load at once, where these are contiguous and the vector lanes are not
 * (cg_tile_of); false where there is no such tile */
bool cc_emit_tile(cc_emitter *e, ir_ref load, void **unrolled);
/* Interleaves `count` vectors: out holds element 0 of each, then element 1 of each, ... */
void cc_interleave(cc_emitter *e, const cc_value *from, uint32_t count, cc_value *out);

/* loop.c: as cg_emits says; the unrolled values of a RARE; the value of a PREFIX */
void cc_emit_running(void *emitter, uint32_t loop);
void cc_emit_lanes(void *emitter, uint32_t loop);
void cc_emit_rare(cc_emitter *e, ir_ref ref, void **unrolled);
cc_value cc_emit_prefix(cc_emitter *e, ir_ref ref);

/* prune.c: appends a function's body to the file, without declarations of variables that nothing reads */
void cc_prune(cc_emitter *e, ir_text *text);

/* prelude.c: what every file begins with */
void cc_put_prelude(ir_text *out);

#endif
