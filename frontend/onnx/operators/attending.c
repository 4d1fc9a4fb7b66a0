/* Attention and rotary embeddings. */
#include <math.h>

#include "frontend/onnx/operators/bodies.h"

/* [batch, length, heads * width] as [batch, heads, length, width]; of 4 axes as it is. */
static ir_ref by_heads(onnx_node *n, ir_ref x, int64_t heads) {
  ir_ref dims[IR_MAX_RANK];
  if (!x || onnx_rank(n, x) == 4) return x;
  if (onnx_dims(n, x, dims) != 3 || heads < 1)
    return (ir_ref)onnx_refuse(
        n, "an input of %d axes, and %lld heads; takes 4 axes, or 3 and the number of heads as an attribute",
        onnx_rank(n, x), (long long)heads);
  ir_ref shape[4] = {dims[0], dims[1], ir_index(n->g, heads), pass_div_int(n->g, dims[2], heads)};
  return op_swap_axes(n->g, onnx_reshape(n, x, shape, 4), 1, 2);
}

/* Each head of the keys for several heads of the queries. */
static ir_ref repeated(onnx_node *n, ir_ref x, ir_ref heads) {
  ir_ref d[IR_MAX_RANK];
  if (!x || onnx_dims(n, x, d) != 4) return 0;
  int64_t have, want;
  if (d[1] == heads) return x;
  if (!ir_is_const(n->g, d[1], &have) || !ir_is_const(n->g, heads, &want) || have < 1 || want % have)
    return (ir_ref)onnx_refuse(
        n, "the number of heads of the queries is no multiple of that of the keys or values; takes one");
  ir_ref wide[5] = {d[0], d[1], ir_index(n->g, want / have), d[2], d[3]},
         shape[4] = {d[0], heads, d[2], d[3]};
  return onnx_reshape(n, op_expand(n->g, op_unsqueeze(n->g, x, 2), wide, 5), shape, 4);
}

static ir_ref joined(onnx_node *n, ir_ref past, ir_ref x) {
  ir_ref both[2] = {past, x};
  return past ? op_concat(n->g, both, 2, 2) : x;
}

typedef struct attention {
  ir_ref q, k, v, mask;
  ir_ref offset; /* i64: the position of the first query among the keys; of rank 0, or [batch, 1, 1, 1]; 0:
                    none */
  ir_dtype dtype;
  bool causal; /* and nothing else than the triangle is masked */
} attention;

/* A mask of fewer keys than there are has the others masked out. */
static ir_ref whole_mask(onnx_node *n, ir_ref mask, ir_ref keys) {
  int rank = mask ? onnx_rank(n, mask) : 0;
  if (rank < 1) return mask;
  ir_ref have = ir_dim(n->g, mask, (uint32_t)rank - 1), zero = ir_index(n->g, 0), pads[2 * IR_MAX_RANK];
  int64_t one;
  if (have == keys || (ir_is_const(n->g, have, &one) && one == 1)) return mask;
  for (int i = 0; i < 2 * rank; i++) pads[i] = zero;
  pads[2 * rank - 1] = pass_sub(n->g, keys, have);
  ir_dtype dtype = ir_dtype_of(n->g, mask);
  ir_ref fill = dtype == IR_BOOL ? 0 : onnx_number(n, dtype, -INFINITY);
  return op_pad(n->g, mask, pads, (size_t)rank, fill, IR_PAD_CONSTANT);
}

static ir_ref both(onnx_node *n, ir_ref a, ir_ref b) {
  return a && b ? op_binary(n->g, IR_OP_AND, a, b) : a ? a : b;
}

