/* Prefetching for the epilogue of a register tile. The rows of a tile lie apart in what the epilogue reads,
 * as a residual that is added: each has a few lines there, which no hardware prefetcher foresees. They are
 * read together when the sums are ready, and nothing is left to compute while they come from an outer cache.
 * So each tile prefetches those of the next one along the rows, which has all its terms to wait for them. */
#include "cpu.h"

#include "passes/index/index.h"

/* Is the load inside of the reduction? */
static bool is_term(const ir_ref *terms, uint32_t count, ir_ref load) {
  for (uint32_t i = 0; i < count; i++)
    if (terms[i] == load) return true;
  return false;
}

/* Elements from a tile's load to the same one of the next tile along the rows; 0: it needs no prefetch, as it
 * is in the L1 cache, or in lines that this tile has read, or is a gather. */
static int64_t to_next_tile(const loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref load) {
  ir_graph *g = n->g;
  const ir_node *l = ir_get(g, load);
  int64_t step, lane, bytes = ir_dtypes[l->dtype].bytes;
  if (ir_op_of(g, l->src[0]) != IR_OP_PARAM || l->arg != 0 || !ir_is_true(g, l->src[2]) ||
      !affine_stride(g, l->src[1], row->range, &step) || !affine_stride(g, l->src[1], vector->range, &lane))
    return 0;
  bool apart = step >= IR_CACHE_LINE_BYTES / bytes && step <= INT32_MAX / row->unroll;
  bool large = ir_bounds_of(g, ir_src(g, l->src[0], 0)).hi > n->target->l1_bytes / bytes;
  return apart && large && lane == 1 ? step * row->unroll : 0;
}

ir_ref loop_prefetch_epilogue(loop_nest *n, const loop_axis *vector, const loop_axis *row, ir_ref store,
                              const ir_ref *terms, uint32_t count) {
  ir_graph *g = n->g;
  ir_ref loads[LOOP_MAX_LOADS], from[LOOP_MAX_LOADS], to[LOOP_MAX_LOADS];
  uint32_t found = affine_find_range(g, store, IR_OP_LOAD, loads, LOOP_MAX_LOADS), used = 0;
  for (uint32_t i = 0; i < found; i++) {
    int64_t elements = is_term(terms, count, loads[i]) ? 0 : to_next_tile(n, vector, row, loads[i]);
    if (elements) from[used] = loads[i], to[used++] = loop_load_ahead(g, loads[i], elements, IR_NO_STREAM);
  }
  return used ? pass_substitute(g, store, from, to, used) : store;
}
