/* Casts, bit casts, storage forms. A conversion that would round twice goes through a value rounded to odd:
 * see codegen/llvm/convert.c. */
#include "codegen/c/c.h"

static bool is_narrow(ir_dtype dtype) { return dtype == IR_F16 || dtype == IR_BF16; }

cc_value cc_to_storage(cc_emitter *e, ir_dtype dtype, cc_value a) {
  if (dtype == IR_F16) return cc_function_of(e, "tof16", CC_U16, a);
  if (dtype == IR_BF16) return cc_function_of(e, "tobf16", CC_U16, a);
  if (dtype != IR_BOOL) return a;
  if (a.width == 1) return cc_convert(e, a, CC_U8);
  return cc_infix(e, "and", "&", cc_reinterpret(e, cc_convert(e, a, CC_I8), CC_U8), cc_literal(e, CC_U8, 1));
}

cc_value cc_from_storage(cc_emitter *e, ir_dtype dtype, cc_value stored) {
  if (dtype == IR_F16) return cc_function_of(e, "fromf16", CC_F32, stored);
  if (dtype == IR_BF16) return cc_function_of(e, "frombf16", CC_F32, stored);
  if (dtype != IR_BOOL) return stored;
  return cc_infix(e, "ne", "!=", stored, cc_literal(e, CC_U8, 0));
}

cc_value cc_bitcast(cc_emitter *e, ir_dtype from, ir_dtype to, cc_value a) {
  if (ir_dtypes[from].bytes != ir_dtypes[to].bytes)
    return cc_fail(e, IR_ERR_INTERNAL, "compile: bitcast from %s to %s changes the size",
                   ir_dtypes[from].name, ir_dtypes[to].name);
  if (from == to) return a;
  return cc_from_storage(e, to, cc_reinterpret(e, cc_to_storage(e, from, a), cc_storage_of(to)));
}

static cc_value narrowed(cc_emitter *e, ir_dtype to, cc_value wide) {
  return cc_round_narrow(e, to, cc_function_to(e, to == IR_F16 ? "forf16" : "forbf16", CC_F32, wide));
}

static cc_value float_to_float(cc_emitter *e, ir_dtype from, ir_dtype to, cc_value a) {
  if (from == IR_F64 && is_narrow(to)) return narrowed(e, to, a);
  return is_narrow(to) ? cc_round_narrow(e, to, a) : cc_convert(e, a, cc_kind_of(to));
}

/* To f16 and bf16 by way of a float: exact from integers of 8 and 16 bits; from wider ones by way of an f64,
 * exact from 32 bits and rounded to odd from 64. */
static cc_value int_to_float(cc_emitter *e, ir_dtype to, cc_value a) {
  if (!is_narrow(to)) return cc_convert(e, a, cc_kind_of(to));
  if (cc_bytes(a.kind) < 4) return cc_round_narrow(e, to, cc_convert(e, a, CC_F32));
  return narrowed(e, to,
                  cc_bytes(a.kind) == 8 ? cc_function_to(e, "oddf64", CC_F64, a) : cc_convert(e, a, CC_F64));
}

static cc_value float_to_int(cc_emitter *e, ir_dtype to, cc_value a) {
  unsigned kind = cc_kind_of(to);
  return cc_function_to(e, cc_text(e, "saturate_%s", cc_type(kind, 1).text), kind, a);
}

static cc_value bool_to_int(cc_emitter *e, unsigned kind, cc_value a) {
  if (a.width == 1) return cc_convert(e, a, kind);
  cc_value ones = cc_convert(e, a, cc_signed(kind));
  return cc_reinterpret(e, cc_infix(e, "and", "&", ones, cc_literal(e, ones.kind, 1)), kind);
}

cc_value cc_cast(cc_emitter *e, ir_dtype from, ir_dtype to, cc_value a) {
  if (to == from) return a;
  if (to == IR_BOOL)
    return cc_compare(e, IR_OP_NE, from, a,
                      ir_is_float(from) ? cc_real(e, a.kind, 0) : cc_literal(e, a.kind, 0));
  if (ir_is_float(from)) return ir_is_float(to) ? float_to_float(e, from, to, a) : float_to_int(e, to, a);
  if (from == IR_BOOL) {
    if (!ir_is_float(to)) return bool_to_int(e, cc_kind_of(to), a);
    return cc_convert(e, bool_to_int(e, to == IR_F64 ? CC_I64 : CC_I32, a), cc_kind_of(to));
  }
  if (ir_is_float(to)) return int_to_float(e, to, a);
  return cc_convert(e, a, cc_kind_of(to));
}
