/* Sizes of factors that are nowhere an axis by themselves: in an axis with several factors, a single unknown
 * one is the axis size divided by the others. Where all are known, their product must be the axis size. */
#include "sharding.h"

static bool refuse_product(ir_graph *g, const op_sharding_ask *ask, ir_ref size, ir_ref product) {
  op_refuse(g, "%s: sharding rule '%s': the factors of an axis of size %s make %s; their product is the size",
            ask->who, ask->rule, OP_EXPR(size), OP_EXPR(product));
  return false;
}

typedef struct progress {
  bool solved; /* a size was found */
  bool open;   /* an axis has several factors of unknown size */
} progress;

static bool solve_axis(ir_graph *g, const op_sharding_ask *ask, op_sharding *rule, const op_split *axis,
                       ir_ref size, progress *p) {
  ir_ref product = ir_index(g, 1);
  op_factor *unknown = NULL;
  int missing = 0;
  for (uint32_t i = 0; i < axis->count && product; i++) {
    op_factor *f = &rule->factors[axis->factors[i]];
    if (f->size) product = pass_mul(g, product, f->size);
    else unknown = f, missing++;
  }
  if (!product) return false;
  p->open |= missing > 1;
  if (missing > 1) return true;
  if (missing == 0) return !op_decided(g, IR_OP_NE, product, size) || refuse_product(g, ask, size, product);
  if (!pass_divides(g, product, size)) return refuse_product(g, ask, size, product);
  p->solved = true;
  unknown->size = pass_div(g, size, product);
  return unknown->size != 0;
}

/* Repeats while the last iteration found a size and others are still unknown. */
bool op_sharding_solve(ir_graph *g, const op_sharding_ask *ask, op_sharding *rule) {
  progress p = {.solved = true, .open = true};
  while (p.solved && p.open) {
    p = (progress){false, false};
    for (uint32_t t = 0; t < rule->operands + rule->results; t++)
      for (uint32_t k = 0; k < rule->terms[t].rank; k++) {
        const op_split *axis = &rule->terms[t].axes[k];
        ir_ref size = ir_get(g, ask->shapes[t])->src[k];
        if (axis->count > 1 && !solve_axis(g, ask, rule, axis, size, &p)) return false;
      }
  }
  if (!p.open) return true;
  op_refuse(g,
            "%s: sharding rule '%s': the size of a factor is not known; all but one of the factors of an "
            "axis must also occur in other axes",
            ask->who, ask->rule);
  return false;
}
