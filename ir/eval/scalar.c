/* One element of each elementwise operation: the definition of the numeric contract. */
#include "eval.h"

#include "ir/primitive_ops.h"

#include <math.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT                                                                                     \
    OFF /* gcc has only the command line's -ffp-contract=off; no expression here could contract */
#endif

/* Arithmetic in one C type. Minimum and maximum keep NaN and order -0 below +0. Remainders are exact except
 * for the addition that gives them the divisor's sign. */
#define FLOAT_ARITHMETIC(name, type, f)                                                                      \
  static type name##_least(type a, type b, bool greatest) {                                                  \
    if (isnan(a) || isnan(b)) return isnan(a) ? a : b;                                                       \
    if (a == b) return (signbit(a) != 0) != greatest ? a : b;                                                \
    return (a < b) != greatest ? a : b;                                                                      \
  }                                                                                                          \
  static type name##_divide(type a, type b, type *remainder) {                                               \
    type r = fmod##f(a, b), q = (a - r) / b, whole;                                                          \
    bool down = r != 0 && (r < 0) != (b < 0);                                                                \
    *remainder = down ? r + b : r == 0 ? copysign##f(0, b) : r;                                              \
    if (b == 0) return a / b;                                                                                \
    if (down) q -= 1;                                                                                        \
    whole = floor##f(q); /* q is an integer except for rounding errors */                                    \
    if (q - whole > (type)0.5) whole += 1;                                                                   \
    return q == 0 ? copysign##f(0, a / b) : whole;                                                           \
  }                                                                                                          \
  static type name##_unary(ir_op op, type a) {                                                               \
    switch ((ir_float_unary)op) {                                                                            \
    case IR_FLOAT_NEG: return -a;                                                                            \
    case IR_FLOAT_ABS: return fabs##f(a);                                                                    \
    case IR_FLOAT_SQRT: return sqrt##f(a);                                                                   \
    case IR_FLOAT_FLOOR: return floor##f(a);                                                                 \
    case IR_FLOAT_CEIL: return ceil##f(a);                                                                   \
    case IR_FLOAT_TRUNC: return trunc##f(a);                                                                 \
    case IR_FLOAT_ROUND: return rint##f(a);                                                                  \
    }                                                                                                        \
    return 0;                                                                                                \
  }                                                                                                          \
  static type name(ir_op op, type a, type b, type c) {                                                       \
    type remainder;                                                                                          \
    if (ir_ops[op].operands == 1) return name##_unary(op, a);                                                \
    switch ((ir_ternary)op) {                                                                                \
    case IR_TERNARY_WHERE: break; /* in ir_scalar_apply */                                                   \
    case IR_TERNARY_FMA: return fma##f(a, b, c);                                                             \
    }                                                                                                        \
    switch ((ir_float_binary)op) {                                                                           \
    case IR_FLOAT_ADD: return a + b;                                                                         \
    case IR_FLOAT_SUB: return a - b;                                                                         \
    case IR_FLOAT_MUL: return a * b;                                                                         \
    case IR_FLOAT_DIV: return a / b;                                                                         \
    case IR_FLOAT_MIN: return name##_least(a, b, false);                                                     \
    case IR_FLOAT_MAX: return name##_least(a, b, true);                                                      \
    }                                                                                                        \
    switch ((ir_mixed_binary)op) {                                                                           \
    case IR_FLOAT_FLOORDIV: return name##_divide(a, b, &remainder);                                          \
    case IR_FLOAT_MOD: return name##_divide(a, b, &remainder), remainder;                                    \
    }                                                                                                        \
    return 0;                                                                                                \
  }
FLOAT_ARITHMETIC(single, float, f)
FLOAT_ARITHMETIC(wide, double, )

static bool compare(ir_op op, bool less, bool equal, bool greater) {
  switch ((ir_comparison)op) {
  case IR_COMPARE_EQ: return equal;
  case IR_COMPARE_NE: return !equal;
  case IR_COMPARE_LT: return less;
  case IR_COMPARE_LE: return less || equal;
  case IR_COMPARE_GT: return greater;
  case IR_COMPARE_GE: return greater || equal;
  }
  return false;
}

