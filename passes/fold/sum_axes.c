/* The axes of a kernel that stores a product behind a reshape.
 *
 * A reshape moves no element in memory, so that such a kernel may run over the axes of its result or over
 * those of the sum. Over the former, rows and columns of the sum may be quotients of the kernel's axes. What
 * becomes of these in domains and loops depends on how operands lie in memory: in panels, whose width the
 * machine gives. With them goes whether lanes run along columns or along terms, and so the order of
 * additions, which must not depend on the machine. Over the sum's own axes there are none. */
#include "fold.h"

#include "passes/index/affine.h"
#include "passes/ops/check.h"
#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

enum { MAX_NODES = 32 }; /* because each kernel pays for the search; behind more, no sum is found */

static bool divides(ir_graph *g, const pass_point *p) {
  ir_ref found;
  for (uint32_t i = 0; i < p->rank; i++)
    if (affine_find_range(g, p->at[i], IR_OP_FLOORDIV, &found, 1) ||
        affine_find_range(g, p->at[i], IR_OP_MOD, &found, 1))
      return true;
  return false;
}

static bool is_sum_of_products(const ir_graph *g, ir_ref node) {
  return ir_op_of(g, node) == IR_OP_SUM && pass_is_product(g, ir_src(g, node, 0));
}

/* The sum behind reshapes and elementwise operations whose point follows from p, that of `node`, by
 * quotients; 0: there is none. *left: nodes that may be looked at. */
static ir_ref divided_sum(const folder *f, ir_ref node, pass_point p, int *left) {
  ir_graph *g = f->g;
  const ir_node *n = ir_get(g, node);
  if ((*left)-- <= 0 || n->dtype == IR_INDEX || ir_rank(g, node) != p.rank || fold_in_memory(f, node))
    return 0;
  if (is_sum_of_products(g, node)) return divides(g, &p) ? node : 0;
  if (n->op == IR_OP_RESHAPE) {
    bool known = pass_view_index(g, &pass_canonical, node, &p) != 0;
    return known ? divided_sum(f, ir_src(g, node, 0), p, left) : 0;
  }
  if (n->op != IR_OP_STORED && !pass_is_elementwise(n)) return 0;
  ir_ref found = 0;
  for (uint32_t i = 0; i < ir_get(g, node)->nsrc && !found; i++)
    found = divided_sum(f, ir_src(g, node, i), p, left);
  return found;
}

ir_ref fold_over_sum_axes(folder *f, ir_ref value) {
  int left = MAX_NODES;
  ir_ref sum = divided_sum(f, value, fold_output_point(f, value), &left);
  if (!sum) return value;
  const ir_node *shape = ir_get(f->g, ir_shape(f->g, sum));
  return op_reshape_known(f->g, value, shape->src, shape->nsrc);
}
