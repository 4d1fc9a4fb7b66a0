/* Calls of the builders of passes/ops/build/batch.c from operands and attributes. */
#include "args.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_rebatch(const op_args *a) {
  int64_t count = 0;
  return op_args_int(a, AT(batch_dims), &count) ? op_rebatch(a->g, a->x[0], count) : 0;
}

ir_ref op_form_incr_batch_dims(const op_args *a) { return op_incr_batch_dims(a->g, a->x[0]); }
ir_ref op_form_decr_batch_dims(const op_args *a) { return op_decr_batch_dims(a->g, a->x[0]); }

ir_ref op_form_batch(const op_args *a) {
  int64_t axis = 0, level = 0;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_int(a, AT(level), &level)) return 0;
  return op_batch(a->g, a->x[0], axis, level);
}

ir_ref op_form_unbatch(const op_args *a) {
  int64_t axis = 0, level = 0;
  op_list size;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_int(a, AT(level), &level) ||
      !op_args_list(a, AT(size), &size))
    return 0;
  if (size.n != 1) return op_refuse(a->g, "%s: %zu sizes are given; takes one", a->who, size.n);
  return op_unbatch(a->g, a->x[0], size.items[0], axis, level);
}

ir_ref op_form_move_axis_to_batch_dims(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_move_axis_to_batch_dims(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_move_axis_from_batch_dims(const op_args *a) {
  int64_t from = 0, to = 0;
  if (!op_args_int(a, AT(batch_axis), &from) || !op_args_int(a, AT(logical_destination), &to)) return 0;
  return op_move_axis_from_batch_dims(a->g, a->x[0], from, to);
}

ir_ref op_form_broadcast_batch_dims(const op_args *a) {
  op_list shape;
  return op_args_list(a, AT(batch_shape), &shape)
             ? op_broadcast_batch_dims(a->g, a->x[0], shape.items, shape.n)
             : 0;
}

ir_ref op_form_unsqueeze_physical(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_unsqueeze_physical(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_squeeze_physical(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_squeeze_physical(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_broadcast_to_physical(const op_args *a) {
  op_list shape;
  return op_args_list(a, AT(shape), &shape) ? op_broadcast_to_physical(a->g, a->x[0], shape.items, shape.n)
                                            : 0;
}

ir_ref op_form_moveaxis_physical(const op_args *a) {
  int64_t source = 0, destination = 0;
  if (!op_args_int(a, AT(source), &source) || !op_args_int(a, AT(destination), &destination)) return 0;
  return op_moveaxis_physical(a->g, a->x[0], source, destination);
}
