/* Steps that exchange boxes of distributed arrays with other devices. */
#include "runtime/context.h"
#include "runtime/mesh/box.h"
#include "runtime/program/run.h"

#include <string.h>

static rt_box box_of(const rt_program *p, const int64_t *values, uint32_t slot, uint64_t first) {
  const rt_plan_slot *s = &p->plan.slots[slot];
  rt_box box = {.rank = s->rank};
  for (uint32_t k = 0; k < s->rank; k++) {
    box.first[k] = values[p->plan.dims[first + k]];
    box.size[k] = values[p->plan.dims[s->dims + k]];
  }
  return box;
}

void rt_exchange_boxes(const rt_program *p, const int64_t *values, uint32_t step, rt_box *needed,
                       rt_box *own) {
  const rt_plan_step *s = &p->plan.steps[step];
  const uint32_t *slots = p->plan.step_slots + s->slots;
  *needed = box_of(p, values, slots[0], s->attributes);
  *own = box_of(p, values, slots[1], s->attributes + needed->rank);
}

/* Does the number of elements agree with the sizes of the axes, and is no end of an axis beyond 64 bits? */
static bool is_sound(const rt_box *box, int64_t elements) {
  for (uint32_t k = 0; k < box->rank; k++)
    if (box->size[k] < 0 || box->first[k] == RT_NO_VALUE || box->first[k] > INT64_MAX - box->size[k])
      return false;
  return rt_box_count(box) == elements;
}

bool rt_exchange_fits(const rt_program *p, const rt_frame *f, const rt_plan_step *s) {
  const uint32_t *slots = p->plan.step_slots + s->slots;
  rt_box needed, own;
  rt_exchange_boxes(p, f->values, (uint32_t)(s - p->plan.steps), &needed, &own);
  return is_sound(&needed, f->values[p->plan.slots[slots[0]].elements]) &&
         is_sound(&own, f->values[p->plan.slots[slots[1]].elements]);
}

/* On one device alone: the box lies in its own part. */
static ir_status copy_box(const rt_run_context *r, const rt_step *s, const char *kind) {
  const rt_program *p = r->program;
  rt_box needed, own, rest[2 * IR_MAX_RANK];
  rt_exchange_boxes(p, r->frame->values, s->number, &needed, &own);
  if (rt_box_subtract(&needed, &own, rest))
    return ir_fail(
        r->error, IR_ERR_INVALID,
        "graph @%s: exchange %s: no device holds all of what is asked for, and this one runs alone; "
        "run the program on the mesh that it was made for",
        rt_program_name(p), kind);
  size_t bytes = ir_dtypes[p->plan.slots[p->plan.step_slots[p->plan.steps[s->number].slots]].dtype].bytes;
  rt_box_copy(&needed, bytes, &own, rt_address(r->bases, s->sources[1]), &needed,
              rt_address(r->bases, s->sources[0]));
  return IR_OK;
}

ir_status rt_run_exchange(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  const char *kind = p->plan.names + p->plan.steps[s->number].kernel;
  if (p->remote)
    return ir_fail(r->error, IR_ERR_UNSUPPORTED,
                   "graph @%s: exchange %s: this device does not exchange parts of arrays; run on processors",
                   rt_program_name(p), kind);
  return copy_box(r, s, kind);
}
