/* Quantised operators. Rounding is to nearest even, in f32 as ONNX has it, so results are equal bit by bit.
 */
#include "frontend/onnx/fold.h"
#include "frontend/onnx/narrow.h"
#include "frontend/onnx/operators/quantizing.h"
#include "frontend/onnx/operators/windows.h"

static bool limits(onnx_node *n, ir_dtype dtype, double *low, double *high) {
  switch (dtype) {
  case IR_U8: *low = 0, *high = UINT8_MAX; return true;
  case IR_I8: *low = INT8_MIN, *high = INT8_MAX; return true;
  case IR_U16: *low = 0, *high = UINT16_MAX; return true;
  case IR_I16: *low = INT16_MIN, *high = INT16_MAX; return true;
  default: return onnx_lacks(n, "quantising to %s; takes integers of 8 and 16 bits", ir_dtypes[dtype].name);
  }
}

/* A scale or zero point for x: of one element, one for each index of the axis, or for blocks along it. */
static ir_ref spread(onnx_node *n, ir_ref value, ir_ref x, int64_t axis) {
  int64_t block = onnx_int(n, "block_size", 0);
  ir_ref dims[IR_MAX_RANK], shape[IR_MAX_RANK + 1];
  if (!value) return 0;
  int rank = onnx_rank(n, x);
  if (onnx_rank(n, value) <= 1 || block == 0) {
    int from = 0;
    int64_t one;
    bool single = onnx_rank(n, value) == 0 || (ir_is_const(n->g, ir_dim(n->g, value, 0), &one) && one == 1);
    if (!single && !onnx_wrap(n, axis, rank, &from)) return 0;
    return onnx_along(n, value, from, rank);
  }
  int at;
  if (!onnx_wrap(n, axis, rank, &at) || onnx_dims(n, value, dims) != rank || rank == IR_MAX_RANK || block < 0)
    return (ir_ref)onnx_refuse(n,
                               "a scale of %d axes for an input of %d in blocks of %lld; takes as many axes, "
                               "and blocks of at least 1",
                               onnx_rank(n, value), rank, (long long)block);
  for (int i = 0; i <= rank; i++) shape[i] = i == at + 1 ? ir_index(n->g, block) : dims[i - (i > at)];
  ir_ref wide = op_expand(n->g, op_unsqueeze(n->g, value, at + 1), shape, (size_t)rank + 1);
  dims[at] = pass_mul_int(n->g, dims[at], block);
  return onnx_cut(n, onnx_reshape(n, wide, dims, rank), at, ir_index(n->g, 0), ir_dim(n->g, x, (uint32_t)at));
}

ir_ref onnx_zero_points(onnx_node *n, int input, ir_ref zero) {
  const onnx_known *known = zero ? onnx_known_in(n, input) : NULL;
  int64_t first, other;
  if (!known || ir_is_float(ir_dtype_of(n->g, zero)) || !known->count ||
      !onnx_known_int(n->m, known, 0, &first))
    return zero;
  for (size_t i = 1; i < known->count; i++)
    if (!onnx_known_int(n->m, known, i, &other) || other != first) return zero;
  return first ? op_const(n->g, ir_dtype_of(n->g, zero), (ir_value){.i = first}) : 0;
}

/* Rounded, with the zero point (f32) added, and saturated. */
static ir_ref between(onnx_node *n, ir_ref x, ir_ref zero, ir_dtype dtype, double low, double high) {
  x = op_unary(n->g, IR_OP_ROUND, x);
  if (zero) x = op_binary(n->g, IR_OP_ADD, x, onnx_like(n, zero, IR_F32));
  return op_cast(n->g, onnx_with(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, x, low), high), dtype);
}

ir_ref onnx_saturated(onnx_node *n, ir_ref x, ir_ref zero, ir_dtype dtype) {
  double low = 0, high = 0;
  return limits(n, dtype, &low, &high) ? between(n, x, zero, dtype, low, high) : 0;
}

/* To a type that is storage. */
static bool quantize_narrow(onnx_node *n, ir_ref quotient, ir_ref zero, int64_t number) {
  const onnx_narrow *t = onnx_narrow_of(number);
  if (!t->is_float)
    return onnx_put_narrow(n, 0, between(n, quotient, zero, onnx_narrow_storage(t), t->low, t->high), number);
  if (zero) quotient = op_binary(n->g, IR_OP_ADD, quotient, onnx_like(n, zero, IR_F32));
  return onnx_put_narrow(n, 0, onnx_narrowed(n, quotient, number, onnx_int(n, "saturate", 1) != 0), number);
}

