/* Windows and transforms of signals. Complex numbers are pairs along the last axis, which has size 1 where
 * they are real. */
#include <math.h>

#include "frontend/onnx/import.h"

static const double pi = 3.14159265358979323846;

/* weights[0] - weights[1] cos(2 pi k / N) + weights[2] cos(4 pi k / N) */
static bool cosine_window(onnx_node *n) {
  static const double all[][3] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
  const double *weights = all[n->row->argument];
  const onnx_known *k = onnx_need(n, 0, "the size");
  ir_dtype dtype = onnx_dtype(onnx_int(n, "output_datatype", 1));
  if (!k || k->count != 1 || ir_is_float(k->dtype))
    return k && onnx_refuse(n, "the size is no integer; takes one");
  if (!ir_is_float(dtype))
    return onnx_lacks(n, "output_datatype is %s; takes float, double, float16 and bfloat16",
                      onnx_dtype_name(onnx_int(n, "output_datatype", 1)));
  ir_ref size = k->elements[0].size, period = onnx_like(n, onnx_size_tensor(n, size, IR_I64), IR_F64);
  if (!onnx_int(n, "periodic", 1)) period = onnx_with(n, IR_OP_SUB, period, 1);
  ir_ref at = op_binary(n->g, IR_OP_DIV, op_iota(n->g, IR_F64, &size, 1, 0), period);
  ir_ref y = onnx_full(n, at, weights[0]);
  for (int order = 1; order < 3; order++) {
    ir_ref wave = op_unary(n->g, IR_OP_COS, onnx_with(n, IR_OP_MUL, at, 2 * pi * order));
    y = op_binary(n->g, order == 1 ? IR_OP_SUB : IR_OP_ADD, y, onnx_with(n, IR_OP_MUL, wave, weights[order]));
  }
  return onnx_put(n, 0, onnx_like(n, y, dtype));
}

typedef struct transform {
  int axis;
  ir_ref length;
  bool inverse, one_sided;
} transform;

/* cos or sin of 2 pi j k / length, [length, count]; scaled where it is the inverse. */
static ir_ref waves(onnx_node *n, const transform *t, ir_ref count, ir_op op, ir_dtype dtype) {
  ir_ref shape[2] = {t->length, count}, length = onnx_size_tensor(n, t->length, IR_I64);
  ir_ref turn =
      op_binary(n->g, IR_OP_MUL, op_iota(n->g, IR_I64, shape, 2, 0), op_iota(n->g, IR_I64, shape, 2, 1));
  turn = onnx_like(n, op_binary(n->g, IR_OP_MOD, turn, length), IR_F64);
  ir_ref period = onnx_like(n, length, IR_F64);
  ir_ref angle =
      onnx_with(n, IR_OP_MUL, op_binary(n->g, IR_OP_DIV, turn, period), t->inverse ? 2 * pi : -2 * pi);
  ir_ref wave = op_unary(n->g, op, angle);
  if (t->inverse) wave = op_binary(n->g, IR_OP_DIV, wave, period);
  return onnx_like(n, wave, dtype);
}

/* The axis, truncated or padded to the length. */
static ir_ref fitted(onnx_node *n, ir_ref x, const transform *t) {
  ir_ref size = ir_dim(n->g, x, (uint32_t)t->axis), zero = ir_index(n->g, 0);
  x = onnx_cut(n, x, t->axis, zero, pass_min(n->g, size, t->length));
  return onnx_pads(n, x, t->axis, zero, pass_max(n->g, pass_sub(n->g, t->length, size), zero));
}

/* By the matrix of the transform. */
static ir_ref transformed(onnx_node *n, ir_ref x, const transform *t) {
  ir_graph *g = n->g;
  int64_t parts;
  if (!x || !ir_is_const(g, ir_dim(g, x, (uint32_t)onnx_rank(n, x) - 1), &parts) || parts < 1 || parts > 2)
    return x ? (ir_ref)onnx_refuse(n, "the last axis has neither 1 nor 2 elements; takes 1 for real numbers, "
                                      "and 2 for complex ones")
             : 0;
  ir_dtype dtype = ir_dtype_of(g, x);
  ir_ref count = t->one_sided ? pass_add_int(g, pass_div_int(g, t->length, 2), 1) : t->length,
         products[2][2] = {{0}};
  x = fitted(n, x, t);
  for (int part = 0; part < (int)parts; part++) {
    ir_ref line = op_move_axis(g, op_point(g, x, ir_index(g, part), -1), t->axis, -1);
    products[part][0] = op_matmul(g, line, waves(n, t, count, IR_OP_COS, dtype));
    products[part][1] = op_matmul(g, line, waves(n, t, count, IR_OP_SIN, dtype));
  }
  ir_ref results[2] = {products[0][0], products[0][1]};
  if (parts == 2) {
    results[0] = op_binary(g, IR_OP_SUB, products[0][0], products[1][1]);
    results[1] = op_binary(g, IR_OP_ADD, products[0][1], products[1][0]);
  }
  for (int i = 0; i < 2; i++) results[i] = op_move_axis(g, results[i], -1, t->axis);
  return op_stack(g, results, 2, -1);
}

