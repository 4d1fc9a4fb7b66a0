/* Operators that carry a state from one call to the next: CausalConvWithState and LinearAttention. */
#include <math.h>

#include "frontend/onnx/import.h"

static ir_ref bin(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }

/* A convolution of each channel for itself, of windows that end at each element; the state has the elements
 * before the first. */
static bool causal_conv(onnx_node *n) {
  ir_graph *g = n->g;
  ir_ref x = onnx_in(n, 0), weight = onnx_in(n, 1), bias = onnx_optional(n, 2), past = onnx_optional(n, 3),
         d[IR_MAX_RANK], w[IR_MAX_RANK];
  int64_t extent, channels;
  if (!x || !weight || n->m->error->status) return false;
  if (onnx_dims(n, x, d) != 3 || onnx_dims(n, weight, w) != 3)
    return onnx_refuse(n, "takes inputs of 3 axes");
  if (!ir_is_const(g, w[0], &channels) || !ir_is_const(g, w[2], &extent) || extent < 1)
    return onnx_lacks(n, "weights of a symbolic size; takes numbers there");
  if (!past) {
    ir_ref shape[3] = {d[0], d[1], ir_index(g, extent - 1)};
    past = onnx_zeros(n, ir_dtype_of(g, x), shape, 3);
  }
  ir_ref both[2] = {past, x}, whole = extent > 1 ? op_concat(g, both, 2, 2) : x,
         operands[3] = {whole, weight, bias};
  op_window window = {.extent = extent, .stride = 1, .dilation = 1};
  ir_ref y = onnx_like(n, op_conv(g, operands, bias ? 3 : 2, &window, 1, channels), ir_dtype_of(g, x));
  if (onnx_text_is(n, "activation", "silu", "none") || onnx_text_is(n, "activation", "swish", "none"))
    y = op_silu(g, y);
  else if (!onnx_text_is(n, "activation", "none", "none"))
    return onnx_refuse(n, "the activation '%.*s'; takes none, silu and swish",
                       WIRE_TEXT(onnx_text(n, "activation")));
  ir_ref end = whole ? ir_dim(g, whole, 2) : 0;
  return onnx_put(n, 0, y) && onnx_put(n, 1, onnx_cut(n, whole, 2, d[2], end));
}

/* LinearAttention */

typedef struct recurrence {
  onnx_node *n;
  bool gated, corrected;
  double scale;
  ir_dtype inner;
} recurrence;

/* One time step. arguments: the state S [batch, heads, keys, values]; q [batch, heads, group, keys], k
 * [batch, heads, 1, keys], v [batch, heads, 1, values], and as far as the rule has them g [batch, heads, 1 or
 * keys, 1] and b [batch, heads or 1, 1, 1]: S' = exp(g) S + k^T (v or b (v - k exp(g) S)), y = scale q S'. */
static void step(void *user, const vf_value *arguments, vf_value *results) {
  const recurrence *r = user;
  onnx_node *n = r->n;
  ir_ref state = arguments[0].id, q = arguments[1].id, k = arguments[2].id, v = arguments[3].id;
  if (r->gated) state = bin(n, IR_OP_MUL, state, op_unary(n->g, IR_OP_EXP, arguments[4].id));
  if (r->corrected)
    v = bin(n, IR_OP_MUL, arguments[4 + r->gated].id, bin(n, IR_OP_SUB, v, op_matmul(n->g, k, state)));
  state = bin(n, IR_OP_ADD, state, bin(n, IR_OP_MUL, op_swap_axes(n->g, k, 2, 3), v));
  ir_ref y = onnx_with(n, IR_OP_MUL, op_matmul(n->g, q, state), r->scale);
  results[0] = (vf_value){n->m->graph, state, n->m->graph->epoch};
  results[1] = (vf_value){n->m->graph, y, n->m->graph->epoch};
}

/* [batch, time, heads * width] as [time, batch, heads, rows, columns], of which one of the last two is -1:
 * whatever is left. */
static vf_value by_time(const recurrence *r, ir_ref x, int64_t heads, int64_t rows, int64_t columns) {
  onnx_node *n = r->n;
  ir_ref d[IR_MAX_RANK];
  if (!x || n->m->error->status) return (vf_value){0};
  if (onnx_dims(n, x, d) != 3) {
    onnx_refuse(n, "an input of %d axes; takes 3", onnx_rank(n, x));
    return (vf_value){0};
  }
  ir_ref shape[5] = {d[0], d[1], ir_index(n->g, heads), ir_index(n->g, rows), ir_index(n->g, columns)};
  x = op_swap_axes(n->g, onnx_reshape(n, onnx_like(n, x, r->inner), shape, 5), 0, 1);
  return (vf_value){n->m->graph, x, n->m->graph->epoch};
}