static bool quantize(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), scale = onnx_wide_in(n, 1), zero = onnx_has(n, 2) ? onnx_wide_in(n, 2) : 0;
  int64_t axis = onnx_int(n, "axis", 1), number = onnx_int(n, "output_dtype", 0);
  if (!x || !scale || n->m->error->status) return false;
  if (onnx_narrow_in(n, 0)) return onnx_refuse(n, "takes an input of floats");
  if (onnx_narrow_in(n, 2)) number = onnx_narrow_in(n, 2);
  ir_dtype dtype = zero ? ir_dtype_of(n->g, zero) : number ? onnx_dtype(number) : IR_U8;
  ir_ref quotient =
      op_binary(n->g, IR_OP_DIV, onnx_like(n, x, IR_F32), onnx_like(n, spread(n, scale, x, axis), IR_F32));
  zero = onnx_zero_points(n, 2, zero);
  if (zero) zero = spread(n, zero, x, axis);
  return onnx_narrow_of(number) ? quantize_narrow(n, quotient, zero, number)
                                : onnx_put(n, 0, onnx_saturated(n, quotient, zero, dtype));
}

/* A bias of few elements is a constant of floats. */
static bool fold_dequantized(onnx_node *n, bool *done) {
  if (!onnx_foldable(n, 0, 2) || onnx_int(n, "output_dtype", 0) || onnx_int(n, "block_size", 0)) return true;
  const onnx_known *x = onnx_known_in(n, 0), *scale = onnx_known_in(n, 1), *zero = onnx_known_in(n, 2);
  if (!x || !scale || x->dtype != IR_I32 || x->rank > 1 || scale->dtype != IR_F32 ||
      (scale->count != 1 && scale->count != x->count) || (onnx_has(n, 2) && !zero))
    return true;
  int64_t number;
  for (size_t i = 0; zero && i < zero->count; i++)
    if (!onnx_known_int(n->m, zero, i, &number) || number != 0) return true;
  onnx_known *k = onnx_known_make(n->m, IR_F32, x->rank, x->shape);
  if (!k) return false;
  for (size_t i = 0; i < k->count; i++) {
    if (!onnx_known_int(n->m, x, i, &number)) return true;
    k->elements[i].real = (double)((float)number * (float)scale->elements[scale->count == 1 ? 0 : i].real);
  }
  return *done = onnx_put_known(n, 0, k);
}

static bool dequantize(onnx_node *n) {
  ir_ref x = onnx_wide_in(n, 0), scale = onnx_wide_in(n, 1), zero = onnx_has(n, 2) ? onnx_wide_in(n, 2) : 0;
  int64_t axis = onnx_int(n, "axis", 1), number = onnx_int(n, "output_dtype", 0);
  if (!x || !scale || n->m->error->status) return false;
  ir_ref wide = onnx_like(n, x, IR_F32);
  zero = onnx_zero_points(n, 2, zero);
  if (zero) wide = op_binary(n->g, IR_OP_SUB, wide, onnx_like(n, spread(n, zero, x, axis), IR_F32));
  ir_ref y = op_binary(n->g, IR_OP_MUL, wide, onnx_like(n, spread(n, scale, x, axis), IR_F32));
  return onnx_put(n, 0, onnx_like(n, y, number ? onnx_dtype(number) : ir_dtype_of(n->g, scale)));
}

/* Scale and zero point from the least and the greatest element, 0 included. */
ir_ref onnx_quantized_by_range(onnx_node *n, ir_ref x, ir_ref *scale, ir_ref *zero) {
  ir_ref none = x ? op_const(n->g, IR_F32, (ir_value){.f = 0}) : 0;
  ir_ref low = op_binary(n->g, IR_OP_MIN, op_reduce(n->g, IR_OP_REDUCE_MIN, x, NULL, 0, false), none);
  ir_ref high = op_binary(n->g, IR_OP_MAX, op_reduce(n->g, IR_OP_REDUCE_MAX, x, NULL, 0, false), none);
  *scale = onnx_with(n, IR_OP_DIV, op_binary(n->g, IR_OP_SUB, high, low), 255);
  ir_ref at = op_binary(n->g, IR_OP_DIV, op_unary(n->g, IR_OP_NEG, low), *scale);
  at = onnx_with(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, at, 0), 255);
  *zero = op_cast(n->g, op_unary(n->g, IR_OP_ROUND, at), IR_U8);
  return onnx_saturated(n, op_binary(n->g, IR_OP_DIV, x, *scale), *zero, IR_U8);
}

static bool dynamic_quantize(onnx_node *n) {
  ir_ref scale = 0, zero = 0;
  return onnx_put(n, 0, onnx_quantized_by_range(n, onnx_in(n, 0), &scale, &zero)) && onnx_put(n, 1, scale) &&
         onnx_put(n, 2, zero);
}

/* integers with their zero points taken off */

ir_ref onnx_centred(onnx_node *n, ir_ref x, ir_ref zero) {
  x = onnx_like(n, x, IR_I32);
  return zero ? op_binary(n->g, IR_OP_SUB, x, onnx_like(n, zero, IR_I32)) : x;
}

