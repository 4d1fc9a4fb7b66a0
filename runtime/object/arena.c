/* The arena of an object: where temporaries lie in it. Of fixed sizes, as a run of the program has it. Where
 * sizes depend on variables, as expressions of these: each temporary lies behind all those placed before that
 * live at the same time. */
#include "runtime/object/describe.h"

#include <string.h>

static uint32_t number(rt_describer *d, int64_t n) { return rt_value_number(&d->values, n); }
static uint32_t combine(rt_describer *d, ir_op op, uint32_t a, uint32_t b) {
  return rt_value_add(&d->values, op, a, b, 0);
}

static bool has_memory(const rt_program *p, uint32_t temp) {
  return p->homes[temp] == ((uint32_t)IR_SLOT_TEMP << RT_SOURCE_SHIFT | temp) &&
         p->lives[temp].first != UINT32_MAX;
}

static bool live_together(const rt_program *p, uint32_t a, uint32_t b) {
  return p->lives[a].first <= p->lives[b].last && p->lives[b].first <= p->lives[a].last;
}

/* The bytes of a slot where they are known: the program has no variables. */
static size_t fixed_bytes(const rt_describer *d, uint32_t slot) { return d->p->frame.bytes[slot]; }

static bool place_fixed(rt_describer *d, size_t *total) {
  const rt_program *p = d->p;
  rt_span *spans = ir_alloc(d->mem, (p->temp_count + 1) * sizeof *spans);
  if (!spans) return d->values.failed = true, true;
  for (uint32_t i = 0; i < p->temp_count; i++) {
    spans[i] = p->lives[i];
    spans[i].bytes = has_memory(p, i) ? fixed_bytes(d, p->temps[i]) : 0;
  }
  bool fits = rt_layout(spans, p->temp_count, 0, total);
  for (uint32_t i = 0; i < p->temp_count && fits; i++) d->offsets[i] = number(d, (int64_t)spans[i].offset);
  ir_free(d->mem, spans, (p->temp_count + 1) * sizeof *spans);
  return fits;
}

/* The first multiple of the alignment behind a temporary. */
static uint32_t end_of(rt_describer *d, uint32_t temp) {
  const rt_program *p = d->p;
  uint32_t align = number(d, RT_LAYOUT_ALIGN), bytes = d->bytes[p->temps[temp]];
  uint32_t up = combine(d, IR_OP_ADD, bytes, number(d, RT_LAYOUT_ALIGN - 1));
  uint32_t whole = combine(d, IR_OP_MUL, combine(d, IR_OP_FLOORDIV, up, align), align);
  return combine(d, IR_OP_ADD, d->offsets[temp], whole);
}

/* Is there another one that lives at the same time as both, and was placed between them? It begins no earlier
 * than the first one ends. */
static bool is_covered(const rt_describer *d, size_t below, size_t at) {
  const rt_program *p = d->p;
  for (size_t k = below + 1; k < at; k++)
    if (live_together(p, d->placed[k], d->placed[at]) && live_together(p, d->placed[k], d->placed[below]))
      return true;
  return false;
}

static uint32_t place_sized(rt_describer *d) {
  const rt_program *p = d->p;
  size_t count = 0;
  uint32_t total = number(d, 0), *ends = d->placed + p->temp_count;
  for (uint32_t i = 0; i < p->temp_count; i++) {
    if (!has_memory(p, i)) continue;
    d->placed[count] = i;
    d->offsets[i] = number(d, 0);
    for (size_t k = 0; k < count; k++)
      if (live_together(p, d->placed[k], i) && !is_covered(d, k, count))
        d->offsets[i] = combine(d, IR_OP_MAX, d->offsets[i], ends[k]);
    ends[count++] = end_of(d, i);
    total = combine(d, IR_OP_MAX, total, ends[count - 1]);
  }
  return total;
}

static int64_t most_scratch(const rt_program *p) {
  int64_t most = 0;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    if (p->plan.steps[i].kind != IR_STEP_KERNEL || p->is_hoisted[i]) continue;
    int64_t bytes = (int64_t)rt_scratch_of(p, i);
    if (bytes > most) most = bytes;
  }
  return most;
}

bool rt_describe_arena(rt_describer *d) {
  const rt_program *p = d->p;
  int64_t scratch = most_scratch(p), slack = CG_ARENA_ALIGN - 1;
  size_t total = 0;
  d->program.scratch_each = scratch;
  if (p->plan.head->vars) {
    d->program.scratch = place_sized(d);
    d->program.arena = combine(d, IR_OP_ADD, d->program.scratch, number(d, scratch + slack));
    d->arena_bytes = -1;
    return true;
  }
  if (!place_fixed(d, &total) || total > PTRDIFF_MAX - (size_t)(scratch + slack)) return false;
  d->arena_bytes = total || scratch ? (int64_t)total + scratch + slack : 0;
  d->program.scratch = number(d, (int64_t)total);
  d->program.arena = number(d, d->arena_bytes);
  return true;
}
