/* Error bounds: how far results may be from those of the reference evaluator (frontend/cli/arrays.h). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrays.h"

enum { SUM_UNITS = 128, UNKNOWN_TRIP_COUNT = 64 };

/* The unit roundoff: half the distance from 1 to the next number. */
static double unit_of(ir_dtype t) {
  switch (t) {
  case IR_F16: return 0x1p-11;
  case IR_BF16: return 0x1p-8;
  case IR_F32: return 0x1p-24;
  default: return 0x1p-53;
  }
}
static double accumulator_unit(ir_dtype t) { return unit_of(t == IR_F64 ? IR_F64 : IR_F32); }

double cli_largest(const ir_eval_result *v) {
  double most = 0;
  for (int64_t i = 0; i < v->count && ir_is_float(v->dtype); i++) {
    double x = fabs(ir_value_load((const char *)v->data + (size_t)i * ir_dtypes[v->dtype].bytes, v->dtype).f);
    if (isfinite(x)) most = fmax(most, x);
  }
  return most;
}

static ir_ref magnitude(ir_graph *g, ir_ref x) { return ir_unary(g, IR_OP_ABS, ir_cast(g, x, IR_F64)); }

/* A node for the magnitude of a reduction of x: the same reduction of |x|; for a product |result|. */
static ir_ref magnitude_of(ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  ir_ref src[IR_MAX_RANK + 2], shape = ir_shape(g, node);
  if (n->op == IR_OP_PROD || n->op == IR_OP_CUMPROD || n->nsrc > sizeof src / sizeof *src)
    return magnitude(g, node);
  memcpy(src, n->src, n->nsrc * sizeof *src);
  for (uint32_t i = 0; i < ir_operand_count(n); i++) src[i] = magnitude(g, src[i]);
  return ir_make_tensor(g, (ir_op)n->op, IR_F64, shape, n->arg, src, n->nsrc);
}

/* The number of elements that are reduced to one element of the result. */
static double length_of(const ir_graph *g, const ir_node *n, const ir_var_value *vars, size_t var_count) {
  ir_error ignored = {0};
  double length = 1;
  bool product = n->op == IR_OP_MATMUL, one = product || n->op == IR_OP_CUMPROD;
  for (uint32_t i = one ? 0 : 1; i < (one ? 1 : n->nsrc); i++) {
    uint32_t axis = product ? ir_rank(g, n->src[0]) - 1
                    : one   ? (uint32_t)ir_arg_int(n)
                            : (uint32_t)ir_get(g, n->src[i])->arg;
    int64_t size = 1;
    ir_eval_index(g, ir_dim(g, n->src[0], axis), vars, var_count, NULL, 0, &size, &ignored);
    length *= (double)size;
  }
  return length;
}

static bool is_inexact(const ir_node *n) {
  bool reduces = n->op == IR_OP_SUM || n->op == IR_OP_PROD || n->op == IR_OP_MEAN || n->op == IR_OP_MATMUL ||
                 n->op == IR_OP_CUMSUM || n->op == IR_OP_CUMPROD;
  return reduces && ir_is_float((ir_dtype)n->dtype);
}

/* The error bound of a reduction, relative to magnitude_of. */
static double error_of(const ir_graph *g, const ir_node *n, const ir_var_value *vars, size_t var_count) {
  bool sum = n->op == IR_OP_SUM || n->op == IR_OP_MEAN || n->op == IR_OP_CUMSUM;
  return (sum ? SUM_UNITS : length_of(g, n, vars, var_count)) * accumulator_unit((ir_dtype)n->dtype);
}

/* How often a node of class control calls its functions. */
static double trip_count_of(const ir_graph *g, const ir_node *n, const ir_var_value *vars, size_t var_count) {
  ir_error ignored = {0};
  int64_t iterations = 1;
  if (n->op == IR_OP_COND) return 1;
  ir_eval_index(g, n->src[n->nsrc - 1], vars, var_count, NULL, 0, &iterations, &ignored);
  return iterations < 0 ? UNKNOWN_TRIP_COUNT : (double)iterations;
}

/* The sum of the error bounds of all reductions in the functions that a node calls, times the number of
 * calls. How an iteration amplifies the errors of earlier ones is not known; the bound assumes that results
 * have the magnitude of the values from which they are computed (but see cli_neighbours_find). Recursive, at
 * most IR_MAX_DEPTH deep. Negative when memory is short. */
