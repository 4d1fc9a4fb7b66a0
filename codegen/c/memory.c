/* Loads and run-time bounds.
 *
 * An access with stride 1 along the lanes is one vector access, with stride -1 likewise and reversed; with
 * stride 0 it is a scalar access; any other goes element by element. Where an access is not valid it touches
 * no memory. What a kernel only reads may begin at any address, what it writes is aligned as its elements
 * are. */
#include "codegen/c/c.h"

cc_place cc_place_of(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lanes) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  cc_place a = {.dtype = dtype,
                .kind = tx_storage_of(e, dtype),
                .width = lanes,
                .affine = how.affine,
                .stride = how.stride,
                .memory = tx_at(e, param).text};
  a.base = how.base ? tx_at(e, how.base) : tx_literal(e, TX_I32, 0);
  if (!how.affine) a.lane_term = tx_at(e, how.lane_term);
  return a;
}

static tx_value index_at(tx_emitter *e, const cc_place *a, uint32_t lane) {
  return a->affine ? tx_sum(e, a->base, tx_index_literal(e, a->stride * lane))
                   : tx_sum(e, a->base, tx_element(e, a->lane_term, lane));
}

tx_value cc_element_at(tx_emitter *e, const cc_place *a, uint32_t lane) {
  tx_value index = index_at(e, a, lane);
  return tx_make(e, a->kind, 1, TX_ATOM, "%s[%s]", a->memory, index.text);
}

const char *cc_address(tx_emitter *e, const cc_place *a) {
  if (a->base.literal && !a->base.number) return a->memory;
  return tx_text(e, "%s + %s", a->memory, tx_parenthesised(e, a->base, TX_PRODUCT));
}

const char *cc_low_address(tx_emitter *e, const cc_place *a) {
  cc_place low = *a;
  if (a->stride == -1) low.base = tx_sum(e, a->base, tx_index_literal(e, -(int64_t)(a->width - 1)));
  return cc_address(e, &low);
}

tx_value cc_memory_order(tx_emitter *e, const cc_place *a, tx_value v) {
  uint32_t order[CG_MAX_LANES];
  if (a->stride != -1 || v.width == 1) return v;
  for (uint32_t i = 0; i < v.width; i++) order[i] = v.width - 1 - i;
  v = tx_temporary(e, v);
  return e->language->shuffle(e, v, v, order, v.width);
}

/* A call of a function that reads a vector; the line VF_`name`(T, `types` n) defines it. */
static tx_value read_by(tx_emitter *e, const cc_place *a, const char *name, const char *types,
                        const char *arguments) {
  cc_use_type(e, a->kind, a->width);
  cc_define(e, "VF_%s(%s, %s%u)", name, tx_type(e, a->kind, 1), types, cc_padded(a->width));
  return tx_make(e, a->kind, a->width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, a->kind, a->width), arguments);
}

/* In the order of memory. */
static tx_value read_whole(tx_emitter *e, const cc_place *a) {
  const char *from = cc_low_address(e, a);
  if (cc_padded(a->width) == a->width) return read_by(e, a, "load", "", from);
  return read_by(e, a, "loadpart", "", tx_text(e, "%s, %u", from, a->width));
}

static const char *type_of_lanes(tx_emitter *e, tx_value v) {
  return tx_text(e, "%s", tx_type(e, v.kind, 1));
}

/* Elements one by one, where `mask` holds (NULL: everywhere). Those that are not valid are 0. */
static tx_value read_elements(tx_emitter *e, const cc_place *a, const tx_value *mask) {
  const char *index = a->affine ? tx_text(e, "%lld", (long long)a->stride) : a->lane_term.text;
  const char *suffix = mask ? "if" : "", *arguments = tx_text(e, "%s, %s", cc_address(e, a), index);
  if (!a->affine) cc_use_type(e, a->lane_term.kind, a->width);
  const char *name = a->affine ? tx_text(e, "strided%s", suffix)
                               : tx_text(e, "gather%s_%s", suffix, type_of_lanes(e, a->lane_term));
  if (!mask) return read_by(e, a, name, "", tx_text(e, "%s, %u", arguments, a->width));
  return read_by(e, a, name, tx_text(e, "%s, ", type_of_lanes(e, *mask)),
                 tx_text(e, "%s, %s, %u", arguments, mask->text, a->width));
}

static tx_value zeros(tx_emitter *e, unsigned kind, uint32_t width) {
  return tx_splat(e, tx_is_real(kind) ? tx_real(e, kind, 0) : tx_literal(e, kind, 0), width);
}

/* The stored elements where valid holds in each lane. */
static tx_value read_masked(tx_emitter *e, const cc_place *a, tx_value valid) {
  valid = tx_temporary(e, tx_convert(e, valid, tx_signed(a->kind)));
  cc_use_type(e, valid.kind, a->width);
  if (!cc_is_whole(a)) return read_elements(e, a, &valid);
  tx_value mask = cc_memory_order(e, a, valid);
  tx_value some = read_by(e, a, "loadif", tx_text(e, "%s, ", type_of_lanes(e, mask)),
                          tx_text(e, "%s, %s, %u", cc_low_address(e, a), mask.text, a->width));
  return cc_memory_order(e, a, some);
}

static tx_value load_vector(tx_emitter *e, const cc_place *a, const tx_value *valid, tx_value other) {
  if (valid && valid->width > 1)
    return tx_select(e, *valid, tx_from_storage(e, a->dtype, read_masked(e, a, *valid)), other);
  tx_value stored = cc_is_whole(a) ? read_whole(e, a) : read_elements(e, a, NULL);
  if (!valid) return tx_from_storage(e, a->dtype, cc_memory_order(e, a, stored));
  stored = tx_make(e, a->kind, a->width, TX_LOOSE, "%s ? %s : %s", tx_parenthesised(e, *valid, TX_UNARY),
                   stored.text, zeros(e, a->kind, a->width).text);
  stored = cc_memory_order(e, a, tx_temporary(e, stored));
  return tx_select(e, *valid, tx_from_storage(e, a->dtype, stored), other);
}

