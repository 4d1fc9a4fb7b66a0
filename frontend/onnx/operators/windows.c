/* Convolutions and pooling. */
#include "frontend/onnx/operators/windows.h"

#include <math.h>
#include <string.h>

/* Windows of larger numbers have no elements that memory could hold. */
enum { NUMBER_MOST = 1 << 30 };

/* An attribute with an entry for each axis, or the default. */
static bool per_axis(onnx_node *n, const char *name, int64_t otherwise, int64_t least, int axes,
                     int64_t *out) {
  const int64_t *list;
  int count;
  if (!onnx_numbers(n, name, -1, &list, &count)) return false;
  if (list && count != axes) return onnx_refuse(n, "%s has %d entries; takes %d", name, count, axes);
  for (int i = 0; i < axes; i++) {
    out[i] = list ? list[i] : otherwise;
    if (out[i] < least || out[i] > NUMBER_MOST)
      return onnx_refuse(n, "%s has an entry %lld; takes %lld to %d", name, (long long)out[i],
                         (long long)least, NUMBER_MOST);
  }
  return true;
}

static bool automatic_padding(onnx_node *n) {
  return !onnx_text_is(n, "auto_pad", "NOTSET", "NOTSET") && !onnx_text_is(n, "auto_pad", "", "NOTSET") &&
         !onnx_text_is(n, "auto_pad", "VALID", "NOTSET");
}

/* SAME: as many windows as strides fit; the odd element is at the end in SAME_UPPER. */
static bool same_padding(onnx_node *n, ir_ref x, int axes, op_window *w) {
  bool upper = onnx_text_is(n, "auto_pad", "SAME_UPPER", "");
  for (int i = 0; i < axes; i++) {
    int64_t size = 0, span = (w[i].extent - 1) * w[i].dilation + 1;
    bool known = ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)i + 2), &size);
    if (!known && w[i].stride != 1)
      return onnx_lacks(n, "auto_pad with strides and a symbolic size; takes a number there, or pads");
    int64_t total =
        known ? ((size + w[i].stride - 1) / w[i].stride - 1) * w[i].stride + span - size : span - 1;
    total = total < 0 ? 0 : total;
    w[i].before = upper ? total / 2 : total - total / 2;
    w[i].after = total - w[i].before;
  }
  return true;
}

int onnx_windows_of(onnx_node *n, ir_ref x, const int64_t *extents, op_window w[IR_MAX_RANK]) {
  int axes = onnx_rank(n, x) - 2;
  int64_t kernel[IR_MAX_RANK], stride[IR_MAX_RANK], dilation[IR_MAX_RANK], pads[2 * IR_MAX_RANK];
  if (axes < 1) return onnx_refuse(n, "an input of %d axes; takes at least 3", axes + 2), -1;
  if (!per_axis(n, "kernel_shape", 1, 1, axes, kernel) || !per_axis(n, "strides", 1, 1, axes, stride) ||
      !per_axis(n, "dilations", 1, 1, axes, dilation) || !per_axis(n, "pads", 0, 0, 2 * axes, pads))
    return -1;
  bool valid = onnx_text_is(n, "auto_pad", "VALID", "");
  for (int i = 0; i < axes; i++)
    w[i] = (op_window){.extent = extents ? extents[i] : kernel[i],
                       .stride = stride[i],
                       .dilation = dilation[i],
                       .before = valid ? 0 : pads[i],
                       .after = valid ? 0 : pads[i + axes]};
  return automatic_padding(n) && !same_padding(n, x, axes, w) ? -1 : axes;
}

/* convolutions */

static bool extents_of(onnx_node *n, ir_ref weight, int64_t out[IR_MAX_RANK]) {
  int64_t dims[IR_MAX_RANK];
  if (!weight || !onnx_fixed_dims(n, weight, dims)) return false;
  int rank = onnx_rank(n, weight);
  for (int i = 2; i < rank; i++) out[i - 2] = dims[i];
  return rank >= 3 ||
         onnx_refuse(n, "a weight of %d axes; takes outputs and inputs, and 1 or more of space", rank);
}

static bool ranks_agree(onnx_node *n, ir_ref x, ir_ref weight) {
  return x && weight &&
         (onnx_rank(n, x) == onnx_rank(n, weight) ||
          onnx_refuse(n, "a weight of %d axes for an input of %d; takes as many", onnx_rank(n, weight),
                      onnx_rank(n, x)));
}

