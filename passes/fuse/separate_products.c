/* One product a kernel: values that are stored because products are combined, or come before elementary
 * functions. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

/* Terms of a product from which on an elementary function of its result is the lesser part. */
enum { MANY_TERMS = 16 };

/* The value before it was converted to more bytes. */
static ir_ref narrowest(const fuse_values *v, ir_ref r) {
  while (v->kept[r] == FUSE_WIDENED && ir_op_of(v->g, r) == IR_OP_CAST) r = ir_src(v->g, r, 0);
  return r;
}

/* Is the node a sum of many products without reuse, of a matrix and a vector, whose kernel may be one of its
 * own? */
static bool is_long_sum(ir_graph *g, ir_ref r) {
  double terms = ir_op_of(g, r) == IR_OP_SUM ? pass_elements(g, ir_src(g, r, 0)) : 0;
  return terms > FUSE_KERNEL_COST && terms >= MANY_TERMS * pass_elements(g, r) &&
         pass_is_product(g, ir_src(g, r, 0));
}

enum { FAR_TERMS = 2 * FUSE_FAR_BYTES }; /* because 300 x 1000 f32, 1.2 MB, takes 1.3 times as long in two */

/* Has the sum, whose terms are read once, a matrix that stays in no L2 cache? Not of parts of words: what is
 * converted takes more than what is read, and 1000 x 3000 bf16 1.3 times as long in two kernels. */
static bool is_far(const pass_contraction *c) {
  ir_graph *g = c->g;
  for (int k = 0; k < 2; k++) {
    ir_ref below = pass_below_views(g, c->operand[k].base);
    while (ir_op_of(g, below) == IR_OP_CAST) below = pass_below_views(g, ir_src(g, below, 0));
    if (ir_dtypes[ir_dtype_of(g, below)].bytes < 4) return false;
  }
  return pass_elements(g, ir_src(g, c->sum, 0)) * ir_dtypes[c->dtype].bytes > FAR_TERMS;
}

/* Two sums without tiles. Where one is read in sequence along its results, and the other one not, lanes of
 * one kernel would gather the elements of one of them: x A + y B^T with 2,048 and 400 terms takes 0.016 ms in
 * two kernels, 0.15 in one. Where both are, a kernel of its own reads pages of a row
 * (passes/loops/cpu/columns.c), one of both a few vectors: relu(x A) * (x B) of 1000 x 3000 f32 takes 0.9 ms
 * in two, 7 in one (Zen 4). */
static bool need_own_loops(ir_graph *g, ir_ref a, ir_ref b) {
  pass_contraction one, other;
  if (!pass_contraction_of(g, a, &one) || !pass_contraction_of(g, b, &other)) return false;
  bool along = pass_contraction_in_sequence(&one);
  return along != pass_contraction_in_sequence(&other) || (along && is_far(&one) && is_far(&other));
}

/* Sets v->recomputed: what reads each value. */
static void find_readers(fuse_values *v) {
  for (size_t i = 0; i < v->count; i++) {
    const ir_node *n = ir_get(v->g, v->live[i]);
    uint8_t reads = pass_is_elementwise(n) ? FUSE_AT_POINTS : FUSE_ELSEWHERE;
    for (uint32_t k = 0; k < ir_operand_count(n); k++)
      v->recomputed[n->src[k]] |= v->recomputed[n->src[k]] ? reads | FUSE_AGAIN : reads;
  }
}

/* Does scheduling store the product, perhaps with its epilogue, as its readers are several kernels: as the
 * scores of a softmax? Then they hold none. */
static bool is_stored_product(const fuse_values *v, ir_ref r) {
  bool whole = ir_ops[ir_op_of(v->g, r)].cls == IR_CLASS_REDUCE || v->epilogue[r] & PASS_EPILOGUE;
  const uint8_t both = FUSE_AT_POINTS | FUSE_ELSEWHERE;
  return whole && (v->recomputed[r] & both) == both;
}

/* A kernel has tiles for one product. Where an elementwise operation combines several, as a gate and what it
 * lets through, all but the last are stored; not where both are made of one, as x sigmoid(x). So is one of
 * few terms before an elementary function: that takes most of the time, and its registers are the tile's.
 * Sums without tiles are separated where they need loops of their own. */
void fuse_separate_products(fuse_values *v) {
  find_readers(v);
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i], last = 0; /* its operand below views that holds a product */
    const ir_node *n = ir_get(v->g, r);
    if (n->op == IR_OP_SUM && pass_may_reuse(v->g, r))
      v->sum[r] = r, v->product[r] = pass_elements(v->g, n->src[0]) < MANY_TERMS * pass_elements(v->g, r)
                                         ? FUSE_SHORT
                                         : FUSE_PRODUCT;
    else if (is_long_sum(v->g, r)) v->sum[r] = r;
    if (n->op == IR_OP_SUM && (pass_is_product(v->g, n->src[0]) || ir_op_of(v->g, n->src[0]) == IR_OP_MUL))
      v->term[n->src[0]] = 1;
    bool view = ir_ops[n->op].cls == IR_CLASS_VIEW;
    for (uint32_t k = 0; k < ir_operand_count(n) && (view || pass_is_elementwise(n)); k++) {
      ir_ref below = n->src[k];
      if (!v->sum[below] || is_stored_product(v, below)) continue;
      while (ir_ops[ir_op_of(v->g, below)].cls == IR_CLASS_VIEW) below = ir_src(v->g, below, 0);
      if (v->product[below] == FUSE_SEPARATE) continue;
      bool tiled = last && v->product[last] && v->product[below];
      if (last && v->sum[last] != v->sum[below] &&
          (tiled || need_own_loops(v->g, v->sum[last], v->sum[below])))
        v->product[last] = FUSE_SEPARATE;
      if (v->product[below] == FUSE_SHORT && fuse_is_elementary(n)) {
        v->product[narrowest(v, below)] = FUSE_SEPARATE;
        continue;
      }
      last = below;
      v->product[r] = v->product[below], v->sum[r] = v->sum[below];
    }
  }
}
