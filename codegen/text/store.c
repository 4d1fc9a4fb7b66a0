/* Stores and updates: each store with all its unrolled values.
 *
 * Unrolled values that fill the gaps between each other's elements (lane i of value k goes to element count*i
 * + k) are interleaved in registers and stored as whole vectors. */
#include "codegen/text/text.h"

/* "p0 != p1": the output shares no memory with an input, since cache lines that were just read are written
 * faster through the caches. Where most of an output streams (IR_STREAM_MOST), every fourth block of 128 KiB
 * of memory does not. */
const char *tx_condition_of_streaming(tx_emitter *e, ir_ref ref, const tx_place *a) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  const char *all = "";
  if (ir_arg_mode(ir_get(e->g, ref)) == IR_STREAM_MOST)
    all = tx_text(e, "((size_t)(%s) & %d) != 0", tx_low_address(e, a), CG_CACHED_BLOCK_BITS);
  for (uint32_t i = 1; i < kernel->nsrc && e->nest->in_place; i++) {
    const ir_node *n = ir_get(e->g, kernel->src[i]);
    int64_t slot = n->op == IR_OP_PARAM ? ir_arg_int(n) : 0;
    if (slot < 1 || slot > 31 || !(e->nest->in_place >> slot & 1)) continue;
    all = tx_text(e, "%s%s(size_t)%s != (size_t)p%d", all, *all ? " && " : "", a->memory, (int)slot);
  }
  return *all ? all : "true";
}

static tx_value stored_value(tx_emitter *e, ir_ref ref, ir_dtype dtype, uint32_t width) {
  return tx_splat(e, tx_to_storage(e, dtype, tx_at(e, ir_src(e->g, ref, 2))), width);
}

/* The value of the current lanes and subvector. Of lanes that go to one element, the last lane's remains. */
static void store_one(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes);
  tx_place a = tx_place_of(e, n->src[0], n->src[1], lanes);
  tx_value stored = stored_value(e, ref, a.dtype, width);
  if (e->vectors == TX_ITEMS) {
    e->language->store_item(e, ref, &a, stored);
  } else if (width == 1) {
    tx_line(e, "%s = %s", tx_element_at(e, &a, 0).text, stored.text);
  } else if (e->nest->width[n->src[1]] == 1 || (a.affine && a.stride == 0)) {
    a.affine = true, a.stride = 0;
    if (e->subvector + 1 == tx_subvectors(e, lanes))
      tx_line(e, "%s = %s", tx_element_at(e, &a, 0).text,
              tx_element(e, tx_temporary(e, stored), width - 1).text);
  } else if (tx_is_whole(&a)) {
    e->language->write_whole(e, ref, &a, tx_memory_order(e, &a, stored));
  } else {
    e->language->write_elements(e, &a, stored);
  }
}

/* All unrolled values along `loop`, whose elements alternate. */
static void store_alternating(tx_emitter *e, ir_ref ref, uint32_t loop) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes),
           count = (uint32_t)e->nest->loops[loop].extent;
  tx_value v[IR_MAX_INTERLEAVED];
  tx_place a = tx_place_of(e, n->src[0], n->src[1], lanes);
  a.stride = 1;
  for (uint32_t k = 0; k < count; k++) {
    e->order.lane[loop] = k;
    v[k] = tx_temporary(e, stored_value(e, ref, a.dtype, width));
  }
  e->order.lane[loop] = 0;
  tx_interleave(e, v, count);
  for (uint32_t k = 0; k < count && !e->order.failed; k++) {
    tx_place part = a;
    part.base = tx_sum(e, a.base, tx_index_literal(e, (int64_t)k * width));
    e->language->write_whole(e, ref, &part, v[k]);
  }
}

