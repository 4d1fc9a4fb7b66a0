/* Reading the bytes of a plan. Every number in them is checked. */
#include "runtime/program/plan_file.h"

#include <string.h>

bool rt_plan_offsets(const rt_plan_head *h, uint64_t offset[RT_PLAN_ARRAYS + 1]) {
  const uint64_t bytes[RT_PLAN_ARRAYS] = {
      sizeof *h,
      h->vars * (uint64_t)sizeof(rt_plan_var),
      h->values * (uint64_t)sizeof(rt_value),
      h->slots * (uint64_t)sizeof(rt_plan_slot),
      h->results * (uint64_t)sizeof(uint32_t),
      h->steps * (uint64_t)sizeof(rt_plan_step),
      h->dims * (uint64_t)sizeof(uint32_t),
      h->step_slots * (uint64_t)sizeof(uint32_t),
      h->step_vars * (uint64_t)sizeof(uint32_t),
      h->names,
  };
  if (h->data > INT64_MAX / 2) return false;
  uint64_t at = 0;
  for (int i = 0; i < RT_PLAN_ARRAYS; i++) {
    offset[i] = at;
    at = (at + bytes[i] + 7) & ~(uint64_t)7;
  }
  at = (at + RT_PLAN_ALIGN - 1) & ~(uint64_t)(RT_PLAN_ALIGN - 1);
  offset[RT_PLAN_ARRAYS] = at;
  return true;
}

static uint64_t padded(uint64_t bytes) {
  return (bytes + RT_PLAN_ALIGN - 1) & ~(uint64_t)(RT_PLAN_ALIGN - 1);
}

size_t rt_plan_size(const void *bytes, size_t size) {
  rt_plan_head head;
  if (size < sizeof head) return 0;
  memcpy(&head, bytes, sizeof head);
  bool good = head.magic == RT_PLAN_MAGIC && head.version == RT_PLAN_VERSION && head.size <= size &&
              head.size >= sizeof head && head.size % RT_PLAN_ALIGN == 0;
  return good ? (size_t)head.size : 0;
}

static bool good_vars(const rt_plan *p) {
  for (uint32_t i = 0; i < p->head->vars; i++)
    if (p->vars[i].name >= p->head->names || p->vars[i].divisor < 1) return false;
  return true;
}

static bool good_values(const rt_plan *p) {
  for (uint32_t i = 0; i < p->head->values; i++) {
    const rt_value v = p->values[i];
    int operands = rt_value_operands(v.op);
    if (operands < 0 || (v.op == IR_OP_VAR && v.a >= p->head->vars)) return false;
    if ((operands > 0 && v.a >= i) || (operands > 1 && v.b >= i) || (operands > 2 && v.c >= i)) return false;
  }
  return true;
}

static bool good_slots(const rt_plan *p) {
  const rt_plan_head *h = p->head;
  for (uint32_t i = 0; i < h->slots; i++) {
    const rt_plan_slot *s = &p->slots[i];
    if (s->kind >= IR_SLOT_KINDS || s->dtype >= IR_DTYPE_COUNT || ir_dtypes[s->dtype].bytes == 0)
      return false;
    if (s->rank > IR_MAX_RANK || s->dims > h->dims || s->rank > h->dims - s->dims) return false;
    if (s->elements >= h->values || s->name >= h->names ||
        (s->kind != IR_SLOT_ALIAS && (s->data > h->data || s->data % RT_PLAN_ALIGN)))
      return false;
    const rt_value v = p->values[s->elements];
    int64_t elements = (int64_t)((uint64_t)v.c << 32 | v.b);
    if (s->kind != IR_SLOT_DATA && s->kind != IR_SLOT_RESOURCE) continue;
    if (v.op != IR_OP_CONST || elements < 0) return false;
    if (s->kind == IR_SLOT_DATA && (uint64_t)elements > (h->data - s->data) / ir_dtypes[s->dtype].bytes)
      return false;
  }
  for (uint32_t i = 0; i < h->dims; i++)
    if (p->dims[i] >= h->values) return false;
  for (uint32_t i = 0; i < h->results; i++)
    if (p->results[i] >= h->slots || p->slots[p->results[i]].kind == IR_SLOT_ALIAS) return false;
  return true;
}

