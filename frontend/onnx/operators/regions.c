/* Regions of images: RoiAlign and MaxRoiPool; windows whose elements have places of their own: DeformConv;
 * and windows put back where they came from: Col2Im. */
#include <math.h>

#include "frontend/onnx/operators/sampling.h"
#include "frontend/onnx/operators/windows.h"

static ir_ref bin(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }

/* RoiAlign and MaxRoiPool */

/* Column `column` of the regions, scaled, as [regions, 1]. */
static ir_ref corner(onnx_node *n, ir_ref regions, int column) {
  ir_ref x = op_point(n->g, regions, ir_index(n->g, column), 1);
  return onnx_with(n, IR_OP_MUL, op_unsqueeze(n->g, x, 1), onnx_real(n, "spatial_scale", 1));
}

/* The least size of a region is 1, but where half_pixel says that its corners are places. */
static bool half_pixel(onnx_node *n) {
  return n->opset >= 16 && onnx_text_is(n, "coordinate_transformation_mode", "half_pixel", "half_pixel");
}

/* Places of points, [regions, bins * points]: of point k, start + (k + 1/2) * (end - start) / count. */
static ir_ref points_along(onnx_node *n, ir_ref start, ir_ref end, int64_t count) {
  ir_ref shape[2] = {ir_index(n->g, 1), ir_index(n->g, count)};
  ir_ref length = bin(n, IR_OP_SUB, end, start), half = onnx_number(n, IR_F32, half_pixel(n) ? 0.5 : 0);
  if (!half_pixel(n)) length = onnx_with(n, IR_OP_MAX, length, 1);
  ir_ref k = onnx_with(n, IR_OP_ADD, op_iota(n->g, IR_F32, shape, 2, 1), 0.5);
  ir_ref at = bin(n, IR_OP_MUL, k, onnx_with(n, IR_OP_DIV, length, (double)count));
  return bin(n, IR_OP_ADD, bin(n, IR_OP_SUB, start, half), at);
}

/* Two neighbours of a place from -1 to the size, which is moved to the nearest element; beyond there is none.
 */
static onnx_taps region_taps(onnx_node *n, ir_ref place, ir_ref size) {
  ir_ref last = onnx_with(n, IR_OP_SUB, size, 1), one = onnx_number(n, IR_F32, 1);
  ir_ref inside = bin(n, IR_OP_AND, onnx_with(n, IR_OP_GE, place, -1), bin(n, IR_OP_LE, place, size));
  place = bin(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, place, 0), last);
  ir_ref low = op_unary(n->g, IR_OP_FLOOR, place), part = bin(n, IR_OP_SUB, place, low);
  ir_ref high = bin(n, IR_OP_MIN, onnx_with(n, IR_OP_ADD, low, 1), last);
  return (onnx_taps){.count = 2,
                     .at = {low, high},
                     .weight = {bin(n, IR_OP_SUB, one, part), part},
                     .inside = {inside, inside}};
}

