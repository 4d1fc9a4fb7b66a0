/* Products whose innermost axis is several axes of what is computed of them, along some of which alone
 * another operand varies: as those of a 1 x 1 convolution, over all positions of an image, of which a mask of
 * columns is selected by. Loops would go over these axes, and divide to find the panel of a position. The sum
 * is stored, along its own axes. 1536 by 128 channels of 14 x 14 positions before such a selection took 10 ms
 * so, and take 0.74. */
#include "pack.h"

#include "passes/patterns/epilogue.h"

/* What a node is made of, element by element and in the same order; `splits`: its innermost axis is several
 * of the node above. */
typedef struct apart_part {
  ir_ref node;
  bool splits;
} apart_part;
enum { MAX_WALKED = 64 }; /* nodes [6 in the tests]: sums below more of them stay as they are */

/* Is the innermost axis of the reshaped value that of its operand, or (*splits) a part of it? */
static bool keeps_innermost(ir_graph *g, ir_ref reshape, bool *splits) {
  ir_ref of = ir_src(g, reshape, 0);
  uint32_t above = ir_rank(g, reshape), below = ir_rank(g, of);
  while (above > 0 && ir_bounds_of(g, ir_dim(g, reshape, above - 1)).hi == 1) above--;
  while (below > 0 && ir_bounds_of(g, ir_dim(g, of, below - 1)).hi == 1) below--;
  if (!above || !below) return false;
  int64_t own = ir_bounds_of(g, ir_dim(g, reshape, above - 1)).hi,
          other = ir_bounds_of(g, ir_dim(g, of, below - 1)).hi;
  *splits |= own < other;
  return own <= other;
}

/* The sums that a node is made of, whose innermost axes are no axis of the node. Returns their number. */
static uint32_t sums_below(ir_graph *g, ir_ref node, ir_ref sums[MAX_WALKED]) {
  apart_part part[MAX_WALKED] = {{.node = node}};
  uint32_t count = 1, found = 0;
  for (uint32_t i = 0; i < count; i++) {
    apart_part at = part[i];
    const ir_node *n = ir_get(g, at.node);
    bool reshapes = n->op == IR_OP_RESHAPE;
    if (n->op == IR_OP_SUM && at.splits && pass_may_reuse(g, at.node)) sums[found++] = at.node;
    if (reshapes ? !keeps_innermost(g, at.node, &at.splits)
                 : !pass_is_elementwise(n) || n->op == IR_OP_STORED)
      continue;
    for (uint32_t k = 0; k < (reshapes ? 1 : ir_operand_count(n)) && count < MAX_WALKED; k++)
      if (reshapes ||
          (ir_op_of(g, n->src[k]) != IR_OP_EXPAND && ir_shape(g, n->src[k]) == ir_shape(g, at.node)))
        part[count++] = (apart_part){n->src[k], at.splits};
  }
  return found;
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
  ir_ref sums[MAX_WALKED];
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    if (!pass_is_elementwise(n) || !ir_shape(g, live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      if (ir_op_of(g, n->src[k]) != IR_OP_EXPAND) continue;
      for (uint32_t j = 0; j < ir_operand_count(n); j++) {
        bool beside = j != k && ir_shape(g, n->src[j]) == ir_shape(g, live[i]);
        for (uint32_t found = beside ? sums_below(g, n->src[j], sums) : 0; found-- > 0;)
          if (repeats_some(g, n->src[k], innermost_size(g, sums[found])))
            stored[sums[found]] = PACK_STORED, any = true;
      }
    }
  }
  return any;
}
