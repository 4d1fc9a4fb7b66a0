/* The forms of loads and stores in OpenCL C. */
#include "codegen/opencl/opencl.h"

/* addresses */

/* The index of the work-item's element, in long arithmetic unless all of it fits in 32 bits. */
static tx_value lane_index(tx_emitter *e, ir_ref index, const cg_access *how) {
  enum { MAX_STRIDE = INT32_MAX / CG_MAX_LANES }; /* elements: times any lane it fits in 32 bits */
  tx_value base = how->base ? tx_at(e, how->base) : tx_literal(e, TX_I32, 0), lane_term;
  bool fits = cg_fits_32_bits(e->g, index);
  if (e->nest->width[index] == 1) return base;
  if (how->affine) {
    const uint64_t *lanes = cg_lanes(e->nest, index);
    int64_t l = cg_set_next(e->nest, lanes, -1);
    while (e->nest->loops[l].binding != IR_VECTOR) l = cg_set_next(e->nest, lanes, l);
    tx_value lane = tx_at(e, e->nest->loops[l].range);
    fits = fits && how->stride <= MAX_STRIDE && how->stride >= -MAX_STRIDE;
    if (!fits) lane = tx_index_as(e, lane, TX_I64);
    lane_term = how->stride == 1
                    ? lane
                    : tx_make(e, lane.kind, 1, TX_PRODUCT, "%s*%s", tx_parenthesised(e, lane, TX_PRODUCT),
                              tx_index_literal(e, how->stride).text);
  } else {
    lane_term = tx_at(e, how->lane_term);
    if (!fits) lane_term = tx_index_as(e, lane_term, TX_I64);
  }
  return tx_sum(e, base, lane_term);
}

tx_value oc_item_index(tx_emitter *e, ir_ref param, ir_ref index, const cg_access *how) {
  return oc_is_private(e, param) ? oc_private_index(e, index) : lane_index(e, index, how);
}

tx_value oc_read_aligned(tx_emitter *e, ir_ref param, ir_ref index, uint32_t count) {
  tx_place a = tx_place_of(e, param, index, e->nest->width[index]);
  return tx_make(e, a.kind, count, TX_UNARY, "*(local %s *)(%s)", tx_type(e, a.kind, count),
                 tx_address(e, &a));
}

const char *oc_address(tx_emitter *e, ir_ref param, ir_ref index) {
  tx_place a = tx_place_of(e, param, index, e->nest->width[index]);
  return tx_address(e, &a);
}

/* loads */

tx_value oc_read_whole(tx_emitter *e, const tx_place *a) {
  return tx_make(e, a->kind, a->width, TX_ATOM, "VF_LOAD(%s, %s, %u, %s)", a->space, tx_type(e, a->kind, 1),
                 a->width, tx_low_address(e, a));
}

/* Declares a variable whose elements later statements assign. */
static tx_value blank(tx_emitter *e, unsigned kind, uint32_t width, const char *init) {
  const char *name = tx_text(e, "v%u", e->last_number++);
  tx_line(e, "%s %s%s%s", tx_type(e, kind, width), name, *init ? " = " : "", init);
  return tx_make(e, kind, width, TX_ATOM, "%s", name);
}

/* Assigns to each of `elements` what is stored at its index, where `valid` holds (NULL: everywhere). */
static void read_elements(tx_emitter *e, const tx_place *a, tx_value elements, const tx_value *valid) {
  const char *at = a->affine ? tx_literal(e, TX_I64, a->stride).text : a->lane_term.text;
  tx_line(e, "VF_EACH_%u(VF_%s%s, %s, %s, %s, %s)", a->width, a->affine ? "LOAD_STRIDED" : "GATHER",
          valid ? "_IF" : "", elements.text, tx_address(e, a), at, valid ? valid->text : "true");
}

tx_value oc_load_scalar(tx_emitter *e, const tx_place *a, tx_value valid, tx_value other) {
  tx_value v = tx_from_storage(e, a->dtype, tx_element_at(e, a, 0)), some = blank(e, v.kind, 1, "0");
  tx_line(e, "if (%s) %s = %s", tx_any(e, valid).text, some.text, v.text);
  return tx_select(e, valid, some, other);
}

