/* Hoisting: the kernels of a bound program that depend on constants alone, such as those that copy weights
 * into the order in which products read them, run once, when the program is bound. What they compute is kept
 * as long as the program, and shared by all programs of the context that compute the same of equal constants;
 * what took some time to compute is stored in the cache on disk, and then mapped by all processes instead. */
#include <string.h>

#include "runtime/constants.h"
#include "runtime/context.h"
#include "runtime/program/hoisted_entry.h"
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
    int64_t elements = bytes / ir_dtypes[p->plan.slots[slots[k]].dtype].bytes;
    if (writes) out += elements;
    else if (kind == IR_SLOT_RESOURCE) in += elements;
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

/* What a hoisted slot is made of. */
typedef struct source {
  rt_digest recipe;
  int64_t work; /* of computing it from constants */
  int64_t
      digested; /* bytes of constants in memory among them, all of which each process reads to know them */
  bool is_portable; /* the recipe says in other processes too what it is */
  bool is_kept;     /* a step reads it that is not hoisted */
  bool is_needed;   /* that, or a hoisted step reads it that runs */
} source;

/* The state of running the hoisted steps once. */
typedef struct hoisting {
  rt_program *p;
  source *sources; /* by hoisted slot */
  bool *runs;      /* by step of the plan */
  void **buffers;  /* the parameters of a kernel, and its status word */
  bool stores;     /* there is a cache on disk, and room in it for what is worth storing */
} hoisting;

static bool is_hoisted_slot(const rt_program *p, uint32_t slot) {
  return p->kinds[slot] == IR_SLOT_RESOURCE && p->plan.slots[slot].kind != IR_SLOT_RESOURCE;
}

static source *source_of(const hoisting *h, uint32_t slot) {
  return &h->sources[h->p->array_number[slot] - h->p->resource_count];
}

static int64_t add_work(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

/* Puts what a slot is into the text of a recipe: a constant's name, the recipe of what a hoisted step makes,
 * or a literal array's digest. */
static void put_source(const hoisting *h, uint32_t slot, source *to, ir_text *out) {
  const rt_program *p = h->p;
  char digits[RT_DIGEST_HEX];
  if (is_hoisted_slot(p, slot)) {
    const source *from = source_of(h, slot);
    rt_digest_hex(from->recipe, digits);
    ir_textf(out, " made %s", digits);
    to->work = add_work(to->work, from->work);
    to->digested = add_work(to->digested, from->digested);
    to->is_portable &= from->is_portable;
  } else if (p->plan.slots[slot].kind == IR_SLOT_DATA) {
    rt_digest_hex(rt_digest_of(p->data[number_of(p, slot)], (size_t)slot_bytes(p, slot)), digits);
    ir_textf(out, " data %s", digits);
  } else {
    const rt_constant *constant = p->constants[p->array_number[slot]];
    ir_textf(out, " %s", constant->name);
    if (!constant->file) to->digested = add_work(to->digested, (int64_t)constant->size);
    to->is_portable &= constant->is_portable;
  }
}

/* A recipe says all that a result depends on: the kernel, by its symbol, which has a digest of it; what it
 * reads; and which of its results it is. */
static bool find_source(const hoisting *h, const rt_plan_step *s, uint32_t result, source *out) {
  const rt_program *p = h->p;
  ir_text text;
  rt_entry entry;
  *out = (source){.is_portable = true};
  ir_text_init(&text, rt_context_mem(p->context));
  bool good =
      rt_image_entry(p->code.base, p->code.size, s->kernel, &entry) && constant_value(p, s->work, &out->work);
  if (good) ir_textf(&text, "%s %u", entry.name, result);
  for (uint32_t k = s->written; k < s->slot_count && good; k++)
    put_source(h, p->plan.step_slots[s->slots + k], out, &text);
  good = good && !text.failed;
  if (good) out->recipe = rt_digest_of(text.data, text.len);
  ir_text_free(&text);
  return good;
}

static bool find_sources(hoisting *h) {
  const rt_program *p = h->p;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    for (uint32_t k = 0; k < s->written && p->is_hoisted[i]; k++)
      if (!find_source(h, s, k, source_of(h, p->plan.step_slots[s->slots + k]))) return false;
  }
  return true;
}

static ir_status short_of_memory(const rt_program *p, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY,
                 "graph @%s: out of memory for what is computed from its constants once", rt_program_name(p));
}

static void use_array(rt_program *p, uint32_t slot, rt_constant *array) {
  p->constants[p->array_number[slot]] = array;
  p->data[number_of(p, slot)] = (void *)(uintptr_t)array->bytes;
  p->maps_entries |= array->mapping.map != NULL;
}

static void need_sources(hoisting *h, const rt_plan_step *s) {
  const rt_program *p = h->p;
  for (uint32_t k = 0; k < s->slot_count; k++) {
    uint32_t slot = p->plan.step_slots[s->slots + k];
    if (is_hoisted_slot(p, slot)) source_of(h, slot)->is_needed = true;
  }
}

