/* Windows as views, one axis at a time.
 *
 * Let i be the size of the axis after padding, k the extent of the window, d the dilation. k copies of the
 * axis, laid end to end and followed by k*d more elements, are k rows of i + d; element c of row r is number
 * r*(i+d) + c = r*i + (r*d + c) of the copies, which is element r*d + c of the axis as long as that is less
 * than i. So the windows are these rows, cut off after (o-1)*stride + 1 elements, with stride `stride`, where
 * o is the number of windows. (o-1)*stride + (k-1)*d < i ensures that all elements come from the copies, and
 * that the added elements are never read.
 *
 * Windows that lie one behind the other, with a stride of their extent, are the rows of a reshape. */
#include "window.h"

#include "ir/mesh/sharding.h"

bool op_windows_fit(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes) {
  for (size_t i = 0; i < axes; i++) {
    const struct {
      const char *name;
      int64_t value, least;
    } numbers[] = {{"kernel", w[i].extent, 1},
                   {"stride", w[i].stride, 1},
                   {"dilation", w[i].dilation, 1},
                   {"padding", w[i].before, 0},
                   {"padding", w[i].after, 0}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      if (numbers[k].value >= numbers[k].least && numbers[k].value <= OP_WINDOW_MOST) continue;
      op_refuse(g, "%s: %s %lld of spatial axis %zu is out of range; x has shape %s; takes %lld to 2^30", who,
                numbers[k].name, (long long)numbers[k].value, i, OP_TYPE(x), (long long)numbers[k].least);
      return false;
    }
  }
  return true;
}

static ir_ref padded(ir_graph *g, ir_ref x, const op_window *w, size_t axes, ir_ref fill) {
  ir_ref pads[2 * IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++) {
    bool spatial = i + axes >= rank;
    const op_window *v = spatial ? &w[i + axes - rank] : NULL;
    pads[2 * i] = ir_index(g, v ? v->before : 0);
    pads[2 * i + 1] = ir_index(g, v ? v->after : 0);
  }
  return op_pad(g, x, pads, rank, fill, IR_PAD_CONSTANT);
}

/* Splits the last axis into [indices within the window, windows]; `count` is the number of windows. */
static ir_ref slide_axis(ir_graph *g, ir_ref x, const op_window *w, ir_ref count) {
  ir_ref dims[IR_MAX_RANK + 1], list[2 * IR_MAX_RANK + 2], zero = ir_index(g, 0);
  if (!x || !zero || !count) return 0;
  uint32_t last = ir_rank(g, x) - 1;
  ir_ref size = ir_dim(g, x, last),
         reach = pass_add_int(g, pass_mul_int(g, pass_add_int(g, count, -1), w->stride), 1);
  for (uint32_t i = 0; i < last; i++) dims[i] = ir_dim(g, x, i);
  if (w->extent > 1) {
    dims[last] = ir_index(g, w->extent);
    dims[last + 1] = size;
    x = op_expand(g, op_unsqueeze(g, x, last), dims, last + 2);
    dims[last] = pass_mul_int(g, size, w->extent);
    x = op_reshape(g, x, dims, last + 1);
    for (uint32_t i = 0; i <= last; i++) list[2 * i] = list[2 * i + 1] = zero;
    list[2 * last + 1] = ir_index(g, w->extent * w->dilation);
    x = op_pad(g, x, list, last + 1, 0, IR_PAD_CONSTANT);
    dims[last] = ir_index(g, w->extent);
    dims[last + 1] = pass_add_int(g, size, w->dilation);
    x = op_reshape(g, x, dims, last + 2);
  } else {
    x = op_unsqueeze(g, x, last);
  }
  if (!x) return 0;
  uint32_t rank = ir_rank(g, x);
  for (uint32_t i = 0; i < rank; i++)
    list[2 * i] = zero, list[2 * i + 1] = i + 1 == rank ? reach : ir_dim(g, x, i);
  x = op_shrink(g, x, list, rank);
  for (uint32_t i = 0; i < rank; i++) list[i] = ir_index(g, i + 1 == rank ? w->stride : 1);
  return op_stride(g, x, list, rank);
}

