/* Resize and Upsample: along each axis an element of the result is a sum of neighbours in the input, whose
 * places and weights are computed by the graph, in f64, from the index of the result. */
#include <math.h>

#include "frontend/onnx/operators/windows.h"

/* One axis that is resized. */
typedef struct axis_plan {
  onnx_node *n;
  int axis;
  ir_ref old, size;   /* sizes, expressions */
  ir_ref ratio;       /* size / old as the attribute or sizes say, f64 of rank 0 */
  double known_ratio; /* NAN: not known */
  double begin, end;  /* of the region of interest */
} axis_plan;

static ir_ref real(onnx_node *n, double value) { return onnx_number(n, IR_F64, value); }
static ir_ref bin(const axis_plan *p, ir_op op, ir_ref a, ir_ref b) { return op_binary(p->n->g, op, a, b); }
static ir_ref size_of(const axis_plan *p, ir_ref size) {
  return onnx_like(p->n, onnx_size_tensor(p->n, size, IR_I64), IR_F64);
}

static ir_ref when_several(const axis_plan *p, ir_ref length, ir_ref several, ir_ref otherwise) {
  return op_where(p->n->g, bin(p, IR_OP_GT, length, real(p->n, 1)), several, otherwise);
}

/* The place in the input of each element of the result, f64 [size]; 0 after an error. */
static ir_ref places(const axis_plan *p) {
  onnx_node *n = p->n;
  const char *mode = "coordinate_transformation_mode",
             *usual = n->row->argument || n->opset < 11 ? "asymmetric" : "half_pixel";
  ir_ref i = op_iota(n->g, IR_F64, &p->size, 1, 0), half = real(n, 0.5), one = real(n, 1), zero = real(n, 0);
  ir_ref old = size_of(p, p->old), length = bin(p, IR_OP_MUL, old, p->ratio);
  ir_ref centre = bin(p, IR_OP_DIV, bin(p, IR_OP_ADD, i, half), p->ratio);
  ir_ref pixel = bin(p, IR_OP_SUB, centre, half), last = bin(p, IR_OP_SUB, old, one);
  if (onnx_text_is(n, mode, "half_pixel", usual)) return pixel;
  if (onnx_text_is(n, mode, "pytorch_half_pixel", usual)) return when_several(p, length, pixel, zero);
  if (onnx_text_is(n, mode, "asymmetric", usual)) return bin(p, IR_OP_DIV, i, p->ratio);
  if (onnx_text_is(n, mode, "tf_half_pixel_for_nn", usual)) return centre;
  if (onnx_text_is(n, mode, "align_corners", usual)) {
    ir_ref step = bin(p, IR_OP_DIV, bin(p, IR_OP_MUL, i, last), bin(p, IR_OP_SUB, length, one));
    return when_several(p, length, step, zero);
  }
  if (onnx_text_is(n, mode, "half_pixel_symmetric", usual)) {
    ir_ref adjust = bin(p, IR_OP_DIV, size_of(p, p->size), length);
    ir_ref offset = bin(p, IR_OP_MUL, bin(p, IR_OP_MUL, old, half), bin(p, IR_OP_SUB, one, adjust));
    return bin(p, IR_OP_ADD, offset, pixel);
  }
  if (onnx_text_is(n, mode, "tf_crop_and_resize", usual)) {
    ir_ref span = bin(p, IR_OP_MUL, real(n, p->end - p->begin), last);
    ir_ref step = bin(p, IR_OP_DIV, bin(p, IR_OP_MUL, i, span), bin(p, IR_OP_SUB, length, one));
    ir_ref several = bin(p, IR_OP_ADD, step, bin(p, IR_OP_MUL, real(n, p->begin), last));
    return when_several(p, length, several, bin(p, IR_OP_MUL, real(n, 0.5 * (p->begin + p->end)), last));
  }
  onnx_lacks(n,
             "the %s '%.*s'; takes half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, "
             "asymmetric, tf_half_pixel_for_nn and tf_crop_and_resize",
             mode, WIRE_TEXT(onnx_text(n, mode)));
  return 0;
}

