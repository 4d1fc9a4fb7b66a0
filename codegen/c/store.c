/* Stores and updates: each store with all its unrolled values.
 *
 * Unrolled values that fill the gaps between each other's elements (lane i of value k goes to element count*i
 * + k) are interleaved in registers and stored as whole vectors. A streaming store bypasses the caches where
 * its vectors are aligned and the output shares no memory with an input (codegen/llvm/store.c). */
#include "codegen/c/c.h"

static const char *type_name(tx_emitter *e, unsigned kind) { return tx_text(e, "%s", tx_type(e, kind, 1)); }

/* Does the store bypass the caches? Only vectors that fill a register and cache lines gain by it. */
static bool streams(const tx_emitter *e, ir_ref ref, const cc_place *a) {
  uint32_t bytes = a->width * tx_bytes(a->kind);
  return ir_arg_mode(ir_get(e->g, ref)) != IR_NO_STREAM && bytes == (uint32_t)e->target->vector_bytes &&
         cc_padded(a->width) == a->width;
}

/* "p0 != p1", the condition for streaming: the output shares no memory with an input, since cache lines that
 * were just read are written faster through the caches. Where most of an output streams (IR_STREAM_MOST),
 * every fourth block of 128 KiB of memory does not. */
static const char *condition_of_streaming(tx_emitter *e, ir_ref ref, const cc_place *a) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  const char *all = "";
  if (ir_arg_mode(ir_get(e->g, ref)) == IR_STREAM_MOST)
    all = tx_text(e, "((uintptr_t)(%s) & %d) != 0", cc_low_address(e, a), CG_CACHED_BLOCK_BITS);
  for (uint32_t i = 1; i < kernel->nsrc && e->nest->in_place; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 1 || slot > 31 || !(e->nest->in_place >> slot & 1)) continue;
    all = tx_text(e, "%s%s(uintptr_t)%s != (uintptr_t)p%d", all, *all ? " && " : "", a->memory, (int)slot);
  }
  return *all ? all : "true";
}

/* A contiguous vector in the order of memory. */
static void write_whole(tx_emitter *e, ir_ref ref, const cc_place *a, tx_value stored) {
  const char *to = cc_low_address(e, a), *name = "store", *more = "";
  cc_use_type(e, a->kind, a->width);
  if (cc_padded(a->width) != a->width) {
    name = "storepart", more = tx_text(e, ", %u", a->width);
  } else if (ref && streams(e, ref, a)) {
    name = "stream", more = tx_text(e, ", %s", condition_of_streaming(e, ref, a));
    e->streams = true;
  }
  if (name[2] == 'r') {
    cc_define(e, "VF_store(%s, %u)", type_name(e, a->kind), cc_padded(a->width));
    cc_define(e, "VF_stream(%s, %u, %u)", type_name(e, a->kind), a->width, a->width * tx_bytes(a->kind));
  } else {
    cc_define(e, "VF_%s(%s, %u)", name, type_name(e, a->kind), cc_padded(a->width));
  }
  tx_line(e, "%s_%s(%s, %s%s)", name, tx_type(e, a->kind, a->width), to, stored.text, more);
}

static void write_elements(tx_emitter *e, const cc_place *a, tx_value stored) {
  const char *name = a->affine ? "spread" : tx_text(e, "scatter_%s", type_name(e, a->lane_term.kind));
  cc_use_type(e, a->kind, a->width);
  if (!a->affine) cc_use_type(e, a->lane_term.kind, a->width);
  cc_define(e, "VF_%s(%s, %u)", name, type_name(e, a->kind), cc_padded(a->width));
  tx_line(e, "%s_%s(%s, %s, %s, %u)", name, tx_type(e, a->kind, a->width), cc_address(e, a),
          a->affine ? tx_text(e, "%lld", (long long)a->stride) : a->lane_term.text, stored.text, a->width);
}

static tx_value stored_value(tx_emitter *e, ir_ref ref, ir_dtype dtype, uint32_t width) {
  tx_value v = tx_at(e, ir_src(e->g, ref, 2));
  if (dtype == IR_BOOL && width > 1) v = tx_mask(e, v, v.width > 1 ? v.kind : TX_I8, width);
  return tx_to_storage(e, dtype, tx_splat(e, v, width));
}