void tx_emit_store(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref], subvectors = tx_subvectors(e, width);
  int64_t alternating = e->vectors == TX_ITEMS ? -1 : cg_alternating_loop(e->nest, ref, IR_MAX_INTERLEAVED);
  bool halves = alternating >= 0 && e->nest->loops[alternating].extent != 3 && !(width & (width - 1));
  if (e->vectors == TX_SUBVECTORS && !halves) alternating = -1; /* no vector shuffles others */
  cg_first_lane(&e->order, lanes);
  do {
    for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
      if (alternating < 0) store_one(e, ref);
      else if (e->order.lane[alternating] == 0) store_alternating(e, ref, (uint32_t)alternating);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* updates */

static void update_one(tx_emitter *e, const tx_place *a, ir_op op, const char *guard, uint32_t lane,
                       tx_value value) {
  tx_value to = tx_element_at(e, a, lane);
  if (op == IR_OP_ADD) value = tx_combine(e, op, a->dtype, tx_from_storage(e, a->dtype, to), value);
  tx_line(e, "%s%s = %s", guard, to.text, tx_to_storage(e, a->dtype, value).text);
}

static void update_whole(tx_emitter *e, const tx_place *a, ir_op op, tx_value value) {
  tx_place low = *a;
  value = tx_memory_order(e, a, value);
  if (a->stride == -1) low.base = tx_sum(e, a->base, tx_index_literal(e, -(int64_t)(a->width - 1)));
  low.stride = 1;
  if (op == IR_OP_ADD) {
    tx_value old = tx_from_storage(e, a->dtype, tx_read_contiguous(e, &low, 0, a->width));
    value = tx_combine(e, op, a->dtype, old, value);
  }
  e->language->write_whole(e, 0, &low, tx_to_storage(e, a->dtype, value));
}

/* Contiguous lanes with one common condition are one access, and so are those that are stored under a mask.
 * Other lanes are updated one after another, since two of them may address the same element. */
static void update_subvector(tx_emitter *e, ir_ref ref) {
  const ir_node *n = ir_get(e->g, ref);
  uint32_t lanes = e->nest->width[ref], width = tx_width(e, lanes);
  ir_op op = (ir_op)n->arg;
  tx_place a = tx_place_of(e, n->src[0], n->src[1], lanes);
  bool surely = ir_is_true(e->g, n->src[2]), one_condition = e->nest->width[n->src[2]] == 1;
  if (e->nest->width[n->src[1]] == 1) a.affine = true, a.stride = 0;
  tx_value valid = tx_at(e, n->src[2]), value = tx_at(e, n->src[3]);
  if (width > 1) value = tx_temporary(e, value);
  if (width > 1 && one_condition && tx_is_whole(&a)) {
    if (!surely) tx_open(e, "if (%s)", valid.text);
    unsigned kind = value.width > 1 ? value.kind : TX_I8;
    bool truth = a.dtype == IR_BOOL;
    update_whole(e, &a, op, truth ? tx_mask(e, value, kind, width) : tx_splat(e, value, width));
    if (!surely) tx_close(e);
    return;
  }
  bool powers = !(width & (width - 1)), numbers = a.dtype != IR_BOOL && value.width == width;
  if (e->language->write_masked && !op && !surely && !one_condition && a.affine && a.stride == 1 && powers &&
      numbers) {
    e->language->write_masked(e, &a, valid, tx_to_storage(e, a.dtype, value));
    return;
  }
  if (width > 1 && !surely && !one_condition) valid = tx_temporary(e, valid);
  for (uint32_t i = 0; i < width && !e->order.failed; i++) {
    const char *guard = e->vectors == TX_ITEMS ? e->language->guard(e, lanes) : "";
    if (!surely) guard = tx_text(e, "%sif (%s) ", guard, tx_element(e, valid, i).text);
    update_one(e, &a, op, guard, i, tx_lane(e, a.dtype, value, i));
  }
}

void tx_emit_update(void *emitter, ir_ref ref) {
  tx_emitter *e = emitter;
  uint32_t subvectors = tx_subvectors(e, e->nest->width[ref]);
  for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
    update_subvector(e, ref);
  e->subvector = 0;
}
