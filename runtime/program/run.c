/* Running a program. Nothing here allocates, locks or divides when a program runs again with the same sizes
 * and no other run of it is in progress. */
#include "runtime/program/program.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/program/run.h"
#include "runtime/program/staged.h"
#include "runtime/system/bus_error.h"

typedef struct chunk_args {
  cg_kernel function;
  void *const *buffers;
  const int64_t *vars;
  uint8_t *scratch; /* scratch of worker 0; NULL: none */
  size_t scratch_each;
  rt_pace *pace;
  int64_t part; /* iterations after which the pace is asked again */
} chunk_args;

static void run_chunk(void *argument, int worker, int64_t begin, int64_t end) {
  const chunk_args *a = argument;
  uint8_t *own = a->scratch ? a->scratch + (size_t)worker * a->scratch_each : NULL;
  bool tells = worker == 0 && rt_pace_is_watched(a->pace); /* in the thread of the run */
  for (int64_t next; begin < end && !rt_pace_ended(a->pace); begin = next) {
    next = end - begin > a->part ? begin + a->part : end;
    if (tells && !ir_task_tell_again(&a->pace->task)) return;
    a->function(a->buffers, a->vars, begin, next, own);
  }
}

/* The iterations of a part of a long step, a multiple of its grain. */
static int64_t part_of(const rt_step *s) {
  if (s->least_ns <= RT_PACE_PART) return s->count;
  int64_t part = s->count / (s->least_ns / RT_PACE_PART);
  return part > s->grain ? part - part % s->grain : s->grain;
}

ir_status rt_out_of_range(const rt_program *p, uint32_t step, ir_error *error) {
  rt_entry entry = {.name = "?"};
  uint32_t launch = 0;
  for (uint32_t i = 0; i <= step; i++) launch += p->plan.steps[i].kind == IR_STEP_KERNEL;
  rt_image_entry(p->code.base, p->code.size, p->plan.steps[step].kernel, &entry);
  return ir_fail(
      error, IR_ERR_RANGE,
      "graph @%s: launch %u of %zu (%s) read an index that is out of range; accepted are -n to n-1 for an "
      "axis "
      "of n elements, or any index with mode=\"clip\" or mode=\"fill\". The results are unspecified",
      rt_program_name(p), launch, p->launch_count, entry.name);
}

/* Out of line, so that runs of short kernels are inlined as a whole. */
__attribute__((noinline)) static void launch_parts(const rt_program *p, const rt_step *s, void **buffers,
                                                   uint8_t *scratch, rt_pace *pace) {
  chunk_args args = {s->function, buffers, s->vars, scratch, s->scratch_each, pace, part_of(s)};
  rt_pool_run(p->pool, run_chunk, &args, s->count, s->grain, s->least_ns);
}

/* Iterations of a kernel that store some blocks, counted from 0: `inner` that follow one another in each
 * period, the first of which is `first`. */
typedef struct block_args {
  chunk_args chunk;
  int64_t inner, period, first, count;
} block_args;

static void run_blocks(void *argument, int worker, int64_t begin, int64_t end) {
  const block_args *a = argument;
  const chunk_args *c = &a->chunk;
  uint8_t *own = c->scratch ? c->scratch + (size_t)worker * c->scratch_each : NULL;
  bool tells = worker == 0 && rt_pace_is_watched(c->pace);
  for (int64_t next; begin < end && !rt_pace_ended(c->pace); begin = next) {
    int64_t within = begin % a->inner, at = begin / a->inner * a->period + a->first + within;
    next = a->inner - within < end - begin ? begin + a->inner - within : end;
    if (next - begin > c->part) next = begin + c->part;
    if (tells && !ir_task_tell_again(&c->pace->task)) return;
    int64_t stop = at + next - begin < a->count ? at + next - begin : a->count;
    if (at < stop) c->function(c->buffers, c->vars, at, stop, own);
  }
}

static void launch_values(const rt_program *p, const rt_step *s, block_args *args, cg_blocks blocks,
                          int64_t from, int64_t to) {
  int64_t periods = (s->count - 1) / blocks.period + 1;
  args->inner = (to - from) * blocks.divisor;
  args->first = from * blocks.divisor;
  if (from >= to) return;
  if (s->grain) rt_pool_run(p->pool, run_blocks, args, periods * args->inner, s->grain, s->least_ns);
  else run_blocks(args, 0, 0, periods * args->inner);
}

