/* Exponentials divided by a sum of exponentials. With m the maximum of a row, exp(x - m) <= 1 and one term is
 * 1, so neither the terms nor their sum overflow or vanish, and exp(x) / sum exp(x) = exp(x - m) / sum exp(x
 * - m). */
#include "impl.h"

#include <math.h>

typedef struct row {
  ir_ref axis;
  ir_ref shifted; /* x minus its maximum */
  ir_ref sum;     /* sum of the exponentials of shifted */
  ir_dtype dtype; /* of the result */
} row;

/* False after failing. */
static bool row_of(ir_graph *g, const char *who, ir_ref x, int64_t axis, row *r) {
  if (!op_compose_begin(g, who, &x, 1)) return false;
  int64_t at = op_axis(g, who, x, axis, ir_rank(g, x));
  if (at < 0) return false;
  r->axis = ir_index(g, at);
  r->dtype = op_float_result(ir_dtype_of(g, x));
  x = op_convert(g, who, x, op_float_wide(r->dtype));
  r->shifted = op_sub(g, x, op_reduce(g, IR_OP_REDUCE_MAX, x, &r->axis, 1, true));
  r->sum = op_reduce(g, IR_OP_SUM, op_unary(g, IR_OP_EXP, r->shifted), &r->axis, 1, true);
  return r->sum || op_compose_end(g, who, 0);
}

ir_ref op_softmax(ir_graph *g, ir_ref x, int64_t axis) {
  row r;
  if (!row_of(g, "softmax", x, axis, &r)) return 0;
  return op_cast(g, op_div(g, op_unary(g, IR_OP_EXP, r.shifted), r.sum), r.dtype);
}

ir_ref op_log_softmax(ir_graph *g, ir_ref x, int64_t axis) {
  row r;
  if (!row_of(g, "log_softmax", x, axis, &r)) return 0;
  return op_cast(g, op_sub(g, r.shifted, op_unary(g, IR_OP_LOG, r.sum)), r.dtype);
}

/* An infinite maximum is not subtracted: inf - inf is NaN, while exp(-inf) = 0 and exp(inf) = inf are the
 * wanted values. */
ir_ref op_logsumexp(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims) {
  const char *who = "logsumexp";
  uint32_t set;
  if (!op_compose_begin(g, who, &x, 1) || (axes && !op_axes(g, who, x, axes, n, &set))) return 0;
  ir_dtype dtype = op_float_result(ir_dtype_of(g, x)), wide = op_float_wide(dtype);
  x = op_convert(g, who, x, wide);
  ir_ref most = op_reduce(g, IR_OP_REDUCE_MAX, x, axes, n, true);
  ir_ref infinite = op_binary(g, IR_OP_EQ, op_unary(g, IR_OP_ABS, most), ir_float(g, wide, INFINITY));
  ir_ref shift = op_where(g, infinite, ir_float(g, wide, 0), most);
  ir_ref terms = op_unary(g, IR_OP_EXP, op_sub(g, x, shift));
  ir_ref total = op_unary(g, IR_OP_LOG, op_reduce(g, IR_OP_SUM, terms, axes, n, true)),
         sum = op_add(g, total, shift);
  if (sum && !keepdims) {
    ir_ref all[IR_MAX_RANK];
    for (uint32_t i = 0; i < ir_rank(g, x); i++) all[i] = ir_index(g, i);
    sum = op_squeeze(g, sum, axes ? axes : all, axes ? n : ir_rank(g, x));
  }
  return op_compose_end(g, who, op_cast(g, sum, dtype));
}
