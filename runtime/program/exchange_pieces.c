/* Exchanges that begin while a kernel still makes their operand, and kernels that begin while their operand
 * still arrives.
 *
 * A large exchange goes in pieces (rt_pieces). The kernel that makes the operand runs over the blocks of one
 * piece after the other, as far as it is known which iterations store which block, and each piece starts when
 * its blocks are there. The first kernel that uses the result runs those iterations first that load what has
 * arrived, as far as it is known what they load. Where that is not known, or on other devices of the mesh,
 * all pieces start after the kernel, and are waited for before the other one: pieces are the same on all
 * devices, and so is the order in which they start, for no other exchange starts or is waited for between a
 * kernel and the exchange of what it makes. Nobody waits for a piece that some device starts later than
 * others that it waits for: so none waits in a circle. */
#include "runtime/program/program.h"

#define NONE UINT32_MAX

cg_uses rt_uses_of(const rt_program *p, uint32_t step) {
  rt_entry entry;
  rt_image_entry(p->code.base, p->code.size, p->plan.steps[step].kernel, &entry);
  return entry.terms.uses;
}

cg_reads rt_reads_of(const rt_program *p, uint32_t step, uint32_t slot) {
  const rt_plan_step *s = &p->plan.steps[step];
  cg_uses uses = rt_uses_of(p, step);
  for (uint32_t i = 0; i < CG_READS; i++) {
    uint32_t param = uses.loads[i].param;
    if (param && param < s->slot_count && p->plan.step_slots[s->slots + param] == slot &&
        cg_reading_blocks(uses.loads[i]))
      return uses.loads[i];
  }
  return (cg_reads){0};
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
    return first && !p->is_hoisted[i] && rt_uses_of(p, i).stores.elements ? i : NONE;
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

/* receiving */

/* Does the step belong to the same function as a step before it? */
static bool is_beside(const rt_program *p, uint32_t step, uint32_t before) {
  uint32_t around = p->parent_step[step];
  if (around != p->parent_step[before]) return false;
  if (around == NONE) return true;
  uint32_t second = around + p->plan.steps[around].inside[0];
  return (step > second) == (before > second);
}

/* May the step, the first that uses the result of an exchange, begin before all of it is there? */
static bool may_receive(const rt_program *p, uint32_t step, uint32_t result, uint32_t operand) {
  const rt_plan_step *s = &p->plan.steps[step];
  return s->kind == IR_STEP_KERNEL && !p->is_hoisted[step] && p->receives[step] == NONE &&
         count_uses(p, s, result, 0) == 1 && count_uses(p, s, operand, 0) == 0 &&
         rt_reads_of(p, step, result).param >= s->written;
}

/* May the step come before the exchange is done? Where the operand is given, a result may lie there; the
 * kernel that uses the exchange looks where its own lie when it runs. */
static bool may_run_before(const rt_program *p, uint32_t step, uint32_t operand) {
  const rt_plan_step *s = &p->plan.steps[step];
  if (rt_inside(s) || s->kind == IR_STEP_CALL) return false;
  for (uint32_t k = 0; k < s->slot_count; k++) {
    uint32_t slot = p->plan.step_slots[s->slots + k];
    bool written = s->kind == IR_STEP_KERNEL ? k < s->written : k == 0;
    if (p->kinds[slot] == IR_SLOT_ALIAS || (slot == operand && written && s->kind != IR_STEP_WAIT))
      return false;
    if (p->kinds[operand] == IR_SLOT_INPUT && p->kinds[slot] == IR_SLOT_OUTPUT && written) return false;
  }
  return true;
}

/* The kernel that takes over to wait for the result; NONE: there is none. */
static uint32_t find_receiver(const rt_program *p, uint32_t wait) {
  const uint32_t *slots = p->plan.step_slots + p->plan.steps[wait].slots;
  uint32_t result = slots[0], operand = slots[1];
  bool moving = p->kinds[operand] == IR_SLOT_ALIAS; /* lies in the memory of others, which a step may write */
  if (p->kinds[result] != IR_SLOT_TEMP || p->kinds[operand] == IR_SLOT_OUTPUT) return NONE;
  for (uint32_t i = wait + 1; i < p->plan.head->steps && is_beside(p, i, wait); i++) {
    if (count_uses(p, &p->plan.steps[i], result, 0)) return may_receive(p, i, result, operand) ? i : NONE;
    if (moving || !may_run_before(p, i, operand)) return NONE;
  }
  return NONE;
}

void rt_find_receivers(rt_program *p) {
  for (uint32_t i = 0; i < p->plan.head->steps; i++) p->receives[i] = NONE;
  for (uint32_t i = p->plan.head->steps; i-- > 0 && !p->remote;) { /* the last one that a kernel needs */
    uint32_t receiver = p->plan.steps[i].kind == IR_STEP_WAIT ? find_receiver(p, i) : NONE;
    if (receiver == NONE) continue;
    p->receives[receiver] = (uint32_t)p->plan.steps[i].attributes;
    p->receives[i] = receiver;
  }
}
