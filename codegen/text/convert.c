/* Vectors and their elements, casts, bit casts, storage forms. A conversion that would round twice goes
 * through a value that rounds as the exact one does: see codegen/llvm/convert.c. */
#include "codegen/text/text.h"

/* vectors */

tx_value tx_splat(tx_emitter *e, tx_value v, uint32_t width) {
  if (v.width == width) return v;
  tx_value all = e->language->splat(e, v, width);
  all.literal = v.literal;
  all.number = v.number;
  return all;
}

tx_value tx_element(tx_emitter *e, tx_value v, uint32_t i) {
  return v.width > 1 ? e->language->element(e, v, i) : v;
}

tx_value tx_lane(tx_emitter *e, ir_dtype dtype, tx_value v, uint32_t i) {
  tx_value lane = tx_element(e, v, i);
  if (dtype != IR_BOOL || v.width == 1) return lane;
  return tx_make(e, TX_BOOL, 1, TX_LOOSE, "%s != 0", lane.text);
}

tx_value tx_mask(tx_emitter *e, tx_value v, unsigned kind, uint32_t width) {
  if (v.width < width) return e->language->mask(e, v, kind, width);
  return width > 1 ? tx_convert(e, v, kind) : v;
}

/* kinds */

tx_value tx_convert(tx_emitter *e, tx_value v, unsigned kind) {
  return v.kind == kind ? v : e->language->convert(e, v, kind);
}

tx_value tx_reinterpret(tx_emitter *e, tx_value v, unsigned kind) {
  if (v.kind == kind) return v;
  if (v.bare && v.bare_kind == kind)
    return (tx_value){.text = v.bare, .kind = v.bare_kind, .level = v.bare_level, .width = v.width};
  tx_value as = e->language->reinterpret(e, v, kind);
  as.bare = v.text;
  as.bare_kind = v.kind;
  as.bare_level = v.level;
  return as;
}

/* dtypes */

static bool is_narrow(ir_dtype dtype) { return dtype == IR_F16 || dtype == IR_BF16; }

tx_value tx_to_storage(tx_emitter *e, ir_dtype dtype, tx_value a) {
  if (is_narrow(dtype)) return e->language->call(e, dtype == IR_F16 ? TX_TO_F16 : TX_TO_BF16, TX_U16, &a, 1);
  if (dtype != IR_BOOL) return a;
  if (a.width == 1) return tx_convert(e, a, TX_U8);
  tx_value ones = a.kind == TX_I8 ? tx_reinterpret(e, a, TX_U8) : tx_convert(e, a, TX_U8);
  return tx_infix(e, TX_AND, ones, tx_literal(e, TX_U8, 1));
}

tx_value tx_from_storage(tx_emitter *e, ir_dtype dtype, tx_value stored) {
  if (is_narrow(dtype))
    return e->language->call(e, dtype == IR_F16 ? TX_FROM_F16 : TX_FROM_BF16, TX_F32, &stored, 1);
  if (dtype != IR_BOOL) return stored;
  return tx_infix(e, TX_NE, stored, tx_literal(e, TX_U8, 0));
}

tx_value tx_bitcast(tx_emitter *e, ir_dtype from, ir_dtype to, tx_value a) {
  if (ir_dtypes[from].bytes != ir_dtypes[to].bytes)
    return tx_fail(e, IR_ERR_INTERNAL, "compile: bitcast from %s to %s changes the size",
                   ir_dtypes[from].name, ir_dtypes[to].name);
  if (from == to) return a;
  return tx_from_storage(e, to, tx_reinterpret(e, tx_to_storage(e, from, a), tx_storage_of(e, to)));
}

static tx_value float_to_float(tx_emitter *e, ir_dtype from, ir_dtype to, tx_value a) {
  if (!is_narrow(to)) return tx_convert(e, a, tx_kind_of(e, to));
  return tx_round_narrow(e, to, from == IR_F64 ? e->language->to_narrow(e, to, a) : a);
}

/* To f16 and bf16 by way of an f32, which holds integers of 8 and 16 bits. */
static tx_value int_to_float(tx_emitter *e, ir_dtype to, tx_value a) {
  if (!is_narrow(to)) return tx_convert(e, a, tx_kind_of(e, to));
  return tx_round_narrow(e, to,
                         tx_bytes(a.kind) < 4 ? tx_convert(e, a, TX_F32) : e->language->to_narrow(e, to, a));
}

static tx_value bool_to_int(tx_emitter *e, unsigned kind, tx_value a) {
  if (a.width == 1) return tx_convert(e, a, kind);
  tx_value ones = tx_convert(e, a, tx_signed(kind));
  return tx_reinterpret(e, tx_infix(e, TX_AND, ones, tx_literal(e, ones.kind, 1)), kind);
}

tx_value tx_cast(tx_emitter *e, ir_dtype from, ir_dtype to, tx_value a) {
  unsigned kind = tx_kind_of(e, to);
  if (to == from) return a;
  if (to == IR_BOOL)
    return tx_compare(e, IR_OP_NE, from, a,
                      ir_is_float(from) ? tx_real(e, a.kind, 0) : tx_literal(e, a.kind, 0));
  if (from == IR_BOOL) {
    if (!ir_is_float(to)) return bool_to_int(e, kind, a);
    return tx_convert(e, bool_to_int(e, to == IR_F64 ? TX_I64 : TX_I32, a), kind);
  }
  if (!ir_is_float(to)) return e->language->to_integer(e, kind, a);
  return ir_is_float(from) ? float_to_float(e, from, to, a) : int_to_float(e, to, a);
}
