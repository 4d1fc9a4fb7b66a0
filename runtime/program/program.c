/* Making a program from a plan and its code; queries. */
#include "runtime/program/program.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/program/pace.h"

/* Lays out every array of a program but those of its frame. */
static uintptr_t lay_out_program(rt_program *p, uintptr_t at) {
  const rt_plan_head *h = p->plan.head;
  p->sources = rt_lay_out(&at, h->step_slots, sizeof *p->sources);
  p->inputs = rt_lay_out(&at, h->slots, sizeof *p->inputs);
  p->temps = rt_lay_out(&at, h->slots, sizeof *p->temps);
  p->resources = rt_lay_out(&at, h->slots, sizeof *p->resources);
  p->kinds = rt_lay_out(&at, h->slots, sizeof *p->kinds);
  p->hoisted = rt_lay_out(&at, h->slots, sizeof *p->hoisted);
  p->array_number = rt_lay_out(&at, h->slots, sizeof *p->array_number);
  p->is_hoisted = rt_lay_out(&at, h->steps, sizeof *p->is_hoisted);
  p->number_in_kind = rt_lay_out(&at, h->slots, sizeof *p->number_in_kind);
  p->lives = rt_lay_out(&at, h->slots, sizeof *p->lives);
  p->homes = rt_lay_out(&at, h->slots, sizeof *p->homes);
  p->within = rt_lay_out(&at, h->slots, sizeof *p->within);
  p->data = rt_lay_out(&at, h->slots, sizeof *p->data);
  p->copies = rt_lay_out(&at, h->results, sizeof *p->copies);
  p->calls = rt_lay_out(&at, h->steps, sizeof *p->calls);
  p->parent_step = rt_lay_out(&at, h->steps, sizeof *p->parent_step);
  p->sends = rt_lay_out(&at, h->steps, sizeof *p->sends);
  p->receives = rt_lay_out(&at, h->steps, sizeof *p->receives);
  return at;
}

static uint32_t source_of(const rt_program *p, uint32_t slot) {
  uint32_t kind = p->kinds[slot];
  if (kind == IR_SLOT_TEMP) return p->homes[p->number_in_kind[slot]];
  if (kind == IR_SLOT_ALIAS) kind = IR_SLOT_TEMP;
  if (kind == IR_SLOT_RESOURCE) kind = IR_SLOT_DATA;
  return kind << RT_SOURCE_SHIFT | p->number_in_kind[slot];
}

/* Numbers the slots within their kinds; false if the plan is inconsistent. */
static bool number_slots(rt_program *p) {
  const rt_plan *plan = &p->plan;
  for (uint32_t i = 0; i < plan->head->slots; i++) {
    uint32_t number = UINT32_MAX;
    switch ((ir_slot_kind)p->kinds[i]) {
    case IR_SLOT_INPUT: p->inputs[number = (uint32_t)p->input_count++] = i; break;
    case IR_SLOT_TEMP: p->temps[number = (uint32_t)p->temp_count++] = i; break;
    case IR_SLOT_DATA:
      p->data[number = (uint32_t)p->data_count++] = (void *)(uintptr_t)(plan->data + plan->slots[i].data);
      break;
    case IR_SLOT_ALIAS: number = (uint32_t)p->moving_count++; break;
    case IR_SLOT_RESOURCE:
      if (plan->slots[i].kind == IR_SLOT_RESOURCE) p->resources[p->resource_count++] = i;
      else p->hoisted[p->hoisted_count++] = i;
      number = (uint32_t)p->data_count++; /* its address is set when the program is bound */
      break;
    case IR_SLOT_OUTPUT: break; /* numbered below */
    case IR_SLOT_KINDS: return false;
    }
    p->number_in_kind[i] = number;
  }
  for (size_t i = 0; i < p->resource_count; i++) p->array_number[p->resources[i]] = (uint32_t)i;
  for (size_t i = 0; i < p->hoisted_count; i++)
    p->array_number[p->hoisted[i]] = (uint32_t)(p->resource_count + i);
  for (uint32_t k = plan->head->results; k-- > 0;)
    if (p->kinds[plan->results[k]] == IR_SLOT_OUTPUT) p->number_in_kind[plan->results[k]] = k;
  for (uint32_t i = 0; i < plan->head->slots; i++) {
    if (p->kinds[i] == IR_SLOT_ALIAS) p->number_in_kind[i] += (uint32_t)p->temp_count;
    if (p->number_in_kind[i] > RT_SOURCE_NUMBER) return false;
  }
  return true;
}

