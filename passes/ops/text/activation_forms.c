/* Calls of activations from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

OP_FORM(silu, , op_silu(a->g, a->x[0]))
OP_FORM(softplus, , op_softplus(a->g, a->x[0]))
OP_FORM(reciprocal, , op_reciprocal(a->g, a->x[0]))
OP_FORM(square, , op_square(a->g, a->x[0]))
OP_FORM(sign, , op_sign(a->g, a->x[0]))

ir_ref op_form_gelu(const op_args *a) {
  static const char *const forms[] = {"none", "tanh"};
  int form = 0;
  return op_args_choice(a, AT(approximate), forms, 2, &form) ? op_gelu(a->g, a->x[0], form) : 0;
}

OP_FORM(leaky_relu, OP_NUMBER(alpha, 0.01), op_leaky_relu(a->g, a->x[0], alpha))
OP_FORM(elu, OP_NUMBER(alpha, 1), op_elu(a->g, a->x[0], alpha))

/* Reads a bound as a weak constant, or 0 where there is none; false after failing. */
static bool bound(const op_args *a, int attr, ir_ref *out) {
  ir_value value;
  ir_dtype kind;
  *out = 0;
  if (!a->at[attr]) return true;
  if (!op_args_literal(a, attr, a->at[attr], &value, &kind)) return false;
  if (kind == IR_BOOL) return op_args_wrong(a, attr, a->at[attr]);
  *out = ir_make_weak(a->g, kind, value);
  return *out != 0;
}

ir_ref op_form_clip(const op_args *a) {
  ir_ref low, high;
  return bound(a, AT(low), &low) && bound(a, AT(high), &high) ? op_clip(a->g, a->x[0], low, high) : 0;
}
