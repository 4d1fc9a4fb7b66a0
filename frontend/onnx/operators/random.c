/* Random numbers, of the library's own generator (Threefry-2x32): those of other implementations differ. The
 * seed is the attribute's bits; without it, the number of the node. Each run of a program draws the same
 * numbers. */
#include <string.h>

#include "frontend/onnx/import.h"

static ir_ref bin(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }

/* A draw of that shape; shape: `rank` sizes. */
static op_draw draw_of(onnx_node *n, ir_dtype dtype, const ir_ref *shape, int rank) {
  const onnx_attribute *a = onnx_attribute_of(n, "seed");
  int64_t seed = a && a->type == ONNX_INT ? a->i : (int64_t)n->m->nodes;
  uint32_t bits;
  if (a && a->type != ONNX_INT) {
    memcpy(&bits, &a->f, sizeof bits);
    seed = (int64_t)bits << 32;
  }
  return (op_draw){.dtype = dtype,
                   .shape = shape,
                   .rank = (size_t)rank,
                   .seed = op_const(n->g, IR_I64, (ir_value){.i = seed})};
}

/* The attribute dtype, which is a float here. */
static ir_dtype float_dtype(onnx_node *n, ir_dtype otherwise) {
  ir_dtype dtype = onnx_attribute_of(n, "dtype") ? onnx_dtype(onnx_int(n, "dtype", 0)) : otherwise;
  if (ir_is_float(dtype)) return dtype;
  onnx_refuse(n, "random numbers of dtype %s; takes a float",
              dtype == IR_NONE ? "none" : ir_dtypes[dtype].name);
  return IR_NONE;
}

enum { UNIFORM, NORMAL };

static bool put_draw(onnx_node *n, int kind, ir_dtype dtype, const ir_ref *shape, int rank) {
  if (dtype == IR_NONE) return false;
  op_draw d = draw_of(n, dtype, shape, rank);
  if (kind == NORMAL)
    return onnx_put(n, 0, op_normal(n->g, &d, onnx_real(n, "mean", 0), onnx_real(n, "scale", 1)));
  return onnx_put(n, 0, op_uniform(n->g, &d, onnx_real(n, "low", 0), onnx_real(n, "high", 1)));
}

static bool drawn(onnx_node *n) {
  const ir_ref *shape;
  int rank;
  if (!onnx_list(n, "shape", -1, &shape, &rank)) return false;
  if (rank > IR_MAX_RANK) return onnx_lacks(n, "%d axes; takes at most %d", rank, IR_MAX_RANK);
  return put_draw(n, n->row->argument, float_dtype(n, IR_F32), shape, rank);
}

static bool drawn_like(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  if (!x) return false;
  int rank = onnx_dims(n, x, dims);
  return put_draw(n, n->row->argument, float_dtype(n, ir_dtype_of(n->g, x)), dims, rank);
}

/* From 0 to below 1, in the shape of x, as f32 or f64. */
static ir_ref uniform_like(onnx_node *n, ir_ref x, ir_dtype dtype) {
  ir_ref dims[IR_MAX_RANK];
  if (!x) return 0;
  int rank = onnx_dims(n, x, dims);
  op_draw d = draw_of(n, dtype, dims, rank);
  return op_uniform(n->g, &d, 0, 1);
}

/* 1 with the probability that the input is. */
static bool bernoulli(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  if (!x) return false;
  ir_dtype from = ir_dtype_of(n->g, x), inner = from == IR_F64 ? IR_F64 : IR_F32;
  ir_dtype to = onnx_attribute_of(n, "dtype") ? onnx_dtype(onnx_int(n, "dtype", 0)) : from;
  if (!ir_is_float(from) || to == IR_NONE)
    return onnx_refuse(n, "takes probabilities of a float dtype, and as dtype one that viewfold has");
  ir_ref set = bin(n, IR_OP_LT, uniform_like(n, x, inner), onnx_like(n, x, inner));
  return onnx_put(n, 0, onnx_like(n, set, to));
}

