/* Calls of the builders that index by tensors, by a window, or among devices, from operands and attributes.
 */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

typedef struct choice {
  int64_t axis, batch;
  int mode;
} choice;

/* Defaults: axis=0 mode=check batch=0. False after failing. */
static bool choice_of(const op_args *a, choice *c) {
  *c = (choice){.mode = IR_GATHER_CHECK};
  return op_args_int(a, AT(axis), &c->axis) && op_args_choice(a, AT(mode), ir_gather_modes, 3, &c->mode) &&
         op_args_int(a, AT(batch), &c->batch);
}

#define CHOICE                                                                                               \
  choice c;                                                                                                  \
  if (!choice_of(a, &c)) return 0;

OP_FORM(gather, CHOICE, op_gather_batched(a->g, a->x[0], a->x[1], c.axis, c.mode, c.batch))
OP_FORM(scatter, CHOICE, op_scatter(a->g, a->op, a->x[0], a->x[1], a->x[2], c.axis, c.mode, c.batch))
OP_FORM(take, CHOICE, op_take(a->g, a->x[0], a->x[1], a->at[AT(axis)] ? &c.axis : NULL, c.mode))
OP_FORM(take_along_axis, CHOICE, op_take_along_axis(a->g, a->x[0], a->x[1], c.axis, c.mode))
OP_FORM(scatter_along_axis, CHOICE,
        op_scatter_along_axis(a->g, a->op, a->x[0], a->x[1], a->x[2], c.axis, c.mode))

OP_FORM(found, OP_ENTRIES(size),
        size.n == 1 ? op_found(a->g, a->x[0], size.items[0])
                    : op_refuse(a->g, "%s: %zu sizes are given; takes one", a->who, size.n))

ir_ref op_form_assign(const op_args *a) {
  int write = OP_WRITE_SET;
  if (!op_args_choice(a, AT(op), op_writes, OP_WRITE_COUNT, &write)) return 0;
  return op_assign(a->g, a->x[0], a->x[1], a->x[2], (op_write)write);
}

/* Of an operand, or of a shape. */
ir_ref op_form_address(const op_args *a) {
  op_list shape;
  if ((a->n == 1) == (a->at[AT(shape)] != NULL))
    return op_refuse(a->g, "%s: takes either an operand, whose positions it gives, or a shape", a->who);
  if (a->n == 1)
    return op_tensors(a->g, a->who, a->x, 1)
               ? op_address(a->g, op_dims(a->g, a->x[0]), ir_rank(a->g, a->x[0]))
               : 0;
  return op_args_list(a, AT(shape), &shape) ? op_address(a->g, shape.items, shape.n) : 0;
}

ir_ref op_form_slice_update(const op_args *a) {
  op_list start, size;
  bool sized = a->at[AT(size)];
  if (!op_args_list(a, AT(start), &start) || !op_args_list(a, AT(size), &size)) return 0;
  if (sized && size.n != start.n)
    return op_refuse(a->g, "%s: start and size have lengths %zu and %zu; each axis takes one of both", a->who,
                     start.n, size.n);
  return op_slice_update(a->g, a->x[0], a->x[1], start.items, sized ? size.items : NULL, start.n);
}

ir_ref op_form_exchange(const op_args *a) {
  op_list shape, start, at;
  const ir_attr *kind = a->at[AT(kind)];
  if (!op_args_list(a, AT(shape), &shape) || !op_args_list(a, AT(start), &start) ||
      !op_args_list(a, AT(at), &at))
    return 0;
  if (kind && kind->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(kind), kind);
  if (shape.n != start.n || shape.n != at.n)
    return op_refuse(a->g,
                     "%s: shape, start and at have lengths %zu, %zu and %zu; each axis takes one of each",
                     a->who, shape.n, start.n, at.n);
  return op_exchange(a->g, a->x[0], shape.items, start.items, at.items, shape.n,
                     kind ? kind->word : "exchange", kind ? kind->word_length : sizeof "exchange" - 1);
}
