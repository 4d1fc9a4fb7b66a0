/* Transfers between the host's arrays and a device with memory of its own, through a staging buffer in pinned
 * memory, which the driver can access directly. It has two chunks (double buffering), so the host copies one
 * while the device transfers the other. No command accesses the host's arrays, so nothing uses them after a
 * call, whether it fails or not.
 *
 * Each run has a staging buffer of its own with a queue of its own, apart from the queue of kernels: a kernel
 * waits only for the transfers of the arrays that it reads. */
#include <string.h>

#include "runtime/opencl/device.h"

enum { CHUNK_BYTES = 4 << 20 };

static size_t chunk_size(const rt_opencl *d) {
  uint64_t most = d->properties.buffer / RT_CL_CHUNKS;
  return most && most < CHUNK_BYTES ? (size_t)most : CHUNK_BYTES;
}

/* making */

static void close_staging(rt_opencl *d, rt_cl_staging *f) {
  if (f->at) rt_cl_unmap(d, f->queue, f->memory, f->at);
  if (f->queue) d->cl.Finish(f->queue);
  if (f->memory) d->cl.ReleaseMemObject(f->memory);
  if (f->queue) d->cl.ReleaseCommandQueue(f->queue);
  ir_free(&d->mem, f, sizeof *f);
}

static cl_int create_buffers(rt_opencl *d, rt_cl_staging *f) {
  size_t size = RT_CL_CHUNKS * chunk_size(d);
  cl_int code;
  f->queue = d->cl.CreateCommandQueue(d->context, d->properties.id, 0, &code);
  if (f->queue)
    f->memory = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  if (f->memory)
    f->at = d->cl.EnqueueMapBuffer(f->queue, f->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL,
                                   NULL, &code);
  for (int i = 0; i < RT_CL_CHUNKS; i++) f->chunks[i].at = f->at + i * (size / RT_CL_CHUNKS);
  return code;
}

static rt_cl_staging *create_staging(rt_opencl *d, cl_int *code) {
  rt_cl_staging *f = ir_alloc(&d->mem, sizeof *f);
  *code = CL_OUT_OF_HOST_MEMORY;
  if (!f) return NULL;
  *f = (rt_cl_staging){0};
  *code = create_buffers(d, f);
  if (!*code) return f;
  close_staging(d, f);
  return NULL;
}

rt_cl_staging *rt_cl_staging_acquire(rt_opencl *d, cl_int *code) {
  *code = CL_SUCCESS;
  pthread_mutex_lock(&d->lock);
  rt_cl_staging *f = d->idle_staging;
  if (f) d->idle_staging = f->next;
  pthread_mutex_unlock(&d->lock);
  return f ? f : create_staging(d, code);
}

cl_int rt_cl_staging_follow(rt_opencl *d, rt_cl_staging *f) {
  cl_event all = NULL;
  if (rt_cl_is_idle(d)) return CL_SUCCESS;
  cl_int code = d->cl.EnqueueMarkerWithWaitList(d->queue, 0, NULL, &all);
  if (code) return code;
  code = d->cl.EnqueueBarrierWithWaitList(f->queue, 1, &all, NULL);
  if (!code) code = d->cl.Flush(d->queue);
  d->cl.ReleaseEvent(all);
  return code;
}

void rt_cl_staging_release(rt_opencl *d, rt_cl_staging *f) {
  if (!f) return;
  for (int i = 0; i < RT_CL_CHUNKS; i++) f->chunks[i].to = NULL; /* drop bytes not yet delivered */
  if (rt_cl_staging_finish(d, f) != CL_SUCCESS) {                /* its commands may still run */
    close_staging(d, f);
    return;
  }
  pthread_mutex_lock(&d->lock);
  f->next = d->idle_staging;
  d->idle_staging = f;
  pthread_mutex_unlock(&d->lock);
}

