/* The forms of loads and stores in C. What a kernel only reads may begin at any address, what it writes is
 * aligned as its elements are. A streaming store bypasses the caches where its vectors are aligned and the
 * output shares no memory with an input (codegen/llvm/store.c). */
#include "codegen/c/c.h"

/* A call of a function that reads a vector; the line VF_`name`(T, `types` n) defines it. */
static tx_value read_by(tx_emitter *e, const tx_place *a, const char *name, const char *types,
                        const char *arguments) {
  cc_use_type(e, a->kind, a->width);
  cc_define(e, "VF_%s(%s, %s%u)", name, tx_type(e, a->kind, 1), types, cc_padded(a->width));
  return tx_make(e, a->kind, a->width, TX_ATOM, "%s_%s(%s)", name, tx_type(e, a->kind, a->width), arguments);
}

tx_value cc_read_whole(tx_emitter *e, const tx_place *a) {
  const char *from = tx_low_address(e, a);
  if (cc_padded(a->width) == a->width) return read_by(e, a, "load", "", from);
  return read_by(e, a, "loadpart", "", tx_text(e, "%s, %u", from, a->width));
}

/* Elements one by one, where `mask` holds (NULL: everywhere). Those that are not valid are 0. */
static tx_value read_elements(tx_emitter *e, const tx_place *a, const tx_value *mask) {
  const char *index = a->affine ? tx_text(e, "%lld", (long long)a->stride) : a->lane_term.text;
  const char *suffix = mask ? "if" : "", *arguments = tx_text(e, "%s, %s", tx_address(e, a), index);
  if (!a->affine) cc_use_type(e, a->lane_term.kind, a->width);
  const char *name = a->affine ? tx_text(e, "strided%s", suffix)
                               : tx_text(e, "gather%s_%s", suffix, tx_type(e, a->lane_term.kind, 1));
  if (!mask) return read_by(e, a, name, "", tx_text(e, "%s, %u", arguments, a->width));
  return read_by(e, a, name, tx_text(e, "%s, ", tx_type(e, mask->kind, 1)),
                 tx_text(e, "%s, %s, %u", arguments, mask->text, a->width));
}

static tx_value zero(tx_emitter *e, unsigned kind) {
  return tx_is_real(kind) ? tx_real(e, kind, 0) : tx_literal(e, kind, 0);
}

/* The stored elements where valid holds in each lane. */
static tx_value read_masked(tx_emitter *e, const tx_place *a, tx_value valid) {
  valid = tx_temporary(e, tx_convert(e, valid, tx_signed(a->kind)));
  cc_use_type(e, valid.kind, a->width);
  if (!tx_is_whole(a)) return read_elements(e, a, &valid);
  tx_value mask = tx_memory_order(e, a, valid);
  tx_value some = read_by(e, a, "loadif", tx_text(e, "%s, ", tx_type(e, mask.kind, 1)),
                          tx_text(e, "%s, %s, %u", tx_low_address(e, a), mask.text, a->width));
  return tx_memory_order(e, a, some);
}

tx_value cc_load_vector(tx_emitter *e, const tx_place *a, const tx_value *valid, tx_value other) {
  if (valid && valid->width > 1)
    return tx_select(e, *valid, tx_from_storage(e, a->dtype, read_masked(e, a, *valid)), other);
  tx_value stored = tx_is_whole(a) ? cc_read_whole(e, a) : read_elements(e, a, NULL);
  if (!valid) return tx_from_storage(e, a->dtype, tx_memory_order(e, a, stored));
  stored = tx_make(e, a->kind, a->width, TX_LOOSE, "%s ? %s : %s", tx_parenthesised(e, *valid, TX_UNARY),
                   stored.text, tx_splat(e, zero(e, a->kind), a->width).text);
  stored = tx_memory_order(e, a, tx_temporary(e, stored));
  return tx_select(e, *valid, tx_from_storage(e, a->dtype, stored), other);
}

