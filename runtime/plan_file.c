/* Reading the bytes of a plan. Nothing in them is trusted to be in range. */
#include "runtime/plan_file.h"

#include <string.h>

bool rt_plan_offsets(const rt_plan_head *h, uint64_t offset[RT_PLAN_ARRAYS + 1]) {
  const uint64_t bytes[RT_PLAN_ARRAYS] = {
      sizeof *h,
      h->vars * (uint64_t)sizeof(rt_plan_var),
      h->values * (uint64_t)sizeof(rt_value),
      h->slots * (uint64_t)sizeof(rt_plan_slot),
      h->results * (uint64_t)sizeof(uint32_t),
      h->launches * (uint64_t)sizeof(rt_plan_launch),
      h->dims * (uint64_t)sizeof(uint32_t),
      h->launch_slots * (uint64_t)sizeof(uint32_t),
      h->launch_vars * (uint64_t)sizeof(uint32_t),
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
    if (s->kind > IR_SLOT_DATA || s->dtype >= IR_DTYPE_COUNT || ir_dtypes[s->dtype].bytes == 0) return false;
    if (s->rank > IR_MAX_RANK || s->dims > h->dims || s->rank > h->dims - s->dims) return false;
    if (s->elements >= h->values || s->name >= h->names || s->data > h->data || s->data % RT_PLAN_ALIGN)
      return false;
    const rt_value v = p->values[s->elements];
    int64_t elements = (int64_t)((uint64_t)v.c << 32 | v.b);
    if (s->kind != IR_SLOT_DATA) continue;
    if (v.op != IR_OP_CONST || elements < 0) return false;
    if ((uint64_t)elements > (h->data - s->data) / ir_dtypes[s->dtype].bytes) return false;
  }
  for (uint32_t i = 0; i < h->dims; i++)
    if (p->dims[i] >= h->values) return false;
  for (uint32_t i = 0; i < h->results; i++)
    if (p->results[i] >= h->slots) return false;
  return true;
}

static bool good_launches(const rt_plan *p) {
  const rt_plan_head *h = p->head;
  for (uint32_t i = 0; i < h->launches; i++) {
    const rt_plan_launch *l = &p->launches[i];
    if (l->kernel >= h->kernels || l->count >= h->values || l->work >= h->values || l->flops >= h->values)
      return false;
    if (l->slots > h->launch_slots || l->slot_count > h->launch_slots - l->slots) return false;
    if (l->vars > h->launch_vars || l->var_count > h->launch_vars - l->vars) return false;
  }
  for (uint32_t i = 0; i < h->launch_slots; i++)
    if (p->launch_slots[i] >= h->slots) return false;
  for (uint32_t i = 0; i < h->launch_vars; i++)
    if (p->launch_vars[i] >= h->vars) return false;
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
      .launches = (const rt_plan_launch *)(const void *)(base + at[5]),
      .dims = (const uint32_t *)(const void *)(base + at[6]),
      .launch_slots = (const uint32_t *)(const void *)(base + at[7]),
      .launch_vars = (const uint32_t *)(const void *)(base + at[8]),
      .names = (const char *)(base + at[9]),
      .data = base + at[RT_PLAN_ARRAYS],
  };
  if (h->names == 0 || out->names[h->names - 1] != 0) return false;
  return good_vars(out) && good_values(out) && good_slots(out) && good_launches(out);
}