static void find_copies(rt_program *p) {
  for (uint32_t k = 0; k < p->plan.head->results; k++) {
    uint32_t slot = p->plan.results[k];
    if (p->kinds[slot] == IR_SLOT_OUTPUT && p->number_in_kind[slot] == k) continue;
    p->copies[p->copy_count++] = (rt_copy){source_of(p, slot), k, slot};
  }
}

/* Looks up custom operations by name. */
static ir_status find_calls(rt_program *p, ir_error *error) {
  const rt_calls *calls = &p->context->options.calls;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    if (s->kind != IR_STEP_CALL) continue;
    const char *name = p->plan.names + s->kernel;
    if (calls->find && calls->run) p->calls[i] = calls->find(calls->user, name);
    if (!p->calls[i])
      return ir_fail(error, IR_ERR_UNSUPPORTED,
                     "graph @%s: it runs the custom operation %s, which this context does not know: register "
                     "it before the graph is compiled",
                     rt_program_name(p), name);
  }
  return IR_OK;
}

/* Computes the largest numbers of parameters and arrays of a step, and counts the launches. */
static void measure_steps(rt_program *p) {
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    const rt_plan_step *s = &p->plan.steps[i];
    size_t *most = s->kind == IR_STEP_CALL ? &p->max_arrays : &p->max_params;
    if (s->slot_count > *most) *most = s->slot_count;
    p->launch_count += s->kind == IR_STEP_KERNEL;
  }
}

/* Checks that the image has a function for each kernel, and counts the steps with scratch memory. Overflow of
 * the scratch of all threads together is checked in frame.c. */
static bool find_kernels(rt_program *p) {
  rt_entry entry;
  for (uint32_t i = 0; i < p->plan.head->kernels; i++)
    if (!rt_image_entry(p->code.base, p->code.size, i, &entry) || entry.terms.scratch > PTRDIFF_MAX / 2)
      return false;
  for (uint32_t i = 0; i < p->plan.head->steps; i++)
    if (ir_is_sort_step((ir_step_kind)p->plan.steps[i].kind) ||
        (p->plan.steps[i].kind == IR_STEP_KERNEL && rt_scratch_of(p, i)))
      p->scratch_steps++;
  return true;
}

size_t rt_scratch_of(const rt_program *p, uint32_t step) {
  rt_entry entry;
  if (p->remote) return 0; /* the device allocates it */
  rt_image_entry(p->code.base, p->code.size, p->plan.steps[step].kernel, &entry);
  return ((size_t)entry.terms.scratch + RT_SCRATCH_ALIGN - 1) & ~(size_t)(RT_SCRATCH_ALIGN - 1);
}

static bool is_brief(const rt_frame *f) {
  bool brief = f->step_count <= RT_PACE_STEPS;
  for (size_t i = 0; i < f->step_count && brief; i++) brief = f->steps[i].grain == RT_GRAIN_WHOLE;
  return brief;
}

