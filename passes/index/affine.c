/* Nodes, strides and extents of index expressions. */
#include "affine.h"

uint32_t affine_find_range(ir_graph *g, ir_ref root, ir_op op, ir_ref *out, uint32_t room) {
  return ir_find_below(g, root, ir_holds_bit(op), op, out, room);
}

bool *affine_always_needed(ir_graph *g, const ir_ref *roots, uint32_t root_count, const ir_ref *live,
                           size_t count) {
  bool *usual = ir_alloc(g->mem, g->count);
  if (!usual) return NULL;
  for (size_t i = 0; i < count; i++) usual[live[i]] = false;
  for (uint32_t i = 0; i < root_count; i++) usual[roots[i]] = true;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, live[i]);
    for (uint32_t k = 0; k < n->nsrc && usual[live[i]]; k++)
      usual[n->src[k]] |= n->op != IR_OP_RARE || k != 1;
  }
  return usual;
}

bool affine_depends(ir_graph *g, ir_ref root, ir_ref range) { return ir_is_below(g, root, range); }

bool affine_stride(ir_graph *g, ir_ref index, ir_ref range, int64_t *stride) {
  const ir_node *n = ir_get(g, index);
  const ir_ref *terms = n->op == IR_OP_ADD ? n->src : &index;
  uint32_t count = n->op == IR_OP_ADD ? n->nsrc : 1;
  *stride = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ir_node *t = ir_get(g, terms[i]);
    int64_t factor;
    if (terms[i] == range) *stride += 1;
    else if (t->op == IR_OP_MUL && t->nsrc == 2 && t->src[0] == range && ir_is_const(g, t->src[1], &factor))
      *stride += factor;
    else if (affine_depends(g, terms[i], range)) return false;
  }
  return true;
}

ir_ref affine_most_extent(ir_graph *g, ir_ref range) {
  ir_ref size = ir_src(g, range, 0), other;
  return affine_find_range(g, size, IR_OP_RANGE, &other, 1) ? ir_index(g, ir_bounds_of(g, size).hi) : size;
}
