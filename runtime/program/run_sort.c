/* Steps that sort. */
#include "runtime/context.h"
#include "runtime/program/run.h"
#include "runtime/sort/sort.h"

/* Products saturate: sizes of a plan that is not what a graph was compiled to may be anything. */
static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

rt_lines rt_lines_of(const rt_program *p, const rt_frame *f, const rt_plan_step *s) {
  const rt_plan_slot *from = &p->plan.slots[p->plan.step_slots[s->slots + 1]];
  rt_lines lines = {1, 1, 1};
  for (uint32_t k = 0; k < from->rank; k++) {
    int64_t *of = k < s->axis ? &lines.outer : k > s->axis ? &lines.inner : &lines.size;
    *of = times(*of, f->values[p->plan.dims[from->dims + k]]);
  }
  return lines;
}

ir_status rt_run_sort(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  const rt_plan_step *plan = &p->plan.steps[s->number];
  const rt_plan_slot *from = &p->plan.slots[p->plan.step_slots[plan->slots + 1]];
  rt_lines lines = rt_lines_of(p, r->frame, plan);
  rt_sort sort = {.x = rt_address(r->bases, s->sources[1]),
                  .out = rt_address(r->bases, s->sources[0]),
                  .dtype = (ir_dtype)from->dtype,
                  .descending = plan->reverse,
                  .positions = plan->kind == IR_STEP_ARGSORT,
                  .outer = lines.outer,
                  .size = lines.size,
                  .inner = lines.inner,
                  .first = s->count};
  const rt_sort_machine *machine = p->context->target.vector_bytes >= 64 ? rt_sort_avx512() : NULL;
  if (!machine) machine = &rt_sort_portable;
  if (p->remote)
    return ir_fail(r->error, IR_ERR_INTERNAL, "graph @%s: the device does not sort", rt_program_name(p));
  size_t room = rt_sort_room(&sort, machine, rt_pool_threads(p->pool));
  rt_block block;
  if (room == SIZE_MAX || !rt_arena_acquire(&p->context->arenas, room, &block))
    return ir_fail(r->error, IR_ERR_MEMORY, "graph @%s: out of memory for sorting %lld elements",
                   rt_program_name(p), (long long)lines.size);
  rt_sort_run(&sort, machine, p->pool, block.base);
  rt_arena_release(&p->context->arenas, &block);
  return IR_OK;
}
