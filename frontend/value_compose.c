/* Builders of compositions. */
#include "passes/ops/compose.h"
#include "frontend/api.h"

typedef ir_ref (*axis_builder)(ir_graph *g, ir_ref x, int64_t axis);

static vf_value along(const char *who, axis_builder build, vf_value x, int axis) {
  fe_call c;
  return fe_end(&c, fe_begin(&c, who, &x, 1) ? build(c.ir, x.id, axis) : 0);
}
vf_value vf_softmax(vf_value x, int axis) { return along("softmax", op_softmax, x, axis); }
vf_value vf_log_softmax(vf_value x, int axis) { return along("log_softmax", op_log_softmax, x, axis); }

vf_value vf_logsumexp(vf_value x, int count, const int64_t *axes, bool keepdims) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, "logsumexp", &x, 1) && fe_list(&c, "the list of axes", count, axes, refs);
  return fe_end(&c, good ? op_logsumexp(c.ir, x.id, axes ? refs : NULL, (size_t)count, keepdims) : 0);
}

typedef ir_ref (*moment_builder)(ir_graph *g, ir_ref x, const ir_ref *axes, size_t n, bool keepdims,
                                 double correction);

static vf_value moment(const char *who, moment_builder build, vf_value x, int count, const int64_t *axes,
                       bool keepdims, double correction) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, who, &x, 1) && fe_list(&c, "the list of axes", count, axes, refs);
  return fe_end(&c, good ? build(c.ir, x.id, axes ? refs : NULL, (size_t)count, keepdims, correction) : 0);
}
vf_value vf_var(vf_value x, int count, const int64_t *axes, bool keepdims, double correction) {
  return moment("var", op_var, x, count, axes, keepdims, correction);
}
vf_value vf_std(vf_value x, int count, const int64_t *axes, bool keepdims, double correction) {
  return moment("std", op_std, x, count, axes, keepdims, correction);
}

typedef ir_ref (*norm_builder)(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps);

static bool is_none(vf_value value) { return !value.graph; }

/* Operands up to the last that is given. */
static vf_value norm(const char *who, norm_builder build, const vf_value x[3], int axis, double eps) {
  fe_call c;
  size_t n = !is_none(x[2]) ? 3 : !is_none(x[1]) ? 2 : 1;
  bool good = fe_begin(&c, who, x, 1);
  if (good && n == 3 && is_none(x[1]))
    good = fe_refuse(&c, "a bias is given without a weight; give both, or add it");
  good = good && fe_operands(&c, x + 1, n - 1);
  ir_ref refs[3] = {x[0].id, x[1].id, x[2].id};
  return fe_end(&c, good ? build(c.ir, refs, n, axis, eps) : 0);
}
vf_value vf_layer_norm(vf_value x, vf_value weight, vf_value bias, int axis, double eps) {
  return norm("layer_norm", op_layer_norm, (vf_value[]){x, weight, bias}, axis, eps);
}
vf_value vf_rms_norm(vf_value x, vf_value weight, int axis, double eps) {
  return norm("rms_norm", op_rms_norm, (vf_value[]){x, weight, {0}}, axis, eps);
}
