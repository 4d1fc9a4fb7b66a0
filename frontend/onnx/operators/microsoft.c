/* Operators of the domain com.microsoft that the quantiser and the optimiser of ONNX Runtime emit.
 * Elementwise ones and pooling are those of ai.onnx, of dequantised operands, quantised. */
#include <string.h>

#include "frontend/onnx/operators/quantizing.h"
#include "frontend/onnx/operators/windows.h"

static ir_ref number_of(onnx_node *n, ir_ref x) { return onnx_of_columns(n, x); } /* of one element */

/* scale * (x - zero), from three inputs. */
static ir_ref dequantized(onnx_node *n, int input) {
  ir_ref x = onnx_in(n, input), scale = number_of(n, onnx_in(n, input + 1));
  ir_ref zero = number_of(n, onnx_zero_points(n, input + 2, onnx_optional(n, input + 2)));
  if (!x || !scale || n->m->error->status) return 0;
  ir_ref wide = onnx_like(n, x, IR_F32);
  if (zero) wide = op_binary(n->g, IR_OP_SUB, wide, onnx_like(n, zero, IR_F32));
  return op_binary(n->g, IR_OP_MUL, wide, scale);
}

/* Quantised by the scale and the zero point that these two inputs are. */
static bool put_quantized(onnx_node *n, ir_ref y, int input, ir_dtype dtype) {
  ir_ref scale = number_of(n, onnx_in(n, input)), zero = number_of(n, onnx_optional(n, input + 1));
  if (!y || !scale || n->m->error->status) return false;
  if (zero) dtype = ir_dtype_of(n->g, zero);
  return onnx_put(n, 0, onnx_saturated(n, op_binary(n->g, IR_OP_DIV, y, scale), zero, dtype));
}

/* What the operator of ai.onnx computes of these operands, with the attributes of the node. */
static ir_ref computed(onnx_node *n, const char *name, const ir_ref *x, int count, int64_t opset) {
  onnx_value in[2], out;
  onnx_value *inputs[2] = {&in[0], &in[1]}, *outputs[1] = {&out};
  onnx_node own = *n;
  memset(in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  for (int i = 0; i < count; i++) in[i].ref = x[i];
  own.inputs = inputs, own.input_count = count, own.outputs = outputs, own.output_count = 1;
  own.opset = opset;
  own.row = onnx_operator_find((wire_bytes){(const unsigned char *)name, strlen(name)});
  for (int i = 0; i < count; i++)
    if (!x[i]) return 0;
  return own.row->record(&own) ? out.ref : 0;
}

static const struct {
  const char *name;
  int operands;
} floats[] = {{"Add", 2},        {"Mul", 2},         {"Sigmoid", 1},
              {"LeakyRelu", 1},  {"AveragePool", 1}, {"GlobalAveragePool", 1},
              {"ReduceMean", 1}, {"Softmax", 1}};
enum { ADD, MUL, SIGMOID, LEAKY_RELU, AVERAGE_POOL, GLOBAL_AVERAGE_POOL, REDUCE_MEAN, SOFTMAX };

static bool in_floats(onnx_node *n) {
  int count = floats[n->row->argument].operands;
  ir_ref x[2] = {dequantized(n, 0), count > 1 ? dequantized(n, 3) : 0};
  if (n->m->error->status) return false;
  if (onnx_int(n, "channels_last", 0))
    return onnx_lacks(n, "channels_last; takes images with channels first");
  int64_t opset = onnx_int(n, "opset", n->opset);
  ir_ref y = computed(n, floats[n->row->argument].name, x, count, opset);
  return put_quantized(n, y, 3 * count, ir_dtype_of(n->g, onnx_in(n, 0)));
}

static bool join(onnx_node *n) {
  int count = (n->input_count - 2) / 3;
  ir_ref *all = wire_alloc(&n->m->arena, ((size_t)count + 1) * sizeof *all);
  if (!all) return false;
  if (n->input_count != 2 + 3 * count)
    return onnx_refuse(n, "%d inputs; takes two and three for each tensor", n->input_count);
  for (int i = 0; i < count; i++)
    if (!(all[i] = dequantized(n, 2 + 3 * i))) return false;
  ir_ref y = op_concat(n->g, all, (size_t)count, onnx_int(n, "axis", 1));
  return put_quantized(n, y, 0, ir_dtype_of(n->g, onnx_in(n, 2)));
}

static bool where(onnx_node *n) {
  ir_ref y = op_where(n->g, onnx_in(n, 0), dequantized(n, 1), dequantized(n, 4));
  return put_quantized(n, y, 7, y ? ir_dtype_of(n->g, onnx_in(n, 1)) : IR_NONE);
}

/* The bias is in the scale of the product. Without a scale of the result this is one of floats. */
static bool gemm(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 3),
         zero_a = number_of(n, onnx_zero_points(n, 2, onnx_optional(n, 2)));
  ir_ref zero_b = number_of(n, onnx_zero_points(n, 5, onnx_optional(n, 5))), bias = onnx_optional(n, 6);
  ir_ref scale_a = number_of(n, onnx_in(n, 1)), scale_b = number_of(n, onnx_in(n, 4));
  if (n->m->error->status) return false;
  bool transposes = onnx_int(n, "transB", 0) != 0;
  if (onnx_int(n, "transA", 0)) a = op_swap_axes(n->g, a, 0, 1);
  b = onnx_centred(n, b,
                   zero_b && onnx_rank(n, zero_b) ? onnx_along(n, zero_b, transposes ? 0 : 1, 2) : zero_b);
  if (transposes) b = op_swap_axes(n->g, b, 0, 1);
  ir_ref y = op_matmul(n->g, onnx_centred(n, a, zero_a), b);
  if (bias) y = op_binary(n->g, IR_OP_ADD, y, bias);
  double alpha = onnx_real(n, "alpha", 1);
  if (alpha != 1) scale_a = onnx_with(n, IR_OP_MUL, scale_a, alpha);
  if (onnx_has(n, 7)) {
    ir_ref zero = onnx_has(n, 8) ? number_of(n, onnx_in(n, 8)) : op_const(n->g, IR_U8, (ir_value){.i = 0});
    return onnx_requantized(n, y, scale_a, scale_b, number_of(n, onnx_in(n, 7)), zero);
  }
  y = op_binary(n->g, IR_OP_MUL, onnx_like(n, y, IR_F32), op_binary(n->g, IR_OP_MUL, scale_a, scale_b));
  return onnx_put(n, 0, y);
}