/* Blocks are numbered from some iteration on: past the end of a period they go on at its beginning. */
void rt_launch_blocks(const rt_program *p, const rt_step *s, void **buffers, uint8_t *scratch, rt_pace *pace,
                      cg_blocks blocks, int64_t from, int64_t to) {
  int64_t all = cg_block_count(blocks), first = from + blocks.first, end = to + blocks.first;
  block_args args = {.chunk = {s->function, buffers, s->vars, scratch, s->scratch_each, pace, part_of(s)},
                     .period = blocks.period,
                     .count = s->count};
  launch_values(p, s, &args, blocks, first < all ? first : all, end < all ? end : all);
  launch_values(p, s, &args, blocks, first > all ? first - all : 0, end > all ? end - all : 0);
}

void rt_launch(const rt_program *p, const rt_step *s, void **buffers, uint8_t *scratch, rt_pace *pace) {
  if (s->grain) launch_parts(p, s, buffers, scratch, pace);
  else s->function(buffers, s->vars, 0, s->count, scratch);
}

/* The parameters of the step's kernel, then the address of its status word. */
static inline void fill_buffers(const rt_step *s, void *const *const bases[4], void **buffers,
                                int64_t *status) {
  for (uint32_t i = 0; i < s->params; i++) buffers[i] = rt_address(bases, s->sources[i]);
  buffers[s->params] = status;
}

__attribute__((always_inline)) static inline void run_kernel(const rt_program *p, const rt_step *s,
                                                             void *const *const bases[4], void **buffers,
                                                             uint8_t *arena, int64_t *status, rt_pace *pace) {
  fill_buffers(s, bases, buffers, status);
  uint8_t *scratch = s->scratch_each ? arena + s->scratch : NULL;
  if (s->grain) launch_parts(p, s, buffers, scratch, pace);
  else s->function(buffers, s->vars, 0, s->count, scratch);
}

static void copy_results(const rt_program *p, const rt_frame *f, void *const *const bases[4]) {
  for (size_t i = 0; i < p->copy_count; i++) {
    void *to = bases[IR_SLOT_OUTPUT][p->copies[i].result], *from = rt_address(bases, p->copies[i].source);
    size_t bytes = f->bytes[p->copies[i].slot];
    if (bytes && to != from) memmove(to, from, bytes);
  }
}

/* Does a run ask whether it goes on, before this step? And how many are done since the last time, about. */
static inline bool must_ask(const rt_step *s) { return s->grain || rt_pace_asks(s->number + 1); }
static inline int64_t steps_since(const rt_step *s) { return s->grain ? 1 : RT_PACE_STEPS; }

/* Runs a program of kernels only. bases: the addresses of each kind of slot. buffers: room for the parameters
 * of any kernel and one more. */
static ir_status run_kernels(const rt_program *p, const rt_frame *f, void *const *const bases[4],
                             void **buffers, uint8_t *arena, ir_error *error) {
  int64_t status = 0;
  const rt_step *end = f->steps + f->step_count;
  rt_pace pace;
  rt_pace_begin(&pace, p);
  for (const rt_step *s = f->steps; s < end; s++) {
    if (must_ask(s) && rt_pace_ends(&pace, p, f, s->least_ns, steps_since(s)))
      return rt_pace_cancelled(p, error);
    run_kernel(p, s, bases, buffers, arena, &status, &pace);
    if (status) return rt_out_of_range(p, s->number, error);
    if (s->grain && rt_pace_ended(&pace)) return rt_pace_cancelled(p, error); /* parts were left out */
  }
  if (p->copy_count) copy_results(p, f, bases);
  return IR_OK;
}

/* The same of a brief program. */
static inline ir_status run_brief(const rt_program *p, void *const *const bases[4], ir_error *error) {
  void *buffers[RT_FEW_PARAMS + 1];
  int64_t status = 0;
  const rt_frame *f = &p->frame;
  const rt_step *end = f->steps + f->step_count;
  for (const rt_step *s = f->steps; s < end; s++) {
    fill_buffers(s, bases, buffers, &status);
    s->function(buffers, s->vars, 0, s->count, NULL);
    if (status) return rt_out_of_range(p, s->number, error);
  }
  if (p->copy_count) copy_results(p, f, bases);
  return IR_OK;
}

/* The end of a step is the beginning of the next one. */
static inline void lap(rt_recording *recording, const rt_step *s, int64_t *before) {
  if (!recording) return;
  int64_t now = ir_now_ns();
  rt_record(recording, s->number, *before, now - *before);
  *before = now;
}

