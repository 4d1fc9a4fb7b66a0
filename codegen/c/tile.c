/* Loads of tiles. Where the unrolled values of one lane are contiguous in memory but the lanes of one
 * unrolled value are not, memory is read along the unrolled values, one row for each lane, and the tile is
 * transposed in registers. */
#include "codegen/c/c.h"
#include "codegen/emit/transpose.h"

static void *kept(tx_emitter *e, tx_value v) {
  tx_value *made = tx_values(e, 1);
  if (made) *made = tx_temporary(e, v);
  return made;
}

static void *two_input(void *emitter, void *first, void *second, const uint32_t *order, uint32_t width) {
  tx_emitter *e = emitter;
  const tx_value *a = first, *b = second;
  return a && b && !e->order.failed ? kept(e, e->language->shuffle(e, *a, *b, order, width)) : NULL;
}

void cc_interleave(tx_emitter *e, const tx_value *from, uint32_t count, tx_value *out) {
  uint32_t order[CG_MAX_LANES], width = from[0].width;
  for (uint32_t o = 0; o < count; o++) {
    out[o] = from[0];
    for (uint32_t k = 1; k < count && !e->order.failed; k++) { /* inserts the elements of from[k] */
      for (uint32_t p = 0; p < width; p++) {
        uint32_t flat = o * width + p, source = flat % count, lane = flat / count;
        order[p] = source == k ? width + lane : k > 1 ? p : lane;
      }
      out[o] = tx_temporary(e, e->language->shuffle(e, out[o], from[k], order, width));
    }
  }
}

/* The t->count unrolled values from the current lanes on. */
static void read_tile(tx_emitter *e, ir_ref load, const cg_tile *t, void **unrolled) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  uint32_t width = e->nest->width[load];
  void *rows[CG_MAX_LANES], *columns[CG_MAX_LANES];
  cg_shuffles shuffles = {e, two_input, NULL, NULL};
  int64_t first = e->order.lane[t->loop];
  if (t->falling) e->order.lane[t->loop] += t->count - 1;
  cc_place a = cc_place_of(e, n->src[0], n->src[1], width);
  for (uint32_t i = 0; i < width && !e->order.failed; i++)
    rows[i] = kept(e, cc_read_contiguous(e, &a, i, t->count));
  if (!e->order.failed)
    cg_transpose(&shuffles, rows, width, t->count, (uint32_t)ir_dtypes[a.dtype].bytes, columns);
  for (uint32_t k = 0; k < t->count && !e->order.failed; k++) {
    e->order.lane[t->loop] = first + k;
    tx_value *value = unrolled[cg_unroll_index(&e->order, lanes)];
    tx_value column = *(const tx_value *)columns[t->falling ? t->count - 1 - k : k];
    *value = tx_temporary(e, tx_from_storage(e, a.dtype, column));
  }
  e->order.lane[t->loop] = first;
}

bool cc_emit_tile(tx_emitter *e, ir_ref load, void **unrolled) {
  const uint64_t *lanes = cg_lanes(e->nest, load);
  cg_tile t;
  if (!cg_tile_of(e->nest, load, e->target->vector_bytes, 1, &t)) return false;
  for (size_t i = 0; i < cg_unroll_count(&e->order, lanes); i++)
    if (!(unrolled[i] = tx_values(e, 1))) return true;
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.lane[t.loop] % t.count == 0) read_tile(e, load, &t, unrolled);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
