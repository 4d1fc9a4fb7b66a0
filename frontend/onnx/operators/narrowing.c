/* Casts from and to types that are storage. */
#include <math.h>

#include "frontend/onnx/narrow.h"

static ir_ref bin(onnx_node *n, ir_op op, ir_ref a, ir_ref b) { return op_binary(n->g, op, a, b); }

/* The number that the bits stand for. */
static double value_of(const onnx_narrow *t, int code) {
  int sign = t->has_sign && code >> (t->bits - 1),
      magnitude = sign ? code & ((1 << (t->bits - 1)) - 1) : code;
  int exponent = magnitude >> t->mantissa, fraction = magnitude & ((1 << t->mantissa) - 1);
  if (magnitude > t->most || (t->one_zero && code == t->nan)) {
    bool infinite = t->infinity != t->nan && magnitude == t->infinity;
    return infinite ? (sign ? -INFINITY : INFINITY) : NAN;
  }
  double value = exponent || !t->has_sign ? ldexp(1 + ldexp(fraction, -t->mantissa), exponent - t->bias)
                                          : ldexp(fraction, 1 - t->bias - t->mantissa);
  return sign ? -value : value;
}

/* The values of all codes. */
static ir_ref value_table(onnx_node *n, const onnx_narrow *t) {
  float values[256];
  int64_t count = (int64_t)1 << t->bits;
  for (int code = 0; code < count; code++) values[code] = (float)value_of(t, code);
  return onnx_data(n->m, IR_F32, 1, &count, values);
}

ir_ref onnx_widened(onnx_node *n, ir_ref x, int64_t from, ir_dtype to) {
  const onnx_narrow *t = onnx_narrow_of(from);
  if (!t || !x) return x ? onnx_like(n, x, to) : 0;
  if (!t->is_float) return onnx_like(n, x, to);
  return onnx_like(n, op_gather(n->g, value_table(n, t), x, 0, IR_GATHER_CHECK), to);
}

ir_ref onnx_wide_in(onnx_node *n, int input) {
  int64_t type = onnx_narrow_in(n, input);
  ir_ref x = onnx_in(n, input);
  return type ? onnx_widened(n, x, type, IR_F32) : x;
}

bool onnx_put_narrow(onnx_node *n, int output, ir_ref value, int64_t type) {
  if (value && onnx_wants(n, output)) n->outputs[output]->narrow = type;
  return onnx_put(n, output, value);
}

/* to floats */

static ir_ref word(onnx_node *n, uint32_t value) { return op_const(n->g, IR_U32, (ir_value){.i = value}); }

/* As f32, for what is rounded once more. An f64 between two floats becomes the one whose last bit is 1, so
 * that it stays on its side of every middle between two narrower numbers. */
static ir_ref as_single(onnx_node *n, ir_ref x) {
  if (!x || ir_dtype_of(n->g, x) != IR_F64) return onnx_like(n, x, IR_F32);
  ir_ref y = op_cast(n->g, x, IR_F32), back = op_cast(n->g, y, IR_F64), bits = op_bitcast(n->g, y, IR_U32);
  ir_ref even = bin(n, IR_OP_EQ, bin(n, IR_OP_AND, bits, word(n, 1)), word(n, 0));
  ir_ref differs = bin(n, IR_OP_AND, bin(n, IR_OP_NE, back, x), bin(n, IR_OP_EQ, x, x));
  ir_ref beyond = bin(n, IR_OP_GT, op_unary(n->g, IR_OP_ABS, back), op_unary(n->g, IR_OP_ABS, x));
  ir_ref odd =
      op_where(n->g, beyond, bin(n, IR_OP_SUB, bits, word(n, 1)), bin(n, IR_OP_ADD, bits, word(n, 1)));
  return op_bitcast(n->g, op_where(n->g, bin(n, IR_OP_AND, even, differs), odd, bits), IR_F32);
}

/* Exponents alone: rounded up, down or to nearest. x: f32, not negative. */
static ir_ref exponent_code(onnx_node *n, ir_ref x, bool saturate) {
  ir_ref bits = op_bitcast(n->g, x, IR_U32), fraction = bin(n, IR_OP_AND, bits, word(n, 0x7fffff));
  ir_ref code = bin(n, IR_OP_SHR, bits, word(n, 23)), half = word(n, 0x400000), more;
  if (onnx_text_is(n, "round_mode", "up", "up")) more = bin(n, IR_OP_GT, fraction, word(n, 0));
  else if (onnx_text_is(n, "round_mode", "down", "up")) more = ir_bool(n->g, false);
  else if (onnx_text_is(n, "round_mode", "nearest", "up")) {
    ir_ref normal = bin(n, IR_OP_GT, code, word(n, 0));
    more = op_where(n->g, normal, bin(n, IR_OP_GE, fraction, half), bin(n, IR_OP_GT, fraction, half));
  } else
    return (ir_ref)onnx_refuse(n, "round_mode is '%.*s'; takes up, down and nearest",
                               WIRE_TEXT(onnx_text(n, "round_mode")));
  code = bin(n, IR_OP_ADD, code, onnx_like(n, more, IR_U32));
  ir_ref most = word(n, saturate ? 0xfe : 0xff);
  code = op_where(n->g, bin(n, IR_OP_NE, x, x), word(n, 0xff), bin(n, IR_OP_MIN, code, most));
  return op_cast(n->g, code, IR_U8);
}

