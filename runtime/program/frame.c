/* The sizes that depend on the values of the variables: counts of steps, offsets of temporaries, bytes of
 * copies. */
#include "runtime/program/pace.h"

#include <string.h>

/* When a loop is worth threads. Work is bytes plus scalar operations; one core does about 64 of them per
 * nanosecond from its own caches, so RT_SPLIT_WORK is 2 us. Using threads that are awake costs 0.2 us:
 * measured on two cores, loops of 1.5 to 3 us take 0.7 to 0.9 of the time on two threads, and a product of
 * 128x128 elements 0.6, since each thread packs what it reads. Threads that are asleep are woken by loops
 * that take longer (pool.c). A chunk of RT_CHUNK_WORK takes far longer than the tens of nanoseconds that
 * claiming one costs. Of more than FEW_CHUNKS for each thread, one has LONG_WORK, 12 us of a product, so that
 * what a kernel does first counts little: with an eighth of that MiniLM takes 3 % longer on two threads. What
 * only moves elements does less of it in that time, 32 for each nanosecond: LONG_MOVE, 16 us.
 *
 * Work overstates: of the workloads most is counted of a scan, 1,000 for each nanosecond (MOST_PER_NS). */
enum { FEW_CHUNKS = 4, LONG_WORK = 8 << 20, LONG_MOVE = 512 << 10, MOST_PER_NS = 1024 };

static uintptr_t lay_out_frame(const rt_program *p, rt_frame *f, uintptr_t at) {
  const rt_plan_head *h = p->plan.head;
  f->steps = rt_lay_out(&at, h->steps, sizeof *f->steps);
  f->values = rt_lay_out(&at, h->values, sizeof *f->values);
  f->spans = rt_lay_out(&at, p->temp_count + p->scratch_steps, sizeof *f->spans);
  f->bytes = rt_lay_out(&at, h->slots, sizeof *f->bytes);
  f->kernel_vars = rt_lay_out(&at, h->step_vars, sizeof *f->kernel_vars);
  f->dims = rt_lay_out(&at, p->max_arrays ? h->dims : 0, sizeof *f->dims);
  f->step_index = rt_lay_out(&at, (size_t)h->steps + 1, sizeof *f->step_index);
  return at;
}

size_t rt_frame_size(const rt_program *p) {
  rt_frame measured;
  return (size_t)lay_out_frame(p, &measured, 0);
}

void rt_frame_lay_out(const rt_program *p, rt_frame *f, void *memory) {
  memset(f, 0, sizeof *f);
  lay_out_frame(p, f, (uintptr_t)memory);
}

static ir_status check_vars(const rt_program *p, const int64_t *vars, ir_error *error) {
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

/* Computes the size of every buffer in bytes; fails where it is negative or too large. */
static ir_status fill_bytes(const rt_program *p, rt_frame *f, ir_error *error) {
  for (uint32_t i = 0; i < p->plan.head->slots; i++) {
    const rt_plan_slot *s = &p->plan.slots[i];
    int64_t elements = f->values[s->elements];
    f->bytes[i] = (size_t)elements * ir_dtypes[s->dtype].bytes;
    if (elements >= 0 && elements <= PTRDIFF_MAX / ir_dtypes[s->dtype].bytes) continue;
    const char *name = p->plan.names + s->name;
    bool inner = s->kind == IR_SLOT_TEMP || s->kind == IR_SLOT_ALIAS;
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: %s%s of dtype %s has a size that memory cannot hold",
                   rt_program_name(p),
                   *name   ? "%"
                   : inner ? "an intermediate"
                           : "a result",
                   name, ir_dtypes[s->dtype].name);
  }
  return IR_OK;
}

void rt_split(rt_step *s, int64_t count, int64_t work, int64_t flops, int threads) {
  s->count = count, s->grain = s->least_ns = 0;
  if (work == RT_NO_VALUE) work = INT64_MAX;
  if (work < RT_SPLIT_WORK || count < 2) return;
  int64_t few = (int64_t)FEW_CHUNKS * threads, chunks = work / RT_CHUNK_WORK,
          many = work / (flops == 0 ? LONG_MOVE : LONG_WORK);
  if (chunks > few) chunks = many > few ? many : few;
  s->grain = count / chunks > 1 ? count / chunks : 1;
  s->least_ns = work / MOST_PER_NS;
}

