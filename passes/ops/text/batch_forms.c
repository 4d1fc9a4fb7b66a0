/* Calls of the builders of passes/ops/build/batch.c from operands and attributes. */
#include "args.h"

OP_FORM(rebatch, OP_INT(batch_dims, 0), op_rebatch(a->g, a->x[0], batch_dims))
OP_FORM(incr_batch_dims, , op_incr_batch_dims(a->g, a->x[0]))
OP_FORM(decr_batch_dims, , op_decr_batch_dims(a->g, a->x[0]))
OP_FORM(batch, OP_INT(axis, 0) OP_INT(level, 0), op_batch(a->g, a->x[0], axis, level))
OP_FORM(unbatch, OP_INT(axis, 0) OP_INT(level, 0) OP_ENTRIES(size),
        size.n == 1 ? op_unbatch(a->g, a->x[0], size.items[0], axis, level)
                    : op_refuse(a->g, "%s: %zu sizes are given; takes one", a->who, size.n))
OP_FORM(move_axis_to_batch_dims, OP_INT(axis, 0), op_move_axis_to_batch_dims(a->g, a->x[0], axis))
OP_FORM(move_axis_from_batch_dims, OP_INT(batch_axis, 0) OP_INT(logical_destination, 0),
        op_move_axis_from_batch_dims(a->g, a->x[0], batch_axis, logical_destination))
OP_FORM(broadcast_batch_dims, OP_ENTRIES(batch_shape),
        op_broadcast_batch_dims(a->g, a->x[0], batch_shape.items, batch_shape.n))
OP_FORM(unsqueeze_physical, OP_INT(axis, 0), op_unsqueeze_physical(a->g, a->x[0], axis))
OP_FORM(squeeze_physical, OP_INT(axis, 0), op_squeeze_physical(a->g, a->x[0], axis))
OP_FORM(broadcast_to_physical, OP_ENTRIES(shape),
        op_broadcast_to_physical(a->g, a->x[0], shape.items, shape.n))
OP_FORM(moveaxis_physical, OP_INT(source, 0) OP_INT(destination, 0),
        op_moveaxis_physical(a->g, a->x[0], source, destination))
