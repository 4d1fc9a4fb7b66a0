/* `viewfold run --check`: compares results with the reference evaluator. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/cli/arrays.h"
#include "frontend/cli/cli.h"
#include "ir/lex/lex.h"

enum { DISCRETE_SHARE = 100 };

typedef struct comparison {
  int64_t count, different, over; /* elements; those that differ, and by more than is allowed */
  int64_t worst_at;               /* index of the largest error, -1: none */
  double worst, allowed;          /* absolute errors of floats */
} comparison;

static ir_value element(const void *data, ir_dtype t, int64_t i) {
  return ir_value_load((const char *)data + (size_t)i * ir_dtypes[t].bytes, t);
}

static bool is_same_value(const void *a, const void *b, ir_dtype t, int64_t i) {
  size_t size = ir_dtypes[t].bytes, at = (size_t)i * size;
  if (memcmp((const char *)a + at, (const char *)b + at, size) == 0) return true;
  return ir_is_float(t) && isnan(element(a, t, i).f) && isnan(element(b, t, i).f);
}

/* allowed: from cli_tolerances_apply */
static comparison compare_arrays(const void *got, const ir_eval_result *want, double allowed) {
  comparison c = {.count = want->count, .worst_at = -1, .allowed = allowed};
  ir_dtype t = want->dtype;
  for (int64_t i = 0; i < want->count; i++) {
    if (is_same_value(got, want->data, t, i)) continue;
    double error = ir_is_float(t) ? fabs(element(got, t, i).f - element(want->data, t, i).f) : 0;
    if (isnan(error)) error = INFINITY;
    c.different++, c.over += error > allowed;
    if (c.worst_at < 0 || error > c.worst) {
      c.worst_at = i;
      c.worst = error;
    }
  }
  return c;
}

/* change: by neighbours of the inputs, or NULL. An element that changes because a condition does is no excuse
 * for others.
 */
static bool is_within_tolerance(const comparison *c, const cli_change *change) {
  if (c->different == 0 || c->allowed == 0) return c->different == 0;
  if (c->allowed < 0) return c->different <= c->count / DISCRETE_SHARE;
  return c->worst <= c->allowed ||
         (change && c->worst <= CLI_DERIVED * change->most && c->over <= CLI_DERIVED * change->count);
}

static void put_place(const ir_eval_result *want, int64_t at, ir_text *out) {
  int64_t index[IR_MAX_RANK];
  for (uint32_t k = want->rank; k-- > 0; at /= want->shape[k]) index[k] = at % want->shape[k];
  for (uint32_t k = 0; k < want->rank; k++) ir_textf(out, k ? ",%lld" : "[%lld", (long long)index[k]);
  ir_text_str(out, want->rank ? "]" : "");
}

static bool has_same_shape(const fe_array *got, const ir_eval_result *want) {
  bool same = got->dtype == want->dtype && got->rank == (int)want->rank;
  for (int k = 0; k < got->rank && same; k++) same = got->shape[k] == want->shape[k];
  return same;
}

static bool is_good(const fe_array *got, const ir_eval_result *want, double allowed) {
  comparison c = {0};
  if (has_same_shape(got, want)) c = compare_arrays(got->data, want, allowed);
  return is_within_tolerance(&c, NULL);
}

