/* Builders of activations and other short formulas. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

typedef ir_ref (*formula)(ir_graph *g, ir_ref x);

static vf_value unary_formula(const char *who, formula build, vf_value x) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, who, &x, 1) ? build(c.ir, x.id) : 0);
}
vf_value vf_silu(vf_value x) { return unary_formula("silu", op_silu, x); }
vf_value vf_softplus(vf_value x) { return unary_formula("softplus", op_softplus, x); }
vf_value vf_reciprocal(vf_value x) { return unary_formula("reciprocal", op_reciprocal, x); }
vf_value vf_square(vf_value x) { return unary_formula("square", op_square, x); }
vf_value vf_sign(vf_value x) { return unary_formula("sign", op_sign, x); }

vf_value vf_gelu(vf_value x, bool tanh_form) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "gelu", &x, 1) ? op_gelu(c.ir, x.id, tanh_form) : 0);
}
vf_value vf_leaky_relu(vf_value x, double alpha) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "leaky_relu", &x, 1) ? op_leaky_relu(c.ir, x.id, alpha) : 0);
}
vf_value vf_elu(vf_value x, double alpha) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "elu", &x, 1) ? op_elu(c.ir, x.id, alpha) : 0);
}

vf_value vf_clip(vf_value x, vf_value low, vf_value high) {
  fe_call c;
  bool good = fe_begin(&c, "clip", &x, 1) && (!low.graph || fe_operands(&c, &low, 1)) &&
              (!high.graph || fe_operands(&c, &high, 1));
  return fe_end(&c, good ? op_clip(c.ir, x.id, low.id, high.id) : 0);
}