ir_ref onnx_conv(onnx_node *n, ir_ref x, ir_ref weight, ir_ref bias) {
  int64_t extents[IR_MAX_RANK];
  op_window w[IR_MAX_RANK];
  if (!ranks_agree(n, x, weight) || !extents_of(n, weight, extents)) return 0;
  int axes = onnx_windows_of(n, x, extents, w);
  ir_ref operands[3] = {x, weight, bias};
  return axes < 0 ? 0 : op_conv(n->g, operands, bias ? 3 : 2, w, (size_t)axes, onnx_int(n, "group", 1));
}

static bool conv(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), weight = onnx_in(n, 1), bias = onnx_optional(n, 2);
  return !n->m->error->status && onnx_put(n, 0, onnx_conv(n, x, weight, bias));
}

/* Pads from a given size of the result, or from auto_pad. */
static bool transposed_pads(onnx_node *n, ir_ref x, int axes, op_window *w) {
  const int64_t *wanted;
  int count;
  int64_t size;
  bool upper = onnx_text_is(n, "auto_pad", "SAME_UPPER", "");
  if (!onnx_numbers(n, "output_shape", -1, &wanted, &count)) return false;
  if (!wanted && !automatic_padding(n)) return true;
  if (wanted && count != axes)
    return onnx_refuse(n, "output_shape has %d entries for %d spatial axes; takes one for each", count, axes);
  for (int i = 0; i < axes; i++) {
    if (!ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)i + 2), &size))
      return onnx_lacks(n, "output_shape or auto_pad with a symbolic size; takes a number there, or pads");
    int64_t full = (size - 1) * w[i].stride + (w[i].extent - 1) * w[i].dilation + 1 + w[i].extra;
    int64_t total = full - (wanted ? wanted[i] : size * w[i].stride);
    int64_t more = total < 0 ? -total : 0; /* zeros at the end */
    total = total < 0 ? 0 : total;
    w[i].before = upper ? total / 2 : total - total / 2;
    w[i].after = total - w[i].before;
    w[i].extra += more;
  }
  return true;
}

static bool conv_transpose(onnx_node *n) {
  int64_t extents[IR_MAX_RANK], extra[IR_MAX_RANK];
  op_window w[IR_MAX_RANK];
  ir_ref x = onnx_in(n, 0), weight = onnx_in(n, 1), bias = onnx_optional(n, 2);
  if (!ranks_agree(n, x, weight) || !extents_of(n, weight, extents)) return false;
  int64_t sizes[IR_MAX_RANK];
  int axes = onnx_rank(n, x) - 2;
  if (!per_axis(n, "strides", 1, 1, axes, sizes) || !per_axis(n, "output_padding", 0, 0, axes, extra))
    return false;
  int64_t dilation[IR_MAX_RANK], pads[2 * IR_MAX_RANK];
  if (!per_axis(n, "dilations", 1, 1, axes, dilation) || !per_axis(n, "pads", 0, 0, 2 * axes, pads))
    return false;
  for (int i = 0; i < axes; i++)
    w[i] = (op_window){.extent = extents[i],
                       .stride = sizes[i],
                       .dilation = dilation[i],
                       .before = pads[i],
                       .after = pads[i + axes],
                       .extra = extra[i]};
  if (!transposed_pads(n, x, axes, w)) return false;
  ir_ref operands[3] = {x, weight, bias};
  return onnx_put(n, 0,
                  op_conv_transpose(n->g, operands, bias ? 3 : 2, w, (size_t)axes, onnx_int(n, "group", 1)));
}

/* pooling */

/* The part of the last window beyond the axis is padding, too, with ceil_mode; a window that begins there is
 * left out. *real: how many elements of the axis and its own padding there are. */
static bool ceil_padding(onnx_node *n, ir_ref x, int axes, op_window *w) {
  if (!onnx_int(n, "ceil_mode", 0)) return true;
  for (int i = 0; i < axes; i++) {
    int64_t size, span = (w[i].extent - 1) * w[i].dilation + 1;
    if (!ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)i + 2), &size))
      return onnx_lacks(n, "ceil_mode with a symbolic size; takes a number there");
    int64_t all = size + w[i].before + w[i].after;
    int64_t steps = all > span ? (all - span + w[i].stride - 1) / w[i].stride : 0;
    if (steps * w[i].stride >= size + w[i].before) steps--;
    int64_t more = steps * w[i].stride + span - all;
    w[i].after += more > 0 ? more : 0;
  }
  return true;
}