bool rt_is_moved(const rt_plan_step *s, uint32_t place) {
  uint32_t first = rt_first_carry(s), pairs = rt_first_pair(s);
  if (!rt_is_loop(s) || place < first) return false;
  if (place >= pairs) return (place - pairs) % RT_SLICED == RT_SLICED_SLICE;
  uint32_t in = (place - first) % RT_CARRY;
  return in == RT_CARRY_THIS || in == RT_CARRY_NEXT;
}

/* For each kind of step: the largest number of functions and the least number of slots. */
static const struct {
  uint32_t functions, slots;
} step_rules[IR_STEP_KINDS] = {
    [IR_STEP_KERNEL] = {0, 0},   [IR_STEP_COPY] = {0, 2}, [IR_STEP_COND] = {2, 1}, [IR_STEP_WHILE] = {2, 1},
    [IR_STEP_SCAN] = {1, 0},     [IR_STEP_CALL] = {0, 0}, [IR_STEP_SORT] = {0, 2}, [IR_STEP_ARGSORT] = {0, 2},
    [IR_STEP_EXCHANGE] = {0, 2}, [IR_STEP_WAIT] = {0, 2},
};

/* A sort has two slots of one rank, which has the axis, and of one dtype or, of indices, I64. */
static bool good_sort(const rt_plan *p, const rt_plan_step *s) {
  if (s->slot_count != 2 || p->step_slots[s->slots] >= p->head->slots ||
      p->step_slots[s->slots + 1] >= p->head->slots)
    return false;
  const rt_plan_slot *to = &p->slots[p->step_slots[s->slots]], *from = &p->slots[p->step_slots[s->slots + 1]];
  return to->rank == from->rank && s->axis < to->rank &&
         to->dtype == (s->kind == IR_STEP_ARGSORT ? IR_I64 : from->dtype);
}

/* An exchange has two slots of one rank and of one dtype, and two indices for each axis. */
static bool good_exchange(const rt_plan *p, const rt_plan_step *s) {
  if (s->slot_count != 2 || p->step_slots[s->slots] >= p->head->slots ||
      p->step_slots[s->slots + 1] >= p->head->slots)
    return false;
  const rt_plan_slot *to = &p->slots[p->step_slots[s->slots]], *from = &p->slots[p->step_slots[s->slots + 1]];
  return to->rank == from->rank && to->dtype == from->dtype && s->attributes <= p->head->dims &&
         2u * to->rank <= p->head->dims - s->attributes;
}

/* A WAIT has the slots of an exchange before it. */
static bool good_wait(const rt_plan *p, const rt_plan_step *s) {
  if (s->attributes >= (uint64_t)(s - p->steps) || s->slot_count != 2) return false;
  const rt_plan_step *exchange = &p->steps[s->attributes];
  return exchange->kind == IR_STEP_EXCHANGE && p->step_slots[s->slots] == p->step_slots[exchange->slots] &&
         p->step_slots[s->slots + 1] == p->step_slots[exchange->slots + 1];
}

static bool good_ranges(const rt_plan *p, const rt_plan_step *s) {
  const rt_plan_head *h = p->head;
  if (s->kind >= IR_STEP_KINDS || s->reverse > 1) return false;
  if (s->count >= h->values || s->work >= h->values || s->flops >= h->values) return false;
  if (s->kind == IR_STEP_KERNEL && s->kernel >= h->kernels) return false;
  if ((s->kind == IR_STEP_CALL || s->kind == IR_STEP_EXCHANGE) && s->kernel >= h->names) return false;
  if (s->slots > h->step_slots || s->slot_count > h->step_slots - s->slots) return false;
  if (s->vars > h->step_vars || s->var_count > h->step_vars - s->vars) return false;
  if (s->kind != IR_STEP_EXCHANGE && s->kind != IR_STEP_WAIT &&
      (s->attributes > h->data || s->attribute_bytes > h->data - s->attributes))
    return false;
  if (s->slot_count < step_rules[s->kind].slots || s->written > s->slot_count) return false;
  if ((s->inside[0] && step_rules[s->kind].functions < 1) ||
      (s->inside[1] && step_rules[s->kind].functions < 2))
    return false;
  if (s->kind == IR_STEP_CALL) return s->carries <= s->slot_count;
  if (ir_is_sort_step((ir_step_kind)s->kind)) return good_sort(p, s);
  if (s->kind == IR_STEP_EXCHANGE) return good_exchange(p, s);
  if (s->kind == IR_STEP_WAIT) return good_wait(p, s);
  uint64_t least = rt_is_loop(s) ? rt_first_carry(s) + (uint64_t)RT_CARRY * s->carries : 0;
  if (s->kind == IR_STEP_SCAN) return least <= s->slot_count && (s->slot_count - least) % RT_SLICED == 0;
  return rt_is_loop(s) ? least == s->slot_count : s->carries == 0;
}

