/* Loads of tiles. Where elements of one lane's copies lie side by side but those of one copy's lanes do not,
 * memory is read along the copies, a row for each lane, and the tile is turned in registers. */
#include "codegen/llvm.h"

/* How copies of a load lie: `count` of them side by side, first to last or, if `falling`, last to first. */
typedef struct tile {
  uint32_t loop, count;
  bool falling;
} tile;

/* So many copies that a row is no longer than a vector and fits the number of rows. */
static uint32_t columns_of(const cg_emitter *e, uint32_t rows, uint32_t bytes, int64_t extent) {
  uint32_t count = 1, most = (uint32_t)e->target->vector_bytes / bytes;
  while (extent % (2 * count) == 0 && 2 * count <= most && 2 * count <= rows) count *= 2;
  return count;
}

static bool find_tile(const cg_emitter *e, ir_ref load, tile *out) {
  const cg_nest *nest = e->nest;
  const ir_node *n = ir_get(e->g, load);
  uint32_t width = nest->width[n->src[1]];
  cg_access access = cg_access_of(nest, n->src[1]);
  if (width == 1 || (width & (width - 1)) || width != nest->width[load] ||
      (!access.affine && !access.factor) || !ir_is_true(e->g, n->src[2]))
    return false;
  if (access.affine && access.stride >= -1 && access.stride <= CG_MAX_STEP) return false;
  const uint64_t *lanes = cg_lanes(nest, load);
  for (int64_t l = -1; (l = cg_set_next(nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &nest->loops[l];
    int64_t step;
    if (loop->binding != IR_UNROLL || !cg_stride(nest, n->src[1], (uint32_t)l, &step)) continue;
    if (step != 1 && step != -1) continue;
    uint32_t bytes = ir_dtypes[ir_dtype_of(e->g, n->src[0])].bytes;
    *out = (tile){(uint32_t)l, columns_of(e, width, bytes, loop->extent), step < 0};
    if (out->count > 1) return true;
  }
  return false;
}

/* The copies from the current digits on. */
static void read_tile(cg_emitter *e, ir_ref load, const tile *t, LLVMValueRef *copies) {
  const ir_node *n = ir_get(e->g, load);
  const uint64_t *lanes = cg_lanes(e->nest, load);
  uint32_t width = e->nest->width[load];
  LLVMValueRef rows[CG_MAX_LANES], columns[CG_MAX_LANES];
  int64_t first = e->order.digit[t->loop];
  if (t->falling) e->order.digit[t->loop] += t->count - 1;
  cg_place a = cg_place_of(e, n->src[0], n->src[1], width);
  ir_ref factor = cg_access_of(e->nest, n->src[1]).factor;
  LLVMValueRef step = factor ? cg_fetch_index(e, factor, 1, 64) : NULL, at = LLVMConstInt(e->i64, 0, 0);
  for (uint32_t i = 0; i < width; i++) {
    LLVMValueRef from = step ? cg_address(e, &a, at) : cg_lane_address(e, &a, i);
    rows[i] = cg_read(e, &a, cg_vector(a.element, t->count), from);
    if (step) at = LLVMBuildAdd(e->b, at, step, "");
  }
  cg_transpose(e, rows, width, t->count, a.bytes, columns);
  for (uint32_t k = 0; k < t->count; k++) {
    e->order.digit[t->loop] = first + k;
    copies[cg_copy_at(&e->order, lanes)] =
        cg_from_storage(e, a.dtype, width, columns[t->falling ? t->count - 1 - k : k]);
  }
  e->order.digit[t->loop] = first;
}

bool cg_emit_tile(cg_emitter *e, ir_ref load, LLVMValueRef *copies) {
  const uint64_t *lanes = cg_lanes(e->nest, load);
  tile t;
  if (!find_tile(e, load, &t)) return false;
  cg_first_lane(&e->order, lanes);
  do
    if (e->order.digit[t.loop] % t.count == 0) read_tile(e, load, &t, copies);
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return true;
}
