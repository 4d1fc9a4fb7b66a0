/* Operators of the domain com.microsoft that ONNX Runtime's optimiser makes of the layers of transformers. */
#include <math.h>

#include "frontend/onnx/import.h"

static ir_ref sum(onnx_node *n, ir_ref x, ir_ref y) { return x && y ? op_binary(n->g, IR_OP_ADD, x, y) : x; }

/* What is normalised: x, and what is added to it before. The sum is output 3. */
static bool skip_norm(onnx_node *n) {
  bool rms = n->row->argument != 0;
  ir_ref x = op_binary(n->g, IR_OP_ADD, onnx_in(n, 0), onnx_in(n, 1)), gamma = onnx_in(n, 2);
  ir_ref beta = rms ? 0 : onnx_optional(n, 3);
  x = sum(n, x, onnx_optional(n, rms ? 3 : 4));
  double eps = onnx_real(n, "epsilon", (double)1e-12f);
  if (!x || !gamma || n->m->error->status) return false;
  if (onnx_wants(n, 1) || onnx_wants(n, 2))
    return onnx_lacks(n, "its mean and deviation as results; takes the norm and the sum");
  ir_ref all[3] = {x, gamma, beta};
  return onnx_put(n, 0,
                  rms ? op_rms_norm(n->g, all, 2, -1, eps)
                      : op_layer_norm(n->g, all, beta ? 3 : 2, -1, eps)) &&
         (!onnx_wants(n, 3) || onnx_put(n, 3, x));
}

/* Of the input, with a bias where there is one. */
static bool gelu(onnx_node *n) {
  ir_ref x = sum(n, onnx_in(n, 0), onnx_optional(n, 1));
  return x && onnx_put(n, 0, op_unary(n->g, (ir_op)n->row->argument, x));
}

static bool quick_gelu(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  if (!x) return false;
  ir_ref gate = onnx_with(n, IR_OP_MUL, x, onnx_real(n, "alpha", (double)1.702f));
  return onnx_put(n, 0, op_binary(n->g, IR_OP_MUL, x, op_unary(n->g, IR_OP_SIGMOID, gate)));
}

static bool fused_matmul(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1);
  if (!a || !b) return false;
  if (onnx_int(n, "transBatchA", 0) || onnx_int(n, "transBatchB", 0))
    return onnx_lacks(n, "operands with transposed batches; takes transA and transB");
  if (onnx_int(n, "transA", 0) && onnx_rank(n, a) > 1) a = op_swap_axes(n->g, a, -2, -1);
  if (onnx_int(n, "transB", 0) && onnx_rank(n, b) > 1) b = op_swap_axes(n->g, b, -2, -1);
  double alpha = onnx_real(n, "alpha", 1);
  ir_ref y = op_matmul(n->g, a, b);
  return onnx_put(n, 0, alpha == 1 ? y : onnx_with(n, IR_OP_MUL, y, alpha));
}

/* The sum of up to three rows of tables for each place, normalised. */
static bool embed_norm(onnx_node *n) {
  ir_ref ids = onnx_in(n, 0), segments = onnx_optional(n, 1), words = onnx_in(n, 2), places = onnx_in(n, 3),
         table = onnx_optional(n, 4), gamma = onnx_in(n, 5), beta = onnx_in(n, 6), mask = onnx_optional(n, 7),
         at = onnx_optional(n, 8), dims[IR_MAX_RANK], bounds[4];
  if (!ids || !words || !places || !gamma || !beta || n->m->error->status) return false;
  if (onnx_dims(n, ids, dims) != 2) return onnx_refuse(n, "ids of %d axes; takes two", onnx_rank(n, ids));
  ir_ref x = op_gather(n->g, words, ids, 0, IR_GATHER_CHECK), zero = ir_index(n->g, 0);
  bounds[0] = bounds[2] = zero, bounds[1] = dims[1], bounds[3] = ir_dim(n->g, places, 1);
  x = sum(n, x, at ? op_gather(n->g, places, at, 0, IR_GATHER_CHECK) : op_shrink(n->g, places, bounds, 2));
  if (segments && table) x = sum(n, x, op_gather(n->g, table, segments, 0, IR_GATHER_CHECK));
  ir_ref all[3] = {x, gamma, beta};
  int last = 1;
  ir_ref count = mask ? onnx_reduce(n, IR_OP_SUM, onnx_like(n, mask, IR_I32), &last, 1, false)
                      : onnx_zeros(n, IR_I32, dims, 1);
  return onnx_put(n, 0, op_layer_norm(n->g, all, 3, -1, onnx_real(n, "epsilon", (double)1e-12f))) &&
         (!onnx_wants(n, 1) || onnx_put(n, 1, onnx_like(n, count, IR_I32))) &&
         (!onnx_wants(n, 2) || onnx_put(n, 2, x));
}

