/* Windows that slide over axes: what convolutions and pooling read. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_WINDOW_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_WINDOW_H

#include "impl.h"

/* The largest step, distance, padding and extent that is taken: products of them fit 64 bits. */
#define OP_WINDOW_MOST ((int64_t)1 << 30)

/* False after failing: each number in range, `axes` not more than x has after the first `lead`. */
bool op_windows_fit(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes);

/* The last axes of x, in pairs for each: the place of the window, then the position in it, all places first.
 * x, padded by w.before and w.after with the constant `fill` (0: zero), reads element place * stride +
 * position * dilation. */
ir_ref op_windows(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes, ir_ref fill);

#endif
