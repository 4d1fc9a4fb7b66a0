/* How long ago the memory of a buffer was touched: of what a kernel reads, and of intermediates, whose memory
 * others had before. */
#include <stdlib.h>

#include "frontend/cli/explain/explain.h"

enum { PARTS = 64 }; /* because that is a bit each; the mean distance of a buffer is within 2 % then */

bool explain_touches(const ir_step *s, uint32_t slot) {
  for (uint32_t i = 0; i < s->slot_count; i++)
    if (s->slots[i] == slot) return true;
  return false;
}

bool explain_find_places(explain_run *r, const fe_explained *e) {
  size_t count = e->plan->slot_count;
  ir_error ignored = {0};
  if (r->places) return true;
  size_t *offsets = calloc(count + 1, sizeof *offsets);
  r->places = calloc(count + 1, sizeof *r->places);
  if (!offsets || !r->places || rt_program_places(r->program, r->inputs.values, offsets, count, &ignored))
    return free(offsets), false;
  r->place_count = count;
  for (size_t i = 0; i < count; i++) {
    const ir_slot *s = &e->plan->slots[i];
    double bytes = fe_number_of(e->g, s->elements, &r->values) * ir_dtypes[ir_dtype_of(e->g, s->value)].bytes;
    r->places[i] = (explain_place){offsets[i], (size_t)bytes};
  }
  free(offsets);
  return true;
}

/* The parts of a buffer in which another one lies. */
static uint64_t parts_of(const explain_place *of, const explain_place *other) {
  size_t end = of->offset + of->bytes, other_end = other->offset + other->bytes;
  size_t from = of->offset > other->offset ? of->offset : other->offset,
         to = end < other_end ? end : other_end;
  if (from >= to) return 0;
  size_t first = (from - of->offset) * PARTS / of->bytes, last = (to - of->offset) * PARTS / of->bytes;
  uint64_t until = last >= PARTS ? ~(uint64_t)0 : ((uint64_t)1 << last) - 1;
  return until & ~(((uint64_t)1 << first) - 1);
}

/* The parts of a slot's memory that a step touches. Of memory of its own a step that touches less than all of
 * it may touch other elements. */
static uint64_t parts_touched(const explain_run *r, const fe_explained *e, size_t step, uint32_t slot) {
  const ir_step *s = &e->plan->steps[step];
  const explain_place *place = &r->places[slot];
  uint64_t parts = 0;
  if (e->once[step]) return 0;
  if (explain_touches(s, slot) && r->step_bytes[step] >= (double)place->bytes) return ~(uint64_t)0;
  for (uint32_t i = 0; i < s->slot_count && place->offset != SIZE_MAX; i++)
    if (s->slots[i] != slot && r->places[s->slots[i]].offset != SIZE_MAX)
      parts |= parts_of(place, &r->places[s->slots[i]]);
  return parts;
}

static int count_parts(uint64_t parts) {
  int count = 0;
  for (; parts; parts &= parts - 1) count++;
  return count;
}

double explain_touched_since(const explain_run *r, const fe_explained *e, size_t number, uint32_t slot) {
  size_t count = e->plan->step_count;
  uint64_t left = ~(uint64_t)0;
  double bytes = 0, sum = 0;
  if (slot >= r->place_count || !r->places[slot].bytes) return 0;
  for (size_t i = 1; i < count && left; i++) {
    size_t step = (number + count - i) % count;
    uint64_t found = left & parts_touched(r, e, step, slot);
    sum += bytes * count_parts(found);
    left &= ~found;
    bytes += r->step_bytes[step];
  }
  return (sum + bytes * count_parts(left)) / PARTS;
}
