/* Calls of compositions from operands and attributes. */
#include "args.h"
#include "passes/ops/compose/compose.h"

#define AT(name) OP_ATTR_##name

OP_FORM(softmax, OP_INT(axis, -1), op_softmax(a->g, a->x[0], axis))
OP_FORM(log_softmax, OP_INT(axis, -1), op_log_softmax(a->g, a->x[0], axis))
OP_FORM(attention, OP_NUMBER(scale, 0) OP_BOOL(causal, false), op_attention(a->g, a->x, a->n, scale, causal))

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

#define REDUCTION                                                                                            \
  reduction r;                                                                                               \
  if (!reduction_of(a, &r)) return 0;

OP_FORM(logsumexp, REDUCTION, op_logsumexp(a->g, a->x[0], r.axes, r.n, r.keepdims))
OP_FORM(var, REDUCTION, op_var(a->g, a->x[0], r.axes, r.n, r.keepdims, r.correction))
OP_FORM(std, REDUCTION, op_std(a->g, a->x[0], r.axes, r.n, r.keepdims, r.correction))
OP_FORM(layer_norm, OP_INT(axis, -1) OP_NUMBER(eps, 1e-5), op_layer_norm(a->g, a->x, a->n, axis, eps))
OP_FORM(rms_norm, OP_INT(axis, -1) OP_NUMBER(eps, 1e-5), op_rms_norm(a->g, a->x, a->n, axis, eps))
OP_FORM(split, OP_INT(parts, 0) OP_INT(axis, 0), op_split(a->g, a->x[0], parts, axis))
OP_FORM(chunk, OP_INT(chunks, 0) OP_INT(axis, 0), op_chunk(a->g, a->x[0], chunks, axis))
OP_FORM(unbind, OP_INT(axis, 0), op_unbind(a->g, a->x[0], axis))

OP_FORM(minmax, REDUCTION, op_minmax(a->g, a->x[0], r.axes, r.n, r.keepdims))

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

OP_FORM(linspace, OP_DTYPE(dtype, IR_F32) OP_NUMBER(start, 0) OP_NUMBER(stop, 0) OP_INT(num, 0),
        op_linspace(a->g, dtype, start, stop, num))
OP_FORM(eye, OP_ENTRIES(shape) OP_INT(diagonal, 0) OP_DTYPE(dtype, IR_F32),
        op_eye(a->g, dtype, shape.items, shape.n, diagonal))
OP_FORM(tril, OP_INT(diagonal, 0), op_tril(a->g, a->x[0], diagonal))
OP_FORM(triu, OP_INT(diagonal, 0), op_triu(a->g, a->x[0], diagonal))

ir_ref op_form_einsum(const op_args *a) {
  const ir_attr *v = a->at[AT(equation)];
  if (v->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(equation), v);
  return op_einsum(a->g, v->word, v->word_length, a->x, a->n);
}

ir_ref op_form_name_axes(const op_args *a) {
  const ir_attr *to = a->at[AT(to)];
  if (to->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(to), to);
  return op_name_axes(a->g, a->x[0], to->word, to->word_length);
}

ir_ref op_form_rearrange(const op_args *a) {
  const ir_attr *from = a->at[AT(from)], *to = a->at[AT(to)];
  int reduce = 0;
  if (from->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(from), from);
  if (to->kind != IR_ATTR_WORD) return (ir_ref)op_args_wrong(a, AT(to), to);
  if (!op_args_choice(a, AT(reduce), op_rearrange_reductions, OP_REARRANGE_REDUCTIONS, &reduce)) return 0;
  return op_rearrange(a->g, a->x[0], from->word, from->word_length, to->word, to->word_length, reduce);
}
