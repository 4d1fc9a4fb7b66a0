#include "runtime/program/staged.h"

#include <string.h>

#include "runtime/context.h"

static bool reserve(const ir_mem *mem, uint8_t **memory, size_t *room, size_t bytes) {
  if (bytes <= *room) return true;
  ir_free(mem, *memory, *room);
  *memory = ir_alloc(mem, bytes);
  *room = *memory ? bytes : 0;
  return *memory != NULL;
}

/* Bytes of the result (0) or the operand (1) of an exchange. */
static size_t bytes_of(const rt_run_context *r, uint32_t step, uint32_t slot) {
  const rt_plan *plan = &r->program->plan;
  return r->frame->bytes[plan->step_slots[plan->steps[step].slots + slot]];
}

rt_staged *rt_staged_fetch(const rt_run_context *r, const rt_step *s, uint32_t number, bool reads) {
  const rt_program *p = r->program;
  const ir_mem *mem = rt_context_mem(p->context);
  size_t box = bytes_of(r, s->number, 0), part = reads ? bytes_of(r, s->number, 1) : 0;
  rt_staged *list = r->run->staged;
  if (!list && (list = ir_alloc(mem, RT_TRANSFERS * sizeof *list))) {
    memset(list, 0, RT_TRANSFERS * sizeof *list);
    r->run->staged = list;
  }
  rt_staged *staged = list ? &list[number] : NULL;
  if (!list || !reserve(mem, &staged->part, &staged->part_room, part) ||
      !reserve(mem, &staged->box, &staged->box_room, box)) {
    ir_fail(r->error, IR_ERR_MEMORY, "graph @%s: out of memory for %zu bytes of an exchange",
            rt_program_name(p), part + box);
    return NULL;
  }
  staged->to = rt_address(r->bases, s->sources[0]);
  const void *from = rt_address(r->bases, s->sources[1]);
  if (part && p->context->device->table->read(r, from, staged->part, part) != IR_OK) return NULL;
  return staged;
}

ir_status rt_staged_deliver(const rt_run_context *r, uint32_t step, const rt_staged *staged) {
  size_t bytes = bytes_of(r, step, 0);
  return bytes ? r->program->context->device->table->write(r, staged->to, staged->box, bytes) : IR_OK;
}

void rt_staged_free(const ir_mem *mem, rt_staged *list) {
  if (!list) return;
  for (uint32_t i = 0; i < RT_TRANSFERS; i++) {
    ir_free(mem, list[i].part, list[i].part_room);
    ir_free(mem, list[i].box, list[i].box_room);
  }
  ir_free(mem, list, RT_TRANSFERS * sizeof *list);
}
