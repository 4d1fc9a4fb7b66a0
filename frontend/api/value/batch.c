/* Builders of batched types, and questions about them. */
#include <string.h>

#include "frontend/api/api.h"
#include "passes/ops/ops.h"

vf_value vf_rebatch(vf_value x, int batch_dims) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "rebatch", &x, 1) ? op_rebatch(c.ir, x.id, batch_dims) : 0);
}

vf_value vf_incr_batch_dims(vf_value x) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "incr_batch_dims", &x, 1) ? op_incr_batch_dims(c.ir, x.id) : 0);
}

vf_value vf_decr_batch_dims(vf_value x) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, "decr_batch_dims", &x, 1) ? op_decr_batch_dims(c.ir, x.id) : 0);
}

vf_value vf_move_axis_to_batch_dims(vf_value x, int axis) {
  fe_call c;
  bool good = fe_begin(&c, "move_axis_to_batch_dims", &x, 1);
  return fe_end(&c, good ? op_move_axis_to_batch_dims(c.ir, x.id, axis) : 0);
}

vf_value vf_move_axis_from_batch_dims(vf_value x, int batch_axis, int logical_destination) {
  fe_call c;
  bool good = fe_begin(&c, "move_axis_from_batch_dims", &x, 1);
  return fe_end(&c, good ? op_move_axis_from_batch_dims(c.ir, x.id, batch_axis, logical_destination) : 0);
}

vf_value vf_broadcast_batch_dims(vf_value x, int count, const int64_t *batch_shape) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good =
      fe_begin(&c, "broadcast_batch_dims", &x, 1) && fe_list(&c, "the batch shape", count, batch_shape, refs);
  return fe_end(&c, good ? op_broadcast_batch_dims(c.ir, x.id, refs, (size_t)count) : 0);
}

vf_value vf_unsqueeze_physical(vf_value x, int axis) {
  fe_call c;
  bool good = fe_begin(&c, "unsqueeze_physical", &x, 1);
  return fe_end(&c, good ? op_unsqueeze_physical(c.ir, x.id, axis) : 0);
}

vf_value vf_squeeze_physical(vf_value x, int axis) {
  fe_call c;
  bool good = fe_begin(&c, "squeeze_physical", &x, 1);
  return fe_end(&c, good ? op_squeeze_physical(c.ir, x.id, axis) : 0);
}

vf_value vf_broadcast_to_physical(vf_value x, int rank, const int64_t *shape) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, "broadcast_to_physical", &x, 1) && fe_list(&c, "the shape", rank, shape, refs);
  return fe_end(&c, good ? op_broadcast_to_physical(c.ir, x.id, refs, (size_t)rank) : 0);
}

vf_value vf_moveaxis_physical(vf_value x, int source, int destination) {
  fe_call c;
  bool good = fe_begin(&c, "moveaxis_physical", &x, 1);
  return fe_end(&c, good ? op_moveaxis_physical(c.ir, x.id, source, destination) : 0);
}

int vf_value_batch_dims(vf_value x) { return vf_ok(x) ? (int)ir_batch_rank(&x.graph->ir, x.id) : -1; }

int vf_value_batch(vf_value x, int64_t *sizes) {
  int count = vf_value_batch_dims(x);
  for (int i = 0; i < count && sizes; i++) {
    const ir_graph *g = &x.graph->ir;
    if (!ir_is_const(g, ir_src(g, ir_batch(g, x.id), (uint32_t)i), &sizes[i])) sizes[i] = -1;
  }
  return count;
}
