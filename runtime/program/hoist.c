/* Hoisting: the kernels of a bound program that depend on constants alone, such as those that copy weights
 * into the order in which products read them, run once, when the program is bound. What they compute is kept
 * as long as the program, and shared by all programs of the context that compute the same of equal constants.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/constants.h"
#include "runtime/context.h"
#include "runtime/program/run.h"

/* The value of an index expression of the plan, if it is a constant. */
static bool constant_value(const rt_program *p, uint32_t index, int64_t *out) {
  const rt_value v = p->plan.values[index];
  *out = (int64_t)((uint64_t)v.c << 32 | v.b);
  return v.op == IR_OP_CONST;
}

/* Bytes of a slot; -1: not known. */
static int64_t slot_bytes(const rt_program *p, uint32_t slot) {
  int64_t elements, bytes = ir_dtypes[p->plan.slots[slot].dtype].bytes;
  bool known = constant_value(p, p->plan.slots[slot].elements, &elements);
  return known && elements >= 0 && elements <= INT64_MAX / bytes / IR_MAX_HOISTED_GROWTH ? elements * bytes
                                                                                         : -1;
}

/* Marks the slots that a step other than one kernel writes, or that are results: in p->hoisted, by slot, how
 * many write it. A step that is no kernel counts as writing all of its slots. */
static void count_writers(const rt_program *p, uint32_t *writers) {
  const rt_plan *plan = &p->plan;
  for (uint32_t i = 0; i < plan->head->slots; i++) writers[i] = 0;
  for (uint32_t k = 0; k < plan->head->results; k++) writers[plan->results[k]] = 2;
  for (uint32_t i = 0; i < plan->head->steps; i++) {
    const rt_plan_step *s = &plan->steps[i];
    uint32_t written = s->kind == IR_STEP_KERNEL ? s->written : s->slot_count;
    for (uint32_t k = 0; k < written; k++) writers[plan->step_slots[s->slots + k]]++;
  }
}

/* Does the kernel read constants alone, of known size, and is it the only one to write what it writes, which
 * is not much more? */
static bool may_hoist(const rt_program *p, const rt_plan_step *s, const uint32_t *writers) {
  const uint32_t *slots = p->plan.step_slots + s->slots;
  int64_t count, work, in = 0, out = 0;
  if (s->kind != IR_STEP_KERNEL || s->var_count || !constant_value(p, s->count, &count) ||
      !constant_value(p, s->work, &work))
    return false;
  for (uint32_t k = 0; k < s->slot_count; k++) {
    int64_t bytes = slot_bytes(p, slots[k]);
    uint32_t kind = p->kinds[slots[k]];
    bool writes = k < s->written;
    if (bytes < 0) return false;
    if (writes && (kind != IR_SLOT_TEMP || writers[slots[k]] != 1)) return false;
    if (!writes && kind != IR_SLOT_RESOURCE && kind != IR_SLOT_DATA) return false;
    if (writes) out += bytes;
    else if (kind == IR_SLOT_RESOURCE) in += bytes;
    if (in > INT64_MAX / 4 || out > INT64_MAX / 4) return false;
  }
  return out <= IR_MAX_HOISTED_GROWTH * in;
}

void rt_find_hoisted(rt_program *p) {
  const rt_plan *plan = &p->plan;
  uint32_t *writers = p->hoisted; /* filled with slots afterwards */
  count_writers(p, writers);
  for (uint32_t i = 0; i < plan->head->steps; i += 1 + rt_inside(&plan->steps[i])) {
    const rt_plan_step *s = &plan->steps[i];
    if (!may_hoist(p, s, writers)) continue;
    p->is_hoisted[i] = true;
    for (uint32_t k = 0; k < s->written; k++) p->kinds[plan->step_slots[s->slots + k]] = IR_SLOT_RESOURCE;
  }
}

/* Running */

static size_t number_of(const rt_program *p, uint32_t slot) { return p->number_in_kind[slot]; }

/* The place of a hoisted slot in p->constants. */
static size_t place_of(const rt_program *p, uint32_t slot) {
  size_t i = 0;
  while (p->hoisted[i] != slot) i++;
  return p->resource_count + i;
}

/* What a slot is, in the text of a recipe: a constant's name, or a literal array's digest. */
static void put_source(const rt_program *p, uint32_t slot, ir_text *out) {
  char digits[RT_DIGEST_HEX];
  if (p->plan.slots[slot].kind == IR_SLOT_DATA) {
    rt_digest_hex(rt_digest_of(p->data[number_of(p, slot)], (size_t)slot_bytes(p, slot)), digits);
    ir_textf(out, " data %s", digits);
    return;
  }
  size_t i = 0;
  while (i < p->resource_count && p->resources[i] != slot) i++;
  ir_textf(out, " %s", p->constants[i < p->resource_count ? i : place_of(p, slot)]->name);
}

/* A recipe says all that a result depends on: the kernel, by its symbol, which has a digest of it; what it
 * reads; and which of its results it is. */
