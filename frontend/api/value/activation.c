/* Builders of activations and other short formulas. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

FE_BUILDER_OF_X(silu, (vf_value x), op_silu(c.ir, x.id))
FE_BUILDER_OF_X(softplus, (vf_value x), op_softplus(c.ir, x.id))
FE_BUILDER_OF_X(reciprocal, (vf_value x), op_reciprocal(c.ir, x.id))
FE_BUILDER_OF_X(square, (vf_value x), op_square(c.ir, x.id))
FE_BUILDER_OF_X(sign, (vf_value x), op_sign(c.ir, x.id))
FE_BUILDER_OF_X(gelu, (vf_value x, bool tanh_form), op_gelu(c.ir, x.id, tanh_form))
FE_BUILDER_OF_X(leaky_relu, (vf_value x, double alpha), op_leaky_relu(c.ir, x.id, alpha))
FE_BUILDER_OF_X(elu, (vf_value x, double alpha), op_elu(c.ir, x.id, alpha))

FE_BUILDER(clip, (vf_value x, vf_value low, vf_value high),
           fe_begin(&c, "clip", &x, 1) && (!low.graph || fe_operands(&c, &low, 1)) &&
               (!high.graph || fe_operands(&c, &high, 1)),
           op_clip(c.ir, x.id, low.id, high.id))