static bool roi_align(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), regions = onnx_in(n, 1), image = onnx_in(n, 2), dims[IR_MAX_RANK];
  int64_t rows = onnx_int(n, "output_height", 1), columns = onnx_int(n, "output_width", 1),
          ratio = onnx_int(n, "sampling_ratio", 0);
  bool most = onnx_text_is(n, "mode", "max", "avg");
  if (!x || !regions || !image) return false;
  if (onnx_dims(n, x, dims) != 4 || onnx_rank(n, regions) != 2 || onnx_rank(n, image) != 1)
    return onnx_refuse(n, "takes an input of 4 axes, regions of 2 and numbers of images of 1");
  if (ratio == 0)
    return onnx_lacks(n,
                      "sampling_ratio is 0: the number of points would depend on the sizes of the regions; "
                      "takes a number of points for each bin");
  if (rows < 1 || columns < 1 || ratio < 1 || rows > 1 << 15 || columns > 1 << 15 || ratio > 1 << 10)
    return onnx_refuse(
        n, "%lld by %lld bins of %lld points each way; takes 1 to %d bins each way, of 1 to %d points",
        (long long)rows, (long long)columns, (long long)ratio, 1 << 15, 1 << 10);
  if (!most && !onnx_text_is(n, "mode", "avg", "avg"))
    return onnx_refuse(n, "the mode '%.*s'; takes avg and max", WIRE_TEXT(onnx_text(n, "mode")));
  regions = onnx_like(n, regions, IR_F32);
  ir_ref y_at = points_along(n, corner(n, regions, 1), corner(n, regions, 3), rows * ratio);
  ir_ref x_at = points_along(n, corner(n, regions, 0), corner(n, regions, 2), columns * ratio);
  onnx_taps taps[2] = {region_taps(n, op_unsqueeze(n->g, y_at, 2), onnx_real_size(n, dims[2], IR_F32)),
                       region_taps(n, op_unsqueeze(n->g, x_at, 1), onnx_real_size(n, dims[3], IR_F32))};
  ir_ref which = op_unsqueeze(n->g, op_unsqueeze(n->g, onnx_like(n, image, IR_I64), 1), 2);
  onnx_source s = onnx_source_of(n, x, 2, which);
  /* [channels, regions, rows * ratio, columns * ratio] */
  ir_ref y = onnx_sampled(n, &s, taps, most ? IR_OP_MAX : IR_OP_ADD);
  ir_ref shape[6] = {dims[1],
                     ir_dim(n->g, image, 0),
                     ir_index(n->g, rows),
                     ir_index(n->g, ratio),
                     ir_index(n->g, columns),
                     ir_index(n->g, ratio)};
  static const int axes[2] = {3, 5};
  y = onnx_reduce(n, most ? IR_OP_REDUCE_MAX : IR_OP_MEAN, onnx_reshape(n, y, shape, 6), axes, 2, false);
  return onnx_put(n, 0, op_swap_axes(n->g, y, 0, 1));
}

/* Which elements of an axis bin b has: those from floor(b * size / bins) to ceil((b + 1) * size / bins) of
 * the region, as bool [regions, bins, elements]. */
static ir_ref bin_members(onnx_node *n, ir_ref start, ir_ref end, int64_t bins, ir_ref size) {
  ir_graph *g = n->g;
  ir_ref shape[3] = {ir_index(g, 1), ir_index(g, bins), size};
  start = op_unsqueeze(g, op_unary(g, IR_OP_FLOOR, onnx_with(n, IR_OP_ADD, start, 0.5)), 2);
  end = op_unsqueeze(g, op_unary(g, IR_OP_FLOOR, onnx_with(n, IR_OP_ADD, end, 0.5)), 2);
  ir_ref length = onnx_with(n, IR_OP_MAX, onnx_with(n, IR_OP_ADD, bin(n, IR_OP_SUB, end, start), 1), 1);
  ir_ref each = onnx_with(n, IR_OP_DIV, length, (double)bins), b = op_iota(g, IR_F32, shape, 3, 1);
  ir_ref first = op_unary(g, IR_OP_FLOOR, bin(n, IR_OP_MUL, b, each));
  ir_ref last = op_unary(g, IR_OP_CEIL, bin(n, IR_OP_MUL, onnx_with(n, IR_OP_ADD, b, 1), each));
  ir_ref at = bin(n, IR_OP_SUB, op_iota(g, IR_F32, shape, 3, 2), start);
  return bin(n, IR_OP_AND, bin(n, IR_OP_GE, at, first), bin(n, IR_OP_LT, at, last));
}

