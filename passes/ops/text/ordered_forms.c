/* Calls of cumulative and sorting operations from operands and attributes. */
#include "args.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_cumulative(const op_args *a) {
  int64_t axis = 0;
  bool exclusive = false, reverse = false;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_bool(a, AT(exclusive), &exclusive) ||
      !op_args_bool(a, AT(reverse), &reverse))
    return 0;
  return op_cumulative(a->g, a->op, a->x[0], axis, exclusive, reverse);
}

ir_ref op_form_sort(const op_args *a) {
  int64_t axis = -1;
  bool descending = false;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_bool(a, AT(descending), &descending)) return 0;
  return op_sort(a->g, a->op, a->x[0], axis, descending);
}

ir_ref op_form_topk(const op_args *a) {
  int64_t k = 0, axis = -1;
  bool largest = true;
  if (!op_args_int(a, AT(k), &k) || !op_args_int(a, AT(axis), &axis) ||
      !op_args_bool(a, AT(largest), &largest))
    return 0;
  return op_topk(a->g, a->x[0], k, axis, largest);
}
