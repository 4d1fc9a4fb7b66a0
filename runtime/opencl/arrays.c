/* The host's arrays in a run on an OpenCL device. A device that shares the host's memory computes in the
 * arrays themselves. Any other device computes in copies. An input is sent when the first command needs it,
 * so that commands that do not need it run meanwhile; a result is fetched as soon as the last step that
 * writes it is done. */
#include <string.h>

#include "runtime/context.h"
#include "runtime/opencl/run.h"

static rt_opencl *device_of(const rt_program *p) { return (rt_opencl *)p->context->device; }

static ir_status fail_transfer(const rt_program *p, cl_int code, const char *what, ir_error *error) {
  return rt_cl_fail(error, code, "graph @%s: device %s: %s", rt_program_name(p),
                    device_of(p)->properties.name, what);
}

/* before the run */

/* The device's buffer for an array of the host: a buffer on the array's own memory, or a block for a copy. */
static ir_status bind_array(const rt_program *p, rt_cl_bound *b, bool writes, void **address,
                            ir_error *error) {
  rt_opencl *d = device_of(p);
  *address = NULL;
  if (!b->bytes) return IR_OK;
  if (d->properties.unified) {
    ir_status status = rt_cl_wrap(d, b->host, b->bytes, writes, address, error);
    b->wrapped = *address;
    return status;
  }
  if (!rt_arena_acquire(&d->pool, b->bytes, &b->block))
    return rt_cl_no_room(d, rt_program_name(p), b->bytes, error);
  *address = b->block.base;
  return IR_OK;
}

/* The input whose copy on the device becomes the result, an array that the run changes in place; NULL: none.
 */
static rt_cl_bound *changed_input(const rt_program *p, rt_cl_state *s, size_t result, const void *host) {
  uint32_t slot = p->plan.results[result];
  if (p->kinds[slot] != IR_SLOT_INPUT) return NULL;
  rt_cl_bound *input = &s->bound[p->number_in_kind[slot]];
  return input->block.base && input->host == host ? input : NULL;
}

/* Finds the last step that uses each result. The results that are copied after all steps have none (NULL). */
static void find_last(const rt_program *p, const rt_frame *f, rt_cl_bound *results) {
  const rt_step *end = f->steps + f->step_count;
  for (const rt_step *s = f->steps, *next; s < end; s = next) {
    next = rt_step_after(s);
    for (const rt_step *inside = s; inside < next; inside++)
      for (uint32_t i = 0; i < p->plan.steps[inside->number].slot_count; i++)
        if (inside->sources[i] >> RT_SOURCE_SHIFT == IR_SLOT_OUTPUT)
          results[inside->sources[i] & RT_SOURCE_NUMBER].last = s;
  }
  for (size_t i = 0; i < p->copy_count; i++) results[p->copies[i].result].last = NULL;
}

/* Transfers begin after the commands sent so far: their blocks may have been released by other runs whose
 * commands still use them. */
static ir_status acquire_staging(const rt_program *p, rt_cl_state *s, ir_error *error) {
  rt_opencl *d = device_of(p);
  cl_int code;
  s->staging = rt_cl_staging_acquire(d, &code);
  if (!code) code = rt_cl_staging_follow(d, s->staging);
  return code ? fail_transfer(p, code, "preparing transfers", error) : IR_OK;
}

ir_status rt_cl_bind(const rt_program *p, const rt_frame *f, rt_cl_state *s, const rt_arguments *a,
                     ir_error *error) {
  size_t inputs = p->input_count, results = p->plan.head->results;
  ir_status status = IR_OK;
  memset(s->bound, 0, (inputs + results) * sizeof *s->bound);
  s->unsent_count = 0;
  for (size_t i = 0; i < inputs && !status; i++) {
    s->bound[i] = (rt_cl_bound){.host = a->inputs[i], .bytes = f->bytes[p->inputs[i]]};
    status = bind_array(p, &s->bound[i], false, &s->inputs[i], error);
    s->bound[i].unsent = s->bound[i].block.base != NULL;
    s->unsent_count += s->bound[i].unsent;
  }
  for (size_t i = 0; i < results && !status; i++) {
    rt_cl_bound *b = &s->bound[inputs + i];
    *b = (rt_cl_bound){.host = a->outputs[i], .bytes = f->bytes[p->plan.results[i]]};
    b->changed = changed_input(p, s, i, b->host);
    if (b->changed) s->outputs[i] = b->changed->block.base;
    else status = bind_array(p, b, true, &s->outputs[i], error);
  }
  if (status || device_of(p)->properties.unified) return status;
  find_last(p, f, s->bound + inputs);
  return acquire_staging(p, s, error);
}

/* while it runs */

