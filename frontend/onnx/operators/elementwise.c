/* Operators that work element by element. */
#include <math.h>

#include "frontend/onnx/fold.h"
#include "frontend/onnx/narrow.h"

static bool unary(onnx_node *n) {
  return onnx_put(n, 0, op_unary(n->g, (ir_op)n->row->argument, onnx_in(n, 0)));
}

static bool binary(onnx_node *n) {
  return onnx_put(n, 0, op_binary(n->g, (ir_op)n->row->argument, onnx_in(n, 0), onnx_in(n, 1)));
}

/* Before operator set 7 the second operand was aligned by the attributes broadcast and axis. */
static bool arithmetic(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1);
  if (n->opset < 7 && a && b && onnx_attribute_of(n, "axis")) {
    int axis = onnx_axis(n, "axis", 0, onnx_rank(n, a)), rank = onnx_rank(n, b);
    for (int behind = axis < 0 ? 0 : onnx_rank(n, a) - axis - rank; b && behind > 0; behind--, rank++)
      b = op_unsqueeze(n->g, b, rank);
  }
  return onnx_put(n, 0, op_binary(n->g, (ir_op)n->row->argument, a, b));
}

/* Any number of operands, from left to right. */
static ir_ref joined(onnx_node *n, ir_op op) {
  ir_ref all = onnx_in(n, 0);
  for (int i = 1; i < n->input_count && all; i++) all = op_binary(n->g, op, all, onnx_in(n, i));
  return all;
}
static bool variadic(onnx_node *n) { return onnx_put(n, 0, joined(n, (ir_op)n->row->argument)); }
static bool mean(onnx_node *n) {
  return onnx_put(n, 0, onnx_with(n, IR_OP_DIV, joined(n, IR_OP_ADD), n->input_count));
}
/* Folding of variadic ones: of two. */

static ir_ref is_negative(onnx_node *n, ir_ref x) { return onnx_with(n, IR_OP_LT, x, 0); }

/* Integers are divided towards zero. */
static bool divide(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1);
  if (!a || !b) return false;
  ir_dtype dtype = ir_dtype_of(n->g, a);
  if (ir_is_float(dtype)) return arithmetic(n);
  if (ir_dtypes[dtype].kind == IR_KIND_UNSIGNED) return onnx_put(n, 0, op_binary(n->g, IR_OP_FLOORDIV, a, b));
  ir_ref quotient =
      op_binary(n->g, IR_OP_FLOORDIV, op_unary(n->g, IR_OP_ABS, a), op_unary(n->g, IR_OP_ABS, b));
  ir_ref differ = op_binary(n->g, IR_OP_XOR, is_negative(n, a), is_negative(n, b));
  return onnx_put(n, 0, op_where(n->g, differ, op_unary(n->g, IR_OP_NEG, quotient), quotient));
}

/* With fmod the sign is the dividend's, otherwise the divisor's. */
static bool modulo(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), b = onnx_in(n, 1);
  if (!a || !b) return false;
  if (!onnx_int(n, "fmod", 0) || ir_dtypes[ir_dtype_of(n->g, a)].kind == IR_KIND_UNSIGNED)
    return onnx_put(n, 0, op_binary(n->g, IR_OP_MOD, a, b));
  ir_ref remainder = op_binary(n->g, IR_OP_MOD, op_unary(n->g, IR_OP_ABS, a), op_unary(n->g, IR_OP_ABS, b));
  return onnx_put(n, 0, op_where(n->g, is_negative(n, a), op_unary(n->g, IR_OP_NEG, remainder), remainder));
}

/* x^2 and x^3 of wide floats by multiplications, of which three round less than twice: pow takes forty times
 * as many operations. 0: another exponent, or one that is not known. */
static ir_ref small_power(onnx_node *n, ir_ref x, ir_ref exponent) {
  ir_dtype dtype = ir_dtype_of(n->g, x);
  if ((dtype != IR_F32 && dtype != IR_F64) || !exponent || !op_is_const(n->g, exponent)) return 0;
  ir_value value = ir_const_value(n->g, exponent);
  double e = ir_is_float(ir_dtype_of(n->g, exponent)) ? value.f : (double)value.i;
  if (e != 2 && e != 3) return 0;
  ir_ref square = op_binary(n->g, IR_OP_MUL, x, x);
  return e == 2 ? square : op_binary(n->g, IR_OP_MUL, square, x);
}

static bool power(onnx_node *n) {
  ir_ref a = onnx_in(n, 0), exponent = onnx_in(n, 1), small = a ? small_power(n, a, exponent) : 0;
  if (small) return onnx_put(n, 0, small);
  return a && onnx_put(n, 0, onnx_like(n, op_binary(n->g, IR_OP_POW, a, exponent), ir_dtype_of(n->g, a)));
}