/* Is the array worth an entry of the cache on disk, and can it have one? */
static bool may_store(const source *s) {
  return s->is_kept && s->is_portable && s->work >= RT_STORE_WORK &&
         s->work / RT_STORE_DIGESTED >= s->digested;
}

/* Notes which arrays steps read that are not hoisted, and whether those may be stored. */
static void find_kept(hoisting *h) {
  const rt_program *p = h->p;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < p->plan.head->steps; i++)
    if (!p->is_hoisted[i]) need_sources(h, &p->plan.steps[i]);
  for (size_t i = 0; i < p->hoisted_count; i++) {
    h->sources[i].is_kept = h->sources[i].is_needed;
    if (may_store(&h->sources[i])) bytes += (uint64_t)slot_bytes(p, p->hoisted[i]);
  }
  if (p->of_parts) bytes *= p->of_parts;
  h->stores = p->stores && bytes && rt_hoisted_fit(p->context, bytes);
  if (p->stores && bytes && !h->stores && rt_context_disk(p->context, NULL))
    ir_say(
        p->context->options.log, IR_LOG_INFO,
        "cache: graph @%s: the %llu bytes that are computed from its constants are not stored: they are more "
        "than half of the limit",
        rt_program_name(p), (unsigned long long)bytes);
}

/* The array, if a program of the context has made it, or the cache on disk has it. */
static ir_status find_made(const hoisting *h, uint32_t slot, rt_constant **out, ir_error *error) {
  const rt_program *p = h->p;
  const source *s = source_of(h, slot);
  rt_made made = {.recipe = s->recipe, .size = (size_t)slot_bytes(p, slot), .is_portable = true};
  *out = rt_constant_made_before(p->context, s->recipe);
  if (*out || !may_store(s) || !rt_hoisted_map(p->context, s->recipe, made.size, &made.mapping)) return IR_OK;
  made.bytes = (void *)(uintptr_t)made.mapping.payload;
  ir_status status = rt_constant_made(p->context, &made, out, error);
  if (status) rt_disk_unmap(&made.mapping);
  return status;
}

/* Which hoisted steps have to run, from the last to the first: those that make what is needed and is not
 * found made. */
static ir_status choose_steps(hoisting *h, ir_error *error) {
  rt_program *p = h->p;
  const rt_plan *plan = &p->plan;
  for (uint32_t i = plan->head->steps; i-- > 0;) {
    const rt_plan_step *s = &plan->steps[i];
    for (uint32_t k = 0; k < s->written && p->is_hoisted[i]; k++) {
      uint32_t slot = plan->step_slots[s->slots + k];
      rt_constant *found;
      if (!source_of(h, slot)->is_needed) continue;
      ir_status status = find_made(h, slot, &found, error);
      if (status) return status;
      if (found) use_array(p, slot, found);
      else h->runs[i] = true;
    }
    if (h->runs[i]) need_sources(h, s);
  }
  return IR_OK;
}

/* Runs the step on h->buffers. */
static ir_status compute(const hoisting *h, uint32_t number, ir_error *error) {
  rt_program *p = h->p;
  const rt_plan_step *s = &p->plan.steps[number];
  size_t threads = (size_t)rt_pool_threads(p->pool), each = rt_scratch_of(p, number);
  int64_t status = 0, count, work, flops;
  rt_block scratch = {0};
  rt_entry entry;
  if (!constant_value(p, s->count, &count) || !constant_value(p, s->work, &work) || count <= 0) return IR_OK;
  if (!constant_value(p, s->flops, &flops)) flops = RT_NO_VALUE;
  rt_image_entry(p->code.base, p->code.size, s->kernel, &entry);
  if (each && !rt_arena_acquire(&p->context->arenas, each * threads, &scratch))
    return short_of_memory(p, error);
  rt_step step = {.function = (cg_kernel)(uintptr_t)(p->code.base + entry.offset),
                  .params = s->slot_count,
                  .number = number,
                  .scratch_each = each};
  rt_split(&step, count, work, flops, (int)threads);
  h->buffers[s->slot_count] = &status;
  rt_pace pace;
  rt_pace_begin(&pace, p);
  rt_launch(p, &step, h->buffers, scratch.base, &pace);
  rt_arena_release(&p->context->arenas, &scratch);
  if (rt_pace_ended(&pace)) return rt_pace_cancelled(p, error);
  if (status && !p->failed_step) p->failed_step = number + 1;
  return IR_OK;
}

/* May what is computed from these arrays be stored under its recipe? Borrowed ones are read again, since
 * their owner may have written to them after they were digested: another process would get something else. */
static bool sources_are_intact(const hoisting *h, const rt_plan_step *s) {
  const rt_program *p = h->p;
  for (uint32_t k = s->written; k < s->slot_count; k++) {
    uint32_t slot = p->plan.step_slots[s->slots + k];
    if (p->kinds[slot] != IR_SLOT_RESOURCE) continue;
    const rt_constant *from = p->constants[p->array_number[slot]];
    if (!from->is_portable || (!is_hoisted_slot(p, slot) && !rt_constant_is_intact(from))) return false;
  }
  return true;
}