/* Operator set 10 says nothing of rounding; its tests, and so all that run it, round up to make smaller. */
static ir_ref nearest(const axis_plan *p, ir_ref place) {
  onnx_node *n = p->n;
  const char *mode = "nearest_mode", *old = n->row->argument || !(p->known_ratio < 1) ? "floor" : "ceil",
             *usual = n->row->argument || n->opset < 11 ? old : "round_prefer_floor";
  if (onnx_text_is(n, mode, "floor", usual)) return op_unary(n->g, IR_OP_FLOOR, place);
  if (onnx_text_is(n, mode, "ceil", usual)) return op_unary(n->g, IR_OP_CEIL, place);
  ir_ref half = real(n, 0.5);
  if (onnx_text_is(n, mode, "round_prefer_ceil", usual))
    return op_unary(n->g, IR_OP_FLOOR, bin(p, IR_OP_ADD, place, half));
  return op_unary(n->g, IR_OP_CEIL, bin(p, IR_OP_SUB, place, half));
}

ir_ref onnx_cubic(onnx_node *n, ir_ref d, double a) {
  ir_ref d2 = op_square(n->g, d), d3 = op_binary(n->g, IR_OP_MUL, d2, d);
  ir_ref near =
      op_binary(n->g, IR_OP_SUB, onnx_with(n, IR_OP_MUL, d3, a + 2), onnx_with(n, IR_OP_MUL, d2, a + 3));
  near = onnx_with(n, IR_OP_ADD, near, 1);
  ir_ref far = op_binary(n->g, IR_OP_SUB, onnx_with(n, IR_OP_MUL, d3, a), onnx_with(n, IR_OP_MUL, d2, 5 * a));
  far = op_binary(n->g, IR_OP_ADD, far, onnx_with(n, IR_OP_MUL, d, 8 * a));
  far = onnx_with(n, IR_OP_SUB, far, 4 * a);
  ir_ref inside = op_where(n->g, onnx_with(n, IR_OP_LT, d, 2), far, onnx_full(n, far, 0));
  return op_where(n->g, onnx_with(n, IR_OP_LE, d, 1), near, inside);
}

/* 1 - |d|, or the cubic: at distances d. */
static ir_ref kernel(const axis_plan *p, ir_ref d, bool cubic) {
  onnx_node *n = p->n;
  d = op_unary(n->g, IR_OP_ABS, d);
  if (cubic) return onnx_cubic(n, d, onnx_real(n, "cubic_coeff_a", -0.75));
  return bin(p, IR_OP_MAX, bin(p, IR_OP_SUB, real(n, 1), d), real(n, 0));
}

/* x with the axis replaced by the sum over taps of its elements `at` times weights, both [size, taps]. */
static ir_ref weighed(const axis_plan *p, ir_ref x, ir_ref at, ir_ref weights) {
  onnx_node *n = p->n;
  int rank = onnx_rank(n, x);
  ir_ref taken = op_gather(n->g, x, at, p->axis, IR_GATHER_CHECK), shape[IR_MAX_RANK];
  if (!taken || rank + 1 > IR_MAX_RANK) return 0;
  for (int i = 0; i <= rank; i++)
    shape[i] =
        i == p->axis || i == p->axis + 1 ? ir_dim(n->g, at, (uint32_t)(i - p->axis)) : ir_index(n->g, 1);
  ir_dtype dtype = ir_dtype_of(n->g, x), inner = dtype == IR_F64 ? IR_F64 : IR_F32;
  ir_ref by = onnx_reshape(n, onnx_like(n, weights, inner), shape, rank + 1);
  int axis = p->axis + 1;
  ir_ref sum = onnx_reduce(n, IR_OP_SUM, bin(p, IR_OP_MUL, onnx_like(n, taken, inner), by), &axis, 1, false);
  return onnx_like(n, sum, dtype);
}

