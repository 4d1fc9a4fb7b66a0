/* Builders that index by tensors, or by a window. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

static bool begin_indirect(fe_call *c, const char *who, const vf_value *operands, size_t count,
                           vf_gather_mode mode) {
  return fe_begin(c, who, operands, count) &&
         ((unsigned)mode <= VF_GATHER_FILL ||
          fe_refuse(c, "there is no mode %d; takes VF_GATHER_CHECK, _CLIP or _FILL", (int)mode));
}

vf_value vf_gather(vf_value x, vf_value indices, int axis, vf_gather_mode mode) {
  return vf_gather_batched(x, indices, axis, 0, mode);
}
FE_BUILDER(gather_batched, (vf_value x, vf_value indices, int axis, int batch, vf_gather_mode mode),
           begin_indirect(&c, "gather", (vf_value[]){x, indices}, 2, mode),
           op_gather_batched(c.ir, x.id, indices.id, axis, (int)mode, batch))

/* `made` of x, indices, updates, axis and mode */
#define SCATTER(name, made)                                                                                  \
  FE_BUILDER(name, (vf_value x, vf_value indices, vf_value updates, int axis, vf_gather_mode mode),          \
             begin_indirect(&c, #name, (vf_value[]){x, indices, updates}, 3, mode), made)
#define SCATTER_WHOLE(name, op)                                                                              \
  SCATTER(name, op_scatter(c.ir, IR_OP_##op, x.id, indices.id, updates.id, axis, (int)mode, 0))
#define SCATTER_ALONG(name, op)                                                                              \
  SCATTER(name, op_scatter_along_axis(c.ir, IR_OP_##op, x.id, indices.id, updates.id, axis, (int)mode))
SCATTER_WHOLE(scatter, SCATTER)
SCATTER_WHOLE(scatter_add, SCATTER_ADD)
SCATTER_ALONG(scatter_along_axis, SCATTER)
SCATTER_ALONG(scatter_add_along_axis, SCATTER_ADD)

_Static_assert((int)VF_WRITE_XOR == OP_WRITE_XOR,
               "operations of writes have the numbers of passes/ops/ops.h");
FE_BUILDER(address, (vf_value x), fe_begin(&c, "address", &x, 1),
           op_address(c.ir, op_dims(c.ir, x.id), ir_rank(c.ir, x.id)))
FE_BUILDER(read, (vf_value target, vf_value x), fe_begin(&c, "read", (vf_value[]){target, x}, 2),
           op_read(c.ir, target.id, x.id))

FE_BUILDER(assign, (vf_value x, vf_value target, vf_value u, vf_write_op op),
           fe_begin(&c, "assign", (vf_value[]){x, target, u}, 3) &&
               ((unsigned)op < OP_WRITE_COUNT ||
                fe_refuse(&c, "there is no operation %d; takes one of vf_write_op, such as VF_WRITE_ADD",
                          (int)op)),
           op_assign(c.ir, x.id, target.id, u.id, (op_write)op))

FE_BUILDER(take_along_axis, (vf_value x, vf_value indices, int axis, vf_gather_mode mode),
           begin_indirect(&c, "take_along_axis", (vf_value[]){x, indices}, 2, mode),
           op_take_along_axis(c.ir, x.id, indices.id, axis, (int)mode))

vf_value vf_slice_update(vf_value x, vf_value update, int count, const int64_t *start, const int64_t *size) {
  fe_call c;
  ir_ref from[FE_LIST_MAX], sizes[FE_LIST_MAX];
  bool good = fe_begin(&c, "slice_update", (vf_value[]){x, update}, 2) &&
              fe_list(&c, "start", count, start, from) && (!size || fe_list(&c, "size", count, size, sizes));
  return fe_end(&c,
                good ? op_slice_update(c.ir, x.id, update.id, from, size ? sizes : NULL, (size_t)count) : 0);
}
