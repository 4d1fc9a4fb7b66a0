/* The folder passes/ops. Operations.
 *
 *   in      operands and attributes
 *   out     tensor nodes with shapes, or an error that names the operation
 *   holds   the registry has one row for each operation; everything specific to an operation follows from
 *           its row */

/* The operation registry and recording: every tensor operation has a builder here, used by the C API, the
 * text parser and the chain parser alike.
 *
 * A builder checks everything and returns a tensor node with its shape, or 0 after ir_fail(g->error,
 * IR_ERR_INVALID, ...). The first error wins. An operand (or size) that is 0 gives 0 silently, so a chain of
 * calls is checked once, at its end.
 *
 * What recording makes explicit, so that later passes need not know it:
 *   - Conversions are CAST nodes: the operands of an elementwise node have the dtype it computes in, sum and
 *     prod take operands of their accumulator's dtype, any and all take bool.
 *   - Broadcasting is a RESHAPE that adds leading axes, then an EXPAND of the same rank. The operands of an
 *     elementwise node have one and the same shape TUPLE, except rank-0 CONST operands, which stay as they
 * are.
 *   - Attributes are canonical: axes ascending and not negative, orders not negative, sizes canonical index
 *     expressions, reshape without -1. A size of 1 that EXPAND grows is the constant 1.
 *   - MATMUL has operands of equal rank >= 2 with identical batch axes and equal dtypes.
 *   - No operand is a weak constant: it was converted to the other operand's dtype, or to its default dtype
 *     (op_default_dtype).
 * A view that changes nothing (permute by the identity, pad by zeros, expand or reshape to the same shape,
 * steps of 1, whole windows, no axes to flip) returns its operand. Constants of rank 0 are converted when
 * recorded, without a CAST.
 *
 * Weak constants are literals without a dtype: node->weak with dtype I64 (integer), U64 (an integer above the
 * range of I64) or F64. */
#ifndef VIEWFOLD_PASSES_OPS_OPS_H
#define VIEWFOLD_PASSES_OPS_OPS_H

#include "ir/attr.h"
#include "ir/resource.h"

/* the rows RECORDED of ir/ops.def: the properties of an operation that every builder looks up */
typedef enum op_kind {
  OP_KIND_NONE,
  OP_KIND_LEAF,
  OP_KIND_UNARY,
  OP_KIND_BINARY,
  OP_KIND_TERNARY,
  OP_KIND_AXIS,
  OP_KIND_SHAPE,
  OP_KIND_JOIN,
  OP_KIND_REDUCE,
  OP_KIND_CONTRACT,
  OP_KIND_INDIRECT,
  OP_KIND_CONTROL, /* its results are those of functions */
  OP_KIND_CUSTOM   /* given by its registration: custom.h */
} op_kind;
typedef enum op_dtype_rule {
  OP_DTYPE_GIVEN,      /* an argument of the builder */
  OP_DTYPE_SAME,       /* dtype of the operand, any */
  OP_DTYPE_NUMBER,     /* promoted dtype of the operands; bool refused */
  OP_DTYPE_ROUND,      /* as NUMBER; an integer operand is itself the result */
  OP_DTYPE_FLOAT,      /* floats stay; bool and integers become f32, 64-bit integers f64 */
  OP_DTYPE_FLOAT_ONLY, /* promoted; anything but floats refused */
  OP_DTYPE_BITS,       /* promoted; floats refused */
  OP_DTYPE_INTEGER,    /* promoted; floats and bool refused */
  OP_DTYPE_PROMOTED,   /* promoted, any */
  OP_DTYPE_COMPARE,    /* operands promoted, any; result bool */
  OP_DTYPE_BRANCHES,   /* first operand bool, the others promoted */
  OP_DTYPE_WORDS,      /* u32 and u32, the third operand and the result f32 */
  OP_DTYPE_SUM,        /* bool and integers of <= 32 bits become i32, unsigned ones u32; others stay */
  OP_DTYPE_BOOL,       /* operands become bool */
  OP_DTYPE_POSITION    /* i64 */
} op_dtype_rule;
typedef enum op_shape_rule {
  OP_SHAPE_GIVEN,     /* an argument of the builder */
  OP_SHAPE_SAME,      /* that of the operand */
  OP_SHAPE_BROADCAST, /* all operands broadcast by NumPy's rule */
  OP_SHAPE_PERMUTED,
  OP_SHAPE_INSERT, /* one axis more */
  OP_SHAPE_DROP,   /* one axis less */
  OP_SHAPE_RESIZE, /* same rank, sizes change */
  OP_SHAPE_JOIN,   /* sizes along the axis add up */
  OP_SHAPE_REDUCE, /* axes are removed, or become 1 */
  OP_SHAPE_MATMUL,
  OP_SHAPE_GATHER
} op_shape_rule;
typedef enum op_batch_rule {
  OP_BATCH_NONE,    /* no operands, so nothing to batch: a leaf is the same for every batch element */
  OP_BATCH_LEADING, /* batch axes lead the axes of all operands and results; axes, sizes and pads are shifted
                       by them */
  /* passes/batch/physicalize.c has a rule for it: some operands alone have batch axes, or it has functions or
   * types of its own to change. */
  OP_BATCH_OWN
} op_batch_rule;
/* A partial operand is a sum over devices of which each device holds one summand. Where the operation is
 * linear, the result may stay partial as well: */
