/* Reductions and products. */
#include <string.h>

#include "frontend/onnx/fold.h"

/* The axes of a reduction, an attribute or an input; *none: nothing is reduced. */
static bool read_axes(onnx_node *n, ir_ref x, int axes[IR_MAX_RANK], int *count, bool *none) {
  const int64_t *given;
  int rank = x ? onnx_rank(n, x) : 0;
  if (!x || !onnx_numbers(n, "axes", 1, &given, count)) return false;
  *none = *count == 0 && onnx_int(n, "noop_with_empty_axes", 0);
  if (*count > rank)
    return onnx_refuse(n, "axes has %d entries; the input has %d axes; takes each axis at most once", *count,
                       rank);
  for (int i = 0; i < *count; i++)
    if (!onnx_wrap(n, given[i], rank, &axes[i])) return false;
  if (*count == 0) {
    *count = rank;
    for (int i = 0; i < rank; i++) axes[i] = i;
  }
  return true;
}

enum { PLAIN, MAGNITUDE, SQUARE, LOGARITHM, ROOT, EXPONENTIAL };
typedef struct reduction {
  int op, before, after;
} reduction;
static const reduction reductions[] = {{IR_OP_SUM, PLAIN, PLAIN},        {IR_OP_PROD, PLAIN, PLAIN},
                                       {IR_OP_REDUCE_MAX, PLAIN, PLAIN}, {IR_OP_REDUCE_MIN, PLAIN, PLAIN},
                                       {IR_OP_MEAN, PLAIN, PLAIN},       {IR_OP_SUM, MAGNITUDE, PLAIN},
                                       {IR_OP_SUM, SQUARE, PLAIN},       {IR_OP_SUM, SQUARE, ROOT},
                                       {IR_OP_SUM, PLAIN, LOGARITHM},    {IR_OP_SUM, EXPONENTIAL, LOGARITHM}};

static ir_ref changed(onnx_node *n, int how, ir_ref x) {
  switch (how) {
  case MAGNITUDE: return op_unary(n->g, IR_OP_ABS, x);
  case SQUARE: return op_square(n->g, x);
  case LOGARITHM: return op_unary(n->g, IR_OP_LOG, x);
  case ROOT: return op_unary(n->g, IR_OP_SQRT, x);
  default: return x;
  }
}

/* The greatest and the least of no elements: ONNX has the other end of the dtype. */
static bool is_empty(onnx_node *n, ir_ref x, const int *axes, int count) {
  int64_t size;
  for (int i = 0; i < count; i++)
    if (ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)axes[i]), &size) && size == 0) return true;
  return false;
}

static ir_ref extremum_of_none(onnx_node *n, ir_op op, ir_ref x, const int *axes, int count, bool keep) {
  static const struct {
    ir_dtype dtype;
    int64_t low, high;
  } ends[] = {{IR_BOOL, 0, 1},
              {IR_I8, INT8_MIN, INT8_MAX},
              {IR_U8, 0, UINT8_MAX},
              {IR_I32, INT32_MIN, INT32_MAX},
              {IR_I64, INT64_MIN, INT64_MAX},
              {IR_U32, 0, UINT32_MAX},
              {IR_U64, 0, -1}};
  ir_dtype dtype = ir_dtype_of(n->g, x);
  bool largest = op == IR_OP_REDUCE_MAX;
  ir_value value = {.f = largest ? -1.0 / 0.0 : 1.0 / 0.0};
  ir_ref dims[IR_MAX_RANK], shape[IR_MAX_RANK];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends[i].dtype == dtype) value.i = largest ? ends[i].low : ends[i].high;
  int rank = onnx_dims(n, x, dims), kept = 0;
  uint32_t set = 0;
  for (int i = 0; i < count; i++) set |= 1u << axes[i];
  for (int i = 0; i < rank; i++)
    if (!(set >> i & 1)) shape[kept++] = dims[i];
    else if (keep) shape[kept++] = ir_index(n->g, 1);
  return op_full(n->g, op_const(n->g, dtype, value), shape, (size_t)kept);
}

