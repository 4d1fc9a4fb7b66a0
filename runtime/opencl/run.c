/* Runs on an OpenCL device. The steps become commands in an in-order queue; the host waits only where it
 * needs a value, such as a condition. Each step that checks indices has a status word of its own. The host
 * reads these words at the end of the run, and wherever it waits anyway. */
#include "runtime/program/run.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/opencl/device.h"
#include "runtime/opencl/run.h"

static rt_opencl *device_of(const rt_program *p) { return (rt_opencl *)p->context->device; }
static const rt_cl_code *code_of(const rt_program *p) { return p->code.made; }

/* literal arrays */

ir_status rt_cl_prepare(rt_program *p, ir_error *error) {
  rt_opencl *d = device_of(p);
  rt_memory data = {.bytes = (size_t)p->plan.head->data, .host = (void *)(uintptr_t)p->plan.data};
  ir_status status = rt_cl_ready(d, error);
  if (status || !p->data_count || !data.bytes) return status;
  status = rt_cl_memory_place(&d->base, &data, true, error);
  if (status) return status;
  p->device = data.address;
  for (uint32_t i = 0; i < p->plan.head->slots; i++)
    if (p->plan.slots[i].kind == IR_SLOT_DATA)
      p->data[p->number_in_kind[i]] = (uint8_t *)data.address + p->plan.slots[i].data;
  return IR_OK;
}

void rt_cl_retire(rt_program *p) {
  if (!p->device) return;
  rt_memory data = {.address = p->device};
  rt_cl_memory_free(&device_of(p)->base, &data);
  p->device = NULL;
}

/* the state of a run */

/* Can the step report a failure? */
static bool step_checks(const rt_program *p, uint32_t i) {
  const rt_plan_step *step = &p->plan.steps[i];
  return step->kind == IR_STEP_KERNEL ? code_of(p)->kernels[step->kernel].checks : rt_cl_reports(p, i);
}

static uint32_t checking_steps(const rt_program *p) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) count += step_checks(p, i);
  return count;
}

static uintptr_t lay_out_state(const rt_program *p, rt_cl_state *s, uintptr_t at) {
  const rt_plan_head *h = p->plan.head;
  rt_lay_out(&at, 1, sizeof *s);
  s->kernels = rt_lay_out(&at, h->kernels, sizeof *s->kernels);
  s->status_words = rt_lay_out(&at, h->steps, sizeof *s->status_words);
  s->inputs = rt_lay_out(&at, p->input_count, sizeof *s->inputs);
  s->outputs = rt_lay_out(&at, h->results, sizeof *s->outputs);
  s->bound = rt_lay_out(&at, p->input_count + h->results, sizeof *s->bound);
  s->read = rt_lay_out(&at, s->stride * s->checking, 1);
  return at;
}

static size_t state_size(const rt_program *p, const rt_cl_state *like) {
  rt_cl_state measured = {.stride = like->stride, .checking = like->checking};
  return (size_t)lay_out_state(p, &measured, 0);
}

void rt_cl_drop_run(rt_program *p, rt_run *r) {
  rt_opencl *d = device_of(p);
  rt_cl_state *s = r->device;
  for (uint32_t i = 0; i < p->plan.head->kernels; i++)
    if (s->kernels[i]) d->cl.ReleaseKernel(s->kernels[i]);
  for (uint32_t i = 0; i < p->plan.head->steps; i++)
    if (s->status_words[i]) d->cl.ReleaseMemObject(s->status_words[i]);
  if (s->status) d->cl.ReleaseMemObject(s->status);
  ir_free(&d->mem, s, state_size(p, s));
  r->device = NULL;
}

/* Makes a status word for each step that checks: a sub-buffer, at the distance that the alignment of
 * sub-buffers requires. */
static cl_int make_words(const rt_program *p, rt_cl_state *s) {
  rt_opencl *d = device_of(p);
  cl_int code = CL_SUCCESS;
  if (!s->checking) return code;
  s->dirty = true;
  s->status = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE, s->stride * s->checking, NULL, &code);
  size_t at = 0;
  for (uint32_t i = 0; i < p->plan.head->steps && !code; i++) {
    if (!step_checks(p, i)) continue;
    cl_buffer_region region = {at, sizeof(cl_int)};
    s->status_words[i] =
        d->cl.CreateSubBuffer(s->status, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    at += s->stride;
  }
  return code;
}

