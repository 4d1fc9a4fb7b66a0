/* The registry as a table indexed by operation, and the table of compositions. */
#include "passes/ops/derivative/derivative.h"

const op_row op_registry[IR_OP_COUNT] = {
#define RECORDED(name, text, operands, cls, level, infix, precedence, attributes, verify, kind, dtype,       \
                 shape, batch, derivative, rule, sharding, partial, cost, weight)                            \
  [IR_OP_##name] = {OP_KIND_##kind,                                                                          \
                    OP_DTYPE_##dtype,                                                                        \
                    OP_SHAPE_##shape,                                                                        \
                    OP_BATCH_##batch,                                                                        \
                    OP_DERIVATIVE_##derivative,                                                              \
                    OP_PARTIAL_##partial,                                                                    \
                    OP_COST_##cost,                                                                          \
                    weight,                                                                                  \
                    op_derivative_##rule,                                                                    \
                    sharding},
#include "ir/ops.def"
};

const op_composition op_compositions[] = {
#define COMPOSITION(name, dtype, shape) {#name, OP_DTYPE_##dtype, OP_SHAPE_##shape},
#include "compositions.def"
#undef COMPOSITION
    {NULL, 0, 0}};
