/* Builders of compositions. */
#include <string.h>

#include "frontend/api/api.h"
#include "ir/arith.h"
#include "passes/ops/compose/compose.h"

FE_BUILDER_OF_X(softmax, (vf_value x, int axis), op_softmax(c.ir, x.id, axis))
FE_BUILDER_OF_X(log_softmax, (vf_value x, int axis), op_log_softmax(c.ir, x.id, axis))
FE_BUILDER(logsumexp, (vf_value x, int count, const int64_t *axes, bool keepdims),
           fe_begin(&c, "logsumexp", &x, 1) && fe_list(&c, "the list of axes", count, axes, refs),
           op_logsumexp(c.ir, x.id, axes ? refs : NULL, (size_t)count, keepdims))

#define MOMENT(name)                                                                                         \
  FE_BUILDER(name, (vf_value x, int count, const int64_t *axes, bool keepdims, double correction),           \
             fe_begin(&c, #name, &x, 1) && fe_list(&c, "the list of axes", count, axes, refs),               \
             op_##name(c.ir, x.id, axes ? refs : NULL, (size_t)count, keepdims, correction))
MOMENT(var)
MOMENT(std)

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

vf_value vf_attention(vf_value q, vf_value k, vf_value v, vf_value mask, double scale, bool causal) {
  fe_call c;
  size_t n = is_none(mask) ? 3 : 4;
  bool good = fe_begin(&c, "attention", (vf_value[]){q, k, v, mask}, n);
  return fe_end(&c, good ? op_attention(c.ir, (ir_ref[]){q.id, k.id, v.id, mask.id}, n, scale, causal) : 0);
}

/* several results */

#define PARTS(name)                                                                                          \
  int vf_##name(vf_value x, int parts, int axis, vf_value *results) {                                        \
    fe_call c;                                                                                               \
    ir_ref made = fe_begin(&c, #name, &x, 1) ? op_##name(c.ir, x.id, parts, axis) : 0;                       \
    return fe_end_all(&c, made, parts, results);                                                             \
  }
PARTS(split)
PARTS(chunk)

int vf_unbind(vf_value x, int axis, int room, vf_value *results) {
  fe_call c;
  ir_ref made = fe_begin(&c, "unbind", &x, 1) ? op_unbind(c.ir, x.id, axis) : 0;
  return fe_end_all(&c, made, room, results);
}

int vf_minmax(vf_value x, int count, const int64_t *axes, bool keepdims, vf_value results[2]) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin(&c, "minmax", &x, 1) && fe_list(&c, "the list of axes", count, axes, refs);
  ir_ref made = good ? op_minmax(c.ir, x.id, axes ? refs : NULL, (size_t)count, keepdims) : 0;
  return fe_end_all(&c, made, 2, results);
}

/* leaves */

static vf_value filled(const char *who, vf_graph *g, int64_t value, vf_dtype dtype, int rank,
                       const int64_t *shape) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  bool good = fe_begin_in(&c, who, g) && fe_list(&c, "the shape", rank, shape, refs);
  if (good && (dtype <= VF_NONE || dtype >= VF_INDEX))
    good = fe_refuse(&c, "no dtype of a tensor; use bool, an integer or a float dtype");
  if (!good) return fe_end(&c, 0);
  ir_value element = ir_value_cast((ir_value){.i = value}, IR_I64, (ir_dtype)dtype);
  return fe_end(&c, op_full(c.ir, ir_const(c.ir, (ir_dtype)dtype, element), refs, (size_t)rank));
}
vf_value vf_zeros(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape) {
  return filled("zeros", g, 0, dtype, rank, shape);
}
vf_value vf_ones(vf_graph *g, vf_dtype dtype, int rank, const int64_t *shape) {
  return filled("ones", g, 1, dtype, rank, shape);
}

FE_BUILDER(arange, (vf_graph * g, vf_dtype dtype, int64_t start, int64_t stop, int64_t step),
           fe_begin_in(&c, "arange", g), op_arange(c.ir, (ir_dtype)dtype, start, ir_index(c.ir, stop), step))
FE_BUILDER(arange_real, (vf_graph * g, vf_dtype dtype, double start, double stop, double step),
           fe_begin_in(&c, "arange", g), op_arange_real(c.ir, (ir_dtype)dtype, start, stop, step))
FE_BUILDER(linspace, (vf_graph * g, vf_dtype dtype, double start, double stop, int64_t num),
           fe_begin_in(&c, "linspace", g), op_linspace(c.ir, (ir_dtype)dtype, start, stop, num))

FE_BUILDER(eye, (vf_graph * g, vf_dtype dtype, int64_t rows, int64_t columns, int64_t diagonal),
           fe_begin_in(&c, "eye", g) && fe_list(&c, "the shape", 2, (int64_t[]){rows, columns}, refs),
           op_eye(c.ir, (ir_dtype)dtype, refs, 2, diagonal))
FE_BUILDER_OF_X(tril, (vf_value x, int64_t diagonal), op_tril(c.ir, x.id, diagonal))
FE_BUILDER_OF_X(triu, (vf_value x, int64_t diagonal), op_triu(c.ir, x.id, diagonal))

/* products */

vf_value vf_einsum(const char *equation, const vf_value *x, int count) {
  fe_call c;
  ir_ref refs[FE_LIST_MAX];
  size_t n = x && count > 0 ? (size_t)count : 0;
  bool good = fe_begin(&c, "einsum", x, n);
  if (good && n > FE_LIST_MAX) good = fe_refuse(&c, "%zu operands given; takes 1 to %d", n, FE_LIST_MAX);
  if (good && !equation) good = fe_refuse(&c, "the equation is NULL");
  for (size_t i = 0; i < n && good; i++) refs[i] = x[i].id;
  return fe_end(&c, good ? op_einsum(c.ir, equation, strlen(equation), refs, n) : 0);
}

static vf_value rearrange(vf_value x, const char *from, const char *to, const char *reduce) {
  fe_call c;
  int by = 0;
  bool good = fe_begin(&c, "rearrange", &x, 1);
  if (good && (!from || !to || !reduce))
    good = fe_refuse(&c, "%s is NULL", !from ? "from" : !to ? "to" : "reduce");
  while (good && by < OP_REARRANGE_REDUCTIONS && strcmp(reduce, op_rearrange_reductions[by]) != 0) by++;
  if (good && by == OP_REARRANGE_REDUCTIONS)
    good = fe_refuse(&c, "reduce is '%.40s'; it is sum, mean, max, min, prod, any or all", reduce);
  return fe_end(&c, good ? op_rearrange(c.ir, x.id, from, strlen(from), to, strlen(to), by) : 0);
}
vf_value vf_rearrange(vf_value x, const char *from, const char *to) { return rearrange(x, from, to, "none"); }
vf_value vf_rearrange_reduce(vf_value x, const char *from, const char *to, const char *reduce) {
  return rearrange(x, from, to, reduce);
}