/* Each run state has kernel objects of its own, because they hold the arguments. */
static ir_status make_state(rt_program *p, rt_run *r, ir_error *error) {
  rt_opencl *d = device_of(p);
  if (r->device) return IR_OK;
  rt_cl_state like = {.stride = d->properties.alignment, .checking = checking_steps(p)};
  size_t size = state_size(p, &like);
  rt_cl_state *s = ir_alloc(&d->mem, size);
  if (!s) return ir_fail(error, IR_ERR_MEMORY, "graph @%s: out of memory for a run", rt_program_name(p));
  memset(s, 0, size);
  *s = like;
  lay_out_state(p, s, (uintptr_t)s);
  r->device = s;
  cl_int code = CL_SUCCESS;
  for (uint32_t i = 0; i < p->plan.head->kernels && !code; i++)
    s->kernels[i] = d->cl.CreateKernel(code_of(p)->program, code_of(p)->kernels[i].name, &code);
  if (!code) code = make_words(p, s);
  if (!code) return IR_OK;
  rt_cl_drop_run(p, r);
  return rt_cl_fail(error, code, "graph @%s: device %s: making its kernels", rt_program_name(p),
                    d->properties.name);
}

/* commands */

static ir_status fail_command(const rt_program *p, cl_int code, const char *what, ir_error *error) {
  return rt_cl_fail(error, code, "graph @%s: device %s: %s", rt_program_name(p),
                    device_of(p)->properties.name, what);
}

/* Ends the sending of a command: fails, or counts the command. */
static ir_status sent(const rt_program *p, cl_int code, const char *what, ir_error *error) {
  if (code != CL_SUCCESS) return fail_command(p, code, what, error);
  rt_cl_sent(device_of(p));
  return IR_OK;
}

/* The number of iterations of the loop over groups that each work-group executes. */
static int64_t iterations_of_group(const rt_program *p, const rt_step *s) {
  enum { GROUPS_A_THREAD = 4, GROUPS_A_UNIT = 32 };
  int64_t units = device_of(p)->properties.units, threads = rt_pool_threads(p->pool), least, most;
  if (p->context->target.group_items) {
    least = 1;
    most = units * GROUPS_A_UNIT;
  } else {
    least = s->grain ? s->grain : s->count;
    most = threads > 1 ? (threads < units ? threads : units) * GROUPS_A_THREAD : 1;
  }
  int64_t even = s->count / most + (s->count % most != 0);
  return even > least ? even : least;
}

typedef struct argument_writer {
  rt_opencl *device;
  cl_kernel kernel;
  cl_uint number;
  cl_int code;
} argument_writer;

static void pass_argument(argument_writer *a, const void *value, size_t size) {
  if (!a->code) a->code = a->device->cl.SetKernelArg(a->kernel, a->number++, size, value);
}
static void pass_number(argument_writer *a, int64_t number) {
  cl_long value = number;
  pass_argument(a, &value, sizeof value);
}

/* In the order that cg_opencl documents. */
static cl_int pass_arguments(const rt_run_context *r, const rt_step *s, cl_kernel kernel,
                             int64_t iterations) {
  const rt_program *p = r->program;
  const rt_plan_step *plan = &p->plan.steps[s->number];
  const rt_cl_state *state = r->run->device;
  argument_writer a = {device_of(p), kernel, 0, CL_SUCCESS};
  for (uint32_t i = 0; i < s->params; i++) {
    const rt_plan_slot *slot = &p->plan.slots[p->plan.step_slots[plan->slots + i]];
    size_t offset;
    cl_mem buffer = rt_cl_find(a.device, rt_address(r->bases, s->sources[i]), &offset);
    pass_argument(&a, &buffer, sizeof buffer);
    pass_number(&a, (int64_t)(offset / ir_dtypes[slot->dtype].bytes));
  }
  pass_argument(&a,
                state->status_words[s->number] ? &state->status_words[s->number] : &a.device->empty_buffer,
                sizeof(cl_mem));
  for (uint32_t i = 0; i < plan->var_count; i++) pass_number(&a, s->vars[i]);
  pass_number(&a, s->count);
  pass_number(&a, iterations);
  return a.code;
}

