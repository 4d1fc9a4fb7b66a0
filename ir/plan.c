/* Storage of a plan. */
#include "plan.h"

const char *const ir_step_names[IR_STEP_KINDS] = {"kernel", "copy", "cond",    "while",    "scan",
                                                  "call",   "sort", "argsort", "exchange", "wait"};

void ir_step_free(const ir_mem *mem, ir_step *s) {
  ir_free(mem, s->slots, s->slot_count * sizeof *s->slots);
  ir_free(mem, s->row_group.values, s->row_group.count * sizeof *s->row_group.values);
  ir_free(mem, s->own_stored, s->own_count * sizeof *s->own_stored);
}

void ir_plan_free(ir_plan *p) {
  if (!p->mem) return;
  for (size_t i = 0; i < p->step_count; i++) ir_step_free(p->mem, &p->steps[i]);
  ir_free(p->mem, p->steps, p->step_cap * sizeof *p->steps);
  ir_free(p->mem, p->slots, p->slot_cap * sizeof *p->slots);
  ir_free(p->mem, p->stored, p->stored_cap * sizeof *p->stored);
  ir_free(p->mem, p->results, p->result_count * sizeof *p->results);
  *p = (ir_plan){.mem = p->mem};
}