/* Bounds are inputs, or attributes in old operator sets; either may be left out. */
static bool clip(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), low = onnx_optional(n, 1), high = onnx_optional(n, 2);
  if (!x) return false;
  if (onnx_attribute_of(n, "min")) low = onnx_number(n, ir_dtype_of(n->g, x), onnx_real(n, "min", 0));
  if (onnx_attribute_of(n, "max")) high = onnx_number(n, ir_dtype_of(n->g, x), onnx_real(n, "max", 0));
  if (low) x = op_binary(n->g, IR_OP_MAX, x, low);
  if (high) x = op_binary(n->g, IR_OP_MIN, x, high);
  return onnx_put(n, 0, x);
}

static bool where(onnx_node *n) {
  return onnx_put(n, 0, op_where(n->g, onnx_in(n, 0), onnx_in(n, 1), onnx_in(n, 2)));
}

static bool identity(onnx_node *n) {
  onnx_value *from = n->inputs[0], *to = onnx_wants(n, 0) ? n->outputs[0] : NULL;
  if (!from) return onnx_in(n, 0) != 0;
  if (to) onnx_share(to, from);
  return true;
}

/* activations */

typedef ir_ref activation(onnx_node *n, ir_ref x);

static ir_ref exp_minus_one(onnx_node *n, ir_ref x, double scale) {
  return onnx_with(n, IR_OP_MUL, op_unary(n->g, IR_OP_EXPM1, x), scale);
}
static ir_ref positive(onnx_node *n, ir_ref x) { return onnx_with(n, IR_OP_GT, x, 0); }

static bool celu(onnx_node *n) {
  double alpha = onnx_real(n, "alpha", 1);
  ir_ref x = onnx_in(n, 0), low = exp_minus_one(n, onnx_with(n, IR_OP_DIV, x, alpha), alpha);
  return onnx_put(n, 0, op_where(n->g, positive(n, x), x, low));
}

static bool selu(onnx_node *n) {
  double alpha = onnx_real(n, "alpha", 1.67326319217681884765625);
  double gamma = onnx_real(n, "gamma", 1.05070102214813232421875);
  ir_ref x = onnx_in(n, 0), y = op_where(n->g, positive(n, x), x, exp_minus_one(n, x, alpha));
  return onnx_put(n, 0, onnx_with(n, IR_OP_MUL, y, gamma));
}

static bool elu(onnx_node *n) {
  return onnx_put(n, 0, op_elu(n->g, onnx_in(n, 0), onnx_real(n, "alpha", 1)));
}
static bool leaky(onnx_node *n) {
  return onnx_put(n, 0, op_leaky_relu(n->g, onnx_in(n, 0), onnx_real(n, "alpha", (double)0.01f)));
}
/* Exporters before operator set 9 give a slope for each channel as a list. */
static bool prelu(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), slope = onnx_in(n, 1);
  if (!x || !slope) return false;
  int rank = onnx_rank(n, x);
  bool channels = n->opset < 9 && rank > 1 && onnx_rank(n, slope) == 1;
  if (channels && ir_dim(n->g, slope, 0) == ir_dim(n->g, x, 1)) slope = onnx_along(n, slope, 1, rank);
  return onnx_put(n, 0, op_where(n->g, is_negative(n, x), op_binary(n->g, IR_OP_MUL, x, slope), x));
}

static bool thresholded(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), above = onnx_with(n, IR_OP_GT, x, onnx_real(n, "alpha", 1));
  return onnx_put(n, 0, op_where(n->g, above, x, onnx_full(n, x, 0)));
}

static ir_ref hard(onnx_node *n, ir_ref x, double alpha, double beta) {
  ir_ref line = onnx_with(n, IR_OP_ADD, onnx_with(n, IR_OP_MUL, x, alpha), beta);
  return onnx_with(n, IR_OP_MIN, onnx_with(n, IR_OP_MAX, line, 0), 1);
}
static bool hard_sigmoid(onnx_node *n) {
  return onnx_put(n, 0,
                  hard(n, onnx_in(n, 0), onnx_real(n, "alpha", (double)0.2f), onnx_real(n, "beta", 0.5)));
}
static bool hard_swish(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  return onnx_put(n, 0, op_binary(n->g, IR_OP_MUL, x, hard(n, x, 1.0 / 6, 0.5)));
}

static bool shrink(onnx_node *n) {
  double bound = onnx_real(n, "lambd", 0.5), bias = onnx_real(n, "bias", 0);
  ir_ref x = onnx_in(n, 0);
  if (!x) return false;
  ir_ref high =
      op_where(n->g, onnx_with(n, IR_OP_GT, x, bound), onnx_with(n, IR_OP_SUB, x, bias), onnx_full(n, x, 0));
  return onnx_put(n, 0,
                  op_where(n->g, onnx_with(n, IR_OP_LT, x, -bound), onnx_with(n, IR_OP_ADD, x, bias), high));
}

