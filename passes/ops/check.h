/* Shared by the builders: messages, dtype conversion, checks of sizes and axes, broadcasting. */
#ifndef VIEWFOLD_PASSES_OPS_CHECK_H
#define VIEWFOLD_PASSES_OPS_CHECK_H

#include "ir/arith.h"
#include "ops.h"
#include "passes/index/index.h"

/* message.c: fragments of messages, written into a caller's buffer and truncated with "..." where they are
 * too long. */
typedef struct op_words {
  char text[320];
} op_words;
#define OP_TYPE(ref)       op_words_type(g, (ref), &(op_words){{0}})       /* "f32[2,3]" */
#define OP_EXPR(ref)       op_words_expr(g, (ref), &(op_words){{0}})       /* "(n+1)" */
#define OP_LIST(refs, n)   op_words_list(g, (refs), (n), &(op_words){{0}}) /* "[2,3]" */
#define OP_FACT(cmp, a, b) op_words_fact(g, (cmp), (a), (b), &(op_words){{0}})
const char *op_words_type(ir_graph *g, ir_ref ref, op_words *out);
const char *op_words_expr(ir_graph *g, ir_ref ref, op_words *out);
const char *op_words_list(ir_graph *g, const ir_ref *refs, size_t n, op_words *out);
/* Joins both texts and frees them; the first is truncated to `room` bytes. */
void op_words_join(ir_text *first, size_t room, ir_text *second, op_words *out);
/* facts.c: the end of a message about an undecided fact: "" when a cmp b is disproved, else such as "; needs
 * n >= 3, known: 1 <= n <= 8; declare n=3..8". IR_OP_MOD stands for a % b == 0. */
const char *op_words_fact(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b, op_words *out);
/* Fails with IR_ERR_INVALID; always returns 0. */
ir_ref op_refuse(ir_graph *g, const char *format, ...) IR_PRINTF(2, 3);

/* passes/ops/text/apply.c: replaces the operation's name at the start of a builder's message by the name that
 * the user knows. */
void op_rename_error(ir_error *error, const char *who);

/* promote.c */
/* True when each of the n operands is a tensor; false silently when one is 0. */
bool op_tensors(ir_graph *g, const char *who, const ir_ref *x, size_t n);
/* The dtype that n operands promote to, weak constants included; IR_NONE after failing. */
ir_dtype op_common(ir_graph *g, const char *who, const ir_ref *x, size_t n);
/* x in dtype: weak constants are range-checked, constants converted at once, anything else CAST. */
ir_ref op_convert(ir_graph *g, const char *who, ir_ref x, ir_dtype dtype);
/* Can `to` hold the value of dtype `from`? Integers must be exact, and finite in floats; floats may round. */
bool op_holds(ir_dtype to, ir_value value, ir_dtype from, ir_value *converted);
/* Fails because op_holds is false; always returns 0. */
ir_ref op_refuse_value(ir_graph *g, const char *who, ir_dtype to, ir_value value, ir_dtype from,
                       const char *remedy);
bool op_is_const(const ir_graph *g, ir_ref x); /* rank-0 CONST */

/* letters.c */
/* made, unless letters of its operands differ on one of its axes; 0 after failing so. */
ir_ref op_letters_agree(ir_graph *g, const char *who, ir_ref made);
/* The axis of x with that letter; -1 after failing. */
int64_t op_letter_axis(ir_graph *g, const char *who, ir_ref x, char letter);

/* shape.c */
bool op_decided(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b); /* identity, or proven */
/* Is the size 1, identically or by proof? */
bool op_is_one(ir_graph *g, ir_ref size);
ir_ref op_canonical(ir_graph *g, ir_ref expr); /* canonical index expression; 0 stays 0 */
/* Writes the canonical sizes of a shape to out, each one checked; false after failing (silently when a size
 * is 0). */
bool op_sizes(ir_graph *g, const char *who, const ir_ref *shape, size_t rank, ir_ref *out);
/* As op_sizes, where sizes of `like` and its number of elements are known to be valid sizes. */
bool op_sizes_like(ir_graph *g, const char *who, ir_ref like, const ir_ref *shape, size_t rank, ir_ref *out);
/* Upper bound of the number of elements in memory where sizes are unbounded: systems give out addresses below
 * 2^48 unless asked otherwise (Linux: arch/x86/x86_64/5level-paging, arch/arm64/memory), so a run with more
 * elements cannot be allocated. */
#define OP_MOST_ELEMENTS ((int64_t)1 << 48)
/* Is the tensor smaller than 2^63 bytes, at the least values of its sizes? */
bool op_bytes_fit(ir_graph *g, ir_dtype dtype, const ir_ref *dims, size_t rank);
/* The tensor node, after checking rank and number of bytes. */
ir_ref op_make(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
               const ir_ref *src, size_t nsrc);
/* passes/ops/build/batch.c: do the batches of the operands align, and does the rank allow them before the
 * result's own axes? False after failing. */
bool op_batches_fit(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
                    const ir_ref *src, size_t nsrc);
bool op_batches_align(ir_graph *g, const char *who, const ir_ref *x,
                      uint32_t count); /* only whether the batches align */
ir_ref op_numel(ir_graph *g, const ir_ref *dims, size_t rank);
const ir_ref *op_dims(const ir_graph *g, ir_ref x);
/* An axis in [-count, count) made >= 0, or -1 after failing; x appears in the message. */
int64_t op_axis(ir_graph *g, const char *who, ir_ref x, int64_t axis, int64_t count);
/* A list of distinct axes as a bit set; false after failing. */
bool op_axes(ir_graph *g, const char *who, ir_ref x, const ir_ref *axes, size_t n, uint32_t *set);
/* passes/ops/build/indirect.c: `update` converted to the dtype of x, which it must not widen, and broadcast
 * to dims, the sizes of the part of x that it replaces; 0 after failing. */
ir_ref op_fit_update(ir_graph *g, const char *who, ir_ref x, ir_ref update, const ir_ref *dims, size_t rank);
/* Broadcasts the n operands to one shape, inserting RESHAPE and EXPAND; rank-0 constants stay. dims has room
 * for IR_MAX_RANK. */
bool op_broadcast(ir_graph *g, const char *who, ir_ref *x, size_t n, ir_ref *dims, size_t *rank);
/* As the views without "known", where the caller knows that the arguments fit, whether or not this can be
 * proven; what can be disproved is still refused. shape: canonical sizes; bounds, pads: a pair for every
 * axis. */
ir_ref op_reshape_known(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);
ir_ref op_shrink_known(ir_graph *g, ir_ref x, const ir_ref *bounds);
/* Constant padding; value as in op_pad. */
ir_ref op_pad_known(ir_graph *g, ir_ref x, const ir_ref *pads, ir_ref value);
ir_ref op_grow(ir_graph *g, ir_ref x, const ir_ref *dims, size_t rank); /* x known to broadcast to dims */

#endif
