/* Transposed convolutions: element p of x adds x[p] * weight[k] to element p*stride + k*dilation of the whole
 * result, of which the padding is cut off.
 *
 * Let s be the stride of a spatial axis, e the extent of the weight, and the dilation 1. Element i*s + r of
 * the whole result, of phase r < s, is the sum over q of x[i - q] * weight[q*s + r]: for each phase a
 * convolution of x with every s-th element of the weight, the last one first. The phases below e mod s (all
 * of them if that is 0) have ceil(e / s) such elements, the others floor(e / s). Phases of as many elements
 * are further channels of one convolution, so that there are two at most for each axis, and nothing is
 * multiplied by zeros but at the ends of x. Views interleave the phases.
 *
 * Where padding cuts off f < s elements before the first, phases from f on begin with one i and those below f
 * with the next, and all together have one position more than any of them. Where that is much to multiply for
 * nothing, the latter follow the former, as a convolution of their own: 512 to 256 channels by 4 x 4 with
 * stride 2 and padding 1, from 4 x 4 to 8 x 8 positions, are 16 windows each in place of 25.
 *
 * Where both the stride and the dilation are greater than 1, stride - 1 zeros are inserted between the
 * elements of x, and the stride is 1. */
#include "conv.h"

/* Phases of one spatial axis: `count` from `first` on, each with `taps` elements of the weight, from the i
 * that is `later` than the first one of the result on. */
typedef struct phases {
  int64_t first, count, taps, later;
} phases;

enum { MAX_PARTS = 4 }; /* because phases that are cut or not have two numbers of elements each */

typedef struct transposed {
  const op_convolution *c;
  /* by spatial axis: the first i that any element of the result has, the end of these less the size of x, and
   * the phases that are computed together */
  int64_t begin[IR_MAX_RANK], past[IR_MAX_RANK];
  int64_t cut[IR_MAX_RANK]; /* phases that begin with the next i, and are computed apart: their number */
  phases at[IR_MAX_RANK];
} transposed;

/* Rounded up; b > 0. */
static int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }

/* Inserts stride - 1 zeros between the elements of each spatial axis with a dilation, whose stride is 1 then.
 */
static ir_ref insert_zeros(ir_graph *g, ir_ref x, op_window *w, size_t axes) {
  ir_ref dims[IR_MAX_RANK + 1], list[2 * IR_MAX_RANK + 2], zero = ir_index(g, 0);
  for (uint32_t a = 2; a < 2 + axes && x; a++) {
    int64_t step = w[a - 2].stride;
    if (step == 1 || w[a - 2].dilation == 1) continue;
    w[a - 2].stride = 1;
    uint32_t rank = ir_rank(g, x);
    ir_ref size = ir_dim(g, x, a);
    x = op_unsqueeze(g, x, a + 1);
    for (uint32_t i = 0; i <= rank; i++)
      list[2 * i] = zero, list[2 * i + 1] = ir_index(g, i == a + 1 ? step - 1 : 0);
    x = op_pad(g, x, list, rank + 1, 0, IR_PAD_CONSTANT);
    if (!x) return 0;
    for (uint32_t i = 0; i < rank; i++) dims[i] = ir_dim(g, x, i <= a ? i : i + 1);
    dims[a] = pass_mul_int(g, size, step);
    x = op_reshape(g, x, dims, rank);
    for (uint32_t i = 0; i < rank && x; i++) list[2 * i] = zero, list[2 * i + 1] = ir_dim(g, x, i);
    list[2 * a + 1] = pass_add_int(g, dims[a], 1 - step);
    x = op_shrink(g, x, list, rank);
  }
  return x;
}

/* The weight [groups * in, out, extents...] of the phases at hand: [groups * out * phases..., in, taps...],
 * flipped along the taps. */
