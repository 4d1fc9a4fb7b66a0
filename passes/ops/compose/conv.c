/* Convolutions (cross-correlations, as neural networks use the word): the windows of x times the weight,
 * summed over channels and window indices. */
#include <stdio.h>
#include <string.h>

#include "conv.h"

bool op_conv_start(ir_graph *g, op_convolution *c, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                   int64_t groups) {
  ir_ref own[3] = {x[0], x[1], n > 2 ? x[2] : 0};
  if (!op_compose_begin(g, c->who, own, n)) return false;
  c->x = own[0], c->weight = own[1], c->bias = own[2], c->axes = axes, c->groups = groups;
  if (axes < 1 || ir_rank(g, c->x) != axes + 2 || ir_rank(g, c->weight) != axes + 2) {
    op_refuse(g,
              "%s: x has shape %s, the weight %s, and %zu spatial ax%s; both must have 2 axes before these: "
              "x batch and "
              "channels, the weight channels",
              c->who, OP_TYPE(c->x), OP_TYPE(c->weight), axes, axes == 1 ? "is" : "es");
    return false;
  }
  if (groups < 1 || groups > OP_WINDOW_MOST) {
    op_refuse(g, "%s: groups is %lld; x has shape %s; takes 1 to 2^30", c->who, (long long)groups,
              OP_TYPE(c->x));
    return false;
  }
  for (size_t i = 0; i < axes; i++) {
    c->w[i] = w[i];
    if (ir_is_const(g, ir_dim(g, c->weight, (uint32_t)(2 + i)), &c->w[i].extent)) continue;
    op_refuse(g, "%s: the weight has shape %s; the sizes of its spatial axes are numbers", c->who,
              OP_TYPE(c->weight));
    return false;
  }
  ir_dtype common = op_common(g, c->who, own, n);
  if (common == IR_NONE || !op_windows_fit(g, c->who, c->x, c->w, axes)) return false;
  c->dtype = op_accumulator(common);
  return true;
}

/* ", channels last are permuted" where the last axes are those that do fit. */
static const char *channels_last(ir_graph *g, const op_convolution *c) {
  uint32_t rank = ir_rank(g, c->x);
  ir_ref last = ir_dim(g, c->x, (int)rank - 1);
  bool likely = rank > 2 && (op_decided(g, IR_OP_EQ, last, ir_dim(g, c->weight, 1)) ||
                             op_decided(g, IR_OP_EQ, last, ir_dim(g, c->weight, (int)rank - 2)));
  if (!likely) return "";
  return rank == 3 ? "; channels that are last are put there by permute %x order=[0,2,1]"
                   : "; channels that are last are put there by permute %x order=[0,3,1,2]";
}

/* The same of weights, where they are [..., channels, results] or [results, ..., channels], of a square
 * window. */
static const char *weights_last(ir_graph *g, const op_convolution *c) {
  uint32_t rank = ir_rank(g, c->weight);
  if (rank != 4 || ir_rank(g, c->x) != 4) return "";
  bool within = false, end = false; /* are the channels those of x in the last but one place, in the last? */
  for (int i = 1; i < 4; i += 2) {
    ir_ref channels = ir_dim(g, c->x, (uint32_t)i);
    within |= op_decided(g, IR_OP_EQ, ir_dim(g, c->weight, 2), channels);
    end |= op_decided(g, IR_OP_EQ, ir_dim(g, c->weight, 3), channels);
  }
  ir_ref second = ir_dim(g, c->weight, 1);
  bool square = op_decided(g, IR_OP_EQ, ir_dim(g, c->weight, 2), ir_dim(g, c->weight, 3));
  if (within && !square && op_decided(g, IR_OP_EQ, ir_dim(g, c->weight, 0), second))
    return "; a weight whose channels and results are last is put so by permute %w order=[3,2,0,1]";
  if (end && !square && op_decided(g, IR_OP_EQ, second, ir_dim(g, c->weight, 2)))
    return "; a weight whose channels are last is put so by permute %w order=[0,3,1,2]";
  return "";
}