/* Part k of three of the last axis, [batch, heads, length, width]. */
static ir_ref third(onnx_node *n, ir_ref x, int k, int64_t heads) {
  ir_ref dims[IR_MAX_RANK], bounds[6], zero = ir_index(n->g, 0);
  onnx_dims(n, x, dims);
  ir_ref size = pass_div_int(n->g, dims[2], 3),
         shape[4] = {dims[0], dims[1], ir_index(n->g, heads), pass_div_int(n->g, size, heads)};
  for (int i = 0; i < 2; i++) bounds[2 * i] = zero, bounds[2 * i + 1] = dims[i];
  bounds[4] = pass_mul_int(n->g, size, k), bounds[5] = pass_mul_int(n->g, size, k + 1);
  return op_swap_axes(n->g, onnx_reshape(n, op_shrink(n->g, x, bounds, 3), shape, 4), 1, 2);
}

/* Queries, keys and values are thirds of one product. A mask of [batch, keys] has ones for keys that count.
 */
static bool attention(onnx_node *n) {
  int64_t heads = onnx_int(n, "num_heads", 0), size, width;
  ir_ref x = onnx_in(n, 0), w = onnx_in(n, 1), mask = onnx_optional(n, 3), dims[IR_MAX_RANK];
  bool causal = onnx_int(n, "unidirectional", 0) != 0;
  if (!x || !w || n->m->error->status) return false;
  if (onnx_rank(n, x) != 3 || onnx_rank(n, w) != 2 || heads < 1 ||
      !ir_is_const(n->g, ir_dim(n->g, w, 1), &size) || size % (3 * heads))
    return onnx_refuse(
        n,
        "an input of %d axes and %lld heads; takes [batch, length, width], weights of three times "
        "the width, a multiple of the heads",
        onnx_rank(n, x), (long long)heads);
  if (onnx_has(n, 4) || onnx_has(n, 5) || onnx_wants(n, 1) || onnx_attribute_of(n, "qkv_hidden_sizes") ||
      onnx_int(n, "do_rotary", 0) || (mask && onnx_rank(n, mask) != 2))
    return onnx_lacks(n,
                      "a past, a bias of scores, sizes of each part, rotary embeddings or a mask that is not "
                      "[batch, keys]; takes inputs, weights, their bias and such a mask");
  width = size / 3 / heads;
  ir_ref all = sum(n, op_matmul(n->g, x, w), onnx_optional(n, 2));
  if (!all) return false;
  ir_ref operands[4] = {third(n, all, 0, heads), third(n, all, 1, heads), third(n, all, 2, heads), 0};
  if (mask) {
    double lowest = onnx_real(n, "mask_filter_value", -10000);
    ir_dtype dtype = ir_dtype_of(n->g, x);
    ir_ref keep = onnx_with(n, IR_OP_NE, mask, 0);
    keep = op_unsqueeze(n->g, op_unsqueeze(n->g, keep, 1), 1);
    operands[3] = op_where(n->g, keep, onnx_number(n, dtype, 0), onnx_number(n, dtype, lowest));
  }
  double scale = onnx_real(n, "scale", 0);
  ir_ref y = op_attention(n->g, operands, mask ? 4 : 3, scale != 0 ? scale : 1 / sqrt((double)width), causal);
  if (!y) return false;
  onnx_dims(n, y, dims);
  ir_ref shape[3] = {dims[0], dims[2], pass_mul(n->g, dims[1], dims[3])};
  return onnx_put(n, 0, onnx_reshape(n, op_swap_axes(n->g, y, 1, 2), shape, 3));
}

/* clang-format off */
const onnx_operator onnx_transformers[] = {
    {"SkipLayerNormalization", skip_norm, NULL, 0, 3, 5}, {"SkipSimplifiedLayerNormalization", skip_norm, NULL, 1, 3, 4},
    {"BiasGelu", gelu, NULL, IR_OP_GELU, 2, 2}, {"Gelu", gelu, NULL, IR_OP_GELU, 1, 1},
    {"FastGelu", gelu, NULL, IR_OP_GELU_TANH, 1, 2}, {"QuickGelu", quick_gelu, NULL, 0, 1, 1},
    {"FusedMatMul", fused_matmul, NULL, 0, 2, 2}, {"EmbedLayerNormalization", embed_norm, NULL, 0, 7, 9},
    {"Attention", attention, NULL, 0, 2, 7}, {0}};
/* clang-format on */
