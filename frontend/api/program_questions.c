/* What can be asked of a compiled program: names, shapes, variables, costs. */
#include <stdio.h>
#include <string.h>

#include "frontend/api/program.h"
#include "frontend/mesh/sharded.h"
#include "ir/arith.h"

const fe_port *fe_find_port(const vf_program *p, vf_port which, int number) {
  if (!fe_is(p, FE_PROGRAM) || (which != VF_INPUT && which != VF_OUTPUT) || number < 0 ||
      (size_t)number >= p->counts[which])
    return NULL;
  return &p->ports[(which == VF_OUTPUT ? p->counts[VF_INPUT] : 0) + (size_t)number];
}

void fe_refuse_port(const vf_program *p, const char *who, vf_port which, int number, ir_error *error) {
  const char *wrong = fe_not(p, FE_PROGRAM);
  if (wrong) ir_fail(error, IR_ERR_INVALID, "%s: the program is %s", who, wrong);
  else if (which != VF_INPUT && which != VF_OUTPUT)
    ir_fail(error, IR_ERR_INVALID, "%s: a port is VF_INPUT or VF_OUTPUT, and got %d", who, (int)which);
  else
    ir_fail(error, IR_ERR_INVALID, "%s: there is no %s %d; @%.60s has %zu, numbered from 0", who,
            which == VF_INPUT ? "input" : "output", number, rt_program_name(p->program), p->counts[which]);
}

bool fe_check_values(const vf_program *p, const int64_t *variables, ir_error *error) {
  if (!variables && p->variable_count) {
    char names[160] = "";
    for (size_t i = 0, at = 0; i < p->variable_count && at < sizeof names; i++)
      at += (size_t)snprintf(names + at, sizeof names - at, "%s%.40s", i ? ", " : "", p->variables[i].name);
    ir_fail(error, IR_ERR_INVALID, "program @%.60s: the list of variables is NULL; it has the value%s of %s",
            rt_program_name(p->program), p->variable_count == 1 ? "" : "s", names);
    return false;
  }
  for (size_t i = 0; i < p->variable_count; i++) {
    const rt_variable *v = &p->variables[i];
    if (variables[i] >= v->lo && variables[i] <= v->hi && variables[i] % v->divisor == 0) continue;
    ir_fail(error, IR_ERR_INVALID,
            "program @%.60s: variable %.60s is %lld; it was declared as %lld..%lld:%lld",
            rt_program_name(p->program), v->name, (long long)variables[i], (long long)v->lo, (long long)v->hi,
            (long long)v->divisor);
    return false;
  }
  return true;
}

int vf_port_count(const vf_program *p, vf_port which) {
  return p && (which == VF_INPUT || which == VF_OUTPUT) ? (int)p->counts[which] : 0;
}
const char *vf_port_name(const vf_program *p, vf_port which, int number) {
  const fe_port *found = fe_find_port(p, which, number);
  return found ? found->name : NULL;
}
vf_dtype vf_port_dtype(const vf_program *p, vf_port which, int number) {
  const fe_port *found = fe_find_port(p, which, number);
  return found ? (vf_dtype)found->dtype : VF_NONE;
}
int vf_port_rank(const vf_program *p, vf_port which, int number) {
  const fe_port *found = fe_find_port(p, which, number);
  return found ? (int)found->rank : -1;
}

static ir_status shape_of(const vf_program *p, const fe_port *found, const int64_t *variables, int64_t *shape,
                          ir_error *error) {
  if (!fe_check_values(p, variables, error)) return error->status;
  int64_t *values = ir_alloc(&p->context->mem, p->sizes.count * sizeof *values);
  if (!values) return ir_fail(error, IR_ERR_MEMORY, "out of memory for the sizes of %.60s", found->name);
  rt_values_evaluate(p->sizes.ops, p->sizes.count, variables, values);
  for (uint32_t i = 0; i < found->rank; i++) {
    shape[i] = values[p->dims[found->dims + i]];
    if (shape[i] < 0)
      ir_fail(error, IR_ERR_INTERNAL, "size %u of %.60s is too large for these variables", i, found->name);
  }
  ir_free(&p->context->mem, values, p->sizes.count * sizeof *values);
  return error->status;
}

