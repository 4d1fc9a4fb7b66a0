/* The folder passes/ops/compose. Operations that are compositions.
 *
 *   in      operands and attributes
 *   out     several nodes of other operations
 *   holds   an error names the composition, not the operations that it records */

/* Compositions: builders that record several nodes of other operations. They keep the contract of ops.h;
 * errors of the builders that they call name the composition. Computations on f16 and bf16 are done in f32
 * and rounded once, at the end. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_COMPOSE_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_COMPOSE_H

#include "passes/ops/ops.h"

/* softmax.c. Rows are shifted by their maximum, so nothing overflows; results are floats. A row of only -inf
 * has softmax and log_softmax NaN (0/0) and logsumexp -inf; a row with +inf gives NaN, and logsumexp +inf.
 * The axis has at least one element. */
ir_ref op_softmax(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_log_softmax(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_logsumexp(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims); /* as op_reduce */

/* activation.c */
ir_ref op_silu(ir_graph *g, ir_ref x);                     /* x sigmoid(x) */
ir_ref op_gelu(ir_graph *g, ir_ref x, bool tanh_form);     /* x Phi(x), or its approximation by tanh */
ir_ref op_softplus(ir_graph *g, ir_ref x);                 /* log(1 + exp(x)) */
ir_ref op_leaky_relu(ir_graph *g, ir_ref x, double alpha); /* alpha x where x <= 0 */
ir_ref op_elu(ir_graph *g, ir_ref x, double alpha);        /* alpha (exp(x) - 1) where x <= 0 */
/* 1 / x, a float. */
ir_ref op_reciprocal(ir_graph *g, ir_ref x);
/* x x, of the dtype of x. */
ir_ref op_square(ir_graph *g, ir_ref x);
/* -1, 0 or 1 in the dtype of x, which is not bool; NaN for NaN. Its derivative is 0. */
ir_ref op_sign(ir_graph *g, ir_ref x);
ir_ref op_clip(ir_graph *g, ir_ref x, ir_ref low,
               ir_ref high); /* min(max(x, low), high); a bound of 0: none */

/* attention.c. x: q [..., n, d], k [..., m, d], v [..., m, c] and, if n is 4, a mask that broadcasts to [...,
 * n, m]: bool, true where a key takes part, or a float that is added to the scores. The leading axes
 * broadcast. scale 0: 1 / sqrt(d). causal: query i attends to keys 0..i. A query without any key gives 0. m
 * is at least 1. */
ir_ref op_attention(ir_graph *g, const ir_ref *x, size_t n, double scale, bool causal);

/* moments.c. The sum of the squared deviations from the mean, divided by max(count - correction, 0); op_std:
 * its square root. */
ir_ref op_var(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction);
ir_ref op_std(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction);

/* norm.c. Normalises x[0] over its axes from `axis` to the last: (x - mean) / sqrt(variance + eps), or x /
 * sqrt(mean of squares + eps); then times x[1], the weight, and plus x[2], the bias, where given. Weight and
 * bias broadcast to the normalised axes. */
ir_ref op_layer_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps);
ir_ref op_rms_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps); /* without a bias */

/* split.c. Several results, as a TUPLE of 1 to OP_PARTS_MAX tensors. */
/* an array of so many is on the stack; more are refused, with a message that says so */
enum { OP_PARTS_MAX = 1024 };
ir_ref op_split(ir_graph *g, ir_ref x, int64_t parts, int64_t axis); /* equal parts */
/* The first n mod chunks parts are one longer; none is empty. */
ir_ref op_chunk(ir_graph *g, ir_ref x, int64_t chunks, int64_t axis);
ir_ref op_unbind(ir_graph *g, ir_ref x,
                 int64_t axis); /* one result per index of the axis, which is removed */
ir_ref op_minmax(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims); /* minimum, maximum */

/* range.c */
/* start, start + step, ... before stop, an index expression >= 0 or any integer. */
ir_ref op_arange(ir_graph *g, ir_dtype dtype, int64_t start, ir_ref stop, int64_t step);
ir_ref op_arange_real(ir_graph *g, ir_dtype dtype, double start, double stop,
                      double step); /* computed in f64 */
ir_ref op_linspace(ir_graph *g, ir_dtype dtype, double start, double stop,
                   int64_t num); /* both ends; in f64 */

/* triangle.c. Diagonal k consists of the elements with column - row = k. */
ir_ref op_eye(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank,
              int64_t diagonal);                         /* rank 1: square */
