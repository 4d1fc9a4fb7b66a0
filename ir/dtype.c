/* dtypes: the table, conversion between them, and the two narrow float formats. */
#include "base.h"

#include <math.h>
#include <string.h>

const ir_dtype_info ir_dtypes[IR_DTYPE_COUNT] = {
#define DTYPE(name, text, bytes, kind, npy, ctype) {text, bytes, IR_KIND_##kind, npy},
#include "dtype.def"
#undef DTYPE
};

#define DTYPE(name, text, bytes, kind, npy, ctype)                                                           \
  _Static_assert(bytes == 0 || sizeof(ctype) == (bytes ? bytes : 1), "size of " text);
#include "dtype.def"
#undef DTYPE

ir_dtype ir_dtype_parse(const char *name, size_t length) {
  for (int t = IR_BOOL; t < IR_DTYPE_COUNT; t++)
    if (strlen(ir_dtypes[t].name) == length && memcmp(ir_dtypes[t].name, name, length) == 0)
      return (ir_dtype)t;
  return IR_NONE;
}

float ir_half_to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                    : exponent == 0 ? ldexpf((float)fraction, -24)
                                    : ldexpf((float)(fraction + 1024), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

/* Round |value| to `digits` significant bits with least exponent `least` (that of the last bit of the
 * smallest normal), to nearest even. Exact in double: scaling by powers of two and rint lose nothing else. */
static double round_narrow(double value, int digits, int least) {
  int exponent;
  frexp(value, &exponent);
  int unit = exponent - digits;
  if (unit < least) unit = least;
  return ldexp(rint(ldexp(value, -unit)), unit);
}

uint16_t ir_half_from_double(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  double size = fabs(value);
  if (isnan(size)) return sign | 0x7e00;
  if (size < INFINITY) size = round_narrow(size, 11, -24);
  if (size > 65504.0) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | (uint16_t)ldexp(size, 24);
  int exponent;
  double fraction = frexp(size, &exponent); /* in [0.5, 1) */
  return sign | (uint16_t)((exponent + 14) << 10) | (uint16_t)(ldexp(fraction, 11) - 1024);
}

float ir_bfloat_to_float(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t ir_bfloat_from_double(double value) {
  if (isnan(value)) return signbit(value) ? 0xffc0 : 0x7fc0;
  double size = fabs(value);
  if (size < INFINITY) size = round_narrow(size, 8, -133);
  float narrow = size > 0x1.fep127 ? INFINITY : (float)size; /* exact: bf16 values are f32 values */
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return (uint16_t)(bits >> 16) | (signbit(value) ? 0x8000 : 0);
}

static int64_t wrap_int(int64_t value, ir_dtype type) {
  switch (ir_dtypes[type].bytes * 2 + (ir_dtypes[type].kind == IR_KIND_SIGNED)) {
  case 3: return (int8_t)value;
  case 2: return (uint8_t)value;
  case 5: return (int16_t)value;
  case 4: return (uint16_t)value;
  case 9: return (int32_t)value;
  case 8: return (uint32_t)value;
  default: return value;
  }
}

static int64_t float_to_int(double value, ir_dtype type) {
  if (isnan(value)) return 0;
  int bits = ir_dtypes[type].bytes * 8;
  bool is_signed = ir_dtypes[type].kind == IR_KIND_SIGNED;
  double top = ldexp(1.0, is_signed ? bits - 1 : bits), bottom = is_signed ? -top : 0.0;
  value = trunc(value);
  if (value >= top) return is_signed ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1) : wrap_int(-1, type);
  if (value <= bottom) return is_signed ? (int64_t)(~(uint64_t)0 << (bits - 1)) : 0;
  return value >= 0x1p63 ? (int64_t)((uint64_t)(value - 0x1p63) ^ (uint64_t)1 << 63) : (int64_t)value;
}

static double round_float(double value, ir_dtype type) {
  switch (type) {
  case IR_F16: return ir_half_to_float(ir_half_from_double(value));
  case IR_BF16: return ir_bfloat_to_float(ir_bfloat_from_double(value));
  case IR_F32: return (float)value;
  default: return value;
  }
}

/* Conversion of a 64-bit integer to a float of 24 or fewer bits must not round twice: round to odd at 53 bits
 * first. */
static double int_to_double_odd(int64_t value, bool is_unsigned) {
  bool negative = !is_unsigned && value < 0;
  uint64_t size = negative ? 0 - (uint64_t)value : (uint64_t)value;
  if (size >> 53) size = (size & ~(uint64_t)0x7ff) | ((size & 0x7ff) ? 0x800 : 0);
  return negative ? -(double)size : (double)size;
}

ir_value ir_value_cast(ir_value value, ir_dtype from, ir_dtype to) {
  bool from_float = ir_is_float(from), from_u64 = from == IR_U64;
  if (to == IR_BOOL) return (ir_value){.i = from_float ? value.f != 0 : value.i != 0};
  if (!ir_is_float(to))
    return (ir_value){.i = from_float ? float_to_int(value.f, to) : wrap_int(value.i, to)};
  if (from_float) return (ir_value){.f = round_float(value.f, to)};
  if (to == IR_F64) return (ir_value){.f = from_u64 ? (double)(uint64_t)value.i : (double)value.i};
  return (ir_value){.f = round_float(int_to_double_odd(value.i, from_u64), to)};
}

ir_value ir_value_load(const void *element, ir_dtype type) {
  switch (type) {
#define LOAD(ctype, field)                                                                                   \
  {                                                                                                          \
    ctype stored;                                                                                            \
    memcpy(&stored, element, sizeof stored);                                                                 \
    return (ir_value){.field = stored};                                                                      \
  }
  case IR_BOOL: return (ir_value){.i = *(const uint8_t *)element != 0};
  case IR_I8: LOAD(int8_t, i)
  case IR_U8: LOAD(uint8_t, i)
  case IR_I16: LOAD(int16_t, i)
  case IR_U16: LOAD(uint16_t, i)
  case IR_I32: LOAD(int32_t, i)
  case IR_U32: LOAD(uint32_t, i)
  case IR_I64: LOAD(int64_t, i)
  case IR_U64: LOAD(int64_t, i)
  case IR_F32: LOAD(float, f)
  case IR_F64: LOAD(double, f)
#undef LOAD
  case IR_F16:
  case IR_BF16: {
    uint16_t bits;
    memcpy(&bits, element, sizeof bits);
    return (ir_value){.f = type == IR_F16 ? ir_half_to_float(bits) : ir_bfloat_to_float(bits)};
  }
  case IR_NONE:
  case IR_INDEX:
  case IR_DTYPE_COUNT: break;
  }
  return (ir_value){.i = 0};
}

void ir_value_store(void *element, ir_dtype type, ir_value value) {
  if (type == IR_F32) {
    float narrow = (float)value.f;
    memcpy(element, &narrow, sizeof narrow);
  } else if (type == IR_F16 || type == IR_BF16) {
    uint16_t bits = type == IR_F16 ? ir_half_from_double(value.f) : ir_bfloat_from_double(value.f);
    memcpy(element, &bits, sizeof bits);
  } else {
    memcpy(element, &value, ir_dtypes[type].bytes); /* little-endian: the low bytes of the union */
  }
}
