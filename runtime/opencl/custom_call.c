/* Custom operations in a run on an OpenCL device: by their own OpenCL C, or else by their function on the
 * host. */
#include <string.h>

#include "runtime/context.h"
#include "runtime/native/native.h"
#include "runtime/opencl/run.h"

static size_t bytes_of(const rt_array *a) { return (size_t)a->elements * ir_dtypes[a->dtype].bytes; }

/* the operation's function on the host, called between commands of the device */

static ir_status map_array(const rt_run_context *r, rt_array *a, cl_map_flags flags, void **mapped,
                           ir_error *error) {
  rt_opencl *d = (rt_opencl *)r->program->context->device;
  const rt_cl_state *s = r->run->device;
  size_t offset;
  cl_int code = CL_SUCCESS;
  *mapped = NULL;
  if (!bytes_of(a)) return IR_OK;
  cl_mem buffer = rt_cl_find(d, a->data, &offset);
  *mapped =
      d->cl.EnqueueMapBuffer(s->queue, buffer, CL_TRUE, flags, offset, bytes_of(a), 0, NULL, NULL, &code);
  if (code) *mapped = NULL;
  return code ? rt_cl_fail(error, code, "device %s: mapping %zu bytes for the host", d->properties.name,
                           bytes_of(a))
              : IR_OK;
}

static ir_status unmap_array(const rt_run_context *r, void *address, void *mapped, ir_error *error) {
  rt_opencl *d = (rt_opencl *)r->program->context->device;
  const rt_cl_state *s = r->run->device;
  size_t offset;
  if (!mapped) return IR_OK;
  cl_mem buffer = rt_cl_find(d, address, &offset);
  cl_int code = rt_cl_unmap(d, s->queue, buffer, mapped);
  return code ? rt_cl_fail(error, code, "device %s: unmapping bytes from the host", d->properties.name)
              : IR_OK;
}

static ir_status call_host(const rt_run_context *r, const void *found, const rt_call *call, ir_error *error) {
  const rt_calls *calls = &r->program->context->options.calls;
  rt_cl_state *s = r->run->device;
  ir_status status = rt_cl_check(r->program, s, error);
  return status ? status : calls->run(calls->user, found, call, error);
}

/* The operation's OpenCL C, if it has any. */
static bool text_of(const rt_program *p, const void *found, rt_call_text *out) {
  const rt_calls *calls = &p->context->options.calls;
  return calls->text && calls->text(calls->user, found, out);
}

bool rt_cl_reports(const rt_program *p, uint32_t step) {
  rt_call_text text;
  return p->plan.steps[step].kind == IR_STEP_CALL && text_of(p, p->calls[step], &text) &&
         text.native->reports;
}

/* Calls the function on the host, with all arrays mapped during the call. */
static ir_status call_mapped(const rt_run_context *r, const void *found, rt_call *call, ir_error *error) {
  uint32_t count = call->result_count + call->operand_count;
  const ir_mem *mem = rt_context_mem(r->program->context);
  rt_array *arrays = r->run->arrays; /* the call's arrays: results, then operands */
  size_t size = 2 * count * sizeof(void *);
  void **mapped = ir_alloc(mem, size), **addresses = mapped + count;
  ir_status status = IR_OK;
  if (!mapped) return ir_fail(error, IR_ERR_MEMORY, "out of memory for a call");
  memset(mapped, 0, size);
  for (uint32_t i = 0; i < count; i++) addresses[i] = arrays[i].data;
  for (uint32_t i = 0; i < count && !status; i++) {
    bool result = i < call->result_count;
    status = map_array(r, &arrays[i], result ? CL_MAP_WRITE : CL_MAP_READ, &mapped[i], error);
  }
  for (uint32_t i = 0; i < count; i++) arrays[i].data = mapped[i];
  if (!status) status = call_host(r, found, call, error);
  for (uint32_t i = 0; i < count; i++) {
    ir_status back = unmap_array(r, addresses[i], mapped[i], status ? NULL : error);
    if (!status) status = back;
  }
  ir_free(mem, mapped, size);
  return status;
}

ir_status rt_cl_call(const rt_run_context *r, const rt_step *step, const void *found, rt_call *call,
                     ir_error *error) {
  const rt_program *p = r->program;
  rt_cl_state *s = r->run->device;
  rt_call_text text;
  ir_status status = IR_OK;
  for (uint32_t i = 0; i < call->result_count + call->operand_count && !status; i++)
    status = rt_cl_send_input(r, r->run->arrays[i].data);
  if (status) return status;
  if (!text_of(p, found, &text)) return call_mapped(r, found, call, error);
  cl_mem word = s->status_words[step->number], empty_buffer = ((rt_opencl *)p->context->device)->empty_buffer;
  s->unread |= word != NULL;
  return rt_cl_call_text(r, &text, word ? word : empty_buffer, call, error);
}