static ir_status prepare_program(rt_program *p, ir_error *error) {
  const ir_mem *mem = rt_context_mem(p->context);
  for (uint32_t i = 0; i < p->plan.head->slots; i++) p->kinds[i] = p->plan.slots[i].kind;
  if (p->base && !p->remote) rt_find_hoisted(p);
  if (!number_slots(p) || !find_kernels(p))
    return ir_fail(error, IR_ERR_INVALID, "a plan and its code do not belong together");
  ir_status status = rt_place(p, error);
  if (status) return status;
  for (uint32_t i = 0; i < p->plan.head->step_slots; i++) p->sources[i] = source_of(p, p->plan.step_slots[i]);
  measure_steps(p);
  status = find_calls(p, error);
  if (status) return status;
  find_copies(p);
  bool fixed = p->plan.head->vars == 0;
  p->plain = fixed && !p->remote && (p->base || !p->resource_count) && p->own_memory_count == 0 &&
             p->moving_count == 0 && p->scratch_steps == 0 && p->max_params <= RT_FEW_PARAMS &&
             p->launch_count == p->plan.head->steps;
  if (fixed) {
    void *memory = ir_alloc(mem, rt_frame_size(p));
    if (!memory) return ir_fail(error, IR_ERR_MEMORY, "out of memory making a program");
    rt_frame_lay_out(p, &p->frame, memory);
    status = rt_frame_fill(p, &p->frame, NULL, error);
    p->brief = p->plain && !status && is_brief(&p->frame);
  }
  return p->remote && !status ? p->context->device->table->prepare(p, error) : status;
}

/* Called when there are no references any more, or when making the program failed. */
static void destroy_program(rt_program *p) {
  const ir_mem *mem = rt_context_mem(p->context);
  rt_program_trim(p);
  if (p->frame.steps) ir_free(mem, p->frame.steps, rt_frame_size(p)); /* the first array begins it */
  rt_program_unbind(p);
  if (p->remote) p->context->device->table->retire(p);
  if (p->base) rt_program_release(p->base);
  else p->context->device->table->unload(&p->code);
  pthread_mutex_destroy(&p->lock);
  for (size_t i = 0; i < p->key_count; i++) rt_kernel_key_free(mem, &p->keys[i]);
  ir_free(mem, p->keys, p->key_cap * sizeof *p->keys);
  ir_free(mem, p->tables, p->table_size);
  ir_free(mem, p->raw, p->raw_size);
  ir_free(mem, p, sizeof *p);
}

/* Copies the plan's bytes, aligned, and reads them. */
static bool copy_plan(rt_program *p, const ir_mem *mem, const void *bytes, size_t size) {
  p->raw_size = size + RT_PLAN_ALIGN;
  p->raw = ir_alloc(mem, p->raw_size);
  if (!p->raw) return false;
  uint8_t *base = (uint8_t *)(((uintptr_t)p->raw + RT_PLAN_ALIGN - 1) & ~(uintptr_t)(RT_PLAN_ALIGN - 1));
  memcpy(base, bytes, size);
  return rt_plan_read(base, size, &p->plan);
}

/* base NULL: the code belongs to the new program; else it is that of the base, which stays with it. */
static ir_status make_program(rt_context *context, rt_program *base, const void *bytes, size_t size,
                              rt_code *code, rt_program **out, ir_error *error) {
  const ir_mem *mem = rt_context_mem(context);
  *out = NULL;
  rt_program *p = ir_alloc(mem, sizeof *p);
  if (!p) {
    if (!base) context->device->table->unload(code);
    return ir_fail(error, IR_ERR_MEMORY, "out of memory making a program");
  }
  memset(p, 0, sizeof *p);
  p->context = context;
  p->base = base;
  if (base) rt_program_retain(base);
  p->pool = context->pool;
  p->progress = context->options.progress;
  p->remote = rt_is_remote(context->device);
  p->boundary = p->remote ? context->device->table->boundary(context->device) : 0;
  p->code = *code;
  atomic_init(&p->references, 1);
  atomic_init(&p->cached, false);
  atomic_init(&p->spare, NULL);
  pthread_mutex_init(&p->lock, NULL);
  ir_status status = IR_OK;
  if (!copy_plan(p, mem, bytes, size))
    status = p->raw ? ir_fail(error, IR_ERR_INVALID, "a plan is damaged")
                    : ir_fail(error, IR_ERR_MEMORY, "out of memory");
  if (!status) {
    p->table_size = (size_t)lay_out_program(p, 0);
    p->tables = ir_alloc(mem, p->table_size);
    if (!p->tables) status = ir_fail(error, IR_ERR_MEMORY, "out of memory making a program");
  }
  if (!status) {
    memset(p->tables, 0, p->table_size);
    lay_out_program(p, (uintptr_t)p->tables);
    status = prepare_program(p, error);
  }
  if (status) {
    destroy_program(p);
    return status;
  }
  *out = p;
  return IR_OK;
}