static void store_one(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref];
  cc_place a = cc_place_of(e, n->src[0], n->src[1], width);
  tx_value stored = stored_value(e, ref, a.dtype, width);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0; /* the last lane's value remains */
  if (width == 1 || (a.affine && a.stride == 0))
    tx_line(e, "%s = %s", cc_element_at(e, &a, 0).text,
            tx_element(e, tx_temporary(e, stored), width - 1).text);
  else if (cc_is_whole(&a)) write_whole(e, ref, &a, cc_memory_order(e, &a, stored));
  else write_elements(e, &a, stored);
}

/* All unrolled values along `loop`, whose elements alternate. */
static void store_alternating(tx_emitter *e, ir_ref ref, uint32_t loop) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref], count = (uint32_t)e->nest->loops[loop].extent;
  tx_value v[IR_MAX_INTERLEAVED], mixed[IR_MAX_INTERLEAVED];
  cc_place a = cc_place_of(e, n->src[0], n->src[1], width);
  a.stride = 1;
  for (uint32_t k = 0; k < count; k++) {
    e->order.lane[loop] = k;
    v[k] = tx_temporary(e, stored_value(e, ref, a.dtype, width));
  }
  e->order.lane[loop] = 0;
  cc_interleave(e, v, count, mixed);
  for (uint32_t k = 0; k < count && !e->order.failed; k++) {
    cc_place part = a;
    part.base = tx_sum(e, a.base, tx_index_literal(e, (int64_t)k * width));
    write_whole(e, ref, &part, mixed[k]);
  }
}

void cc_emit_store(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  int64_t alternating = cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
  cg_first_lane(&e->order, lanes);
  do
    if (alternating < 0) store_one(e, ref);
    else if (e->order.lane[alternating] == 0) store_alternating(e, ref, (uint32_t)alternating);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* updates */

static void update_one(tx_emitter *e, const cc_place *a, ir_op op, uint32_t lane, tx_value value) {
  tx_value to = cc_element_at(e, a, lane);
  if (op == IR_OP_ADD) value = tx_combine(e, op, a->dtype, tx_from_storage(e, a->dtype, to), value);
  tx_line(e, "%s = %s", to.text, tx_to_storage(e, a->dtype, value).text);
}

static void update_whole(tx_emitter *e, const cc_place *a, ir_op op, tx_value value) {
  value = cc_memory_order(e, a, value);
  cc_place low = *a;
  if (a->stride == -1) low.base = tx_sum(e, a->base, tx_index_literal(e, -(int64_t)(a->width - 1)));
  low.stride = 1;
  if (op == IR_OP_ADD) {
    tx_value old = tx_from_storage(e, a->dtype, cc_read_contiguous(e, &low, 0, a->width));
    value = tx_combine(e, op, a->dtype, old, value);
  }
  write_whole(e, 0, &low, tx_to_storage(e, a->dtype, value));
}

/* Contiguous lanes with one common condition are one access. Other lanes are updated one after another, since
 * two of them may address the same element. */
void cc_emit_update(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  const ir_node *n = ir_get(e->g, ref);
  uint32_t width = e->nest->width[ref], valid_width = e->nest->width[n->src[2]];
  cc_place a = cc_place_of(e, n->src[0], n->src[1], width);
  if (e->nest->width[n->src[1]] == 1) a.stride = 0;
  bool surely = ir_is_true(e->g, n->src[2]), whole = width > 1 && cc_is_whole(&a) && valid_width == 1;
  tx_value valid = tx_at(e, n->src[2]), value = tx_at(e, n->src[3]);
  if (width > 1 && a.dtype == IR_BOOL) value = tx_mask(e, value, value.width > 1 ? value.kind : TX_I8, width);
  value = tx_temporary(e, tx_splat(e, value, width));
  if (valid_width > 1) valid = tx_temporary(e, valid);
  for (uint32_t i = 0; i < (whole ? 1 : width) && !e->order.failed; i++) {
    if (!surely) tx_open(e, "if (%s)", tx_element(e, valid, i).text);
    if (whole) update_whole(e, &a, (ir_op)n->arg, value);
    else update_one(e, &a, (ir_op)n->arg, i, tx_lane(e, a.dtype, value, i));
    if (!surely) tx_close(e);
  }
}