ir_ref onnx_of_rows(onnx_node *n, ir_ref value) {
  int64_t one;
  if (!value || onnx_rank(n, value) != 1) return value;
  if (ir_is_const(n->g, ir_dim(n->g, value, 0), &one) && one == 1) return onnx_reshape(n, value, NULL, 0);
  return op_unsqueeze(n->g, value, 1);
}
ir_ref onnx_of_columns(onnx_node *n, ir_ref value) {
  int64_t one;
  bool single =
      value && onnx_rank(n, value) == 1 && ir_is_const(n->g, ir_dim(n->g, value, 0), &one) && one == 1;
  return single ? onnx_reshape(n, value, NULL, 0) : value;
}
static ir_ref of_channels(onnx_node *n, ir_ref value, int axis, int rank) {
  return value ? onnx_along(n, value, axis, rank) : 0;
}

static bool matmul_integer(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1);
  ir_ref zero_a = onnx_of_rows(n, onnx_optional(n, 2)), zero_b = onnx_of_columns(n, onnx_optional(n, 3));
  if (n->m->error->status) return false;
  return onnx_put(n, 0, op_matmul(n->g, onnx_centred(n, a, zero_a), onnx_centred(n, b, zero_b)));
}

static bool conv_integer(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), w = onnx_in(n, 1), zero_x = onnx_optional(n, 2), zero_w = onnx_optional(n, 3);
  if (!x || !w || n->m->error->status) return false;
  zero_w = of_channels(n, onnx_zero_points(n, 3, zero_w), 0, onnx_rank(n, w));
  return onnx_put(
      n, 0, onnx_conv(n, onnx_centred(n, x, onnx_of_columns(n, zero_x)), onnx_centred(n, w, zero_w), 0));
}

bool onnx_requantized(onnx_node *n, ir_ref y, ir_ref scale_a, ir_ref scale_b, ir_ref scale, ir_ref zero) {
  ir_ref factor = op_binary(n->g, IR_OP_DIV, op_binary(n->g, IR_OP_MUL, scale_a, scale_b), scale);
  if (!zero) return false;
  factor = onnx_like(n, factor, IR_F32);
  return onnx_put(n, 0,
                  onnx_saturated(n, op_binary(n->g, IR_OP_MUL, onnx_like(n, y, IR_F32), factor), zero,
                                 ir_dtype_of(n->g, zero)));
}

static bool quantized_matmul(onnx_node *n) {
  ir_ref a = onnx_centred(n, onnx_in(n, 0), onnx_of_rows(n, onnx_in(n, 2)));
  ir_ref b = onnx_centred(n, onnx_in(n, 3), onnx_of_columns(n, onnx_zero_points(n, 5, onnx_in(n, 5))));
  return onnx_requantized(n, op_matmul(n->g, a, b), onnx_of_rows(n, onnx_in(n, 1)),
                          onnx_of_columns(n, onnx_in(n, 4)), onnx_of_rows(n, onnx_in(n, 6)),
                          onnx_of_rows(n, onnx_in(n, 7)));
}

static bool quantized_conv(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), w = onnx_in(n, 3), zero_x = onnx_of_columns(n, onnx_in(n, 2)),
         zero_w = onnx_in(n, 5);
  ir_ref scale_w = onnx_in(n, 4), bias = onnx_optional(n, 8);
  if (!x || !w || !zero_x || !zero_w || !scale_w || n->m->error->status) return false;
  zero_w = onnx_zero_points(n, 5, zero_w);
  int rank = onnx_rank(n, x);
  ir_ref y = onnx_conv(n, onnx_centred(n, x, zero_x),
                       onnx_centred(n, w, of_channels(n, zero_w, 0, onnx_rank(n, w))), bias);
  return onnx_requantized(n, y, onnx_of_columns(n, onnx_in(n, 1)), of_channels(n, scale_w, 1, rank),
                          onnx_of_columns(n, onnx_in(n, 6)), onnx_of_columns(n, onnx_in(n, 7)));
}

/* clang-format off */
const onnx_operator onnx_quantizing[] = {
    {"QuantizeLinear", quantize, NULL, 0, 2, 3}, {"DequantizeLinear", dequantize, fold_dequantized, 0, 2, 3},
    {"DynamicQuantizeLinear", dynamic_quantize, NULL, 0, 1, 1}, {"MatMulInteger", matmul_integer, NULL, 0, 2, 4},
    {"ConvInteger", conv_integer, NULL, 0, 2, 4}, {"QLinearMatMul", quantized_matmul, NULL, 0, 8, 8},
    {"QLinearConv", quantized_conv, NULL, 0, 8, 9}, {0}};
/* clang-format on */