/* Which keys a query may attend to beside what the mask says, [.., queries, keys]; 0: all. */
static ir_ref allowed(onnx_node *n, const attention *a, ir_ref keys) {
  ir_ref shape[4] = {ir_index(n->g, 1), ir_index(n->g, 1), ir_dim(n->g, a->q, 2), keys}, may = 0;
  int64_t left = onnx_int(n, "left_window_size", -1), right = onnx_int(n, "right_window_size", -1);
  ir_ref row = op_iota(n->g, IR_I64, shape, 4, 2), column = op_iota(n->g, IR_I64, shape, 4, 3),
         real = onnx_optional(n, 6);
  if (a->offset) row = op_binary(n->g, IR_OP_ADD, row, a->offset);
  if (onnx_int(n, "is_causal", 0)) may = op_binary(n->g, IR_OP_LE, column, row);
  if (left >= 0)
    may = both(n, may, op_binary(n->g, IR_OP_GE, column, onnx_with(n, IR_OP_SUB, row, (double)left)));
  if (right >= 0)
    may = both(n, may, op_binary(n->g, IR_OP_LE, column, onnx_with(n, IR_OP_ADD, row, (double)right)));
  if (real)
    may = both(n, may, op_binary(n->g, IR_OP_LT, column, onnx_along(n, onnx_like(n, real, IR_I64), 0, 4)));
  return may;
}

/* The mask of all rules together: bool, or floats that are added; 0: none. */
static ir_ref whole_rule(onnx_node *n, const attention *a, ir_ref keys) {
  ir_ref mask = whole_mask(n, a->mask, keys), may = a->causal ? 0 : allowed(n, a, keys);
  if (!mask || !may) return mask ? mask : may;
  if (ir_dtype_of(n->g, mask) == IR_BOOL) return both(n, mask, may);
  return op_where(n->g, may, mask, onnx_number(n, ir_dtype_of(n->g, mask), -INFINITY));
}

static ir_ref capped(onnx_node *n, ir_ref scores) {
  double cap = onnx_real(n, "softcap", 0);
  if (!(cap > 0)) return scores;
  return onnx_with(n, IR_OP_MUL, op_unary(n->g, IR_OP_TANH, onnx_with(n, IR_OP_DIV, scores, cap)), cap);
}

/* Step by step, where a step is asked for or the scores have a cap. A query without keys gives zeros. */
static ir_ref stepwise(onnx_node *n, const attention *a, ir_ref rule, double scale, ir_ref stages[4]) {
  ir_ref lowest = onnx_number(n, a->dtype, -INFINITY);
  int last = -1;
  ir_ref scores = onnx_like(n, op_matmul(n->g, a->q, op_swap_axes(n->g, a->k, 2, 3)), a->dtype);
  stages[0] = onnx_with(n, IR_OP_MUL, scores, scale);
  scores = stages[1] = capped(n, stages[0]);
  if (rule && ir_dtype_of(n->g, rule) == IR_BOOL) scores = op_where(n->g, rule, scores, lowest);
  else if (rule) scores = op_binary(n->g, IR_OP_ADD, scores, onnx_like(n, rule, a->dtype));
  if (!scores) return 0;
  stages[2] = scores;
  last = onnx_rank(n, scores) - 1;
  ir_ref none = op_binary(n->g, IR_OP_EQ, onnx_reduce(n, IR_OP_REDUCE_MAX, scores, &last, 1, true), lowest);
  stages[3] = op_where(n->g, none, onnx_full(n, scores, 0), op_softmax(n->g, scores, -1));
  return onnx_like(n, op_matmul(n->g, stages[3], a->v), ir_dtype_of(n->g, a->v));
}

static ir_ref attend(onnx_node *n, attention *a, ir_ref stages[4]) {
  int64_t width = 0;
  ir_ref heads = ir_dim(n->g, a->q, 1);
  a->k = repeated(n, a->k, heads);
  a->v = repeated(n, a->v, heads);
  if (!a->k || !a->v) return 0;
  double scale = onnx_real(n, "scale", 0);
  if (scale == 0) {
    if (!ir_is_const(n->g, ir_dim(n->g, a->q, 3), &width) || width < 1)
      return (ir_ref)onnx_lacks(n, "heads of a symbolic width; takes a number there, or the attribute scale");
    scale = 1 / sqrt((double)width);
  }
  a->causal = onnx_int(n, "is_causal", 0) && !a->offset && !onnx_has(n, 6) &&
              onnx_int(n, "left_window_size", -1) < 0 && onnx_int(n, "right_window_size", -1) < 0;
  if (onnx_wants(n, 3) || onnx_real(n, "softcap", 0) > 0) a->causal = false;
  ir_ref rule = whole_rule(n, a, ir_dim(n->g, a->k, 2)), operands[4] = {a->q, a->k, a->v, rule};
  if (n->m->error->status) return 0;
  if (onnx_wants(n, 3) || onnx_real(n, "softcap", 0) > 0) return stepwise(n, a, rule, scale, stages);
  return op_attention(n->g, operands, rule ? 4 : 3, scale, a->causal);
}

