/* Where the elements of accesses are, loads, and run-time bounds.
 *
 * An access with stride 1 along the lanes is one vector access, with stride -1 likewise and reversed; with
 * stride 0 it is a scalar access; any other goes element by element. In work-items each one has an index of
 * its own. Where an access is not valid it touches no memory. */
#include "codegen/text/text.h"

/* places */

tx_place tx_place_of(tx_emitter *e, ir_ref param, ir_ref index, uint32_t lanes) {
  cg_access how = cg_access_of(e->nest, index);
  ir_dtype dtype = ir_dtype_of(e->g, param);
  tx_place a = {.dtype = dtype,
                .kind = tx_storage_of(e, dtype),
                .width = tx_width(e, lanes),
                .affine = how.affine,
                .stride = how.stride,
                .memory = tx_at(e, param).text,
                .space = ir_op_of(e->g, param) == IR_OP_PARAM ? "global" : "local"};
  if (e->vectors == TX_ITEMS) {
    a.affine = true;
    a.stride = 0;
    a.base = e->language->item_index(e, param, index, &how);
    return a;
  }
  a.base = how.base ? tx_at(e, how.base) : tx_literal(e, TX_I32, 0);
  if (!how.affine) a.lane_term = tx_at(e, how.lane_term);
  else if (e->subvector) a.base = tx_sum(e, a.base, tx_index_literal(e, a.stride * tx_first_lane(e, lanes)));
  return a;
}

static tx_value index_at(tx_emitter *e, const tx_place *a, uint32_t lane) {
  return a->affine ? tx_sum(e, a->base, tx_index_literal(e, a->stride * lane))
                   : tx_sum(e, a->base, tx_element(e, a->lane_term, lane));
}

tx_value tx_element_at(tx_emitter *e, const tx_place *a, uint32_t lane) {
  tx_value index = index_at(e, a, lane);
  return tx_make(e, a->kind, 1, TX_ATOM, "%s[%s]", a->memory, index.text);
}

const char *tx_address(tx_emitter *e, const tx_place *a) {
  if (a->base.literal && !a->base.number) return a->memory;
  return tx_text(e, "%s + %s", a->memory, tx_parenthesised(e, a->base, TX_PRODUCT));
}

const char *tx_low_address(tx_emitter *e, const tx_place *a) {
  tx_place low = *a;
  if (a->stride == -1) low.base = tx_sum(e, a->base, tx_index_literal(e, -(int64_t)(a->width - 1)));
  return tx_address(e, &low);
}

tx_value tx_memory_order(tx_emitter *e, const tx_place *a, tx_value v) {
  uint32_t order[CG_MAX_LANES];
  if (a->stride != -1 || v.width == 1) return v;
  for (uint32_t i = 0; i < v.width; i++) order[i] = v.width - 1 - i;
  return e->language->shuffle(e, v, v, order, v.width);
}

tx_value tx_read_contiguous(tx_emitter *e, const tx_place *a, uint32_t lane, uint32_t count) {
  tx_place row = *a;
  row.base = index_at(e, a, lane);
  row.affine = true;
  row.stride = 1;
  row.width = count;
  return e->language->read_whole(e, &row);
}

/* loads */

/* Prefetches the memory of the element `elements` further on; if `past`, as data that is not reused. That
 * memory need not belong to the buffer. */
static void fetch_ahead(tx_emitter *e, const tx_place *a, int64_t elements, bool past) {
  tx_line(e, e->language->prefetch[past], tx_low_address(e, a),
          (long long)(elements * (int64_t)tx_bytes(a->kind)));
}

tx_value tx_emit_load(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  if (ir_is_false(e->g, n->src[2])) return tx_at(e, n->src[3]);
  tx_value valid = tx_at(e, n->src[2]), other = tx_at(e, n->src[3]);
  tx_place a = tx_place_of(e, n->src[0], n->src[1], e->nest->width[n->src[1]]);
  bool always = ir_is_true(e->g, n->src[2]), scalar = a.width == 1 || (a.affine && a.stride == 0);
  if (ir_arg_int(n) && a.affine && e->vectors != TX_ITEMS)
    fetch_ahead(e, &a, ir_arg_int(n), ir_arg_mode(n) == IR_STREAM);
  if (scalar && always) return tx_from_storage(e, a.dtype, tx_element_at(e, &a, 0));
  if (scalar && valid.width == 1 && other.width == 1)
    return tx_select(e, valid, tx_from_storage(e, a.dtype, tx_element_at(e, &a, 0)), other);
  if (scalar) return e->language->load_scalar(e, &a, valid, other);
  return e->language->load_vector(e, &a, always ? NULL : &valid, other);
}

/* run-time bounds */

static tx_value binary(tx_emitter *e, ir_op op, tx_value a, tx_value b) {
  return tx_combine(e, op, a.kind == TX_I32 ? IR_I32 : IR_I64, a, b);
}

static tx_value as_unsigned(tx_emitter *e, tx_value v) {
  unsigned kind = tx_unsigned(v.kind);
  return v.width == 1 || v.literal ? tx_convert(e, v, kind) : tx_reinterpret(e, v, kind);
}

/* value >= extent or value < 0, as one unsigned comparison. */
static tx_value out_of_range(tx_emitter *e, tx_value value, tx_value extent) {
  return tx_compare(e, IR_OP_GE, IR_U64, as_unsigned(e, value), as_unsigned(e, extent));
}

/* The index, counted from the end where negative; tested by one unsigned comparison; clamped. */
tx_value tx_emit_bound(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  ir_dtype dtype = ir_dtype_of(e->g, n->src[0]);
  bool is_signed = ir_dtypes[dtype].kind == IR_KIND_SIGNED || dtype == IR_INDEX;
  unsigned wanted = tx_index_kind(e, ref);
  tx_value value = tx_at(e, n->src[0]), extent = tx_at(e, n->src[1]);
  bool fits = cg_fits_32_bits(e->g, n->src[1]) && tx_bytes(value.kind) <= 4 && value.kind != TX_U32;
  unsigned kind = fits ? wanted : TX_I64;
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
  if ((clips || ir_arg_mode(n) == IR_GATHER_CHECK) && !ir_is_false(e->g, n->src[2])) {
    tx_value bad = out_of_range(e, clips ? tx_splat(e, zero, value.width) : value, extent);
    if (!ir_is_true(e->g, n->src[2])) bad = tx_both(e, bad, tx_at(e, n->src[2]), TX_AND);
    tx_line(e, e->language->report, tx_any(e, bad).text);
    e->checks = true;
  }
  tx_value held;
  if (is_signed) held = binary(e, IR_OP_MAX, binary(e, IR_OP_MIN, value, last), zero);
  else
    held = tx_reinterpret(e, tx_combine(e, IR_OP_MIN, IR_U64, as_unsigned(e, value), as_unsigned(e, last)),
                          kind);
  /* Where only the condition of the test has lanes, so has the node. */
  return tx_splat(e, tx_index_as(e, held, wanted), tx_width(e, e->nest->width[ref]));
}
