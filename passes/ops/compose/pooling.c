/* Pooling: the maximum or the mean of each window over the last axes. */
#include "window.h"

#include <math.h>

/* Checks that each window holds an element: a window that is padded by at most half of its span reaches into
 * the axis from either end, and steps over the axis only if the dilation is greater than its size. False
 * after failing. */
static bool holds_elements(ir_graph *g, const char *who, ir_ref x, const op_window *w, uint32_t axis,
                           size_t i) {
  int64_t span = (w->extent - 1) * w->dilation + 1;
  ir_ref size = ir_dim(g, x, axis), least = ir_index(g, w->dilation);
  if (2 * w->before > span || 2 * w->after > span) {
    op_refuse(g,
              "%s: padding [%lld,%lld] of spatial axis %zu is more than half a window, which spans %lld; x "
              "has shape %s; "
              "each window holds an element",
              who, (long long)w->before, (long long)w->after, i, (long long)span, OP_TYPE(x));
    return false;
  }
  if ((!w->before && !w->after) || op_decided(g, IR_OP_GE, size, least)) return true;
  op_refuse(g,
            "%s: spatial axis %zu has size %s, the window dilation %lld and padding; x has shape %s; each "
            "window holds an "
            "element: the size is at least the dilation%s",
            who, i, OP_EXPR(size), (long long)w->dilation, OP_TYPE(x), OP_FACT(IR_OP_GE, size, least));
  return false;
}

static bool start_pool(ir_graph *g, const char *who, ir_ref *x, const op_window *w, size_t axes) {
  if (!op_compose_begin(g, who, x, 1)) return false;
  uint32_t rank = ir_rank(g, *x);
  if (axes < 1 || axes > rank) {
    op_refuse(
        g,
        "%s: windows of %zu axes; x has shape %s; takes windows of its last axes, 1 to all of them, as in "
        "kernel=[2,2]; a single number is the size on all axes behind batch and channels",
        who, axes, OP_TYPE(*x));
    return false;
  }
  if (!op_windows_fit(g, who, *x, w, axes)) return false;
  for (size_t i = 0; i < axes; i++)
    if (!holds_elements(g, who, *x, &w[i], rank - (uint32_t)(axes - i), i)) return false;
  return true;
}

/* Reduces the last axes: the indices within windows. */
static ir_ref reduce_windows(ir_graph *g, ir_op op, ir_ref windows, size_t axes) {
  ir_ref list[IR_MAX_RANK];
  if (!windows) return 0;
  for (size_t i = 0; i < axes; i++) list[i] = ir_index(g, (int64_t)(ir_rank(g, windows) - axes + i));
  return op_reduce(g, op, windows, list, axes, false);
}

/* The least value of the dtype. */
static ir_ref least(ir_graph *g, ir_dtype dtype) {
  if (ir_is_float(dtype)) return ir_float(g, dtype, -INFINITY);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED;
  return ir_const(g, dtype, (ir_value){.i = is_signed ? INT64_MIN >> (64 - 8 * ir_dtypes[dtype].bytes) : 0});
}

ir_ref op_max_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes) {
  const char *who = "max_pool";
  if (!start_pool(g, who, &x, w, axes)) return 0;
  ir_ref windows = op_windows(g, who, x, w, axes, least(g, ir_dtype_of(g, x)));
  return op_compose_end(g, who, reduce_windows(g, IR_OP_REDUCE_MAX, windows, axes));
}

/* The number of elements of x, without padding, in each window, over the last axes alone. */
static ir_ref count_elements(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes) {
  ir_ref one = ir_float(g, ir_dtype_of(g, x), 1);
  ir_ref ones = op_full(g, one, op_dims(g, x) + ir_rank(g, x) - axes, axes);
  return ones ? reduce_windows(g, IR_OP_SUM, op_windows(g, who, ones, w, axes, 0), axes) : 0;
}

ir_ref op_avg_pool(ir_graph *g, ir_ref x, const op_window *w, size_t axes, bool count_pads) {
  const char *who = "avg_pool";
  if (!start_pool(g, who, &x, w, axes)) return 0;
  ir_dtype dtype = op_float_result(ir_dtype_of(g, x));
  x = op_convert(g, who, x, op_float_wide(dtype));
  bool pads = false;
  for (size_t i = 0; i < axes; i++) pads |= w[i].before || w[i].after;
  ir_ref windows = x ? op_windows(g, who, x, w, axes, 0) : 0, y;
  if (count_pads || !pads) y = reduce_windows(g, IR_OP_MEAN, windows, axes);
  else
    y = windows ? op_div(g, reduce_windows(g, IR_OP_SUM, windows, axes), count_elements(g, who, x, w, axes))
                : 0;
  return op_compose_end(g, who, op_cast(g, y, dtype));
}