static void add_hint(ir_graph *g, const char *hint) {
  size_t used = strlen(g->error->text);
  if (g->error->status == IR_ERR_INVALID)
    snprintf(g->error->text + used, sizeof g->error->text - used, "%s", hint);
}

bool op_conv_channels(ir_graph *g, const op_convolution *c, ir_ref expected, ir_ref split, ir_ref out) {
  ir_ref have = ir_dim(g, c->x, 1), groups = ir_index(g, c->groups);
  if (!op_decided(g, IR_OP_EQ, have, expected)) {
    op_refuse(g,
              "%s: x has shape %s, %s channels; the weight has shape %s, for %s channels in %lld group%s; "
              "both must be equal, where x is [batch, channels, ...] and the weight [%s, ...]%s%s%s",
              c->who, OP_TYPE(c->x), OP_EXPR(have), OP_TYPE(c->weight), OP_EXPR(expected),
              (long long)c->groups, c->groups == 1 ? "" : "s",
              strcmp(c->who, "conv") ? "channels, results / groups" : "results, channels / groups",
              channels_last(g, c), strcmp(c->who, "conv") ? "" : weights_last(g, c),
              OP_FACT(IR_OP_EQ, have, expected));
    return false;
  }
  if (!pass_divides(g, groups, split)) {
    op_refuse(
        g, "%s: %s channels do not divide into %lld groups; the weight has shape %s; groups must be equal%s",
        c->who, OP_EXPR(split), (long long)c->groups, OP_TYPE(c->weight), OP_FACT(IR_OP_MOD, split, groups));
    return false;
  }
  if (!c->bias || (ir_rank(g, c->bias) == 1 && op_decided(g, IR_OP_EQ, ir_dim(g, c->bias, 0), out)))
    return true;
  op_refuse(g, "%s: the bias has shape %s; the result has %s channels; a bias must have one element for each",
            c->who, OP_TYPE(c->bias), OP_EXPR(out));
  return false;
}

void op_conv_widen(ir_graph *g, op_convolution *c) {
  ir_dtype within = ir_is_float(c->dtype) ? op_float_wide(c->dtype) : c->dtype;
  c->x = op_convert(g, c->who, c->x, within);
  c->weight = op_convert(g, c->who, c->weight, within);
  if (c->bias) c->bias = op_convert(g, c->who, c->bias, within);
}

/* The elements of the weight along spatial axis i that see an element of x, of `size`, in some window: those
 * before `first` and from `end` on see padding alone, as the outer ones of a dilation as large as the image
 * do. */
static void seen(const op_window *w, int64_t size, int64_t *first, int64_t *end) {
  int64_t last = (size + w->before + w->after - (w->extent - 1) * w->dilation - 1) / w->stride * w->stride;
  *first = 0, *end = w->extent;
  while (*first < *end && last + *first * w->dilation < w->before) ++*first;
  while (*end > *first && (*end - 1) * w->dilation - w->before >= size) --*end;
}

/* Leaves out what is multiplied by padding alone: terms of zero. */
static bool drop_unseen(ir_graph *g, op_convolution *c) {
  for (size_t i = 0; i < c->axes && c->x && c->weight; i++) {
    op_window *w = &c->w[i];
    uint32_t axis = (uint32_t)(2 + i), rank = ir_rank(g, c->x);
    int64_t size, first, end;
    if (!ir_is_const(g, ir_dim(g, c->x, axis), &size) ||
        size + w->before + w->after <= (w->extent - 1) * w->dilation)
      continue;
    seen(w, size, &first, &end);
    if (first >= end || end - first == w->extent) continue;
    int64_t before = w->before - first * w->dilation, after = w->after - (w->extent - end) * w->dilation;
    ir_ref of_x[2 * IR_MAX_RANK], of_weight[2 * IR_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) {
      of_x[2 * k] = ir_index(g, k == axis && before < 0 ? -before : 0);
      of_x[2 * k + 1] = k == axis ? ir_index(g, after < 0 ? size + after : size) : ir_dim(g, c->x, k);
      of_weight[2 * k] = ir_index(g, k == axis ? first : 0);
      of_weight[2 * k + 1] = k == axis ? ir_index(g, end) : ir_dim(g, c->weight, k);
    }
    c->x = op_shrink(g, c->x, of_x, rank), c->weight = op_shrink(g, c->weight, of_weight, rank);
    *w = (op_window){.extent = end - first,
                     .stride = w->stride,
                     .dilation = w->dilation,
                     .before = before < 0 ? 0 : before,
                     .after = after < 0 ? 0 : after};
  }
  return c->x && c->weight;
}

