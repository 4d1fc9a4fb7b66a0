/* Casts, bit casts, storage forms. A conversion that would round twice goes through a value rounded to odd:
 * see codegen/llvm/convert.c. */
#include "codegen/opencl/opencl.h"

static oc_value helper(oc_emitter *e, const char *name, unsigned kind, oc_value a) {
  return oc_make(e, kind, a.width, OC_ATOM, "%s_%s(%s)", name, oc_type(a.kind, a.width).text, a.text);
}

oc_value oc_to_storage(oc_emitter *e, ir_dtype dtype, oc_value a) {
  if (dtype == IR_F16) return helper(e, "vf_to_f16", OC_USHORT, a);
  if (dtype == IR_BF16) return helper(e, "vf_to_bf16", OC_USHORT, a);
  if (dtype != IR_BOOL) return a;
  if (a.width == 1) return oc_convert(e, a, OC_UCHAR);
  oc_value one = oc_make(e, OC_UCHAR, a.width, OC_LOOSE, "%s & (uchar)1", oc_convert(e, a, OC_UCHAR).text);
  if (a.kind == OC_CHAR) one.text = oc_text(e, "%s & (uchar)1", oc_reinterpret(e, a, OC_UCHAR).text);
  return one;
}

oc_value oc_from_storage(oc_emitter *e, ir_dtype dtype, oc_value stored) {
  if (dtype == IR_F16) return helper(e, "vf_from_f16", OC_FLOAT, stored);
  if (dtype == IR_BF16) return helper(e, "vf_from_bf16", OC_FLOAT, stored);
  if (dtype != IR_BOOL) return stored;
  return oc_make(e, stored.width > 1 ? OC_CHAR : OC_BOOL, stored.width, OC_LOOSE, "%s != (uchar)0",
                 oc_parenthesised(e, stored, OC_UNARY));
}

oc_value oc_bitcast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a) {
  if (ir_dtypes[from].bytes != ir_dtypes[to].bytes)
    return oc_fail(e, IR_ERR_INTERNAL, "compile: bitcast from %s to %s changes the size",
                   ir_dtypes[from].name, ir_dtypes[to].name);
  if (from == to) return a;
  return oc_from_storage(e, to, oc_reinterpret(e, oc_to_storage(e, from, a), oc_storage_of(e, to)));
}

static oc_value float_to_float(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a) {
  bool narrow = to == IR_F16 || to == IR_BF16;
  if (from == IR_F64 && narrow) return oc_round_narrow(e, to, helper(e, "vf_to_odd", OC_FLOAT, a));
  return narrow ? oc_round_narrow(e, to, a) : oc_convert(e, a, oc_kind_of(e, to));
}

/* To f16 and bf16 by way of a float: exact from integers of 8 and 16 bits, rounded to odd from wider ones. */
static oc_value int_to_float(oc_emitter *e, ir_dtype to, oc_value a) {
  if (to != IR_F16 && to != IR_BF16) return oc_convert(e, a, oc_kind_of(e, to));
  oc_value first = oc_bytes(a.kind) < 4 ? oc_convert(e, a, OC_FLOAT) : helper(e, "vf_to_odd", OC_FLOAT, a);
  return oc_round_narrow(e, to, first);
}

static oc_value float_to_int(oc_emitter *e, ir_dtype to, oc_value a) {
  unsigned kind = oc_kind_of(e, to);
  return oc_make(e, kind, a.width, OC_ATOM, "vf_%s_from_%s(%s)", oc_type(kind, a.width).text,
                 oc_type(a.kind, a.width).text, a.text);
}

static oc_value bool_to_int(oc_emitter *e, unsigned kind, oc_value a) {
  if (a.width == 1) return oc_convert(e, a, kind);
  oc_value ones = oc_convert(e, a, oc_signed(kind));
  ones = oc_make(e, ones.kind, a.width, OC_LOOSE, "%s & %s", oc_parenthesised(e, ones, OC_UNARY),
                 oc_literal(e, ones.kind, 1).text);
  return oc_reinterpret(e, ones, kind);
}

static oc_value int_to_int(oc_emitter *e, unsigned kind, oc_value a) {
  oc_value r = oc_convert(e, a, kind);
  if (oc_bytes(kind) > 1 || oc_bytes(a.kind) == 1 || a.literal) return r;
  return oc_make(e, kind, a.width, OC_ATOM, "vf_byte_%s(%s)", oc_type(kind, a.width).text, r.text);
}

oc_value oc_cast(oc_emitter *e, ir_dtype from, ir_dtype to, oc_value a) {
  if (to == from) return a;
  if (to == IR_BOOL)
    return oc_compare(e, IR_OP_NE, from, a,
                      ir_is_float(from) ? oc_real(e, a.kind, 0) : oc_literal(e, a.kind, 0));
  if (ir_is_float(from)) return ir_is_float(to) ? float_to_float(e, from, to, a) : float_to_int(e, to, a);
  if (from == IR_BOOL) {
    if (!ir_is_float(to)) return bool_to_int(e, oc_kind_of(e, to), a);
    return oc_convert(e, bool_to_int(e, to == IR_F64 ? OC_LONG : OC_INT, a), oc_kind_of(e, to));
  }
  if (ir_is_float(to)) return int_to_float(e, to, a);
  return int_to_int(e, oc_kind_of(e, to), a);
}