static ir_ref weight_of(ir_graph *g, const transposed *t) {
  const op_convolution *c = t->c;
  ir_ref dims[IR_MAX_RANK], list[2 * IR_MAX_RANK], flipped[IR_MAX_RANK], order[IR_MAX_RANK];
  ir_ref x = c->weight, zero = ir_index(g, 0);
  ir_ref in = pass_div_int(g, ir_dim(g, x, 0), c->groups), out = ir_dim(g, x, 1), all = out;
  uint32_t m = (uint32_t)c->axes, rank = 3 + 2 * m, n = 0;
  for (uint32_t i = 0; i < 2; i++) list[2 * i] = zero, list[2 * i + 1] = ir_dim(g, x, i);
  for (uint32_t i = 0; i < m; i++) {
    int64_t used = t->at[i].taps * c->w[i].stride;
    list[4 + 2 * i] = zero;
    list[5 + 2 * i] = ir_index(g, used < c->w[i].extent ? used : c->w[i].extent);
  }
  x = op_shrink(g, x, list, 2 + m);
  for (uint32_t i = 0; i < 2 + m; i++) {
    int64_t more = i < 2 ? 0 : t->at[i - 2].taps * c->w[i - 2].stride - c->w[i - 2].extent;
    list[2 * i] = zero, list[2 * i + 1] = ir_index(g, more > 0 ? more : 0);
  }
  x = x ? op_pad(g, x, list, 2 + m, 0, IR_PAD_CONSTANT) : 0;
  dims[n++] = ir_index(g, c->groups), dims[n++] = in, dims[n++] = out;
  for (uint32_t i = 0; i < m; i++)
    dims[n++] = ir_index(g, t->at[i].taps), dims[n++] = ir_index(g, c->w[i].stride);
  x = x ? op_reshape(g, x, dims, rank) : 0;
  for (uint32_t i = 0; i < rank; i++) list[2 * i] = zero, list[2 * i + 1] = dims[i];
  for (uint32_t i = 0; i < m; i++) {
    list[2 * (4 + 2 * i)] = ir_index(g, t->at[i].first);
    list[2 * (4 + 2 * i) + 1] = ir_index(g, t->at[i].first + t->at[i].count);
    flipped[i] = ir_index(g, 3 + 2 * i);
  }
  x = x ? op_shrink(g, x, list, rank) : 0;
  x = x ? op_flip(g, x, flipped, m) : 0;
  order[0] = zero, order[1] = ir_index(g, 2), order[2 + m] = ir_index(g, 1);
  for (uint32_t i = 0; i < m; i++) {
    order[2 + i] = ir_index(g, 4 + 2 * i), order[3 + m + i] = ir_index(g, 3 + 2 * i);
    all = pass_mul_int(g, all, t->at[i].count), dims[2 + i] = ir_index(g, t->at[i].taps);
  }
  dims[0] = pass_mul_int(g, all, c->groups), dims[1] = in;
  return x ? op_reshape(g, op_permute(g, x, order, rank), dims, 2 + m) : 0;
}

/* [batch, channels, i and phases of each axis...], for the phases at hand. */
static ir_ref phases_at_hand(ir_graph *g, const transposed *t) {
  op_convolution c = *t->c;
  ir_ref dims[IR_MAX_RANK], list[2 * IR_MAX_RANK], order[IR_MAX_RANK];
  uint32_t m = (uint32_t)c.axes, n = 2;
  c.weight = weight_of(g, t);
  for (uint32_t i = 0; i < 2; i++) list[2 * i] = ir_index(g, 0), list[2 * i + 1] = ir_dim(g, c.x, i);
  for (uint32_t i = 0; i < m; i++) {
    op_window *w = &c.w[i];
    int64_t later = t->at[i].later, past = t->past[i] + later;
    int64_t first = t->begin[i] + later - (t->at[i].taps - 1) * w->dilation;
    list[4 + 2 * i] = ir_index(g, first > 0 ? first : 0);
    list[5 + 2 * i] = pass_add_int(g, ir_dim(g, c.x, 2 + i), past < 0 ? past : 0);
    w->before = first < 0 ? -first : 0, w->after = past > 0 ? past : 0;
    w->extent = t->at[i].taps, w->stride = 1;
  }
  dims[0] = ir_dim(g, c.x, 0), dims[1] = pass_mul_int(g, ir_dim(g, t->c->weight, 1), c.groups);
  c.x = op_shrink(g, c.x, list, 2 + m);
  ir_ref y = c.x && c.weight ? op_conv_correlate(g, &c) : 0;
  if (!y) return 0;
  order[0] = ir_index(g, 0), order[1] = ir_index(g, 1);
  for (uint32_t i = 0; i < m; i++) dims[n++] = ir_index(g, t->at[i].count);
  for (uint32_t i = 0; i < m; i++) {
    dims[n++] = ir_dim(g, y, 2 + i);
    order[2 + 2 * i] = ir_index(g, 2 + m + i), order[3 + 2 * i] = ir_index(g, 2 + i);
  }
  return op_permute(g, op_reshape(g, y, dims, n), order, n);
}