/* x [batch, groups, 1, in, windows..., indices...] times weight [groups, out, in, 1..., indices...], summed
 * over in and the indices within windows; then the groups and their channels are merged into one axis. */
ir_ref op_conv_correlate(ir_graph *g, const op_convolution *given) {
  ir_ref dims[2 * IR_MAX_RANK], list[IR_MAX_RANK];
  op_convolution own = *given, *c = &own;
  if (!c->x || !c->weight || !drop_unseen(g, c)) return 0;
  size_t m = c->axes, n = 0;
  ir_ref one = ir_index(g, 1), in = ir_dim(g, c->weight, 1), all = ir_dim(g, c->weight, 0);
  if (4 + 2 * m > IR_MAX_RANK)
    return op_refuse(g, "%s: x has shape %s, %zu spatial axes; takes at most %d", c->who, OP_TYPE(c->x), m,
                     (IR_MAX_RANK - 4) / 2);
  ir_ref x = op_windows(g, c->who, c->x, c->w, m, 0);
  if (!x) return add_hint(g, weights_last(g, c)), 0;
  dims[n++] = ir_dim(g, x, 0), dims[n++] = ir_index(g, c->groups), dims[n++] = one, dims[n++] = in;
  for (size_t i = 0; i < 2 * m; i++) dims[n++] = ir_dim(g, x, (uint32_t)(2 + i));
  x = op_reshape(g, x, dims, n);
  ir_ref result[IR_MAX_RANK] = {dims[0], all};
  for (size_t i = 0; i < m; i++) result[2 + i] = dims[4 + i];
  n = 0;
  dims[n++] = ir_index(g, c->groups), dims[n++] = pass_div_int(g, all, c->groups), dims[n++] = in;
  for (size_t i = 0; i < 2 * m; i++) dims[n++] = i < m ? one : ir_index(g, c->w[i - m].extent);
  ir_ref weight = op_reshape(g, c->weight, dims, n);
  size_t sums = 0;
  list[sums++] = ir_index(g, 3);
  for (size_t i = 0; i < m; i++) list[sums++] = ir_index(g, (int64_t)(4 + m + i));
  return op_reshape(g, op_reduce(g, IR_OP_SUM, op_mul(g, x, weight), list, sums, false), result, 2 + m);
}

ir_ref op_conv_finish(ir_graph *g, const op_convolution *c, ir_ref y) {
  ir_ref dims[IR_MAX_RANK];
  if (!y) return 0;
  if (c->bias) {
    dims[0] = ir_dim(g, c->bias, 0);
    for (size_t i = 0; i < c->axes; i++) dims[1 + i] = ir_index(g, 1);
    y = op_add(g, y, op_reshape(g, c->bias, dims, 1 + c->axes));
  }
  return op_cast(g, y, c->dtype);
}

ir_ref op_conv(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups) {
  return op_conv_within(g, x, n, w, axes, groups, g->relaxed);
}

ir_ref op_conv_within(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups,
                      bool relaxed) {
  op_convolution c = {.who = "conv"};
  if (!op_conv_start(g, &c, x, n, w, axes, groups)) return 0;
  ir_ref out = ir_dim(g, c.weight, 0), in = pass_mul_int(g, ir_dim(g, c.weight, 1), groups);
  if (!op_conv_channels(g, &c, in, out, out)) return op_compose_end(g, c.who, 0);
  op_conv_widen(g, &c);
  bool filtered = relaxed && op_conv_is_winograd(g, &c);
  ir_ref y = filtered                 ? op_conv_winograd(g, &c)
             : op_conv_is_taps(g, &c) ? op_conv_taps(g, &c)
                                      : op_conv_correlate(g, &c);
  return op_compose_end(g, c.who, op_conv_finish(g, &c, y));
}
