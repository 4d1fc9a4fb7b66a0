/* Looking for NaNs and infinities after each step. What a step reads is looked at only where it has written
 * one, or where it writes to the same memory; what is known about an array holds until a step writes it. */
#include <math.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/program/run.h"

static unsigned kind_of(double value) {
  return isnan(value) ? RT_WATCH_NAN : isinf(value) ? RT_WATCH_INF : 0;
}

/* Is there a value that is not finite? Quick, for the arrays that have none. */
static bool any_f32(const float *x, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; i++) sum += x[i] - x[i]; /* NaN where it is not finite */
  return sum != 0 || isnan(sum);
}

unsigned rt_watched_kinds(const void *elements, int64_t count, ir_dtype dtype, unsigned kinds,
                          int64_t *first) {
  unsigned found = 0;
  size_t size = ir_dtypes[dtype].bytes;
  if (!ir_is_float(dtype) || (dtype == IR_F32 && !any_f32(elements, count))) return 0;
  for (int64_t i = 0; i < count; i++) {
    unsigned kind = kind_of(ir_value_load((const char *)elements + (size_t)i * size, dtype).f) & kinds;
    if (kind && !found && first) *first = i;
    found |= kind;
  }
  return found;
}

/* the arrays of a step */

typedef struct array {
  uint32_t slot;
  const void *address;
  size_t bytes;
  ir_dtype dtype;
} array;

static uint32_t written_of(const rt_plan_step *s) {
  return s->kind == IR_STEP_KERNEL ? s->written : s->kind == IR_STEP_CALL ? s->carries : 1;
}

static array array_of(const rt_run_context *r, const rt_step *step, uint32_t number) {
  const rt_program *p = r->program;
  uint32_t slot = p->plan.step_slots[p->plan.steps[step->number].slots + number];
  return (array){slot, rt_address(r->bases, step->sources[number]), r->frame->bytes[slot],
                 (ir_dtype)p->plan.slots[slot].dtype};
}

static bool overlap(const array *a, const array *b) {
  uintptr_t x = (uintptr_t)a->address, y = (uintptr_t)b->address;
  return a->bytes && b->bytes && x < y + b->bytes && y < x + a->bytes;
}

/* *out: the kinds that the array has. */
static ir_status look(const rt_run_context *r, const array *a, unsigned *out) {
  int64_t count = (int64_t)(a->bytes / ir_dtypes[a->dtype].bytes);
  const ir_mem *mem = rt_context_mem(r->program->context);
  *out = 0;
  if (!ir_is_float(a->dtype) || !count) return IR_OK;
  if (!r->program->remote) {
    *out = rt_watched_kinds(a->address, count, a->dtype, r->watch->kinds, NULL);
    return IR_OK;
  }
  void *copy = ir_alloc(mem, a->bytes);
  if (!copy)
    return ir_fail(r->error, IR_ERR_MEMORY, "graph @%s: out of memory looking at a value",
                   rt_program_name(r->program));
  ir_status status = r->program->context->device->table->read(r, a->address, copy, a->bytes);
  if (!status) *out = rt_watched_kinds(copy, count, a->dtype, r->watch->kinds, NULL);
  ir_free(mem, copy, a->bytes);
  return status;
}

static ir_status know(const rt_run_context *r, const array *a) {
  uint8_t *mark = &r->watch->marks[a->slot];
  unsigned kinds;
  bool moves = r->program->plan.slots[a->slot].kind == IR_SLOT_ALIAS;
  if (*mark != RT_WATCH_UNKNOWN && !moves) return IR_OK;
  ir_status status = look(r, a, &kinds);
  if (!status) *mark = (uint8_t)kinds;
  return status;
}

/* Does the step compute? Moving elements, and what loops and branches do themselves, makes nothing. */
static bool computes(const rt_run_context *r, const rt_step *s) {
  ir_step_kind kind = (ir_step_kind)r->program->plan.steps[s->number].kind;
  return kind == IR_STEP_KERNEL || kind == IR_STEP_CALL;
}

ir_status rt_watch_before(const rt_run_context *r, const rt_step *s) {
  const rt_plan_step *plan = &r->program->plan.steps[s->number];
  ir_status status = IR_OK;
  if (!computes(r, s)) return IR_OK;
  for (uint32_t i = written_of(plan); i < plan->slot_count && !status; i++) {
    array read = array_of(r, s, i);
    bool lost = false;
    for (uint32_t k = 0; k < written_of(plan) && !lost; k++) {
      array written = array_of(r, s, k);
      lost = overlap(&read, &written);
    }
    if (lost) status = know(r, &read);
  }
  return status;
}

static ir_status made_one(const rt_run_context *r, const rt_step *s, unsigned kinds) {
  const rt_program *p = r->program;
  uint32_t launch = 0;
  for (uint32_t i = 0; i <= s->number; i++) launch += p->plan.steps[i].kind == IR_STEP_KERNEL;
  r->watch->step = s->number;
  return ir_fail(r->error, IR_ERR_VALUE,
                 "graph @%s: launch %u of %zu (%s) made %s from arrays that have none; the results are "
                 "unspecified",
                 rt_program_name(p), launch, p->launch_count, rt_program_step_name(p, s->number),
                 kinds & RT_WATCH_NAN ? "a NaN" : "an infinity");
}

ir_status rt_watch_after(const rt_run_context *r, const rt_step *s) {
  const rt_plan_step *plan = &r->program->plan.steps[s->number];
  uint32_t written = written_of(plan);
  unsigned made = 0, had = 0;
  if (!computes(r, s)) { /* it may have written any of them */
    for (uint32_t i = 0; i < plan->slot_count; i++)
      r->watch->marks[r->program->plan.step_slots[plan->slots + i]] = RT_WATCH_UNKNOWN;
    return IR_OK;
  }
  uint8_t *marks = r->watch->marks;
  unsigned kinds[RT_FEW_PARAMS];
  for (uint32_t i = 0; i < written; i++) {
    array a = array_of(r, s, i);
    unsigned found;
    if (look(r, &a, &found) != IR_OK) return r->error->status;
    if (i < RT_FEW_PARAMS) kinds[i] = found;
    made |= found;
    had |= marks[a.slot]; /* it may be changed in place */
  }
  for (uint32_t i = written; i < plan->slot_count && made; i++) {
    array a = array_of(r, s, i);
    if (know(r, &a) != IR_OK) return r->error->status;
    had |= marks[a.slot];
  }
  for (uint32_t i = 0; i < written; i++)
    marks[r->program->plan.step_slots[plan->slots + i]] =
        i < RT_FEW_PARAMS ? (uint8_t)kinds[i] : RT_WATCH_UNKNOWN;
  bool quiet = r->watch->quiet && r->watch->quiet[s->number];
  return made & ~had && !quiet ? made_one(r, s, made & ~had) : IR_OK;
}
