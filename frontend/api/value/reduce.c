/* Builders of reductions and products. */
#include "frontend/api/api.h"
#include "passes/ops/ops.h"

#define REDUCE(name, op)                                                                                     \
  FE_BUILDER(name, (vf_value x, int count, const int64_t *axes, bool keepdims),                              \
             fe_begin(&c, ir_ops[IR_OP_##op].text, &x, 1) &&                                                 \
                 fe_list(&c, "the list of axes", count, axes, refs),                                         \
             op_reduce(c.ir, IR_OP_##op, x.id, axes ? refs : NULL, (size_t)count, keepdims))
REDUCE(sum, SUM)
REDUCE(prod, PROD)
REDUCE(mean, MEAN)
REDUCE(reduce_max, REDUCE_MAX)
REDUCE(reduce_min, REDUCE_MIN)
REDUCE(any, ANY)
REDUCE(all, ALL)

#define ARGREDUCE(name, op)                                                                                  \
  FE_BUILDER_OF_X(name, (vf_value x, int axis, bool keepdims),                                               \
                  op_argreduce(c.ir, IR_OP_##op, x.id, &(int64_t){axis}, keepdims))
ARGREDUCE(argmax, ARGMAX)
ARGREDUCE(argmin, ARGMIN)

FE_BUILDER(matmul, (vf_value a, vf_value b), fe_begin(&c, "matmul", (vf_value[]){a, b}, 2),
           op_matmul(c.ir, a.id, b.id))
