/* Steps that are no kernels: copies, conditionals, loops, custom operations. Loops do not copy the values
 * that an iteration computes; they change addresses. The addresses of moving slots are set before each
 * iteration in the run's own table, so that several runs of one program do not interfere. */
#include <string.h>

#include "runtime/context.h"
#include "runtime/program/run.h"

static const rt_device_table *device_of(const rt_run_context *r) {
  return r->program->context->device->table;
}

static void *address(const rt_run_context *r, uint32_t source) { return rt_address(r->bases, source); }

/* The table entry with the address of a moving slot. */
static void **moving_address(const rt_run_context *r, uint32_t source) {
  return &r->run->temps[source & RT_SOURCE_NUMBER];
}

static const rt_plan_step *plan_step(const rt_run_context *r, const rt_step *s) {
  return &r->program->plan.steps[s->number];
}

/* The bytes of the slot at index `slot` among the step's slots. */
static size_t bytes_of(const rt_run_context *r, const rt_step *s, uint32_t slot) {
  const rt_plan *plan = &r->program->plan;
  return r->frame->bytes[plan->step_slots[plan->steps[s->number].slots + slot]];
}

static ir_status copy_bytes(const rt_run_context *r, void *to, const void *from, size_t bytes) {
  if (!bytes || to == from) return IR_OK;
  if (r->program->remote) return device_of(r)->copy(r, to, from, bytes);
  memcpy(to, from, bytes);
  return IR_OK;
}

/* Run the first or the second function of a COND, WHILE or SCAN step. */
static ir_status run_first(const rt_run_context *r, const rt_step *s) {
  return rt_run_steps(r, s + 1, s + 1 + s->inside[0]);
}
static ir_status run_second(const rt_run_context *r, const rt_step *s) {
  const rt_step *first = s + 1 + s->inside[0];
  return rt_run_steps(r, first, first + s->inside[1]);
}

/* Reads the step's predicate. */
static ir_status read_predicate(const rt_run_context *r, const rt_step *s, bool *out) {
  const void *predicate = address(r, s->sources[0]);
  if (r->program->remote) return device_of(r)->read_predicate(r, predicate, out);
  *out = *(const uint8_t *)predicate != 0;
  return IR_OK;
}

/* carried values */

/* Before the first iteration. s->sources from `at` on: the five slots of each carried value; first: the one
 * of the two buffers that this iteration writes. A value whose buffers are one is changed in it. */
static ir_status begin_carries(const rt_run_context *r, const rt_step *s, uint32_t at, uint32_t count,
                               uint32_t first) {
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < count && !status; k++, at += RT_CARRY) {
    const uint32_t *carry_slots = s->sources + at;
    bool in_place = carry_slots[RT_CARRY_SPARE] == carry_slots[RT_CARRY_RESULT];
    void *init = address(r, carry_slots[RT_CARRY_INIT]), *result = address(r, carry_slots[RT_CARRY_RESULT]);
    if (in_place) status = copy_bytes(r, result, init, bytes_of(r, s, at));
    *moving_address(r, carry_slots[RT_CARRY_THIS]) = in_place ? result : init;
    *moving_address(r, carry_slots[RT_CARRY_NEXT]) = address(r, carry_slots[first]);
  }
  return status;
}

/* After an iteration: the next one reads the buffer that this one wrote, and writes the buffer `next` (double
 * buffering). */
static void rotate_carries(const rt_run_context *r, const uint32_t *carry_slots, uint32_t count,
                           uint32_t next) {
  for (uint32_t k = 0; k < count; k++, carry_slots += RT_CARRY) {
    *moving_address(r, carry_slots[RT_CARRY_THIS]) = *moving_address(r, carry_slots[RT_CARRY_NEXT]);
    *moving_address(r, carry_slots[RT_CARRY_NEXT]) = address(r, carry_slots[next]);
  }
}

/* After the last iteration: copies each final value to its result, unless it is there already. */
static ir_status end_carries(const rt_run_context *r, const rt_step *s, uint32_t first, uint32_t count) {
  ir_status status = IR_OK;
  for (uint32_t at = first; at < first + RT_CARRY * count && !status; at += RT_CARRY)
    status = copy_bytes(r, address(r, s->sources[at + RT_CARRY_RESULT]),
                        *moving_address(r, s->sources[at + RT_CARRY_THIS]), bytes_of(r, s, at));
  return status;
}