typedef enum op_partial_rule {
  OP_PARTIAL_NEVER,  /* never: operands are summed first */
  OP_PARTIAL_ALWAYS, /* linear in its one operand */
  OP_PARTIAL_FILL,   /* likewise, where the fill value is zero */
  OP_PARTIAL_ALL,    /* linear in all operands together: if every one is partial */
  OP_PARTIAL_ONE,    /* linear in each operand alone: if one is partial and the others are not */
  OP_PARTIAL_FIRST,  /* linear in its first operand alone: a numerator, or indexed data */
  OP_PARTIAL_OWN     /* given by its registration */
} op_partial_rule;
typedef enum op_cost_basis {
  OP_COST_NONE,     /* no operations: moves data, or nothing */
  OP_COST_OUTPUT,   /* elements of the result */
  OP_COST_INPUT,    /* elements of the first operand */
  OP_COST_PRODUCTS, /* elements of the result times the length of the contracted axis */
  OP_COST_OWN       /* given by its registration */
} op_cost_basis;

struct op_call;
typedef ir_ref (*op_derivative_rule)(struct op_call *c, uint32_t i,
                                     ir_ref d); /* passes/ops/derivative/derivative.h */
typedef struct op_row {
  uint8_t kind, dtype, shape, batch; /* op_kind, op_dtype_rule, op_shape_rule, op_batch_rule */
  uint8_t derivative;                /* op_derivative_kind */
  uint8_t partial, cost, weight; /* op_partial_rule, op_cost_basis, operations per element of that basis */
  op_derivative_rule rule;
  const char *sharding; /* a template: passes/ops/sharding/sharding.h */
} op_row;
extern const op_row op_registry[IR_OP_COUNT];

/* compositions.def: operations that record other operations, in the order of the table; a row without a name
 * ends it */
typedef struct op_composition {
  const char *name;
  uint8_t dtype, shape;
} op_composition;
extern const op_composition op_compositions[];

/* passes/ops/build/leaf.c. Sizes are index expressions, each proven >= 0; rank <= IR_MAX_RANK; the bytes of a
 * tensor fit int64_t. */
ir_ref op_input(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *shape,
                size_t rank);
ir_ref op_buffer(ir_graph *g, ir_dtype dtype, const ir_ref *shape,
                 size_t rank); /* each call makes a new one */
/* passes/ops/letters.c: the value whose axes have these letters, one each, or _ for none. */
ir_ref op_name_axes(ir_graph *g, ir_ref x, const char *letters, size_t length);
/* A new buffer of the type (batch sizes and shape) of x. */
ir_ref op_buffer_like(ir_graph *g, ir_ref x);
/* An input with batch sizes before its shape. */
ir_ref op_input_batched(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *batch,
                        size_t batch_rank, const ir_ref *shape, size_t rank);
ir_ref op_const(ir_graph *g, ir_dtype dtype, ir_value value); /* rank 0, rounded to dtype */
ir_ref op_literal_int(ir_graph *g, int64_t value);            /* weak, rank 0 */
ir_ref op_literal_float(ir_graph *g, double value);           /* weak, rank 0 */
/* An array that an owner outside of the graph keeps, a constant of that name: `bytes` must be the size of the
 * shape, which must be constant. Each call makes a node of its own. */
ir_ref op_resource(ir_graph *graph, ir_dtype dtype, const ir_ref *shape, size_t rank, const char *constant,
                   size_t bytes);
/* The same of an array of a file; constant "": the file is opened when a program is bound. */
ir_ref op_resource_from(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const char *constant,
                        const ir_origin *origin, size_t bytes);
/* Elements as stored, row-major: `bytes` must be the size of the shape, which must be constant. */
ir_ref op_data(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
               size_t bytes);
