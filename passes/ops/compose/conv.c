/* Convolutions (cross-correlations, as neural networks use the word): the windows of x times the weight,
 * summed over channels and window indices. A transposed convolution inserts stride - 1 zeros between the
 * elements of x and uses the weight flipped along its spatial axes. */
#include "window.h"

typedef struct conv {
  const char *who;
  ir_ref x, weight, bias; /* in the dtype to compute in; bias: 0 for none */
  size_t axes;            /* number of spatial axes */
  int64_t groups;
  op_window w[IR_MAX_RANK];
  ir_dtype dtype; /* of the result */
} conv;

/* Checks that both kinds share. False after failing. */
static bool start_conv(ir_graph *g, conv *c, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                       int64_t groups) {
  ir_ref own[3] = {x[0], x[1], n > 2 ? x[2] : 0};
  if (!op_compose_begin(g, c->who, own, n)) return false;
  c->x = own[0], c->weight = own[1], c->bias = own[2], c->axes = axes, c->groups = groups;
  if (axes < 1 || ir_rank(g, c->x) != axes + 2 || ir_rank(g, c->weight) != axes + 2) {
    op_refuse(
        g,
        "%s: x has shape %s, the weight %s, and %zu spatial ax%s; both have 2 axes before these: x batch and "
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

/* Checks channels: x has as many as `expected` (from the weight), `split` is divisible by the groups, and the
 * bias has `out` elements. False after failing. */
static bool channels(ir_graph *g, const conv *c, ir_ref expected, ir_ref split, ir_ref out) {
  ir_ref have = ir_dim(g, c->x, 1), groups = ir_index(g, c->groups);
  if (!op_decided(g, IR_OP_EQ, have, expected)) {
    op_refuse(g,
              "%s: x has shape %s, %s channels; the weight has shape %s, for %s channels in %lld group%s; "
              "these are "
              "equal%s",
              c->who, OP_TYPE(c->x), OP_EXPR(have), OP_TYPE(c->weight), OP_EXPR(expected),
              (long long)c->groups, c->groups == 1 ? "" : "s", OP_FACT(IR_OP_EQ, have, expected));
    return false;
  }
  if (!pass_divides(g, groups, split)) {
    op_refuse(
        g, "%s: %s channels do not divide into %lld groups; the weight has shape %s; groups are equal%s",
        c->who, OP_EXPR(split), (long long)c->groups, OP_TYPE(c->weight), OP_FACT(IR_OP_MOD, split, groups));
    return false;
  }
  if (!c->bias || (ir_rank(g, c->bias) == 1 && op_decided(g, IR_OP_EQ, ir_dim(g, c->bias, 0), out)))
    return true;
  op_refuse(g, "%s: the bias has shape %s; the result has %s channels; a bias has one element for each",
            c->who, OP_TYPE(c->bias), OP_EXPR(out));
  return false;
}

static void convert_to_wide(ir_graph *g, conv *c) {
  ir_dtype within = ir_is_float(c->dtype) ? op_float_wide(c->dtype) : c->dtype;
  c->x = op_convert(g, c->who, c->x, within);
  c->weight = op_convert(g, c->who, c->weight, within);
  if (c->bias) c->bias = op_convert(g, c->who, c->bias, within);
}

/* x [batch, groups, 1, in, windows..., indices...] times weight [groups, out, in, 1..., indices...], summed
 * over in and the indices within windows; then the groups and their channels are merged into one axis. */
static ir_ref correlate(ir_graph *g, conv *c) {
  ir_ref dims[2 * IR_MAX_RANK], list[IR_MAX_RANK];
  if (!c->x || !c->weight) return 0;
  size_t m = c->axes, n = 0;
  ir_ref one = ir_index(g, 1), in = ir_dim(g, c->weight, 1), all = ir_dim(g, c->weight, 0);
  if (4 + 2 * m > IR_MAX_RANK)
    return op_refuse(g, "%s: x has shape %s, %zu spatial axes; takes at most %d", c->who, OP_TYPE(c->x), m,
                     (IR_MAX_RANK - 4) / 2);
  ir_ref x = op_windows(g, c->who, c->x, c->w, m, 0);
  if (!x) return 0;
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
  ir_ref y = op_reshape(g, op_reduce(g, IR_OP_SUM, op_mul(g, x, weight), list, sums, false), result, 2 + m);
  if (c->bias) {
    list[0] = all;
    for (size_t i = 0; i < m; i++) list[1 + i] = one;
    y = op_add(g, y, op_reshape(g, c->bias, list, 1 + m));
  }
  return op_cast(g, y, c->dtype);
}

ir_ref op_conv(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes, int64_t groups) {
  conv c = {.who = "conv"};
  if (!start_conv(g, &c, x, n, w, axes, groups)) return 0;
  ir_ref out = ir_dim(g, c.weight, 0), in = pass_mul_int(g, ir_dim(g, c.weight, 1), groups);
  if (!channels(g, &c, in, out, out)) return op_compose_end(g, c.who, 0);
  convert_to_wide(g, &c);
  return op_compose_end(g, c.who, correlate(g, &c));
}

/* Inserts stride - 1 zeros between the elements of each spatial axis. */
static ir_ref dilate_input(ir_graph *g, ir_ref x, const op_window *w, size_t axes) {
  ir_ref dims[IR_MAX_RANK + 1], list[2 * IR_MAX_RANK + 2], zero = ir_index(g, 0);
  for (uint32_t a = 2; a < 2 + axes && x; a++) {
    int64_t step = w[a - 2].stride;
    if (step == 1) continue;
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

/* The weight [groups * in, out, ...] as [groups * out, in, ...], flipped along its spatial axes. */
static ir_ref transposed_weight(ir_graph *g, const conv *c) {
  ir_ref dims[IR_MAX_RANK + 1], axes[IR_MAX_RANK], in = pass_div_int(g, ir_dim(g, c->weight, 0), c->groups),
                                                   out = ir_dim(g, c->weight, 1);
  size_t m = c->axes;
  dims[0] = ir_index(g, c->groups), dims[1] = in, dims[2] = out;
  for (size_t i = 0; i < m; i++)
    dims[3 + i] = ir_index(g, c->w[i].extent), axes[i] = ir_index(g, (int64_t)(2 + i));
  ir_ref y = op_swap_axes(g, op_reshape(g, c->weight, dims, 3 + m), 1, 2);
  dims[1] = pass_mul_int(g, out, c->groups), dims[2] = in;
  return op_flip(g, op_reshape(g, y, dims + 1, 2 + m), axes, m);
}

/* The result for stride s has (i - 1)*s + span - before - after + extra elements: the axis with zeros
 * inserted has (i - 1)*s + 1, and is padded by span - 1 - before and span - 1 - after + extra, or shrunk
 * where that is negative. */
ir_ref op_conv_transpose(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                         int64_t groups) {
  conv c = {.who = "conv_transpose"};
  if (!start_conv(g, &c, x, n, w, axes, groups)) return 0;
  ir_ref in = ir_dim(g, c.weight, 0), out = pass_mul_int(g, ir_dim(g, c.weight, 1), groups),
         list[2 * IR_MAX_RANK];
  if (!channels(g, &c, in, in, out)) return op_compose_end(g, c.who, 0);
  convert_to_wide(g, &c);
  ir_ref y = dilate_input(g, c.x, c.w, axes);
  if (!y) return op_compose_end(g, c.who, 0);
  for (uint32_t i = 0; i < 2; i++) list[2 * i] = ir_index(g, 0), list[2 * i + 1] = ir_dim(g, y, i);
  for (uint32_t i = 0; i < axes; i++) {
    op_window *v = &c.w[i];
    if (v->extra < 0 || (v->extra >= v->stride && v->extra >= v->dilation))
      return op_refuse(
          g,
          "conv_transpose: output_padding %lld of spatial axis %u is out of range; x has shape %s; it is "
          ">= 0 and less than the stride or the dilation",
          (long long)v->extra, i, OP_TYPE(c.x));
    int64_t edge = (v->extent - 1) * v->dilation, before = edge - v->before,
            after = edge - v->after + v->extra;
    list[4 + 2 * i] = ir_index(g, before < 0 ? -before : 0);
    list[5 + 2 * i] = pass_add_int(g, ir_dim(g, y, 2 + i), after < 0 ? after : 0);
    v->before = before > 0 ? before : 0, v->after = after > 0 ? after : 0, v->stride = 1;
  }
  c.weight = c.weight ? transposed_weight(g, &c) : 0;
  c.x = op_shrink(g, y, list, 2 + axes);
  return op_compose_end(g, c.who, correlate(g, &c));
}