/* Waits for the launches that are pending, and notes the times that the device measured. */
static cl_int collect_times(rt_opencl *d, rt_recording *r) {
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < r->pending_count; i++) {
    cl_event event = r->pending[i].event;
    cl_ulong begin = 0, end = 0;
    if (!code) code = d->cl.WaitForEvents(1, &event);
    if (!code)
      code = d->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    if (!code) code = d->cl.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    d->cl.ReleaseEvent(event);
    if (code) continue;
    if (!r->clock_ns) r->clock_ns = r->pending[i].sent_ns - (int64_t)begin;
    rt_record(r, r->pending[i].step, (int64_t)begin + r->clock_ns, end > begin ? (int64_t)(end - begin) : 0);
  }
  r->pending_count = 0;
  return code;
}

/* Notes a launch whose time the device is going to measure. */
static cl_int add_pending(rt_opencl *d, rt_recording *r, cl_event event, uint32_t step) {
  cl_int code = r->pending_count == RT_PENDING ? collect_times(d, r) : CL_SUCCESS;
  r->pending[r->pending_count].event = event;
  r->pending[r->pending_count].sent_ns = ir_now_ns();
  r->pending[r->pending_count++].step = step;
  return code;
}

/* Does the kernel write an array that the run was given, a reference in place? */
static bool changes_input(const rt_program *p, const rt_step *s) {
  for (uint32_t i = 0; i < p->plan.steps[s->number].written; i++)
    if (s->sources[i] >> RT_SOURCE_SHIFT == IR_SLOT_INPUT) return true;
  return false;
}

/* What earlier steps check must hold before an array that the run was given is changed. */
static ir_status check_first(const rt_run_context *r) {
  rt_cl_state *s = r->run->device;
  return s->unread ? rt_cl_check(r->program, s, r->error) : IR_OK;
}

ir_status rt_cl_launch(const rt_run_context *r, const rt_step *s) {
  const rt_program *p = r->program;
  rt_opencl *d = device_of(p);
  rt_cl_state *state = r->run->device;
  uint32_t number = p->plan.steps[s->number].kernel;
  const rt_cl_kernel *kernel = &code_of(p)->kernels[number];
  int64_t iterations = iterations_of_group(p, s),
          groups = s->count / iterations + (s->count % iterations != 0);
  size_t local = kernel->items, global = (size_t)groups * local;
  cl_event event = NULL;
  ir_status status = changes_input(p, s) ? check_first(r) : IR_OK;
  for (uint32_t i = 0; i < s->params && state->unsent_count && !status; i++)
    status = rt_cl_send_input(r, rt_address(r->bases, s->sources[i]));
  if (status) return status;
  state->unread |= state->status_words[s->number] != NULL;
  cl_int code = pass_arguments(r, s, state->kernels[number], iterations);
  if (!code)
    code = d->cl.EnqueueNDRangeKernel(state->queue, state->kernels[number], 1, NULL, &global, &local, 0, NULL,
                                      r->recording ? &event : NULL);
  if (event) code = add_pending(d, r->recording, event, s->number);
  return sent(p, code, kernel->name, r->error);
}

ir_status rt_cl_copy(const rt_run_context *r, void *to, const void *from, size_t bytes) {
  rt_opencl *d = device_of(r->program);
  const rt_cl_state *state = r->run->device;
  size_t to_offset, from_offset;
  ir_status status = rt_cl_send_input(r, from);
  if (!status) status = rt_cl_send_input(r, to);
  if (status) return status;
  cl_mem to_buffer = rt_cl_find(d, to, &to_offset), from_buffer = rt_cl_find(d, from, &from_offset);
  cl_int code = d->cl.EnqueueCopyBuffer(state->queue, from_buffer, to_buffer, from_offset, to_offset, bytes,
                                        0, NULL, NULL);
  return sent(r->program, code, "copying", r->error);
}

/* waiting */