ir_status rt_program_make(rt_context *context, const void *bytes, size_t size, rt_code *code,
                          rt_program **out, ir_error *error) {
  ir_status status = make_program(context, NULL, bytes, size, code, out, error);
  *code = (rt_code){0};
  if (!status)
    rt_image_perf_map(&(*out)->code, context->options.perf_map && (*out)->code.base && !(*out)->remote);
  return status;
}

ir_status rt_program_share(rt_program *base, rt_program **out, ir_error *error) {
  rt_code code = base->code;
  ir_status status =
      make_program(base->context, base, base->plan.head, (size_t)base->plan.head->size, &code, out, error);
  if (status) return status;
  (*out)->stats = base->stats;
  for (uint32_t i = 0; i < base->plan.head->steps; i++) (*out)->stats.launches -= (*out)->is_hoisted[i];
  return IR_OK;
}

void rt_program_retain(rt_program *p) { atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed); }

void rt_program_release(rt_program *p) {
  if (!p) return;
  /* if only the cache still refers to the program afterwards, its arena is more use to other programs */
  if (atomic_load_explicit(&p->cached, memory_order_relaxed) &&
      atomic_load_explicit(&p->references, memory_order_relaxed) == 2)
    rt_program_trim(p);
  if (atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel) == 1) destroy_program(p);
}

void rt_program_drop(void *program) {
  rt_program *p = program;
  atomic_store_explicit(&p->cached, false, memory_order_relaxed);
  rt_program_release(p);
}

/* queries */

const char *rt_program_name(const rt_program *p) { return p->plan.names; }
size_t rt_program_input_count(const rt_program *p) { return p->input_count; }
size_t rt_program_output_count(const rt_program *p) { return p->plan.head->results; }
size_t rt_program_constant_count(const rt_program *p) { return p->resource_count; }
size_t rt_program_variable_count(const rt_program *p) { return p->plan.head->vars; }
size_t rt_program_step_count(const rt_program *p) { return p->plan.head->steps; }
bool rt_program_is_kernel(const rt_program *p, size_t step) {
  return p->plan.steps[step].kind == IR_STEP_KERNEL;
}
size_t rt_program_slot_count(const rt_program *p) { return p->plan.head->slots; }
const void *rt_program_constant_data(const rt_program *p, size_t number) {
  return rt_constant_bytes(p->constants[number]);
}
const char *rt_program_step_name(const rt_program *p, size_t step) {
  const rt_plan_step *s = &p->plan.steps[step];
  rt_entry entry = {.name = "kernel"};
  if (s->kind == IR_STEP_KERNEL) rt_image_entry(p->code.base, p->code.size, s->kernel, &entry);
  return s->kind == IR_STEP_KERNEL                                ? entry.name
         : s->kind == IR_STEP_CALL || s->kind == IR_STEP_EXCHANGE ? p->plan.names + s->kernel
                                                                  : ir_step_names[s->kind];
}
rt_stats rt_program_stats(const rt_program *p) { return p->stats; }