/* Each element is its index along axis. */
ir_ref op_iota(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, int64_t axis);
ir_ref op_full(ir_graph *g, ir_ref value, const ir_ref *shape, size_t rank); /* value: rank 0; expanded */

/* passes/ops/build/elementwise.c. Operands broadcast and promote. */
ir_ref op_unary(ir_graph *g, ir_op op, ir_ref x);
ir_ref op_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b);  /* arithmetic, comparisons, bitwise, shifts */
ir_ref op_logical(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* AND OR XOR of the operands as bool */
ir_ref op_logical_not(ir_graph *g, ir_ref x);
ir_ref op_ternary(ir_graph *g, ir_op op, ir_ref a, ir_ref b, ir_ref c);
ir_ref op_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b);
ir_ref op_fma(ir_graph *g, ir_ref a, ir_ref b, ir_ref c);
ir_ref op_cast(ir_graph *g, ir_ref x, ir_dtype dtype);
ir_ref op_bitcast(ir_graph *g, ir_ref x, ir_dtype dtype); /* of equal size; not to bool */
/* x bitcast to integers and back: integers carry no derivative. */
ir_ref op_stop_gradient(ir_graph *g, ir_ref x);
/* A weak constant converted to its default dtype: i32, i64, u64 or f32; anything else is returned as it
 * is. */
ir_ref op_default_dtype(ir_graph *g, ir_ref x);

/* passes/ops/build/view.c, passes/ops/build/window.c. Axes count from the end when negative. Lists are of
 * index expressions; orders, axes and steps must be constants. */