/* Are the elements of both slots as many as the sizes of the operand say? */
static bool sort_fits(const rt_program *p, const rt_frame *f, const rt_plan_step *s) {
  rt_lines lines = rt_lines_of(p, f, s);
  int64_t elements;
  const uint32_t *slots = p->plan.step_slots + s->slots;
  bool fits = !__builtin_mul_overflow(lines.outer, lines.size, &elements) &&
              !__builtin_mul_overflow(elements, lines.inner, &elements);
  return fits && lines.size <= (int64_t)1 << 32 && f->values[p->plan.slots[slots[0]].elements] == elements &&
         f->values[p->plan.slots[slots[1]].elements] == elements;
}

/* Do the sizes of a step's buffers agree? Buffers that stand for each other must have equal size, and the
 * slices of a scan must fill the whole array. This holds for every graph that was verified. */
static bool sizes_agree(const rt_program *p, const rt_frame *f, const rt_plan_step *s) {
  const uint32_t *slots = p->plan.step_slots + s->slots;
  const size_t *bytes = f->bytes;
  if (s->kind == IR_STEP_COPY) return bytes[slots[0]] == bytes[slots[1]];
  if (ir_is_sort_step((ir_step_kind)s->kind)) return sort_fits(p, f, s);
  if (s->kind == IR_STEP_EXCHANGE) return rt_exchange_fits(p, f->values, (uint32_t)(s - p->plan.steps));
  if (s->kind == IR_STEP_COND || s->kind == IR_STEP_WHILE)
    if (bytes[slots[0]] != sizeof(bool)) return false;
  if (!rt_is_loop(s)) return true;
  for (uint32_t i = rt_first_carry(s); i < rt_first_pair(s); i += RT_CARRY)
    for (uint32_t k = 1; k < RT_CARRY; k++)
      if (bytes[slots[i]] != bytes[slots[i + k]]) return false;
  for (uint32_t i = rt_first_pair(s); i < s->slot_count; i += RT_SLICED) {
    size_t whole = bytes[slots[i + RT_SLICED_WHOLE]], slice = bytes[slots[i + RT_SLICED_SLICE]];
    uint64_t iterations = (uint64_t)f->values[s->count];
    if (slice ? whole % slice || whole / slice != iterations : whole) return false;
  }
  return true;
}

static rt_step kernel_step(const rt_program *p, const rt_frame *f, const rt_plan_step *s) {
  rt_entry entry;
  rt_image_entry(p->code.base, p->code.size, s->kernel, &entry); /* exists: find_kernels */
  rt_step step = {.function = (cg_kernel)(uintptr_t)(p->code.base + entry.offset),
                  .params = s->slot_count,
                  .vars = f->kernel_vars + s->vars};
  rt_split(&step, f->values[s->count], f->values[s->work], f->values[s->flops], rt_pool_threads(p->pool));
  return step;
}

static rt_step other_step(const rt_frame *f, const rt_plan_step *s, uint32_t number) {
  const uint32_t *place = f->step_index + number + 1;
  uint32_t first = s->inside[0], both = rt_inside(s);
  bool may_be_long = !first && !both; /* custom operations, sorts */
  return (rt_step){.grain = RT_GRAIN_OTHER,
                   .least_ns = may_be_long ? RT_PACE_BUDGET << RT_PACE_UNIT : 0,
                   .inside = {place[first] - place[0], place[both] - place[first]}};
}

/* Does the step have work to do for these sizes? */
static bool has_work(const rt_program *p, const rt_frame *f, uint32_t number) {
  const rt_plan_step *s = &p->plan.steps[number];
  if (p->is_hoisted[number]) return false;
  return (s->kind != IR_STEP_KERNEL && s->kind != IR_STEP_COPY) || f->values[s->count] > 0;
}

