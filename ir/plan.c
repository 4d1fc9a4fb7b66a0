/* Storage of a plan. */
#include "plan.h"

void ir_plan_free(ir_plan *p) {
  if (!p->mem) return;
  for (size_t i = 0; i < p->launch_count; i++)
    ir_free(p->mem, p->launches[i].slots, p->launches[i].slot_count * sizeof *p->launches[i].slots);
  ir_free(p->mem, p->launches, p->launch_cap * sizeof *p->launches);
  ir_free(p->mem, p->slots, p->slot_cap * sizeof *p->slots);
  ir_free(p->mem, p->results, p->result_count * sizeof *p->results);
  *p = (ir_plan){.mem = p->mem};
}
