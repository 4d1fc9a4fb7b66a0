/* What convolutions and transposed convolutions share. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_CONV_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_CONV_H

#include "window.h"

typedef struct op_convolution {
  const char *who;
  ir_ref x, weight, bias; /* in the dtype to compute in; bias: 0 for none */
  size_t axes;            /* number of spatial axes */
  int64_t groups;
  op_window w[IR_MAX_RANK];
  ir_dtype dtype; /* of the result */
} op_convolution;

/* Fills in c from operands and windows, and checks what both kinds share. False after failing. */
bool op_conv_start(ir_graph *g, op_convolution *c, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                   int64_t groups);
/* Checks channels: x has as many as `expected` (from the weight), `split` is divisible by the groups, and the
 * bias has `out` elements. False after failing. */
bool op_conv_channels(ir_graph *g, const op_convolution *c, ir_ref expected, ir_ref split, ir_ref out);
/* Converts the operands to the dtype to compute in. */
void op_conv_widen(ir_graph *g, op_convolution *c);
/* [batch, result channels, places...]: the windows of x times the weight, [result channels, channels /
 * groups, extents...]. */
ir_ref op_conv_correlate(ir_graph *g, const op_convolution *c);
/* winograd.c: the same where op_conv_is_winograd, in fewer multiplications and with a larger error. */
bool op_conv_is_winograd(ir_graph *g, const op_convolution *c);
ir_ref op_conv_winograd(ir_graph *g, const op_convolution *c);
/* conv_taps.c: the same where op_conv_is_taps, as a sum of products for each element of the window, none of
 * them of padding. */
bool op_conv_is_taps(ir_graph *g, const op_convolution *c);
ir_ref op_conv_taps(ir_graph *g, const op_convolution *c);
/* y with the bias, in the dtype of the result. */
ir_ref op_conv_finish(ir_graph *g, const op_convolution *c, ir_ref y);

#endif