/* After a wait: reads the status words of all steps, and fails if one is set. */
ir_status rt_cl_check(const rt_program *p, rt_cl_state *s, ir_error *error) {
  rt_opencl *d = device_of(p);
  if (!s->checking) return IR_OK;
  cl_int code = d->cl.EnqueueReadBuffer(s->queue, s->status, CL_TRUE, 0, s->stride * s->checking, s->read, 0,
                                        NULL, NULL);
  if (code) return fail_command(p, code, "reading what index checks found", error);
  const uint8_t *at = s->read;
  for (uint32_t i = 0; i < p->plan.head->steps; i++) {
    if (!s->status_words[i]) continue;
    cl_int word;
    memcpy(&word, at, sizeof word);
    at += s->stride;
    if (!word) continue;
    s->dirty = true;
    if (p->plan.steps[i].kind == IR_STEP_KERNEL) return rt_out_of_range(p, i, error);
    return ir_fail(error, IR_ERR_DEVICE, "graph @%s: custom operation %s: it failed on device %s",
                   rt_program_name(p), p->plan.names + p->plan.steps[i].kernel, d->properties.name);
  }
  s->unread = false;
  return IR_OK;
}

ir_status rt_cl_read(const rt_run_context *r, const void *from, void *to, size_t bytes) {
  const rt_program *p = r->program;
  rt_opencl *d = device_of(p);
  rt_cl_state *state = r->run->device;
  size_t offset;
  ir_status status = rt_cl_send_input(r, from);
  if (status) return status;
  cl_mem buffer = rt_cl_find(d, from, &offset);
  cl_int code = d->cl.EnqueueReadBuffer(state->queue, buffer, CL_TRUE, offset, bytes, to, 0, NULL, NULL);
  return code ? fail_command(p, code, "reading a value", r->error) : rt_cl_check(p, state, r->error);
}

ir_status rt_cl_write(const rt_run_context *r, void *to, const void *from, size_t bytes) {
  const rt_program *p = r->program;
  rt_opencl *d = device_of(p);
  const rt_cl_state *state = r->run->device;
  size_t offset;
  ir_status status = rt_cl_send_input(r, to); /* which is changed in part */
  if (status) return status;
  cl_mem buffer = rt_cl_find(d, to, &offset);
  cl_int code = d->cl.EnqueueWriteBuffer(state->queue, buffer, CL_TRUE, offset, bytes, from, 0, NULL, NULL);
  return sent(p, code, "writing what an exchange has brought", r->error);
}

ir_status rt_cl_read_predicate(const rt_run_context *r, const void *predicate, bool *out) {
  uint8_t byte = 0;
  ir_status status = rt_cl_read(r, predicate, &byte, 1);
  *out = byte != 0;
  return status;
}

/* running */

/* Runs the steps, with a marker after the last step of each result, so that the result can be fetched while
 * later steps run. */
static ir_status run_noting(const rt_run_context *r, const rt_frame *f) {
  const rt_step *end = f->steps + f->step_count;
  ir_status status = IR_OK;
  for (const rt_step *s = f->steps, *next; s < end && !status; s = next) {
    next = rt_step_after(s);
    status = rt_run_steps(r, s, next);
    if (!status && next < end) status = rt_cl_note_results(r, s);
  }
  return status;
}

/* Is an array that the run was given copied to after all steps? */
static bool copies_to_given(const rt_program *p, const rt_arguments *a) {
  for (size_t k = 0; k < p->copy_count; k++)
    for (size_t i = 0; i < p->input_count; i++)
      if (p->copies[k].source >> RT_SOURCE_SHIFT != IR_SLOT_INPUT &&
          a->outputs[p->copies[k].result] == a->inputs[i])
        return true;
  return false;
}

static ir_status run_steps(rt_program *p, rt_run *r, const rt_frame *f, void *const *inputs,
                           void *const *outputs, const rt_arguments *a, ir_error *error) {
  void *const *const bases[4] = {[IR_SLOT_INPUT] = inputs,
                                 [IR_SLOT_OUTPUT] = outputs,
                                 [IR_SLOT_TEMP] = r->temps,
                                 [IR_SLOT_DATA] = p->data};
  const rt_cl_state *s = r->device;
  rt_pace pace;
  rt_run_context run_context = {p,        f,           r,    bases, r->buffers, error, a->recording,
                                a->watch, a->endpoint, &pace};
  rt_pace_begin(&pace, p);
  ir_status status = s->staging ? run_noting(&run_context, f)
                                : rt_run_steps(&run_context, f->steps, f->steps + f->step_count);
  if (!status && s->unread && copies_to_given(p, a)) status = check_first(&run_context);
  for (size_t i = 0; i < p->copy_count && !status; i++) {
    const rt_copy *copy = &p->copies[i];
    void *to = outputs[copy->result], *from = rt_address(bases, copy->source);
    if (f->bytes[copy->slot] && to != from) status = rt_cl_copy(&run_context, to, from, f->bytes[copy->slot]);
  }
  return status;
}

