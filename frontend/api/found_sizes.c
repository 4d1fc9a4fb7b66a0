#include "frontend/api/found_sizes.h"

#include <string.h>

static bool no_memory(ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory finding sizes of a run") == IR_OK;
}

/* listing */

/* What a value depends on: nodes, and the sizes of their shapes. */
typedef struct reached {
  ir_ref *list;
  size_t count, cap;
} reached;

static bool reach(ir_graph *g, const ir_ref *roots, size_t n, reached *out) {
  ir_ref *shapes = NULL;
  size_t count = 0, cap = 0;
  bool good = ir_reachable(g, roots, n, &out->list, &out->count, &out->cap) == IR_OK &&
              IR_RESERVE(g->mem, shapes, cap, n + out->count);
  for (size_t i = 0; i < n && good; i++) shapes[count++] = roots[i];
  for (size_t i = 0; i < out->count && good; i++)
    if (ir_shape(g, out->list[i])) shapes[count++] = ir_shape(g, out->list[i]);
  out->count = 0;
  good = good && ir_reachable(g, shapes, count, &out->list, &out->count, &out->cap) == IR_OK;
  ir_free(g->mem, shapes, cap * sizeof *shapes);
  return good;
}

static size_t number_of(const ir_ref *vars, size_t count, ir_ref var) {
  size_t i = 0;
  while (i < count && vars[i] != var) i++;
  return i;
}

/* Excludes the variables that shapes of inputs tell. */
static bool exclude_told(ir_graph *g, const ir_ref *inputs, size_t input_count, const ir_ref *vars,
                         fe_found *out) {
  bool good = true;
  for (size_t i = 0; i < input_count && good; i++) {
    reached in = {0};
    good = reach(g, &inputs[i], 1, &in);
    for (size_t k = 0; k < in.count && good; k++) {
      size_t var =
          ir_op_of(g, in.list[k]) == IR_OP_VAR ? number_of(vars, out->var_count, in.list[k]) : out->var_count;
      if (var < out->var_count) out->is_found[var] = 0;
    }
    ir_free(g->mem, in.list, in.cap * sizeof *in.list);
  }
  return good;
}

static bool is_known(ir_graph *g, ir_ref value, const ir_ref *vars, const uint8_t *unknown, size_t var_count,
                     bool *known) {
  reached in = {0};
  bool good = reach(g, &value, 1, &in);
  *known = true;
  for (size_t k = 0; k < in.count && good && *known; k++) {
    size_t var = ir_op_of(g, in.list[k]) == IR_OP_VAR ? number_of(vars, var_count, in.list[k]) : var_count;
    *known = var == var_count || !unknown[var];
  }
  ir_free(g->mem, in.list, in.cap * sizeof *in.list);
  return good;
}

static bool add_stage(fe_found *f, size_t room) {
  if (!IR_RESERVE(f->mem, f->stages, f->cap, f->count + 1)) return false;
  fe_found_stage *s = &f->stages[f->count++];
  *s = (fe_found_stage){.values = ir_alloc(f->mem, room * sizeof *s->values),
                        .vars = ir_alloc(f->mem, room * sizeof *s->vars)};
  return s->values && s->vars;
}

/* One stage: what is found from what is known. False after failing. */
static bool list_stage(ir_graph *g, const ir_ref *nodes, size_t count, const ir_ref *vars, fe_found *f,
                       uint8_t *unknown, bool *some) {
  fe_found_stage *s = NULL;
  *some = false;
  for (size_t i = 0; i < count; i++) {
    bool known;
    if (ir_op_of(g, nodes[i]) != IR_OP_FOUND) continue;
    size_t var = number_of(vars, f->var_count, ir_src(g, nodes[i], 1));
    if (var == f->var_count || !unknown[var]) continue;
    bool again = false;
    for (size_t k = 0; s && k < s->count; k++) again |= s->vars[k] == var;
    if (again) continue;
    if (!is_known(g, ir_src(g, nodes[i], 0), vars, unknown, f->var_count, &known)) return false;
    if (!known) continue;
    if (!s && !add_stage(f, f->var_count)) return false;
    s = &f->stages[f->count - 1];
    s->values[s->count] = ir_src(g, nodes[i], 0);
    s->vars[s->count++] = (uint32_t)var;
    *some = true;
  }
  for (size_t k = 0; s && k < s->count; k++) unknown[s->vars[k]] = 0;
  return true;
}

static bool describe_variables(ir_graph *g, const ir_ref *vars, fe_found *out) {
  for (size_t i = 0; i < out->var_count; i++) {
    const ir_node *n = ir_get(g, vars[i]);
    size_t length = ir_name_length(g, n->arg);
    char *name = ir_alloc(out->mem, length + 1);
    if (!name) return false;
    memcpy(name, ir_name_text(g, n->arg), length + 1);
    out->variables[i] =
        (rt_variable){name, ir_get(g, n->src[0])->arg, ir_get(g, n->src[1])->arg, ir_get(g, n->src[2])->arg};
  }
  return true;
}

