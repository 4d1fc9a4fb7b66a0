/* Late factors: a sum of (w/l)*v, where l is the same for all terms but known only when all weights are, is
 * the sum of w*v, divided by l. That is one division for each sum in place of one for each weight, and has no
 * more roundings. */
#include "online_softmax.h"

#include "passes/ops/check.h"
#include "passes/ops/ops.h"

#include <string.h>

bool pass_owns_terms(const ir_graph *g, const pass_rescaled *r, const ir_ref *live, size_t count) {
  uint32_t uses[RESCALE_DEPTH] = {0};
  for (size_t i = 0; i < count; i++) {
    const ir_node *n = ir_get(g, live[i]);
    for (uint32_t k = 0; k < n->nsrc; k++)
      for (uint32_t d = 0; d < r->depth; d++) uses[d] += n->src[k] == r->path[d].node;
  }
  for (uint32_t d = 0; d < r->depth; d++)
    if (uses[d] != 1) return false;
  return true;
}

static ir_ref with_operand(ir_graph *g, ir_ref node, uint32_t operand, ir_ref by) {
  const ir_node *n = ir_get(g, node);
  ir_ref src[3 * IR_MAX_RANK];
  if (n->nsrc > sizeof src / sizeof *src) return 0;
  memcpy(src, n->src, n->nsrc * sizeof *src);
  src[operand] = by;
  return ir_remake(g, node, src, n->nsrc);
}

static bool multiply(ir_graph *g, ir_ref *product, ir_ref factor) {
  *product = *product ? ir_binary(g, IR_OP_MUL, *product, factor) : factor;
  return *product != 0;
}

/* One step up from the weight: *x becomes the step's node without late factors, which go to *out. */
static bool step_up(ir_graph *g, const pass_rescaled_step *step, ir_ref *x, pass_late *out) {
  const ir_node *n = ir_get(g, step->node);
  if (step->late != RESCALE_NONE) {
    if (n->op == IR_OP_DIV && step->late == 1) return multiply(g, &out->over, n->src[1]);
    return (n->op == IR_OP_MUL || n->op == IR_OP_FMA) && multiply(g, &out->times, n->src[step->late]);
  }
  bool view = ir_ops[n->op].cls == IR_CLASS_VIEW, taken = out->times || out->over;
  if (taken && (n->op == IR_OP_PAD || n->op == IR_OP_WHERE)) return false; /* 0 times it may be NaN */
  ir_ref *each[] = {x, &out->times, &out->over};
  for (int i = 0; i < 3; i++)
    if (*each[i] && (i == 0 || view) && !(*each[i] = with_operand(g, step->node, step->through, *each[i])))
      return false;
  return true;
}

/* A value that is the same for all terms, in the shape of the sum. */
static ir_ref in_sum_shape(ir_graph *g, ir_ref sum, ir_ref x) {
  ir_ref bounds[2 * IR_MAX_RANK];
  uint32_t axis = (uint32_t)ir_get(g, ir_src(g, sum, 1))->arg;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    bounds[2 * i] = ir_index(g, 0), bounds[2 * i + 1] = i == axis ? ir_index(g, 1) : ir_dim(g, x, i);
  const ir_node *shape = ir_get(g, ir_shape(g, sum));
  ir_ref first = op_shrink_known(g, x, bounds);
  return first ? op_reshape(g, first, shape->src, shape->nsrc) : 0;
}

bool pass_split_late_factors(ir_graph *g, const pass_rescaled *r, pass_late *out) {
  *out = (pass_late){.sum = 0};
  ir_ref x = r->weight;
  for (uint32_t d = r->depth; d-- > 0;)
    if (!step_up(g, &r->path[d], &x, out)) return false;
  if (out->times && !(out->times = in_sum_shape(g, r->sum, out->times))) return false;
  if (out->over && !(out->over = in_sum_shape(g, r->sum, out->over))) return false;
  return (out->sum = with_operand(g, r->sum, 0, x)) != 0;
}

ir_ref pass_apply_late_factors(ir_graph *g, const pass_late *late, ir_ref sum) {
  if (late->times) sum = ir_binary(g, IR_OP_MUL, sum, late->times);
  return late->over ? ir_binary(g, IR_OP_DIV, sum, late->over) : sum;
}