static bool composed(onnx_node *n) {
  static ir_ref (*const builders[])(ir_graph *, ir_ref) = {op_softplus, op_reciprocal, op_sign, op_square};
  return onnx_put(n, 0, builders[n->row->argument](n->g, onnx_in(n, 0)));
}

static bool softsign(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), down = onnx_with(n, IR_OP_ADD, op_unary(n->g, IR_OP_ABS, x), 1);
  return onnx_put(n, 0, op_binary(n->g, IR_OP_DIV, x, down));
}

static bool mish(onnx_node *n) {
  ir_ref x = onnx_in(n, 0), soft = op_unary(n->g, IR_OP_TANH, op_softplus(n->g, x));
  return onnx_put(n, 0, op_binary(n->g, IR_OP_MUL, x, soft));
}

static ir_ref swished(onnx_node *n, ir_ref x) {
  ir_ref scaled = onnx_with(n, IR_OP_MUL, x, onnx_real(n, "alpha", 1));
  return op_binary(n->g, IR_OP_MUL, x, op_unary(n->g, IR_OP_SIGMOID, scaled));
}
static bool swish(onnx_node *n) { return onnx_put(n, 0, swished(n, onnx_in(n, 0))); }
static bool swiglu(onnx_node *n) {
  return onnx_put(n, 0, op_binary(n->g, IR_OP_MUL, swished(n, onnx_in(n, 0)), onnx_in(n, 1)));
}

static bool gelu(onnx_node *n) {
  return onnx_put(n, 0, op_gelu(n->g, onnx_in(n, 0), onnx_text_is(n, "approximate", "tanh", "none")));
}

/* tests and bits */

static bool is_nan(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  return onnx_put(n, 0, op_binary(n->g, IR_OP_NE, x, x));
}

static bool is_inf(onnx_node *n) {
  ir_ref x = onnx_in(n, 0);
  bool up = onnx_int(n, "detect_positive", 1) != 0, down = onnx_int(n, "detect_negative", 1) != 0;
  if (!x) return false;
  ir_ref high = onnx_with(n, IR_OP_EQ, x, INFINITY), low = onnx_with(n, IR_OP_EQ, x, -INFINITY);
  ir_ref dims[IR_MAX_RANK];
  int rank = onnx_dims(n, x, dims);
  if (up && down) return onnx_put(n, 0, op_binary(n->g, IR_OP_OR, high, low));
  return onnx_put(n, 0, up ? high : down ? low : onnx_zeros(n, IR_BOOL, dims, rank));
}

static bool shifted(onnx_node *n) {
  ir_op op = onnx_text_is(n, "direction", "LEFT", "") ? IR_OP_SHL : IR_OP_SHR;
  ir_ref x = onnx_in(n, 0), by = onnx_in(n, 1);
  if (!x || !by) return false;
  if (ir_dtypes[ir_dtype_of(n->g, by)].kind == IR_KIND_SIGNED) /* a negative count shifts everything out */
    by = op_where(n->g, is_negative(n, by), onnx_full(n, by, 64), by);
  return onnx_put(n, 0, op_binary(n->g, op, x, by));
}

/* A float becomes an integer through a wider one where ONNX leaves open what happens out of range. */
static bool cast_to(onnx_node *n, int64_t number) {
  ir_dtype dtype = onnx_dtype(number);
  if (onnx_narrow_of(number)) {
    ir_ref code = onnx_narrowed(n, onnx_wide_in(n, 0), number, onnx_int(n, "saturate", 1) != 0);
    return onnx_put_narrow(n, 0, code, number);
  }
  if (dtype == IR_NONE)
    return onnx_lacks(n, "dtype %s; takes bool, integers of 2 to 64 bits and floats of 4 to 64",
                      onnx_dtype_name(number));
  return onnx_put(n, 0, onnx_widened(n, onnx_in(n, 0), onnx_narrow_in(n, 0), dtype));
}
static bool cast(onnx_node *n) { return cast_to(n, onnx_int(n, "to", 0)); }
static bool fold_cast(onnx_node *n, bool *done) {
  return onnx_fold_cast_to(n, onnx_dtype(onnx_int(n, "to", 0)), done);
}
static bool cast_like(onnx_node *n) {
  ir_ref like = onnx_in(n, 1);
  if (!like || onnx_narrow_in(n, 1)) return like && cast_to(n, onnx_narrow_in(n, 1));
  return onnx_put(n, 0, onnx_widened(n, onnx_in(n, 0), onnx_narrow_in(n, 0), ir_dtype_of(n->g, like)));
}
static bool bit_cast(onnx_node *n) {
  ir_dtype dtype = onnx_dtype(onnx_int(n, "to", 0));
  if (dtype == IR_NONE)
    return onnx_lacks(n, "dtype %s; takes bool, integers of 8 to 64 bits and floats of 16 to 64",
                      onnx_dtype_name(onnx_int(n, "to", 0)));
  return onnx_put(n, 0, op_bitcast(n->g, onnx_in(n, 0), dtype));
}