static bool list_stages(ir_graph *g, const reached *all, const ir_ref *vars, fe_found *out, ir_error *error) {
  uint8_t *unknown = ir_alloc(g->mem, out->var_count);
  bool good = unknown != NULL, some = true;
  if (good) memcpy(unknown, out->is_found, out->var_count);
  while (good && some) good = list_stage(g, all->list, all->count, vars, out, unknown, &some);
  for (size_t i = 0; i < out->var_count && good; i++)
    if (unknown[i]) {
      ir_fail(
          error, IR_ERR_INVALID,
          "the size %.60s, which a run is to find out, is computed of a value whose own size is %.60s, or "
          "another that depends on it; compute it of sizes that are known before",
          out->variables[i].name, out->variables[i].name);
      good = false;
    }
  ir_free(g->mem, unknown, out->var_count);
  return good;
}

bool fe_found_list(ir_graph *g, ir_ref results, const ir_ref *inputs, size_t input_count, const ir_ref *vars,
                   size_t var_count, fe_found *out, ir_error *error) {
  reached all = {0};
  ir_error *of_recording = g->error;
  bool any = false;
  *out = (fe_found){.mem = g->mem, .var_count = var_count};
  if (!var_count) return true;
  g->error = error;
  bool good = ir_reachable(g, &results, 1, &all.list, &all.count, &all.cap) == IR_OK;
  out->variables = ir_alloc(g->mem, var_count * sizeof *out->variables);
  out->is_found = ir_alloc(g->mem, var_count);
  if (out->variables) memset(out->variables, 0, var_count * sizeof *out->variables);
  if (out->is_found) memset(out->is_found, 0, var_count);
  good = good && out->variables && out->is_found;
  for (size_t i = 0; i < all.count && good; i++) {
    if (ir_op_of(g, all.list[i]) != IR_OP_FOUND) continue;
    size_t var = number_of(vars, var_count, ir_src(g, all.list[i], 1));
    if (var < var_count) out->is_found[var] = any = true;
  }
  good = good && (!any || (exclude_told(g, inputs, input_count, vars, out) &&
                           describe_variables(g, vars, out) && list_stages(g, &all, vars, out, error)));
  ir_free(g->mem, all.list, all.cap * sizeof *all.list);
  g->error = of_recording;
  if (!good && !error->status) no_memory(error);
  return good;
}

void fe_found_free(fe_found *f) {
  for (size_t i = 0; i < f->count; i++) {
    fe_found_stage *s = &f->stages[i];
    ir_free(f->mem, s->values, s->values ? f->var_count * sizeof *s->values : 0);
    ir_free(f->mem, s->vars, s->vars ? f->var_count * sizeof *s->vars : 0);
    if (!s->program) continue;
    ir_free(f->mem, s->inputs_from, rt_program_input_count(s->program) * sizeof *s->inputs_from);
    ir_free(f->mem, s->variables_from, rt_program_variable_count(s->program) * sizeof *s->variables_from);
    rt_program_release(s->program);
  }
  for (size_t i = 0; i < f->var_count && f->variables; i++) {
    char *name = (char *)f->variables[i].name;
    if (name) ir_free(f->mem, name, strlen(name) + 1);
  }
  if (f->mem) {
    ir_free(f->mem, f->stages, f->cap * sizeof *f->stages);
    ir_free(f->mem, f->variables, f->variables ? f->var_count * sizeof *f->variables : 0);
    ir_free(f->mem, f->is_found, f->is_found ? f->var_count : 0);
  }
  *f = (fe_found){0};
}

/* programs */

static size_t named(const ir_graph *g, const ir_ref *list, size_t count, const char *name) {
  size_t i = 0;
  while (i < count && strcmp(ir_name_text(g, ir_get(g, list[i])->arg), name) != 0) i++;
  return i;
}

/* Finds each input and variable of the stage in the lists of the request. */
static bool match(const fe_request *r, fe_found *f, fe_found_stage *s, ir_error *error) {
  size_t inputs = rt_program_input_count(s->program), vars = rt_program_variable_count(s->program);
  s->inputs_from = ir_alloc(f->mem, inputs * sizeof *s->inputs_from);
  s->variables_from = ir_alloc(f->mem, vars * sizeof *s->variables_from);
  if (!s->inputs_from || !s->variables_from) return no_memory(error);
  for (size_t i = 0; i < inputs + vars; i++) {
    const char *name =
        i < inputs ? rt_program_input(s->program, i).name : rt_program_variable(s->program, i - inputs).name;
    size_t count = i < inputs ? r->input_count : r->var_count,
           at = named(r->graph, i < inputs ? r->inputs : r->vars, count, name);
    if (at == count) {
      ir_fail(error, IR_ERR_INTERNAL, "graph @%.60s reads %.60s, which is no input or variable of it",
              r->name, name);
      return false;
    }
    (i < inputs ? s->inputs_from : s->variables_from)[i < inputs ? i : i - inputs] = (uint32_t)at;
  }
  return true;
}

