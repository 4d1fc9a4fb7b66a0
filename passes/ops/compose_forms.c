/* From operands and attributes to the builders of compositions. */
#include "args.h"
#include "compose.h"

#define AT(name) OP_ATTR_##name

/* An absent number leaves *out as it is. */
static bool number(const op_args *a, int attr, double *out) {
  ir_value value;
  ir_dtype kind;
  if (!a->at[attr]) return true;
  if (!op_args_literal(a, attr, a->at[attr], &value, &kind)) return false;
  if (kind == IR_BOOL) return op_args_wrong(a, attr, a->at[attr]);
  *out = ir_value_cast(value, kind, IR_F64).f;
  return true;
}

ir_ref op_form_softmax(const op_args *a) {
  int64_t axis = -1;
  return op_args_int(a, AT(axis), &axis) ? op_softmax(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_log_softmax(const op_args *a) {
  int64_t axis = -1;
  return op_args_int(a, AT(axis), &axis) ? op_log_softmax(a->g, a->x[0], axis) : 0;
}

/* axes, keepdims, correction: what reductions take. False after failing. */
typedef struct reduction {
  op_list list;
  const ir_ref *axes; /* NULL: all */
  size_t n;
  bool keepdims;
  double correction;
} reduction;

static bool reduction_of(const op_args *a, reduction *r) {
  bool given;
  *r = (reduction){.keepdims = false};
  if (!op_args_axes(a, &r->list, &given) || !op_args_bool(a, AT(keepdims), &r->keepdims) ||
      !number(a, AT(correction), &r->correction))
    return false;
  r->axes = given ? r->list.items : NULL;
  r->n = given ? r->list.n : 0;
  return true;
}

ir_ref op_form_logsumexp(const op_args *a) {
  reduction r;
  return reduction_of(a, &r) ? op_logsumexp(a->g, a->x[0], r.axes, r.n, r.keepdims) : 0;
}

ir_ref op_form_var(const op_args *a) {
  reduction r;
  return reduction_of(a, &r) ? op_var(a->g, a->x[0], r.axes, r.n, r.keepdims, r.correction) : 0;
}

ir_ref op_form_std(const op_args *a) {
  reduction r;
  return reduction_of(a, &r) ? op_std(a->g, a->x[0], r.axes, r.n, r.keepdims, r.correction) : 0;
}

ir_ref op_form_layer_norm(const op_args *a) {
  int64_t axis = -1;
  double eps = 1e-5;
  if (!op_args_int(a, AT(axis), &axis) || !number(a, AT(eps), &eps)) return 0;
  return op_layer_norm(a->g, a->x, a->n, axis, eps);
}

ir_ref op_form_rms_norm(const op_args *a) {
  int64_t axis = -1;
  double eps = 1e-5;
  if (!op_args_int(a, AT(axis), &axis) || !number(a, AT(eps), &eps)) return 0;
  return op_rms_norm(a->g, a->x, a->n, axis, eps);
}
