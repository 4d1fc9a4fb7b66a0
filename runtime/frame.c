/* Sizes of one set of variables' values: counts of launches, places of temporaries, bytes of copies. */
#include "runtime/program.h"

#include <string.h>

/* When threads pay. Work is bytes and scalar operations together; one core does about 64 of either per
 * nanosecond from its own caches, so SPLIT_WORK is 8 us. Threads that are awake cost 0.2 us, but what lies in
 * one core's cache has to be fetched by the other: measured on two cores, copies gain nothing below 256 K of
 * work and nearly a half from 1 M on. Threads that are asleep cost their caller 9 us: at this threshold a
 * launch then takes twice as long, and never worse. A piece outlasts by far the tens of nanoseconds that
 * taking one costs. */
enum { SPLIT_WORK = 512 << 10, PIECE_WORK = 64 << 10 };

static uintptr_t carve(const rt_program *p, rt_frame *f, uintptr_t at) {
  const rt_plan_head *h = p->plan.head;
  f->steps = rt_carve(&at, h->launches, sizeof *f->steps);
  f->values = rt_carve(&at, h->values, sizeof *f->values);
  f->spans = rt_carve(&at, p->temp_count, sizeof *f->spans);
  f->copy_bytes = rt_carve(&at, p->copy_count, sizeof *f->copy_bytes);
  f->kernel_vars = rt_carve(&at, h->launch_vars, sizeof *f->kernel_vars);
  return at;
}

size_t rt_frame_size(const rt_program *p) {
  rt_frame measured;
  return (size_t)carve(p, &measured, 0);
}

void rt_frame_carve(const rt_program *p, rt_frame *f, void *memory) {
  memset(f, 0, sizeof *f);
  carve(p, f, (uintptr_t)memory);
}

ir_status rt_check_vars(const rt_program *p, const int64_t *vars, ir_error *error) {
  const rt_plan_head *h = p->plan.head;
  if (h->vars && !vars)
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: no value for variable %s, and %u in all",
                   rt_program_name(p), p->plan.names + p->plan.vars[0].name, h->vars);
  for (uint32_t i = 0; i < h->vars; i++) {
    const rt_plan_var *v = &p->plan.vars[i];
    if (vars[i] < v->lo || vars[i] > v->hi)
      return ir_fail(error, IR_ERR_INVALID,
                     "graph @%s: variable %s = %lld is out of its bounds; accepted are %lld to %lld",
                     rt_program_name(p), p->plan.names + v->name, (long long)vars[i], (long long)v->lo,
                     (long long)v->hi);
    if (vars[i] % v->divisor)
      return ir_fail(error, IR_ERR_INVALID,
                     "graph @%s: variable %s = %lld is no multiple of %lld, as it was declared to be",
                     rt_program_name(p), p->plan.names + v->name, (long long)vars[i], (long long)v->divisor);
  }
  return IR_OK;
}

/* Every buffer's size in bytes must be a size. */
static ir_status check_sizes(const rt_program *p, const rt_frame *f, ir_error *error) {
  for (uint32_t i = 0; i < p->plan.head->slots; i++) {
    const rt_plan_slot *s = &p->plan.slots[i];
    int64_t elements = f->values[s->elements];
    if (elements >= 0 && elements <= PTRDIFF_MAX / ir_dtypes[s->dtype].bytes) continue;
    const char *name = p->plan.names + s->name;
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: %s%s of dtype %s has a size that memory cannot hold",
                   rt_program_name(p),
                   *name                     ? "%"
                   : s->kind == IR_SLOT_TEMP ? "an intermediate"
                                             : "a result",
                   name, ir_dtypes[s->dtype].name);
  }
  return IR_OK;
}

/* Elements of the thread loop that one piece must at least have; 0: run the loop in one. */
static int64_t grain(int64_t count, int64_t work) {
  if (work == RT_NO_VALUE) work = INT64_MAX;
  if (work < SPLIT_WORK || count < 2) return 0;
  int64_t pieces = work / PIECE_WORK;
  return count / pieces > 1 ? count / pieces : 1;
}

static ir_status fill_steps(const rt_program *p, rt_frame *f, const int64_t *vars, ir_error *error) {
  const rt_plan *plan = &p->plan;
  for (uint32_t i = 0; i < plan->head->launch_vars; i++) f->kernel_vars[i] = vars[plan->launch_vars[i]];
  f->step_count = 0;
  for (uint32_t i = 0; i < plan->head->launches; i++) {
    const rt_plan_launch *l = &plan->launches[i];
    int64_t count = f->values[l->count];
    if (count == RT_NO_VALUE)
      return ir_fail(error, IR_ERR_INVALID, "graph @%s: the sizes are so large that they cannot be computed",
                     rt_program_name(p));
    if (count <= 0) continue;
    rt_entry entry;
    rt_image_entry(p->code.base, p->code.size, l->kernel,
                   &entry); /* there: checked when the program was made */
    f->steps[f->step_count++] = (rt_step){.function = (cg_kernel)(uintptr_t)(p->code.base + entry.offset),
                                          .sources = p->sources + l->slots,
                                          .params = l->slot_count,
                                          .launch = i,
                                          .count = count,
                                          .grain = grain(count, f->values[l->work]),
                                          .vars = f->kernel_vars + l->vars};
  }
  return IR_OK;
}

ir_status rt_frame_fill(const rt_program *p, rt_frame *f, const int64_t *vars, ir_error *error) {
  const rt_plan *plan = &p->plan;
  ir_status status = rt_check_vars(p, vars, error);
  if (status) return status;
  rt_values_evaluate(plan->values, plan->head->values, vars, f->values);
  if ((status = check_sizes(p, f, error)) || (status = fill_steps(p, f, vars, error))) return status;
  for (size_t i = 0; i < p->temp_count; i++) {
    const rt_plan_slot *s = &plan->slots[p->temps[i]];
    f->spans[i] = p->lives[i];
    f->spans[i].bytes = (size_t)f->values[s->elements] * ir_dtypes[s->dtype].bytes;
  }
  for (size_t i = 0; i < p->copy_count; i++) {
    const rt_plan_slot *s = &plan->slots[p->copies[i].slot];
    f->copy_bytes[i] = (size_t)f->values[s->elements] * ir_dtypes[s->dtype].bytes;
  }
  if (!rt_layout(f->spans, p->temp_count, &f->arena_bytes))
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: its intermediates take more bytes than memory can hold",
                   rt_program_name(p));
  return IR_OK;
}
