/* Builders of cumulative operations and of sorting. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

#define CUMULATIVE(name, op)                                                                                 \
  FE_BUILDER_OF_X(name, (vf_value x, int axis), op_cumulative(c.ir, IR_OP_##op, x.id, axis, false, false))
CUMULATIVE(cumsum, CUMSUM)
CUMULATIVE(cumprod, CUMPROD)
CUMULATIVE(cummax, CUMMAX)
CUMULATIVE(cummin, CUMMIN)

#define SORTED(name, op)                                                                                     \
  FE_BUILDER_OF_X(name, (vf_value x, int axis, bool descending),                                             \
                  op_sort(c.ir, IR_OP_##op, x.id, axis, descending))
SORTED(sort, SORT)
SORTED(argsort, ARGSORT)

int vf_topk(vf_value x, int k, int axis, bool largest, vf_value results[2]) {
  fe_call c;
  ir_ref made = fe_begin(&c, "topk", &x, 1) ? op_topk(c.ir, x.id, k, axis, largest) : 0;
  return fe_end_all(&c, made, 2, results);
}