/* Draws of a class, whose probabilities are proportional to the exponentials of a row: the first one at which
 * the sum of the probabilities is greater than a number of 0 to 1. */
static bool multinomial(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  int64_t samples = onnx_int(n, "sample_size", 1);
  ir_dtype to = onnx_dtype(onnx_int(n, "dtype", 6));
  int last = 2;
  if (!x || onnx_dims(n, x, dims) != 2)
    return x && onnx_refuse(n, "an input of %d axes; takes 2, [batch, classes]", onnx_rank(n, x));
  if (samples < 1 || (to != IR_I32 && to != IR_I64))
    return onnx_refuse(n, "%lld samples; takes at least one, of int32 or int64", (long long)samples);
  ir_ref sums =
      op_cumulative(n->g, IR_OP_CUMSUM, op_softmax(n->g, onnx_like(n, x, IR_F32), 1), 1, false, false);
  ir_ref shape[2] = {dims[0], ir_index(n->g, samples)};
  op_draw d = draw_of(n, IR_F32, shape, 2);
  ir_ref u = op_unsqueeze(n->g, op_uniform(n->g, &d, 0, 1), 2);
  ir_ref below = onnx_like(n, bin(n, IR_OP_LE, op_unsqueeze(n->g, sums, 1), u), IR_I64);
  ir_ref at = onnx_reduce(n, IR_OP_SUM, below, &last, 1, false);
  ir_ref most = onnx_with(n, IR_OP_SUB, onnx_size_tensor(n, dims[1], IR_I64), 1); /* sums may end below 1 */
  return onnx_put(n, 0, onnx_like(n, bin(n, IR_OP_MIN, at, most), to));
}

static bool put_kept(onnx_node *n, ir_ref x, ir_ref mask) {
  if (n->opset < 10) mask = onnx_like(n, mask, ir_dtype_of(n->g, x));
  return onnx_put(n, 0, x) && onnx_put(n, 1, mask);
}

/* In inference the identity. In training elements become 0 with the probability that is the ratio, and others
 * are divided by the probability that they are not. */
static bool dropout(onnx_node *n) {
  int64_t trains = 0;
  ir_ref x = onnx_in(n, 0), dims[IR_MAX_RANK];
  if (!x || (onnx_has(n, 2) && !onnx_scalar(n, 2, "whether it trains", &trains))) return false;
  int rank = onnx_dims(n, x, dims);
  if (!trains) return put_kept(n, x, op_full(n->g, ir_bool(n->g, true), dims, (size_t)rank));
  ir_dtype dtype = ir_dtype_of(n->g, x), inner = dtype == IR_F64 ? IR_F64 : IR_F32;
  ir_ref ratio = onnx_has(n, 1) ? onnx_like(n, onnx_in(n, 1), inner) : onnx_number(n, inner, 0.5);
  if (!ratio) return false;
  if (onnx_rank(n, ratio)) ratio = onnx_reshape(n, ratio, NULL, 0);
  ir_ref mask = bin(n, IR_OP_GE, uniform_like(n, x, inner), ratio);
  ir_ref kept = bin(n, IR_OP_DIV, onnx_like(n, x, inner), bin(n, IR_OP_SUB, onnx_number(n, inner, 1), ratio));
  return put_kept(n, onnx_like(n, op_where(n->g, mask, kept, onnx_full(n, kept, 0)), dtype), mask);
}

/* clang-format off */
const onnx_operator onnx_random[] = {
    {"RandomUniform", drawn, NULL, UNIFORM, 0, 0}, {"RandomNormal", drawn, NULL, NORMAL, 0, 0},
    {"RandomUniformLike", drawn_like, NULL, UNIFORM, 1, 1}, {"RandomNormalLike", drawn_like, NULL, NORMAL, 1, 1},
    {"Bernoulli", bernoulli, NULL, 0, 1, 1}, {"Multinomial", multinomial, NULL, 0, 1, 1},
    {"Dropout", dropout, NULL, 0, 1, 3}, {0}};
/* clang-format on */