ir_ref op_tril(ir_graph *g, ir_ref x, int64_t diagonal); /* zero above the diagonal of the last two axes */
ir_ref op_triu(ir_graph *g, ir_ref x, int64_t diagonal); /* zero below */

/* indirect.c. Modes as in op_gather. axis NULL: indices into the row-major flattening. */
ir_ref op_take(ir_graph *g, ir_ref x, ir_ref indices, const int64_t *axis, int mode);
/* Each line of the axis is indexed by its own indices. Ranks are equal; the sizes of the other axes
 * broadcast, in the second function to those of x; updates broadcast to the replaced elements. SCATTER,
 * SCATTER_ADD. */
ir_ref op_take_along_axis(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode);
ir_ref op_scatter_along_axis(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis,
                             int mode);
/* x with the window that begins at start (counted from the end where a negative constant) replaced by the
 * update, which broadcasts to the window. size NULL: the size of the update. */
ir_ref op_slice_update(ir_graph *g, ir_ref x, ir_ref update, const ir_ref *start, const ir_ref *size,
                       size_t n);

/* einsum.c. "ij,jk->ik" and the like: letters label axes, ... any number of them; without -> the result has
 * the axes of ... and the letters that occur once, in ASCII order. A label that occurs twice in a term is its
 * diagonal; sizes of a label must be equal or 1. Accumulates as op_matmul does. */
ir_ref op_einsum(ir_graph *g, const char *equation, size_t length, const ir_ref *x, size_t n);

/* rearrange.c. Splits, reorders, joins, repeats and reduces axes by patterns, of which each tells the axes of
 * an array in order: letters, each once; numbers, which are sizes of axes without a name; groups in ( ), one
 * axis each; ... for any others. In `from`, all letters of a group but one have a size, as in "b(hp=2)c".
 * What `from` does not have is repeated, by its size; what `to` does not have is reduced, unless it is a 1.
 * reduce: a place in op_rearrange_reductions; 0: none. */
enum { OP_REARRANGE_REDUCTIONS = 8 };
extern const char *const op_rearrange_reductions[OP_REARRANGE_REDUCTIONS];
ir_ref op_rearrange(ir_graph *g, ir_ref x, const char *from, size_t from_length, const char *to,
                    size_t to_length, int reduce);

/* Sliding windows of an axis: window p holds the elements p * stride + q * dilation, q < extent, of the axis
 * padded by `before` and `after`. Only windows inside of the padded axis count. */
typedef struct op_window {
  int64_t extent, stride, dilation, before, after;
  int64_t extra; /* transposed convolution: additional elements at the end of the result */
} op_window;

/* conv.c, conv_transpose.c. x[0]: [batch, channels, spatial...]; x[1], the weight: [result channels, channels
 * / groups, extents...], for a transposed convolution [channels, result channels / groups, extents...]; x[2]
 * if n is 3, the bias: [result channels]. Extents are those of the weight. Accumulates as op_matmul does. */
ir_ref op_conv(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups);
/* The same, with the larger errors of winograd.c where it is relaxed, whatever the graph's precision. */
ir_ref op_conv_within(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups,
                      bool relaxed);
ir_ref op_conv_transpose(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                         int64_t groups);
/* pooling.c. Over the last axes. Padding is less than every element (max_pool), or 0, counted if count_pads
 * (avg_pool); it is at most half a window. */
ir_ref op_max_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes);
ir_ref op_avg_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes, bool count_pads);

/* random.c. Threefry-2x32: two random u32 words, as a TUPLE, from the two words of a key and the two words of
 * a counter, u32 tensors that broadcast. */
ir_ref op_threefry(ir_graph *g, const ir_ref operands[4]);
/* A draw: element i in row-major order takes its bits from word i mod 2 of threefry2x32(seed, i // 2); an f64
 * takes both words of threefry2x32(seed, i). The seed is an integer scalar, modulo 2^64. */
typedef struct op_draw {
  ir_dtype dtype; /* a float */
  const ir_ref *shape;
  size_t rank;
  ir_ref seed;
} op_draw;
ir_ref op_uniform(ir_graph *g, const op_draw *d, double low, double high); /* low <= x < high */
ir_ref op_normal(ir_graph *g, const op_draw *d, double mean, double std);
ir_ref op_bernoulli(ir_graph *g, const op_draw *d, double p); /* bool: is a uniform f32 below p? */

#endif
