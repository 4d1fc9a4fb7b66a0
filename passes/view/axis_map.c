/* Which loops walk the axes of an operand, given those that walk the axes of its user. */
#include "axis_map.h"

#include "index_map.h"
#include "passes/index/affine.h"

/* VIEW_NO_LOOP for each of IR_MAX_RANK axes */
const view_axes view_no_axes = {.loop = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};

void view_axes_intersect(view_axes *axes, const view_axes *other) {
  for (int i = 0; i < IR_MAX_RANK; i++)
    if (axes->loop[i] != other->loop[i]) axes->loop[i] = VIEW_NO_LOOP;
  axes->strided &= other->strided;
}

/* The loops of view axes that are terms with a stride above 1 in the index of an operand axis: the levels of
 * an axis that the view has split. */
static uint32_t strided_loops(ir_graph *g, ir_ref position, const ir_ref *at, uint32_t rank,
                              const view_axes *above) {
  uint32_t strided = 0;
  int64_t stride;
  for (uint32_t i = 0; i < rank && ir_op_of(g, position) == IR_OP_ADD; i++)
    if (above->loop[i] >= 0 && affine_stride(g, position, at[i], &stride) && stride > 1)
      strided |= 1u << above->loop[i];
  return strided;
}

/* An operand axis is walked by the loop of a view axis where its index is that of the view axis, unchanged,
 * and the sizes are equal. */
static bool below_view(ir_graph *g, ir_ref view, const view_axes *above, view_axes *below) {
  pass_point p = {.rank = ir_rank(g, view)};
  ir_ref operand = ir_src(g, view, 0), at[IR_MAX_RANK];
  uint32_t rank = p.rank;
  for (uint32_t i = 0; i < rank; i++) {
    ir_ref size = ir_dim(g, view, i);
    at[i] = p.at[i] = ir_make(g, IR_OP_RANGE, IR_INDEX, ir_pack_arg(i, 0), &size, 1);
  }
  if (!pass_view_index(g, &pass_canonical, view, &p)) return !g->error || g->error->status == IR_OK;
  for (uint32_t a = 0; a < p.rank; a++)
    for (uint32_t i = 0; i < rank; i++)
      if (p.at[a] == at[i] && ir_dim(g, operand, a) == ir_dim(g, view, i)) below->loop[a] = above->loop[i];
  below->strided = above->strided;
  for (uint32_t a = 0; a < p.rank; a++) below->strided |= strided_loops(g, p.at[a], at, rank, above);
  return true;
}

static void below_join(const ir_graph *g, const ir_node *n, const view_axes *above, view_axes *below) {
  uint32_t joined = (uint32_t)ir_arg_int(n), rank = ir_rank(g, n->src[0]);
  bool stacked = n->op == IR_OP_STACK;
  for (uint32_t i = 0; i < rank; i++)
    if (stacked || i != joined) below->loop[i] = above->loop[stacked && i >= joined ? i + 1 : i];
}

static void below_reduction(const ir_graph *g, const ir_node *n, const view_axes *above, view_axes *below) {
  uint32_t kept = 0;
  below->strided = above->strided;
  for (uint32_t i = 0; i < ir_rank(g, n->src[0]); i++)
    if (!ir_reduces_axis(g, n, i)) below->loop[i] = above->loop[kept++];
}

bool view_axes_below(ir_graph *g, ir_ref node, uint32_t operand, const view_axes *above, view_axes *below) {
  const ir_node *n = ir_get(g, node);
  *below = view_no_axes;
  switch ((int)ir_ops[n->op].cls) {
  case IR_CLASS_VIEW:
    if (n->op == IR_OP_CONCAT || n->op == IR_OP_STACK) below_join(g, n, above, below);
    else return below_view(g, node, above, below);
    return true;
  case IR_CLASS_REDUCE: below_reduction(g, n, above, below); return true;
  case IR_CLASS_UNARY:
  case IR_CLASS_BINARY:
  case IR_CLASS_COMPARE:
  case IR_CLASS_TERNARY:
    if (ir_rank(g, n->src[operand]) > 0) *below = *above;
    return true;
  default: return true;
  }
}
