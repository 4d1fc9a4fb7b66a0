/* Lanes beside results of rows: values that are stored because they are computed of what a reduction makes of
 * their row, as its maximum, where rows fill no whole vectors. The reduction and they are a row group, whose
 * loops over what is stored in a cache are over all rows of an iteration as one. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

/* What is fused into a value. */
enum {
  SHARED = 1, /* bit: a result of short rows that is repeated along them */
  WHOLE = 2,  /* bit: an elementary function of none */
  RESULT = 4  /* bit: a result of a reduction */
};

/* Elements of the view in sequence that are one element of the operand; 0: all are, or their number is not
 * known. */
static int64_t run_of(ir_graph *g, ir_ref expand) {
  ir_ref below = ir_src(g, expand, 0);
  uint32_t rank = ir_rank(g, expand), lead = rank - ir_rank(g, below);
  int64_t run = 1;
  for (uint32_t a = rank; a-- > 0;) {
    ir_bounds size = ir_bounds_of(g, ir_dim(g, expand, a));
    if (size.lo != size.hi || size.hi > INT32_MAX || run > INT32_MAX) return 0;
    if (size.hi <= 1) continue;
    if (a >= lead && ir_bounds_of(g, ir_dim(g, below, a - lead)).hi > 1) return run > 1 ? run : 0;
    run *= size.hi;
  }
  return 0;
}

/* Do vectors of rows of the expanded value, with one for each power of two of elements that are left behind
 * whole ones, outnumber those of all rows as one by half? log_softmax, exp and mul of rows of 5 to 30 f32
 * then take 0.5 to 0.98 of the time; rows of 24 and 36, of 1.33 times as many, as long (Zen 4). */
static bool has_short_rows(ir_graph *g, ir_ref expand) {
  int bytes = ir_dtypes[ir_dtype_of(g, expand)].bytes;
  int64_t lanes = IR_CACHE_LINE_BYTES / (bytes < 4 ? 4 : bytes), run = run_of(g, expand), some = run / lanes;
  for (int64_t left = run % lanes; left; left &= left - 1) some++;
  return 2 * some * lanes >= 3 * run && run > 0;
}

/* Stores what the value is, below a conversion to more bytes, if it may be. */
static void store(fuse_values *v, uint8_t *holds, ir_ref r, ir_ref user) {
  ir_ref below = r;
  while (v->kept[below] == FUSE_WIDENED && ir_op_of(v->g, below) == IR_OP_CAST)
    below = ir_src(v->g, below, 0);
  if (!pass_is_elementwise(ir_get(v->g, below)) ||
      !fuse_may_split(v, below, FUSE_ROW_COST * pass_elements(v->g, user)))
    return;
  v->product[below] = FUSE_SEPARATE, v->chained[below] = 0;
  holds[below] &= RESULT, holds[r] &= RESULT;
}

/* Sets what is fused into the elementwise operation, and stores operands for its sake. */
static void visit(fuse_values *v, uint8_t *holds, ir_ref r) {
  const ir_node *n = ir_get(v->g, r);
  bool elementary = fuse_is_elementary(n), in_rows = v->looped[r] && v->product[r] != FUSE_SEPARATE;
  uint8_t all = 0;
  for (uint32_t k = 0; k < ir_operand_count(n); k++) {
    if (elementary && !in_rows && holds[n->src[k]] & SHARED) store(v, holds, n->src[k], r);
    all |= holds[n->src[k]];
  }
  for (uint32_t k = 0; k < ir_operand_count(n) && (all & SHARED); k++)
    if ((holds[n->src[k]] & (SHARED | WHOLE)) == WHOLE) store(v, holds, n->src[k], r);
  for (uint32_t k = 0; k < ir_operand_count(n); k++) holds[r] |= holds[n->src[k]];
  if (elementary && !(holds[r] & SHARED)) holds[r] |= WHOLE;
}

void fuse_separate_row_results(fuse_values *v, uint8_t *holds) {
  for (size_t i = 0; i < v->count; i++) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(v->g, r);
    if (!ir_shape(v->g, r)) continue;
    if (ir_ops[n->op].cls == IR_CLASS_REDUCE)
      holds[r] = v->sum[r] || pass_is_product(v->g, n->src[0]) ? 0 : RESULT;
    else if (n->op == IR_OP_EXPAND)
      holds[r] = holds[n->src[0]] & RESULT && has_short_rows(v->g, r) ? SHARED : 0;
    else if (ir_ops[n->op].cls == IR_CLASS_VIEW) holds[r] = holds[n->src[0]];
    else if (n->op != IR_OP_STORED && pass_is_elementwise(n)) visit(v, holds, r);
    if (v->product[r] == FUSE_SEPARATE && !v->kept[r]) holds[r] &= RESULT;
  }
}