static double error_inside(const ir_graph *g, ir_ref call, const ir_var_value *vars, size_t var_count) {
  const ir_node *n = ir_get(g, call);
  double sum = 0;
  for (uint32_t k = 0; k < ir_called_count(n) && sum >= 0; k++) {
    ir_function f = ir_function_of(g, ir_called(g, call, k));
    ir_ref *live = NULL;
    size_t count = 0, cap = 0;
    if (ir_reachable(g, f.results, f.result_count, &live, &count, &cap) != IR_OK) sum = -1;
    for (size_t i = 0; i < count && sum >= 0; i++) {
      const ir_node *inner = ir_get(g, live[i]);
      double one = is_inexact(inner) ? error_of(g, inner, vars, var_count) : 0;
      if (ir_ops[inner->op].cls == IR_CLASS_CONTROL) one = error_inside(g, live[i], vars, var_count);
      sum = one < 0 ? one : sum + one;
    }
    ir_free(g->mem, live, cap * sizeof *live);
  }
  return sum > 0 ? sum * trip_count_of(g, n, vars, var_count) : sum;
}

static bool is_loop_result(const ir_graph *g, ir_ref node) {
  const ir_node *n = ir_get(g, node);
  return n->op == IR_OP_RESULT && ir_is_float((ir_dtype)n->dtype) &&
         ir_ops[ir_op_of(g, n->src[0])].cls == IR_CLASS_CONTROL;
}

bool cli_tolerances_find(ir_graph *g, ir_ref results, const ir_var_value *vars, size_t var_count,
                         cli_tolerances *out) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  *out = (cli_tolerances){0};
  bool ok = ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, live[i]);
    bool called = is_loop_result(g, live[i]);
    double error = called          ? CLI_DERIVED * error_inside(g, n->src[0], vars, var_count)
                   : is_inexact(n) ? error_of(g, n, vars, var_count)
                                   : 0;
    if (error == 0) continue;
    cli_tolerance t = {live[i], called ? magnitude(g, live[i]) : magnitude_of(g, live[i]), error};
    ok = error > 0 && t.magnitude && IR_RESERVE(&ir_mem_libc, out->items, out->cap, out->count + 1);
    if (ok) out->items[out->count++] = t;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  return ok;
}

void cli_tolerances_free(cli_tolerances *t) {
  ir_free(&ir_mem_libc, t->items, t->cap * sizeof *t->items);
  *t = (cli_tolerances){0};
}

/* Error bounds by node, relative to the node's largest magnitude; 0 where the node depends on no reduction.
 * NULL when memory is short. */
static double *relative_errors(const cli_tolerances *t, const ir_graph *g, ir_ref results,
                               const ir_eval_result *values) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  double *relative = calloc((size_t)results + 1, sizeof *relative);
  bool ok = relative && ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < t->count && ok; i++) {
    double error = t->items[i].factor * cli_largest(&values[2 * i + 1]), size = cli_largest(&values[2 * i]);
    relative[t->items[i].node] = error == 0 ? 0 : size == 0 ? INFINITY : error / size;
  }
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, live[i]);
    double worst = 0, *own = &relative[live[i]];
    for (uint32_t k = 0; k < ir_operand_count(n); k++) worst = fmax(worst, relative[n->src[k]]);
    *own += worst;
    if (ir_is_float((ir_dtype)n->dtype) && (is_inexact(n) || *own > 0))
      *own += 2 * unit_of((ir_dtype)n->dtype);
  }
  ir_free(g->mem, live, cap * sizeof *live);
  if (ok) return relative;
  free(relative);
  return NULL;
}

bool cli_tolerances_apply(const cli_tolerances *t, const ir_graph *g, ir_ref results,
                          const ir_eval_result *values, const double *largest, double *out) {
  double *relative = relative_errors(t, g, results, values);
  const ir_node *tuple = ir_get(g, results);
  for (uint32_t i = 0; relative && i < tuple->nsrc; i++) {
    const ir_node *n = ir_get(g, tuple->src[i]);
    double own = relative[tuple->src[i]];
    out[i] = own == 0 ? 0 : fmax(own * largest[i] * CLI_DERIVED, DBL_MIN); /* 0: the same bits */
    if (own > 0 && !ir_is_float((ir_dtype)n->dtype)) out[i] = -1;
    for (size_t k = 0; k < t->count; k++) { /* a reduction has its own bound, also where its terms cancel */
      if (t->items[k].node != tuple->src[i]) continue;
      double inherited = 0;
      for (uint32_t s = 0; s < ir_operand_count(n); s++) inherited = fmax(inherited, relative[n->src[s]]);
      out[i] = (t->items[k].factor + CLI_DERIVED * inherited) * cli_largest(&values[2 * k + 1]) +
               2 * unit_of((ir_dtype)n->dtype) * largest[i];
    }
  }
  free(relative);
  return relative != NULL;
}
