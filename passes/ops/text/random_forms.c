/* Calls of random number operations from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_threefry2x32(const op_args *a) { return op_threefry(a->g, a->x); }

/* The seed: an attribute, or the operand. 0 after failing. */
static ir_ref seed_of(const op_args *a) {
  ir_value value;
  ir_dtype kind;
  const ir_attr *v = a->at[AT(seed)];
  if (v && a->n)
    return op_refuse(a->g, "%s: the seed is given as an operand and as an attribute; give one of them",
                     a->who);
  if (a->n) return a->x[0];
  if (!v)
    return op_refuse(a->g, "%s: there is no seed; give seed=7, say, or an integer scalar as operand", a->who);
  if (!op_args_literal(a, AT(seed), v, &value, &kind)) return 0;
  if (kind != IR_I64 && kind != IR_U64) return (ir_ref)op_args_wrong(a, AT(seed), v);
  return ir_const(a->g, kind, value);
}

typedef struct drawing {
  op_list shape;
  op_draw draw;
} drawing;

static bool drawing_of(const op_args *a, drawing *d) {
  d->draw = (op_draw){.dtype = IR_F32, .shape = d->shape.items};
  if (!op_args_list(a, AT(shape), &d->shape) || !op_args_dtype(a, AT(dtype), &d->draw.dtype)) return false;
  d->draw.rank = d->shape.n;
  d->draw.seed = seed_of(a);
  return d->draw.seed != 0;
}

ir_ref op_form_uniform(const op_args *a) {
  drawing d;
  double low = 0, high = 1;
  if (!op_args_number(a, AT(low), &low) || !op_args_number(a, AT(high), &high) || !drawing_of(a, &d))
    return 0;
  return op_uniform(a->g, &d.draw, low, high);
}

ir_ref op_form_normal(const op_args *a) {
  drawing d;
  double mean = 0, std = 1;
  if (!op_args_number(a, AT(mean), &mean) || !op_args_number(a, AT(std), &std) || !drawing_of(a, &d))
    return 0;
  return op_normal(a->g, &d.draw, mean, std);
}

ir_ref op_form_bernoulli(const op_args *a) {
  drawing d;
  double p = 0.5;
  if (!op_args_number(a, AT(p), &p) || !drawing_of(a, &d)) return 0;
  return op_bernoulli(a->g, &d.draw, p);
}