tx_value oc_load_vector(tx_emitter *e, const tx_place *a, const tx_value *valid, tx_value other) {
  bool whole = tx_is_whole(a);
  tx_value read = whole ? tx_memory_order(e, a, oc_read_whole(e, a)) : (tx_value){0};
  if (!valid && whole) return tx_from_storage(e, a->dtype, read);
  tx_value elements = blank(e, a->kind, a->width, valid ? "0" : "");
  if (!valid) {
    read_elements(e, a, elements, NULL);
    return tx_from_storage(e, a->dtype, elements);
  }
  bool lanes = valid->width > 1;
  tx_value mask = lanes ? tx_temporary(e, *valid) : *valid;
  if (whole)
    tx_line(e, lanes ? "if (VF_ALL(%s)) %s = %s" : "if (%s) %s = %s", mask.text, elements.text, read.text);
  if (lanes && whole) tx_open(e, "else");
  else if (!lanes && !whole) tx_open(e, "if (%s)", mask.text);
  if (lanes || !whole) read_elements(e, a, elements, lanes ? &mask : NULL);
  if (lanes == whole) tx_close(e);
  return tx_select(e, mask, tx_from_storage(e, a->dtype, elements), other);
}

/* stores */

/* Does the store bypass the caches? Only vectors that fill cache lines gain by it. */
static bool streams(const tx_emitter *e, ir_ref ref, const tx_place *a) {
  return ref && ir_arg_mode(ir_get(e->g, ref)) && a->width > 1 &&
         e->nest->width[ref] * tx_bytes(a->kind) % IR_CACHE_LINE_BYTES == 0;
}

void oc_write_whole(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored) {
  if (!streams(e, ref, a)) {
    tx_line(e, "VF_STORE(%s, %s, %u, %s, %s)", a->space, tx_type(e, a->kind, 1), a->width, stored.text,
            tx_low_address(e, a));
    return;
  }
  stored = tx_temporary(e, stored);
  e->streams = true;
  tx_line(e, "VF_STORE_NONTEMPORAL(%s, %u, %s, %s, %s)", tx_type(e, a->kind, 1), a->width, stored.text,
          tx_low_address(e, a), tx_condition_of_streaming(e, ref, a));
}

void oc_write_elements(tx_emitter *e, const tx_place *a, tx_value stored) {
  stored = tx_temporary(e, stored);
  tx_line(e, "VF_EACH_%u(VF_%s, %s, %s, %s, true)", a->width, a->affine ? "STORE_STRIDED" : "SCATTER",
          stored.text, tx_address(e, a),
          a->affine ? tx_literal(e, TX_I64, a->stride).text : a->lane_term.text);
}

/* A store to a local that only later iterations read is deferred to the end of the iteration. */
void oc_store_item(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref];
  const char *guard = oc_is_private(e, n->src[0]) ? "" : oc_guard(e, lanes),
             *to = tx_element_at(e, a, 0).text;
  if (e->nest->width[n->src[1]] == 1 && lanes > 1) /* the last lane's value remains */
    guard = tx_text(e, "if (lane == %u) ", lanes - 1);
  if (oc_of(e)->late_depth != e->depth || !oc_is_ahead(e, ref)) {
    tx_line(e, "%s%s = %s", guard, to, stored.text);
    return;
  }
  stored = tx_temporary(e, stored);
  for (uint32_t i = 0; i < e->depth; i++) ir_text_str(&oc_of(e)->late, "  ");
  ir_textf(&oc_of(e)->late, "%s%s = %s;\n", guard, to, stored.text);
}

void oc_emit_store(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  if (!oc_store_vectors(e, ref)) tx_emit_store(e, ref);
  oc_after_effect(e, ref);
}

void oc_emit_update(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  tx_emit_update(e, ref);
  oc_after_effect(e, ref);
}
