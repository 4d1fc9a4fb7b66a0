#include "runtime/program/exchange_table.h"

#include <string.h>

ir_status rt_exchange_table_make(const rt_program *p, rt_exchange_table *out, ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  uint32_t steps = p->plan.head->steps;
  *out = (rt_exchange_table){.program = p,
                             .exchange_of = ir_alloc(mem, steps * sizeof *out->exchange_of),
                             .steps = ir_alloc(mem, steps * sizeof *out->steps)};
  if (!out->exchange_of || !out->steps) {
    rt_exchange_table_free(out);
    return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory running it on a mesh", rt_program_name(p));
  }
  for (uint32_t i = 0; i < steps; i++) {
    bool is_exchange = p->plan.steps[i].kind == IR_STEP_EXCHANGE;
    out->exchange_of[i] = is_exchange ? out->count : 0;
    if (is_exchange) out->steps[out->count++] = i;
  }
  return IR_OK;
}

void rt_exchange_table_free(rt_exchange_table *t) {
  if (!t->program) return;
  const ir_mem *mem = rt_context_mem(t->program->context);
  uint32_t steps = t->program->plan.head->steps;
  ir_free(mem, t->exchange_of, steps * sizeof *t->exchange_of);
  ir_free(mem, t->steps, steps * sizeof *t->steps);
  *t = (rt_exchange_table){0};
}

const char *rt_exchange_name(const rt_exchange_table *t, uint32_t exchange) {
  return exchange < t->count ? rt_program_step_name(t->program, t->steps[exchange]) : NULL;
}

static const rt_plan_slot *slot_of(const rt_exchange_table *t, uint32_t exchange) {
  const rt_plan *plan = &t->program->plan;
  return &plan->slots[plan->step_slots[plan->steps[t->steps[exchange]].slots]];
}

bool rt_exchange_tables_agree(const rt_exchange_table *a, const rt_exchange_table *b, uint32_t *first) {
  uint32_t count = a->count < b->count ? a->count : b->count;
  for (*first = 0; *first < count; ++*first) {
    const rt_plan_slot *x = slot_of(a, *first), *y = slot_of(b, *first);
    if (strcmp(rt_exchange_name(a, *first), rt_exchange_name(b, *first)) != 0 || x->rank != y->rank ||
        x->dtype != y->dtype)
      return false;
  }
  return a->count == b->count;
}