/* The greatest element of each bin, first along the columns, then along the rows; a bin without any is 0. */
static bool max_roi_pool(onnx_node *n) {
  const int64_t *bins;
  ir_graph *g = n->g;
  ir_ref x = onnx_in(n, 0), regions = onnx_in(n, 1), d[IR_MAX_RANK];
  int count, last = 4;
  if (!x || !regions || !onnx_numbers(n, "pooled_shape", -1, &bins, &count)) return false;
  if (onnx_dims(n, x, d) != 4 || onnx_rank(n, regions) != 2 || !ir_is_float(ir_dtype_of(g, x)))
    return onnx_refuse(n, "takes an input of floats with 4 axes, and regions with 2");
  if (count != 2 || bins[0] < 1 || bins[1] < 1)
    return onnx_refuse(n,
                       "pooled_shape is not two sizes of at least 1; takes the numbers of rows and columns");
  ir_ref wide = onnx_like(n, regions, IR_F32),
         image = onnx_like(n, op_point(g, regions, ir_index(g, 0), 1), IR_I64);
  ir_ref in_column = bin_members(n, corner(n, wide, 1), corner(n, wide, 3), bins[1], d[3]);
  ir_ref in_row = bin_members(n, corner(n, wide, 2), corner(n, wide, 4), bins[0], d[2]);
  ir_ref none = onnx_number(n, ir_dtype_of(g, x), -INFINITY);
  /* [regions, channels, rows, 1, columns] where [regions, 1, 1, bins, columns] */
  x = op_unsqueeze(g, op_gather(g, x, image, 0, IR_GATHER_CHECK), 3);
  ir_ref y = op_where(g, op_unsqueeze(g, op_unsqueeze(g, in_column, 1), 1), x, none);
  y = onnx_reduce(n, IR_OP_REDUCE_MAX, y, &last, 1, false); /* [regions, channels, rows, bins] */
  y = op_unsqueeze(g, op_swap_axes(g, y, 2, 3), 3);         /* [regions, channels, bins, 1, rows] */
  ir_ref member = op_unsqueeze(g, op_unsqueeze(g, in_row, 1), 1);
  y = onnx_reduce(n, IR_OP_REDUCE_MAX, op_where(g, member, y, none), &last, 1, false);
  y = op_swap_axes(g, y, 2, 3);
  int members = 2;
  ir_ref any_row = op_unsqueeze(g, onnx_reduce(n, IR_OP_ANY, in_row, &members, 1, true), 1),
         any_column =
             op_unsqueeze(g, op_unsqueeze(g, onnx_reduce(n, IR_OP_ANY, in_column, &members, 1, false), 1), 1);
  y = op_where(g, bin(n, IR_OP_AND, any_row, any_column), y, onnx_full(n, y, 0));
  return onnx_put(n, 0, y);
}

/* DeformConv */

typedef struct deformed {
  ir_ref dims[IR_MAX_RANK], out[2]; /* of the input; of the result */
  int64_t offset_groups, groups, kernel[2];
  ir_ref full[5]; /* batch, offset groups, kernel, rows, columns */
} deformed;

/* The places along image axis i: a window's own, and the offset. */
static ir_ref deformed_places(onnx_node *n, const deformed *f, const op_window *w, int i, ir_ref offset) {
  ir_ref q = op_iota(n->g, IR_I64, f->full, 5, 2), p = op_iota(n->g, IR_I64, f->full, 5, 3 + i);
  q = i == 0 ? onnx_with(n, IR_OP_FLOORDIV, q, (double)f->kernel[1])
             : onnx_with(n, IR_OP_MOD, q, (double)f->kernel[1]);
  ir_ref at = bin(n, IR_OP_ADD, onnx_with(n, IR_OP_MUL, q, (double)w->dilation),
                  onnx_with(n, IR_OP_MUL, p, (double)w->stride));
  at = onnx_like(n, onnx_with(n, IR_OP_SUB, at, (double)w->before), ir_dtype_of(n->g, offset));
  return bin(n, IR_OP_ADD, at, op_point(n->g, offset, ir_index(n->g, i), 3));
}