static rt_port port_of(const rt_program *p, uint32_t slot, bool named) {
  const rt_plan_slot *s = &p->plan.slots[slot];
  return (rt_port){named ? p->plan.names + s->name : "", (ir_dtype)s->dtype, s->rank};
}
rt_port rt_program_input(const rt_program *p, size_t i) { return port_of(p, p->inputs[i], true); }
rt_port rt_program_output(const rt_program *p, size_t i) { return port_of(p, p->plan.results[i], false); }
rt_variable rt_program_variable(const rt_program *p, size_t i) {
  const rt_plan_var *v = &p->plan.vars[i];
  return (rt_variable){p->plan.names + v->name, v->lo, v->hi, v->divisor};
}

/* The frame for these values of the variables: the program's own, or one in *memory, which the caller
 * frees. */
static ir_status frame_for(const rt_program *p, const int64_t *vars, const rt_frame **out, rt_frame *own,
                           void **memory, ir_error *error) {
  *memory = NULL;
  *out = &p->frame;
  if (p->plan.head->vars == 0) return IR_OK;
  *out = own;
  *memory = ir_alloc(rt_context_mem(p->context), rt_frame_size(p));
  if (!*memory)
    return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory for its sizes", rt_program_name(p));
  rt_frame_lay_out(p, own, *memory);
  return rt_frame_fill(p, own, vars, error);
}

static void free_frame(const rt_program *p, void *memory) {
  ir_free(rt_context_mem(p->context), memory, memory ? rt_frame_size(p) : 0);
}

static ir_status shape_of(const rt_program *p, uint32_t slot, const int64_t *vars, int64_t *dims,
                          ir_error *error) {
  rt_frame own;
  const rt_frame *f;
  void *memory;
  const rt_plan_slot *s = &p->plan.slots[slot];
  ir_status status = frame_for(p, vars, &f, &own, &memory, error);
  for (uint32_t i = 0; !status && i < s->rank; i++) dims[i] = f->values[p->plan.dims[s->dims + i]];
  free_frame(p, memory);
  return status;
}
ir_status rt_program_input_shape(const rt_program *p, size_t i, const int64_t *vars, int64_t *dims,
                                 ir_error *error) {
  return shape_of(p, p->inputs[i], vars, dims, error);
}
ir_status rt_program_output_shape(const rt_program *p, size_t i, const int64_t *vars, int64_t *dims,
                                  ir_error *error) {
  return shape_of(p, p->plan.results[i], vars, dims, error);
}

static void add_clamped(int64_t *sum, int64_t value) {
  if (value > 0) *sum = *sum > INT64_MAX - value ? INT64_MAX : *sum + value;
}

