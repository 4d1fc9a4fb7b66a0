/* The folder passes/ops. Operations.
 *
 *   in      operands and attributes
 *   out     tensor nodes with shapes, or an error that names the operation
 *   holds   the registry has one row for each operation; all that is particular to one follows from its
 *           row */

/* The operation registry and recording: every tensor operation has a builder here, used by the C API, the
 * text parser and the chain parser alike.
 *
 * A builder checks everything and returns a tensor node with its shape, or 0 after ir_fail(g->error,
 * IR_ERR_INVALID, ...). The first error wins. An operand (or size) that is 0 gives 0 silently, so a chain of
 * calls is checked once, at its end.
 *
 * What recording makes explicit, so that later passes need not know it
 *   - Conversions are CAST nodes: the operands of an elementwise node have the dtype it computes in, sum and
 * prod take operands of their accumulator's dtype, any and all take bool.
 *   - Broadcasting is a RESHAPE that adds leading axes, then an EXPAND of the same rank. The operands of an
 * elementwise node have one and the same shape TUPLE, except rank-0 CONST operands, which stay as they are.
 *   - Attributes are canonical: axes ascending and not negative, orders not negative, sizes canonical index
 * expressions, reshape without -1. A size of 1 that EXPAND grows is the constant 1.
 *   - MATMUL has operands of equal rank >= 2 with identical batch axes and equal dtypes.
 *   - No operand is a weak constant: each has taken the other operand's dtype, or its own firm one.
 * A view that changes nothing (permute by the identity, pad by zeros, expand or reshape to the same shape,
 * steps of 1, whole windows, no axes to flip) returns its operand. Constants of rank 0 are converted when
 * recorded, without a CAST.
 *
 * Weak constants are literals without a dtype: node->weak with dtype I64 (integer), U64 (an integer above the
 * range of I64) or F64. */
#ifndef VIEWFOLD_PASSES_OPS_OPS_H
#define VIEWFOLD_PASSES_OPS_OPS_H

#include "ir/attr.h"

/* registry.def: what every builder looks up about its operation */
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
  OP_KIND_CONTROL, /* results are what functions return */
  OP_KIND_CUSTOM   /* as its registration says: custom.h */
} op_kind;
typedef enum op_dtype_rule {
  OP_DTYPE_GIVEN,      /* an argument of the builder */
  OP_DTYPE_SAME,       /* that of the operand, any */
  OP_DTYPE_NUMBER,     /* that of the operands, promoted; bool refused */
  OP_DTYPE_ROUND,      /* likewise; integers are already round, so the operand is the result */
  OP_DTYPE_FLOAT,      /* floats stay; bool and integers become f32, of 64 bits f64 */
  OP_DTYPE_FLOAT_ONLY, /* promoted; anything but floats refused */
  OP_DTYPE_BITS,       /* promoted; floats refused */
  OP_DTYPE_INTEGER,    /* promoted; floats and bool refused */
  OP_DTYPE_PROMOTED,   /* promoted, any */
  OP_DTYPE_COMPARE,    /* operands promoted, any; result bool */
  OP_DTYPE_BRANCHES,   /* first operand bool, the others promoted */
  OP_DTYPE_SUM,        /* bool and integers of <= 32 bits become i32, unsigned ones u32; others stay */
  OP_DTYPE_BOOL,       /* operands become bool */
  OP_DTYPE_POSITION    /* i64 */
} op_dtype_rule;
typedef enum op_shape_rule {
  OP_SHAPE_GIVEN,     /* an argument of the builder */
  OP_SHAPE_SAME,      /* that of the operand */
  OP_SHAPE_BROADCAST, /* of all operands, NumPy's rule */
  OP_SHAPE_PERMUTED,
  OP_SHAPE_INSERT, /* one axis more */
  OP_SHAPE_DROP,   /* one axis less */
  OP_SHAPE_RESIZE, /* same rank, sizes change */
  OP_SHAPE_JOIN,   /* sizes along the axis add up */
  OP_SHAPE_REDUCE, /* axes go, or become 1 */
  OP_SHAPE_MATMUL,
  OP_SHAPE_GATHER
} op_shape_rule;
typedef enum op_batch_rule {
  OP_BATCH_NONE,    /* no operands, so nothing to batch: a leaf is the same for every element */
  OP_BATCH_LEADING, /* batch axes in front of all operands and results; axes, sizes and pads move along */
  OP_BATCH_OWN /* passes/batch/physicalize.c has a rule for it: batch axes of some operands alone, functions,
                  types */
} op_batch_rule;
/* A partial operand: each device holds a summand, and the value is the sum over devices. The result may stay
 * partial as well where the operation is linear, which is: */
