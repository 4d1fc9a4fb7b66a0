/* Lanes behind views: values that are stored because rows that a view moves are shorter than a vector. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

enum {
  MIN_RUN = 8,  /* elements of a row: half a vector of f32 */
  ROW_COST = 16 /* what an elementary function loses for each element of rows of two to seven */
};

static double size_of(const fuse_values *v, ir_ref r, uint32_t axis) {
  ir_bounds size = ir_bounds_of(v->g, ir_dim(v->g, r, axis));
  return size.hi < 1 ? 1 : (double)size.hi;
}

/* How many elements of the view follow one another in its operand as well, at most. */
static double run_of(const fuse_values *v, ir_ref view) {
  ir_graph *g = v->g;
  const ir_node *n = ir_get(g, view);
  double run = 1;
  bool resizes =
      n->op == IR_OP_SHRINK || n->op == IR_OP_PAD || n->op == IR_OP_STRIDE || n->op == IR_OP_CONCAT;
  for (uint32_t a = ir_rank(g, view); a-- > 0;) {
    double here = size_of(v, view, a), below = resizes ? size_of(v, n->src[0], a) : here;
    if (n->op == IR_OP_PERMUTE && (uint32_t)ir_get(g, n->src[1 + a])->arg != a && here > 1)
      return run > 1 ? run : MIN_RUN; /* a transposition has tiles, and lanes along the other axis */
    run *= here < below ? here : below;
    if (here != below) return run;
    if (n->op == IR_OP_FLIP) return run; /* rows are reversed one by one */
  }
  return run;
}

/* Elementary functions have as many lanes as elements follow one another in all that a kernel reads. Where
 * rows that a view moves are too short for them, the view is stored, and what it is made of before. */
void fuse_separate_short_rows(fuse_values *v) {
  ir_graph *g = v->g;
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(g, r);
    bool elementwise = pass_is_elementwise(n), view = ir_ops[n->op].cls == IR_CLASS_VIEW;
    for (uint32_t k = 0; k < ir_operand_count(n) && (elementwise || view); k++) {
      ir_ref top = n->src[k], below = top;
      double run = MIN_RUN;
      v->hard[top] |= v->hard[r] || (elementwise && fuse_is_elementary(n));
      while (elementwise && ir_ops[ir_op_of(g, below)].cls == IR_CLASS_VIEW &&
             ir_op_of(g, below) != IR_OP_STACK) {
        double here = run_of(v, below);
        if (ir_op_of(g, below) != IR_OP_EXPAND && here < run) run = here;
        below = ir_src(g, below, 0);
      }
      if (run >= MIN_RUN || !v->hard[top] || pass_elements(g, top) * ROW_COST < FUSE_KERNEL_COST) continue;
      v->product[top] = FUSE_SEPARATE;
      if (pass_is_elementwise(ir_get(g, below)) && v->cost[below] >= SCHEDULE_MIN_STORED_COST)
        v->product[below] = FUSE_SEPARATE;
    }
  }
}