/* One element: `valid ? p1[i] : other`. */
static tx_value load_scalar(tx_emitter *e, const cc_place *a, const tx_value *valid, tx_value other) {
  tx_value v = tx_from_storage(e, a->dtype, cc_element_at(e, a, 0));
  if (!valid) return v;
  if (valid->width == 1 && other.width == 1) return tx_select(e, *valid, v, other);
  tx_value none = v.kind == TX_BOOL    ? tx_literal(e, v.kind, 0)
                  : tx_is_real(v.kind) ? tx_real(e, v.kind, 0)
                                       : tx_literal(e, v.kind, 0);
  tx_value some =
      tx_make(e, v.kind, 1, TX_LOOSE, "%s ? %s : %s", tx_parenthesised(e, tx_any(e, *valid), TX_UNARY),
              tx_parenthesised(e, v, TX_UNARY), none.text);
  return tx_select(e, *valid, tx_temporary(e, some), other);
}

tx_value cc_read_contiguous(tx_emitter *e, const cc_place *a, uint32_t lane, uint32_t count) {
  cc_place row = *a;
  row.base = index_at(e, a, lane);
  row.affine = true;
  row.stride = 1;
  row.width = count;
  return read_whole(e, &row);
}

/* Prefetches the memory of the element `elements` further on; if `past`, as data that is not reused. That
 * memory need not belong to the buffer. */
static void fetch_ahead(tx_emitter *e, const cc_place *a, int64_t elements, bool past) {
  tx_line(e, "VF_PREFETCH((const void *)((uintptr_t)(%s) + %lld), %d)", cc_low_address(e, a),
          (long long)(elements * (int64_t)tx_bytes(a->kind)), past ? 0 : 3);
}

tx_value cc_emit_load(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (ir_is_false(e->g, n->src[2])) return tx_at(e, n->src[3]);
  tx_value valid = tx_at(e, n->src[2]), other = tx_at(e, n->src[3]);
  cc_place a = cc_place_of(e, n->src[0], n->src[1], e->nest->width[n->src[1]]);
  const tx_value *where = ir_is_true(e->g, n->src[2]) ? NULL : &valid;
  if (ir_arg_int(n) && a.affine) fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
  bool scalar = a.width == 1 || (a.affine && a.stride == 0);
  return scalar ? load_scalar(e, &a, where, other) : load_vector(e, &a, where, other);
}

/* run-time bounds */

static tx_value binary(tx_emitter *e, ir_op op, tx_value a, tx_value b) {
  return tx_combine(e, op, a.kind == TX_I32 ? IR_I32 : IR_I64, a, b);
}

static tx_value as_unsigned(tx_emitter *e, tx_value v) {
  return v.width == 1 ? tx_convert(e, v, tx_unsigned(v.kind)) : tx_reinterpret(e, v, tx_unsigned(v.kind));
}

/* value >= extent or value < 0, as one unsigned comparison. */
static tx_value out_of_range(tx_emitter *e, tx_value value, tx_value extent) {
  return tx_compare(e, IR_OP_GE, IR_U64, as_unsigned(e, value), as_unsigned(e, extent));
}

static void report_range(tx_emitter *e, ir_ref valid, tx_value bad) {
  if (!ir_is_true(e->g, valid)) bad = tx_both(e, bad, tx_at(e, valid), TX_AND);
  tx_line(e, "if (VF_UNLIKELY(%s)) *status = 1", tx_any(e, bad).text);
  cc_of(e)->checks = true;
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped. */
tx_value cc_emit_bound(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED || dtype == IR_INDEX;
  unsigned wanted = tx_index_kind(e, ref);
  tx_value value = tx_at(e, n->src[0]), extent = tx_at(e, n->src[1]);
  bool fits = cg_fits_32_bits(e->g, n->src[1]);
  unsigned kind = tx_bytes(value.kind) > 4 || value.kind == TX_U32 || !fits ? TX_I64 : wanted;
  value = tx_temporary(e, tx_convert(e, value, kind));
  extent = tx_index_as(e, extent, kind);
  tx_value zero = tx_literal(e, kind, 0), last = binary(e, IR_OP_SUB, extent, tx_literal(e, kind, 1));
  int64_t size;
  if (ir_is_const(e->g, n->src[1], &size) && size > 0) last = tx_literal(e, kind, size - 1);
  if (ir_bounds_of(e->g, n->src[1]).lo < 1) last = binary(e, IR_OP_MAX, last, zero);
  if (is_signed) {
    tx_value below = tx_compare(e, IR_OP_LT, IR_I64, value, zero);
    value = tx_temporary(e, tx_select(e, below, binary(e, IR_OP_ADD, value, extent), value));
  }
  bool clips = ir_arg_mode(n) == IR_GATHER_CLIP && ir_bounds_of(e->g, n->src[1]).lo < 1; /* may be empty */
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2]))
    report_range(e, n->src[2], out_of_range(e, clips ? tx_splat(e, zero, value.width) : value, extent));
  tx_value held;
  if (is_signed) held = binary(e, IR_OP_MAX, binary(e, IR_OP_MIN, value, last), zero);
  else
    held = tx_reinterpret(e, tx_combine(e, IR_OP_MIN, IR_U64, as_unsigned(e, value), as_unsigned(e, last)),
                          kind);
  return tx_index_as(e, held, wanted);
}