static bool recipe_of(const rt_program *p, const rt_plan_step *s, uint32_t result, rt_digest *out) {
  ir_text text;
  rt_entry entry;
  ir_text_init(&text, rt_context_mem(p->context));
  bool good = rt_image_entry(p->code.base, p->code.size, s->kernel, &entry);
  if (good) ir_textf(&text, "%s %u", entry.name, result);
  for (uint32_t k = s->written; k < s->slot_count && good; k++)
    put_source(p, p->plan.step_slots[s->slots + k], &text);
  good = good && !text.failed;
  if (good) *out = rt_digest_of(text.data, text.len);
  ir_text_free(&text);
  return good;
}

static ir_status short_of_memory(const rt_program *p, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY,
                 "graph @%s: out of memory for what is computed from its constants once", rt_program_name(p));
}

static void use_array(rt_program *p, uint32_t slot, rt_constant *array) {
  p->constants[place_of(p, slot)] = array;
  p->data[number_of(p, slot)] = (void *)(uintptr_t)array->bytes;
}

/* Takes the results of a step from other programs; false where one of them has to be computed. */
static bool find_results(rt_program *p, const rt_plan_step *s, const rt_digest *recipes) {
  bool all = true;
  for (uint32_t k = 0; k < s->written; k++) {
    uint32_t slot = p->plan.step_slots[s->slots + k];
    rt_constant *found = rt_constant_made_before(p->context, recipes[k]);
    if (found) use_array(p, slot, found);
    all &= found != NULL;
  }
  return all;
}

/* Runs the step on `buffers`, which has room for its parameters and the status word. */
static ir_status compute(const rt_program *p, uint32_t number, void **buffers, ir_error *error) {
  const rt_plan_step *s = &p->plan.steps[number];
  size_t threads = (size_t)rt_pool_threads(p->pool), each = rt_scratch_of(p, number);
  int64_t status = 0, count, work;
  rt_block scratch = {0};
  rt_entry entry;
  if (!constant_value(p, s->count, &count) || !constant_value(p, s->work, &work) || count <= 0) return IR_OK;
  rt_image_entry(p->code.base, p->code.size, s->kernel, &entry);
  if (each && !rt_arena_acquire(&p->context->arenas, each * threads, &scratch))
    return short_of_memory(p, error);
  rt_step step = {.function = (cg_kernel)(uintptr_t)(p->code.base + entry.offset),
                  .params = s->slot_count,
                  .number = number,
                  .count = count,
                  .grain = rt_grain(count, work),
                  .scratch_each = each};
  buffers[s->slot_count] = &status;
  rt_launch(p, &step, buffers, scratch.base);
  rt_arena_release(&p->context->arenas, &scratch);
  return status ? rt_out_of_range(p, number, error) : IR_OK;
}

/* Computes the results of a step that no other program has, each in memory of its own. */
static ir_status compute_results(rt_program *p, uint32_t number, const rt_digest *recipes, void **buffers,
                                 ir_error *error) {
  const rt_plan_step *s = &p->plan.steps[number];
  const uint32_t *slots = p->plan.step_slots + s->slots;
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < s->slot_count; k++) buffers[k] = p->data[number_of(p, slots[k])];
  for (uint32_t k = 0; k < s->written; k++)
    if (!(buffers[k] = rt_constant_memory(p->context, (size_t)slot_bytes(p, slots[k]))))
      status = short_of_memory(p, error);
  if (!status) status = compute(p, number, buffers, error);
  if (!status) status = rt_program_check_files(p, error); /* others are going to use the results */
  for (uint32_t k = 0; k < s->written; k++) {
    size_t bytes = (size_t)slot_bytes(p, slots[k]);
    rt_constant *made = NULL;
    bool known = p->constants[place_of(p, slots[k])] != NULL;
    if (!status && !known) status = rt_constant_made(p->context, recipes[k], buffers[k], bytes, &made, error);
    if (made) use_array(p, slots[k], made);
    else rt_constant_memory_free(p->context, buffers[k], bytes);
  }
  return status;
}

ir_status rt_run_hoisted(rt_program *p, ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  const rt_plan *plan = &p->plan;
  size_t room = p->max_params + 1;
  void **buffers = ir_alloc(mem, room * sizeof *buffers);
  rt_digest *recipes = ir_alloc(mem, room * sizeof *recipes);
  ir_status status = buffers && recipes ? IR_OK : short_of_memory(p, error);
  for (uint32_t i = 0; i < plan->head->steps && !status; i++) {
    const rt_plan_step *s = &plan->steps[i];
    if (!p->is_hoisted[i]) continue;
    bool good = true;
    for (uint32_t k = 0; k < s->written && good; k++) good = recipe_of(p, s, k, &recipes[k]);
    if (!good) status = short_of_memory(p, error);
    else if (!find_results(p, s, recipes)) status = compute_results(p, i, recipes, buffers, error);
  }
  ir_free(mem, buffers, room * sizeof *buffers);
  ir_free(mem, recipes, room * sizeof *recipes);
  return status;
}