vf_status vf_port_shape(const vf_program *p, vf_port which, int number, const int64_t *variables,
                        int64_t *shape, vf_error *error) {
  ir_error failure = {0};
  const fe_port *found = fe_find_port(p, which, number);
  if (!found) fe_refuse_port(p, "shape", which, number, &failure);
  else if (!shape && found->rank) ir_fail(&failure, IR_ERR_INVALID, "shape: the array for its sizes is NULL");
  else shape_of(p, found, variables, shape, &failure);
  return fe_report(error, &failure);
}

int64_t vf_port_bytes(const vf_program *p, vf_port which, int number, const int64_t *variables,
                      vf_error *error) {
  ir_error failure = {0};
  int64_t shape[IR_MAX_RANK], bytes = -1;
  const fe_port *found = fe_find_port(p, which, number);
  if (!found) {
    fe_refuse_port(p, "bytes", which, number, &failure);
  } else if (shape_of(p, found, variables, shape, &failure) == IR_OK) {
    bytes = ir_dtypes[found->dtype].bytes;
    for (uint32_t i = 0; i < found->rank; i++)
      if (!ir_mul_ok(bytes, shape[i], &bytes))
        ir_fail(&failure, IR_ERR_INTERNAL, "bytes: %.60s is too large for these variables", found->name);
    if (failure.status) bytes = -1;
  }
  fe_report(error, &failure);
  return bytes;
}

int vf_variable_count(const vf_program *p) { return p ? (int)p->variable_count : 0; }
const char *vf_variable_name(const vf_program *p, int number) {
  return number >= 0 && number < vf_variable_count(p) ? p->variables[number].name : NULL;
}
bool vf_variable_range(const vf_program *p, int number, int64_t *lo, int64_t *hi, int64_t *divisor) {
  if (number < 0 || number >= vf_variable_count(p)) return false;
  const rt_variable *v = &p->variables[number];
  if (lo) *lo = v->lo;
  if (hi) *hi = v->hi;
  if (divisor) *divisor = v->divisor;
  return true;
}

vf_status vf_program_cost(const vf_program *p, const int64_t *variables, vf_cost *out, vf_error *error) {
  ir_error failure = {0};
  rt_cost cost = {0};
  int64_t few[FE_FEW_BUFFERS], *values = few;
  const char *wrong = fe_not(p, FE_PROGRAM);
  if (wrong) ir_fail(&failure, IR_ERR_INVALID, "cost: the program is %s", wrong);
  else if (!out) ir_fail(&failure, IR_ERR_INVALID, "cost: the result is NULL");
  else if (p->runtime_variables > FE_FEW_BUFFERS &&
           !(values = ir_alloc(&p->context->mem, p->runtime_variables * sizeof *values)))
    ir_fail(&failure, IR_ERR_MEMORY, "out of memory for the cost of a program");
  else if (fe_check_values(p, variables, &failure)) {
    for (size_t i = 0; i < p->runtime_variables; i++) values[i] = variables[p->variables_from[i]];
    if (p->sharded) fe_sharded_cost(p->sharded, variables, &cost, &failure);
    else rt_program_cost(p->program, values, &cost, &failure);
  }
  if (p && values && values != few) ir_free(&p->context->mem, values, p->runtime_variables * sizeof *values);
  if (!failure.status) {
    vf_cost made = {sizeof made, cost.bytes, cost.flops, cost.temp_bytes};
    if (!fe_copy_sized(out, out->size, &made, sizeof made))
      ir_fail(&failure, IR_ERR_INVALID, "cost: size is %zu; it must be sizeof(vf_cost)", out->size);
  }
  return fe_report(error, &failure);
}
