/* Loads and run-time bounds.
 *
 * An access with stride 1 along the lanes is one vector access, with stride -1 likewise and reversed; with
 * stride 0 it is a scalar access; any other goes element by element. Where an access is not valid it touches
 * no memory. What a kernel only reads may begin at any address, what it writes is aligned as its elements
 * are. */
#include "codegen/c/c.h"

cc_place cc_place_of(cc_emitter *e, ir_ref param, ir_ref index, uint32_t lanes) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  cc_place a = {.dtype = dtype,
                .kind = cc_storage_of(dtype),
                .width = lanes,
                .affine = how.affine,
                .stride = how.stride,
                .memory = cc_at(e, param).text};
  a.base = how.base ? cc_at(e, how.base) : cc_literal(e, CC_I32, 0);
  if (!how.affine) a.lane_term = cc_at(e, how.lane_term);
  return a;
}

static cc_value index_at(cc_emitter *e, const cc_place *a, uint32_t lane) {
  return a->affine ? cc_sum(e, a->base, cc_index_literal(e, a->stride * lane))
                   : cc_sum(e, a->base, cc_element(e, a->lane_term, lane));
}

cc_value cc_element_at(cc_emitter *e, const cc_place *a, uint32_t lane) {
  cc_value index = index_at(e, a, lane);
  return cc_make(e, a->kind, 1, CC_ATOM, "%s[%s]", a->memory, index.text);
}

const char *cc_address(cc_emitter *e, const cc_place *a) {
  if (a->base.literal && !a->base.number) return a->memory;
  return cc_text(e, "%s + %s", a->memory, cc_parenthesised(e, a->base, CC_PRODUCT));
}

const char *cc_low_address(cc_emitter *e, const cc_place *a) {
  cc_place low = *a;
  if (a->stride == -1) low.base = cc_sum(e, a->base, cc_index_literal(e, -(int64_t)(a->width - 1)));
  return cc_address(e, &low);
}

cc_value cc_memory_order(cc_emitter *e, const cc_place *a, cc_value v) {
  uint32_t order[CG_MAX_LANES];
  if (a->stride != -1 || v.width == 1) return v;
  for (uint32_t i = 0; i < v.width; i++) order[i] = v.width - 1 - i;
  v = cc_temporary(e, v);
  return cc_shuffle(e, v, v, order, v.width);
}

/* A call of a function that reads a vector; the line VF_`name`(T, `types` n) defines it. */
static cc_value read_by(cc_emitter *e, const cc_place *a, const char *name, const char *types,
                        const char *arguments) {
  cc_use_type(e, a->kind, a->width);
  cc_define(e, "VF_%s(%s, %s%u)", name, cc_type(a->kind, 1).text, types, cc_padded(a->width));
  return cc_make(e, a->kind, a->width, CC_ATOM, "%s_%s(%s)", name, cc_type(a->kind, a->width).text,
                 arguments);
}

/* In the order of memory. */
static cc_value read_whole(cc_emitter *e, const cc_place *a) {
  const char *from = cc_low_address(e, a);
  if (cc_padded(a->width) == a->width) return read_by(e, a, "load", "", from);
  return read_by(e, a, "loadpart", "", cc_text(e, "%s, %u", from, a->width));
}

static const char *type_of_lanes(cc_emitter *e, cc_value v) {
  return cc_text(e, "%s", cc_type(v.kind, 1).text);
}

/* Elements one by one, where `mask` holds (NULL: everywhere). Those that are not valid are 0. */
static cc_value read_elements(cc_emitter *e, const cc_place *a, const cc_value *mask) {
  const char *index = a->affine ? cc_text(e, "%lld", (long long)a->stride) : a->lane_term.text;
  const char *suffix = mask ? "if" : "", *arguments = cc_text(e, "%s, %s", cc_address(e, a), index);
  if (!a->affine) cc_use_type(e, a->lane_term.kind, a->width);
  const char *name = a->affine ? cc_text(e, "strided%s", suffix)
                               : cc_text(e, "gather%s_%s", suffix, type_of_lanes(e, a->lane_term));
  if (!mask) return read_by(e, a, name, "", cc_text(e, "%s, %u", arguments, a->width));
  return read_by(e, a, name, cc_text(e, "%s, ", type_of_lanes(e, *mask)),
                 cc_text(e, "%s, %s, %u", arguments, mask->text, a->width));
}

static cc_value zeros(cc_emitter *e, unsigned kind, uint32_t width) {
  return cc_splat(e, cc_is_real(kind) ? cc_real(e, kind, 0) : cc_literal(e, kind, 0), width);
}

/* The stored elements where valid holds in each lane. */
static cc_value read_masked(cc_emitter *e, const cc_place *a, cc_value valid) {
  valid = cc_temporary(e, cc_convert(e, valid, cc_signed(a->kind)));
  cc_use_type(e, valid.kind, a->width);
  if (!cc_is_whole(a)) return read_elements(e, a, &valid);
  cc_value mask = cc_memory_order(e, a, valid);
  cc_value some = read_by(e, a, "loadif", cc_text(e, "%s, ", type_of_lanes(e, mask)),
                          cc_text(e, "%s, %s, %u", cc_low_address(e, a), mask.text, a->width));
  return cc_memory_order(e, a, some);
}

static cc_value load_vector(cc_emitter *e, const cc_place *a, const cc_value *valid, cc_value other) {
  if (valid && valid->width > 1)
    return cc_select(e, *valid, cc_from_storage(e, a->dtype, read_masked(e, a, *valid)), other);
  cc_value stored = cc_is_whole(a) ? read_whole(e, a) : read_elements(e, a, NULL);
  if (!valid) return cc_from_storage(e, a->dtype, cc_memory_order(e, a, stored));
  stored = cc_make(e, a->kind, a->width, CC_LOOSE, "%s ? %s : %s", cc_parenthesised(e, *valid, CC_UNARY),
                   stored.text, zeros(e, a->kind, a->width).text);
  stored = cc_memory_order(e, a, cc_temporary(e, stored));
  return cc_select(e, *valid, cc_from_storage(e, a->dtype, stored), other);
}

