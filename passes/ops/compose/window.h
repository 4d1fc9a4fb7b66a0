/* Sliding windows of axes, as convolutions and pooling read them. */
#ifndef VIEWFOLD_PASSES_OPS_COMPOSE_WINDOW_H
#define VIEWFOLD_PASSES_OPS_COMPOSE_WINDOW_H

#include "impl.h"

/* The largest stride, dilation, padding and extent accepted: their products fit 64 bits. */
#define OP_WINDOW_MOST ((int64_t)1 << 30)

/* Checks that each number is in range; false after failing. */
bool op_windows_fit(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes);

/* Replaces the last `axes` axes of x by all window indices, one per axis, followed by all indices within a
 * window. The element is read from x, padded by w.before and w.after with the constant `fill` (0: zero), at
 * window * stride + index * dilation. */
ir_ref op_windows(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes, ir_ref fill);

#endif
