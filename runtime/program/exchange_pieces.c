/* Exchanges that begin while a kernel still makes their operand.
 *
 * A large exchange goes in pieces (rt_pieces). The kernel runs over the blocks of one piece after the other,
 * as far as it is known which iterations store which block, and each piece starts when its blocks are there.
 * Where that is not known, or on other devices of the mesh, all pieces start after the kernel: pieces are the
 * same on all devices, and so is the order in which they start, for no other exchange starts or is waited for
 * between the kernel and the exchange. */
#include "runtime/program/program.h"

#define NONE UINT32_MAX

cg_blocks rt_blocks_of(const rt_program *p, uint32_t step) {
  rt_entry entry;
  rt_image_entry(p->code.base, p->code.size, p->plan.steps[step].kernel, &entry);
  return entry.terms.blocks;
}

/* How often the slot is among those of the step from `from` on. */
static uint32_t count_uses(const rt_program *p, const rt_plan_step *s, uint32_t slot, uint32_t from) {
  uint32_t count = 0;
  for (uint32_t k = from; k < s->slot_count; k++) count += p->plan.step_slots[s->slots + k] == slot;
  return count;
}

/* The kernel that makes the operand of the exchange as its first buffer, without anything between them that
 * uses the result, or is an exchange itself; NONE: there is none. */
static uint32_t find_sender(const rt_program *p, uint32_t exchange) {
  const uint32_t *slots = p->plan.step_slots + p->plan.steps[exchange].slots;
  uint32_t result = slots[0], operand = slots[1];
  if (p->kinds[result] != IR_SLOT_TEMP || p->kinds[operand] != IR_SLOT_TEMP) return NONE;
  for (uint32_t i = exchange; i-- > 0;) {
    const rt_plan_step *s = &p->plan.steps[i];
    if (s->kind == IR_STEP_EXCHANGE || s->kind == IR_STEP_WAIT || rt_inside(s) || count_uses(p, s, result, 0))
      return NONE;
    if (s->kind != IR_STEP_KERNEL) {
      if (count_uses(p, s, operand, 0)) return NONE;
      continue;
    }
    if (count_uses(p, s, operand, 0) == count_uses(p, s, operand, s->written)) continue; /* it reads it */
    bool first = p->plan.step_slots[s->slots] == operand && count_uses(p, s, operand, 1) == 0;
    return first && !p->is_hoisted[i] && rt_blocks_of(p, i).elements ? i : NONE;
  }
  return NONE;
}

void rt_find_senders(rt_program *p) {
  for (uint32_t i = 0; i < p->plan.head->steps; i++) p->sends[i] = NONE;
  for (uint32_t i = 0; i < p->plan.head->steps && !p->remote; i++) {
    uint32_t sender = p->plan.steps[i].kind == IR_STEP_EXCHANGE ? find_sender(p, i) : NONE;
    if (sender != NONE) p->sends[sender] = i;
  }
}