__attribute__((always_inline)) static inline ir_status run_steps(const rt_run_context *r, const rt_step *s,
                                                                 const rt_step *end, rt_recording *recording,
                                                                 bool watched) {
  int64_t word = 0, before = recording ? ir_now_ns() : 0;
  while (s < end) {
    const rt_step *step = s;
    if (must_ask(s) && rt_pace_ends(r->pace, r->program, r->frame, s->least_ns, steps_since(s)))
      return rt_pace_cancelled(r->program, r->error);
    if (watched && rt_watch_before(r, s) != IR_OK) return r->error->status;
    if (s->grain == RT_GRAIN_OTHER) {
      ir_status status = rt_run_control_step(r, s);
      if (status) return status;
      lap(recording, s, &before);
      s += s->inside[0] + s->inside[1];
    } else {
      if (r->endpoint && rt_has_pieces(r, s)) {
        ir_status status = rt_run_in_pieces(r, s, &word);
        if (status) return status;
      } else {
        run_kernel(r->program, s, r->bases, r->buffers, r->run->block.base, &word, r->pace);
      }
      lap(recording, s, &before);
      if (word) return rt_out_of_range(r->program, s->number, r->error);
      if (s->grain && rt_pace_ended(r->pace)) return rt_pace_cancelled(r->program, r->error);
    }
    if (watched && rt_watch_after(r, step) != IR_OK) return r->error->status;
    s++;
  }
  return IR_OK;
}

/* Runs steps on a device that launches kernels itself; it measures their times, too. */
static ir_status run_remote_steps(const rt_run_context *r, const rt_step *s, const rt_step *end) {
  const rt_device_table *device = r->program->context->device->table;
  for (; s < end; s++) {
    const rt_step *step = s;
    if (rt_pace_ends(r->pace, r->program, r->frame, s->least_ns, 1))
      return rt_pace_cancelled(r->program, r->error);
    int64_t before = r->recording ? ir_now_ns() : 0;
    if (r->watch && rt_watch_before(r, s) != IR_OK) return r->error->status;
    ir_status status = s->grain == RT_GRAIN_OTHER ? rt_run_control_step(r, s) : device->launch(r, s);
    if (!status && r->watch) status = rt_watch_after(r, step);
    if (status) return status;
    if (s->grain != RT_GRAIN_OTHER) continue;
    if (r->recording) rt_record(r->recording, s->number, before, ir_now_ns() - before);
    s += s->inside[0] + s->inside[1];
  }
  return IR_OK;
}

ir_status rt_run_steps(const rt_run_context *r, const rt_step *s, const rt_step *end) {
  if (r->program->remote) return run_remote_steps(r, s, end);
  if (r->recording || r->watch) return run_steps(r, s, end, r->recording, r->watch != NULL);
  return run_steps(r, s, end, NULL, false);
}

/* runs with state of their own */

static uintptr_t lay_out_run(const rt_program *p, rt_run *r, uintptr_t at) {
  rt_lay_out(&at, 1, sizeof *r);
  r->vars = rt_lay_out(&at, p->plan.head->vars, sizeof *r->vars);
  r->temps = rt_lay_out(&at, p->temp_count + p->moving_count, sizeof *r->temps);
  r->buffers = rt_lay_out(&at, p->max_params + 1, sizeof *r->buffers);
  r->arrays = rt_lay_out(&at, p->max_arrays, sizeof *r->arrays);
  r->blocks = rt_lay_out(&at, p->context->options.separate_arrays ? p->temp_count : 0, sizeof *r->blocks);
  return at;
}

static size_t run_size(const rt_program *p) {
  rt_run measured;
  return (size_t)lay_out_run(p, &measured, 0) + (p->plan.head->vars ? rt_frame_size(p) : 0);
}

static rt_run *make_run(const rt_program *p, ir_error *error) {
  size_t size = run_size(p);
  rt_run *r = ir_alloc(rt_context_mem(p->context), size);
  if (!r) {
    ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory for a run", rt_program_name(p));
    return NULL;
  }
  memset(r, 0, size);
  uintptr_t end = lay_out_run(p, r, (uintptr_t)r);
  if (p->plan.head->vars) rt_frame_lay_out(p, &r->frame, (void *)end);
  return r;
}

static void release_blocks(const rt_program *p, rt_run *r) {
  for (size_t i = 0; i < p->temp_count && p->context->options.separate_arrays; i++)
    rt_arena_release(&p->context->arenas, &r->blocks[i]);
}

static void free_run(rt_program *p, rt_run *r) {
  rt_arena_release(&p->context->arenas, &r->block);
  release_blocks(p, r);
  if (r->device) p->context->device->table->drop_run(p, r);
  rt_staged_free(rt_context_mem(p->context), r->staged);
  ir_free(rt_context_mem(p->context), r, run_size(p));
}

