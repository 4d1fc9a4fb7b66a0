/* Calls of control flow from operands and attributes. */
#include "args.h"
#include "passes/ops/build/control.h"

#define AT(name) OP_ATTR_##name

static bool count_of(const op_args *a, int attr, int64_t *out) {
  if (!op_args_int(a, attr, out)) return false;
  return (*out >= 0 && *out <= UINT16_MAX) || op_args_wrong(a, attr, a->at[attr]);
}

ir_ref op_form_cond(const op_args *a) {
  ir_ref then = 0, otherwise = 0;
  if (!op_args_graph(a, AT(then), &then) || !op_args_graph(a, AT(else), &otherwise)) return 0;
  return op_cond(a->g, a->x[0], a->x + 1, a->n - 1, then, otherwise);
}

ir_ref op_form_while(const op_args *a) {
  ir_ref condition = 0, body = 0;
  int64_t bound = -1;
  if (!op_args_graph(a, AT(while), &condition) || !op_args_graph(a, AT(do), &body) ||
      !op_args_int(a, AT(bound), &bound))
    return 0;
  int64_t carries = ir_function_of(a->g, body).result_count;
  return count_of(a, AT(carries), &carries)
             ? op_while(a->g, a->x, a->n, (size_t)carries, condition, body, bound)
             : 0;
}

/* Defaults: the first operand is the state, and all others are sliced. */
ir_ref op_form_scan(const op_args *a) {
  ir_ref body = 0, length = 0;
  int64_t carries = a->n > 0, sliced;
  bool reverse = false;
  if (!op_args_graph(a, AT(do), &body) || !op_args_expr(a, AT(length), &length) ||
      !op_args_bool(a, AT(reverse), &reverse) || !count_of(a, AT(carries), &carries))
    return 0;
  sliced = (int64_t)a->n > carries ? (int64_t)a->n - carries : 0;
  if (!count_of(a, AT(sliced), &sliced)) return 0;
  return op_scan(a->g, a->x, a->n, (ir_scan_state){(uint32_t)carries, (uint32_t)sliced, reverse}, body,
                 length);
}

ir_ref op_form_checkpoint(const op_args *a) {
  ir_ref body = 0;
  return op_args_graph(a, AT(do), &body) ? op_checkpoint(a->g, a->x, a->n, body) : 0;
}