/* The phases of an axis that are computed together, in the order of the result. */
static uint32_t parts_of(const transposed *t, uint32_t axis, phases *part) {
  int64_t s = t->c->w[axis].stride, extent = t->c->w[axis].extent, more = extent % s, cut = t->cut[axis];
  uint32_t count = 0;
  for (int later = 0; later < 2; later++) {
    int64_t from = later ? 0 : cut, to = later ? cut : s, middle = more < from ? from : more < to ? more : to;
    if (middle > from) part[count++] = (phases){from, middle - from, extent / s + 1, later};
    if (to > middle && extent >= s) part[count++] = (phases){middle, to - middle, extent / s, later};
  }
  return count;
}

/* The same for all phases of the axes from `axis` on. Recursive: once for each axis. */
static ir_ref all_phases(ir_graph *g, transposed *t, uint32_t axis) {
  const op_convolution *c = t->c;
  if (axis == c->axes) return phases_at_hand(g, t);
  int64_t s = c->w[axis].stride, extent = c->w[axis].extent;
  phases part[MAX_PARTS];
  ir_ref made[MAX_PARTS], list[2 * IR_MAX_RANK];
  uint32_t count = parts_of(t, axis, part);
  for (uint32_t i = 0; i < count; i++) {
    t->at[axis] = part[i];
    if (!(made[i] = all_phases(g, t, axis + 1))) return 0;
  }
  if (count > 1) return op_concat(g, made, count, 3 + 2 * (int64_t)axis);
  if (extent >= s) return made[0];
  for (uint32_t i = 0; i < ir_rank(g, made[0]); i++) /* phases that the weight does not reach */
    list[2 * i] = ir_index(g, 0), list[2 * i + 1] = ir_index(g, i == 3 + 2 * axis ? s - extent : 0);
  return op_pad(g, made[0], list, ir_rank(g, made[0]), 0, IR_PAD_CONSTANT);
}

/* Computes phases that begin with the next i apart where all together would have positions that are cut off,
 * and much to multiply for them: 8 x 128 channels on 16 x 16 to 64, 66 multiplications for an element, take
 * 0.9 of the time so. */
static void cut_phases(ir_graph *g, transposed *t) {
  enum { MIN_SAVED = 32 }; /* multiplications of a result, because joining one takes as long as 8 */
  const op_convolution *c = t->c;
  int64_t in, size, past[IR_MAX_RANK], cut[IR_MAX_RANK];
  if (!ir_is_const(g, ir_dim(g, c->weight, 0), &in)) return;
  double work = (double)in / (double)c->groups, all = 1;
  for (uint32_t i = 0; i < c->axes; i++) {
    const op_window *w = &c->w[i];
    int64_t span = (w->extent - 1) * w->dilation + 1;
    work *= (double)w->extent / (double)w->stride;
    cut[i] = w->before - t->begin[i] * w->stride;
    past[i] = t->begin[i] + ceil_div(span - w->stride - w->before - w->after + w->extra, w->stride);
    if (!ir_is_const(g, ir_dim(g, c->x, 2 + i), &size)) return;
    if (!cut[i] || past[i] == t->past[i] || w->extent < w->stride || size + past[i] <= t->begin[i])
      cut[i] = 0, past[i] = t->past[i];
    else all *= 1 + 1 / (double)(size + past[i] - t->begin[i]);
  }
  if (work * (all - 1) < MIN_SAVED) return;
  for (uint32_t i = 0; i < c->axes; i++) t->cut[i] = cut[i], t->past[i] = past[i];
}