static ir_ref interpolated(const axis_plan *p, ir_ref x, ir_ref place) {
  onnx_node *n = p->n;
  bool cubic = onnx_text_is(n, "mode", "cubic", ""), smooth = onnx_int(n, "antialias", 0) != 0;
  double shrink = 1, reach = cubic ? 2 : 1;
  if (smooth && !(p->known_ratio >= 1)) {
    if (isnan(p->known_ratio))
      return (ir_ref)onnx_lacks(n, "antialias with a symbolic size; takes a number there, or scales");
    shrink = p->known_ratio;
  }
  if (!(reach / shrink < 1 << 20))
    return (ir_ref)onnx_refuse(n, "a scale of %g with antialias; takes more than %g", shrink,
                               reach / (1 << 20));
  int64_t start = (int64_t)floor(-reach / shrink) + 1, taps = 2 - 2 * start;
  ir_ref column[2] = {p->size, ir_index(n->g, 1)}, shape[2] = {p->size, ir_index(n->g, taps)};
  place = onnx_reshape(n, place, column, 2);
  ir_ref at = onnx_with(n, IR_OP_ADD, op_iota(n->g, IR_F64, shape, 2, 1), (double)start);
  at = bin(p, IR_OP_ADD, at, op_unary(n->g, IR_OP_FLOOR, place));
  ir_ref weights = kernel(p, onnx_with(n, IR_OP_MUL, bin(p, IR_OP_SUB, place, at), shrink), cubic);
  ir_ref last = bin(p, IR_OP_SUB, size_of(p, p->old), real(n, 1));
  bool exclude = onnx_int(n, "exclude_outside", 0) != 0;
  if (exclude) {
    ir_ref outside = op_binary(n->g, IR_OP_OR, onnx_with(n, IR_OP_LT, at, 0), bin(p, IR_OP_GT, at, last));
    weights = op_where(n->g, outside, onnx_full(n, weights, 0), weights);
  }
  int axis = 1;
  if (exclude || shrink != 1)
    weights = bin(p, IR_OP_DIV, weights, onnx_reduce(n, IR_OP_SUM, weights, &axis, 1, true));
  at = bin(p, IR_OP_MIN, bin(p, IR_OP_MAX, at, real(n, 0)), last);
  return weighed(p, x, onnx_like(n, at, IR_I64), weights);
}

static ir_ref resize_axis(const axis_plan *p, ir_ref x) {
  onnx_node *n = p->n;
  ir_ref place = places(p), last = bin(p, IR_OP_SUB, size_of(p, p->old), real(n, 1)), y;
  if (!place) return 0;
  if (onnx_text_is(n, "mode", "nearest", "nearest")) {
    ir_ref at = bin(p, IR_OP_MIN, bin(p, IR_OP_MAX, nearest(p, place), real(n, 0)), last);
    y = op_gather(n->g, x, onnx_like(n, at, IR_I64), p->axis, IR_GATHER_CHECK);
  } else y = interpolated(p, x, place);
  if (!y || !onnx_text_is(n, "coordinate_transformation_mode", "tf_crop_and_resize", "")) return y;
  ir_ref outside = op_binary(n->g, IR_OP_OR, onnx_with(n, IR_OP_LT, place, 0), bin(p, IR_OP_GT, place, last));
  return op_where(n->g, onnx_along(n, outside, p->axis, onnx_rank(n, x)),
                  onnx_full(n, y, onnx_real(n, "extrapolation_value", 0)), y);
}

/* what is resized to what */

typedef struct request {
  const onnx_known *scales, *sizes, *region;
  const float *attribute; /* scales of an old Upsample */
  int count, axes[IR_MAX_RANK];
} request;

static bool read_request(onnx_node *n, int rank, request *r) {
  const onnx_attribute *scales = onnx_attribute_of(n, "scales");
  int scale_input = n->row->argument || n->opset < 11 ? 1 : 2;
  const int64_t *axes;
  *r = (request){0};
  if (scales && (int)scales->floats.count == rank) r->attribute = scales->floats.items;
  if (!r->attribute && onnx_has(n, scale_input) && !(r->scales = onnx_need(n, scale_input, "the scales")))
    return false;
  if (r->scales && r->scales->count == 0) r->scales = NULL;
  if (n->opset >= 11 && !n->row->argument && onnx_has(n, 3) && !(r->sizes = onnx_need(n, 3, "the sizes")))
    return false;
  if (r->sizes && r->sizes->count == 0) r->sizes = NULL;
  if (onnx_text_is(n, "coordinate_transformation_mode", "tf_crop_and_resize", "") &&
      !(r->region = onnx_need(n, 1, "the region")))
    return false;
  if (!onnx_numbers(n, "axes", -1, &axes, &r->count)) return false;
  if (r->count > rank)
    return onnx_refuse(n, "axes has %d entries; the input has %d axes; takes each axis at most once",
                       r->count, rank);
  for (int i = 0; axes && i < r->count; i++)
    if (!onnx_wrap(n, axes[i], rank, &r->axes[i])) return false;
  if (!axes) r->count = rank;
  for (int i = 0; !axes && i < rank; i++) r->axes[i] = i;
  size_t given = r->attribute ? (size_t)rank : r->scales ? r->scales->count : r->sizes ? r->sizes->count : 0;
  if ((int)given != r->count || (r->scales && !ir_is_float(r->scales->dtype)) ||
      (r->sizes && ir_is_float(r->sizes->dtype)))
    return onnx_refuse(
        n,
        "%zu scales or sizes for %d axes; takes a scale, which is a float, or a size, an integer, for each",
        given, r->count);
  return !r->region || (int)r->region->count == 2 * r->count ||
         onnx_refuse(
             n, "the region has %zu numbers; takes a beginning for each of %d axes, then an end for each",
             r->region->count, r->count);
}

