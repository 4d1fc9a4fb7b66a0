/* The folder codegen/text. What emitters of source text share.
 *
 *   in      a nest prepared by codegen/emit, and a language
 *   out     the statements of a kernel
 *   holds   what differs between languages is in their tables: names, literals, forms */

/* Kernels as text of a language of the family of C: values, statements, and what one node of a kernel is in
 * them. A language (tx_language) gives names of types, literals, and the forms of what it lacks or writes in
 * its own way; its folder emits the function around the statements.
 *
 * How a dtype lives in registers: integers and floats as the language has them; f16 and bf16 as f32 values
 * already rounded; bool as bool, in vectors as a mask, elements of signed integers that are 0 or -1; index as
 * i32 or i64. In memory bool is a u8, f16 and bf16 are u16.
 *
 * Values are expressions as text: mostly names of variables; short index expressions are written out. Each of
 * a node's unrolled values (codegen/emit/emission_order.h) is an array of tx_value, one for each of its
 * subvectors: where the language has no vector of a width, several shorter ones stand for it. After a
 * failure, which is recorded, values are any text and emission is abandoned at the next step. */
#ifndef VIEWFOLD_CODEGEN_TEXT_TEXT_H
#define VIEWFOLD_CODEGEN_TEXT_TEXT_H

#include "codegen/codegen.h"
#include "codegen/emit/emission_order.h"
#include "codegen/emit/scratch_text.h"

typedef enum tx_kind {
  TX_BOOL,
  TX_I8,
  TX_U8,
  TX_I16,
  TX_U16,
  TX_I32,
  TX_U32,
  TX_I64,
  TX_U64,
  TX_F32,
  TX_F64,
  TX_SOFT_F64 /* an f64 that is computed with integers; its literals are its bits */
} tx_kind;
enum { TX_KINDS = TX_SOFT_F64 + 1 /* number of kinds */ };

/* The precedence of an expression's outermost operator. */
typedef enum tx_level { TX_LOOSE, TX_SUM, TX_PRODUCT, TX_UNARY, TX_ATOM } tx_level;

typedef struct tx_value {
  const char *text;
  uint8_t kind, level;
  uint16_t width; /* elements */
  bool literal;
  int64_t number; /* of an integer literal */
  const char
      *bare; /* where text is bare's bits as another kind: the inner expression, of this kind and level */
  uint8_t bare_kind, bare_level;
} tx_value;

/* Operators `a op b` of the language. TX_QUO and TX_REM are its own division. */
typedef enum tx_operator {
  TX_ADD,
  TX_SUB,
  TX_MUL,
  TX_QUO,
  TX_REM,
  TX_AND,
  TX_OR,
  TX_XOR,
  TX_EQ,
  TX_NE,
  TX_LT,
  TX_LE,
  TX_GT,
  TX_GE
} tx_operator;
const char *tx_operator_text(tx_operator op); /* "+" */
static inline bool tx_is_comparison(tx_operator op) { return op >= TX_EQ; }

/* Functions of a language, or of the prelude of its programs. */
typedef enum tx_function {
  TX_MIN,
  TX_MAX,
  TX_DIV, /* floor division, and its remainder */
  TX_MOD,
  TX_SHL,
  TX_SHR,
  TX_DOT2,
  TX_DOT4,
  TX_FMA,
  TX_SQRT,
  TX_FLOOR,
  TX_CEIL,
  TX_TRUNC,
  TX_RINT,
  TX_ROUND_F16, /* of an f32: rounded to the narrow float */
  TX_ROUND_BF16,
  TX_TO_F16, /* from registers to memory, and back */
  TX_TO_BF16,
  TX_FROM_F16,
  TX_FROM_BF16
} tx_function;
enum { TX_FUNCTIONS = TX_FROM_BF16 + 1 /* number of functions */ };

typedef struct tx_emitter tx_emitter;

/* Where the elements of an access are, at the current lanes and subvector. */
typedef struct tx_place {
  ir_dtype dtype;
  unsigned kind; /* in memory */
  uint32_t width;
  bool affine;
  int64_t stride;
  const char *memory, *space; /* the buffer's name, and that of its address space in OpenCL */
  tx_value base;              /* affine: index of the first lane; else what all lanes have in common */
  tx_value lane_term;         /* unless affine: what each lane adds */
} tx_place;