/* The sizes of the result's spatial axes, (n - 1)*stride + span - before - after + extra of n elements. False
 * after failing. */
static bool sizes_of(ir_graph *g, const op_convolution *c, ir_ref *size) {
  for (uint32_t i = 0; i < c->axes; i++) {
    const op_window *w = &c->w[i];
    if (w->extra < 0 || (w->extra >= w->stride && w->extra >= w->dilation)) {
      op_refuse(
          g,
          "conv_transpose: output_padding %lld of spatial axis %u is out of range; x has shape %s; it is "
          ">= 0 and less than the stride or the dilation",
          (long long)w->extra, i, OP_TYPE(c->x));
      return false;
    }
    int64_t span = (w->extent - 1) * w->dilation + 1;
    ir_ref one = ir_index(g, 1);
    size[i] = pass_add_int(g, pass_mul_int(g, ir_dim(g, c->x, 2 + i), w->stride),
                           span - w->stride - w->before - w->after + w->extra);
    if (op_decided(g, IR_OP_GE, size[i], one)) continue;
    op_refuse(
        g,
        "conv_transpose: padding [%lld,%lld] leaves %s elements of spatial axis %u of the result; x has "
        "shape %s; at least one is left%s",
        (long long)w->before, (long long)w->after, OP_EXPR(size[i]), i, OP_TYPE(c->x),
        OP_FACT(IR_OP_GE, size[i], one));
    return false;
  }
  return true;
}

static ir_ref transpose(ir_graph *g, op_convolution *c) {
  transposed t = {.c = c};
  ir_ref size[IR_MAX_RANK], dims[IR_MAX_RANK], list[2 * IR_MAX_RANK];
  uint32_t m = (uint32_t)c->axes;
  if (4 + 2 * m > IR_MAX_RANK)
    return op_refuse(g, "%s: x has shape %s, %u spatial axes; takes at most %d", c->who, OP_TYPE(c->x), m,
                     (IR_MAX_RANK - 4) / 2);
  if (!c->x || !c->weight || !sizes_of(g, c, size)) return 0;
  c->x = insert_zeros(g, c->x, c->w, m);
  if (!c->x) return 0;
  for (uint32_t i = 0; i < m; i++) {
    const op_window *w = &c->w[i];
    int64_t span = (w->extent - 1) * w->dilation + 1;
    t.begin[i] = w->before / w->stride;
    t.past[i] = ceil_div(span - w->stride - w->after + w->extra, w->stride);
  }
  cut_phases(g, &t);
  ir_ref y = all_phases(g, &t, 0);
  if (!y) return 0;
  for (uint32_t i = 0; i < 2 + m; i++) {
    dims[i] = ir_dim(g, y, i < 2 ? i : 2 * i - 2);
    list[2 * i] = ir_index(g, 0), list[2 * i + 1] = dims[i];
    if (i < 2) continue;
    int64_t s = c->w[i - 2].stride, first = t.cut[i - 2] ? 0 : c->w[i - 2].before - t.begin[i - 2] * s;
    dims[i] = pass_mul_int(g, dims[i], s);
    list[2 * i] = ir_index(g, first), list[2 * i + 1] = pass_add_int(g, size[i - 2], first);
  }
  return op_shrink(g, op_reshape(g, y, dims, 2 + m), list, 2 + m);
}

ir_ref op_conv_transpose(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                         int64_t groups) {
  op_convolution c = {.who = "conv_transpose"};
  if (!op_conv_start(g, &c, x, n, w, axes, groups)) return 0;
  ir_ref in = ir_dim(g, c.weight, 0), out = pass_mul_int(g, ir_dim(g, c.weight, 1), groups);
  if (!op_conv_channels(g, &c, in, in, out)) return op_compose_end(g, c.who, 0);
  op_conv_widen(g, &c);
  return op_compose_end(g, c.who, op_conv_finish(g, &c, transpose(g, &c)));
}
