/* Products whose innermost axis is several axes of what is computed of them, along some of which alone
 * another operand varies: as those of a 1 x 1 convolution, over all positions of an image, of which a mask of
 * columns is selected by. Loops would go over these axes, and divide to find the panel of a position. The sum
 * is stored, along its own axes. 1536 by 128 channels of 14 x 14 positions before such a selection took 10 ms
 * so, and take 0.74. */
#include "pack.h"

#include "passes/patterns/epilogue.h"

/* The sum that a node is made of, element by element and in the same order; 0: there is none, or its
 * innermost axis is one of the node, too. */
static ir_ref sum_below(ir_graph *g, ir_ref node) {
  enum { MAX_WALKED = 64 }; /* nodes [6 in the tests]: a sum below more of them stays as it is */
  bool splits = false;
  for (int walked = 0; walked < MAX_WALKED; walked++) {
    const ir_node *n = ir_get(g, node);
    if (n->op == IR_OP_SUM) return splits && pass_may_reuse(g, node) ? node : 0;
    if (n->op == IR_OP_RESHAPE) {
      uint32_t above = ir_rank(g, node), below = ir_rank(g, n->src[0]);
      while (above > 0 && ir_bounds_of(g, ir_dim(g, node, above - 1)).hi == 1) above--;
      while (below > 0 && ir_bounds_of(g, ir_dim(g, n->src[0], below - 1)).hi == 1) below--;
      if (!above || !below) return 0;
      int64_t own = ir_bounds_of(g, ir_dim(g, node, above - 1)).hi,
              other = ir_bounds_of(g, ir_dim(g, n->src[0], below - 1)).hi;
      if (own > other) return 0;
      splits |= own < other;
    } else if (!pass_is_elementwise(n) || n->op == IR_OP_STORED) {
      return 0;
    }
    uint32_t through = 0;
    while (through < ir_operand_count(n) && (ir_op_of(g, n->src[through]) == IR_OP_EXPAND ||
                                             ir_shape(g, n->src[through]) != ir_shape(g, node)))
      through++;
    if (n->op == IR_OP_RESHAPE) through = 0;
    if (through == ir_operand_count(n)) return 0;
    node = n->src[through];
  }
  return 0;
}

static int64_t innermost_size(ir_graph *g, ir_ref sum) {
  for (uint32_t a = ir_rank(g, sum); a-- > 0;)
    if (ir_bounds_of(g, ir_dim(g, sum, a)).hi > 1) return ir_bounds_of(g, ir_dim(g, sum, a)).hi;
  return 1;
}

/* Is the expanded value repeated along some of the axes that are `size` elements in sequence, but not all? */
static bool repeats_some(ir_graph *g, ir_ref expand, int64_t size) {
  ir_ref below = ir_src(g, expand, 0);
  uint32_t lead = ir_rank(g, expand) - ir_rank(g, below);
  bool repeats = false, varies = false;
  int64_t done = 1;
  for (uint32_t a = ir_rank(g, expand); a-- > 0 && done < size;) {
    int64_t here = ir_bounds_of(g, ir_dim(g, expand, a)).hi;
    bool one = a < lead || ir_bounds_of(g, ir_dim(g, below, a - lead)).hi == 1;
    if (here > 1) repeats |= one, varies |= !one;
    done *= here < 1 ? 1 : here;
  }
  return repeats && varies;
}

bool pack_mark_apart(ir_graph *g, const ir_ref *live, size_t count, uint8_t *stored) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (!pass_is_elementwise(n) || !ir_shape(g, live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      if (ir_op_of(g, n->src[k]) != IR_OP_EXPAND) continue;
      for (uint32_t j = 0; j < ir_operand_count(n); j++) {
        ir_ref sum = j != k && ir_shape(g, n->src[j]) == ir_shape(g, live[i]) ? sum_below(g, n->src[j]) : 0;
        if (sum && repeats_some(g, n->src[k], innermost_size(g, sum))) stored[sum] = PACK_STORED, any = true;
      }
    }
  }
  return any;
}