static ir_ref pad_windows(onnx_node *n, ir_ref x, int axes, op_window *w, ir_ref value) {
  ir_ref pads[2 * IR_MAX_RANK];
  for (int i = 0; i < axes + 2; i++) {
    pads[2 * i] = ir_index(n->g, i < 2 ? 0 : w[i - 2].before);
    pads[2 * i + 1] = ir_index(n->g, i < 2 ? 0 : w[i - 2].after);
  }
  for (int i = 0; i < axes; i++) w[i].before = w[i].after = 0;
  return op_pad(n->g, x, pads, (size_t)axes + 2, value, IR_PAD_CONSTANT);
}

/* The least value of a dtype, as a constant. */
static ir_ref lowest(onnx_node *n, ir_dtype dtype) {
  switch (dtype) {
  case IR_I8: return op_const(n->g, dtype, (ir_value){.i = INT8_MIN});
  case IR_I16: return op_const(n->g, dtype, (ir_value){.i = INT16_MIN});
  case IR_I32: return op_const(n->g, dtype, (ir_value){.i = INT32_MIN});
  case IR_I64: return op_const(n->g, dtype, (ir_value){.i = INT64_MIN});
  default:
    return ir_is_float(dtype) ? op_const(n->g, dtype, (ir_value){.f = -INFINITY}) : onnx_number(n, dtype, 0);
  }
}

/* All elements of each window along a last axis: [batch, channels, places..., extents...] flattened. The
 * index in x of each, or -1 in the padding, as i64 along the same axis. */
static ir_ref window_axis(onnx_node *n, ir_ref x, int axes, const op_window *w, ir_ref *count,
                          ir_ref *shape) {
  ir_ref all = ir_index(n->g, 1);
  for (int i = 0; i < axes; i++) {
    ir_ref size = ir_dim(n->g, x, (uint32_t)i + 2);
    int64_t span = (w[i].extent - 1) * w[i].dilation + 1;
    ir_ref room = pass_add_int(n->g, size, w[i].before + w[i].after - span);
    shape[i] = pass_add_int(n->g, pass_div_int(n->g, room, w[i].stride), 1);
    all = pass_mul_int(n->g, all, w[i].extent);
  }
  *count = all;
  return all;
}

/* The row-major index in an axis list of the element that each window's element `q` is at (with the last two
 * axes exchanged where storage_order asks for it): i64 [places..., extents]. Elements of the padding have an
 * index, too; they are never the greatest. */
static ir_ref window_indices(onnx_node *n, ir_ref x, int axes, const op_window *w, const ir_ref *places,
                             ir_ref count) {
  ir_ref shape[IR_MAX_RANK + 1], sum = 0, stride = ir_index(n->g, 1), inner = count;
  bool columns = onnx_int(n, "storage_order", 0) != 0;
  for (int i = 0; i < axes; i++) shape[i] = places[i];
  shape[axes] = count;
  ir_ref q = op_iota(n->g, IR_I64, shape, (size_t)axes + 1, axes);
  ir_ref strides[IR_MAX_RANK];
  for (int k = 0; k < axes; k++) {
    int i = columns ? k : axes - 1 - k;
    strides[i] = stride;
    stride = pass_mul(n->g, stride, ir_dim(n->g, x, (uint32_t)i + 2));
  }
  for (int i = 0; i < axes; i++) {
    inner = pass_div_int(n->g, inner, w[i].extent); /* of the extents behind this one */
    ir_ref at = op_binary(n->g, IR_OP_FLOORDIV, q, onnx_size_tensor(n, inner, IR_I64));
    at = onnx_with(n, IR_OP_MUL, onnx_with(n, IR_OP_MOD, at, (double)w[i].extent), (double)w[i].dilation);
    ir_ref place =
        onnx_with(n, IR_OP_MUL, op_iota(n->g, IR_I64, shape, (size_t)axes + 1, i), (double)w[i].stride);
    at = onnx_with(n, IR_OP_SUB, op_binary(n->g, IR_OP_ADD, at, place), (double)w[i].before);
    at = op_binary(n->g, IR_OP_MUL, at, onnx_size_tensor(n, strides[i], IR_I64));
    sum = sum ? op_binary(n->g, IR_OP_ADD, sum, at) : at;
  }
  return sum;
}