/* slices */

static void begin_slices(const rt_run_context *r, const rt_step *s, const rt_plan_step *plan) {
  for (uint32_t at = rt_first_pair(plan); at < plan->slot_count; at += RT_SLICED) {
    uint8_t *whole = address(r, s->sources[at + RT_SLICED_WHOLE]);
    size_t slice = bytes_of(r, s, at + RT_SLICED_SLICE);
    *moving_address(r, s->sources[at + RT_SLICED_SLICE]) =
        plan->reverse && slice ? whole + (bytes_of(r, s, at + RT_SLICED_WHOLE) - slice) : whole;
  }
}

static void advance_slices(const rt_run_context *r, const rt_step *s, const rt_plan_step *plan) {
  for (uint32_t at = rt_first_pair(plan); at < plan->slot_count; at += RT_SLICED) {
    void **slice = moving_address(r, s->sources[at + RT_SLICED_SLICE]);
    size_t bytes = bytes_of(r, s, at + RT_SLICED_SLICE);
    if (bytes) *slice = plan->reverse ? (uint8_t *)*slice - bytes : (uint8_t *)*slice + bytes;
  }
}

/* the steps */

static ir_status run_cond(const rt_run_context *r, const rt_step *s) {
  bool yes;
  ir_status status = read_predicate(r, s, &yes);
  if (status) return status;
  return yes ? run_first(r, s) : run_second(r, s);
}

/* Is the run to end before this iteration of a loop? */
static bool ends_before(const rt_run_context *r, const rt_step *s, int64_t iteration) {
  int64_t steps = RT_PACE_STEPS * (1 + (int64_t)s->inside[0]);
  return rt_pace_asks((uint32_t)iteration) && rt_pace_ends(r->pace, r->program, r->frame, 0, steps);
}

static ir_status run_while(const rt_run_context *r, const rt_step *s) {
  const rt_plan_step *plan = plan_step(r, s);
  uint32_t first = rt_first_carry(plan), next = RT_CARRY_RESULT;
  const uint32_t *carries = s->sources + first;
  ir_status begun = begin_carries(r, s, first, plan->carries, next);
  if (begun) return begun;
  for (int64_t iteration = 0; s->count < 0 || iteration < s->count; iteration++) {
    if (ends_before(r, s, iteration)) return rt_pace_cancelled(r->program, r->error);
    ir_status status = run_first(r, s);
    if (status) return status;
    bool yes;
    if ((status = read_predicate(r, s, &yes))) return status;
    if (!yes) break;
    if ((status = run_second(r, s))) return status;
    next = next == RT_CARRY_RESULT ? RT_CARRY_SPARE : RT_CARRY_RESULT;
    rotate_carries(r, carries, plan->carries, next);
  }
  return end_carries(r, s, first, plan->carries);
}

/* The buffer that an iteration writes if `left` more iterations follow it: alternating, so that the last
 * iteration writes the result. */
static uint32_t buffer_before(int64_t left) { return left & 1 ? RT_CARRY_SPARE : RT_CARRY_RESULT; }

static ir_status run_scan(const rt_run_context *r, const rt_step *s) {
  const rt_plan_step *plan = plan_step(r, s);
  const uint32_t *carries = s->sources + rt_first_carry(plan);
  ir_status begun = begin_carries(r, s, rt_first_carry(plan), plan->carries, buffer_before(s->count - 1));
  if (begun) return begun;
  if (s->count > 0) begin_slices(r, s, plan);
  for (int64_t left = s->count - 1; left >= 0; left--) {
    if (ends_before(r, s, left)) return rt_pace_cancelled(r->program, r->error);
    ir_status status = run_first(r, s);
    if (status) return status;
    rotate_carries(r, carries, plan->carries, buffer_before(left - 1));
    if (left) advance_slices(r, s, plan);
  }
  return end_carries(r, s, rt_first_carry(plan), plan->carries);
}

