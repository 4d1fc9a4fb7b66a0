/* Chains of elementary functions: values that are stored between them, for the sake of registers. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

/* What an elementary function loses behind another one, for each element. Chains of two to six take 1.05
 * to 1.6 times as long in one loop as in several (Sapphire Rapids, 36 chains of f16, f32 and f64). */
enum { CHAINED = 4 };

/* Marks what something else than an elementwise operation reads, or is fused into. */
static void mark_viewed(fuse_values *v) {
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(v->g, r);
    bool elementwise = pass_is_elementwise(n);
    for (uint32_t k = 0; k < ir_operand_count(n) && ir_shape(v->g, r) && n->op != IR_OP_STORED; k++)
      v->looped[n->src[k]] |= !elementwise || v->looped[r];
  }
}

/* What a value is made of by views of one operand, which move it or repeat it; itself: by none. */
static ir_ref below_views(const fuse_values *v, ir_ref r) {
  enum { MAX_WALKED = 16 }; /* as many views as a rearrangement has; those past them are not looked at */
  for (int views = 0; views < MAX_WALKED; views++) {
    const ir_node *n = ir_get(v->g, r);
    bool moves = ir_ops[n->op].cls == IR_CLASS_VIEW && ir_operand_count(n) == 1 && n->op != IR_OP_PAD;
    if (!moves || v->product[r] == FUSE_SEPARATE) return r;
    r = n->src[0];
  }
  return r;
}

bool fuse_may_split(const fuse_values *v, ir_ref r, double lost) {
  double own = pass_elements(v->g, r);
  bool far = own * ir_dtypes[ir_dtype_of(v->g, r)].bytes > FUSE_FAR_BYTES;
  return !v->kept[r] && v->product[r] != FUSE_SEPARATE && ir_rank(v->g, r) && lost > FUSE_KERNEL_COST &&
         !(far && (v->looped[r] || v->product[r]));
}

/* An elementary function holds its coefficients, and several values of each of the chains that are
 * interleaved, in registers; behind another one in the same loop it finds them taken. So what it reads is
 * stored, if that holds another function: scheduling then computes both in loops of their own over a few
 * rows, which stay in the L1 cache (row_group.c). */
void fuse_separate_chains(fuse_values *v, bool separate) {
  ir_graph *g = v->g;
  mark_viewed(v);
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(g, r);
    bool elementwise = pass_is_elementwise(n) && ir_shape(g, r),
         elementary = elementwise && fuse_is_elementary(n);
    uint32_t tensors = 0;
    v->chained[r] = elementary ? FUSE_ELEMENTARY : 0;
    if (ir_ops[n->op].cls == IR_CLASS_VIEW) v->chained[r] = v->chained[n->src[0]] & FUSE_OF_SEVERAL;
    for (uint32_t k = 0; k < ir_operand_count(n) && elementwise; k++) {
      ir_ref below = n->src[k];
      ir_ref base = separate && elementary ? below_views(v, below) : 0;
      if (base && v->chained[base] & FUSE_ELEMENTARY &&
          fuse_may_split(v, base, CHAINED * pass_elements(g, r)))
        v->product[base] = FUSE_SEPARATE, v->chained[base] = 0;
      v->chained[r] |= v->chained[below];
      bool indices = ir_op_of(g, below) == IR_OP_IOTA || v->kept[below] == FUSE_OF_INDICES;
      tensors += ir_rank(g, below) > 0 && !indices;
    }
    if (tensors > 1) v->chained[r] |= FUSE_OF_SEVERAL;
  }
}
