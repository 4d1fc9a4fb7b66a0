/* Normalisations. */
#include "frontend/onnx/import.h"

static ir_ref add(onnx_node *n, ir_ref a, ir_ref b) { return op_binary(n->g, IR_OP_ADD, a, b); }
static ir_ref sub(onnx_node *n, ir_ref a, ir_ref b) { return op_binary(n->g, IR_OP_SUB, a, b); }
static ir_ref mul(onnx_node *n, ir_ref a, ir_ref b) { return op_binary(n->g, IR_OP_MUL, a, b); }
static ir_ref over(onnx_node *n, ir_ref a, ir_ref b) { return op_binary(n->g, IR_OP_DIV, a, b); }

static ir_ref blended(onnx_node *n, ir_ref old, ir_ref new, double momentum) {
  return add(n, onnx_with(n, IR_OP_MUL, old, momentum), onnx_with(n, IR_OP_MUL, new, 1 - momentum));
}

/* Parameters of channels; before operator set 9 also of each element of an instance. */
static ir_ref of_features(onnx_node *n, ir_ref value, int rank) {
  return n->opset < 9 && onnx_int(n, "spatial", 1) == 0 ? value : onnx_along(n, value, 1, rank);
}

/* Mean and variance of the batch; *mean and *var are replaced, after the running ones were put. */
static bool batch_moments(onnx_node *n, ir_ref x, ir_ref *mean, ir_ref *var) {
  double momentum = onnx_real(n, "momentum", (double)0.9f);
  ir_ref old_mean = *mean, old_var = *var, list[IR_MAX_RANK];
  int axes[IR_MAX_RANK], count = 0, rank = onnx_rank(n, x);
  bool each = n->opset < 9 && onnx_int(n, "spatial", 1) == 0;
  for (int i = 0; i < (each ? 1 : rank); i++)
    if (i != 1) list[count] = ir_index(n->g, i), axes[count++] = i;
  *mean = onnx_reduce(n, IR_OP_MEAN, x, axes, count, false);
  *var = op_var(n->g, x, list, (size_t)count, false, 0);
  return onnx_put(n, 1, blended(n, old_mean, *mean, momentum)) &&
         onnx_put(n, 2, blended(n, old_var, *var, momentum)) && onnx_put(n, 3, *mean) && onnx_put(n, 4, *var);
}

/* Before operator set 14 a node trains where it has more than one output. */
static bool batch_normalization(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), mean = onnx_in(n, 3), var = onnx_in(n, 4);
  int rank = x ? onnx_rank(n, x) : 0;
  bool trains = n->opset >= 14 && onnx_int(n, "training_mode", 0);
  for (int i = 1; i < 5; i++) trains = trains || (n->opset < 14 && onnx_wants(n, i));
  if (rank < 2 || !mean || !var)
    return x && mean && var && onnx_refuse(n, "an input of %d axes; takes at least 2", rank);
  ir_dtype dtype = ir_dtype_of(n->g, x), inner = ir_dtype_of(n->g, mean);
  ir_ref wide = onnx_like(n, x, inner);
  if (trains && !batch_moments(n, wide, &mean, &var)) return false;
  ir_ref root =
      op_unary(n->g, IR_OP_SQRT, onnx_with(n, IR_OP_ADD, var, onnx_real(n, "epsilon", (double)1e-5f)));
  /* (x - mean) / root * scale + bias */
  ir_ref scale = onnx_in(n, 1), bias = onnx_in(n, 2);
  if (!scale || !bias) return false;
  ir_ref y = over(n, sub(n, wide, of_features(n, mean, rank)), of_features(n, root, rank));
  y = mul(n, y, onnx_like(n, of_features(n, scale, rank), inner));
  y = add(n, y, onnx_like(n, of_features(n, bias, rank), inner));
  return onnx_put(n, 0, onnx_like(n, y, dtype));
}

static bool instance_normalization(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), scale = onnx_in(n, 1), bias = onnx_in(n, 2);
  int rank = x ? onnx_rank(n, x) : 0;
  if (!x || !scale || !bias) return false;
  ir_ref y = rank > 2 ? op_layer_norm(n->g, &x, 1, 2, onnx_real(n, "epsilon", (double)1e-5f)) : x;
  return onnx_put(n, 0, add(n, mul(n, y, onnx_along(n, scale, 1, rank)), onnx_along(n, bias, 1, rank)));
}

static bool group_normalization(onnx_node *n) {
  int64_t groups = onnx_int(n, "num_groups", 1);
  ir_ref x = onnx_in(n, 0), scale = onnx_in(n, 1), bias = onnx_in(n, 2), dims[IR_MAX_RANK], shape[3];
  if (!x || !scale || !bias) return false;
  int rank = onnx_dims(n, x, dims);
  if (rank < 2 || groups < 1) return onnx_refuse(n, "%lld groups", (long long)groups);
  ir_dtype dtype = ir_dtype_of(n->g, x);
  shape[0] = dims[0];
  shape[1] = ir_index(n->g, groups);
  shape[2] = ir_index(n->g, -1);
  ir_ref grouped = onnx_reshape(n, onnx_like(n, x, IR_F32), shape, 3);
  ir_ref y = op_layer_norm(n->g, &grouped, 1, 2, onnx_real(n, "epsilon", (double)1e-5f));
  if (n->opset < 21) { /* scale and bias are those of groups */
    y = add(n, mul(n, y, onnx_along(n, scale, 1, 3)), onnx_along(n, bias, 1, 3));
    return onnx_put(n, 0, onnx_like(n, onnx_reshape(n, y, dims, rank), dtype));
  }
  y = onnx_reshape(n, y, dims, rank);
  y = add(n, mul(n, y, onnx_like(n, onnx_along(n, scale, 1, rank), IR_F32)),
          onnx_like(n, onnx_along(n, bias, 1, rank), IR_F32));
  return onnx_put(n, 0, onnx_like(n, y, dtype));
}