/* The windows of all axes as rows of a reshape, where they lie one behind the other in each. 0: they do not,
 * or one does not fit, or sizes are not known. */
static ir_ref cut_windows(ir_graph *g, ir_ref x, const op_window *w, uint32_t axes) {
  ir_ref dims[IR_MAX_RANK], bounds[2 * IR_MAX_RANK], order[IR_MAX_RANK];
  uint32_t rank = ir_rank(g, x), lead = rank - axes;
  if (ir_graph_mesh(g)) return 0;
  for (uint32_t i = 0; i < rank; i++) bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = ir_dim(g, x, i);
  for (uint32_t i = 0; i < lead; i++) dims[i] = ir_dim(g, x, i), order[i] = ir_index(g, i);
  for (uint32_t i = 0; i < axes; i++) {
    int64_t size, extent = w[i].extent;
    if (w[i].stride != extent || w[i].dilation != 1 || !ir_is_const(g, ir_dim(g, x, lead + i), &size) ||
        size < extent)
      return 0;
    dims[lead + 2 * i] = ir_index(g, size / extent), dims[lead + 2 * i + 1] = ir_index(g, extent);
    bounds[2 * (lead + i) + 1] = ir_index(g, size / extent * extent);
    order[lead + i] = ir_index(g, lead + 2 * i), order[lead + axes + i] = ir_index(g, lead + 2 * i + 1);
  }
  x = op_reshape(g, op_shrink(g, x, bounds, rank), dims, rank + axes);
  return op_permute(g, x, order, rank + axes);
}

/* Each iteration moves the first of the remaining spatial axes last and splits it in two. Afterwards the axes
 * are indices, windows, indices, windows, ... */
ir_ref op_windows(ir_graph *g, const char *who, ir_ref x, const op_window *w, size_t axes, ir_ref fill) {
  uint32_t rank = ir_rank(g, x), lead = rank - (uint32_t)axes;
  ir_ref given = x, order[IR_MAX_RANK];
  if (rank + axes > IR_MAX_RANK)
    return op_refuse(g,
                     "%s: windows of %zu axes of x, of shape %s, have rank %zu; a tensor has at most %d axes",
                     who, axes, OP_TYPE(x), rank + axes, IR_MAX_RANK);
  x = padded(g, x, w, axes, fill);
  ir_ref cut = x ? cut_windows(g, x, w, (uint32_t)axes) : 0;
  if (cut || !x) return cut;
  for (size_t i = 0; i < axes && x; i++) {
    int64_t span = (w[i].extent - 1) * w[i].dilation + 1;
    ir_ref size = ir_dim(g, x, lead), least = ir_index(g, span);
    if (!op_decided(g, IR_OP_GE, size, least))
      return op_refuse(g,
                       "%s: a window of %lld by dilation %lld spans %lld elements; x has shape %s, %s in "
                       "spatial axis %zu with "
                       "its padding; a window must lie inside%s",
                       who, (long long)w[i].extent, (long long)w[i].dilation, (long long)span, OP_TYPE(given),
                       OP_EXPR(size), i, OP_FACT(IR_OP_GE, size, least));
    ir_ref count = pass_add_int(g, pass_div_int(g, pass_add_int(g, size, -span), w[i].stride), 1);
    x = slide_axis(g, op_move_axis(g, x, lead, -1), &w[i], count);
  }
  if (!x) return 0;
  for (uint32_t i = 0; i < lead; i++) order[i] = ir_index(g, i);
  for (uint32_t i = 0; i < axes; i++) {
    order[lead + i] = ir_index(g, lead + 2 * i + 1);
    order[lead + axes + i] = ir_index(g, lead + 2 * i);
  }
  return op_permute(g, x, order, rank + axes);
}
