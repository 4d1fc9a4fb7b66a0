/* Loads of tiles. Where the unrolled values of one lane are contiguous in memory but the lanes of one
 * unrolled value are not, memory is read along the unrolled values, one row for each lane, and the tile is
 * transposed in registers. */
#include "codegen/llvm/llvm.h"

/* The t->count unrolled values from the current lanes on. zeros: the address of a row of lanes that are not
 * loaded. */
static void read_tile(cg_emitter *e, ir_ref load, const cg_tile *t, LLVMValueRef zeros,
                      LLVMValueRef *unrolled) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  uint32_t width = e->nest->width[load];
  void *rows[CG_MAX_LANES], *columns[CG_MAX_LANES];
  cg_shuffles shuffles = cg_llvm_shuffles(e);
  int64_t first = e->order.lane[t->loop];
  if (t->falling) e->order.lane[t->loop] += t->count - 1;
  cg_place a = cg_place_of(e, n->src[0], n->src[1], width);
  LLVMValueRef valid = t->masked ? cg_fetch(e, n->src[2], width) : NULL;
  for (uint32_t i = 0; i < width; i++) {
    LLVMValueRef from = cg_lane_address(e, &a, i), lane = LLVMConstInt(e->i64, i, 0);
    if (valid) from = cg_select(e, LLVMBuildExtractElement(e->b, valid, lane, ""), from, zeros);
    a.invariant &= !valid; /* the row of zeros is stored before */
    rows[i] = cg_read(e, &a, cg_vector(a.element, t->count), from);
  }
  cg_transpose(&shuffles, rows, width, t->count, a.bytes, columns);
  for (uint32_t k = 0; k < t->count; k++) {
    e->order.lane[t->loop] = first + k;
    unrolled[cg_unroll_index(&e->order, lanes)] =
        cg_from_storage(e, a.dtype, width, columns[t->falling ? t->count - 1 - k : k]);
  }
  e->order.lane[t->loop] = first;
}

bool cg_emit_tile(cg_emitter *e, ir_ref load, LLVMValueRef *unrolled) {
  const uint64_t *lanes = cg_lanes(e->nest, load);
  cg_tile t;
  if (!cg_tile_of(e->nest, load, e->target->vector_bytes, IR_MAX_PICKED_STEP, &t)) return false;
  LLVMValueRef zeros = t.masked ? cg_zeros(e, ir_dtype_of(e->g, ir_src(e->g, load, 0)), t.count) : NULL;
  if (t.masked && !zeros) return false;
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.lane[t.loop] % t.count == 0) read_tile(e, load, &t, zeros, unrolled);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