/* The one scale of all axes where the policy keeps the ratio of sizes; 0: each has its own. */
static bool kept_ratio(onnx_node *n, const request *r, ir_ref x, double *out) {
  bool smaller = onnx_text_is(n, "keep_aspect_ratio_policy", "not_larger", "stretch");
  *out = 0;
  if (!r->sizes || onnx_text_is(n, "keep_aspect_ratio_policy", "stretch", "stretch")) return true;
  for (int i = 0; i < r->count; i++) {
    int64_t old, size;
    if (!ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)r->axes[i]), &old) ||
        !onnx_known_int(n->m, r->sizes, (size_t)i, &size) || !old)
      return onnx_lacks(
          n, "keep_aspect_ratio_policy with a symbolic size; takes a number there, or the policy stretch");
    double ratio = (double)size / (double)old;
    if (i == 0 || (smaller ? ratio < *out : ratio > *out)) *out = ratio;
  }
  return true;
}

/* Of a scale: the size rounded down, of a symbolic size where the scale is an integer. */
static bool plan_axis(onnx_node *n, const request *r, int i, double kept, ir_ref x, axis_plan *p) {
  int axis = r->axes[i];
  int64_t old = 0;
  *p =
      (axis_plan){.n = n, .axis = axis, .old = ir_dim(n->g, x, (uint32_t)axis), .known_ratio = NAN, .end = 1};
  bool number = ir_is_const(n->g, p->old, &old);
  if (r->region) p->begin = r->region->elements[i].real, p->end = r->region->elements[i + r->count].real;
  if (r->sizes && !kept) {
    int64_t size;
    p->size = r->sizes->elements[i].size;
    if (number && old && ir_is_const(n->g, p->size, &size)) p->known_ratio = (double)size / (double)old;
    p->ratio = isnan(p->known_ratio) ? bin(p, IR_OP_DIV, size_of(p, p->size), size_of(p, p->old))
                                     : real(n, p->known_ratio);
    return true;
  }
  double ratio = kept ? kept : r->attribute ? (double)r->attribute[i] : r->scales->elements[i].real;
  if (!(ratio > 0 && ratio < 1e9))
    return onnx_refuse(n, "a scale of %g; takes numbers above 0 and below 1e9", ratio);
  p->known_ratio = ratio;
  p->ratio = real(n, ratio);
  if (number) p->size = ir_index(n->g, (int64_t)floor((double)old * ratio + (kept ? 0.5 : 0)));
  else if (ratio == floor(ratio)) p->size = pass_mul_int(n->g, p->old, (int64_t)ratio);
  else return onnx_lacks(n, "a scale of %g for a symbolic size; takes integers there", ratio);
  return true;
}

static bool keeps_size(const axis_plan *p, const request *r) {
  return p->size == p->old && !r->region && (isnan(p->known_ratio) || p->known_ratio == 1);
}

/* Axes that shrink come first, from the outermost on, then those that grow, from the innermost on: elements
 * along the innermost axis are gathered one by one, those of others in vectors, so that the former should be
 * few. 21 images of 32 x 32 to 256 x 256 take 0.43 ms in place of 3.8. */
static bool resize(onnx_node *n) {
  request r;
  double kept;
  axis_plan plans[IR_MAX_RANK];
  ir_ref x = onnx_in(n, 0);
  if (!x || !read_request(n, onnx_rank(n, x), &r) || !kept_ratio(n, &r, x, &kept)) return false;
  for (int i = 0; i < r.count; i++)
    if (!plan_axis(n, &r, i, kept, x, &plans[i])) return false;
  for (int axis = 0; axis < onnx_rank(n, x); axis++)
    for (int i = 0; i < r.count && x; i++)
      if (plans[i].axis == axis && plans[i].known_ratio < 1 && !keeps_size(&plans[i], &r))
        x = resize_axis(&plans[i], x);
  for (int axis = IR_MAX_RANK; axis-- > 0;)
    for (int i = 0; i < r.count && x; i++)
      if (plans[i].axis == axis && !(plans[i].known_ratio < 1) && !keeps_size(&plans[i], &r))
        x = resize_axis(&plans[i], x);
  return onnx_put(n, 0, x);
}

const onnx_operator onnx_resizing[] = {
    {"Resize", resize, NULL, 0, 1, 4}, {"Upsample", resize, NULL, 1, 1, 2}, {0}};
