/* Builders of reductions and products. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

static vf_value reduce_axes(ir_op op, vf_value x, int count, const int64_t *axes, bool keepdims) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, ir_ops[op].text, &x, 1) && fe_list(&c, "the list of axes", count, axes, refs);
  return fe_end(&c, good ? op_reduce(c.ir, op, x.id, axes ? refs : NULL, (size_t)count, keepdims) : 0);
}

#define REDUCE(name, op)                                                                                     \
  vf_value vf_##name(vf_value x, int count, const int64_t *axes, bool keepdims) {                            \
    return reduce_axes(IR_OP_##op, x, count, axes, keepdims);                                                \
  }
REDUCE(sum, SUM)
REDUCE(prod, PROD)
REDUCE(mean, MEAN)
REDUCE(reduce_max, REDUCE_MAX)
REDUCE(reduce_min, REDUCE_MIN)
REDUCE(any, ANY)
REDUCE(all, ALL)

static vf_value argreduce(ir_op op, vf_value x, int axis, bool keepdims) {
  fe_call c;
  bool good = fe_begin(&c, ir_ops[op].text, &x, 1);
  return fe_end(&c, good ? op_argreduce(c.ir, op, x.id, &(int64_t){axis}, keepdims) : 0);
}
vf_value vf_argmax(vf_value x, int axis, bool keepdims) { return argreduce(IR_OP_ARGMAX, x, axis, keepdims); }
vf_value vf_argmin(vf_value x, int axis, bool keepdims) { return argreduce(IR_OP_ARGMIN, x, axis, keepdims); }

vf_value vf_matmul(vf_value a, vf_value b) {
  fe_call c;
  bool good = fe_begin(&c, "matmul", (vf_value[]){a, b}, 2);
  return fe_end(&c, good ? op_matmul(c.ir, a.id, b.id) : 0);
}
