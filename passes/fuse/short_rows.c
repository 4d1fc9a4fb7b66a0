/* Lanes behind views and gathers: values that are stored because rows that these move are shorter than a
 * vector. */
#include "values.h"

#include "passes/patterns/contraction.h"
#include "passes/patterns/epilogue.h"

enum {
  /* views on the way to what is moved [18 in the workloads]: those past them are not looked at */
  MAX_WALKED = 64
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
      return run > 1                   ? run
             : here < PASS_HALF_VECTOR ? here
                                       : PASS_HALF_VECTOR; /* long rows have tiles, with lanes along both */
    run *= here < below ? here : below;
    if (here != below) return run;
    if (n->op == IR_OP_FLIP) return run; /* rows are reversed one by one */
  }
  return run;
}

/* How many elements of what is gathered follow one another in memory. */
static double run_of_gather(const fuse_values *v, ir_ref gather) {
  double run = 1;
  for (uint32_t a = ir_rank(v->g, ir_src(v->g, gather, 0));
       a-- > (uint32_t)ir_arg_int(ir_get(v->g, gather)) + 1;)
    run *= size_of(v, ir_src(v->g, gather, 0), a);
  return run;
}

/* The shortest run on the way through views to what they are made of, which *below is set to. */
static double shortest_run(const fuse_values *v, ir_ref top, ir_ref *below) {
  ir_graph *g = v->g;
  double run = PASS_HALF_VECTOR;
  *below = top;
  for (int views = 0; views < MAX_WALKED; views++, *below = ir_src(g, *below, 0)) {
    ir_op op = ir_op_of(g, *below);
    bool view = ir_ops[op].cls == IR_CLASS_VIEW && op != IR_OP_STACK;
    if (!view && op != IR_OP_GATHER) return run;
    double here = op == IR_OP_EXPAND ? PASS_HALF_VECTOR : view ? run_of(v, *below) : run_of_gather(v, *below);
    if (here < run) run = here;
  }
  return run;
}

/* Elementary functions have as many lanes as elements follow one another in all that a kernel reads and
 * stores. Where rows that a view or a gather moves are too short for them, it is stored apart from the
 * functions of what is read beside it and of what it is made of. */
void fuse_separate_short_rows(fuse_values *v) {
  ir_graph *g = v->g;
  for (size_t i = v->count; i-- > 0;) {
    ir_ref r = v->live[i];
    const ir_node *n = ir_get(g, r);
    bool elementwise = pass_is_elementwise(n), view = ir_ops[n->op].cls == IR_CLASS_VIEW,
         hard = elementwise && (v->hard[r] || fuse_is_elementary(n));
    for (uint32_t k = 0; k < n->nsrc && ir_ops[n->op].cls != IR_CLASS_REDUCE; k++) {
      ir_ref top = n->src[k], below;
      bool beside = hard;
      if (!ir_shape(g, top)) continue;
      v->hard[top] |= hard || (view && v->hard[r]);
      for (uint32_t j = 0; j < n->nsrc && elementwise; j++)
        beside |= j != k && v->chained[n->src[j]] & FUSE_ELEMENTARY;
      if (view || shortest_run(v, top, &below) >= PASS_HALF_VECTOR ||
          pass_elements(g, top) * FUSE_ROW_COST < FUSE_KERNEL_COST)
        continue;
      bool inside = pass_is_elementwise(ir_get(g, below)) && v->chained[below];
      if (beside) v->product[top] = FUSE_SEPARATE;
      if (inside) v->product[below] = FUSE_SEPARATE, v->chained[below] = 0;
    }
  }
}