void rt_cl_staging_free(rt_opencl *d) {
  for (rt_cl_staging *f = d->idle_staging, *next; f; f = next) {
    next = f->next;
    close_staging(d, f);
  }
  d->idle_staging = NULL;
}

/* chunks */

/* Waits for the command of the chunk, and delivers what it fetched. */
static cl_int finish_chunk(rt_opencl *d, rt_cl_chunk *chunk) {
  if (!chunk->event) return CL_SUCCESS;
  cl_int code = d->cl.WaitForEvents(1, &chunk->event);
  if (code) d->cl.WaitForEvents(1, &chunk->event); /* the command may still use the chunk */
  if (!code && chunk->to) memcpy(chunk->to, chunk->at, chunk->bytes);
  d->cl.ReleaseEvent(chunk->event);
  chunk->event = NULL;
  chunk->to = NULL;
  return code;
}

cl_int rt_cl_staging_finish(rt_opencl *d, rt_cl_staging *f) {
  cl_int first = CL_SUCCESS;
  for (int i = 0; i < RT_CL_CHUNKS; i++) { /* oldest first */
    cl_int code = finish_chunk(d, &f->chunks[(f->next_chunk + i) % RT_CL_CHUNKS]);
    if (!first) first = code;
  }
  return first;
}

/* Waits for the next chunk to be free; (*out)->bytes is what fits of `bytes`. */
static cl_int acquire_chunk(rt_opencl *d, rt_cl_staging *f, size_t bytes, rt_cl_chunk **out) {
  size_t most = chunk_size(d);
  *out = &f->chunks[f->next_chunk];
  cl_int code = finish_chunk(d, *out);
  (*out)->bytes = bytes < most ? bytes : most;
  if (!code) f->next_chunk = (f->next_chunk + 1) % RT_CL_CHUNKS;
  return code;
}

cl_int rt_cl_staging_write(rt_opencl *d, rt_cl_staging *f, cl_command_queue queue, void *to, const void *from,
                           size_t bytes) {
  size_t offset, sent = 0;
  cl_mem buffer = rt_cl_find(d, to, &offset);
  cl_int code = CL_SUCCESS;
  for (rt_cl_chunk *chunk; sent < bytes && !code; sent += chunk->bytes) {
    if ((code = acquire_chunk(d, f, bytes - sent, &chunk))) break;
    memcpy(chunk->at, (const uint8_t *)from + sent, chunk->bytes);
    code = d->cl.EnqueueWriteBuffer(queue, buffer, CL_FALSE, offset + sent, chunk->bytes, chunk->at, 0, NULL,
                                    &chunk->event);
    if (!code) code = d->cl.Flush(queue);
  }
  return code;
}

cl_int rt_cl_staging_order(rt_opencl *d, rt_cl_staging *f, cl_command_queue queue) {
  const rt_cl_chunk *last = &f->chunks[(f->next_chunk + RT_CL_CHUNKS - 1) % RT_CL_CHUNKS];
  return last->event ? d->cl.EnqueueBarrierWithWaitList(queue, 1, &last->event, NULL) : CL_SUCCESS;
}

cl_int rt_cl_staging_read(rt_opencl *d, rt_cl_staging *f, cl_command_queue queue, const cl_event *after,
                          void *to, const void *from, size_t bytes) {
  size_t offset, asked = 0;
  cl_mem buffer = rt_cl_find(d, from, &offset);
  cl_int code = CL_SUCCESS;
  for (rt_cl_chunk *chunk; asked < bytes && !code; asked += chunk->bytes) {
    if ((code = acquire_chunk(d, f, bytes - asked, &chunk))) break;
    code = d->cl.EnqueueReadBuffer(queue, buffer, CL_FALSE, offset + asked, chunk->bytes, chunk->at,
                                   after != NULL, after, &chunk->event);
    chunk->to = (uint8_t *)to + asked;
    if (!code) code = d->cl.Flush(queue);
  }
  return code;
}