/* The elements of all windows, [batch, channels, places..., extents], by a gather from each padded plane. */
static bool maximum_indices(onnx_node *n, ir_ref x, ir_ref padded, int axes, const op_window *w,
                            const op_window *inside) {
  ir_ref places[IR_MAX_RANK], count, dims[IR_MAX_RANK], flat[3];
  window_axis(n, x, axes, w, &count, places);
  ir_ref at = window_indices(n, padded, axes, inside, places, count);
  if (onnx_int(n, "storage_order", 0)) { /* the gather itself is row-major */
    onnx_node plain = *n;
    plain.attribute_count = 0;
    at = window_indices(&plain, padded, axes, inside, places, count);
  }
  onnx_dims(n, x, dims);
  flat[0] = dims[0], flat[1] = dims[1], flat[2] = ir_index(n->g, -1);
  ir_ref elements = op_gather(n->g, onnx_reshape(n, padded, flat, 3), at, 2, IR_GATHER_CHECK);
  int64_t last = axes + 2;
  ir_ref best = op_argreduce(n->g, IR_OP_ARGMAX, elements, &last, true);
  ir_ref origin = window_indices(n, x, axes, w, places, count), shape[IR_MAX_RANK];
  shape[0] = dims[0], shape[1] = dims[1];
  for (int i = 0; i < axes; i++) shape[i + 2] = places[i];
  shape[axes + 2] = count;
  origin =
      op_take_along_axis(n->g, op_expand(n->g, origin, shape, (size_t)axes + 3), best, last, IR_GATHER_CHECK);
  origin = onnx_reshape(n, origin, shape, axes + 2);
  ir_ref plane = op_iota(n->g, IR_I64, (ir_ref[]){dims[0], dims[1]}, 2, 1);
  ir_ref row = op_iota(n->g, IR_I64, (ir_ref[]){dims[0], dims[1]}, 2, 0);
  plane = op_binary(n->g, IR_OP_ADD, plane,
                    op_binary(n->g, IR_OP_MUL, row, onnx_size_tensor(n, dims[1], IR_I64)));
  plane = op_binary(n->g, IR_OP_MUL, plane, onnx_size_tensor(n, onnx_product(n, dims, 2, axes + 2), IR_I64));
  for (int i = 0; i < axes && plane; i++) plane = op_unsqueeze(n->g, plane, 2);
  return onnx_put(n, 1, op_binary(n->g, IR_OP_ADD, origin, plane));
}

static bool max_pool(onnx_node *n) {
  op_window w[IR_MAX_RANK], inside[IR_MAX_RANK];
  ir_ref x = onnx_in(n, 0);
  int axes = x ? onnx_windows_of(n, x, NULL, w) : -1;
  if (axes < 0 || !ceil_padding(n, x, axes, w)) return false;
  memcpy(inside, w, sizeof inside);
  ir_ref padded = pad_windows(n, x, axes, inside, lowest(n, ir_dtype_of(n->g, x)));
  if (!onnx_put(n, 0, op_max_pool(n->g, padded, inside, (size_t)axes))) return false;
  return !onnx_wants(n, 1) || maximum_indices(n, x, padded, axes, w, inside);
}

/* The mean of the elements that there are: sums divided by sums of ones. */
static bool average_pool(onnx_node *n) {
  op_window w[IR_MAX_RANK], inside[IR_MAX_RANK];
  ir_ref x = onnx_in(n, 0);
  int axes = x ? onnx_windows_of(n, x, NULL, w) : -1;
  if (axes < 0) return false;
  bool count_pads = onnx_int(n, "count_include_pad", 0) != 0, none = true;
  op_window own[IR_MAX_RANK];
  memcpy(own, w, sizeof own); /* padding of the node, which may count */
  if (!ceil_padding(n, x, axes, w)) return false;
  for (int i = 0; i < axes; i++) none = none && w[i].before == 0 && w[i].after == 0;
  memcpy(inside, w, sizeof inside);
  ir_ref y = op_avg_pool(n->g, pad_windows(n, x, axes, inside, 0), inside, (size_t)axes, false);
  if (none) return onnx_put(n, 0, y);
  ir_ref ones = onnx_full(n, x, 1);
  if (count_pads) { /* then what ceil_mode adds alone does not count */
    op_window more[IR_MAX_RANK];
    bool all = true;
    for (int i = 0; i < axes; i++) {
      more[i] = w[i];
      more[i].before = 0;
      more[i].after = w[i].after - own[i].after;
      all = all && more[i].after == 0;
    }
    if (all) return onnx_put(n, 0, y);
    ones = onnx_full(n, pad_windows(n, x, axes, own, 0), 1);
    memcpy(w, more, sizeof w);
  }
  memcpy(inside, w, sizeof inside);
  ir_ref part = op_avg_pool(n->g, pad_windows(n, ones, axes, inside, 0), inside, (size_t)axes, false);
  return onnx_put(n, 0, op_binary(n->g, IR_OP_DIV, y, part));
}