static ir_status fill_steps(const rt_program *p, rt_frame *f, const int64_t *vars, ir_error *error) {
  const rt_plan *plan = &p->plan;
  for (uint32_t i = 0; i < plan->head->step_vars; i++) f->kernel_vars[i] = vars[plan->step_vars[i]];
  f->step_count = 0;
  for (uint32_t i = 0; i < plan->head->steps; i++) {
    const rt_plan_step *s = &plan->steps[i];
    f->step_index[i] = (uint32_t)f->step_count;
    if (f->values[s->count] == RT_NO_VALUE)
      return ir_fail(error, IR_ERR_INVALID,
                     "graph @%s: step %u of %u (%s): for these values of its variables, numbers of elements "
                     "or their indices need more than 64 bits; give smaller sizes",
                     rt_program_name(p), i + 1, plan->head->steps, ir_step_names[s->kind]);
    if (!sizes_agree(p, f, s))
      return ir_fail(
          error, IR_ERR_INTERNAL,
          "graph @%s: step %u of %u (%s): for these values of its variables, sizes differ that have to "
          "be equal",
          rt_program_name(p), i + 1, plan->head->steps, ir_step_names[s->kind]);
    f->step_count += has_work(p, f, i);
  }
  f->step_index[plan->head->steps] = (uint32_t)f->step_count;
  for (uint32_t i = 0; i < plan->head->steps; i++) {
    const rt_plan_step *s = &plan->steps[i];
    if (!has_work(p, f, i)) continue;
    rt_step *to = &f->steps[f->step_index[i]];
    *to = s->kind == IR_STEP_KERNEL ? kernel_step(p, f, s) : other_step(f, s, i);
    to->sources = p->sources + s->slots;
    to->number = i;
    to->count = f->values[s->count];
  }
  return IR_OK;
}

/* Lays out one arena for the temporaries, and for the scratch memory of the threads while a step runs. */
static bool lay_out(const rt_program *p, rt_frame *f) {
  size_t count = p->temp_count, threads = (size_t)rt_pool_threads(p->pool);
  for (size_t i = 0; i < count; i++) {
    f->spans[i] = p->lives[i];
    bool own = p->homes[i] == ((uint32_t)IR_SLOT_TEMP << RT_SOURCE_SHIFT | (uint32_t)i);
    f->spans[i].bytes = own ? f->bytes[p->temps[i]] : 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t result;
    size_t offset;
    if (!f->spans[i].bytes || !rt_operand_place(p, f->values, i, &result, &offset)) continue;
    rt_span *whole = &f->spans[result];
    if (whole->first > p->lives[i].first) whole->first = p->lives[i].first;
    if (whole->last < p->lives[i].last) whole->last = p->lives[i].last;
    f->spans[i].bytes = 0;
  }
  for (size_t i = 0; i < f->step_count && p->scratch_steps; i++) {
    rt_step *s = &f->steps[i];
    bool sorts = ir_is_sort_step((ir_step_kind)p->plan.steps[s->number].kind);
    if (s->grain == RT_GRAIN_OTHER && !sorts) continue;
    if (!(s->scratch_each = sorts ? rt_sort_scratch(p, f, s) : rt_scratch_of(p, s->number))) continue;
    if (s->scratch_each > PTRDIFF_MAX / threads) return false;
    f->spans[count++] = (rt_span){.bytes = s->scratch_each * threads, .first = s->number, .last = s->number};
  }
  if (!rt_layout(f->spans, count, p->boundary, &f->arena_bytes)) return false;
  count = p->temp_count;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t result;
    size_t offset;
    if (rt_operand_place(p, f->values, i, &result, &offset))
      f->spans[i].offset = f->spans[result].offset + offset;
  }
  for (size_t i = 0; i < f->step_count && p->scratch_steps; i++)
    if (f->steps[i].scratch_each) f->steps[i].scratch = f->spans[count++].offset;
  return true;
}

ir_status rt_frame_fill(const rt_program *p, rt_frame *f, const int64_t *vars, ir_error *error) {
  const rt_plan *plan = &p->plan;
  ir_status status = check_vars(p, vars, error);
  if (status) return status;
  rt_values_evaluate(plan->values, plan->head->values, vars, f->values);
  if ((status = fill_bytes(p, f, error)) || (status = fill_steps(p, f, vars, error))) return status;
  for (uint32_t i = 0; p->max_arrays && i < plan->head->dims; i++) f->dims[i] = f->values[plan->dims[i]];
  if (!lay_out(p, f))
    return ir_fail(error, IR_ERR_INVALID, "graph @%s: its intermediates take more bytes than memory can hold",
                   rt_program_name(p));
  return IR_OK;
}
