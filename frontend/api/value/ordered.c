/* Builders of cumulative operations and of sorting. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

static vf_value cumulative(ir_op op, vf_value x, int axis) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, &x, 1);
  return fe_end(&c, good ? op_cumulative(c.ir, op, x.id, axis, false, false) : 0);
}
vf_value vf_cumsum(vf_value x, int axis) { return cumulative(IR_OP_CUMSUM, x, axis); }
vf_value vf_cumprod(vf_value x, int axis) { return cumulative(IR_OP_CUMPROD, x, axis); }
vf_value vf_cummax(vf_value x, int axis) { return cumulative(IR_OP_CUMMAX, x, axis); }
vf_value vf_cummin(vf_value x, int axis) { return cumulative(IR_OP_CUMMIN, x, axis); }

static vf_value sort_axis(ir_op op, vf_value x, int axis, bool descending) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, &x, 1);
  return fe_end(&c, good ? op_sort(c.ir, op, x.id, axis, descending) : 0);
}
vf_value vf_sort(vf_value x, int axis, bool descending) { return sort_axis(IR_OP_SORT, x, axis, descending); }
vf_value vf_argsort(vf_value x, int axis, bool descending) {
  return sort_axis(IR_OP_ARGSORT, x, axis, descending);
}

int vf_topk(vf_value x, int k, int axis, bool largest, vf_value results[2]) {
  fe_call c;
  ir_ref made = fe_begin(&c, "topk", &x, 1) ? op_topk(c.ir, x.id, k, axis, largest) : 0;
  return fe_end_all(&c, made, 2, results);
}