static bool layer_normalization(onnx_node *n) {
  ir_ref x[3] = {onnx_in(n, 0), onnx_in(n, 1), onnx_optional(n, 2)}, list[IR_MAX_RANK];
  double eps = onnx_real(n, "epsilon", (double)1e-5f);
  int rank = x[0] ? onnx_rank(n, x[0]) : 0, axis = x[0] ? onnx_axis(n, "axis", -1, rank) : -1,
      axes[IR_MAX_RANK];
  if (axis < 0 || n->m->error->status) return false;
  if (!onnx_put(n, 0, op_layer_norm(n->g, x, x[2] ? 3 : 2, axis, eps))) return false;
  if (!onnx_wants(n, 1) && !onnx_wants(n, 2)) return true;
  for (int i = axis; i < rank; i++) list[i - axis] = ir_index(n->g, i), axes[i - axis] = i;
  ir_ref wide = onnx_like(n, x[0], IR_F32), var = op_var(n->g, wide, list, (size_t)(rank - axis), true, 0);
  return onnx_put(n, 1, onnx_reduce(n, IR_OP_MEAN, wide, axes, rank - axis, true)) &&
         onnx_put(n, 2, op_unary(n->g, IR_OP_RSQRT, onnx_with(n, IR_OP_ADD, var, eps)));
}

static bool rms_normalization(onnx_node *n) {
  ir_ref x[2] = {onnx_in(n, 0), onnx_in(n, 1)};
  int axis = x[0] ? onnx_axis(n, "axis", -1, onnx_rank(n, x[0])) : -1;
  return axis >= 0 && onnx_put(n, 0, op_rms_norm(n->g, x, 2, axis, onnx_real(n, "epsilon", (double)1e-5f)));
}

static bool mean_variance(onnx_node *n) {
  const int64_t *axes;
  static const int64_t usual[] = {0, 2, 3};
  ir_ref x = onnx_in(n, 0), list[IR_MAX_RANK];
  int count, along[IR_MAX_RANK];
  if (!x || !onnx_numbers(n, "axes", -1, &axes, &count)) return false;
  if (!axes) axes = usual, count = 3;
  if (count > IR_MAX_RANK) return onnx_refuse(n, "%d axes", count);
  for (int i = 0; i < count; i++) {
    if (!onnx_wrap(n, axes[i], onnx_rank(n, x), &along[i])) return false;
    list[i] = ir_index(n->g, along[i]);
  }
  ir_ref mean = onnx_reduce(n, IR_OP_MEAN, x, along, count, true);
  ir_ref std = op_std(n->g, x, list, (size_t)count, true, 0);
  return onnx_put(n, 0, over(n, sub(n, x, mean), onnx_with(n, IR_OP_ADD, std, 1e-9)));
}

/* Each channel divided by a power of the mean of squares of the neighbouring channels. */
static bool local_response(onnx_node *n) {
  int64_t size = onnx_int(n, "size", 1);
  ir_ref x = onnx_in(n, 0), total = 0;
  if (!x || onnx_rank(n, x) < 2 || size < 1 || size > 1 << 6)
    return x && onnx_refuse(n, "a size of %lld", (long long)size);
  int64_t before = (size - 1) / 2;
  ir_ref channels = ir_dim(n->g, x, 1);
  ir_ref padded =
      onnx_pads(n, op_square(n->g, x), 1, ir_index(n->g, before), ir_index(n->g, size - 1 - before));
  for (int64_t k = 0; k < size; k++) {
    ir_ref part = onnx_cut(n, padded, 1, ir_index(n->g, k), pass_add_int(n->g, channels, k));
    total = total ? add(n, total, part) : part;
  }
  total = onnx_with(n, IR_OP_MUL, total, onnx_real(n, "alpha", (double)1e-4f) / (double)size);
  total = onnx_with(n, IR_OP_ADD, total, onnx_real(n, "bias", 1));
  return onnx_put(n, 0, over(n, x, onnx_with(n, IR_OP_POW, total, onnx_real(n, "beta", 0.75))));
}

static bool lp_normalization(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  int64_t p = onnx_int(n, "p", 2);
  int axis = x ? onnx_axis(n, "axis", -1, onnx_rank(n, x)) : -1;
  if (axis < 0) return false;
  if (p != 1 && p != 2) return onnx_lacks(n, "p is %lld; takes 1 and 2", (long long)p);
  ir_ref sum =
      onnx_reduce(n, IR_OP_SUM, p == 1 ? op_unary(n->g, IR_OP_ABS, x) : op_square(n->g, x), &axis, 1, true);
  ir_ref norm = p == 1 ? sum : op_unary(n->g, IR_OP_SQRT, sum);
  ir_ref none = onnx_with(n, IR_OP_EQ, norm, 0);
  return onnx_put(n, 0, op_where(n->g, none, onnx_full(n, x, 0), over(n, x, norm)));
}

/* clang-format off */
const onnx_operator onnx_normalizing[] = {
    {"BatchNormalization", batch_normalization, NULL, 0, 5, 5},
    {"InstanceNormalization", instance_normalization, NULL, 0, 3, 3},
    {"GroupNormalization", group_normalization, NULL, 0, 3, 3},
    {"LayerNormalization", layer_normalization, NULL, 0, 2, 3},
    {"RMSNormalization", rms_normalization, NULL, 0, 2, 2},
    {"MeanVarianceNormalization", mean_variance, NULL, 0, 1, 1}, {"LRN", local_response, NULL, 0, 1, 1},
    {"LpNormalization", lp_normalization, NULL, 0, 1, 1}, {0}};
/* clang-format on */
