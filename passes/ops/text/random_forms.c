/* Calls of random number operations from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

OP_FORM(threefry2x32, , op_threefry(a->g, a->x))

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

#define DRAWING                                                                                              \
  drawing d;                                                                                                 \
  if (!drawing_of(a, &d)) return 0;

OP_FORM(uniform, OP_NUMBER(low, 0) OP_NUMBER(high, 1) DRAWING, op_uniform(a->g, &d.draw, low, high))
OP_FORM(normal, OP_NUMBER(mean, 0) OP_NUMBER(std, 1) DRAWING, op_normal(a->g, &d.draw, mean, std))
OP_FORM(bernoulli, OP_NUMBER(p, 0.5) DRAWING, op_bernoulli(a->g, &d.draw, p))