rt_run *rt_run_acquire(rt_program *p, ir_error *error) {
  rt_run *r = atomic_exchange_explicit(&p->spare, NULL, memory_order_acquire);
  if (r) return r;
  pthread_mutex_lock(&p->lock);
  r = p->runs;
  if (r) p->runs = r->next;
  pthread_mutex_unlock(&p->lock);
  return r ? r : make_run(p, error);
}

void rt_run_release(rt_program *p, rt_run *r) {
  rt_run *none = NULL;
  if (atomic_compare_exchange_strong_explicit(&p->spare, &none, r, memory_order_release,
                                              memory_order_relaxed))
    return;
  pthread_mutex_lock(&p->lock);
  r->next = p->runs;
  p->runs = r;
  pthread_mutex_unlock(&p->lock);
}

void rt_program_trim(rt_program *p) {
  rt_run *r = atomic_exchange_explicit(&p->spare, NULL, memory_order_acquire);
  if (r) free_run(p, r);
  pthread_mutex_lock(&p->lock);
  r = p->runs;
  p->runs = NULL;
  pthread_mutex_unlock(&p->lock);
  for (rt_run *next; r; r = next) {
    next = r->next;
    free_run(p, r);
  }
}

static ir_status no_room(const rt_program *p, size_t bytes, ir_error *error) {
  if (p->remote)
    return p->context->device->table->no_room(p->context->device, rt_program_name(p), bytes, error);
  return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory for %zu bytes of intermediates",
                 rt_program_name(p), bytes);
}

/* Acquires a block for each temporary (rt_options.separate_arrays). */
static ir_status acquire_blocks(const rt_program *p, rt_run *r, const rt_frame *f, ir_error *error) {
  release_blocks(p, r);
  for (size_t i = 0; i < p->temp_count; i++) {
    size_t bytes = f->spans[i].bytes;
    if (bytes && !rt_arena_acquire(&p->context->arenas, bytes, &r->blocks[i]))
      return no_room(p, bytes, error);
    r->temps[i] = r->blocks[i].base;
  }
  return IR_OK;
}

/* Computes the sizes for these values of the variables, acquires an arena, and sets the addresses of the
 * temporaries. */
static ir_status fill_run(const rt_program *p, rt_run *r, const int64_t *vars, ir_error *error) {
  uint32_t var_count = p->plan.head->vars;
  const rt_frame *f = &p->frame;
  r->filled = false;
  if (var_count) {
    ir_status status = rt_frame_fill(p, &r->frame, vars, error);
    if (status) return status;
    memcpy(r->vars, vars, var_count * sizeof *vars);
    f = &r->frame;
  }
  size_t needed = f->arena_bytes;
  if (needed > r->block.size) {
    rt_arena_release(&p->context->arenas, &r->block);
    if (!rt_arena_acquire(&p->context->arenas, needed, &r->block)) return no_room(p, needed, error);
  }
  for (size_t i = 0; i < p->temp_count && r->block.boundary; i++) {
    size_t bytes = f->spans[i].bytes;
    if (bytes <= r->block.boundary) continue;
    rt_arena_release(&p->context->arenas, &r->block);
    return p->context->device->table->no_room(p->context->device, rt_program_name(p), bytes, error);
  }
  for (size_t i = 0; i < p->temp_count; i++)
    r->temps[i] = r->block.base ? r->block.base + f->spans[i].offset : NULL;
  if (p->context->options.separate_arrays) return acquire_blocks(p, r, f, error);
  r->filled = true;
  return IR_OK;
}

static bool same_values(const int64_t *a, const int64_t *b, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (a[i] != b[i]) return false;
  return true;
}

ir_status rt_run_fill(rt_program *p, rt_run *r, const int64_t *vars, ir_error *error) {
  uint32_t var_count = p->plan.head->vars;
  if (r->filled && (!var_count || (vars && same_values(r->vars, vars, var_count)))) return IR_OK;
  return fill_run(p, r, vars, error);
}

