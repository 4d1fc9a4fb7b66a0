/* Builders that index by tensors, or by a window. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

static bool begin_indirect(fe_call *c, const char *who, const vf_value *operands, size_t count,
                           vf_gather_mode mode) {
  return fe_begin(c, who, operands, count) &&
         ((unsigned)mode <= VF_GATHER_FILL || fe_refuse(c, "there is no mode %d", (int)mode));
}

vf_value vf_gather(vf_value x, vf_value indices, int axis, vf_gather_mode mode) {
  return vf_gather_batched(x, indices, axis, 0, mode);
}
vf_value vf_gather_batched(vf_value x, vf_value indices, int axis, int batch, vf_gather_mode mode) {
  fe_call c;
  bool good = begin_indirect(&c, "gather", (vf_value[]){x, indices}, 2, mode);
  return fe_end(&c, good ? op_gather_batched(c.ir, x.id, indices.id, axis, (int)mode, batch) : 0);
}

static vf_value scatter(ir_op op, vf_value x, vf_value indices, vf_value updates, int axis,
                        vf_gather_mode mode) {
  fe_call c;
  bool good = begin_indirect(&c, ir_ops[op].text, (vf_value[]){x, indices, updates}, 3, mode);
  return fe_end(&c, good ? op_scatter(c.ir, op, x.id, indices.id, updates.id, axis, (int)mode, 0) : 0);
}
vf_value vf_scatter(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode) {
  return scatter(IR_OP_SCATTER, x, indices, updates, axis, mode);
}
vf_value vf_scatter_add(vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode) {
  return scatter(IR_OP_SCATTER_ADD, x, indices, updates, axis, mode);
}

vf_value vf_take_along_axis(vf_value x, vf_value indices, int axis, vf_gather_mode mode) {
  fe_call c;
  bool good = begin_indirect(&c, "take_along_axis", (vf_value[]){x, indices}, 2, mode);
  return fe_end(&c, good ? op_take_along_axis(c.ir, x.id, indices.id, axis, (int)mode) : 0);
}

static vf_value scatter_along(const char *who, ir_op op, vf_value x, vf_value indices, vf_value updates,
                              int axis, vf_gather_mode mode) {
  fe_call c;
  bool good = begin_indirect(&c, who, (vf_value[]){x, indices, updates}, 3, mode);
  return fe_end(&c,
                good ? op_scatter_along_axis(c.ir, op, x.id, indices.id, updates.id, axis, (int)mode) : 0);
}
vf_value vf_scatter_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                               vf_gather_mode mode) {
  return scatter_along("scatter_along_axis", IR_OP_SCATTER, x, indices, updates, axis, mode);
}
vf_value vf_scatter_add_along_axis(vf_value x, vf_value indices, vf_value updates, int axis,
                                   vf_gather_mode mode) {
  return scatter_along("scatter_add_along_axis", IR_OP_SCATTER_ADD, x, indices, updates, axis, mode);
}

vf_value vf_slice_update(vf_value x, vf_value update, int count, const int64_t *start, const int64_t *size) {
  fe_call c;
  ir_ref from[FE_LIST_MAX], sizes[FE_LIST_MAX];
  bool good = fe_begin(&c, "slice_update", (vf_value[]){x, update}, 2) &&
              fe_list(&c, "start", count, start, from) && (!size || fe_list(&c, "size", count, size, sizes));
  return fe_end(&c,
                good ? op_slice_update(c.ir, x.id, update.id, from, size ? sizes : NULL, (size_t)count) : 0);
}