/* Gives back the memory of the parts of mapped files that the step has read. Its results stand in their
 * place, and a step that reads them again finds them in the system's cache of files. BERT of 415 MiB of
 * weights, which are copied into the order of products, took 692 MiB, and takes 367; the first run takes as
 * long. */
static void leave_files(const rt_program *p, const rt_plan_step *s) {
  for (uint32_t k = s->written; k < s->slot_count; k++) {
    uint32_t slot = p->plan.step_slots[s->slots + k];
    if (p->kinds[slot] != IR_SLOT_RESOURCE) continue;
    const rt_constant *from = p->constants[p->array_number[slot]];
    if (from->file) rt_mapped_leave(from->file, from->offset, from->size);
  }
}

/* Keeps a result, in its entry of the cache on disk if it is stored; then, or where another thread has made
 * it meanwhile, the buffer is freed. */
static ir_status keep_result(hoisting *h, uint32_t slot, void *buffer, bool is_intact, ir_error *error) {
  rt_program *p = h->p;
  const source *s = source_of(h, slot);
  rt_made made = {s->recipe, buffer, (size_t)slot_bytes(p, slot), {0}, is_intact};
  rt_constant *constant = NULL;
  if (h->stores && is_intact && may_store(s) &&
      rt_hoisted_store(p->context, s->recipe, buffer, made.size, &made.mapping)) {
    rt_constant_memory_free(p->context, buffer, made.size);
    made.bytes = (void *)(uintptr_t)made.mapping.payload;
  }
  ir_status status = rt_constant_made(p->context, &made, &constant, error);
  if (!status) use_array(p, slot, constant);
  else if (made.mapping.map) rt_disk_unmap(&made.mapping);
  else rt_constant_memory_free(p->context, buffer, made.size);
  return status;
}

/* Computes the results of a step, each in memory of its own. Those of a step that failed are not kept: every
 * program that needs them is to fail. */
static ir_status compute_results(hoisting *h, uint32_t number, ir_error *error) {
  rt_program *p = h->p;
  const rt_plan_step *s = &p->plan.steps[number];
  const uint32_t *slots = p->plan.step_slots + s->slots;
  ir_status status = IR_OK;
  for (uint32_t k = 0; k < s->slot_count; k++) h->buffers[k] = p->data[number_of(p, slots[k])];
  for (uint32_t k = 0; k < s->written; k++)
    if (!(h->buffers[k] = rt_constant_memory(p->context, (size_t)slot_bytes(p, slots[k]))))
      status = short_of_memory(p, error);
  if (!status) status = compute(h, number, error);
  if (!status) status = rt_program_check_files(p, error); /* others are going to use the results */
  bool is_intact = !status && !p->failed_step && sources_are_intact(h, s);
  leave_files(p, s);
  for (uint32_t k = 0; k < s->written; k++) {
    bool keeps = !status && !p->failed_step && !p->constants[p->array_number[slots[k]]];
    if (keeps) status = keep_result(h, slots[k], h->buffers[k], is_intact, error);
    else rt_constant_memory_free(p->context, h->buffers[k], (size_t)slot_bytes(p, slots[k]));
  }
  return status;
}

/* Gives back what only hoisted steps have read. */
static void release_intermediates(const hoisting *h) {
  rt_program *p = h->p;
  for (size_t i = 0; i < p->hoisted_count; i++) {
    if (h->sources[i].is_kept) continue;
    rt_constant_release(p->constants[p->resource_count + i]);
    p->constants[p->resource_count + i] = NULL;
    p->data[number_of(p, p->hoisted[i])] = NULL;
  }
}

static ir_status run_hoisted(hoisting *h, ir_error *error) {
  rt_program *p = h->p;
  if (!find_sources(h)) return short_of_memory(p, error);
  find_kept(h);
  ir_status status = choose_steps(h, error);
  for (uint32_t i = 0; i < p->plan.head->steps && !status && !p->failed_step; i++)
    if (h->runs[i]) status = compute_results(h, i, error);
  if (!status) release_intermediates(h);
  return status;
}

ir_status rt_run_hoisted(rt_program *p, ir_error *error) {
  if (!p->hoisted_count) return IR_OK;
  const ir_mem *mem = rt_context_mem(p->context);
  hoisting h = {.p = p};
  uintptr_t size = 0;
  void *memory = NULL;
  for (int laid_out = 0; laid_out < 2; laid_out++) { /* the first time around, sizes alone */
    uintptr_t at = (uintptr_t)memory;
    h.sources = rt_lay_out(&at, p->hoisted_count, sizeof *h.sources);
    h.runs = rt_lay_out(&at, p->plan.head->steps, sizeof *h.runs);
    h.buffers = rt_lay_out(&at, p->max_params + 1, sizeof *h.buffers);
    if (laid_out) break;
    size = at;
    if (!(memory = ir_alloc(mem, size))) return short_of_memory(p, error);
    memset(memory, 0, size);
  }
  ir_status status = run_hoisted(&h, error);
  ir_free(mem, memory, size);
  return status;
}