static bool lp_pool(onnx_node *n) {
  op_window w[IR_MAX_RANK], inside[IR_MAX_RANK];
  int64_t p = onnx_int(n, "p", 2), elements = 1;
  ir_ref x = onnx_in(n, 0);
  int axes = x ? onnx_windows_of(n, x, NULL, w) : -1;
  if (axes < 0 || !ceil_padding(n, x, axes, w)) return false;
  for (int i = 0; i < axes; i++) elements *= w[i].extent;
  ir_ref powers = onnx_with(n, IR_OP_POW, op_unary(n->g, IR_OP_ABS, x), (double)p);
  memcpy(inside, w, sizeof inside);
  ir_ref mean = op_avg_pool(n->g, pad_windows(n, powers, axes, inside, 0), inside, (size_t)axes, false);
  ir_ref sum = onnx_with(n, IR_OP_MUL, mean, (double)elements);
  return onnx_put(n, 0, onnx_with(n, IR_OP_POW, sum, 1.0 / (double)p));
}

static bool over_all(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  int axes[IR_MAX_RANK], rank = x ? onnx_rank(n, x) : 0;
  for (int i = 2; i < rank; i++) axes[i - 2] = i;
  return x && (rank < 3 ? onnx_put(n, 0, x)
                        : onnx_put(n, 0, onnx_reduce(n, (ir_op)n->row->argument, x, axes, rank - 2, true)));
}

static bool global_lp(onnx_node *n) {
  int64_t p = onnx_int(n, "p", 2);
  ir_ref x = onnx_in(n, 0);
  int axes[IR_MAX_RANK], rank = x ? onnx_rank(n, x) : 0;
  for (int i = 2; i < rank; i++) axes[i - 2] = i;
  ir_ref powers = onnx_with(n, IR_OP_POW, op_unary(n->g, IR_OP_ABS, x), (double)p);
  ir_ref sum = onnx_reduce(n, IR_OP_SUM, powers, axes, rank - 2, true);
  return onnx_put(n, 0, onnx_with(n, IR_OP_POW, sum, 1.0 / (double)p));
}

/* Elements written back to where they were maxima; all others are 0. */
static bool max_unpool(onnx_node *n) {
  op_window w[IR_MAX_RANK];
  const ir_ref *wanted;
  ir_ref x = onnx_in(n, 0), at = onnx_in(n, 1), shape[IR_MAX_RANK], flat = ir_index(n->g, -1);
  int count, axes = x && at ? onnx_windows_of(n, x, NULL, w) : -1;
  if (axes < 0 || !onnx_list(n, "output_shape", 2, &wanted, &count)) return false;
  int rank = onnx_dims(n, x, shape);
  if (wanted && count != rank)
    return onnx_refuse(n, "output_shape has %d entries for %d axes; takes one for each", count, rank);
  for (int i = 0; i < axes; i++)
    shape[i + 2] = pass_add_int(n->g, pass_mul_int(n->g, pass_add_int(n->g, shape[i + 2], -1), w[i].stride),
                                w[i].extent - w[i].before - w[i].after);
  ir_ref all = onnx_product(n, shape, 0, rank);
  ir_ref zeros = onnx_zeros(n, ir_dtype_of(n->g, x), &all, 1);
  ir_ref y = op_scatter(n->g, IR_OP_SCATTER, zeros, onnx_reshape(n, at, &flat, 1),
                        onnx_reshape(n, x, &flat, 1), 0, IR_GATHER_CHECK, 0);
  y = onnx_reshape(n, y, shape, rank);
  for (int i = 0; wanted && i < rank && y; i++)
    y = onnx_pads(n, y, i, ir_index(n->g, 0), pass_sub(n->g, wanted[i], shape[i]));
  return onnx_put(n, 0, y);
}

/* clang-format off */
const onnx_operator onnx_windows[] = {
    {"Conv", conv, NULL, 0, 2, 3}, {"ConvTranspose", conv_transpose, NULL, 0, 2, 3},
    {"MaxPool", max_pool, NULL, 0, 1, 1}, {"MaxUnpool", max_unpool, NULL, 0, 2, 3},
    {"AveragePool", average_pool, NULL, 0, 1, 1}, {"LpPool", lp_pool, NULL, 0, 1, 1},
    {"GlobalMaxPool", over_all, NULL, IR_OP_REDUCE_MAX, 1, 1},
    {"GlobalAveragePool", over_all, NULL, IR_OP_MEAN, 1, 1},
    {"GlobalLpPool", global_lp, NULL, 0, 1, 1}, {0}};
/* clang-format on */