static ir_status run_with_state(rt_program *p, const rt_arguments *a, ir_error *error) {
  rt_run *r = rt_run_acquire(p, error);
  if (!r) return IR_ERR_MEMORY;
  ir_status status = rt_run_fill(p, r, a->vars, error);
  void *const *const bases[4] = {[IR_SLOT_INPUT] = a->inputs,
                                 [IR_SLOT_OUTPUT] = a->outputs,
                                 [IR_SLOT_TEMP] = r->temps,
                                 [IR_SLOT_DATA] = p->data};
  const rt_frame *f = rt_run_frame(p, r);
  if (!status && !a->recording && !a->watch && p->launch_count == p->plan.head->steps) {
    status = run_kernels(p, f, bases, r->buffers, r->block.base, error);
  } else if (!status) {
    rt_pace pace;
    rt_run_context run_context = {p,        f,           r,    bases, r->buffers, error, a->recording,
                                  a->watch, a->endpoint, &pace};
    rt_pace_begin(&pace, p);
    status = rt_run_steps(&run_context, f->steps, f->steps + f->step_count);
    if (!status && p->copy_count) copy_results(p, f, bases);
    if (status && a->endpoint) a->endpoint->engine->cancel(a->endpoint, error); /* its parts go now */
  }
  rt_run_release(p, r);
  return status;
}

static ir_status run_unmapped(rt_program *p, const rt_arguments *a, ir_error *error) {
  return p->remote ? p->context->device->table->run(p, a, error) : run_with_state(p, a, error);
}

/* A run that reads mapped files, which may change meanwhile. */
static ir_status run_mapped(rt_program *p, const rt_arguments *a, ir_error *error) {
  sigset_t before;
  rt_guard_enter(&before);
  ir_status status = run_unmapped(p, a, error);
  rt_guard_leave(&before);
  return status ? status : rt_program_check_files(p, error);
}

/* Every run except those of plain programs. */
static ir_status run_any(const rt_program *program, const rt_arguments *a, ir_error *error) {
  rt_program *p = (rt_program *)(uintptr_t)program;
  if (p->resource_count && !p->base)
    return ir_fail(error, IR_ERR_INTERNAL, "graph @%s: it reads %zu constants, to which it is not bound",
                   rt_program_name(p), p->resource_count);
  if (p->failed_step) return rt_out_of_range(p, p->failed_step - 1, error);
  return p->file_count || p->maps_entries ? run_mapped(p, a, error) : run_unmapped(p, a, error);
}

static ir_status run_plain(const rt_program *p, void *const *const bases[4], ir_error *error) {
  void *buffers[RT_FEW_PARAMS + 1];
  return run_kernels(p, &p->frame, bases, buffers, NULL, error);
}

ir_status rt_program_run(const rt_program *p, void *const *inputs, void *const *outputs, const int64_t *vars,
                         ir_error *error) {
  void *const *const bases[4] = {
      [IR_SLOT_INPUT] = inputs, [IR_SLOT_OUTPUT] = outputs, [IR_SLOT_TEMP] = NULL, [IR_SLOT_DATA] = p->data};
  if (p->brief) return run_brief(p, bases, error);
  if (p->plain) return run_plain(p, bases, error);
  return run_any(p, &(rt_arguments){.inputs = inputs, .outputs = outputs, .vars = vars}, error);
}

ir_status rt_program_run_timed(const rt_program *p, void *const *inputs, void *const *outputs,
                               const int64_t *vars, int64_t *ns_by_step, ir_error *error) {
  memset(ns_by_step, 0, rt_program_step_count(p) * sizeof *ns_by_step);
  rt_recording recording = {.ns_by_step = ns_by_step};
  return rt_program_run_recorded(p, inputs, outputs, vars, &recording, error);
}

ir_status rt_program_run_recorded(const rt_program *p, void *const *inputs, void *const *outputs,
                                  const int64_t *vars, rt_recording *recording, ir_error *error) {
  return run_any(p, &(rt_arguments){inputs, outputs, vars, recording, NULL, false, NULL}, error);
}

ir_status rt_program_run_watched(const rt_program *p, void *const *inputs, void *const *outputs,
                                 const int64_t *vars, rt_watch *watch, ir_error *error) {
  memset(watch->marks, RT_WATCH_UNKNOWN, p->plan.head->slots);
  return run_any(p, &(rt_arguments){inputs, outputs, vars, NULL, watch, false, NULL}, error);
}

ir_status rt_program_run_placed(const rt_program *p, void *const *inputs, void *const *outputs,
                                const int64_t *vars, ir_error *error) {
  if (!p->remote) return rt_program_run(p, inputs, outputs, vars, error);
  return run_any(p, &(rt_arguments){inputs, outputs, vars, NULL, NULL, true, NULL}, error);
}

ir_status rt_program_run_on(const rt_program *p, rt_endpoint *endpoint, void *const *inputs,
                            void *const *outputs, const int64_t *vars, ir_error *error) {
  return run_any(p, &(rt_arguments){.inputs = inputs, .outputs = outputs, .vars = vars, .endpoint = endpoint},
                 error);
}