static bool reduce(onnx_node *n) {
  int axes[IR_MAX_RANK], count = 0;
  const reduction *r = NULL;
  ir_ref x = onnx_in(n, 0), list[IR_MAX_RANK];
  bool none = false, keep = onnx_int(n, "keepdims", 1) != 0;
  r = &reductions[n->row->argument];
  if (!read_axes(n, x, axes, &count, &none)) return false;
  ir_dtype dtype = ir_dtype_of(n->g, x);
  if (none) return onnx_put(n, 0, changed(n, r->after, changed(n, r->before, x)));
  if ((r->op == IR_OP_REDUCE_MAX || r->op == IR_OP_REDUCE_MIN) && is_empty(n, x, axes, count))
    return onnx_put(n, 0, extremum_of_none(n, (ir_op)r->op, x, axes, count, keep));
  for (int i = 0; i < count; i++) list[i] = ir_index(n->g, axes[i]);
  ir_ref y;
  if (r->before == EXPONENTIAL && !is_empty(n, x, axes, count))
    y = op_logsumexp(n->g, x, list, (size_t)count, keep);
  else y = changed(n, r->after, onnx_reduce(n, (ir_op)r->op, changed(n, r->before, x), axes, count, keep));
  return y && onnx_put(n, 0, onnx_like(n, y, dtype));
}

static bool fold_reduce(onnx_node *n, bool *done) {
  const reduction *r = &reductions[n->row->argument];
  onnx_operator row = *n->row;
  const onnx_operator *kept = n->row;
  if (r->before != PLAIN || r->after != PLAIN) return true;
  row.argument = r->op;
  n->row = &row;
  bool good = onnx_fold_reduce(n, done);
  n->row = kept;
  return good;
}

static bool arg(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  int axis = x ? onnx_axis(n, "axis", 0, onnx_rank(n, x)) : -1;
  int64_t along = axis;
  bool keep = onnx_int(n, "keepdims", 1) != 0, last = onnx_int(n, "select_last_index", 0) != 0;
  if (axis < 0) return false;
  ir_ref flipped = ir_index(n->g, axis);
  ir_ref at =
      op_argreduce(n->g, (ir_op)n->row->argument, last ? op_flip(n->g, x, &flipped, 1) : x, &along, keep);
  if (last) {
    ir_ref end = pass_add_int(n->g, ir_dim(n->g, x, (uint32_t)axis), -1);
    at = op_binary(n->g, IR_OP_SUB, onnx_size_tensor(n, end, IR_I64), at);
  }
  return onnx_put(n, 0, at);
}

/* 1 at the first greatest element, otherwise 0. */
static ir_ref hardmax(onnx_node *n, ir_ref x, int64_t axis) {
  ir_ref dims[IR_MAX_RANK];
  int rank = x ? onnx_dims(n, x, dims) : 0;
  ir_ref first = op_argreduce(n->g, IR_OP_ARGMAX, x, &axis, true);
  if (!first) return 0;
  ir_ref at = op_iota(n->g, IR_I64, dims, (size_t)rank, axis);
  return onnx_like(n, op_binary(n->g, IR_OP_EQ, at, first), ir_dtype_of(n->g, x));
}

/* Softmax, LogSoftmax and Hardmax: along one axis, or over all axes from that one on before operator set 13.
 */
static ir_ref distributed(onnx_node *n, ir_ref x, int64_t axis) {
  switch (n->row->argument) {
  case 0: return op_softmax(n->g, x, axis);
  case 1: return op_log_softmax(n->g, x, axis);
  default: return hardmax(n, x, axis);
  }
}
static bool along(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  if (!x) return false;
  int rank = onnx_dims(n, x, dims), axis = onnx_axis(n, "axis", n->opset >= 13 ? -1 : 1, rank);
  if (axis < 0) return false;
  if (n->opset >= 13 || axis == rank - 1) return onnx_put(n, 0, distributed(n, x, axis));
  ir_ref shape[2] = {onnx_product(n, dims, 0, axis), onnx_product(n, dims, axis, rank)};
  return onnx_put(n, 0, onnx_reshape(n, distributed(n, onnx_reshape(n, x, shape, 2), 1), dims, rank));
}

/* products */

static bool matmul(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), y = op_matmul(n->g, a, onnx_in(n, 1));
  return y && onnx_put(n, 0, onnx_like(n, y, ir_dtype_of(n->g, a)));
}

