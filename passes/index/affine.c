/* Nodes, strides and extents of index expressions. */
#include "affine.h"

#include <string.h>

uint32_t affine_find_range(ir_graph *g, ir_ref root, ir_op op, ir_ref *out, uint32_t room) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint32_t found = 0;
  if (ir_reachable_in_order(g, &root, 1, &live, &count, &cap) == IR_OK)
    for (size_t i = 0; i < count && found < room; i++)
      if (ir_op_of(g, live[i]) == op) out[found++] = live[i];
  ir_free(g->mem, live, cap * sizeof *live);
  return found;
}

bool *affine_always_needed(ir_graph *g, const ir_ref *roots, uint32_t root_count, const ir_ref *live,
                           size_t count) {
  bool *usual = ir_alloc(g->mem, g->count);
  if (!usual) return NULL;
  memset(usual, 0, g->count);
  for (uint32_t i = 0; i < root_count; i++) usual[roots[i]] = true;
  for (size_t i = count; i-- > 0;) {
    const ir_node *n = ir_get(g, live[i]);
    for (uint32_t k = 0; k < n->nsrc && usual[live[i]]; k++)
      usual[n->src[k]] |= n->op != IR_OP_RARE || k != 1;
  }
  return usual;
}

bool affine_depends(ir_graph *g, ir_ref root, ir_ref range) {
  if (root <= range) return root == range; /* sources are older */
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  bool known = ir_reachable_above(g, &root, 1, range, NULL, 0, &live, &count, &cap) == IR_OK;
  size_t at = known ? ir_find_ref(live, count, range) : 0;
  bool depends = known && at < count && live[at] == range;
  ir_free(g->mem, live, cap * sizeof *live);
  return depends;
}

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