/* [batch, groups, channels of a group * kernel, rows * columns] */
static ir_ref deformed_columns(onnx_node *n, const deformed *f, ir_ref x, ir_ref offset, ir_ref mask,
                               const op_window *w) {
  ir_graph *g = n->g;
  ir_ref groups = ir_index(g, f->offset_groups), kernel = f->full[2],
         few = pass_div_int(g, f->dims[1], f->offset_groups);
  ir_dtype dtype = ir_dtype_of(g, x) == IR_F64 ? IR_F64 : IR_F32;
  ir_ref five[6] = {f->dims[0], groups, kernel, ir_index(g, 2), f->out[0], f->out[1]};
  ir_ref image[4] = {pass_mul(g, f->dims[0], groups), few, f->dims[2], f->dims[3]};
  offset = onnx_like(n, onnx_reshape(n, offset, five, 6), dtype);
  ir_ref which =
      bin(n, IR_OP_ADD, onnx_with(n, IR_OP_MUL, op_iota(g, IR_I64, f->full, 5, 0), (double)f->offset_groups),
          op_iota(g, IR_I64, f->full, 5, 1));
  onnx_source s = onnx_source_of(n, onnx_reshape(n, x, image, 4), 2, which);
  onnx_taps taps[2];
  for (int i = 0; i < 2; i++)
    taps[i] = onnx_linear_taps(n, deformed_places(n, f, &w[i], i, offset),
                               onnx_real_size(n, f->dims[2 + i], dtype));
  ir_ref y = onnx_sampled(n, &s, taps, IR_OP_ADD); /* [few, batch, groups, kernel, rows, columns] */
  if (mask) y = bin(n, IR_OP_MUL, y, onnx_reshape(n, mask, f->full, 5));
  y = op_move_axis(g, y, 0, 2);
  ir_ref columns[4] = {f->dims[0], ir_index(g, f->groups),
                       pass_mul(g, pass_div_int(g, f->dims[1], f->groups), kernel),
                       pass_mul(g, f->out[0], f->out[1])};
  return onnx_reshape(n, y, columns, 4);
}

static bool deform_conv(onnx_node *n) {
  ir_graph *g = n->g;
  ir_ref x = onnx_in(n, 0), weight = onnx_in(n, 1), offset = onnx_in(n, 2), bias = onnx_optional(n, 3),
         mask = onnx_optional(n, 4), o[IR_MAX_RANK];
  int64_t sizes[IR_MAX_RANK], channels;
  op_window w[IR_MAX_RANK];
  deformed f = {.offset_groups = onnx_int(n, "offset_group", 1), .groups = onnx_int(n, "group", 1)};
  if (!x || !weight || !offset || n->m->error->status) return false;
  if (onnx_rank(n, x) != 4 || onnx_rank(n, weight) != 4 || onnx_rank(n, offset) != 4)
    return onnx_lacks(n, "an input of %d axes; takes images, of 4 axes", onnx_rank(n, x));
  if (!onnx_fixed_dims(n, weight, sizes) || onnx_windows_of(n, x, sizes + 2, w) < 0) return false;
  onnx_dims(n, x, f.dims);
  onnx_dims(n, offset, o);
  for (int i = 0; i < 2; i++) f.kernel[i] = sizes[i + 2], f.out[i] = o[i + 2];
  if (f.groups < 1 || f.offset_groups < 1 || sizes[0] % f.groups || !ir_is_const(g, f.dims[1], &channels) ||
      channels != sizes[1] * f.groups || channels % f.offset_groups)
    return onnx_refuse(
        n, "%lld groups and %lld groups of offsets do not divide the channels; takes numbers that do",
        (long long)f.groups, (long long)f.offset_groups);
  ir_ref full[5] = {f.dims[0], ir_index(g, f.offset_groups), ir_index(g, f.kernel[0] * f.kernel[1]), f.out[0],
                    f.out[1]};
  for (int i = 0; i < 5; i++) f.full[i] = full[i];
  ir_ref columns = deformed_columns(n, &f, x, offset, mask, w);
  ir_ref rows[3] = {ir_index(g, f.groups), ir_index(g, sizes[0] / f.groups), ir_index(g, -1)};
  ir_ref y = op_matmul(g, onnx_reshape(n, weight, rows, 3), columns);
  ir_ref shape[4] = {f.dims[0], ir_index(g, sizes[0]), f.out[0], f.out[1]};
  y = onnx_like(n, onnx_reshape(n, y, shape, 4), ir_dtype_of(g, x));
  return onnx_put(n, 0, bias ? bin(n, IR_OP_ADD, y, onnx_along(n, bias, 1, 4)) : y);
}

/* Col2Im */

/* The index in the padded image of each element of each window, i64 [windows' elements, windows] flattened.
 * padded: sizes of the image with its padding. */
