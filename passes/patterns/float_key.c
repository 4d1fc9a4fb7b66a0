/* Keys of floats: unsigned integers in the order of max or min. Once all bits of negative floats and the sign
 * bits of the others are complemented, the bits are in the order of the floats, with NaNs at both ends.
 * Adding or subtracting the number of NaNs of one sign, modulo 2^n, moves the NaNs of the far end to the
 * others. A machine with bitwise operations of three operands needs four instructions for key and maximum. */
#include "float_key.h"

#include <string.h>

static ir_dtype signed_dtype(ir_dtype t) { return t == IR_F64 || t == IR_U64 ? IR_I64 : IR_I32; }
static ir_dtype unsigned_dtype(ir_dtype t) { return t == IR_F64 ? IR_U64 : IR_U32; }

static ir_ref sign_bit(ir_graph *g, ir_dtype t) {
  return ir_int(g, t, t == IR_U64 ? INT64_MIN : (int64_t)1 << 31);
}

/* The number of NaNs of one sign: any fraction but zero. */
static ir_ref nans(ir_graph *g, ir_dtype t) {
  return ir_int(g, t, ((int64_t)1 << (t == IR_U64 ? 52 : 23)) - 1);
}

/* The highest bit, in all bits. */
static ir_ref signs(ir_graph *g, ir_ref bits) {
  ir_dtype t = ir_dtype_of(g, bits), s = signed_dtype(t);
  ir_ref places = ir_int(g, s, s == IR_I64 ? 63 : 31);
  return ir_bitcast(g, ir_binary(g, IR_OP_SHR, ir_bitcast(g, bits, s), places), t);
}

/* The bits with the highest one complemented, and the others too where `sign_bits` are ones. */
static ir_ref ordered_bits(ir_graph *g, ir_ref bits, ir_ref sign_bits) {
  ir_dtype t = ir_dtype_of(g, bits);
  return ir_binary(g, IR_OP_XOR, bits, ir_binary(g, IR_OP_OR, sign_bits, sign_bit(g, t)));
}

ir_ref pass_float_key(ir_graph *g, ir_op op, ir_ref x) {
  if (!x) return 0;
  ir_dtype wide = ir_dtype_of(g, x) == IR_F64 ? IR_F64 : IR_F32, t = unsigned_dtype(wide);
  ir_ref bits = ir_bitcast(g, ir_cast(g, x, wide), t);
  return ir_binary(g, op == IR_OP_MAX ? IR_OP_SUB : IR_OP_ADD, ordered_bits(g, bits, signs(g, bits)),
                   nans(g, t));
}

ir_ref pass_key_value(ir_graph *g, ir_op op, ir_ref key, ir_dtype t) {
  if (!key) return 0;
  ir_dtype u = ir_dtype_of(g, key);
  ir_ref order = ir_binary(g, op == IR_OP_MAX ? IR_OP_ADD : IR_OP_SUB, key, nans(g, u));
  ir_ref bits = ordered_bits(g, order, ir_unary(g, IR_OP_NOT, signs(g, order)));
  return ir_cast(g, ir_bitcast(g, bits, u == IR_U64 ? IR_F64 : IR_F32), t);
}

ir_ref pass_constant_key(ir_graph *g, ir_op op, ir_ref x) {
  ir_value value = ir_const_value(g, x);
  uint64_t bits, sign, nan_count;
  if (ir_dtype_of(g, x) == IR_F64) {
    memcpy(&bits, &value.f, sizeof bits);
    sign = (uint64_t)1 << 63, nan_count = ((uint64_t)1 << 52) - 1;
  } else {
    float narrow = (float)value.f;
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    bits = word, sign = (uint64_t)1 << 31, nan_count = ((uint64_t)1 << 23) - 1;
  }
  uint64_t order = bits ^ (bits & sign ? 2 * sign - 1 : sign);
  return ir_int(g, unsigned_dtype(ir_dtype_of(g, x)),
                (int64_t)((op == IR_OP_MAX ? order - nan_count : order + nan_count) & (2 * sign - 1)));
}