static bool read_rule(onnx_node *n, recurrence *r) {
  static const struct {
    const char *name;
    bool gated, corrected;
  } rules[] = {
      {"linear", false, false}, {"gated", true, false}, {"delta", false, true}, {"gated_delta", true, true}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (onnx_text_is(n, "update_rule", rules[i].name, "gated_delta")) {
      r->gated = rules[i].gated, r->corrected = rules[i].corrected;
      return (onnx_has(n, 4) == r->gated && onnx_has(n, 5) == r->corrected) ||
             onnx_refuse(n, "the rule '%s' takes %s decay (input 4) and %s beta (input 5)", rules[i].name,
                         r->gated ? "a" : "no", r->corrected ? "a" : "no");
    }
  return onnx_refuse(n, "the rule '%.*s'; takes linear, gated, delta and gated_delta",
                     WIRE_TEXT(onnx_text(n, "update_rule")));
}

static bool linear_attention(onnx_node *n) {
  ir_graph *g = n->g;
  ir_ref q = onnx_in(n, 0), v = onnx_in(n, 2), past = onnx_optional(n, 3), beta = onnx_optional(n, 5),
         d[IR_MAX_RANK];
  int64_t heads = onnx_int(n, "kv_num_heads", 0), all = onnx_int(n, "q_num_heads", 0), width, one;
  recurrence r = {.n = n, .scale = onnx_real(n, "scale", 0)};
  if (!q || !v || n->m->error->status || !read_rule(n, &r)) return false;
  if (heads < 1 || all < 1 || all % heads)
    return onnx_refuse(
        n, "q_num_heads is %lld, and kv_num_heads %lld; takes a multiple of the second, which is at least 1",
        (long long)all, (long long)heads);
  ir_dtype dtype = ir_dtype_of(g, q), kept = past ? ir_dtype_of(g, past) : dtype;
  r.inner = dtype == IR_F64 ? IR_F64 : IR_F32;
  if (onnx_rank(n, q) != 3 || onnx_rank(n, v) != 3 || !ir_is_const(g, ir_dim(g, q, 2), &width) || width < all)
    return onnx_refuse(n, "takes queries and values of 3 axes, the queries with a known last size of at "
                          "least one for each head");
  width /= all;
  if (r.scale == 0) r.scale = 1 / sqrt((double)width);
  vf_value xs[5] = {by_time(&r, q, heads, all / heads, -1), by_time(&r, onnx_in(n, 1), heads, 1, -1),
                    by_time(&r, v, heads, 1, -1)};
  int count = 3;
  if (r.gated) xs[count++] = by_time(&r, onnx_in(n, 4), heads, -1, 1);
  bool shared = beta && onnx_rank(n, beta) == 3 && ir_is_const(g, ir_dim(g, beta, 2), &one) && one == 1;
  if (r.corrected) xs[count++] = by_time(&r, beta, shared ? 1 : heads, 1, -1);
  onnx_dims(n, v, d);
  ir_ref shape[4] = {d[0], ir_index(g, heads), ir_index(g, width), pass_div_int(g, d[2], heads)};
  ir_ref first = past ? onnx_like(n, past, r.inner) : onnx_zeros(n, r.inner, shape, 4);
  if (!first || n->m->error->status) return false;
  vf_value init = {n->m->graph, first, n->m->graph->epoch}, last, ys;
  vf_scan(step, &r, 1, &init, count, xs, 1, -1, false, &last, &ys);
  if (n->m->error->status) return false;
  /* [time, batch, heads, group, values] as [batch, time, everything] */
  ir_ref flat[3] = {d[0], d[1], pass_mul_int(g, shape[3], all)};
  ir_ref y = onnx_reshape(n, op_swap_axes(g, ys.id, 0, 1), flat, 3);
  return onnx_put(n, 0, onnx_like(n, y, dtype)) && onnx_put(n, 1, onnx_like(n, last.id, kept));
}

const onnx_operator onnx_states[] = {{"CausalConvWithState", causal_conv, NULL, 0, 2, 4},
                                     {"LinearAttention", linear_attention, NULL, 0, 3, 6},
                                     {0}};
