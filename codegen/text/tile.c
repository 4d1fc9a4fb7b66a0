/* Loads of tiles. Where the unrolled values of one lane are contiguous in memory but the lanes of one
 * unrolled value are not, memory is read along the unrolled values, one row for each lane, and the tile is
 * transposed in registers. */
#include "codegen/emit/transpose.h"
#include "codegen/text/text.h"

#include <string.h>

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

/* In passes, each a perfect shuffle of all elements: one from the first half, one from the second half, and
 * so on. `count` is a power of two, the width is even. */
static void interleave_halves(tx_emitter *e, tx_value *v, uint32_t count) {
  uint32_t width = v[0].width, half = width / 2, order[CG_MAX_LANES];
  tx_value next[IR_MAX_INTERLEAVED];
  for (uint32_t distance = 1; distance < count && !e->order.failed; distance *= 2) {
    for (uint32_t i = 0; i < count && !e->order.failed; i++) {
      const tx_value *a = &v[i / 2], *b = &v[i / 2 + count / 2];
      for (uint32_t k = 0; k < width; k++) order[k] = i % 2 * half + k / 2 + k % 2 * width;
      next[i] = tx_temporary(e, e->language->shuffle(e, *a, *b, order, width));
    }
    if (!e->order.failed) memcpy(v, next, count * sizeof *v);
  }
}

/* Into each vector, the elements of one vector after the other. */
static void interleave_singly(tx_emitter *e, tx_value *v, uint32_t count) {
  uint32_t order[CG_MAX_LANES], width = v[0].width;
  tx_value mixed[IR_MAX_INTERLEAVED];
  for (uint32_t o = 0; o < count; o++) {
    mixed[o] = v[0];
    for (uint32_t k = 1; k < count && !e->order.failed; k++) {
      for (uint32_t p = 0; p < width; p++) {
        uint32_t flat = o * width + p, source = flat % count, lane = flat / count;
        order[p] = source == k ? width + lane : k > 1 ? p : lane;
      }
      mixed[o] = tx_temporary(e, e->language->shuffle(e, mixed[o], v[k], order, width));
    }
  }
  if (!e->order.failed) memcpy(v, mixed, count * sizeof *v);
}

void tx_interleave(tx_emitter *e, tx_value *v, uint32_t count) {
  bool halves = (count & (count - 1)) == 0 && v[0].width % 2 == 0;
  (halves ? interleave_halves : interleave_singly)(e, v, count);
}

/* `columns` unrolled values from the current lanes on, of the current subvector. */
static void read_tile(tx_emitter *e, ir_ref load, const cg_tile *t, uint32_t columns, void **unrolled) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  uint32_t width = tx_width(e, e->nest->width[load]);
  void *rows[CG_MAX_LANES], *transposed[CG_MAX_LANES];
  cg_shuffles shuffles = {e, two_input, NULL, NULL};
  int64_t first = e->order.lane[t->loop];
  if (t->falling) e->order.lane[t->loop] += columns - 1;
  tx_place a = tx_place_of(e, n->src[0], n->src[1], e->nest->width[load]);
  for (uint32_t i = 0; i < width && !e->order.failed; i++)
    rows[i] = kept(e, tx_read_contiguous(e, &a, i, columns));
  if (!e->order.failed)
    cg_transpose(&shuffles, rows, width, columns, (uint32_t)ir_dtypes[a.dtype].bytes, transposed);
  for (uint32_t k = 0; k < columns && !e->order.failed; k++) {
    e->order.lane[t->loop] = first + k;
    tx_value *values = unrolled[cg_unroll_index(&e->order, lanes)];
    tx_value column = *(const tx_value *)transposed[t->falling ? columns - 1 - k : k];
    values[e->subvector] = tx_temporary(e, tx_from_storage(e, a.dtype, column));
  }
  e->order.lane[t->loop] = first;
}

bool tx_emit_tile(tx_emitter *e, ir_ref load, void **unrolled) {
  const uint64_t *lanes = cg_lanes(e->nest, load);
  uint32_t vector = e->nest->width[load], subvectors = tx_subvectors(e, vector);
  cg_tile t;
  if (e->vectors == TX_ITEMS || !cg_tile_of(e->nest, load, e->target->vector_bytes, 1, &t) || t.masked)
    return false;
  uint32_t columns = t.count < tx_width(e, vector) ? t.count : tx_width(e, vector);
  for (size_t i = 0; i < cg_unroll_count(&e->order, lanes); i++)
    if (!(unrolled[i] = tx_values(e, subvectors))) return true;
  cg_first_lane(&e->order, lanes);
  do
    for (e->subvector = 0; e->subvector < subvectors && e->order.lane[t.loop] % columns == 0; e->subvector++)
      read_tile(e, load, &t, columns, unrolled);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  e->subvector = 0;
  return true;
}