static cl_int send_array(rt_opencl *d, rt_cl_state *s, rt_cl_bound *b) {
  cl_int code = d->cl.Flush(s->queue); /* commands that need not wait run while the host copies */
  if (!code) code = rt_cl_staging_write(d, s->staging, s->staging->queue, b->block.base, b->host, b->bytes);
  return code ? code : rt_cl_staging_order(d, s->staging, s->queue);
}

ir_status rt_cl_send_input(const rt_run_context *r, const void *address) {
  const rt_program *p = r->program;
  rt_cl_state *s = r->run->device;
  for (size_t i = 0; i < p->input_count && s->unsent_count; i++) {
    rt_cl_bound *b = &s->bound[i];
    if (!b->unsent || !rt_cl_same_region(address, b->block.base)) continue;
    b->unsent = false;
    s->unsent_count--;
    cl_int code = send_array(device_of(p), s, b);
    return code ? fail_transfer(p, code, "sending an input", r->error) : IR_OK;
  }
  return IR_OK;
}

ir_status rt_cl_note_results(const rt_run_context *r, const rt_step *step) {
  const rt_program *p = r->program;
  rt_cl_state *s = r->run->device;
  for (size_t i = 0; i < p->plan.head->results; i++) {
    rt_cl_bound *b = &s->bound[p->input_count + i];
    if (b->last != step || !b->bytes) continue;
    cl_int code = device_of(p)->cl.EnqueueMarkerWithWaitList(s->queue, 0, NULL, &b->done);
    if (code) return fail_transfer(p, code, "marking a result", r->error);
  }
  return IR_OK;
}

/* after the run */

/* Where the device shares the host's memory, mapping and unmapping the buffer makes the host's array
 * current. */
static cl_int sync_host_copy(rt_opencl *d, const rt_cl_state *s, const rt_cl_bound *b) {
  cl_int code = CL_SUCCESS;
  size_t offset;
  if (!b->bytes) return code;
  cl_mem buffer = rt_cl_find(d, b->wrapped, &offset);
  void *there =
      d->cl.EnqueueMapBuffer(s->queue, buffer, CL_FALSE, CL_MAP_READ, 0, b->bytes, 0, NULL, NULL, &code);
  return there ? rt_cl_unmap(d, s->queue, buffer, there) : code;
}

/* Fetch the results, or of them only what the run has changed: first those that are complete before the last
 * step (`done` is set), then the others, when all steps are done. An input that no step used has not been
 * sent: the host has its elements. */
static cl_int fetch_copies(rt_opencl *d, rt_cl_state *s, const rt_cl_bound *results, size_t count,
                           bool changed) {
  cl_event all = NULL;
  cl_int code = d->cl.EnqueueMarkerWithWaitList(s->queue, 0, NULL, &all);
  if (!code) code = d->cl.Flush(s->queue);
  for (int early = 1; early >= 0; early--)
    for (size_t i = 0; i < count && !code; i++) {
      const rt_cl_bound *b = &results[i], *from = b->changed ? b->changed : b;
      if (from->unsent || (changed && !b->changed)) continue;
      if ((b->done != NULL) == early)
        code = rt_cl_staging_read(d, s->staging, s->staging->queue, early ? &b->done : &all, b->host,
                                  from->block.base, b->bytes);
    }
  if (!code) code = rt_cl_staging_finish(d, s->staging);
  if (all) d->cl.ReleaseEvent(all);
  return code;
}

ir_status rt_cl_fetch(const rt_program *p, rt_cl_state *s, bool changed, ir_error *error) {
  rt_opencl *d = device_of(p);
  size_t results = p->plan.head->results;
  const rt_cl_bound *first = s->bound + p->input_count;
  cl_int code = d->properties.unified ? CL_SUCCESS : fetch_copies(d, s, first, results, changed);
  for (size_t i = 0; d->properties.unified && i < results && !code; i++)
    code = sync_host_copy(d, s, &first[i]);
  return code ? fail_transfer(p, code, "fetching a result", error) : IR_OK;
}

ir_status rt_cl_unbind(const rt_program *p, rt_cl_state *s, ir_error *error) {
  rt_opencl *d = device_of(p);
  rt_cl_staging_release(d, s->staging);
  s->staging = NULL;
  s->unsent_count = 0;
  cl_int code = CL_SUCCESS;
  if (s->queue == d->queue) code = rt_cl_drain(d);
  else if ((code = d->cl.Finish(s->queue))) d->cl.Finish(s->queue);
  for (size_t i = 0; i < p->input_count + p->plan.head->results; i++) {
    rt_cl_bound *b = &s->bound[i];
    if (b->done) d->cl.ReleaseEvent(b->done);
    if (b->wrapped) rt_cl_remove(d, b->wrapped);
    rt_arena_release(&d->pool, &b->block);
    *b = (rt_cl_bound){0};
  }
  return code ? fail_transfer(p, code, "running", error) : IR_OK;
}