static ir_ref window_places(onnx_node *n, const op_window *w, int axes, const ir_ref *padded) {
  ir_ref shape[2 * IR_MAX_RANK], sum = 0, flat = ir_index(n->g, -1);
  for (int i = 0; i < axes; i++) {
    int64_t span = (w[i].extent - 1) * w[i].dilation + 1;
    shape[i] = ir_index(n->g, w[i].extent);
    shape[axes + i] =
        pass_add_int(n->g, pass_div_int(n->g, pass_add_int(n->g, padded[i], -span), w[i].stride), 1);
  }
  for (int i = 0; i < axes; i++) {
    ir_ref q = op_iota(n->g, IR_I64, shape, 2 * (size_t)axes, i);
    ir_ref p = op_iota(n->g, IR_I64, shape, 2 * (size_t)axes, axes + i);
    ir_ref at = bin(n, IR_OP_ADD, onnx_with(n, IR_OP_MUL, q, (double)w[i].dilation),
                    onnx_with(n, IR_OP_MUL, p, (double)w[i].stride));
    at = bin(n, IR_OP_MUL, at, onnx_size_tensor(n, onnx_product(n, padded, i + 1, axes), IR_I64));
    sum = sum ? bin(n, IR_OP_ADD, sum, at) : at;
  }
  return onnx_reshape(n, sum, &flat, 1);
}

/* The sum of the windows' elements at each place of the image; padding is cut off. */
static bool col_to_image(onnx_node *n) {
  const ir_ref *image;
  const int64_t *block;
  ir_graph *g = n->g;
  ir_ref x = onnx_in(n, 0), padded[IR_MAX_RANK], shape[IR_MAX_RANK];
  op_window w[IR_MAX_RANK];
  int axes, count;
  if (!x || !onnx_list(n, "the shape of the image", 1, &image, &axes) ||
      !onnx_numbers(n, "the shape of the block", 2, &block, &count))
    return false;
  if (onnx_rank(n, x) != 3 || axes != count || axes < 1 || 2 * axes > IR_MAX_RANK)
    return onnx_refuse(n, "takes an input of 3 axes, and as many sizes of the image as of the block");
  int64_t elements = 1;
  ir_ref like[IR_MAX_RANK] = {ir_dim(g, x, 0), ir_dim(g, x, 1)};
  for (int i = 0; i < axes; i++) like[i + 2] = image[i];
  if (onnx_windows_of(n, onnx_zeros(n, ir_dtype_of(g, x), like, axes + 2), block, w) < 0) return false;
  for (int i = 0; i < axes; i++) {
    if (block[i] < 1 || block[i] > 1 << 20) return onnx_refuse(n, "a block of %lld", (long long)block[i]);
    elements *= block[i];
    padded[i] = pass_add_int(g, image[i], w[i].before + w[i].after);
    if (elements > 1 << 24) return onnx_refuse(n, "a block of %lld elements", (long long)elements);
  }
  shape[0] = ir_dim(g, x, 0);
  shape[1] = pass_div_int(g, ir_dim(g, x, 1), elements);
  ir_ref flat[3] = {shape[0], shape[1], onnx_product(n, padded, 0, axes)},
         updates[3] = {shape[0], shape[1], ir_index(g, -1)};
  ir_ref y =
      op_scatter(g, IR_OP_SCATTER_ADD, onnx_zeros(n, ir_dtype_of(g, x), flat, 3),
                 window_places(n, w, axes, padded), onnx_reshape(n, x, updates, 3), 2, IR_GATHER_CHECK, 0);
  for (int i = 0; i < axes; i++) shape[i + 2] = padded[i];
  y = onnx_reshape(n, y, shape, axes + 2);
  for (int i = 0; i < axes && y; i++)
    y = onnx_cut(n, y, i + 2, ir_index(g, w[i].before), pass_add_int(g, image[i], w[i].before));
  return onnx_put(n, 0, y);
}

/* clang-format off */
const onnx_operator onnx_regions[] = {
    {"RoiAlign", roi_align, NULL, 0, 3, 3}, {"MaxRoiPool", max_roi_pool, NULL, 0, 2, 2},
    {"DeformConv", deform_conv, NULL, 0, 3, 5}, {"Col2Im", col_to_image, NULL, 0, 3, 3}, {0}};
/* clang-format on */
