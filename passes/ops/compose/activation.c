/* Activations and other short formulas. f16 and bf16 are computed in f32 and rounded once. */
#include "impl.h"

#include <math.h>

/* The operand, converted to the dtype to compute in. */
typedef struct formula {
  const char *who;
  ir_ref x;
  ir_dtype wide, dtype; /* wide: to compute in; dtype: of the result */
} formula;

static bool begin_formula(ir_graph *g, formula *f, ir_ref x) {
  if (!op_compose_begin(g, f->who, &x, 1)) return false;
  f->dtype = op_float_result(ir_dtype_of(g, x));
  f->wide = op_float_wide(f->dtype);
  f->x = op_convert(g, f->who, x, f->wide);
  return f->x != 0;
}
static ir_ref end_formula(ir_graph *g, const formula *f, ir_ref made) {
  return op_compose_end(g, f->who, op_cast(g, made, f->dtype));
}
static ir_ref float_constant(ir_graph *g, const formula *f, double value) {
  return ir_float(g, f->wide, value);
}
static ir_ref is_positive(ir_graph *g, const formula *f) {
  return op_binary(g, IR_OP_GT, f->x, float_constant(g, f, 0));
}

ir_ref op_silu(ir_graph *g, ir_ref x) {
  formula f = {.who = "silu"};
  if (!begin_formula(g, &f, x)) return 0;
  return end_formula(g, &f, op_mul(g, f.x, op_unary(g, IR_OP_SIGMOID, f.x)));
}

ir_ref op_gelu(ir_graph *g, ir_ref x, bool tanh_form) {
  formula f = {.who = "gelu"};
  if (!begin_formula(g, &f, x)) return 0;
  return end_formula(g, &f, op_unary(g, tanh_form ? IR_OP_GELU_TANH : IR_OP_GELU, f.x));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which does not overflow */
ir_ref op_softplus(ir_graph *g, ir_ref x) {
  formula f = {.who = "softplus"};
  if (!begin_formula(g, &f, x)) return 0;
  ir_ref size = op_unary(g, IR_OP_NEG, op_unary(g, IR_OP_ABS, f.x));
  ir_ref rest = op_unary(g, IR_OP_LOG1P, op_unary(g, IR_OP_EXP, size));
  return end_formula(g, &f, op_add(g, op_binary(g, IR_OP_MAX, f.x, float_constant(g, &f, 0)), rest));
}

static bool has_slope(ir_graph *g, const formula *f, double alpha) {
  if (isfinite(alpha)) return true;
  op_refuse(g, "%s: alpha is %g; x has shape %s; takes a finite number", f->who, alpha, OP_TYPE(f->x));
  return false;
}

ir_ref op_leaky_relu(ir_graph *g, ir_ref x, double alpha) {
  formula f = {.who = "leaky_relu"};
  if (!begin_formula(g, &f, x) || !has_slope(g, &f, alpha)) return 0;
  return end_formula(g, &f,
                     op_where(g, is_positive(g, &f), f.x, op_mul(g, f.x, float_constant(g, &f, alpha))));
}

/* The exponential is applied to min(x, 0): for x > 0 it might overflow and make the derivative NaN. */
ir_ref op_elu(ir_graph *g, ir_ref x, double alpha) {
  formula f = {.who = "elu"};
  if (!begin_formula(g, &f, x) || !has_slope(g, &f, alpha)) return 0;
  ir_ref positive = is_positive(g, &f), low = op_where(g, positive, float_constant(g, &f, 0), f.x);
  ir_ref below = op_mul(g, op_unary(g, IR_OP_EXPM1, low), float_constant(g, &f, alpha));
  return end_formula(g, &f, op_where(g, positive, f.x, below));
}

ir_ref op_reciprocal(ir_graph *g, ir_ref x) {
  formula f = {.who = "reciprocal"};
  return begin_formula(g, &f, x) ? end_formula(g, &f, op_div(g, float_constant(g, &f, 1), f.x)) : 0;
}

ir_ref op_square(ir_graph *g, ir_ref x) {
  return op_compose_begin(g, "square", &x, 1) ? op_compose_end(g, "square", op_mul(g, x, x)) : 0;
}

/* NaN for NaN, +0 for both zeros; constant for derivatives */
ir_ref op_sign(ir_graph *g, ir_ref x) {
  if (!op_compose_begin(g, "sign", &x, 1)) return 0;
  ir_dtype t = ir_dtype_of(g, x);
  if (t == IR_BOOL)
    return op_refuse(g, "sign: a bool has none; x has shape %s; cast to an integer or float dtype",
                     OP_TYPE(x));
  ir_ref y = op_stop_gradient(g, x), zero = ir_const(g, t, ir_value_cast((ir_value){.i = 0}, IR_I64, t));
  ir_ref one = ir_const(g, t, ir_value_cast((ir_value){.i = 1}, IR_I64, t)), below = zero;
  if (ir_is_float(t)) below = op_where(g, op_binary(g, IR_OP_EQ, y, zero), zero, y);
  if (ir_is_float(t) || ir_dtypes[t].kind == IR_KIND_SIGNED)
    below = op_where(g, op_binary(g, IR_OP_LT, y, zero), op_unary(g, IR_OP_NEG, one), below);
  return op_compose_end(g, "sign", op_where(g, op_binary(g, IR_OP_GT, y, zero), one, below));
}

ir_ref op_clip(ir_graph *g, ir_ref x, ir_ref low, ir_ref high) {
  if (!op_compose_begin(g, "clip", &x, 1)) return 0;
  if (low) x = op_binary(g, IR_OP_MAX, x, low);
  if (high) x = op_binary(g, IR_OP_MIN, x, high);
  return op_compose_end(g, "clip", x);
}
