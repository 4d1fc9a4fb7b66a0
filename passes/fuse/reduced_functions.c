/* Lanes below reductions: elementary functions that are stored because rows that are reduced fill no whole
 * vectors. The function and the reduction are a row group, whose loops over what is stored in a cache are
 * over all rows of an iteration as one. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

enum {
  LOCAL_COST = 1,       /* operations: because rows of 64 f32, that lose no lanes, take 1.02 to 1.08 times */
  ROW_BYTES = 16 << 10, /* because a row group keeps its rows in half of an L1 cache of 32 KiB */
  PART = 2 /* of the function: because argmax of f64 rows of 1000 takes 1.6 to 1.8 times as long with it */
};

/* Elements in sequence that are reduced to one; 0: the innermost axis is kept, or sizes are not known. */
static int64_t run_of(ir_graph *g, ir_ref reduce) {
  const ir_node *n = ir_get(g, reduce);
  int64_t run = 1;
  for (uint32_t a = ir_rank(g, n->src[0]); a-- > 0;) {
    ir_bounds size = ir_bounds_of(g, ir_dim(g, n->src[0], a));
    if (size.lo != size.hi || size.hi > INT32_MAX || run > INT32_MAX) return 0;
    if (size.hi == 1) continue;
    if (!ir_reduces_axis(g, n, a)) return run > 1 ? run : 0;
    run *= size.hi;
  }
  return run;
}

/* Operations that the function, of so many for each element, loses below the reduction: rows take a vector
 * for each power of two of elements behind whole vectors. sum and max of exp of f32 rows of 28 and 100
 * take 1.2 to 1.4 times as long as with a local, f64 rows of 7 twice (Zen 4). */
static double lost(ir_graph *g, ir_ref reduce, double cost) {
  const ir_node *n = ir_get(g, reduce);
  int bytes = ir_dtypes[ir_dtype_of(g, n->src[0])].bytes;
  int64_t lanes = IR_CACHE_LINE_BYTES / (bytes < 4 ? 4 : bytes), run = run_of(g, reduce), some = run / lanes;
  if (run <= 1 || run * bytes > ROW_BYTES) return 0;
  for (int64_t left = run % lanes; left; left &= left - 1) some++;
  double each = cost * (double)(some * lanes - run) / (double)run - LOCAL_COST;
  if (n->op == IR_OP_ARGMAX || n->op == IR_OP_ARGMIN) each += cost / PART;
  return each * pass_elements(g, n->src[0]);
}

/* Marks what computes a function: not those that are stored below it by now, nor those that reductions read
 * as well, as of a norm, which are computed once (shared_values.c). */
static void find_functions(fuse_values *v, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  bool computes = fuse_is_elementary(n);
  for (uint32_t k = 0; k < ir_operand_count(n); k++)
    computes |= v->chained[n->src[k]] & FUSE_COMPUTED && !(v->recomputed[n->src[k]] & FUSE_ELSEWHERE);
  if (computes && v->chained[r] & FUSE_ELEMENTARY) v->chained[r] |= FUSE_COMPUTED;
}

void fuse_separate_reduced_functions(fuse_values *v) {
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(v->g, r);
    if (!ir_shape(v->g, r)) continue;
    if (pass_is_elementwise(n)) find_functions(v, r);
    ir_ref terms = ir_ops[n->op].cls == IR_CLASS_REDUCE ? n->src[0] : 0;
    if (terms && v->chained[terms] & FUSE_COMPUTED && v->recomputed[terms] == FUSE_ELSEWHERE &&
        pass_is_elementwise(ir_get(v->g, terms)) && !v->kept[terms] && !v->sum[terms] && !v->product[terms] &&
        !pass_is_product(v->g, terms) && lost(v->g, r, v->cost[terms]) > FUSE_KERNEL_COST)
      v->product[terms] = FUSE_SEPARATE, v->chained[terms] = 0;
  }
}
