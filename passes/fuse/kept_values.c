/* Values that stay fused whatever they cost, because a later pass does better with them in the kernel: masks
 * at which loops end, narrow integers of products, weights of a softmax in blocks. */
#include "values.h"

#include "passes/patterns/epilogue.h"
#include "passes/patterns/online_softmax.h"

/* Is the value computed from indices alone? */
static bool is_of_indices(const fuse_values *v, ir_ref r) {
  ir_op op = ir_op_of(v->g, r);
  return op == IR_OP_IOTA || op == IR_OP_CONST || v->kept[r] == FUSE_OF_INDICES;
}

/* Does it select by indices alone? */
static bool is_mask(const fuse_values *v, const ir_node *n) {
  return n->op == IR_OP_WHERE && v->kept[n->src[0]] == FUSE_OF_INDICES;
}

/* Is it narrow integers, converted and perhaps moved by a zero point? Products read them in pairs, matrix
 * instructions as they are. */
static bool is_widened(const fuse_values *v, const ir_node *n) {
  ir_graph *g = v->g;
  if (n->op == IR_OP_CAST) return ir_dtypes[n->dtype].bytes > ir_dtypes[ir_dtype_of(g, n->src[0])].bytes;
  bool widened = pass_is_elementwise(n) && !ir_is_float((ir_dtype)n->dtype);
  for (uint32_t k = 0; k < ir_operand_count(n) && widened; k++) {
    ir_ref below = n->src[k];
    while (ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW) below = ir_src(g, below, 0);
    widened = !ir_rank(g, below) || v->kept[below] == FUSE_WIDENED;
  }
  return widened;
}

/* Loops end where masks that depend on indices alone begin (passes/fold/causal_end.c), if the kernel that
 * reads a value sees its mask. */
void fuse_keep_masked(fuse_values *v) {
  for (size_t i = 0; i < v->count; i++) {
    const ir_node *n = ir_get(v->g, v->live[i]);
    bool elementwise = pass_is_elementwise(n), indices = true, masked = false;
    if ((!elementwise && ir_ops[n->op].cls != IR_CLASS_VIEW) || !ir_shape(v->g, v->live[i])) continue;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) {
      indices &= is_of_indices(v, n->src[k]);
      masked |= v->kept[n->src[k]] == FUSE_KEPT;
    }
    masked |= is_mask(v, n);
    if (is_widened(v, n)) v->kept[v->live[i]] = FUSE_WIDENED;
    if (indices) v->kept[v->live[i]] = FUSE_OF_INDICES;
    else if (masked) v->kept[v->live[i]] = FUSE_KEPT;
  }
  /* what is masked, down to the reduction that need not compute all of it */
  for (size_t i = v->count; i-- > 0;) {
    const ir_node *n = ir_get(v->g, v->live[i]);
    bool elementwise = pass_is_elementwise(n), mask = is_mask(v, n);
    if ((!elementwise && ir_ops[n->op].cls != IR_CLASS_VIEW) ||
        !(mask || v->kept[v->live[i]] == FUSE_BELOW_MASK))
      continue;
    for (uint32_t k = mask; k < ir_operand_count(n); k++)
      if (!v->kept[n->src[k]]) v->kept[n->src[k]] = FUSE_BELOW_MASK;
  }
}

/* Softmax over long rows is computed in blocks of terms, in which its weights are computed where they are
 * used (passes/patterns/online_softmax.h). */
void fuse_keep_weights(fuse_values *v) {
  pass_rescaled rescaled;
  for (size_t i = 0; i < v->count; i++) {
    if (ir_op_of(v->g, v->live[i]) != IR_OP_SUM || !pass_rescaled_of(v->g, v->live[i], &rescaled)) continue;
    for (uint32_t k = 0; k < rescaled.depth; k++) v->kept[rescaled.path[k].node] = FUSE_KEPT;
    v->kept[rescaled.weight] = v->kept[ir_src(v->g, rescaled.weight, 0)] = FUSE_KEPT;
  }
}