static bool int_less(ir_dtype type, int64_t a, int64_t b) {
  return type == IR_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Floor division; the quotient by zero is 0 and the remainder is then the dividend. */
static int64_t int_divide(ir_dtype type, int64_t a, int64_t b, int64_t *remainder) {
  *remainder = a;
  if (b == 0) return 0;
  if (type == IR_U64) {
    *remainder = (int64_t)((uint64_t)a % (uint64_t)b);
    return (int64_t)((uint64_t)a / (uint64_t)b);
  }
  *remainder = 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  bool down = a % b != 0 && (a < 0) != (b < 0);
  *remainder = a % b + (down ? b : 0);
  return a / b - down;
}

static int64_t int_shift(ir_op op, ir_dtype type, int64_t a, int64_t count) {
  int width = ir_dtypes[type].bytes * 8;
  bool is_signed = ir_dtypes[type].kind == IR_KIND_SIGNED;
  if (is_signed && count < 0) return 0;
  bool all = (uint64_t)count >= (uint64_t)width;
  if (op == IR_OP_SHL) return all ? 0 : (int64_t)((uint64_t)a << count);
  if (!is_signed) return all ? 0 : (int64_t)((uint64_t)a >> count);
  return a < 0 ? ~(~a >> (all ? 63 : count)) : a >> (all ? 63 : count);
}

/* The lower half of the bits, as a signed integer. */
static uint64_t low_half(ir_dtype type, uint64_t a) {
  int half = ir_dtypes[type].bytes * 4;
  uint64_t sign = (uint64_t)1 << (half - 1), low = a & ((sign << 1) - 1);
  return (low ^ sign) - sign;
}

static uint64_t dot2(ir_dtype type, uint64_t a, uint64_t b) {
  int half = ir_dtypes[type].bytes * 4;
  return low_half(type, a) * low_half(type, b) + low_half(type, a >> half) * low_half(type, b >> half);
}

static uint64_t dot4(ir_dtype type, uint64_t a, uint64_t b) {
  int bits = ir_dtypes[type].bytes * 2;
  uint64_t sum = 0, sign = (uint64_t)1 << (bits - 1), mask = (sign << 1) - 1;
  for (int i = 0; i < 4; i++, a >>= bits, b >>= bits) sum += (a & mask) * (((b & mask) ^ sign) - sign);
  return sum;
}

static int64_t int_unary(ir_op op, ir_dtype type, int64_t a) {
  switch ((ir_int_unary)op) {
  case IR_INT_NEG: return (int64_t)(0 - (uint64_t)a);
  case IR_INT_ABS: return int_less(type, a, 0) ? (int64_t)(0 - (uint64_t)a) : a;
  case IR_INT_FLOOR:
  case IR_INT_CEIL:
  case IR_INT_TRUNC:
  case IR_INT_ROUND: return a;
  case IR_INT_NOT: return type == IR_BOOL ? !a : ~a;
  }
  return 0;
}

static int64_t int_arithmetic(ir_op op, ir_dtype type, int64_t a, int64_t b, int64_t c) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  int64_t remainder;
  if (ir_ops[op].operands == 1) return int_unary(op, type, a);
  if (op == IR_OP_FMA) return (int64_t)(x * y + (uint64_t)c);
  if (op == IR_OP_DIV) return int_divide(type, a, b, &remainder);
  switch ((ir_int_binary)op) {
  case IR_INT_ADD: return (int64_t)(x + y);
  case IR_INT_SUB: return (int64_t)(x - y);
  case IR_INT_MUL: return (int64_t)(x * y);
  case IR_INT_FLOORDIV: return int_divide(type, a, b, &remainder);
  case IR_INT_MOD: return int_divide(type, a, b, &remainder), remainder;
  case IR_INT_MIN: return int_less(type, b, a) ? b : a;
  case IR_INT_MAX: return int_less(type, a, b) ? b : a;
  case IR_INT_AND: return a & b;
  case IR_INT_OR: return a | b;
  case IR_INT_XOR: return a ^ b;
  case IR_INT_SHL:
  case IR_INT_SHR: return int_shift(op, type, a, b);
  case IR_INT_DOT2: return (int64_t)dot2(type, x, y);
  case IR_INT_DOT4: return (int64_t)dot4(type, x, y);
  }
  return 0;
}

static ir_value arithmetic(ir_op op, ir_dtype type, ir_dtype from, const ir_value *operands, int count) {
  ir_value v[3] = {{0}, {0}, {0}};
  for (int i = 0; i < count; i++) v[i] = from == type ? operands[i] : ir_value_cast(operands[i], from, type);
  if (type == IR_F64) return (ir_value){.f = wide(op, v[0].f, v[1].f, v[2].f)};
  if (ir_is_float(type)) {
    ir_value exact = {.f = single(op, (float)v[0].f, (float)v[1].f, (float)v[2].f)};
    return type == IR_F32 ? exact : ir_value_cast(exact, IR_F32, type);
  }
  return ir_value_cast((ir_value){.i = int_arithmetic(op, type, v[0].i, v[1].i, v[2].i)}, IR_I64, type);
}

static ir_value reinterpret(ir_dtype type, ir_dtype from, ir_value value) {
  unsigned char bytes[8] = {0};
  ir_value_store(bytes, from, value);
  return ir_value_load(bytes, type);
}

/* The upper 16 bits of a word as the bf16 that they are, or the lower ones. */
static float half_of(ir_value word, bool high) {
  return ir_bfloat_to_float((uint16_t)((uint64_t)word.i >> (high ? 16 : 0)));
}

static ir_value fma_of_words(const ir_value *v) {
  float sum = (float)v[2].f;
  for (int high = 1; high >= 0; high--) sum = fmaf(half_of(v[0], high), half_of(v[1], high), sum);
  return (ir_value){.f = sum};
}

ir_value ir_scalar_apply(ir_op op, ir_dtype type, ir_dtype from, const ir_value *v) {
  if (op == IR_OP_WHERE || op == IR_OP_RARE) return v[0].i ? v[1] : v[2];
  if (op == IR_OP_FMA2) return fma_of_words(v);
  if (op == IR_OP_CAST) return from == type ? v[0] : ir_value_cast(v[0], from, type);
  if (op == IR_OP_BITCAST) return reinterpret(type, from, v[0]);
  if (ir_ops[op].cls == IR_CLASS_COMPARE) {
    if (ir_is_float(from))
      return (ir_value){.i = compare(op, v[0].f<v[1].f, v[0].f == v[1].f, v[0].f> v[1].f)};
    bool less = int_less(from, v[0].i, v[1].i), equal = v[0].i == v[1].i;
    return (ir_value){.i = compare(op, less, equal, !less && !equal)};
  }
  return arithmetic(op, type, from, v, ir_ops[op].operands);
}