/* The second half of the spectrum of a real signal from its first half: the inverse of a one-sided transform.
 */
static ir_ref mirrored(onnx_node *n, ir_ref x, int axis, ir_ref length) {
  ir_graph *g = n->g;
  ir_ref at = ir_index(g, axis), sign_of[2], half = ir_dim(g, x, (uint32_t)axis);
  ir_ref upper = onnx_cut(n, x, axis, ir_index(g, 1), pass_add_int(g, pass_sub(g, length, half), 1));
  if (!upper) return 0;
  upper = op_flip(g, upper, &at, 1);
  sign_of[0] = op_point(g, upper, ir_index(g, 0), -1);
  sign_of[1] = op_unary(g, IR_OP_NEG, op_point(g, upper, ir_index(g, 1), -1));
  ir_ref both[2] = {x, op_stack(g, sign_of, 2, -1)};
  return op_concat(g, both, 2, axis);
}

static bool fourier(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  int64_t axis = onnx_int(n, "axis", n->opset >= 20 ? -2 : 1);
  transform t = {.inverse = onnx_int(n, "inverse", 0) != 0, .one_sided = onnx_int(n, "onesided", 0) != 0};
  if (!x || (n->opset >= 20 && onnx_has(n, 2) && !onnx_scalar(n, 2, "the axis", &axis))) return false;
  if (!onnx_wrap(n, axis, onnx_rank(n, x), &t.axis)) return false;
  t.length = ir_dim(n->g, x, (uint32_t)t.axis);
  bool back = t.inverse && t.one_sided;
  if (back) t.length = pass_mul_int(n->g, pass_add_int(n->g, t.length, -1), 2);
  if (onnx_has(n, 1)) {
    const onnx_known *k = onnx_need(n, 1, "the length");
    if (!k || k->count != 1 || ir_is_float(k->dtype))
      return k && onnx_refuse(n, "the length is no integer; takes one");
    t.length = k->elements[0].size;
  }
  if (!back) return onnx_put(n, 0, transformed(n, x, &t));
  t.one_sided = false;
  ir_ref y = transformed(n, mirrored(n, x, t.axis, t.length), &t);
  int last = y ? onnx_rank(n, y) - 1 : 0;
  return onnx_put(n, 0, onnx_cut(n, y, last, ir_index(n->g, 0), ir_index(n->g, 1)));
}

/* Transforms of frames that begin a step apart, times a window. */
static bool short_fourier(onnx_node *n) {
  int64_t step, length = 0, samples;
  ir_ref x = onnx_in(n, 0), window = onnx_optional(n, 2), dims[IR_MAX_RANK];
  if (!x || n->m->error->status || !onnx_scalar(n, 1, "the step", &step)) return false;
  if (onnx_rank(n, x) == 2) x = op_unsqueeze(n->g, x, 2);
  if (onnx_has(n, 3) && !onnx_scalar(n, 3, "the length of a frame", &length)) return false;
  onnx_dims(n, x, dims);
  if (!length && (!window || !ir_is_const(n->g, ir_dim(n->g, window, 0), &length)))
    return onnx_refuse(n, "frames of no known length; takes frame_length, or a window of a known size");
  if (onnx_rank(n, x) != 3 || step < 1 || length < 1 || !ir_is_const(n->g, dims[1], &samples) ||
      samples < length)
    return onnx_refuse(n, "takes [batch, samples, 1 or 2] with a known number of samples, steps of at least "
                          "1, and frames of 1 to as many samples");
  ir_ref shape[2] = {ir_index(n->g, (samples - length) / step + 1), ir_index(n->g, length)};
  ir_ref at = onnx_with(n, IR_OP_MUL, op_iota(n->g, IR_I64, shape, 2, 0), (double)step);
  at = op_binary(n->g, IR_OP_ADD, at, op_iota(n->g, IR_I64, shape, 2, 1));
  x = op_gather(n->g, x, at, 1, IR_GATHER_CHECK); /* [batch, frames, length, parts] */
  if (window) x = op_binary(n->g, IR_OP_MUL, x, onnx_along(n, window, 0, 2));
  transform t = {.axis = 2, .length = shape[1], .one_sided = onnx_int(n, "onesided", 1) != 0};
  return onnx_put(n, 0, transformed(n, x, &t));
}

