/* Calls of compositions from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

ir_ref op_form_softmax(const op_args *a) {
  int64_t axis = -1;
  return op_args_int(a, AT(axis), &axis) ? op_softmax(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_log_softmax(const op_args *a) {
  int64_t axis = -1;
  return op_args_int(a, AT(axis), &axis) ? op_log_softmax(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_attention(const op_args *a) {
  double scale = 0;
  bool causal = false;
  if (!op_args_number(a, AT(scale), &scale) || !op_args_bool(a, AT(causal), &causal)) return 0;
  return op_attention(a->g, a->x, a->n, scale, causal);
}

/* The attributes of reductions: axes, keepdims, correction. False after failing. */
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
      !op_args_number(a, AT(correction), &r->correction))
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
  if (!op_args_int(a, AT(axis), &axis) || !op_args_number(a, AT(eps), &eps)) return 0;
  return op_layer_norm(a->g, a->x, a->n, axis, eps);
}

ir_ref op_form_rms_norm(const op_args *a) {
  int64_t axis = -1;
  double eps = 1e-5;
  if (!op_args_int(a, AT(axis), &axis) || !op_args_number(a, AT(eps), &eps)) return 0;
  return op_rms_norm(a->g, a->x, a->n, axis, eps);
}

ir_ref op_form_split(const op_args *a) {
  int64_t parts = 0, axis = 0;
  if (!op_args_int(a, AT(parts), &parts) || !op_args_int(a, AT(axis), &axis)) return 0;
  return op_split(a->g, a->x[0], parts, axis);
}

ir_ref op_form_chunk(const op_args *a) {
  int64_t chunks = 0, axis = 0;
  if (!op_args_int(a, AT(chunks), &chunks) || !op_args_int(a, AT(axis), &axis)) return 0;
  return op_chunk(a->g, a->x[0], chunks, axis);
}

ir_ref op_form_unbind(const op_args *a) {
  int64_t axis = 0;
  return op_args_int(a, AT(axis), &axis) ? op_unbind(a->g, a->x[0], axis) : 0;
}

ir_ref op_form_minmax(const op_args *a) {
  reduction r;
  return reduction_of(a, &r) ? op_minmax(a->g, a->x[0], r.axes, r.n, r.keepdims) : 0;
}

static bool is_float(const op_args *a, int attr) { return a->at[attr] && a->at[attr]->kind == IR_ATTR_FLOAT; }

ir_ref op_form_arange(const op_args *a) {
  ir_dtype dtype = IR_NONE;
  if (!op_args_dtype(a, AT(dtype), &dtype)) return 0;
  if (is_float(a, AT(start)) || is_float(a, AT(stop)) || is_float(a, AT(step))) {
    double start = 0, stop = 0, step = 1;
    if (!op_args_number(a, AT(start), &start) || !op_args_number(a, AT(stop), &stop) ||
        !op_args_number(a, AT(step), &step))
      return 0;
    return op_arange_real(a->g, dtype == IR_NONE ? IR_F32 : dtype, start, stop, step);
  }
  int64_t start = 0, step = 1;
  ir_ref stop = 0;
  if (!op_args_int(a, AT(start), &start) || !op_args_expr(a, AT(stop), &stop) ||
      !op_args_int(a, AT(step), &step))
    return 0;
  return op_arange(a->g, dtype == IR_NONE ? IR_I64 : dtype, start, stop, step);
}

ir_ref op_form_linspace(const op_args *a) {
  ir_dtype dtype = IR_F32;
  double start = 0, stop = 0;
  int64_t num = 0;
  if (!op_args_dtype(a, AT(dtype), &dtype) || !op_args_number(a, AT(start), &start) ||
      !op_args_number(a, AT(stop), &stop) || !op_args_int(a, AT(num), &num))
    return 0;
  return op_linspace(a->g, dtype, start, stop, num);
}

ir_ref op_form_eye(const op_args *a) {
  op_list shape;
  ir_dtype dtype = IR_F32;
  int64_t diagonal = 0;
  if (!op_args_list(a, AT(shape), &shape) || !op_args_int(a, AT(diagonal), &diagonal) ||
      !op_args_dtype(a, AT(dtype), &dtype))
    return 0;
  return op_eye(a->g, dtype, shape.items, shape.n, diagonal);
}

ir_ref op_form_tril(const op_args *a) {
  int64_t diagonal = 0;
  return op_args_int(a, AT(diagonal), &diagonal) ? op_tril(a->g, a->x[0], diagonal) : 0;
}

ir_ref op_form_triu(const op_args *a) {
  int64_t diagonal = 0;
  return op_args_int(a, AT(diagonal), &diagonal) ? op_triu(a->g, a->x[0], diagonal) : 0;
}

ir_ref op_form_einsum(const op_args *a) {
  const ir_attr *v = a->at[AT(equation)];
  if (v->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(equation), v);
  return op_einsum(a->g, v->word, v->word_length, a->x, a->n);
}