/* A kind's names. An integer literal is digits between `before` and `after`, behind its sign; where `before`
 * is NULL, a cast of digits. */
typedef struct tx_kind_names {
  const char *name, *before, *after;
  const char *least; /* of signed integers: the least number, whose digits are no literal; or NULL */
  const char *nan, *infinity;
} tx_kind_names;

/* Functions that are not said to be NULL sometimes are always there. Operands of vector operations have the
 * widths of the result unless it is said otherwise. */
typedef struct tx_language {
  tx_kind_names kinds[TX_KINDS];
  const char *times;       /* stands in names of vector types: f32x16 */
  tx_level compared;       /* operands of comparisons that bind less tightly stand in parentheses */
  bool repeats_literals;   /* a vector of equal literals is written out wherever it is used */
  const char *report;      /* format: where the condition holds, an index is out of range */
  const char *prefetch[2]; /* format of an address and bytes behind it; [1]: of what is not reused */

  /* `a op b` of vectors, or of a vector and a scalar; NULL: as for scalars */
  tx_value (*vectors)(tx_emitter *e, tx_operator op, tx_value a, tx_value b);
  tx_value (*selected)(tx_emitter *e, tx_value mask, tx_value a, tx_value b); /* likewise `mask ? a : b` */
  /* + - * / under the numeric contract: integers wrap */
  tx_value (*arithmetic)(tx_emitter *e, tx_operator op, tx_value a, tx_value b);
  tx_value (*compare)(tx_emitter *e, tx_operator op, tx_value a, tx_value b); /* NULL: tx_infix */
  tx_value (*shifted)(tx_emitter *e, bool left, tx_value a, int64_t count);   /* by fewer bits than it has */
  tx_value (*negated)(tx_emitter *e, tx_value a);
  tx_value (*absolute)(tx_emitter *e, tx_value a); /* of floats and signed integers */
  tx_value (*inverted)(tx_emitter *e, tx_value a); /* each bit */
  /* f(operands), a value of that kind */
  tx_value (*call)(tx_emitter *e, tx_function f, unsigned kind, const tx_value *operands, unsigned count);

  tx_value (*splat)(tx_emitter *e, tx_value v, uint32_t width);
  tx_value (*lanes)(tx_emitter *e, uint32_t first, uint32_t width); /* first, first + 1, ... as i32 */
  tx_value (*element)(tx_emitter *e, tx_value v, uint32_t i);
  /* The `width` elements order[i] of a's elements followed by b's. */
  tx_value (*shuffle)(tx_emitter *e, tx_value a, tx_value b, const uint32_t *order, uint32_t width);
  tx_value (*mask)(tx_emitter *e, tx_value v, unsigned kind, uint32_t width); /* of a scalar truth value */
  tx_value (*any)(tx_emitter *e, tx_value mask);
  tx_value (*convert)(tx_emitter *e, tx_value v, unsigned kind); /* integers modulo 2^bits, or floats */
  tx_value (*reinterpret)(tx_emitter *e, tx_value v, unsigned kind);
  tx_value (*to_integer)(tx_emitter *e, unsigned kind, tx_value v); /* as ir_value_cast */
  /* An f32 that rounds to f16 or bf16 as v does: v is an f64, or an integer of 32 or 64 bits. */
  tx_value (*to_narrow)(tx_emitter *e, ir_dtype dtype, tx_value v);

  /* A vector access with a stride of 1 or -1, in the order of memory; the store of ref, or where that is 0 of
   * an update. */
  tx_value (*read_whole)(tx_emitter *e, const tx_place *a);
  void (*write_whole)(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored);
  void (*write_elements)(tx_emitter *e, const tx_place *a, tx_value stored); /* of any other access */
  /* A store of a vector of 2^n contiguous elements where `valid` holds; NULL: there are none. */
  void (*write_masked)(tx_emitter *e, const tx_place *a, tx_value valid, tx_value stored);
  /* Of a vector access: the elements where `valid` holds (NULL: everywhere), else `other`; the same of one
   * element for all lanes, of which some may be valid. */
  tx_value (*load_vector)(tx_emitter *e, const tx_place *a, const tx_value *valid, tx_value other);
  tx_value (*load_scalar)(tx_emitter *e, const tx_place *a, tx_value valid, tx_value other);
  /* TX_ITEMS: the index of the work-item's element; a store by the work-items that take part; `if (...) `
   * where not all do */
  tx_value (*item_index)(tx_emitter *e, ir_ref param, ir_ref index, const cg_access *how);
  void (*store_item)(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored);
  const char *(*guard)(tx_emitter *e, uint32_t lanes);
  void (*rare)(tx_emitter *e, ir_ref ref, void **unrolled);
  /* TX_ITEMS: combines each of the values over the first `lanes` work-items, in pairs i and i + lanes/2; all
   * work-items get the results. */
  void (*combine_items)(tx_emitter *e, ir_op op, ir_dtype dtype, uint32_t lanes, tx_value *values,
                        size_t count);
  /* All unrolled values of a load at once, where there is a way to do that; else false. */
  bool (*load_unrolled)(tx_emitter *e, ir_ref load, void **unrolled);
  tx_value (*named)(tx_emitter *e, ir_ref ref, tx_value v); /* NULL: tx_variable */
  void (*block_closed)(tx_emitter *e);                      /* may be NULL */
} tx_language;

