#include "frontend/report/dump_blocks.h"

#include "codegen/emit/blocks.h"

/* Is the slot the result (0) or the operand (1) of an exchange? */
static bool is_exchanged(const ir_plan *plan, uint32_t slot, int which) {
  bool found = false;
  for (size_t i = 0; i < plan->step_count; i++)
    found |= plan->steps[i].kind == IR_STEP_EXCHANGE && plan->steps[i].slots[which] == slot;
  return found;
}

static bool uses_slot(const ir_step *s, uint32_t slot) {
  for (uint32_t i = 0; i < s->slot_count; i++)
    if (s->slots[i] == slot) return true;
  return false;
}

/* Is the step the first that uses what an exchange brings to the slot? */
static bool is_first(const ir_plan *plan, size_t step, uint32_t slot) {
  while (step-- > 0 && !uses_slot(&plan->steps[step], slot)) continue;
  return step < plan->step_count && plan->steps[step].kind == IR_STEP_WAIT;
}

void fe_put_blocks(ir_graph *g, const ir_plan *plan, size_t step, void (*put_slot)(void *user, uint32_t slot),
                   void *user, ir_text *out) {
  const ir_step *s = &plan->steps[step];
  cg_uses uses;
  ir_error error = {0};
  bool exchanged = is_exchanged(plan, s->slots[0], 1);
  for (uint32_t i = 0; i < s->slot_count; i++) exchanged |= is_exchanged(plan, s->slots[i], 0);
  if (!exchanged || ir_op_of(g, s->kernel) != IR_OP_KERNEL) return;
  if (cg_uses_find(g, s->kernel, 0, &uses, &error)) {
    out->failed = true;
    return;
  }
  if (uses.stores.elements && is_exchanged(plan, s->slots[0], 1))
    ir_textf(out, "  sends   what is there: %u blocks of iterations store %u elements each\n",
             cg_block_count(uses.stores), uses.stores.elements);
  for (uint32_t i = 0; i < CG_READS; i++) {
    cg_reads r = uses.loads[i];
    if (!cg_reading_blocks(r) || r.param >= s->slot_count || !is_first(plan, step, s->slots[r.param]))
      continue;
    ir_text_str(out, "  begins  with part of ");
    put_slot(user, s->slots[r.param]);
    ir_textf(out, ": %u blocks of iterations, b loads elements b*%d%+d to b*%d%+d\n", cg_reading_blocks(r),
             r.step, r.lo, r.step, r.hi - 1);
  }
}
