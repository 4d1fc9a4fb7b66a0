/* `viewfold run --check`: results against the reference evaluator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli.h"
#include "frontend/cli_arrays.h"
#include "ir/lex.h"

enum { WIDE_UNITS = 1024, NARROW_UNITS = 4, DISCRETE_SHARE = 100 };

/* Half the distance from 1 to the next number. */
static double unit_of(ir_dtype t) {
  switch (t) {
  case IR_F16: return 0x1p-11;
  case IR_BF16: return 0x1p-8;
  case IR_F32: return 0x1p-24;
  default: return 0x1p-53;
  }
}

static double allowance_of(ir_dtype t) {
  return unit_of(t) * (t == IR_F16 || t == IR_BF16 ? NARROW_UNITS : WIDE_UNITS);
}

/* How far a value may be off, relative to the largest of its tensor: 0 when no float reduction goes into it.
 */
static double *find_allowances(const ir_graph *g, ir_ref results) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  double *allowance = calloc((size_t)results + 1, sizeof *allowance);
  bool ok = allowance && ir_reachable(g, &results, 1, &live, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && ok; i++) {
    const ir_node *n = ir_get(g, live[i]);
    double worst = 0;
    for (uint32_t k = 0; k < ir_operand_count(n); k++) worst = fmax(worst, allowance[n->src[k]]);
    bool sums = n->op == IR_OP_SUM || n->op == IR_OP_PROD || n->op == IR_OP_MEAN || n->op == IR_OP_MATMUL;
    if (ir_is_float((ir_dtype)n->dtype) && (sums || worst > 0))
      worst = fmax(worst, allowance_of((ir_dtype)n->dtype));
    allowance[live[i]] = worst;
  }
  ir_free(g->mem, live, cap * sizeof *live);
  if (ok) return allowance;
  free(allowance);
  return NULL;
}

typedef struct comparison {
  int64_t count, different, worst_at; /* elements not alike; -1: none */
  double worst, allowed;              /* absolute; of floats */
} comparison;

static ir_value element(const void *data, ir_dtype t, int64_t i) {
  return ir_value_load((const char *)data + (size_t)i * ir_dtypes[t].bytes, t);
}

static bool alike(const void *a, const void *b, ir_dtype t, int64_t i) {
  size_t size = ir_dtypes[t].bytes, at = (size_t)i * size;
  if (memcmp((const char *)a + at, (const char *)b + at, size) == 0) return true;
  return ir_is_float(t) && isnan(element(a, t, i).f) && isnan(element(b, t, i).f);
}

static double largest(const void *data, ir_dtype t, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    double x = fabs(element(data, t, i).f);
    if (isfinite(x)) most = fmax(most, x);
  }
  return most;
}

static comparison compare(const void *got, const void *want, ir_dtype t, int64_t count, double allowance) {
  comparison c = {.count = count, .worst_at = -1};
  bool floats = ir_is_float(t);
  if (floats && allowance > 0) c.allowed = largest(want, t, count) * (allowance + 2 * unit_of(t));
  for (int64_t i = 0; i < count; i++) {
    if (alike(got, want, t, i)) continue;
    double error = floats ? fabs(element(got, t, i).f - element(want, t, i).f) : 0;
    if (isnan(error)) error = INFINITY;
    c.different++;
    if (c.worst_at < 0 || error > c.worst) {
      c.worst_at = i;
      c.worst = error;
    }
  }
  return c;
}

static bool passes(const comparison *c, ir_dtype t, double allowance) {
  if (c->different == 0) return true;
  if (allowance == 0) return false;
  return ir_is_float(t) ? c->worst <= c->allowed : c->different <= c->count / DISCRETE_SHARE;
}

static void put_place(const ir_eval_result *want, int64_t at, ir_text *out) {
  int64_t index[IR_MAX_RANK];
  for (uint32_t k = want->rank; k-- > 0; at /= want->shape[k]) index[k] = at % want->shape[k];
  for (uint32_t k = 0; k < want->rank; k++) ir_textf(out, k ? ",%lld" : "[%lld", (long long)index[k]);
  ir_text_str(out, want->rank ? "]" : "");
}

static bool report(const char *name, const fe_array *got, const ir_eval_result *want, double allowance,
                   ir_text *out) {
  bool same_shape = got->dtype == want->dtype && got->rank == (int)want->rank;
  for (int k = 0; k < got->rank && same_shape; k++) same_shape = got->shape[k] == want->shape[k];
  ir_textf(out, "check %s: ", name);
  if (!same_shape) {
    ir_text_str(out, "FAILED: dtype or shape differs from the reference\n");
    return false;
  }
  comparison c = compare(got->data, want->data, want->dtype, want->count, allowance);
  bool good = passes(&c, want->dtype, allowance);
  if (c.different == 0) {
    ir_textf(out, "%lld elements, bit-equal\n", (long long)c.count);
    return true;
  }
  ir_textf(out, "%s%lld of %lld elements differ", good ? "" : "FAILED: ", (long long)c.different,
           (long long)c.count);
  if (ir_is_float(want->dtype)) ir_textf(out, ", by at most %.3g, allowed %.3g", c.worst, c.allowed);
  else ir_textf(out, ", allowed %lld", allowance > 0 ? (long long)(c.count / DISCRETE_SHARE) : 0);
  if (!good) {
    ir_textf(out, "; %s", name);
    put_place(want, c.worst_at, out);
    ir_text_str(out, " is ");
    ir_print_value(out, element(got->data, want->dtype, c.worst_at), want->dtype);
    ir_text_str(out, ", the reference is ");
    ir_print_value(out, element(want->data, want->dtype, c.worst_at), want->dtype);
  }
  ir_text_str(out, "\n");
  return good;
}

static ir_status evaluate(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *b,
                          ir_eval_result *out) {
  ir_binding_input *inputs = calloc(block->param_count + 1, sizeof *inputs);
  ir_var_value *vars = calloc(b->var_count + 1, sizeof *vars);
  const ir_node *roots = ir_get(&s->g, results);
  if (inputs && vars) {
    for (size_t i = 0; i < block->param_count; i++)
      inputs[i] = (ir_binding_input){block->params[i].ref, b->arrays[i].data};
    for (size_t i = 0; i < b->var_count; i++) vars[i] = (ir_var_value){b->vars[i], b->values[i]};
    ir_eval(&s->g, roots->src, roots->nsrc, inputs, block->param_count, vars, b->var_count, out, &s->error);
  } else {
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  }
  free(inputs);
  free(vars);
  return s->error.status;
}

int cli_check(cli_graph *s, const ir_parsed_graph *block, ir_ref results, const cli_binding *inputs,
              const fe_array *outputs, ir_text *out) {
  uint32_t count = ir_get(&s->g, results)->nsrc;
  double *allowances = find_allowances(&s->g, results);
  ir_eval_result *want = calloc(count, sizeof *want);
  int status = CLI_OK;
  if (!allowances || !want) ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  else evaluate(s, block, results, inputs, want);
  if (s->error.status) {
    status = cli_failure(s->command, &s->error);
  } else {
    for (uint32_t i = 0; i < count; i++)
      if (!report(block->results[i].name, &outputs[i], &want[i], allowances[ir_src(&s->g, results, i)], out))
        status = CLI_CHECK_FAILED;
    ir_eval_free(&s->g, want, count);
  }
  free(want);
  free(allowances);
  return status;
}
