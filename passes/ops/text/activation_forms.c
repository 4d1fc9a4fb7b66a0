/* Calls of activations from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_silu(const op_args *a) { return op_silu(a->g, a->x[0]); }
ir_ref op_form_softplus(const op_args *a) { return op_softplus(a->g, a->x[0]); }
ir_ref op_form_reciprocal(const op_args *a) { return op_reciprocal(a->g, a->x[0]); }
ir_ref op_form_square(const op_args *a) { return op_square(a->g, a->x[0]); }
ir_ref op_form_sign(const op_args *a) { return op_sign(a->g, a->x[0]); }

ir_ref op_form_gelu(const op_args *a) {
  static const char *const forms[] = {"none", "tanh"};
  int form = 0;
  return op_args_choice(a, AT(approximate), forms, 2, &form) ? op_gelu(a->g, a->x[0], form) : 0;
}

ir_ref op_form_leaky_relu(const op_args *a) {
  double alpha = 0.01;
  return op_args_number(a, AT(alpha), &alpha) ? op_leaky_relu(a->g, a->x[0], alpha) : 0;
}

ir_ref op_form_elu(const op_args *a) {
  double alpha = 1;
  return op_args_number(a, AT(alpha), &alpha) ? op_elu(a->g, a->x[0], alpha) : 0;
}

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