static bool report_array(const char *name, const fe_array *got, const ir_eval_result *want, double allowed,
                         const cli_change *change, ir_text *out) {
  ir_textf(out, "check %s: ", name);
  if (!has_same_shape(got, want)) {
    ir_text_str(out, "FAILED: dtype or shape differs from the reference\n");
    return false;
  }
  comparison c = compare_arrays(got->data, want, allowed);
  bool good = is_within_tolerance(&c, change);
  if (c.different == 0) {
    ir_textf(out, "%lld element%s, bit-equal\n", (long long)c.count, c.count == 1 ? "" : "s");
    return true;
  }
  ir_textf(out, "%s%lld of %lld element%s differ%s", good ? "" : "FAILED: ", (long long)c.different,
           (long long)c.count, c.count == 1 ? "" : "s", c.different == 1 ? "s" : "");
  if (ir_is_float(want->dtype))
    ir_textf(out, ", by at most %.3g, allowed %.3g", c.worst, c.allowed > DBL_MIN ? c.allowed : 0);
  else ir_textf(out, ", allowed %lld", allowed ? (long long)(c.count / DISCRETE_SHARE) : 0);
  if (change && c.over)
    ir_textf(out, "; %lld change by more, by at most %.3g, where inputs or reductions are rounded otherwise",
             (long long)change->count, change->most);
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

typedef struct checker {
  cli_graph *s;
  const ir_parsed_graph *block;
  ir_ref results;
  uint32_t count;
  cli_tolerances tolerances;
  ir_binding_input *inputs; /* parameters, then constants; then reductions, moved, which are freed */
  size_t input_count, reduction_count;
  rt_context *context;
  ir_ref *resources;
  rt_constant **constants;
  size_t constant_count, constant_cap;
  ir_var_value *vars;
  ir_ref *roots;        /* the results, then each reduction and its magnitude */
  ir_eval_result *want; /* of the roots */
  size_t root_count;
  double *largest, *allowed; /* by result */
} checker;

/* Finds the constants that the results depend on. False when memory is short; other errors are in s->error.
 */
static bool find_constants(checker *c) {
  const ir_graph *g = &c->s->g;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(g, &c->results, 1, &nodes, &count, &cap) == IR_OK;
  for (size_t i = 0; i < count && good; i++) {
    if (ir_op_of(g, nodes[i]) != IR_OP_RESOURCE) continue;
    good = IR_RESERVE(g->mem, c->resources, c->constant_cap, c->constant_count + 1);
    if (good) c->resources[c->constant_count++] = nodes[i];
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
  c->constants = calloc(c->constant_count + 1, sizeof *c->constants);
  if (!good || !c->constants) return false;
  fe_find_constants(c->context, c->block->name, g, c->resources, c->constant_count, c->constants,
                    &c->s->error);
  return true;
}

static bool prepare_evaluation(checker *c, const cli_binding *b) {
  if (!find_constants(c)) return false;
  c->vars = calloc(b->var_count + 1, sizeof *c->vars);
  for (size_t i = 0; i < b->var_count && c->vars; i++) c->vars[i] = (ir_var_value){b->vars[i], b->values[i]};
  if (!c->vars || !cli_tolerances_find(&c->s->g, c->results, c->vars, b->var_count, &c->tolerances))
    return false;
  c->input_count = c->block->param_count + c->constant_count;
  c->inputs = calloc(c->input_count + c->tolerances.count + 1, sizeof *c->inputs);
  c->largest = calloc(c->count, sizeof *c->largest);
  c->allowed = calloc(c->count, sizeof *c->allowed);
  if (!c->inputs || !c->largest || !c->allowed) return false;
  for (size_t i = 0; i < c->block->param_count; i++)
    c->inputs[i] = (ir_binding_input){c->block->params[i].ref, b->arrays[i].data};
  for (size_t i = 0; i < c->constant_count && c->constants[i]; i++)
    c->inputs[c->block->param_count + i] =
        (ir_binding_input){c->resources[i], rt_constant_bytes(c->constants[i])};
  c->root_count = c->count + 2 * c->tolerances.count;
  c->roots = calloc(c->root_count, sizeof *c->roots);
  c->want = calloc(c->root_count, sizeof *c->want);
  if (!c->roots || !c->want) return false;
  memcpy(c->roots, ir_get(&c->s->g, c->results)->src, c->count * sizeof *c->roots);
  for (size_t i = 0; i < c->tolerances.count; i++) {
    c->roots[c->count + 2 * i] = c->tolerances.items[i].node;
    c->roots[c->count + 2 * i + 1] = c->tolerances.items[i].magnitude;
  }
  return true;
}

/* How neighbours of the inputs change results, where one of these is not within its bound. NULL: all are, or
 * memory is short. */
static cli_change *find_changes(checker *c, const cli_binding *b, const fe_array *outputs) {
  bool good = true;
  for (uint32_t i = 0; i < c->count && good; i++)
    good = c->allowed[i] <= 0 || is_good(&outputs[i], &c->want[i], c->allowed[i]);
  cli_change *changes = good ? NULL : calloc(c->count, sizeof *changes);
  for (size_t i = 0; i < c->tolerances.count && changes; i++) {
    const ir_eval_result *value = &c->want[c->count + 2 * i];
    const cli_tolerance *t = &c->tolerances.items[i];
    if (ir_op_of(&c->s->g, t->node) == IR_OP_RESULT) continue; /* of a loop: that amplifies */
    void *moved = cli_moved_reduction(value, value + 1, t->factor);
    if (moved) c->inputs[c->input_count + c->reduction_count++] = (ir_binding_input){t->node, moved};
  }
  const cli_evaluation asked = {c->roots,           c->count, c->inputs,   c->input_count,
                                c->reduction_count, c->vars,  b->var_count};
  if (changes && !cli_neighbours_find(&c->s->g, &asked, c->want, c->allowed, changes)) {
    free(changes);
    changes = NULL;
  }
  return changes;
}

/* CLI_OK or CLI_CHECK_FAILED; the error is in s->error. */
static int check_outputs(checker *c, const cli_binding *b, const fe_array *outputs, ir_text *out) {
  cli_graph *s = c->s;
  int status = CLI_OK;
  if (!prepare_evaluation(c, b)) {
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
    return status;
  }
  if (s->error.status) return status;
  if (ir_eval(&s->g, c->roots, c->root_count, c->inputs, c->input_count, c->vars, b->var_count, c->want,
              &s->error) != IR_OK)
    return status;
  for (uint32_t i = 0; i < c->count; i++) c->largest[i] = cli_largest(&c->want[i]);
  if (!cli_tolerances_apply(&c->tolerances, &s->g, c->results, c->want + c->count, c->largest, c->allowed))
    ir_fail(&s->error, IR_ERR_MEMORY, "out of memory");
  cli_change *changes = s->error.status ? NULL : find_changes(c, b, outputs);
  for (uint32_t i = 0; i < c->count && !s->error.status; i++)
    if (!report_array(c->block->results[i].name, &outputs[i], &c->want[i], c->allowed[i],
                      changes ? &changes[i] : NULL, out))
      status = CLI_CHECK_FAILED;
  free(changes);
  ir_eval_free(&s->g, c->want, c->root_count);
  return status;
}

int cli_check(cli_graph *s, rt_context *context, const ir_parsed_graph *block, ir_ref results,
              const cli_binding *inputs, const fe_array *outputs, ir_text *out) {
  checker c = {
      .s = s, .block = block, .results = results, .context = context, .count = ir_get(&s->g, results)->nsrc};
  int status = check_outputs(&c, inputs, outputs, out);
  cli_tolerances_free(&c.tolerances);
  for (size_t i = 0; i < c.constant_count && c.constants; i++) rt_constant_release(c.constants[i]);
  ir_free(&ir_mem_libc, c.resources, c.constant_cap * sizeof *c.resources);
  free(c.constants);
  for (size_t i = 0; i < c.reduction_count; i++) free((void *)c.inputs[c.input_count + i].data);
  free(c.inputs);
  free(c.vars);
  free(c.roots);
  free(c.want);
  free(c.largest);
  free(c.allowed);
  return s->error.status ? cli_failure(s->command, &s->error) : status;
}
