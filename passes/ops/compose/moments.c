/* Variance and standard deviation in two passes: the mean, then the squares of the deviations from it. The
 * sum of squares minus the square of the sum would lose digits by cancellation. */
#include "impl.h"

/* max(number of elements per result - correction, 0), as a scalar. */
static ir_ref divisor(ir_graph *g, ir_ref x, uint32_t set, double correction) {
  ir_dtype dtype = ir_dtype_of(g, x);
  ir_ref dims[IR_MAX_RANK];
  size_t n = 0;
  int64_t count;
  for (uint32_t i = 0; i < ir_rank(g, x); i++)
    if (set >> i & 1) dims[n++] = ir_dim(g, x, i);
  ir_ref size = op_numel(g, dims, n);
  if (size && ir_is_const(g, size, &count)) {
    double left = (double)count - correction;
    return ir_float(g, dtype, left > 0 ? left : 0);
  }
  ir_ref left = op_sub(g, op_size_value(g, dtype, size), ir_float(g, dtype, correction));
  return op_binary(g, IR_OP_MAX, left, ir_float(g, dtype, 0));
}

ir_ref op_squared_deviation(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims,
                            double correction) {
  if (!x) return 0;
  uint32_t set = (1u << ir_rank(g, x)) - 1;
  if (axes && !op_axes(g, "var", x, axes, n, &set)) return 0;
  ir_ref off = op_sub(g, x, op_reduce(g, IR_OP_MEAN, x, axes, n, true)), square = op_mul(g, off, off);
  if (correction == 0) return op_reduce(g, IR_OP_MEAN, square, axes, n, keepdims);
  return op_div(g, op_reduce(g, IR_OP_SUM, square, axes, n, keepdims), divisor(g, x, set, correction));
}

/* The variance of x, no weak constant, in the dtype to compute in. */
static ir_ref variance(ir_graph *g, const char *who, ir_ref x, const ir_ref *axes, size_t n, bool keepdims,
                       double correction) {
  if (!(correction >= 0 && correction <= 0x1p53))
    return op_refuse(g, "%s: the correction %g of x, of shape %s, is no count; takes 0 <= correction < 2^53",
                     who, correction, OP_TYPE(x));
  x = op_convert(g, who, x, op_float_wide(ir_dtype_of(g, x)));
  return op_squared_deviation(g, x, axes, n, keepdims, correction);
}

ir_ref op_var(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction) {
  if (!op_compose_begin(g, "var", &x, 1)) return 0;
  ir_ref made = variance(g, "var", x, axes, n, keepdims, correction);
  return op_compose_end(g, "var", op_cast(g, made, op_float_result(ir_dtype_of(g, x))));
}

ir_ref op_std(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims, double correction) {
  if (!op_compose_begin(g, "std", &x, 1)) return 0;
  ir_ref made = op_unary(g, IR_OP_SQRT, variance(g, "std", x, axes, n, keepdims, correction));
  return op_compose_end(g, "std", op_cast(g, made, op_float_result(ir_dtype_of(g, x))));
}