bool fe_found_compile(rt_context *context, const fe_request *request, fe_found *f, ir_error *error) {
  for (size_t i = 0; i < f->count; i++) {
    fe_found_stage *s = &f->stages[i];
    fe_request of = *request;
    of.results = ir_tuple(request->graph, s->values, (uint32_t)s->count);
    of.references = NULL, of.reference_count = 0, of.schedule = NULL, of.shaping = NULL;
    if (!of.results) return no_memory(error);
    if (fe_compile(context, &of, &s->program, error) != IR_OK || !match(request, f, s, error)) return false;
  }
  return true;
}

bool fe_found_check(const fe_found *f, uint32_t var, int64_t value, ir_error *error) {
  const rt_variable *v = &f->variables[var];
  if (value >= v->lo && value <= v->hi && value % v->divisor == 0) return true;
  ir_fail(error, IR_ERR_RANGE,
          "the run finds that the size %.60s is %lld; it was declared as %lld..%lld:%lld", v->name,
          (long long)value, (long long)v->lo, (long long)v->hi, (long long)v->divisor);
  return false;
}

static bool run_stage(const fe_found *f, const fe_found_stage *s, const void *const *inputs, int64_t *values,
                      ir_error *error) {
  size_t in = rt_program_input_count(s->program), vars = rt_program_variable_count(s->program);
  size_t bytes = (in + s->count) * sizeof(void *) + (vars + s->count) * sizeof(int64_t);
  void **buffers = ir_alloc(f->mem, bytes);
  if (!buffers) return no_memory(error);
  void **out = buffers + in;
  int64_t *known = (int64_t *)(out + s->count), *made = known + vars;
  bool good = true;
  for (size_t i = 0; i < in; i++) {
    buffers[i] = (void *)(uintptr_t)inputs[s->inputs_from[i]];
    if (!buffers[i] && good) {
      good = false;
      ir_fail(error, IR_ERR_INVALID, "the buffer of input %.60s is NULL, of which the run finds sizes",
              rt_program_input(s->program, i).name);
    }
  }
  for (size_t i = 0; i < vars; i++) known[i] = values[s->variables_from[i]];
  for (size_t i = 0; i < s->count; i++) out[i] = &made[i];
  good = good && rt_program_run(s->program, buffers, out, known, error) == IR_OK;
  for (size_t i = 0; i < s->count && good; i++)
    if ((good = fe_found_check(f, s->vars[i], made[i], error))) values[s->vars[i]] = made[i];
  ir_free(f->mem, buffers, bytes);
  return good;
}

bool fe_found_run(const fe_found *f, const void *const *inputs, int64_t *values, ir_error *error) {
  bool good = true;
  for (size_t i = 0; i < f->count && good; i++) good = run_stage(f, &f->stages[i], inputs, values, error);
  return good;
}

/* evaluating */

static bool evaluate_stage(ir_graph *g, const fe_found *f, const fe_found_stage *s,
                           const ir_binding_input *inputs, size_t input_count, ir_var_value *vars,
                           ir_error *error) {
  ir_eval_result *made = ir_alloc(f->mem, s->count * sizeof *made);
  bool done =
      made && ir_eval(g, s->values, s->count, inputs, input_count, vars, f->var_count, made, error) == IR_OK;
  bool good = done;
  for (size_t i = 0; i < s->count && good; i++) {
    memcpy(&vars[s->vars[i]].value, made[i].data, sizeof vars->value);
    good = fe_found_check(f, s->vars[i], vars[s->vars[i]].value, error);
  }
  if (done) ir_eval_free(g, made, s->count);
  ir_free(f->mem, made, s->count * sizeof *made);
  return good || (!error->status && no_memory(error));
}

bool fe_found_evaluate(ir_graph *g, const fe_found *f, const ir_binding_input *inputs, size_t input_count,
                       ir_var_value *vars, ir_error *error) {
  bool good = true;
  for (size_t i = 0; i < f->var_count && f->count; i++)
    if (f->is_found[i]) vars[i].value = f->variables[i].lo;
  for (size_t i = 0; i < f->count && good; i++)
    good = evaluate_stage(g, f, &f->stages[i], inputs, input_count, vars, error);
  return good;
}
