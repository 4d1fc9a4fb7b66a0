/* Which values may have one memory, as one is the next version of the other. */
#include "passes/schedule/merge.h"

uint32_t schedule_first_carry(const ir_step *s) { return s->kind == IR_STEP_WHILE; }

uint32_t schedule_end_of(const ir_plan *p, uint32_t k) {
  return k + p->steps[k].function_steps[0] + p->steps[k].function_steps[1];
}

/* The innermost loop around step k, or the innermost condition. */
static uint32_t around(const ir_plan *p, uint32_t k, bool condition) {
  for (uint32_t at = k; at-- > 0;)
    if ((condition ? p->steps[at].kind == IR_STEP_COND : ir_is_loop_step(p->steps[at].kind)) &&
        schedule_end_of(p, at) >= k)
      return at;
  return UINT32_MAX;
}

uint32_t schedule_loop_around(const ir_plan *p, uint32_t k) { return around(p, k, false); }

static uint32_t loop_around(const in_place *f, uint32_t k) {
  return f->any_loop ? schedule_loop_around(f->plan, k) : UINT32_MAX;
}

uint32_t schedule_become(const in_place *f, uint32_t slot) {
  while (f->slots[slot].is != slot) slot = f->slots[slot].is;
  return slot;
}

size_t schedule_uses_of(const in_place *f, uint32_t step) {
  size_t low = 0, high = f->use_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (f->uses[middle].step < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

bool schedule_list_control(in_place *f, uint32_t k) {
  for (; f->met < k; f->met++) {
    const ir_step *s = &f->plan->steps[f->met];
    bool condition = s->kind == IR_STEP_COND, loop = ir_is_loop_step(s->kind);
    uint32_t first = condition ? 1 : schedule_first_carry(s);
    uint32_t count = condition ? s->slot_count - 1 : s->carries;
    f->any_loop |= loop, f->conditions |= condition;
    for (uint32_t i = 0; i < count && (condition || loop) && f->loops; i++) {
      uint32_t place = condition ? first + i : first + SCHEDULE_CARRY * i;
      if (!IR_RESERVE(f->g->mem, f->copies, f->cap, f->count + 1))
        return ir_fail(f->g->error, IR_ERR_MEMORY, "out of memory scheduling writes") == IR_OK;
      f->copies[f->count++] = (copied){.at = f->met,
                                       .end = schedule_end_of(f->plan, f->met),
                                       .from = condition ? SCHEDULE_NO_SLOT : s->slots[place],
                                       .to = s->slots[place + (condition ? 0 : CARRY_RESULT)],
                                       .place = place,
                                       .kind = s->kind};
    }
  }
  return true;
}

/* Does the slot hold a reference, whose newest version is the result in slot `to`? Slots of inputs have their
 * numbers. */
static bool is_reference(const in_place *f, uint32_t from, uint32_t to) {
  for (size_t i = 0; i < f->reference_count; i++)
    if (f->references[i].input == from && f->plan->results[f->references[i].result] == to) return true;
  return false;
}

uint32_t schedule_find_carry(const in_place *f, const copied *c, uint32_t to) {
  uint32_t loop = f->loops ? loop_around(f, c->at) : UINT32_MAX;
  const ir_step *s = loop == UINT32_MAX ? NULL : &f->plan->steps[loop];
  uint32_t place = s ? schedule_first_carry(s) : 0;
  for (uint32_t k = 0; s && k < s->carries; k++, place += SCHEDULE_CARRY)
    if (s->slots[place + CARRY_THIS] == c->from && s->slots[place + CARRY_NEXT] == to) return place;
  return UINT32_MAX;
}

bool schedule_is_free(const in_place *f, const copied *c) {
  const usage *x = &f->slots[c->from];
  return x->first == UINT32_MAX || x->last <= (c->kind == IR_STEP_COND ? c->end : c->at);
}

/* loops */

/* Do all iterations change the carried value in one memory? */
static bool is_in_place(const in_place *f, const ir_step *loop, uint32_t place) {
  return schedule_become(f, loop->slots[place + CARRY_THIS]) ==
         schedule_become(f, loop->slots[place + CARRY_NEXT]);
}

/* Is the initial value all that the loop takes of its slot? */
static bool is_initial_alone(const ir_step *loop, uint32_t place) {
  for (uint32_t i = 0; i < loop->slot_count; i++)
    if (i != place && loop->slots[i] == loop->slots[place]) return false;
  return true;
}

/* conditions */

/* The innermost condition around step `at`, in the same loop, or UINT32_MAX. */
static uint32_t condition_around(const in_place *f, uint32_t at) {
  if (!f->conditions) return UINT32_MAX;
  uint32_t loop = loop_around(f, at), k = around(f->plan, at, true);
  return k != UINT32_MAX && (loop == UINT32_MAX || k > loop) ? k : UINT32_MAX;
}

/* The steps [*from, *end) of the function of condition k that step `at` belongs to. */
static void find_function(const in_place *f, uint32_t k, uint32_t at, uint32_t *from, uint32_t *end) {
  uint32_t second = k + 1 + f->plan->steps[k].function_steps[0];
  *from = at < second ? k + 1 : second;
  *end = at < second ? second : schedule_end_of(f->plan, k) + 1;
}

/* Does one memory do for both slots in the steps [at, end) of a function, which leaves `to`? What is read of
 * `from` is read before `to` is written, or handed on by that step. */
static bool hands_on(const in_place *f, uint32_t at, uint32_t end, uint32_t from, uint32_t to, bool strict) {
  const ir_plan *p = f->plan;
  uint32_t last = 0, first = UINT32_MAX;
  for (size_t i = schedule_uses_of(f, at); i < f->use_count && f->uses[i].step < end; i++) {
    if (f->uses[i].slot == from) last = f->uses[i].step + 1;
    if (first == UINT32_MAX && schedule_become(f, f->uses[i].slot) == to) first = f->uses[i].step;
  }
  if (first == UINT32_MAX) return false;
  const ir_step *s = &p->steps[first];
  if (s->kind == IR_STEP_COND) {
    uint32_t second = first + 1 + s->function_steps[0], behind = schedule_end_of(p, first) + 1;
    return last <= behind && hands_on(f, first + 1, second, from, to, strict) &&
           hands_on(f, second, behind, from, to, strict);
  }
  if (last <= first) return true; /* it is computed of other values */
  if (last > first + 1) return false;
  if (s->kind == IR_STEP_COPY) return s->slots[1] == from && schedule_become(f, s->slots[0]) == to;
  for (size_t i = 0; i < f->count; i++) {
    const copied *c = &f->copies[i];
    if (c->at != first || c->from != from || schedule_become(f, c->to) != to) continue;
    if (c->kind == IR_STEP_KERNEL) return !strict || !c->kept;
    return is_in_place(f, s, c->place) && is_initial_alone(s, c->place);
  }
  return false;
}

static bool both_hand_on(const in_place *f, const copied *c, uint32_t from, bool strict) {
  uint32_t second = c->at + 1 + f->plan->steps[c->at].function_steps[0], to = schedule_become(f, c->to);
  return hands_on(f, c->at + 1, second, from, to, strict) &&
         hands_on(f, second, c->end + 1, from, to, strict);
}

/* The slot whose contents the condition hands on. */
static uint32_t find_handed_on(const in_place *f, const copied *c, bool strict) {
  uint32_t to = schedule_become(f, c->to);
  for (size_t i = 0; i < f->count; i++) {
    const copied *e = &f->copies[i];
    if (e->at <= c->at || e->at > c->end || e->from == SCHEDULE_NO_SLOT || schedule_become(f, e->to) != to)
      continue;
    if (both_hand_on(f, c, e->from, strict)) return e->from;
  }
  return SCHEDULE_NO_SLOT;
}

/* Is the slot one of the function of condition k that uses it? */
static bool is_local(const in_place *f, uint32_t slot, uint32_t k) {
  return f->plan->slots[slot].kind == IR_SLOT_TEMP && f->slots[slot].first > k;
}

bool schedule_last_use(const in_place *f, const copied *c, uint32_t *last) {
  uint32_t k = c->kind == IR_STEP_KERNEL ? condition_around(f, c->at) : UINT32_MAX, from, end;
  if (k == UINT32_MAX || is_local(f, c->from, k)) return false;
  find_function(f, k, c->at, &from, &end);
  for (size_t i = schedule_uses_of(f, c->at); i < f->use_count && f->uses[i].step < end; i++)
    if (f->uses[i].slot == c->from) *last = f->uses[i].step;
  return *last > c->end;
}

size_t schedule_next_inside(const in_place *f, const copied *c, size_t i) {
  uint32_t to = schedule_become(f, c->to);
  if (c->kind != IR_STEP_COND) return f->count;
  while (i < f->count && (f->copies[i].at <= c->at || f->copies[i].at > c->end ||
                          f->copies[i].from != c->from || schedule_become(f, f->copies[i].to) != to))
    i++;
  return i;
}

/* all */

bool schedule_fits(in_place *f, copied *c, bool strict) {
  const ir_plan *p = f->plan;
  if (c->kind == IR_STEP_COND) c->from = find_handed_on(f, c, strict);
  if (c->from == SCHEDULE_NO_SLOT) return false;
  if (c->kind != IR_STEP_KERNEL && c->kind != IR_STEP_COND &&
      (!is_in_place(f, &p->steps[c->at], c->place) || !is_initial_alone(&p->steps[c->at], c->place)))
    return false;
  ir_slot_kind from = p->slots[c->from].kind, to = p->slots[c->to].kind;
  uint32_t loop = loop_around(f, c->at), first = f->slots[c->from].first, newest = schedule_become(f, c->to),
           condition = condition_around(f, c->at);
  if (to != IR_SLOT_TEMP && to != IR_SLOT_OUTPUT && to != IR_SLOT_ALIAS) return false;
  /* what a function hands on of outside depends on the other function, too: the condition hands it on */
  if (condition != UINT32_MAX && !is_local(f, c->from, condition)) return false;
  if (from == IR_SLOT_ALIAS) return schedule_find_carry(f, c, newest) != UINT32_MAX;
  if (from != IR_SLOT_INPUT) return from == IR_SLOT_TEMP && (loop == UINT32_MAX || first > loop);
  return loop == UINT32_MAX && is_reference(f, c->from, newest);
}