static bool is_aligned(const rt_array *a) { return (uintptr_t)a->data % ir_dtypes[a->dtype].bytes == 0; }
static size_t bytes_of_array(const rt_array *a) { return (size_t)a->elements * ir_dtypes[a->dtype].bytes; }
/* The same, up to a multiple of the widest element. */
static size_t room_of(const rt_array *a) {
  return (bytes_of_array(a) + sizeof(int64_t) - 1) & ~(sizeof(int64_t) - 1);
}

/* A custom operation may take it that its operands are aligned as their elements are; constants lie in files
 * wherever these have them. Makes operands that are not aligned copies in a block. */
static ir_status align_operands(const rt_run_context *r, rt_array *operands, size_t count, rt_block *copies) {
  const rt_program *p = r->program;
  size_t size = 0;
  for (size_t i = 0; i < count; i++)
    if (!is_aligned(&operands[i])) size += room_of(&operands[i]);
  if (!size) return IR_OK;
  if (!rt_arena_acquire(&p->context->arenas, size, copies))
    return ir_fail(r->error, IR_ERR_MEMORY, "graph @%s: out of memory for %zu bytes of constants",
                   rt_program_name(p), size);
  uint8_t *to = copies->base;
  for (size_t i = 0; i < count; i++) {
    if (is_aligned(&operands[i])) continue;
    operands[i].data = memcpy(to, operands[i].data, bytes_of_array(&operands[i]));
    to += room_of(&operands[i]);
  }
  return IR_OK;
}

static ir_status run_call(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  const rt_plan_step *plan = plan_step(r, s);
  const rt_calls *calls = &p->context->options.calls;
  for (uint32_t i = 0; i < plan->slot_count; i++) {
    const rt_plan_slot *slot = &p->plan.slots[p->plan.step_slots[plan->slots + i]];
    r->run->arrays[i] = (rt_array){.data = address(r, s->sources[i]),
                                   .dims = r->frame->dims + slot->dims,
                                   .elements = r->frame->values[slot->elements],
                                   .rank = slot->rank,
                                   .dtype = (ir_dtype)slot->dtype};
  }
  rt_call call = {.name = p->plan.names + plan->kernel,
                  .attributes = p->plan.data + plan->attributes,
                  .attribute_bytes = (size_t)plan->attribute_bytes,
                  .results = r->run->arrays,
                  .operands = r->run->arrays + plan->carries,
                  .result_count = plan->carries,
                  .operand_count = plan->slot_count - plan->carries};
  ir_error own = {0};
  rt_block copies = {0};
  const void *found = p->calls[s->number];
  if (!p->remote &&
      align_operands(r, r->run->arrays + call.result_count, call.operand_count, &copies) != IR_OK)
    return r->error->status;
  ir_status status =
      p->remote ? device_of(r)->call(r, s, found, &call, &own) : calls->run(calls->user, found, &call, &own);
  rt_arena_release(&p->context->arenas, &copies);
  if (!status) return IR_OK;
  if (own.text[0]) return ir_fail(r->error, status, "graph @%s: %s", rt_program_name(p), own.text);
  return ir_fail(r->error, status, "graph @%s: custom operation %s: it failed and does not say why",
                 rt_program_name(p), call.name);
}

static ir_status run_copy(const rt_run_context *r, const rt_step *s) {
  return copy_bytes(r, address(r, s->sources[0]), address(r, s->sources[1]), bytes_of(r, s, 0));
}

ir_status rt_run_control_step(const rt_run_context *r, const rt_step *s) {
  switch ((ir_step_kind)plan_step(r, s)->kind) {
  case IR_STEP_COPY: return run_copy(r, s);
  case IR_STEP_COND: return run_cond(r, s);
  case IR_STEP_WHILE: return run_while(r, s);
  case IR_STEP_SCAN: return run_scan(r, s);
  case IR_STEP_CALL: return run_call(r, s);
  case IR_STEP_SORT:
  case IR_STEP_ARGSORT: return rt_run_sort(r, s);
  case IR_STEP_EXCHANGE: return rt_run_exchange(r, s);
  case IR_STEP_WAIT: return rt_run_wait(r, s);
  case IR_STEP_KERNEL:
  case IR_STEP_KINDS: break;
  }
  return ir_fail(r->error, IR_ERR_INTERNAL, "graph @%s: a step of no kind", rt_program_name(r->program));
}