typedef enum op_partial_rule {
  OP_PARTIAL_NEVER,  /* not at all: operands are summed first */
  OP_PARTIAL_ALWAYS, /* in its one operand */
  OP_PARTIAL_FILL,   /* likewise, where what is filled in is zero */
  OP_PARTIAL_ALL,    /* in all operands together: if every one is partial */
  OP_PARTIAL_ONE,    /* in each operand alone: if one is partial and the others are not */
  OP_PARTIAL_FIRST,  /* in its first operand alone: a numerator, or what is indexed */
  OP_PARTIAL_OWN     /* a registration says it */
} op_partial_rule;
typedef enum op_cost_basis {
  OP_COST_NONE,     /* moves data or nothing at all */
  OP_COST_OUTPUT,   /* elements of the result */
  OP_COST_INPUT,    /* elements of the first operand */
  OP_COST_PRODUCTS, /* elements of the result times the length of the contraction */
  OP_COST_OWN       /* a registration says it */
} op_cost_basis;

struct op_call;
typedef ir_ref (*op_derivative_rule)(struct op_call *c, uint32_t i,
                                     ir_ref d); /* passes/ops/derivative/derivative.h */
typedef struct op_row {
  uint8_t kind, dtype, shape, batch; /* op_kind, op_dtype_rule, op_shape_rule, op_batch_rule */
  uint8_t derivative;                /* op_derivative_kind */
  uint8_t partial, cost, weight;     /* op_partial_rule, op_cost_basis, operations for each such element */
  op_derivative_rule rule;
  const char *sharding; /* a template: passes/ops/sharding/sharding.h */
} op_row;
extern const op_row op_registry[IR_OP_COUNT];

/* compositions.def: the operations that record others, in the order of the table; a row without a name ends
 * it */
typedef struct op_composition {
  const char *name;
  uint8_t dtype, shape;
} op_composition;
extern const op_composition op_compositions[];

/* passes/ops/build/leaf.c. Sizes are index expressions, each proven >= 0; rank <= IR_MAX_RANK; the bytes of a
 * tensor fit int64_t. */
ir_ref op_input(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *shape,
                size_t rank);
ir_ref op_buffer(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank); /* a new one each time */
/* The same, of the type (batch sizes and shape) of x. */
ir_ref op_buffer_like(ir_graph *g, ir_ref x);
/* An input with batch sizes before its shape. */
ir_ref op_input_batched(ir_graph *g, const char *name, size_t length, ir_dtype dtype, const ir_ref *batch,
                        size_t batch_rank, const ir_ref *shape, size_t rank);
ir_ref op_const(ir_graph *g, ir_dtype dtype, ir_value value); /* rank 0, rounded to dtype */
ir_ref op_literal_int(ir_graph *g, int64_t value);            /* weak, rank 0 */
ir_ref op_literal_float(ir_graph *g, double value);           /* weak, rank 0 */
/* elements as stored, row-major: `bytes` must be the size of the shape, which must be constant */
ir_ref op_data(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank, const void *elements,
               size_t bytes);
ir_ref op_iota(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank,
               int64_t axis);                                                /* position along axis */
ir_ref op_full(ir_graph *g, ir_ref value, const ir_ref *shape, size_t rank); /* value: rank 0; expanded */

/* passes/ops/build/elementwise.c. Operands broadcast and promote. */
ir_ref op_unary(ir_graph *g, ir_op op, ir_ref x);
ir_ref op_binary(ir_graph *g, ir_op op, ir_ref a, ir_ref b);  /* arithmetic, comparisons, bitwise, shifts */
ir_ref op_logical(ir_graph *g, ir_op op, ir_ref a, ir_ref b); /* AND OR XOR of the operands as bool */
ir_ref op_logical_not(ir_graph *g, ir_ref x);
ir_ref op_where(ir_graph *g, ir_ref condition, ir_ref a, ir_ref b);
ir_ref op_fma(ir_graph *g, ir_ref a, ir_ref b, ir_ref c);
ir_ref op_cast(ir_graph *g, ir_ref x, ir_dtype dtype);
ir_ref op_bitcast(ir_graph *g, ir_ref x, ir_dtype dtype); /* of equal size; not to bool */
ir_ref op_stop_gradient(ir_graph *g,
                        ir_ref x); /* x through its bits as integers, which carry no derivative */
