/* Few columns, of which the last vector is a part: as many more columns of zeros as fill it. Without them
 * such a part is a narrower vector for each power of two in its number, each of which reads all rows. */
#include "pack.h"

#include "passes/ops/check.h"
#include "passes/ops/ops.h"

/* The operand with `size` columns: zeros behind its own, or each element repeated. */
static ir_ref widened(const pass_contraction *c, const pass_operand *o, uint32_t column, int64_t size) {
  ir_graph *g = c->g;
  ir_ref x = pack_unexpanded(c, o), zero = ir_index(g, 0), dims[IR_MAX_RANK], edges[2 * IR_MAX_RANK];
  for (uint32_t i = 0; i < c->rank; i++) {
    edges[2 * i] = edges[2 * i + 1] = zero;
    dims[i] = i == column ? ir_index(g, size) : ir_dim(g, o->value, i);
  }
  edges[2 * column + 1] = ir_index(g, size - c->size[column]);
  if (x && pack_has_axis(o->varies, column)) x = op_pad_known(g, x, edges, 0);
  return x ? op_grow(g, x, dims, c->rank) : 0;
}

ir_ref pack_wide_sum(const pass_contraction *c, uint32_t column, int64_t size) {
  ir_ref a = widened(c, &c->operand[0], column, size), b = widened(c, &c->operand[1], column, size);
  return a && b ? pack_sum(c, pack_product(c, a, b), c->reduced) : 0;
}

ir_ref pack_narrow_result(const pass_contraction *c, uint32_t column, ir_ref wide) {
  ir_graph *g = c->g;
  ir_ref bounds[2 * IR_MAX_RANK], stored = wide ? ir_unary(g, IR_OP_STORED, wide) : 0;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < c->rank && stored; i++) {
    if (pack_has_axis(c->reduced, i)) continue;
    bounds[2 * rank] = ir_index(g, 0);
    bounds[2 * rank + 1] = i == column ? ir_index(g, c->size[i]) : ir_dim(g, stored, rank);
    rank++;
  }
  return stored ? op_shrink_known(g, stored, bounds) : 0;
}