tx_value cc_load_scalar(tx_emitter *e, const tx_place *a, tx_value valid, tx_value other) {
  tx_value v = tx_from_storage(e, a->dtype, tx_element_at(e, a, 0));
  tx_value some =
      tx_make(e, v.kind, 1, TX_LOOSE, "%s ? %s : %s", tx_parenthesised(e, tx_any(e, valid), TX_UNARY),
              tx_parenthesised(e, v, TX_UNARY), zero(e, v.kind).text);
  return tx_select(e, valid, tx_temporary(e, some), other);
}

/* Does the store bypass the caches? Only vectors that fill a register and cache lines gain by it, and all
 * unrolled ones of a store do or none: a line of which a part was streamed is fetched again for the other. */
static bool streams(const tx_emitter *e, ir_ref ref, const tx_place *a) {
  uint32_t bytes = a->width * tx_bytes(a->kind);
  if (!ref || !ir_streams(ir_arg_mode(ir_get(e->g, ref))) || bytes != (uint32_t)e->target->vector_bytes ||
      cc_padded(a->width) != a->width)
    return false;
  int64_t alternating = cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
  bool fills = bytes % IR_CACHE_LINE_BYTES == 0 ||
               (cg_unroll_count(&e->order, cg_lanes(e->nest, ref)) == 1 && cg_in_sequence(&e->order, ref)) ||
               (alternating >= 0 && e->nest->loops[alternating].extent * bytes % IR_CACHE_LINE_BYTES == 0);
  return fills && cg_aligned_together(e->nest, ref, alternating, tx_bytes(a->kind), bytes);
}

void cc_write_whole(tx_emitter *e, ir_ref ref, const tx_place *a, tx_value stored) {
  const char *type = tx_type(e, a->kind, 1), *vector = tx_type(e, a->kind, a->width),
             *to = tx_low_address(e, a);
  bool whole = cc_padded(a->width) == a->width;
  cc_use_type(e, a->kind, a->width);
  cc_define(e, "VF_%s(%s, %u)", whole ? "store" : "storepart", type, cc_padded(a->width));
  if (streams(e, ref, a)) {
    e->streams = true;
    cc_define(e, "VF_stream(%s, %u, %u)", type, a->width, a->width * tx_bytes(a->kind));
    tx_line(e, "stream_%s(%s, %s, %s)", vector, to, stored.text, tx_condition_of_streaming(e, ref, a));
  } else if (whole) {
    tx_line(e, "store_%s(%s, %s)", vector, to, stored.text);
  } else {
    tx_line(e, "storepart_%s(%s, %s, %u)", vector, to, stored.text, a->width);
  }
}

void cc_write_masked(tx_emitter *e, const tx_place *a, tx_value valid, tx_value stored) {
  valid = tx_convert(e, valid, tx_signed(a->kind));
  cc_use_type(e, valid.kind, a->width);
  cc_use_type(e, a->kind, a->width);
  cc_define(e, "VF_storeif(%s, %s, %u)", tx_type(e, a->kind, 1), tx_type(e, valid.kind, 1), a->width);
  tx_line(e, "storeif_%s(%s, %s, %s)", tx_type(e, a->kind, a->width), tx_low_address(e, a), valid.text,
          stored.text);
}

void cc_write_elements(tx_emitter *e, const tx_place *a, tx_value stored) {
  const char *name = a->affine ? "spread" : tx_text(e, "scatter_%s", tx_type(e, a->lane_term.kind, 1));
  cc_use_type(e, a->kind, a->width);
  if (!a->affine) cc_use_type(e, a->lane_term.kind, a->width);
  cc_define(e, "VF_%s(%s, %u)", name, tx_type(e, a->kind, 1), cc_padded(a->width));
  tx_line(e, "%s_%s(%s, %s, %s, %u)", name, tx_type(e, a->kind, a->width), tx_address(e, a),
          a->affine ? tx_text(e, "%lld", (long long)a->stride) : a->lane_term.text, stored.text, a->width);
}