/* One element: `valid ? p1[i] : other`. */
static cc_value load_scalar(cc_emitter *e, const cc_place *a, const cc_value *valid, cc_value other) {
  cc_value v = cc_from_storage(e, a->dtype, cc_element_at(e, a, 0));
  if (!valid) return v;
  if (valid->width == 1 && other.width == 1) return cc_select(e, *valid, v, other);
  cc_value none = v.kind == CC_BOOL    ? cc_literal(e, v.kind, 0)
                  : cc_is_real(v.kind) ? cc_real(e, v.kind, 0)
                                       : cc_literal(e, v.kind, 0);
  cc_value some =
      cc_make(e, v.kind, 1, CC_LOOSE, "%s ? %s : %s", cc_parenthesised(e, cc_any(e, *valid), CC_UNARY),
              cc_parenthesised(e, v, CC_UNARY), none.text);
  return cc_select(e, *valid, cc_temporary(e, some), other);
}

cc_value cc_read_contiguous(cc_emitter *e, const cc_place *a, uint32_t lane, uint32_t count) {
  cc_place row = *a;
  row.base = index_at(e, a, lane);
  row.affine = true;
  row.stride = 1;
  row.width = count;
  return read_whole(e, &row);
}

/* Prefetches the memory of the element `elements` further on; if `past`, as data that is not reused. That
 * memory need not belong to the buffer. */
static void fetch_ahead(cc_emitter *e, const cc_place *a, int64_t elements, bool past) {
  cc_line(e, "VF_PREFETCH((const void *)((uintptr_t)(%s) + %lld), %d)", cc_low_address(e, a),
          (long long)(elements * (int64_t)cc_bytes(a->kind)), past ? 0 : 3);
}

cc_value cc_emit_load(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (ir_is_false(e->g, n->src[2])) return cc_at(e, n->src[3]);
  cc_value valid = cc_at(e, n->src[2]), other = cc_at(e, n->src[3]);
  cc_place a = cc_place_of(e, n->src[0], n->src[1], e->nest->width[n->src[1]]);
  const cc_value *where = ir_is_true(e->g, n->src[2]) ? NULL : &valid;
  if (ir_arg_int(n) && a.affine) fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
  bool scalar = a.width == 1 || (a.affine && a.stride == 0);
  return scalar ? load_scalar(e, &a, where, other) : load_vector(e, &a, where, other);
}

/* run-time bounds */

static cc_value binary(cc_emitter *e, ir_op op, cc_value a, cc_value b) {
  return cc_combine(e, op, a.kind == CC_I32 ? IR_I32 : IR_I64, a, b);
}

static cc_value as_unsigned(cc_emitter *e, cc_value v) {
  return v.width == 1 ? cc_convert(e, v, cc_unsigned(v.kind)) : cc_reinterpret(e, v, cc_unsigned(v.kind));
}

/* value >= extent or value < 0, as one unsigned comparison. */
static cc_value out_of_range(cc_emitter *e, cc_value value, cc_value extent) {
  return cc_compare(e, IR_OP_GE, IR_U64, as_unsigned(e, value), as_unsigned(e, extent));
}

static void report_range(cc_emitter *e, ir_ref valid, cc_value bad) {
  if (!ir_is_true(e->g, valid)) bad = cc_both(e, bad, cc_at(e, valid), '&');
  cc_line(e, "if (VF_UNLIKELY(%s)) *status = 1", cc_any(e, bad).text);
  e->checks = true;
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped. */
cc_value cc_emit_bound(cc_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED || dtype == IR_INDEX;
  unsigned wanted = cc_index_kind(e, ref);
  cc_value value = cc_at(e, n->src[0]), extent = cc_at(e, n->src[1]);
  bool fits = cg_fits_32_bits(e->g, n->src[1]);
  unsigned kind = cc_bytes(value.kind) > 4 || value.kind == CC_U32 || !fits ? CC_I64 : wanted;
  value = cc_temporary(e, cc_convert(e, value, kind));
  extent = cc_index_as(e, extent, kind);
  cc_value zero = cc_literal(e, kind, 0), last = binary(e, IR_OP_SUB, extent, cc_literal(e, kind, 1));
  int64_t size;
  if (ir_is_const(e->g, n->src[1], &size) && size > 0) last = cc_literal(e, kind, size - 1);
  if (ir_bounds_of(e->g, n->src[1]).lo < 1) last = binary(e, IR_OP_MAX, last, zero);
  if (is_signed) {
    cc_value below = cc_compare(e, IR_OP_LT, IR_I64, value, zero);
    value = cc_temporary(e, cc_select(e, below, binary(e, IR_OP_ADD, value, extent), value));
  }
  bool clips = ir_arg_mode(n) == IR_GATHER_CLIP && ir_bounds_of(e->g, n->src[1]).lo < 1; /* may be empty */
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2]))
    report_range(e, n->src[2], out_of_range(e, clips ? cc_splat(e, zero, value.width) : value, extent));
  cc_value held;
  if (is_signed) held = binary(e, IR_OP_MAX, binary(e, IR_OP_MIN, value, last), zero);
  else
    held = cc_reinterpret(e, cc_combine(e, IR_OP_MIN, IR_U64, as_unsigned(e, value), as_unsigned(e, last)),
                          kind);
  return cc_index_as(e, held, wanted);
}
