/* Floats as unsigned integers in their order: integers are compared in one instruction. */
#ifndef VIEWFOLD_PASSES_PATTERNS_FLOAT_KEY_H
#define VIEWFOLD_PASSES_PATTERNS_FLOAT_KEY_H

#include "ir/ir.h"

/* A float, or a tensor of floats, as unsigned integers in the order of max (op MAX) or min (op MIN): -0
 * before +0, NaN the best. The key of an f16 or bf16 is that of its f32. 0 on failure. */
ir_ref pass_float_key(ir_graph *g, ir_op op, ir_ref x);
/* The float of dtype t that a key stands for; of NaNs, any. */
ir_ref pass_key_value(ir_graph *g, ir_op op, ir_ref key, ir_dtype t);
/* The key of a CONST of a float dtype, as a CONST. */
ir_ref pass_constant_key(ir_graph *g, ir_op op, ir_ref x);

#endif