static bool put_product(onnx_node *n, ir_ref a, ir_ref b, ir_ref scale, ir_ref bias) {
  ir_ref y = op_binary(n->g, IR_OP_MUL, onnx_like(n, op_matmul(n->g, a, b), IR_F32), scale);
  return onnx_put(n, 0, bias ? op_binary(n->g, IR_OP_ADD, y, bias) : y);
}

static bool matmul_to_float(onnx_node *n) {
  ir_ref zero_a = onnx_of_rows(n, onnx_zero_points(n, 4, onnx_optional(n, 4))),
         zero_b = onnx_of_columns(n, onnx_zero_points(n, 5, onnx_optional(n, 5)));
  ir_ref a = onnx_centred(n, onnx_in(n, 0), zero_a), b = onnx_centred(n, onnx_in(n, 1), zero_b);
  ir_ref scale =
      op_binary(n->g, IR_OP_MUL, onnx_of_rows(n, onnx_in(n, 2)), onnx_of_columns(n, onnx_in(n, 3)));
  return put_product(n, a, b, scale, onnx_optional(n, 6));
}

static bool dynamic_matmul(onnx_node *n) {
  ir_ref scale = 0, zero = 0, a = onnx_quantized_by_range(n, onnx_in(n, 0), &scale, &zero);
  ir_ref zero_b = onnx_of_columns(n, onnx_zero_points(n, 3, onnx_optional(n, 3)));
  ir_ref b = onnx_centred(n, onnx_in(n, 1), zero_b);
  scale = op_binary(n->g, IR_OP_MUL, scale, onnx_of_columns(n, onnx_in(n, 2)));
  return put_product(n, onnx_centred(n, a, zero), b, scale, onnx_optional(n, 4));
}

/* A convolution, what is added to it, and an activation. */
static bool fused_conv(onnx_node *n) {
  ir_ref y = onnx_conv(n, onnx_in(n, 0), onnx_in(n, 1), onnx_optional(n, 2));
  if (y && onnx_has(n, 3)) y = op_binary(n->g, IR_OP_ADD, y, onnx_in(n, 3));
  const onnx_attribute *given = onnx_attribute_of(n, "activation_params");
  const float *params = given ? given->floats.items : NULL;
  size_t count = given ? given->floats.count : 0;
  if (!y) return false;
  if (!onnx_text(n, "activation").at) return onnx_put(n, 0, y);
  if (onnx_text_is(n, "activation", "Relu", "")) return onnx_put(n, 0, onnx_with(n, IR_OP_MAX, y, 0));
  if (onnx_text_is(n, "activation", "Sigmoid", "")) return onnx_put(n, 0, op_unary(n->g, IR_OP_SIGMOID, y));
  if (onnx_text_is(n, "activation", "Tanh", "")) return onnx_put(n, 0, op_unary(n->g, IR_OP_TANH, y));
  if (onnx_text_is(n, "activation", "LeakyRelu", "") && count == 1)
    return onnx_put(n, 0, op_leaky_relu(n->g, y, (double)params[0]));
  if (onnx_text_is(n, "activation", "Clip", "") && count == 2)
    return onnx_put(
        n, 0, onnx_with(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, y, (double)params[0]), (double)params[1]));
  return onnx_lacks(n,
                    "the activation '%.*s' with %zu parameters; takes Relu, Sigmoid, Tanh, LeakyRelu with "
                    "one and Clip with two",
                    WIRE_TEXT(onnx_text(n, "activation")), count);
}

/* clang-format off */
const onnx_operator onnx_microsoft[] = {
    {"QLinearAdd", in_floats, NULL, ADD, 7, 8}, {"QLinearMul", in_floats, NULL, MUL, 7, 8},
    {"QLinearSigmoid", in_floats, NULL, SIGMOID, 4, 5}, {"QLinearLeakyRelu", in_floats, NULL, LEAKY_RELU, 4, 5},
    {"QLinearAveragePool", in_floats, NULL, AVERAGE_POOL, 4, 5},
    {"QLinearGlobalAveragePool", in_floats, NULL, GLOBAL_AVERAGE_POOL, 5, 5},
    {"QLinearReduceMean", in_floats, NULL, REDUCE_MEAN, 4, 5}, {"QLinearSoftmax", in_floats, NULL, SOFTMAX, 5, 5},
    {"QLinearConcat", join, NULL, 0, 5, 255}, {"QLinearWhere", where, NULL, 0, 9, 9}, {"QGemm", gemm, NULL, 0, 6, 9},
    {"MatMulIntegerToFloat", matmul_to_float, NULL, 0, 4, 7},
    {"DynamicQuantizeMatMul", dynamic_matmul, NULL, 0, 3, 5}, {"FusedConv", fused_conv, NULL, 0, 2, 4}, {0}};
/* clang-format on */
