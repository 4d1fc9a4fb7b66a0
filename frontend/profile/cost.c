#include "frontend/profile/cost.h"

#include <string.h>

bool fe_sizes_find(const ir_mem *mem, ir_graph *g, const rt_program *program, const int64_t *values,
                   fe_sizes *out) {
  size_t names = g->name_count, count = rt_program_variable_count(program);
  ir_ref *by_name = ir_alloc(mem, (names + 1) * sizeof *by_name);
  *out = (fe_sizes){.list = ir_alloc(mem, count * sizeof *out->list), .count = count};
  bool good = by_name && out->list;
  if (good) memset(by_name, 0, (names + 1) * sizeof *by_name);
  for (ir_ref ref = 1; good && ref < g->count; ref++)
    if (ir_op_of(g, ref) == IR_OP_VAR) by_name[ir_get(g, ref)->arg] = ref;
  for (size_t v = 0; good && v < count; v++) {
    const char *name = rt_program_variable(program, v).name;
    int64_t own = ir_name(g, name, strlen(name));
    bool here = own >= 0 && (size_t)own < names && by_name[own];
    out->list[v] = (ir_var_value){here ? by_name[own] : 0, values[v]};
  }
  ir_free(mem, by_name, (names + 1) * sizeof *by_name);
  return good;
}

void fe_sizes_free(const ir_mem *mem, fe_sizes *s) {
  ir_free(mem, s->list, s->count * sizeof *s->list);
  *s = (fe_sizes){0};
}

double fe_number_of(ir_graph *g, ir_ref expression, const fe_sizes *s) {
  int64_t value = 0;
  ir_error ignored = {0};
  ir_eval_index(g, expression, s->list, s->count, NULL, 0, &value, &ignored);
  return (double)value;
}

fe_kernel_cost fe_kernel_cost_of(const fe_explained *e, const rt_program *program, const int64_t *values,
                                 size_t number, const fe_sizes *s) {
  rt_step_cost step = {0};
  ir_error ignored = {0};
  rt_program_step_cost(program, values, number, &step, &ignored);
  fe_kernel_work work = fe_work_of(e, number);
  fe_arithmetic a = fe_arithmetic_of(e, number);
  double floats = fe_number_of(e->g, a.floats, s), integers = fe_number_of(e->g, a.integers, s),
         wide_floats = fe_number_of(e->g, a.weighed_floats, s),
         wide_integers = fe_number_of(e->g, a.weighed_integers, s), flops = (double)step.flops;
  double wide = floats > 0 ? flops * wide_floats / floats : flops;
  return (fe_kernel_cost){.read = fe_number_of(e->g, work.read, s),
                          .written = fe_number_of(e->g, work.written, s),
                          .operations = flops + integers,
                          .at_best = wide + wide_integers,
                          .threads = step.threads};
}