/* The magnitude of an f32 as a code that may be greater than any: its bits rounded to so many of the
 * mantissa, and the exponent's bias exchanged; below the least normal number, a multiple of the least number.
 */
static ir_ref magnitude_code(onnx_node *n, const onnx_narrow *t, ir_ref x) {
  ir_graph *g = n->g;
  uint32_t shift = 23 - (uint32_t)t->mantissa;
  double least = ldexp(1, 1 - t->bias);
  ir_ref bits = bin(n, IR_OP_AND, op_bitcast(g, x, IR_U32), word(n, 0x7fffffff));
  ir_ref even = bin(n, IR_OP_AND, bin(n, IR_OP_SHR, bits, word(n, shift)), word(n, 1));
  ir_ref rounded = bin(n, IR_OP_ADD, bin(n, IR_OP_ADD, bits, word(n, (1u << (shift - 1)) - 1)), even);
  rounded = bin(n, IR_OP_SHR, rounded, word(n, shift));
  rounded = bin(n, IR_OP_SUB, rounded, word(n, (uint32_t)(127 - t->bias) << t->mantissa));
  ir_ref size = op_unary(g, IR_OP_ABS, x), small = onnx_with(n, IR_OP_LT, size, least);
  ir_ref few =
      onnx_with(n, IR_OP_MUL, onnx_with(n, IR_OP_MIN, size, least), ldexp(1, t->bias - 1 + t->mantissa));
  return op_where(g, small, op_cast(g, op_unary(g, IR_OP_ROUND, few), IR_U32), rounded);
}

static ir_ref float_code(onnx_node *n, const onnx_narrow *t, ir_ref x, bool saturate) {
  ir_graph *g = n->g;
  uint32_t beyond = saturate ? t->most : t->infinity;
  ir_ref code = magnitude_code(n, t, x), zero = word(n, 0);
  ir_ref sign = bin(n, IR_OP_SHR, op_bitcast(g, x, IR_U32), word(n, 31));
  sign = bin(n, IR_OP_SHL, sign, word(n, t->bits - 1u));
  code = op_where(g, bin(n, IR_OP_GT, code, word(n, t->most)), word(n, beyond), code);
  if (t->one_zero) { /* neither zero nor NaN has a sign */
    ir_ref plain = bin(n, IR_OP_OR, bin(n, IR_OP_EQ, code, zero), bin(n, IR_OP_EQ, code, word(n, t->nan)));
    sign = op_where(g, plain, zero, sign);
  }
  ir_ref undefined = bin(n, IR_OP_NE, x, x), nan = word(n, t->nan);
  if (!t->one_zero && t->nan < 0x80) nan = bin(n, IR_OP_OR, nan, sign);
  return op_cast(g, op_where(g, undefined, nan, bin(n, IR_OP_OR, code, sign)), IR_U8);
}

/* to integers: of floats towards zero, then the low bits */
static ir_ref integer_code(onnx_node *n, const onnx_narrow *t, ir_ref x) {
  ir_ref bits =
      bin(n, IR_OP_AND, onnx_like(n, x, IR_I32), op_const(n->g, IR_I32, (ir_value){.i = (1 << t->bits) - 1}));
  if (t->low < 0) {
    ir_ref half = op_const(n->g, IR_I32, (ir_value){.i = 1 << (t->bits - 1)});
    bits = bin(n, IR_OP_SUB, bin(n, IR_OP_XOR, bits, half), half);
  }
  return op_cast(n->g, bits, onnx_narrow_storage(t));
}

ir_ref onnx_narrowed(onnx_node *n, ir_ref x, int64_t to, bool saturate) {
  const onnx_narrow *t = onnx_narrow_of(to);
  if (!x || !t) return 0;
  if (!t->is_float) return integer_code(n, t, x);
  if (!t->has_sign) return exponent_code(n, as_single(n, x), saturate);
  return float_code(n, t, as_single(n, x), saturate);
}