static bool attention_node(onnx_node *n) {
  ir_ref q = onnx_in(n, 0), past_k = onnx_optional(n, 4), past_v = onnx_optional(n, 5), stages[4] = {0};
  attention a = {.mask = onnx_optional(n, 3)};
  if (!q || n->m->error->status) return false;
  bool flat = onnx_rank(n, q) == 3;
  int64_t heads = onnx_int(n, "q_num_heads", 0), keys = onnx_int(n, "kv_num_heads", heads);
  a.q = by_heads(n, q, heads);
  a.k = joined(n, past_k, by_heads(n, onnx_in(n, 1), keys));
  a.v = joined(n, past_v, by_heads(n, onnx_in(n, 2), keys));
  if (!a.q || !a.k || !a.v) return false;
  ir_ref present_k = a.k, present_v = a.v, real = onnx_optional(n, 6), dims[IR_MAX_RANK];
  if (past_k) a.offset = onnx_size_tensor(n, ir_dim(n->g, past_k, 2), IR_I64);
  else if (real) {
    ir_ref queries = onnx_size_tensor(n, ir_dim(n->g, a.q, 2), IR_I64);
    a.offset = onnx_along(n, op_binary(n->g, IR_OP_SUB, onnx_like(n, real, IR_I64), queries), 0, 4);
  }
  a.dtype = ir_dtype_of(n->g, a.q);
  ir_ref y = attend(n, &a, stages);
  if (!y) return false;
  if (flat) {
    onnx_dims(n, y, dims);
    ir_ref shape[3] = {dims[0], dims[2], pass_mul(n->g, dims[1], dims[3])};
    y = onnx_reshape(n, op_swap_axes(n->g, y, 1, 2), shape, 3);
  }
  int64_t mode = onnx_int(n, "qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return onnx_refuse(n, "qk_matmul_output_mode is %lld; takes 0 to 3", (long long)mode);
  return onnx_put(n, 0, y) && onnx_put(n, 1, present_k) && onnx_put(n, 2, present_v) &&
         (!onnx_wants(n, 3) || onnx_put(n, 3, stages[mode]));
}

/* The values that a graph of the node makes of others of the same shape; those as they are where it is left
 * out. */
static ir_ref modified(onnx_node *n, const char *attribute, ir_ref x) {
  onnx_body b;
  onnx_value given = {.ref = x}, *made;
  if (!x || !onnx_attribute_of(n, attribute)) return x;
  if (!onnx_body_read(n, attribute, &b)) return 0;
  if (b.input_count != 1 || b.output_count != 1)
    return (ir_ref)onnx_refuse(n, "the graph %s has %d inputs and %d outputs; takes one of each", attribute,
                               b.input_count, b.output_count);
  return onnx_body_record(&b, &given, &made) ? onnx_value_ref(n->m, made) : 0;
}

static bool flex_attention(onnx_node *n) {
  ir_ref q = onnx_in(n, 0), k = onnx_in(n, 1), v = onnx_in(n, 2);
  int64_t width = 0, precision = onnx_int(n, "softmax_precision", 0);
  if (!q || !k || !v) return false;
  if (onnx_rank(n, q) != 4 || onnx_rank(n, k) != 4 || onnx_rank(n, v) != 4)
    return onnx_refuse(n, "takes inputs of 4 axes");
  ir_dtype dtype = ir_dtype_of(n->g, q), inner = precision         ? onnx_dtype(precision)
                                                 : dtype == IR_F64 ? IR_F64
                                                                   : IR_F32;
  if (!ir_is_float(inner))
    return onnx_refuse(n, "softmax_precision is %s; takes float, double, float16 and bfloat16",
                       onnx_dtype_name(precision));
  double scale = onnx_real(n, "scale", 0);
  if (!onnx_attribute_of(n, "scale")) {
    if (!ir_is_const(n->g, ir_dim(n->g, q, 3), &width) || width < 1)
      return onnx_lacks(n, "heads of a symbolic width; takes a number there, or the attribute scale");
    scale = 1 / sqrt((double)width);
  }
  k = repeated(n, k, ir_dim(n->g, q, 1)), v = repeated(n, v, ir_dim(n->g, q, 1));
  ir_ref scores = onnx_like(n, op_matmul(n->g, q, op_swap_axes(n->g, k, 2, 3)), inner);
  scores = modified(n, "score_mod", onnx_with(n, IR_OP_MUL, scores, scale));
  ir_ref probabilities = modified(n, "prob_mod", scores ? op_softmax(n->g, scores, -1) : 0);
  if (!probabilities) return false;
  ir_ref y = op_matmul(n->g, probabilities, onnx_like(n, v, inner));
  return onnx_put(n, 0, onnx_like(n, y, dtype));
}

/* Pairs of elements rotated by angles of their position: pairs of neighbours, or of the two halves. */
static bool rotary(onnx_node *n) {
  ir_graph *g = n->g;
  ir_ref x = onnx_in(n, 0), cos = onnx_in(n, 1), sin = onnx_in(n, 2), at = onnx_optional(n, 3),
         d[IR_MAX_RANK];
  int64_t size = onnx_int(n, "rotary_embedding_dim", 0), width;
  if (!x || !cos || !sin || n->m->error->status) return false;
  bool flat = onnx_rank(n, x) == 3, pairs = onnx_int(n, "interleaved", 0) != 0;
  x = by_heads(n, x, onnx_int(n, "num_heads", 0));
  if (!x) return false;
  onnx_dims(n, x, d);
  if (!ir_is_const(g, d[3], &width)) return onnx_lacks(n, "heads of a symbolic width; takes a number there");
  if (size == 0) size = width;
  if (size < 2 || size % 2 || size > width)
    return onnx_refuse(n,
                       "rotary_embedding_dim is %lld; takes even numbers of 2 to the width of a head, %lld",
                       (long long)size, (long long)width);
  if (at) cos = op_gather(g, cos, at, 0, IR_GATHER_CHECK), sin = op_gather(g, sin, at, 0, IR_GATHER_CHECK);
  cos = op_unsqueeze(g, cos, 1), sin = op_unsqueeze(g, sin, 1); /* [batch, 1, length, size / 2] */
  ir_ref whole = ir_index(g, size), zero = ir_index(g, 0), half = ir_index(g, size / 2);
  ir_ref rotated = onnx_cut(n, x, 3, zero, whole),
         unchanged = size < width ? onnx_cut(n, x, 3, whole, d[3]) : 0, a, b;
  ir_ref shape[5] = {d[0], d[1], d[2], half, ir_index(g, 2)};
  if (pairs) {
    ir_ref split = onnx_reshape(n, rotated, shape, 5);
    a = op_point(g, split, zero, -1), b = op_point(g, split, ir_index(g, 1), -1);
  } else a = onnx_cut(n, rotated, 3, zero, half), b = onnx_cut(n, rotated, 3, half, whole);
  ir_ref parts[2] = {
      op_binary(g, IR_OP_SUB, op_binary(g, IR_OP_MUL, cos, a), op_binary(g, IR_OP_MUL, sin, b)),
      op_binary(g, IR_OP_ADD, op_binary(g, IR_OP_MUL, sin, a), op_binary(g, IR_OP_MUL, cos, b))};
  ir_ref out[4] = {d[0], d[1], d[2], whole}, y;
  y = pairs ? onnx_reshape(n, op_stack(g, parts, 2, -1), out, 4) : op_concat(g, parts, 2, 3);
  ir_ref both[2] = {y, unchanged};
  if (unchanged) y = op_concat(g, both, 2, 3);
  ir_ref back[3] = {d[0], d[2], pass_mul(g, d[1], d[3])};
  return onnx_put(n, 0, flat ? onnx_reshape(n, op_swap_axes(g, y, 1, 2), back, 3) : y);
}

const onnx_operator onnx_attending[] = {{"FlexAttention", flex_attention, NULL, 0, 3, 3},
                                        {"Attention", attention_node, NULL, 0, 3, 7},
                                        {"RotaryEmbedding", rotary, NULL, 0, 3, 4},
                                        {0}};
