/* Calls of builders from operands and attributes: one function per form of names.def. */
#include "args.h"

#define AT(name) OP_ATTR_##name

/* elementwise */
OP_FORM(unary, , op_unary(a->g, a->op, a->x[0]))
OP_FORM(binary, , op_binary(a->g, a->op, a->x[0], a->x[1]))
OP_FORM(logical, , op_logical(a->g, a->op, a->x[0], a->x[1]))
OP_FORM(logical_not, , op_logical_not(a->g, a->x[0]))
OP_FORM(stop_gradient, , op_stop_gradient(a->g, a->x[0]))
OP_FORM(ternary, , op_ternary(a->g, a->op, a->x[0], a->x[1], a->x[2]))
OP_FORM(matmul, , op_matmul(a->g, a->x[0], a->x[1]))
OP_FORM(cast, OP_DTYPE(dtype, IR_NONE), op_cast(a->g, a->x[0], dtype))
OP_FORM(bitcast, OP_DTYPE(dtype, IR_NONE), op_bitcast(a->g, a->x[0], dtype))

/* views */
OP_FORM(permute, OP_ENTRIES(order), op_permute(a->g, a->x[0], order.items, order.n))
OP_FORM(swap_axes, OP_INT(axis1, 0) OP_INT(axis2, 0), op_swap_axes(a->g, a->x[0], axis1, axis2))

ir_ref op_form_transpose(const op_args *a) {
  bool first = a->at[AT(axis1)], second = a->at[AT(axis2)];
  if (first && second) return op_form_swap_axes(a);
  if (!first && !second) return op_transpose(a->g, a->x[0]);
  return op_refuse(
      a->g, "%s: attribute axis%d is missing; takes axis1 and axis2, or neither, which reverses all axes",
      a->who, first ? 2 : 1);
}

OP_FORM(moveaxis, OP_INT(source, 0) OP_INT(destination, 0), op_move_axis(a->g, a->x[0], source, destination))
OP_FORM(reshape, OP_ENTRIES(shape), op_reshape(a->g, a->x[0], shape.items, shape.n))
OP_FORM(flatten, OP_INT(start_dim, 0) OP_INT(end_dim, -1), op_flatten(a->g, a->x[0], start_dim, end_dim))
OP_FORM(expand, OP_ENTRIES(shape), op_expand(a->g, a->x[0], shape.items, shape.n))
OP_FORM(unsqueeze, OP_INT(axis, 0), op_unsqueeze(a->g, a->x[0], axis))

ir_ref op_form_squeeze(const op_args *a) {
  op_list axes;
  bool given;
  return op_args_axes(a, &axes, &given)
             ? op_squeeze(a->g, a->x[0], given ? axes.items : NULL, given ? axes.n : 0)
             : 0;
}

OP_FORM(shrink, OP_PAIRS(bounds), op_shrink(a->g, a->x[0], bounds.items, bounds.n))

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
  return op_slice(a->g, "slice", a->x[0], start.items, size.items, start.n);
}

OP_FORM(stride, OP_ENTRIES(steps), op_stride(a->g, a->x[0], steps.items, steps.n))

ir_ref op_form_flip(const op_args *a) {
  op_list axes;
  bool given;
  if (!op_args_axes(a, &axes, &given)) return 0;
  if (!given)
    return op_refuse(a->g, "%s: attribute axes is missing; it is a list of axes, such as [0,1]", a->who);
  return op_flip(a->g, a->x[0], axes.items, axes.n);
}

OP_FORM(point, OP_EXPRESSION(index) OP_INT(axis, 0), op_point(a->g, a->x[0], index, axis))

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

OP_FORM(concat, OP_INT(axis, 0), op_concat(a->g, a->x, a->n, axis))
OP_FORM(stack, OP_INT(axis, 0), op_stack(a->g, a->x, a->n, axis))

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

OP_FORM(argreduce, OP_INT(axis, 0) OP_BOOL(keepdims, false),
        op_argreduce(a->g, a->op, a->x[0], a->at[AT(axis)] ? &axis : NULL, keepdims))