ir_ref op_permute(ir_graph *g, ir_ref x, const ir_ref *order, size_t n);
ir_ref op_swap_axes(ir_graph *g, ir_ref x, int64_t axis1, int64_t axis2);
ir_ref op_transpose(ir_graph *g, ir_ref x); /* all axes in reverse */
ir_ref op_move_axis(ir_graph *g, ir_ref x, int64_t source, int64_t destination);
ir_ref op_reshape(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank); /* one -1 is inferred */
ir_ref op_flatten(ir_graph *g, ir_ref x, int64_t first, int64_t last);      /* axes first..last are merged */
ir_ref op_expand(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);  /* NumPy's broadcast_to */
ir_ref op_unsqueeze(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_squeeze(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n);  /* axes NULL: every axis of size 1 */
ir_ref op_shrink(ir_graph *g, ir_ref x, const ir_ref *bounds, size_t n); /* n pairs begin, end; n = rank */
/* begin = start, counted from the end where it is a negative constant; end = begin + size */
ir_ref op_slice(ir_graph *g, const char *who, ir_ref x, const ir_ref *start, const ir_ref *size, size_t n);
ir_ref op_stride(ir_graph *g, ir_ref x, const ir_ref *steps, size_t n); /* Python's [::step] on every axis */
ir_ref op_flip(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n);
/* index counts from the end where it is a negative constant. */
ir_ref op_point(ir_graph *g, ir_ref x, ir_ref index, int64_t axis);
/* pads: n pairs lo, hi; value: a constant that the dtype holds exactly, or 0 for zero; mode: IR_PAD_ */
ir_ref op_pad(ir_graph *g, ir_ref x, const ir_ref *pads, size_t n, ir_ref value, int mode);
ir_ref op_concat(ir_graph *g, const ir_ref *x, size_t n, int64_t axis);
ir_ref op_stack(ir_graph *g, const ir_ref *x, size_t n, int64_t axis);

/* passes/ops/build/reduce.c. axes NULL: all; an empty list reduces nothing. SUM PROD MEAN REDUCE_MAX
 * REDUCE_MIN ANY ALL. */
ir_ref op_reduce(ir_graph *g, ir_op op, ir_ref x, const ir_ref *axes, size_t n, bool keepdims);
/* ARGMAX ARGMIN; axis NULL: the index in the row-major flattening */
ir_ref op_argreduce(ir_graph *g, ir_op op, ir_ref x, const int64_t *axis, bool keepdims);

/* passes/ops/build/contract.c */
/* The last axis of a by the last but one of b, leading axes broadcast. An operand of one axis is a row on the
 * left, a column on the right, and the result lacks that axis. */
ir_ref op_matmul(ir_graph *g, ir_ref a, ir_ref b);

/* passes/ops/build/indirect.c. Indices of any integer dtype; mode: IR_GATHER_. The first `batch` axes of x
 * and of the indices are shared, and precede the axis. */
/* shape x[:axis] ++ indices[batch:] ++ x[axis+1:] */
ir_ref op_gather(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode);
ir_ref op_gather_batched(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode, int64_t batch);
/* passes/ops/build/exchange.c. EXCHANGE (ir/exchange.h): x is this device's part of a distributed array, the
 * box that begins at the index `at`; the result is the box of size `shape` that begins at the index `start`.
 * n entries each, n = rank of x. kind: `length` bytes, what the exchange is called in reports. */
ir_ref op_exchange(ir_graph *g, ir_ref x, const ir_ref *shape, const ir_ref *start, const ir_ref *at,
                   size_t n, const char *kind, size_t length);
/* SCATTER, SCATTER_ADD: x with updates, which broadcast to the shape of gather, stored or added at the
 * indices; mode fill skips indices out of range. */
ir_ref op_scatter(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis, int mode,
                  int64_t batch);

/* passes/ops/build/assign.c. The positions of the elements of an array, i64, in its shape: element i, in
 * row-major order, is i. */
ir_ref op_address(ir_graph *g, const ir_ref *shape, size_t rank);
typedef enum op_write {
  OP_WRITE_SET,
  OP_WRITE_ADD,
  OP_WRITE_SUB,
  OP_WRITE_MUL,
  OP_WRITE_DIV,
  OP_WRITE_MIN,
  OP_WRITE_MAX,
  OP_WRITE_AND,
  OP_WRITE_OR,
  OP_WRITE_XOR,
  OP_WRITE_COUNT
} op_write;
extern const char *const op_writes[OP_WRITE_COUNT];
/* x with the elements that the target names replaced by those of u, or combined with them; u broadcasts to
 * the shape of the target and promotes to the dtype of x. The target is a chain of views and gathers of
 * op_address of x: it names no element twice, but by gathers, of which the last `set` stays, and `add` adds
 * all. Padding is nowhere. */
ir_ref op_assign(ir_graph *g, ir_ref x, ir_ref target, ir_ref u, op_write op);
/* The same of a target that is checked first: it may also name elements several times. */
ir_ref op_read(ir_graph *g, ir_ref target, ir_ref x);
/* What a target of op_assign names in x, which has as many elements as positions were counted: its views
 * applied to x, with zeros for padding. */
ir_ref op_view_at(ir_graph *g, ir_ref target, ir_ref x);
/* The newest version of x as a write of x: itself if it is made by writes and scatters of x, or of what a
 * loop or a condition leaves. Both have one type. */
ir_ref op_next_version(ir_graph *g, ir_ref x, ir_ref newest);
bool op_target_gathers(const ir_graph *g, ir_ref target); /* does it have a gather? */
bool op_target_repeats(ir_graph *g, ir_ref target);       /* may it name an element twice? */

/* passes/ops/build/found.c. x, an integer of rank 0, as i64. In a run it is the value of the size variable,
 * unless the shape of an input tells that: frontend/api/found_sizes.h. */
ir_ref op_found(ir_graph *g, ir_ref x, ir_ref size);

/* passes/ops/build/positions.c. Elements of x that are positions below an extent, because the run checks them
 * or views repeat such elements: the extent, an index expression; 0: it is not known. */
ir_ref op_position_extent(const ir_graph *g, ir_ref x);
/* Indices of a gather that clips: base + k * step, k along their last axis if the gather takes one. */
typedef struct op_window_indices {
  ir_ref base, extent; /* the same along that axis, and below the extent */
  int64_t step; /* at least 1, and all indices lie in the axis; 0: it varies and is not 0, and the run has
                   checked that they do */
} op_window_indices;
bool op_window_of(ir_graph *g, ir_ref gather, op_window_indices *out);
bool op_gathers_once(ir_graph *g, ir_ref gather); /* does it name no element twice? */

/* passes/ops/compose/ordered.c. Along one axis. CUMSUM CUMPROD CUMMAX CUMMIN: over each element and all
 * before it, or all after it if reverse; exclusive: without the element itself, so that the first result is 0
 * or 1 (not for CUMMAX, CUMMIN: the maximum of no elements is undefined). */
ir_ref op_cumulative(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool exclusive, bool reverse);
/* SORT, or ARGSORT: the index, i64, that each sorted element had before. Stable in either direction; zeros of
 * either sign are equal, NaNs are equal and greater than all numbers. At most 2^32 elements. */
ir_ref op_sort(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool descending);
/* A TUPLE: the first k elements of the axis sorted (descending if largest), and their indices. */
ir_ref op_topk(ir_graph *g, ir_ref x, int64_t k, int64_t axis, bool largest);
/* op_lines reshapes a tensor to lines, [before, axis, behind]: the axes before the given one are merged, and
 * those behind it. op_unlines reshapes back to the shape of `like`. */
ir_ref op_lines(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_unlines(ir_graph *g, ir_ref lines, ir_ref like);
/* Element [i, at[i, j, k], k] of the lines [before, axis, behind], for each i, j, k: every index must be in
 * range. */
ir_ref op_take_lines(ir_graph *g, ir_ref lines, ir_ref at);
/* passes/ops/build/batch.c. A value of batch (b0, b1) and shape (d0, d1), f32[b0,b1|d0,d1], is physically
 * [b0,b1,d0,d1]. Every other builder sees shapes only, and gives its result the longest batch of its
 * operands. Axes of *_physical and batch_axis count from the end when negative, as others do. */
ir_ref op_rebatch(ir_graph *g, ir_ref x,
                  int64_t batch_dims); /* the number of leading physical axes that are batch */
/* The first axis of the shape becomes the last of the batch. */
ir_ref op_incr_batch_dims(ir_graph *g, ir_ref x);
ir_ref op_decr_batch_dims(ir_graph *g, ir_ref x);                       /* the inverse */
ir_ref op_move_axis_to_batch_dims(ir_graph *g, ir_ref x, int64_t axis); /* to the front of the batch */
ir_ref op_move_axis_from_batch_dims(ir_graph *g, ir_ref x, int64_t batch_axis, int64_t logical_destination);
/* batch_shape is the whole new batch; the batch of x aligns with its end */
ir_ref op_broadcast_batch_dims(ir_graph *g, ir_ref x, const ir_ref *batch_shape, size_t rank);
/* As without _physical, but axes and sizes include the batch; the number of batch axes stays. */
ir_ref op_unsqueeze_physical(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_squeeze_physical(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_broadcast_to_physical(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);
ir_ref op_moveaxis_physical(ir_graph *g, ir_ref x, int64_t source, int64_t destination);

/* How vmap moves an axis into the batch and out of it. Batches align at their ends, so an axis is identified
 * in every value by its level, its number from the end (>= 1); level 1 belongs to the outermost vmap.
 * op_batch: x has fewer than `level` batch axes. op_unbatch: x has at most `level`; if the axis is missing, x
 * is repeated `size` times. */
ir_ref op_batch(ir_graph *g, ir_ref x, int64_t axis, int64_t level);
ir_ref op_unbatch(ir_graph *g, ir_ref x, ir_ref size, int64_t axis, int64_t level);
/* x, known to have the shape of `like`, changed to the batch of `like`: axes that `like` lacks are summed
 * unless `keep` holds their level (bit 0: level 1); axes that x lacks are repeated unless `keep` holds their
 * level, where a value without the axis is the same for all indices of it. */
ir_ref op_in_batch_of(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep);
ir_ref op_repeat_batch(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep); /* only repeats axes */

/* promote.c: the promotion rules themselves */
ir_dtype op_promote(ir_dtype a, ir_dtype b); /* IR_NONE: u64 with a signed integer */
ir_dtype op_float_result(ir_dtype dtype);    /* OP_DTYPE_FLOAT */
ir_dtype op_accumulator(ir_dtype dtype);     /* OP_DTYPE_SUM */

/* passes/ops/text/apply.c: any operation by canonical name or alias, as text writes it (names.def,
 * attributes.def). Numbers too large for int64_t may be given as a WORD of decimal digits. The leaves `input`
 * and `buffer` have no name here. */
ir_ref op_apply(ir_graph *g, const char *name, size_t length, const ir_ref *operands, size_t n,
                const ir_attr *attrs, size_t attr_count);
bool op_known(const char *name, size_t length); /* does op_apply know the name? */
/* The names in the order of names.def; NULL behind the last. *op: IR_OP_ERROR of a composition */
const char *op_name_at(size_t number, ir_op *op);
/* Appends lines about that name: how many operands it takes, its attributes and what each accepts. False:
 * there is no such name. */
bool op_describe(const char *name, ir_text *out);
/* The operations of a row of defaults.def; NULL behind the last row. */
const char *op_default_row(size_t number, const char **attribute, const char **value, const char **written);
/* Appends the names of its attributes, "none" where it takes none; nothing of a name that is not known. */
void op_put_attributes(const char *name, size_t length, ir_text *out);
/* What the results of an operation are called in examples, as in "%values, %indices"; NULL: any names do. */
const char *op_result_names(const char *name, size_t length);

#endif