ir_ref op_firm(ir_graph *g,
               ir_ref x); /* a weak constant with its own dtype: i32, i64, u64 or f32; anything else as is */

/* passes/ops/build/view.c, passes/ops/build/window.c. Axes count from the end when negative. Lists are of
 * index expressions; orders, axes and steps must be constants. */
ir_ref op_permute(ir_graph *g, ir_ref x, const ir_ref *order, size_t n);
ir_ref op_swap_axes(ir_graph *g, ir_ref x, int64_t axis1, int64_t axis2);
ir_ref op_move_axis(ir_graph *g, ir_ref x, int64_t source, int64_t destination);
ir_ref op_reshape(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank); /* one -1 is inferred */
ir_ref op_flatten(ir_graph *g, ir_ref x, int64_t first, int64_t last);      /* axes first..last become one */
ir_ref op_expand(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);  /* NumPy's broadcast_to */
ir_ref op_unsqueeze(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_squeeze(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n);  /* axes NULL: every axis of size 1 */
ir_ref op_shrink(ir_graph *g, ir_ref x, const ir_ref *bounds, size_t n); /* n pairs begin, end; n = rank */
/* begin = start, from the end when a negative constant; end = begin + size */
ir_ref op_slice(ir_graph *g, ir_ref x, const ir_ref *start, const ir_ref *size, size_t n);
ir_ref op_stride(ir_graph *g, ir_ref x, const ir_ref *steps, size_t n); /* Python's [::step] on every axis */
ir_ref op_flip(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n);
ir_ref op_point(ir_graph *g, ir_ref x, ir_ref index,
                int64_t axis); /* index from the end when a negative constant */
/* pads: n pairs lo, hi; value: a constant that the dtype holds exactly, or 0 for zero; mode: IR_PAD_ */
ir_ref op_pad(ir_graph *g, ir_ref x, const ir_ref *pads, size_t n, ir_ref value, int mode);
ir_ref op_concat(ir_graph *g, const ir_ref *x, size_t n, int64_t axis);
ir_ref op_stack(ir_graph *g, const ir_ref *x, size_t n, int64_t axis);

/* passes/ops/build/reduce.c. axes NULL: all; an empty list reduces nothing. SUM PROD MEAN REDUCE_MAX
 * REDUCE_MIN ANY ALL. */
ir_ref op_reduce(ir_graph *g, ir_op op, ir_ref x, const ir_ref *axes, size_t n, bool keepdims);
/* ARGMAX ARGMIN; axis NULL: position in the row-major flattening */
ir_ref op_argreduce(ir_graph *g, ir_op op, ir_ref x, const int64_t *axis, bool keepdims);

/* passes/ops/build/contract.c */
ir_ref op_matmul(ir_graph *g, ir_ref a, ir_ref b);

/* passes/ops/build/indirect.c. Indices of any integer dtype; mode: IR_GATHER_. The first `batch` axes of x
 * and of the indices are the same ones, and stand before the axis. */
/* shape x[:axis] ++ indices[batch:] ++ x[axis+1:] */
ir_ref op_gather(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode);
ir_ref op_gather_batched(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode, int64_t batch);
/* SCATTER, SCATTER_ADD: x with updates, which broadcast to the shape above, stored or added at the indices;
 * fill leaves out what is out of range */
ir_ref op_scatter(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis, int mode,
                  int64_t batch);

/* passes/ops/compose/ordered.c. Along one axis. CUMSUM CUMPROD CUMMAX CUMMIN: of each element and all before
 * it, or all after it if reverse; exclusive: without itself, so that the first is 0 or 1 (not of CUMMAX,
 * CUMMIN: nothing has no extremum). */
ir_ref op_cumulative(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool exclusive, bool reverse);
/* SORT, or ARGSORT: the position, i64, that each element of the sorted axis had. Stable in either direction;
 * zeros of either sign are equal, NaNs equal and greater than all numbers. At most 2^32 elements. */
ir_ref op_sort(ir_graph *g, ir_op op, ir_ref x, int64_t axis, bool descending);
/* A TUPLE: the first k elements of the axis sorted (descending if largest), and their positions. */
ir_ref op_topk(ir_graph *g, ir_ref x, int64_t k, int64_t axis, bool largest);
/* A tensor as [before, axis, behind], and back: the axes before the one at hand as one, and those behind it.
 */
ir_ref op_lines(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_unlines(ir_graph *g, ir_ref lines, ir_ref like);
/* Element at[i, j, k] of each of the lines [before, axis, behind]: all positions are known to exist. */
ir_ref op_take_lines(ir_graph *g, ir_ref lines, ir_ref at);
/* passes/ops/build/batch.c. A value of batch (b0, b1) and shape (d0, d1), f32[b0,b1|d0,d1], is physically
 * [b0,b1,d0,d1]; every other builder speaks of shapes alone, and gives its result the longest batch of its
 * operands. Axes of
 * *_physical and batch_axis count from the end when negative, as others do. */
ir_ref op_rebatch(ir_graph *g, ir_ref x, int64_t batch_dims); /* so many leading physical axes are batch */
ir_ref op_incr_batch_dims(ir_graph *g,
                          ir_ref x); /* the first axis of the shape becomes the last of the batch */
ir_ref op_decr_batch_dims(ir_graph *g, ir_ref x);                       /* and back */
ir_ref op_move_axis_to_batch_dims(ir_graph *g, ir_ref x, int64_t axis); /* to the front of the batch */
ir_ref op_move_axis_from_batch_dims(ir_graph *g, ir_ref x, int64_t batch_axis, int64_t logical_destination);
/* the whole batch; the one that x has aligns with its end */
ir_ref op_broadcast_batch_dims(ir_graph *g, ir_ref x, const ir_ref *batch_shape, size_t rank);
/* as without _physical, but axes and sizes include the batch; the number of batch axes stays */
ir_ref op_unsqueeze_physical(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_squeeze_physical(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_broadcast_to_physical(ir_graph *g, ir_ref x, const ir_ref *shape, size_t rank);
ir_ref op_moveaxis_physical(ir_graph *g, ir_ref x, int64_t source, int64_t destination);

/* How vmap puts its axis into a type and takes it out. Batches align at their ends, so an axis counted from
 * there, its level (>= 1), is the same one in every value: 1 is that of the outermost vmap. x has fewer than
 * `level` batch axes (op_batch), or at most as many (op_unbatch; without that one it is repeated `size`
 * times). */
ir_ref op_batch(ir_graph *g, ir_ref x, int64_t axis, int64_t level);
ir_ref op_unbatch(ir_graph *g, ir_ref x, ir_ref size, int64_t axis, int64_t level);
/* x, known to have the shape of `like`, in its batch: axes that `like` does not have are summed unless the
 * set `keep` holds their level (bit 0: level 1); axes that x lacks are repeated, unless it does: there a
 * value without an axis stands for the same one all along. */
ir_ref op_in_batch_of(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep);
ir_ref op_repeat_batch(ir_graph *g, ir_ref x, ir_ref like, uint32_t keep); /* the second half of that */

/* promote.c: the rules on their own */
ir_dtype op_promote(ir_dtype a, ir_dtype b); /* IR_NONE: u64 with a signed integer */
ir_dtype op_float_result(ir_dtype dtype);    /* OP_DTYPE_FLOAT */
ir_dtype op_accumulator(ir_dtype dtype);     /* OP_DTYPE_SUM */

/* passes/ops/text/apply.c: any operation by canonical name or alias, as text writes it (names.def,
 * attributes.def). Numbers too large for int64_t may come as a WORD of decimal digits. Names of the leaves
 * `input` and `buffer` are not known here. */
ir_ref op_apply(ir_graph *g, const char *name, size_t length, const ir_ref *operands, size_t n,
                const ir_attr *attrs, size_t attr_count);
bool op_known(const char *name, size_t length); /* op_apply would find it */

#endif
