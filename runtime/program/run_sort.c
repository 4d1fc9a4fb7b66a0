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

static rt_sort sort_of(const rt_program *p, const rt_frame *f, const rt_step *s) {
  const rt_plan_step *plan = &p->plan.steps[s->number];
  rt_lines lines = rt_lines_of(p, f, plan);
  return (rt_sort){.dtype = (ir_dtype)p->plan.slots[p->plan.step_slots[plan->slots + 1]].dtype,
                   .descending = plan->reverse,
                   .positions = plan->kind == IR_STEP_ARGSORT,
                   .outer = lines.outer,
                   .size = lines.size,
                   .inner = lines.inner,
                   .first = s->count};
}

/* What the processor has, unless the target is a lesser one. */
static const rt_sort_machine *machine_of(const rt_program *p) {
  const rt_sort_machine *vectors = p->context->target.vector_bytes >= 64 ? rt_sort_avx512() : NULL;
  return vectors ? vectors : &rt_sort_portable;
}

size_t rt_sort_scratch(const rt_program *p, const rt_frame *f, const rt_step *s) {
  rt_sort sort = sort_of(p, f, s);
  return (rt_sort_room(&sort, machine_of(p)) + RT_SCRATCH_ALIGN - 1) & ~(size_t)(RT_SCRATCH_ALIGN - 1);
}

ir_status rt_run_sort(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  if (p->remote)
    return ir_fail(r->error, IR_ERR_INTERNAL, "graph @%s: the device does not sort", rt_program_name(p));
  rt_sort sort = sort_of(p, r->frame, s);
  sort.out = rt_address(r->bases, s->sources[0]);
  sort.x = rt_address(r->bases, s->sources[1]);
  rt_sort_run(&sort, machine_of(p), p->pool, r->run->block.base + s->scratch, s->scratch_each);
  return IR_OK;
}
