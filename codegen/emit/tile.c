/* Tiles: which unrolled values of a load are contiguous in memory where its vector lanes are not, and which
 * unrolled values of a store fill the gaps between its vector lanes. */
#include "codegen/emit/nest.h"

/* The number of columns of a tile: the largest power of two that divides the loop's extent and exceeds
 * neither the elements of a vector register nor the number of rows. */
static uint32_t tile_column_count(uint32_t rows, uint32_t vector_bytes, uint32_t bytes, int64_t extent) {
  uint32_t count = 1, most = vector_bytes / bytes;
  while (extent % (2 * count) == 0 && 2 * count <= most && 2 * count <= rows) count *= 2;
  return count;
}

/* Is it a constant of zero bits? */
static bool is_zero(const ir_graph *g, ir_ref value) {
  return ir_op_of(g, value) == IR_OP_CONST && ir_const_value(g, value).i == 0;
}

bool cg_tile_of(const cg_nest *nest, ir_ref load, int vector_bytes, int64_t small_step, cg_tile *out) {
  const ir_graph *g = &nest->graph;
  const ir_node *n = ir_get(g, load);
  uint32_t width = nest->width[n->src[1]];
  cg_access access = cg_access_of(nest, n->src[1]);
  if (width == 1 || (width & (width - 1)) || width != nest->width[load] || (!access.affine && !access.factor))
    return false;
  bool masked = !ir_is_true(g, n->src[2]);
  if (masked && !is_zero(g, n->src[3])) return false;
  if (access.affine && access.stride >= -1 && access.stride <= small_step) return false;
  const uint64_t *lanes = cg_lanes(nest, load);
  for (int64_t l = -1; (l = cg_set_next(nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &nest->loops[l];
    int64_t step;
    if (loop->binding != IR_UNROLL || !cg_stride(nest, n->src[1], (uint32_t)l, &step)) continue;
    if ((step != 1 && step != -1) || cg_set_has(cg_lanes(nest, n->src[2]), (uint32_t)l)) continue;
    uint32_t bytes = ir_dtypes[ir_dtype_of(g, n->src[0])].bytes;
    *out = (cg_tile){(uint32_t)l, tile_column_count(width, (uint32_t)vector_bytes, bytes, loop->extent),
                     step < 0, masked};
    if (out->count > 1) return true;
  }
  return false;
}

int64_t cg_alternating_loop(const cg_nest *nest, ir_ref store, int64_t most) {
  ir_ref index = ir_src(&nest->graph, store, 1);
  cg_access access = cg_access_of(nest, index);
  if (nest->width[index] == 1 || !access.affine) return -1;
  const uint64_t *lanes = cg_lanes(nest, store);
  for (int64_t l = -1; (l = cg_set_next(nest, lanes, l)) >= 0;) {
    const cg_loop *loop = &nest->loops[l];
    int64_t step;
    if (loop->binding == IR_UNROLL && loop->extent > 1 && loop->extent <= most &&
        access.stride == loop->extent && cg_stride(nest, index, (uint32_t)l, &step) && step == 1)
      return l;
  }
  return -1;
}
