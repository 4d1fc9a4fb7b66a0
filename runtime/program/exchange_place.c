/* Operands of exchanges that lie where the result has them: so that nothing is to be copied there.
 *
 * The part that a device has is a box of what it gets, of an all_gather say. Where it is contiguous there, it
 * takes no memory of its own, but that of the result, which lives from the first step that writes the operand
 * on. That holds as long as nothing else lies in the memory of the result, and nothing is written to that of
 * the operand after the exchange. */
#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "runtime/program/program.h"

#define NONE UINT32_MAX

/* The temporary in whose memory the slot lies; NONE: in other memory. */
static uint32_t root_of(const rt_program *p, const uint32_t *inherits, uint32_t slot) {
  if (p->kinds[slot] != IR_SLOT_TEMP) return NONE;
  uint32_t temp = p->number_in_kind[slot];
  while (inherits[temp] != temp) temp = inherits[temp];
  return p->homes[temp] == ((uint32_t)IR_SLOT_TEMP << RT_SOURCE_SHIFT | temp) ? temp : NONE;
}

static const uint32_t *slots_of(const rt_program *p, uint32_t step) {
  return p->plan.step_slots + p->plan.steps[step].slots;
}

/* By step: does it use the memory of the slot otherwise than by reading the slot itself? */
static bool changes(const rt_program *p, const uint32_t *inherits, uint32_t step, uint32_t slot) {
  const rt_plan_step *s = &p->plan.steps[step];
  bool reads = s->kind == IR_STEP_KERNEL || s->kind == IR_STEP_EXCHANGE || s->kind == IR_STEP_WAIT;
  uint32_t written = s->kind == IR_STEP_KERNEL ? s->written : s->kind == IR_STEP_EXCHANGE ? 1 : 0;
  uint32_t root = root_of(p, inherits, slot);
  for (uint32_t k = 0; k < s->slot_count; k++) {
    uint32_t own = slots_of(p, step)[k];
    if (root_of(p, inherits, own) == root && (own != slot || !reads || k < written)) return true;
  }
  return false;
}

/* The first step from `from` on that changes the memory of the slot; the number of steps: none. */
static uint32_t first_change(const rt_program *p, const uint32_t *inherits, uint32_t from, uint32_t slot) {
  while (from < p->plan.head->steps && !changes(p, inherits, from, slot)) from++;
  return from;
}

static void place_operand(rt_program *p, const uint32_t *inherits, uint32_t step) {
  uint32_t result = slots_of(p, step)[0], operand = slots_of(p, step)[1], end = p->plan.head->steps;
  uint32_t to = root_of(p, inherits, result), from = root_of(p, inherits, operand);
  if (to == NONE || from == NONE || to == from || p->within[from] != NONE ||
      (p->within[to] != NONE && p->within[to] != RT_HOLDS_OPERAND))
    return;
  if (first_change(p, inherits, 0, result) < step || first_change(p, inherits, step + 1, operand) < end ||
      p->lives[from].last >= first_change(p, inherits, step + 1, result))
    return;
  p->within[from] = step;
  p->within[to] = RT_HOLDS_OPERAND;
}

void rt_place_operands(rt_program *p, const uint32_t *inherits) {
  for (size_t i = 0; i < p->temp_count; i++) p->within[i] = NONE;
  for (uint32_t i = 0; i < p->plan.head->steps; i++)
    if (p->plan.steps[i].kind == IR_STEP_EXCHANGE && p->parent_step[i] == NONE && !p->remote &&
        !p->context->options.separate_arrays)
      place_operand(p, inherits, i);
}

bool rt_operand_place(const rt_program *p, const int64_t *values, uint32_t temp, uint32_t *result,
                      size_t *offset) {
  ir_box needed, own, meet;
  rt_box_runs runs;
  if (p->within[temp] >= RT_HOLDS_OPERAND) return false;
  rt_exchange_boxes(p, values, p->within[temp], &needed, &own);
  if (rt_box_is_empty(&own) || !ir_box_meet(&needed, &own, &meet)) return false;
  for (uint32_t k = 0; k < own.rank; k++)
    if (meet.lo[k] != own.lo[k] || meet.hi[k] != own.hi[k]) return false;
  size_t bytes = rt_exchange_bytes(p, p->within[temp]);
  rt_box_runs_begin(&runs, &own, bytes, &own, &needed);
  *result = p->number_in_kind[slots_of(p, p->within[temp])[0]];
  *offset = (size_t)runs.to;
  return runs.bytes == (size_t)ir_box_elements(&own) * bytes && *offset % RT_LAYOUT_ALIGN == 0;
}