static void add_times(rt_cost *to, const rt_cost *each, int64_t times) {
  if (times <= 0) return;
  add_clamped(&to->flops, each->flops > INT64_MAX / times ? INT64_MAX : each->flops * times);
  add_clamped(&to->bytes, each->bytes > INT64_MAX / times ? INT64_MAX : each->bytes * times);
  add_clamped(&to->steps, each->steps >= INT64_MAX / times ? INT64_MAX : (each->steps + 1) * times);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Adds the cost of the steps in [first, end). Recurses into functions, as deep as a plan may be nested. */
static void add_cost(const rt_program *p, const rt_frame *f, uint32_t first, uint32_t end, rt_cost *sum) {
  for (uint32_t i = first; i < end; i += 1 + rt_inside(&p->plan.steps[i])) {
    const rt_plan_step *s = &p->plan.steps[i];
    if (p->is_hoisted[i]) continue;
    rt_cost inside[2] = {{0}};
    uint32_t second = i + 1 + s->inside[0];
    add_cost(p, f, i + 1, second, &inside[0]);
    add_cost(p, f, second, second + s->inside[1], &inside[1]);
    int64_t iterations = f->values[s->count];
    switch ((ir_step_kind)s->kind) {
    case IR_STEP_KERNEL: add_clamped(&sum->flops, f->values[s->flops]); /* fall through */
    case IR_STEP_COPY:
    case IR_STEP_CALL:
    case IR_STEP_SORT:
    case IR_STEP_ARGSORT:
    case IR_STEP_EXCHANGE:
      add_clamped(&sum->steps, 1);
      for (uint32_t k = 0; k < s->slot_count; k++)
        add_clamped(&sum->bytes, (int64_t)f->bytes[p->plan.step_slots[s->slots + k]]);
      break;
    case IR_STEP_COND:
      add_clamped(&sum->flops, larger(inside[0].flops, inside[1].flops));
      add_clamped(&sum->bytes, larger(inside[0].bytes, inside[1].bytes));
      add_clamped(&sum->steps, larger(inside[0].steps, inside[1].steps));
      break;
    case IR_STEP_WHILE:
      if (iterations < 0) iterations = 1;
      add_times(sum, &inside[0], iterations < INT64_MAX ? iterations + 1 : iterations);
      add_times(sum, &inside[1], iterations);
      break;
    case IR_STEP_SCAN: add_times(sum, &inside[0], iterations); break;
    case IR_STEP_WAIT:
    case IR_STEP_KINDS: break;
    }
  }
}

/* Adds the bytes of the caller's buffers, each once. */
static void add_given(const rt_program *p, const rt_frame *f, rt_cost *sum) {
  for (size_t i = 0; i < p->plan.head->slots; i++) {
    uint32_t kind = p->kinds[i];
    if (kind == IR_SLOT_INPUT || kind == IR_SLOT_OUTPUT)
      add_clamped(&sum->caller_bytes, (int64_t)f->bytes[i]);
  }
}

int64_t rt_frame_steps(const rt_program *p, const rt_frame *f) {
  rt_cost cost = {0};
  add_cost(p, f, 0, p->plan.head->steps, &cost);
  return cost.steps;
}

ir_status rt_program_cost(const rt_program *p, const int64_t *vars, rt_cost *out, ir_error *error) {
  rt_frame own;
  const rt_frame *f;
  void *memory;
  *out = (rt_cost){0};
  ir_status status = frame_for(p, vars, &f, &own, &memory, error);
  if (!status) add_cost(p, f, 0, p->plan.head->steps, out);
  if (!status) {
    add_given(p, f, out);
    out->temp_bytes = (int64_t)f->arena_bytes;
  }
  free_frame(p, memory);
  return status;
}

ir_status rt_program_step_cost(const rt_program *p, const int64_t *vars, size_t step, rt_step_cost *out,
                               ir_error *error) {
  rt_frame own;
  const rt_frame *f;
  void *memory;
  *out = (rt_step_cost){0};
  if (!rt_program_is_kernel(p, step)) return IR_OK;
  ir_status status = frame_for(p, vars, &f, &own, &memory, error);
  if (!status) {
    const rt_step *s = f->steps + f->step_index[step];
    bool there = f->step_index[step] < f->step_count && s->number == step && s->grain > 0;
    int64_t chunks = there ? s->count / s->grain : 1, threads = rt_pool_threads(p->pool);
    *out = (rt_step_cost){f->values[p->plan.steps[step].flops], (int)(chunks < threads ? chunks : threads)};
  }
  free_frame(p, memory);
  return status;
}

ir_status rt_program_places(const rt_program *p, const int64_t *vars, size_t *offsets, size_t count,
                            ir_error *error) {
  rt_frame own;
  const rt_frame *f;
  void *memory;
  ir_status status = frame_for(p, vars, &f, &own, &memory, error);
  for (size_t i = 0; i < count; i++) offsets[i] = SIZE_MAX;
  for (size_t i = 0; i < p->temp_count && !status; i++) {
    uint32_t home = p->homes[i]; /* an output's, or that of another temporary, whose place is known */
    if (home >> RT_SOURCE_SHIFT == IR_SLOT_TEMP && p->temps[i] < count)
      offsets[p->temps[i]] = f->spans[home & RT_SOURCE_NUMBER].offset;
  }
  free_frame(p, memory);
  return status;
}
