/* Calls of builders from operands and attributes: one function per form of names.def. */
#include "args.h"

#define AT(name) OP_ATTR_##name

/* elementwise */
ir_ref op_form_unary(const op_args *a) { return op_unary(a->g, a->op, a->x[0]); }
ir_ref op_form_binary(const op_args *a) { return op_binary(a->g, a->op, a->x[0], a->x[1]); }
ir_ref op_form_logical(const op_args *a) { return op_logical(a->g, a->op, a->x[0], a->x[1]); }
ir_ref op_form_logical_not(const op_args *a) { return op_logical_not(a->g, a->x[0]); }
ir_ref op_form_stop_gradient(const op_args *a) { return op_stop_gradient(a->g, a->x[0]); }
ir_ref op_form_ternary(const op_args *a) { return op_ternary(a->g, a->op, a->x[0], a->x[1], a->x[2]); }
ir_ref op_form_matmul(const op_args *a) { return op_matmul(a->g, a->x[0], a->x[1]); }

ir_ref op_form_cast(const op_args *a) {
  ir_dtype dtype = IR_NONE;
  return op_args_dtype(a, AT(dtype), &dtype) ? op_cast(a->g, a->x[0], dtype) : 0;
}

ir_ref op_form_bitcast(const op_args *a) {
  ir_dtype dtype = IR_NONE;
  return op_args_dtype(a, AT(dtype), &dtype) ? op_bitcast(a->g, a->x[0], dtype) : 0;
}

/* views */
ir_ref op_form_permute(const op_args *a) {
  op_list order;
  return op_args_list(a, AT(order), &order) ? op_permute(a->g, a->x[0], order.items, order.n) : 0;
}

ir_ref op_form_swap_axes(const op_args *a) {
  int64_t axis1 = 0, axis2 = 0;
  if (!op_args_int(a, AT(axis1), &axis1) || !op_args_int(a, AT(axis2), &axis2)) return 0;
  return op_swap_axes(a->g, a->x[0], axis1, axis2);
}

ir_ref op_form_moveaxis(const op_args *a) {
  int64_t source = 0, destination = 0;
  if (!op_args_int(a, AT(source), &source) || !op_args_int(a, AT(destination), &destination)) return 0;
  return op_move_axis(a->g, a->x[0], source, destination);
}

ir_ref op_form_reshape(const op_args *a) {
  op_list shape;
  return op_args_list(a, AT(shape), &shape) ? op_reshape(a->g, a->x[0], shape.items, shape.n) : 0;
}

ir_ref op_form_flatten(const op_args *a) {
  int64_t first = 0, last = -1;
  if (!op_args_int(a, AT(start_dim), &first) || !op_args_int(a, AT(end_dim), &last)) return 0;
  return op_flatten(a->g, a->x[0], first, last);
}

ir_ref op_form_expand(const op_args *a) {
  op_list shape;
  return op_args_list(a, AT(shape), &shape) ? op_expand(a->g, a->x[0], shape.items, shape.n) : 0;
}

ir_ref op_form_unsqueeze(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_unsqueeze(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_squeeze(const op_args *a) {
  op_list axes;
  bool given;
  return op_args_axes(a, &axes, &given)
             ? op_squeeze(a->g, a->x[0], given ? axes.items : NULL, given ? axes.n : 0)
             : 0;
}

ir_ref op_form_shrink(const op_args *a) {
  op_list bounds;
  return op_args_pairs(a, AT(bounds), &bounds) ? op_shrink(a->g, a->x[0], bounds.items, bounds.n) : 0;
}

ir_ref op_form_slice(const op_args *a) {
  bool window = a->at[AT(start)] && a->at[AT(size)];
  if (a->at[AT(bounds)] && !a->at[AT(start)] && !a->at[AT(size)]) return op_form_shrink(a);
  if (!window || a->at[AT(bounds)])
    return op_refuse(a->g, "%s: takes either bounds, or start and size", a->who);
  op_list start, size;
  if (!op_args_list(a, AT(start), &start) || !op_args_list(a, AT(size), &size)) return 0;
  if (start.n != size.n)
    return op_refuse(a->g, "%s: start and size have lengths %zu and %zu; each axis takes one of both", a->who,
                     start.n, size.n);
  return op_slice(a->g, a->x[0], start.items, size.items, start.n);
}

ir_ref op_form_stride(const op_args *a) {
  op_list steps;
  return op_args_list(a, AT(steps), &steps) ? op_stride(a->g, a->x[0], steps.items, steps.n) : 0;
}

ir_ref op_form_flip(const op_args *a) {
  op_list axes;
  bool given;
  if (!op_args_axes(a, &axes, &given)) return 0;
  if (!given)
    return op_refuse(a->g, "%s: attribute axes is missing; it is a list of axes, such as [0,1]", a->who);
  return op_flip(a->g, a->x[0], axes.items, axes.n);
}

ir_ref op_form_point(const op_args *a) {
  int64_t axis = 0;
  ir_ref index = 0;
  if (!op_args_expr(a, AT(index), &index) || !op_args_int(a, AT(axis), &axis)) return 0;
  return op_point(a->g, a->x[0], index, axis);
}

ir_ref op_form_pad(const op_args *a) {
  op_list pads;
  ir_value value = {.i = 0};
  ir_dtype kind = IR_NONE;
  int mode = IR_PAD_CONSTANT;
  if (!op_args_pairs(a, AT(pads), &pads) || !op_args_choice(a, AT(mode), ir_pad_modes, 4, &mode)) return 0;
  if (a->at[AT(value)] && !op_args_literal(a, AT(value), a->at[AT(value)], &value, &kind)) return 0;
  bool zero = kind == IR_NONE || (ir_is_float(kind) ? value.f == 0 : value.i == 0);
  if (mode != IR_PAD_CONSTANT && !zero)
    return op_refuse(
        a->g,
        "%s: mode=%s fills with elements of x, so a value has no use; leave it out, or use mode=constant",
        a->who, ir_pad_modes[mode]);
  ir_ref fill = kind == IR_NONE   ? 0
                : kind == IR_BOOL ? ir_const(a->g, kind, value)
                                  : ir_make_weak(a->g, kind, value);
  return op_pad(a->g, a->x[0], pads.items, pads.n, fill, mode);
}

ir_ref op_form_concat(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_concat(a->g, a->x, a->n, axis) : 0;
}

ir_ref op_form_stack(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_stack(a->g, a->x, a->n, axis) : 0;
}

/* reductions */
ir_ref op_form_reduce(const op_args *a) {
  op_list axes;
  bool given, keepdims = false;
  if (!op_args_axes(a, &axes, &given) || !op_args_bool(a, AT(keepdims), &keepdims)) return 0;
  return op_reduce(a->g, a->op, a->x[0], given ? axes.items : NULL, given ? axes.n : 0, keepdims);
}

ir_ref op_form_extremum(const op_args *a) {
  if (a->n == 1) return op_form_reduce(a);
  if (a->at[AT(axes)] || a->at[AT(axis)] || a->at[AT(keepdims)])
    return op_refuse(
        a->g, "%s: of two operands it is elementwise and has no axes; give one operand to reduce", a->who);
  return op_binary(a->g, a->op == IR_OP_REDUCE_MAX ? IR_OP_MAX : IR_OP_MIN, a->x[0], a->x[1]);
}

ir_ref op_form_argreduce(const op_args *a) {
  int64_t axis = 0;
  bool keepdims = false;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_bool(a, AT(keepdims), &keepdims)) return 0;
  return op_argreduce(a->g, a->op, a->x[0], a->at[AT(axis)] ? &axis : NULL, keepdims);
}
