/* What the builders share: messages, dtype conversion, checks of sizes and axes, broadcasting. */
#ifndef VIEWFOLD_PASSES_OPS_CHECK_H
#define VIEWFOLD_PASSES_OPS_CHECK_H

#include "ir/arith.h"
#include "ops.h"
#include "passes/index/index.h"

/* message.c: fragments of messages, written into a caller's buffer and cut with "..." where they are too long
 */
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
/* Both texts, which end here, the first one cut to `room` bytes. */
void op_words_join(ir_text *first, size_t room, ir_text *second, op_words *out);
/* facts.c: "" when a cmp b is disproved, else "; needs n >= 3, known: 1 <= n <= 8; declare n=3..8": the end
 * of a message. IR_OP_MOD asks for a % b == 0. */
const char *op_words_fact(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b, op_words *out);
/* Fail with IR_ERR_INVALID; always 0. */
ir_ref op_refuse(ir_graph *g, const char *format, ...) IR_PRINTF(2, 3);

/* passes/ops/text/apply.c: a builder's message begins with the name of its operation; put the one that the
 * user knows there.
 */
void op_blame(ir_error *error, const char *who);

/* promote.c */
/* True when every one of the n operands is a tensor; false silently when one is 0. */
bool op_tensors(ir_graph *g, const char *who, const ir_ref *x, size_t n);
/* The dtype that n operands promote to, weak constants included; IR_NONE after failing. */
ir_dtype op_common(ir_graph *g, const char *who, const ir_ref *x, size_t n);
/* x in dtype: weak constants are range-checked, constants converted at once, anything else CAST. */
ir_ref op_convert(ir_graph *g, const char *who, ir_ref x, ir_dtype dtype);
/* Is the value, of dtype `from`, one of `to`? Integers must be exact, and finite in floats; floats may round.
 */
bool op_holds(ir_dtype to, ir_value value, ir_dtype from, ir_value *converted);
/* Fail because it is not; always 0. */
ir_ref op_refuse_value(ir_graph *g, const char *who, ir_dtype to, ir_value value, ir_dtype from,
                       const char *remedy);
bool op_is_const(const ir_graph *g, ir_ref x); /* rank-0 CONST */

/* shape.c */
bool op_decided(ir_graph *g, ir_op cmp, ir_ref a, ir_ref b); /* identity, or proven */
bool op_is_one(ir_graph *g, ir_ref size);
ir_ref op_canonical(ir_graph *g, ir_ref expr); /* canonical index expression; 0 stays 0 */
/* Canonical copy of a shape into out, every size checked; false after failing (silently when a size is 0). */
bool op_sizes(ir_graph *g, const char *who, const ir_ref *shape, size_t rank, ir_ref *out);
/* The same, where sizes and the number of elements of `like` are known to be sizes already. */
bool op_sizes_like(ir_graph *g, const char *who, ir_ref like, const ir_ref *shape, size_t rank, ir_ref *out);
/* Of a tensor in memory, where sizes have no bound: systems give out addresses below 2^48 unless asked
 * otherwise (Linux: arch/x86/x86_64/5level-paging, arch/arm64/memory), so that a run with more elements finds
 * no room. */
#define OP_MOST_ELEMENTS ((int64_t)1 << 48)
/* Do the bytes of a tensor of these sizes number less than 2^63, for the least values of the sizes? */
bool op_bytes_fit(ir_graph *g, ir_dtype dtype, const ir_ref *dims, size_t rank);
/* The tensor node, after checking rank and number of bytes. */
ir_ref op_make(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
               const ir_ref *src, size_t nsrc);
/* passes/ops/build/batch.c: do the batches of the operands align, and is there room for them before the
 * result's own axes? False after failing. */
bool op_batches_fit(ir_graph *g, ir_op op, ir_dtype dtype, const ir_ref *dims, size_t rank, int64_t arg,
                    const ir_ref *src, size_t nsrc);
bool op_batches_align(ir_graph *g, const char *who, const ir_ref *x, uint32_t count); /* the first of both */
ir_ref op_numel(ir_graph *g, const ir_ref *dims, size_t rank);
const ir_ref *op_dims(const ir_graph *g, ir_ref x);
/* An axis in [-count, count) made >= 0, or -1 after failing; x is named in the message. */
int64_t op_axis(ir_graph *g, const char *who, ir_ref x, int64_t axis, int64_t count);
/* A list of different axes as a set of bits; false after failing. */
bool op_axes(ir_graph *g, const char *who, ir_ref x, const ir_ref *axes, size_t n, uint32_t *set);
/* passes/ops/build/indirect.c: what takes the place of a part of x that has these sizes: in the dtype of x,
 * which it must not widen, and broadcast to them; 0 after failing. */
ir_ref op_fit(ir_graph *g, const char *who, ir_ref x, ir_ref update, const ir_ref *dims, size_t rank);
/* Broadcast the n operands to one shape, inserting RESHAPE and EXPAND; rank-0 constants stay. dims has room
 * for IR_MAX_RANK. */
bool op_broadcast(ir_graph *g, const char *who, ir_ref *x, size_t n, ir_ref *dims, size_t *rank);
/* The same views as without "known", where the caller knows that they fit, be it provable or not: what can be
 * disproved is refused all the same. shape: canonical sizes; bounds, pads: a pair for every axis. */
ir_ref op_reshape_known(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);
ir_ref op_shrink_known(ir_graph *g, ir_ref x, const ir_ref *bounds);
ir_ref op_pad_known(ir_graph *g, ir_ref x, const ir_ref *pads,
                    ir_ref value);                                      /* constant; value as op_pad's */
ir_ref op_grow(ir_graph *g, ir_ref x, const ir_ref *dims, size_t rank); /* x known to broadcast to dims */

#endif