/* Runs on arrays of the host. All commands are done when it returns. */
static ir_status run_on_host(rt_program *p, rt_run *r, const rt_frame *f, const rt_arguments *a,
                             ir_error *error) {
  rt_cl_state *s = r->device;
  ir_status status = rt_cl_bind(p, f, s, a, error);
  if (!status) status = run_steps(p, r, f, s->inputs, s->outputs, a, error);
  if (!status) status = rt_cl_fetch(p, s, false, error);
  else if (status == IR_ERR_RANGE) rt_cl_fetch(p, s, true, NULL); /* what was written before stays */
  ir_status waited = rt_cl_unbind(p, s, status ? NULL : error);
  if (!status) status = waited;
  return status ? status : rt_cl_check(p, s, error);
}

/* Runs on arrays that are on the device already. Without checks, it returns while the commands still run. */
static ir_status run_placed(rt_program *p, rt_run *r, const rt_frame *f, const rt_arguments *a,
                            ir_error *error) {
  rt_cl_state *s = r->device;
  ir_status status = run_steps(p, r, f, a->inputs, a->outputs, a, error);
  if (status) rt_cl_drain(device_of(p));
  else if (s->checking) status = rt_cl_check(p, s, error);
  else device_of(p)->cl.Flush(s->queue);
  return status;
}

/* The queue for the run's commands: a timed run uses one that measures. */
static ir_status choose_queue(rt_program *p, rt_cl_state *s, bool timed, ir_error *error) {
  rt_opencl *d = device_of(p);
  s->queue = d->queue;
  if (!timed) return IR_OK;
  cl_int code = d->cl.Finish(d->queue);
  pthread_mutex_lock(&d->lock);
  if (!d->timed && !code)
    d->timed = d->cl.CreateCommandQueue(d->context, d->properties.id, CL_QUEUE_PROFILING_ENABLE, &code);
  s->queue = d->timed;
  pthread_mutex_unlock(&d->lock);
  return code ? fail_command(p, code, "measuring", error) : IR_OK;
}

/* Clears the status words, if one may be set. */
static ir_status clear_words(rt_program *p, rt_cl_state *s, ir_error *error) {
  rt_opencl *d = device_of(p);
  const cl_int zero = 0;
  if (!s->dirty) return IR_OK;
  cl_int code = d->cl.EnqueueFillBuffer(s->queue, s->status, &zero, sizeof zero, 0, s->stride * s->checking,
                                        0, NULL, NULL);
  s->dirty = code != CL_SUCCESS;
  return sent(p, code, "clearing what index checks found", error);
}

ir_status rt_cl_run(rt_program *p, const rt_arguments *a, ir_error *error) {
  rt_run *r = rt_run_acquire(p, error);
  if (!r) return IR_ERR_MEMORY;
  ir_status status = rt_run_fill(p, r, a->vars, error);
  if (!status) status = make_state(p, r, error);
  rt_cl_state *s = r->device;
  if (!status) status = choose_queue(p, s, a->recording != NULL, error);
  if (!status) status = clear_words(p, s, error);
  const rt_frame *f = rt_run_frame(p, r);
  if (s) s->unread = false;
  if (!status) status = a->placed ? run_placed(p, r, f, a, error) : run_on_host(p, r, f, a, error);
  cl_int code = a->recording ? collect_times(device_of(p), a->recording) : CL_SUCCESS;
  if (code && !status) status = fail_command(p, code, "measuring", error);
  if (status && s) s->dirty = s->checking > 0;
  if (status && a->endpoint) a->endpoint->engine->cancel(a->endpoint, error); /* its parts go now */
  rt_run_release(p, r);
  return status;
}
