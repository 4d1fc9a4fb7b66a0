/* The folder ir/elementary. Elementary functions.
 *
 *   in      an operation and its argument
 *   out     an expression in primitive operations
 *   holds   the evaluator and every backend use the same sequence of IEEE operations, so that results are
 *           equal bit for bit */

/* Elementary functions as expressions in primitive operations.
 *
 * The returned expression defines the function: one fixed sequence of IEEE operations that the reference
 * evaluator and every backend share, so that results are bit-equal everywhere (NaNs as a class). Arguments
 * that are rare in practice and take many more operations are the first value of a RARE node. Errors in units
 * in the last place (ULP) of the result, over the whole range with infinities and subnormals:
 *
 *   exp exp2 log         f32 <= 1      f64 <= 1
 *   log2                 f32 <= 1.5    f64 <= 1
 *   sin                  f32 <= 2      f64 <= 2 for |x| <= 2^50 and NaN beyond
 *   cos                  f32 <= 1.5    f64 <= 2 for |x| <= 2^50 and NaN beyond
 *   erf sigmoid          f32 <= 2      f64 <= 2
 *   gelu                 f32 <= 1      f64 <= 16
 *   gelu by tanh         f32 <= 2      f64 <= 2
 *   expm1 log1p          f32 <= 1.5    f64 <= 1.5
 *   erfinv               f32 <= 2.5    f64 <= 2.5
 *   asinh acosh atanh    f32 <= 2.5    f64 <= 2.5
 *   tan                  f32 <= 1      f64 <= 4 for |x| <= 2^50 and NaN beyond
 *   asin acos atan       f32 <= 2      f64 <= 2
 *   sinh cosh tanh       f32 <= 2      f64 <= 2
 *   pow                  f32 <= 1      f64 <= 1.5
 *   rsqrt                1 / sqrt(x), each rounded: <= 1.5
 *   mod                  the exact remainder with the sign of the divisor, rounded once
 *   floordiv             the exact floor of the quotient up to 2^22 (f64 2^51), and NumPy's value beyond
 *
 * Special values are those of IEEE 754-2019 and C17 annex F: odd functions keep signed zeros, log(0) = -inf,
 * log of a negative number is NaN, erfinv(1) = inf and NaN beyond, pow(x, 0) = pow(1, y) = 1 even for NaN.
 * relu(-0.0) = +0.0 and relu(NaN) = NaN. f16 and bf16 are computed in f32 and rounded once. Integer pow
 * wraps; a negative exponent gives 0 unless the base is 1 or -1; x ** 0 = 1. On bool, pow is `x | !y`. */
#ifndef VIEWFOLD_IR_ELEMENTARY_ELEMENTARY_H
#define VIEWFOLD_IR_ELEMENTARY_ELEMENTARY_H

#include "ir/ir.h"

/* True for the operations of ir/ops.def that are EXPANDED or TYPED, and on floats for those that are MIXED.
 */
bool ir_is_elementary(ir_op op, ir_dtype type);

/* The node (tensor or loop level, its op elementary) in primitive operations on the same operands; a node
 * with any other op is returned unchanged. 0 when memory is short. */
ir_ref ir_elementary(ir_graph *g, ir_ref node);

/* scaled.c. p 2^n, of which some instruction sets have an instruction for whole vectors. */
typedef struct ir_scaled {
  ir_ref p, s; /* n = s - magic */
  ir_ref zero; /* a bool: the product is 0 where it holds, whatever n is; 0: nowhere */
  double magic;
} ir_scaled;
/* Is the node one of these products? */
bool ir_read_scaled(const ir_graph *g, ir_ref node, ir_scaled *out);

#endif
