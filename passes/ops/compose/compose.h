/* The folder passes/ops/compose. Operations that are compositions.
 *
 *   in      operands and attributes
 *   out     several nodes of other operations
 *   holds   a refusal speaks of the composition, not of its parts */

/* Operations that are compositions: builders that record several nodes of other operations. They keep the
 * contract of ops.h; what they refuse is told in their own name. Where they compute with floats, f16 and bf16
 * are computed in f32 and rounded once, at the end. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_COMPOSE_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_COMPOSE_H

#include "passes/ops/ops.h"

/* softmax.c. Shifted by the maximum, so nothing overflows; results are floats. A row of -inf alone
 * has softmax and log_softmax NaN (0/0) and logsumexp -inf; +inf gives NaN and +inf. The axis has at least
 * one element. */
ir_ref op_softmax(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_log_softmax(ir_graph *g, ir_ref x, int64_t axis);
ir_ref op_logsumexp(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims); /* as op_reduce */

/* activation.c */
ir_ref op_silu(ir_graph *g, ir_ref x);                     /* x sigmoid(x) */
ir_ref op_gelu(ir_graph *g, ir_ref x, bool tanh_form);     /* x Phi(x), or its approximation by tanh */
ir_ref op_softplus(ir_graph *g, ir_ref x);                 /* log(1 + exp(x)) */
ir_ref op_leaky_relu(ir_graph *g, ir_ref x, double alpha); /* alpha x where x <= 0 */
ir_ref op_elu(ir_graph *g, ir_ref x, double alpha);        /* alpha (exp(x) - 1) where x <= 0 */
ir_ref op_reciprocal(ir_graph *g, ir_ref x);
ir_ref op_square(ir_graph *g, ir_ref x);
ir_ref op_sign(ir_graph *g, ir_ref x);
ir_ref op_clip(ir_graph *g, ir_ref x, ir_ref low, ir_ref high); /* min(max(x, low), high); 0 for none */

/* attention.c. x: q [..., n, d], k [..., m, d], v [..., m, c] and, if n is 4, a mask that broadcasts
 * to [..., n, m]: bool, true where a key takes part, or a float, added to the scores. The axes before
 * broadcast. scale 0: 1 / sqrt(d). causal: query i takes keys 0..i. A query without any key gives 0. m is at
 * least 1. */
ir_ref op_attention(ir_graph *g, const ir_ref *x, size_t n, double scale, bool causal);

/* moments.c. The sum of the squared deviations from the mean over max(count - correction, 0); its
 * root. */
ir_ref op_var(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction);
ir_ref op_std(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction);

/* norm.c. x[0] over its axes from `axis` to the last: (x - mean) / sqrt(variance + eps), or
 * x / sqrt(mean of squares + eps); then times x[1], the weight, and plus x[2], the bias, as far as given.
 * These broadcast to the axes normalised. */
ir_ref op_layer_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps);
ir_ref op_rms_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps); /* without a bias */

/* split.c. Several results, as a TUPLE of tensors: at most OP_PARTS_MAX of them, at least one. */
enum { OP_PARTS_MAX = 1024 };
ir_ref op_split(ir_graph *g, ir_ref x, int64_t parts, int64_t axis); /* equal parts */
ir_ref op_chunk(ir_graph *g, ir_ref x, int64_t chunks,
                int64_t axis);                         /* the first n mod chunks one longer; none empty */
ir_ref op_unbind(ir_graph *g, ir_ref x, int64_t axis); /* every position of the axis, which goes */
ir_ref op_minmax(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims); /* least, greatest */

/* range.c */
/* start, start + step, ... before stop, an index expression >= 0 or any integer. */
ir_ref op_arange(ir_graph *g, ir_dtype dtype, int64_t start, ir_ref stop, int64_t step);
ir_ref op_arange_real(ir_graph *g, ir_dtype dtype, double start, double stop,
                      double step); /* computed in f64 */
ir_ref op_linspace(ir_graph *g, ir_dtype dtype, double start, double stop,
                   int64_t num); /* both ends; in f64 */

/* triangle.c. Diagonal k holds the positions with column - row = k. */
ir_ref op_eye(ir_graph *g, ir_dtype dtype, const ir_ref *shape, size_t rank,
              int64_t diagonal);                         /* rank 1: square */
ir_ref op_tril(ir_graph *g, ir_ref x, int64_t diagonal); /* zero above the diagonal, of the last two axes */
ir_ref op_triu(ir_graph *g, ir_ref x, int64_t diagonal); /* zero below */

/* indirect.c. Modes as op_gather. axis NULL: of the row-major flattening. */
ir_ref op_take(ir_graph *g, ir_ref x, ir_ref indices, const int64_t *axis, int mode);
/* Along each line of the axis by its own indices: equal ranks, the other sizes broadcast, in the second
 * function to those of x, and updates to what is replaced. SCATTER, SCATTER_ADD. */
ir_ref op_take_along_axis(ir_graph *g, ir_ref x, ir_ref indices, int64_t axis, int mode);
ir_ref op_scatter_along_axis(ir_graph *g, ir_op op, ir_ref x, ir_ref indices, ir_ref updates, int64_t axis,
                             int mode);
/* x with the window that begins at start, from the end when a negative constant, replaced: by the update,
 * which broadcasts to the window's size; NULL: its own */
ir_ref op_slice_update(ir_graph *g, ir_ref x, ir_ref update, const ir_ref *start, const ir_ref *size,
                       size_t n);

/* einsum.c. "ij,jk->ik" and the like: letters label axes, ... any number of them; without -> the result has
 * the axes of ... and the letters that stand once, in ASCII's order. A label twice in a term is its diagonal;
 * sizes of a label are equal or 1. Accumulates as op_matmul does. */
ir_ref op_einsum(ir_graph *g, const char *equation, size_t length, const ir_ref *x, size_t n);

/* Windows that slide over an axis: window p holds elements p * stride + q * dilation, q < extent, of the axis
 * padded by `before` and `after`. As many as lie inside. */
typedef struct op_window {
  int64_t extent, stride, dilation, before, after;
  int64_t extra; /* of a transposed convolution: elements more at the end of the result */
} op_window;

/* conv.c. x[0]: [batch, channels, spatial...]; x[1], the weight: [channels of the result, channels /
 * groups, extents...], of a transposed one [channels, channels of the result / groups, extents...]; x[2] if n
 * is 3, the bias: [channels of the result]. Extents are those of the weight. Accumulates as op_matmul does.
 */
ir_ref op_conv(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups);
ir_ref op_conv_transpose(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                         int64_t groups);
/* pooling.c. Over the last axes. Padding is less than every element, or 0 and counted if count_pads; at
 * most half a window. */
ir_ref op_max_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes);
ir_ref op_avg_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes, bool count_pads);

/* random.c. Threefry-2x32: two random u32 words, as a TUPLE, from two of a key and two of a counter,
 * u32 tensors that broadcast. */
ir_ref op_threefry(ir_graph *g, const ir_ref operands[4]);
/* What a draw is of: element i in row-major order takes its bits from word i mod 2 of threefry2x32(seed, i //
 * 2), an f64 from both words of threefry2x32(seed, i). The seed is an integer scalar, taken modulo 2^64. */
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