static bool gemm(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1), c = onnx_optional(n, 2);
  double alpha = onnx_real(n, "alpha", 1), beta = onnx_real(n, "beta", 1);
  if (!a || !b || n->m->error->status) return false;
  ir_dtype dtype = ir_dtype_of(n->g, a);
  if (onnx_int(n, "transA", 0)) a = op_swap_axes(n->g, a, 0, 1);
  if (onnx_int(n, "transB", 0)) b = op_swap_axes(n->g, b, 0, 1);
  ir_ref y = onnx_like(n, op_matmul(n->g, a, b), dtype);
  if (alpha != 1) y = onnx_with(n, IR_OP_MUL, y, alpha);
  if (c && beta != 1) c = onnx_with(n, IR_OP_MUL, c, beta);
  return onnx_put(n, 0, c ? op_binary(n->g, IR_OP_ADD, y, c) : y);
}

static bool einsum(onnx_node *n) {
  wire_bytes text = onnx_text(n, "equation");
  char *equation = wire_alloc(&n->m->arena, text.size + 1);
  ir_ref *x = equation ? wire_alloc(&n->m->arena, ((size_t)n->input_count + 1) * sizeof *x) : NULL;
  size_t used = 0;
  if (!x) return false;
  for (size_t i = 0; i < text.size; i++)
    if (text.at[i] != ' ') equation[used++] = (char)text.at[i];
  for (int i = 0; i < n->input_count; i++)
    if (!(x[i] = onnx_in(n, i))) return false;
  ir_ref y = op_einsum(n->g, equation, used, x, (size_t)n->input_count);
  return y && onnx_put(n, 0, onnx_like(n, y, ir_dtype_of(n->g, x[0])));
}

/* By the rule of Sarrus, of 2 by 2 and 3 by 3. */
static ir_ref entry(onnx_node *n, ir_ref x, int row, int column) {
  return op_point(n->g, op_point(n->g, x, ir_index(n->g, row), -2), ir_index(n->g, column), -1);
}
static bool determinant(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), sum = 0;
  int64_t size;
  if (!x || onnx_rank(n, x) < 2 ||
      !ir_is_const(n->g, ir_dim(n->g, x, (uint32_t)onnx_rank(n, x) - 1), &size) || size < 2 || size > 3)
    return x && onnx_lacks(n, "takes square matrices of 2 or 3 rows");
  int count = (int)size, turns = count == 2 ? 1 : 3;
  for (int sign = 0; sign < 2; sign++)
    for (int k = 0; k < turns; k++) {
      ir_ref product = 0;
      for (int i = 0; i < count; i++) {
        int column = sign ? (k - i + 2 * count + (count == 2)) % count : (k + i) % count;
        ir_ref e = entry(n, x, i, column);
        product = product ? op_binary(n->g, IR_OP_MUL, product, e) : e;
      }
      sum = sum ? op_binary(n->g, sign ? IR_OP_SUB : IR_OP_ADD, sum, product) : product;
    }
  return onnx_put(n, 0, sum);
}

/* clang-format off */
#define REDUCE(name, number) {name, reduce, fold_reduce, number, 1, 2}
const onnx_operator onnx_reducing[] = {
    REDUCE("ReduceSum", 0), REDUCE("ReduceProd", 1), REDUCE("ReduceMax", 2), REDUCE("ReduceMin", 3),
    REDUCE("ReduceMean", 4), REDUCE("ReduceL1", 5), REDUCE("ReduceSumSquare", 6), REDUCE("ReduceL2", 7),
    REDUCE("ReduceLogSum", 8), REDUCE("ReduceLogSumExp", 9),
    {"ArgMax", arg, NULL, IR_OP_ARGMAX, 1, 1}, {"ArgMin", arg, NULL, IR_OP_ARGMIN, 1, 1},
    {"Softmax", along, NULL, 0, 1, 1}, {"LogSoftmax", along, NULL, 1, 1, 1}, {"Hardmax", along, NULL, 2, 1, 1},
    {"MatMul", matmul, NULL, 0, 2, 2}, {"Gemm", gemm, NULL, 0, 2, 3}, {"Einsum", einsum, NULL, 0, 1, 255},
    {"Det", determinant, NULL, 0, 1, 1}, {0}};
/* clang-format on */
