/* Builders of batched types, and questions about them. */

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

FE_BUILDER_OF_X(rebatch, (vf_value x, int batch_dims), op_rebatch(c.ir, x.id, batch_dims))

FE_BUILDER_OF_X(incr_batch_dims, (vf_value x), op_incr_batch_dims(c.ir, x.id))

FE_BUILDER_OF_X(decr_batch_dims, (vf_value x), op_decr_batch_dims(c.ir, x.id))

FE_BUILDER_OF_X(move_axis_to_batch_dims, (vf_value x, int axis), op_move_axis_to_batch_dims(c.ir, x.id, axis))

FE_BUILDER_OF_X(move_axis_from_batch_dims, (vf_value x, int batch_axis, int logical_destination),
                op_move_axis_from_batch_dims(c.ir, x.id, batch_axis, logical_destination))

FE_BUILDER(broadcast_batch_dims, (vf_value x, int count, const int64_t *batch_shape),
           fe_begin(&c, "broadcast_batch_dims", &x, 1) &&
               fe_list(&c, "the batch shape", count, batch_shape, refs),
           op_broadcast_batch_dims(c.ir, x.id, refs, (size_t)count))

FE_BUILDER_OF_X(unsqueeze_physical, (vf_value x, int axis), op_unsqueeze_physical(c.ir, x.id, axis))

FE_BUILDER_OF_X(squeeze_physical, (vf_value x, int axis), op_squeeze_physical(c.ir, x.id, axis))

FE_BUILDER(broadcast_to_physical, (vf_value x, int rank, const int64_t *shape),
           fe_begin(&c, "broadcast_to_physical", &x, 1) && fe_list(&c, "the shape", rank, shape, refs),
           op_broadcast_to_physical(c.ir, x.id, refs, (size_t)rank))

FE_BUILDER_OF_X(moveaxis_physical, (vf_value x, int source, int destination),
                op_moveaxis_physical(c.ir, x.id, source, destination))

int vf_value_batch_dims(vf_value x) { return vf_ok(x) ? (int)ir_batch_rank(&x.graph->ir, x.id) : -1; }

int vf_value_batch(vf_value x, int64_t *sizes) {
  int count = vf_value_batch_dims(x);
  for (int i = 0; i < count && sizes; i++) {
    const ir_graph *g = &x.graph->ir;
    if (!ir_is_const(g, ir_src(g, ir_batch(g, x.id), (uint32_t)i), &sizes[i])) sizes[i] = -1;
  }
  return count;
}