/* How the language holds the lanes of a vector. */
typedef enum tx_vectors {
  TX_WHOLE,      /* in one value, of any width */
  TX_SUBVECTORS, /* in vectors of powers of two, of at most TX_WIDEST elements */
  TX_ITEMS       /* in scalars, one in each work-item of a group */
} tx_vectors;
enum { TX_WIDEST = 16 /* elements of the widest vector of OpenCL C */ };

struct tx_emitter {
  cg_order order;
  cg_nest *nest; /* the order's */
  ir_graph *g;   /* the nest's */
  const ir_target *target;
  const tx_language *language;
  void *own; /* the language's own state */
  tx_vectors vectors;
  ir_text out;        /* the function's body */
  uint32_t depth;     /* current nesting depth of blocks */
  uint32_t subvector; /* the current one, of the current node */
  /* names of the current node's variables: their number (0: none yet), how many there are, which is the next;
   * numbers given out so far */
  uint32_t number, variables, variable, last_number;
  bool soft_f64;         /* f64 is TX_SOFT_F64 */
  bool streams;          /* some store may bypass the caches */
  bool checks;           /* the function may store to its status word */
  cg_scratch_text texts; /* text of expressions */
};

/* text.c: expressions, statements, types. The text of an expression lives until tx_text_free. */
const char *tx_type(tx_emitter *e, unsigned kind, uint32_t width);
unsigned tx_bytes(unsigned kind);
unsigned tx_signed(unsigned kind); /* the signed integer of its size */
unsigned tx_unsigned(unsigned kind);
unsigned tx_kind_of(const tx_emitter *e, ir_dtype dtype);    /* of scalars in registers; index as i64 */
unsigned tx_storage_of(const tx_emitter *e, ir_dtype dtype); /* in memory */
bool tx_is_signed(unsigned kind);
static inline bool tx_is_real(unsigned kind) { return kind >= TX_F32; }
static inline uint32_t tx_widest(tx_value a, tx_value b) { return a.width > b.width ? a.width : b.width; }
const char *tx_text(tx_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
tx_value tx_make(tx_emitter *e, unsigned kind, uint32_t width, tx_level level, const char *format, ...)
    IR_PRINTF(5, 6);
tx_value tx_literal(tx_emitter *e, unsigned kind, int64_t value);
tx_value tx_real(tx_emitter *e, unsigned kind, double value);
const char *tx_parenthesised(tx_emitter *e, tx_value v, tx_level level); /* in parentheses where it must be */
void tx_line(tx_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void tx_open(tx_emitter *e, const char *format, ...) IR_PRINTF(2, 3);
void tx_close(tx_emitter *e);
void tx_leave_block(tx_emitter *e);               /* as tx_close, without a line */
tx_value tx_variable(tx_emitter *e, tx_value v);  /* declares the current node's next variable */
tx_value tx_temporary(tx_emitter *e, tx_value v); /* a variable of its own, unless v is a name or literal */
bool tx_is_name(const char *text);
tx_value tx_fail(tx_emitter *e, ir_status status, const char *format, ...) IR_PRINTF(3, 4);
void tx_text_free(tx_emitter *e);

/* emit.c: the unrolled values of nodes */
/* Of a vector of `lanes` lanes: the number of its subvectors; the width of the current one; the first lane of
 * that one. */
uint32_t tx_subvectors(const tx_emitter *e, uint32_t lanes);
uint32_t tx_width(const tx_emitter *e, uint32_t lanes);
uint32_t tx_first_lane(const tx_emitter *e, uint32_t lanes);
tx_value tx_at(tx_emitter *e, ir_ref ref);             /* at the current lanes and subvector */
tx_value *tx_values(tx_emitter *e, uint32_t count);    /* NULL when memory is short */
void tx_begin_node(tx_emitter *e, uint32_t variables); /* whose variables tx_variable declares */
void tx_define_name(tx_emitter *e, ir_ref ref, unsigned kind, const char *name); /* its value has that name */
void tx_emit_unrolled(void *emitter, ir_ref ref, void *unrolled);                /* as cg_emits says */
bool tx_has_threads(const cg_nest *nest);

/* value.c: nodes */
tx_value tx_emit_value(tx_emitter *e, ir_ref ref); /* at the current lanes and subvector */
unsigned tx_index_kind(tx_emitter *e, ir_ref ref);
tx_value tx_index_literal(tx_emitter *e, int64_t value);
tx_value tx_sum(tx_emitter *e, tx_value a, tx_value b); /* of indices */
tx_value tx_product(tx_emitter *e, tx_value a, tx_value b);
tx_value tx_index_as(tx_emitter *e, tx_value v, unsigned kind);
/* A node's value as variables hold it: of `width` elements; truth values of vectors are masks of i32. */
tx_value tx_fetch_value(tx_emitter *e, ir_ref ref, uint32_t width);

/* loop.c: what a loop that runs consists of. The unrolled values of all carried values are variables:
 * declares them, and assigns their next values. */
void **tx_open_carried(tx_emitter *e, const cg_loop *loop);
void tx_close_carried(tx_emitter *e, const cg_loop *loop, void **arrays);
/* Emission is inside the iteration `at` of the loop, until the scope is left that began there. */
void tx_define_iteration(tx_emitter *e, const cg_loop *loop, tx_value at);
void tx_leave_iteration(tx_emitter *e, const cg_loop *loop, size_t scope);
/* Hoists the loads of a loop that may run zero times behind the condition that it runs. Returns true if there
 * are any; the block of the condition is then open. */
bool tx_hoist_guarded(tx_emitter *e, const cg_loop *loop, const char *first, const char *end);
/* A RARE has one branch for all its unrolled values: declares them as their usual values, and returns whether
 * any condition holds; then, where `some` holds, computes what only the first value needs, which is known
 * only there. */
tx_value tx_declare_rare(tx_emitter *e, ir_ref ref, void **unrolled);
void tx_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled, const char *some);

/* lanes.c: as cg_emits says */
void tx_emit_lanes(void *emitter, uint32_t loop);

/* arith.c: one operation on values of the dtype. The result is of the same dtype, f16 and bf16 already
 * rounded, or of a comparison a truth value. tx_select is a where the condition holds, else b. What kernels
 * do not have fails by tx_unknown_op. */
tx_value tx_unary(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a);
tx_value tx_combine(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b);
tx_value tx_compare(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value a, tx_value b);
tx_value tx_fma(tx_emitter *e, ir_dtype dtype, tx_value a, tx_value b, tx_value c);
tx_value tx_fma2(tx_emitter *e, tx_value a, tx_value b, tx_value c); /* a and b of u32 */
tx_value tx_select(tx_emitter *e, tx_value condition, tx_value a, tx_value b);
tx_value tx_infix(tx_emitter *e, tx_operator op, tx_value a, tx_value b); /* of operands of one kind */
tx_value tx_both(tx_emitter *e, tx_value a, tx_value b, tx_operator op);  /* truth values by & | ^ */
tx_value tx_any(tx_emitter *e, tx_value condition);                       /* some element is true */
/* A float value rounded to f16 or bf16; of other dtypes a itself. */
tx_value tx_round_narrow(tx_emitter *e, ir_dtype dtype, tx_value a);
/* Fails with IR_ERR_INTERNAL, naming operation and dtype; gives what tx_fail gives. */
tx_value tx_unknown_op(tx_emitter *e, ir_op op, ir_dtype dtype);

/* convert.c */
tx_value tx_splat(tx_emitter *e, tx_value v, uint32_t width); /* v in each element; a vector as it is */
tx_value tx_element(tx_emitter *e, tx_value v, uint32_t i);   /* of a scalar, that itself */
tx_value tx_lane(tx_emitter *e, ir_dtype dtype, tx_value v, uint32_t i); /* element i; of a mask, as a bool */
tx_value tx_convert(tx_emitter *e, tx_value v, unsigned kind);     /* integers modulo 2^bits, or floats */
tx_value tx_reinterpret(tx_emitter *e, tx_value v, unsigned kind); /* the same bits */
tx_value tx_mask(tx_emitter *e, tx_value v, unsigned kind, uint32_t width); /* a truth value as a mask */
/* The value in another dtype, by the rules of ir_value_cast; the same bits as another dtype, which fails
 * where the sizes differ. */
tx_value tx_cast(tx_emitter *e, ir_dtype from, ir_dtype to, tx_value a);
tx_value tx_bitcast(tx_emitter *e, ir_dtype from, ir_dtype to, tx_value a);
/* From registers to the form in memory, and back. */
tx_value tx_to_storage(tx_emitter *e, ir_dtype dtype, tx_value a);
tx_value tx_from_storage(tx_emitter *e, ir_dtype dtype, tx_value stored);

/* memory.c */
/* Where the elements of a buffer at an index are; whether they are a vector in memory, in either order. */
tx_place tx_place_of(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lanes);
static inline bool tx_is_whole(const tx_place *a) { return a->affine && (a->stride == 1 || a->stride == -1); }
tx_value tx_element_at(tx_emitter *e, const tx_place *a, uint32_t lane); /* as stored: `p1[i]` */
const char *tx_address(tx_emitter *e, const tx_place *a);     /* of the first lane's element: `p1 + i` */
const char *tx_low_address(tx_emitter *e, const tx_place *a); /* the lowest one of a vector access */
/* From the order of lanes to that of addresses, or back. */
tx_value tx_memory_order(tx_emitter *e, const tx_place *a, tx_value v);
/* The `count` elements in memory from that of lane `lane` on, as stored. */
tx_value tx_read_contiguous(tx_emitter *e, const tx_place *a, uint32_t lane, uint32_t count);
/* The value of a LOAD at the current lanes, and that of a BOUND, whose test it emits. */
tx_value tx_emit_load(tx_emitter *e, ir_ref ref);
tx_value tx_emit_bound(tx_emitter *e, ir_ref ref);

/* store.c: as cg_emits says */
void tx_emit_store(void *emitter, ir_ref ref);
void tx_emit_update(void *emitter, ir_ref ref);
/* The condition for a store that bypasses the caches, if its vectors are aligned. */
const char *tx_condition_of_streaming(tx_emitter *e, ir_ref ref, const tx_place *a);

/* tile.c: all unrolled values of a load at once, where these are contiguous and the vector lanes are not
 * (cg_tile_of); false where there is no such tile */
bool tx_emit_tile(tx_emitter *e, ir_ref load, void **unrolled);
/* Interleaves `count` vectors in place: element 0 of each, then element 1 of each, ... */
void tx_interleave(tx_emitter *e, tx_value *v, uint32_t count);

#endif