/* Are the steps properly nested, and not deeper than a run allows? `ends` is a stack of the ends of
 * functions. */
static bool good_nesting(const rt_plan *p) {
  uint64_t ends[2 * IR_MAX_DEPTH + 1] = {p->head->steps};
  unsigned open = 1; /* functions that contain the step, and second functions after those */
  for (uint64_t i = 0; i < p->head->steps; i++) {
    const rt_plan_step *s = &p->steps[i];
    while (ends[open - 1] == i && open > 1) open--;
    uint64_t first = i + 1 + s->inside[0], second = first + s->inside[1];
    if (second > ends[open - 1]) return false;
    if (second == i + 1) continue;
    if (open + 2 > sizeof ends / sizeof *ends) return false;
    ends[open++] = second;
    if (first > i + 1 && first < second) ends[open++] = first;
  }
  return true;
}

/* A moving slot must be set by exactly one loop and used only inside it, and a loop must set no other
 * slots. */
static bool good_slot_use(const rt_plan *p, uint32_t step, uint32_t place) {
  const rt_plan_step *s = &p->steps[step];
  uint32_t number = p->step_slots[s->slots + place];
  const rt_plan_slot *slot = &p->slots[number];
  bool moved = rt_is_moved(s, place);
  if (slot->kind != IR_SLOT_ALIAS) return !moved;
  uint32_t owner = (uint32_t)slot->data, at = (uint32_t)(slot->data >> 32);
  if (moved) return owner == step && at == s->slots + place;
  if (owner >= step) return false;
  const rt_plan_step *loop = &p->steps[owner];
  return step - owner <= rt_inside(loop) && at >= loop->slots && at - loop->slots < loop->slot_count &&
         rt_is_moved(loop, at - loop->slots) && p->step_slots[at] == number;
}

static bool good_steps(const rt_plan *p) {
  const rt_plan_head *h = p->head;
  for (uint32_t i = 0; i < h->steps; i++)
    if (!good_ranges(p, &p->steps[i])) return false;
  for (uint32_t i = 0; i < h->step_slots; i++)
    if (p->step_slots[i] >= h->slots) return false;
  if (!good_nesting(p)) return false;
  for (uint32_t i = 0; i < h->steps; i++)
    for (uint32_t k = 0; k < p->steps[i].slot_count; k++)
      if (!good_slot_use(p, i, k)) return false;
  for (uint32_t i = 0; i < h->step_vars; i++)
    if (p->step_vars[i] >= h->vars) return false;
  return true;
}

bool rt_plan_read(const void *bytes, size_t size, rt_plan *out) {
  uint64_t at[RT_PLAN_ARRAYS + 1];
  const uint8_t *base = bytes;
  const rt_plan_head *h = bytes;
  if ((uintptr_t)bytes % _Alignof(rt_plan_head) || size == 0 || rt_plan_size(bytes, size) != size)
    return false;
  if (!rt_plan_offsets(h, at) || at[RT_PLAN_ARRAYS] + padded(h->data) != size) return false;
  *out = (rt_plan){
      .head = h,
      .vars = (const rt_plan_var *)(const void *)(base + at[1]),
      .values = (const rt_value *)(const void *)(base + at[2]),
      .slots = (const rt_plan_slot *)(const void *)(base + at[3]),
      .results = (const uint32_t *)(const void *)(base + at[4]),
      .steps = (const rt_plan_step *)(const void *)(base + at[5]),
      .dims = (const uint32_t *)(const void *)(base + at[6]),
      .step_slots = (const uint32_t *)(const void *)(base + at[7]),
      .step_vars = (const uint32_t *)(const void *)(base + at[8]),
      .names = (const char *)(base + at[9]),
      .data = base + at[RT_PLAN_ARRAYS],
  };
  if (h->names == 0 || out->names[h->names - 1] != 0) return false;
  return good_vars(out) && good_values(out) && good_slots(out) && good_steps(out);
}
