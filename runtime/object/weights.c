/* Weights beside an object: constants, and what was computed of them, one behind the other. */
#include <string.h>

#include "runtime/object/describe.h"

static bool is_weight(const rt_describer *d, uint32_t number) {
  return d->weights && d->weight_at[number] != UINT64_MAX;
}

/* Marks what steps and copies read, and gives it a place in the file. */
static void place_read(rt_describer *d, cg_buffer *buffer) {
  if (buffer->where != CG_DATA || !is_weight(d, buffer->number)) return;
  uint64_t *at = &d->weight_at[buffer->number];
  if (*at == 0) { /* not placed yet */
    *at = d->weight_bytes + CG_ARENA_ALIGN;
    uint64_t size = d->data[buffer->number].size;
    d->weight_bytes += (size + CG_ARENA_ALIGN - 1) / CG_ARENA_ALIGN * CG_ARENA_ALIGN;
  }
  *buffer = (cg_buffer){CG_WEIGHT, rt_value_number(&d->values, (int64_t)(*at - CG_ARENA_ALIGN)),
                        buffer->bytes, buffer->shape};
}

void rt_describe_weights(rt_describer *d) {
  const rt_program *p = d->p;
  if (!d->request->weights) return;
  d->weights = true;
  for (size_t i = 0; i < p->data_count; i++) d->weight_at[i] = UINT64_MAX;
  for (uint32_t i = 0; i < p->plan.head->slots; i++)
    if (p->kinds[i] == IR_SLOT_RESOURCE) d->weight_at[p->number_in_kind[i]] = 0;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    for (uint32_t k = 0; k < s->slot_count && !p->is_hoisted[i]; k++)
      place_read(d, &d->buffers[s->slots + k]);
  }
  for (size_t i = 0; i < p->copy_count; i++) place_read(d, &d->copies[2 * i + 1]);
}

void rt_copy_weights(const rt_describer *d, uint8_t *to) {
  for (size_t i = 0; i < d->p->data_count; i++)
    if (is_weight(d, (uint32_t)i) && d->weight_at[i])
      memcpy(to + (d->weight_at[i] - CG_ARENA_ALIGN), d->data[i].bytes, d->data[i].size);
}