/* Triangular filters, equally spaced on the mel scale. */
static bool mel_weights(onnx_node *n) {
  int64_t bins, length, rate;
  const onnx_known *low = onnx_need(n, 3, "the lower edge"), *high = onnx_need(n, 4, "the upper edge");
  if (!low || !high || !onnx_scalar(n, 0, "the number of bins", &bins) ||
      !onnx_scalar(n, 1, "the length", &length) || !onnx_scalar(n, 2, "the sample rate", &rate))
    return false;
  if (bins < 1 || length < 2 || rate < 1 || bins > 1 << 10)
    return onnx_refuse(n,
                       "%lld bins, %lld samples, a sample rate of %lld; takes 1 to %d bins, at least 2 "
                       "samples, and a rate of at least 1",
                       (long long)bins, (long long)length, (long long)rate, 1 << 10);
  double from = 2595 * log10(1 + low->elements[0].real / 700),
         to = 2595 * log10(1 + high->elements[0].real / 700);
  double step = (to - from) / (double)(bins + 2);
  int64_t edges[3], rows = length / 2 + 1;
  ir_ref shape[2] = {ir_index(n->g, rows), ir_index(n->g, bins)}, at[3];
  int64_t *places = wire_alloc(&n->m->arena, (size_t)(bins + 2) * sizeof *places);
  if (!places) return false;
  for (int64_t i = 0; i < bins + 2; i++) {
    double hertz = 700 * (pow(10, ((double)i * step + from) / 2595) - 1);
    places[i] = (int64_t)floor((double)(length + 1) * hertz / (double)rate);
  }
  (void)edges;
  for (int k = 0; k < 3; k++) {
    ir_ref list = onnx_data(n->m, IR_I64, 1, &bins, places + k);
    at[k] = onnx_like(n, op_expand(n->g, list, shape, 2), IR_F64);
  }
  ir_ref row = op_iota(n->g, IR_F64, shape, 2, 0);
  ir_ref up = op_binary(n->g, IR_OP_DIV, op_binary(n->g, IR_OP_SUB, row, at[0]),
                        op_binary(n->g, IR_OP_SUB, at[1], at[0]));
  ir_ref down = op_binary(n->g, IR_OP_DIV, op_binary(n->g, IR_OP_SUB, at[2], row),
                          op_binary(n->g, IR_OP_SUB, at[2], at[1]));
  ir_ref flat = op_binary(n->g, IR_OP_EQ, at[0], at[1]), peak = op_binary(n->g, IR_OP_EQ, row, at[1]);
  ir_ref rises = op_binary(n->g, IR_OP_AND, op_binary(n->g, IR_OP_GE, row, at[0]),
                           op_binary(n->g, IR_OP_LE, row, at[1]));
  ir_ref falls = op_binary(n->g, IR_OP_AND, op_binary(n->g, IR_OP_GE, row, at[1]),
                           op_binary(n->g, IR_OP_LT, row, at[2]));
  ir_ref zero = onnx_full(n, row, 0);
  ir_ref left =
      op_where(n->g, flat, op_where(n->g, peak, onnx_full(n, row, 1), zero), op_where(n->g, rises, up, zero));
  ir_ref y = op_where(n->g, falls, down, left);
  return onnx_put(n, 0, onnx_like(n, y, onnx_dtype(onnx_int(n, "output_datatype", 1))));
}

/* clang-format off */
const onnx_operator onnx_signals[] = {
    {"HannWindow", cosine_window, NULL, 0, 1, 1}, {"HammingWindow", cosine_window, NULL, 1, 1, 1},
    {"BlackmanWindow", cosine_window, NULL, 2, 1, 1}, {"DFT", fourier, NULL, 0, 1, 3},
    {"STFT", short_fourier, NULL, 0, 2, 4}, {"MelWeightMatrix", mel_weights, NULL, 0, 5, 5}, {0}};
/* clang-format on */