/* clang-format off */
#define UNARY(name, op) {name, unary, onnx_fold_unary, IR_OP_##op, 1, 1}
#define BINARY(name, op) {name, binary, onnx_fold_binary, IR_OP_##op, 2, 2}
const onnx_operator onnx_elementwise[] = {
    UNARY("Abs", ABS), UNARY("Neg", NEG), UNARY("Sqrt", SQRT), UNARY("Exp", EXP), UNARY("Log", LOG),
    UNARY("Sin", SIN), UNARY("Cos", COS), UNARY("Tan", TAN), UNARY("Asin", ASIN), UNARY("Acos", ACOS),
    UNARY("Atan", ATAN), UNARY("Sinh", SINH), UNARY("Cosh", COSH), UNARY("Tanh", TANH),
    UNARY("Asinh", ASINH), UNARY("Acosh", ACOSH), UNARY("Atanh", ATANH), UNARY("Erf", ERF),
    UNARY("Sigmoid", SIGMOID), UNARY("Relu", RELU), UNARY("Floor", FLOOR), UNARY("Ceil", CEIL),
    UNARY("Round", ROUND), UNARY("Not", NOT), UNARY("BitwiseNot", NOT),
    {"Add", arithmetic, onnx_fold_binary, IR_OP_ADD, 2, 2},
    {"Sub", arithmetic, onnx_fold_binary, IR_OP_SUB, 2, 2},
    {"Mul", arithmetic, onnx_fold_binary, IR_OP_MUL, 2, 2},
    {"Div", divide, onnx_fold_binary, IR_OP_DIV, 2, 2},
    {"Mod", modulo, onnx_fold_binary, IR_OP_MOD, 2, 2},
    {"Pow", power, onnx_fold_binary, IR_OP_POW, 2, 2},
    BINARY("Equal", EQ), BINARY("Less", LT), BINARY("LessOrEqual", LE), BINARY("Greater", GT),
    BINARY("GreaterOrEqual", GE), BINARY("And", AND), BINARY("Or", OR), BINARY("Xor", XOR),
    BINARY("BitwiseAnd", AND), BINARY("BitwiseOr", OR), BINARY("BitwiseXor", XOR),
    {"BitShift", shifted, NULL, 0, 2, 2},
    {"Max", variadic, onnx_fold_binary, IR_OP_MAX, 1, 255},
    {"Min", variadic, onnx_fold_binary, IR_OP_MIN, 1, 255},
    {"Sum", variadic, onnx_fold_binary, IR_OP_ADD, 1, 255}, {"Mean", mean, NULL, 0, 1, 255},
    {"Where", where, onnx_fold_where, 0, 3, 3}, {"Identity", identity, NULL, 0, 1, 1},
    {"Cast", cast, fold_cast, 0, 1, 1}, {"CastLike", cast_like, NULL, 0, 2, 2},
    {"BitCast", bit_cast, NULL, 0, 1, 1},
    {"Clip", clip, NULL, 0, 1, 3}, {"Celu", celu, NULL, 0, 1, 1}, {"Selu", selu, NULL, 0, 1, 1},
    {"Elu", elu, NULL, 0, 1, 1}, {"LeakyRelu", leaky, NULL, 0, 1, 1}, {"PRelu", prelu, NULL, 0, 2, 2},
    {"ThresholdedRelu", thresholded, NULL, 0, 1, 1}, {"HardSigmoid", hard_sigmoid, NULL, 0, 1, 1},
    {"HardSwish", hard_swish, NULL, 0, 1, 1}, {"Shrink", shrink, NULL, 0, 1, 1},
    {"Softplus", composed, NULL, 0, 1, 1}, {"Reciprocal", composed, NULL, 1, 1, 1},
    {"Sign", composed, NULL, 2, 1, 1}, {"Softsign", softsign, NULL, 0, 1, 1},
    {"Mish", mish, NULL, 0, 1, 1}, {"Swish", swish, NULL, 0, 1, 1}, {"SwiGLU", swiglu, NULL, 0, 2, 2}, {"Gelu", gelu, NULL, 0, 1, 1},
    {"IsNaN", is_nan, NULL, 0, 1, 1}, {"IsInf", is_inf, NULL, 0, 1, 1}, {0}};
/* clang-format on */
