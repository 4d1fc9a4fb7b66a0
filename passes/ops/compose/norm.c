/* Normalisation over the last axes: layer norm (Ba et al. 2016) and root mean square norm (Zhang, Sennrich
 * 2019). */
#include "impl.h"

#include <math.h>

enum { OPERANDS = 3 }; /* those with these roles */
static const char *const roles[OPERANDS] = {"x", "weight", "bias"};

typedef struct norm {
  const char *who;
  ir_ref x[OPERANDS]; /* in the dtype to compute in */
  size_t n;
  ir_ref axes[IR_MAX_RANK];
  size_t count;
  ir_ref eps;
  ir_dtype dtype; /* of the result */
} norm;

static bool misfit(ir_graph *g, const norm *m, size_t k, const char *fact) {
  op_refuse(g,
            "%s: the %s has shape %s; x has shape %s, normalised over its last %zu ax%s; the sizes of a %s "
            "are those of these axes, or 1%s",
            m->who, roles[k], OP_TYPE(m->x[k]), OP_TYPE(m->x[0]), m->count, m->count == 1 ? "is" : "es",
            roles[k], fact);
  return false;
}

/* A weight or bias must broadcast to the normalised axes; false after failing. */
static bool check_affine(ir_graph *g, const norm *m, size_t k) {
  uint32_t rank = ir_rank(g, m->x[0]), own = ir_rank(g, m->x[k]);
  if (own > m->count) return misfit(g, m, k, "");
  for (uint32_t i = 0; i < own; i++) {
    ir_ref size = ir_dim(g, m->x[k], i), wanted = ir_dim(g, m->x[0], rank - own + i);
    if (!op_is_one(g, size) && !op_decided(g, IR_OP_EQ, size, wanted))
      return misfit(g, m, k, OP_FACT(IR_OP_EQ, size, wanted));
  }
  return true;
}

/* False after failing. */
static bool start_norm(ir_graph *g, norm *m, const ir_ref *x, size_t n, int64_t axis, double eps) {
  m->n = n;
  for (size_t i = 0; i < n; i++) m->x[i] = x[i];
  if (!op_compose_begin(g, m->who, m->x, n)) return false;
  uint32_t rank = ir_rank(g, m->x[0]);
  int64_t first = op_axis(g, m->who, m->x[0], axis, rank);
  if (first < 0) return false;
  for (int64_t i = first; i < rank; i++) m->axes[m->count++] = ir_index(g, i);
  for (size_t i = 1; i < n; i++)
    if (!check_affine(g, m, i)) return false;
  if (!(eps >= 0 && eps < INFINITY)) {
    op_refuse(g, "%s: eps is %g; x has shape %s; takes a finite number >= 0", m->who, eps, OP_TYPE(m->x[0]));
    return false;
  }
  ir_dtype common = op_common(g, m->who, m->x, n);
  if (common == IR_NONE) return false;
  m->dtype = op_float_result(common);
  m->eps = ir_float(g, op_float_wide(m->dtype), eps);
  for (size_t i = 0; i < n; i++) m->x[i] = op_convert(g, m->who, m->x[i], op_float_wide(m->dtype));
  return true;
}

static ir_ref finish_norm(ir_graph *g, norm *m, ir_ref centred, ir_ref square) {
  ir_ref y = op_mul(g, centred, op_unary(g, IR_OP_RSQRT, op_add(g, square, m->eps)));
  if (m->n > 1) y = op_mul(g, y, m->x[1]);
  if (m->n > 2) y = op_add(g, y, m->x[2]);
  return op_compose_end(g, m->who, op_cast(g, y, m->dtype));
}

ir_ref op_layer_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps) {
  norm m = {.who = "layer_norm"};
  if (!start_norm(g, &m, x, n, axis, eps)) return 0;
  ir_ref centred = op_sub(g, m.x[0], op_reduce(g, IR_OP_MEAN, m.x[0], m.axes, m.count, true));
  return finish_norm(g, &m, centred, op_squared_deviation(g, m.x[0], m.axes, m.count, true, 0));
}

ir_ref op_rms_norm(ir_graph *g, const ir_ref *x, size_t n, int64_t axis, double eps) {
  norm m = {.who = "rms_norm"};
  if (!start_norm(g, &m, x, n, axis, eps)) return 0;
  ir_ref square = op_mul(g, m.x[0], m.x[0]);
  return finish_norm(g, &m, m.x[0], op_reduce(g, IR_OP_MEAN, square, m.axes, m.count, true));
}
