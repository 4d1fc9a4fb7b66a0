/* Elements on their way between the host's arrays and a device with memory of its own. They go in pieces
 * through memory that the driver reaches by itself, so that the host copies one piece while the device
 * fetches another. No command touches the host's arrays: whatever fails, nothing uses them after a call.
 *
 * A run has a ferry for itself, whose queue stands beside that of kernels: kernels wait for what they read
 * alone. */
#include <string.h>

#include "runtime/opencl/device.h"

enum { PIECE = 4 << 20 };

static size_t piece_of(const rt_opencl *d) {
  uint64_t most = d->facts.buffer / RT_CL_PIECES;
  return most && most < PIECE ? (size_t)most : PIECE;
}

/* making */

static void sink(rt_opencl *d, rt_cl_ferry *f) {
  if (f->at) rt_cl_unmap(d, f->queue, f->memory, f->at);
  if (f->queue) d->cl.Finish(f->queue);
  if (f->memory) d->cl.ReleaseMemObject(f->memory);
  if (f->queue) d->cl.ReleaseCommandQueue(f->queue);
  ir_free(&d->mem, f, sizeof *f);
}

static cl_int equip(rt_opencl *d, rt_cl_ferry *f) {
  size_t size = RT_CL_PIECES * piece_of(d);
  cl_int code;
  f->queue = d->cl.CreateCommandQueue(d->context, d->facts.id, 0, &code);
  if (f->queue)
    f->memory = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
  if (f->memory)
    f->at = d->cl.EnqueueMapBuffer(f->queue, f->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL,
                                   NULL, &code);
  for (int i = 0; i < RT_CL_PIECES; i++) f->pieces[i].at = f->at + i * (size / RT_CL_PIECES);
  return code;
}

static rt_cl_ferry *build(rt_opencl *d, cl_int *code) {
  rt_cl_ferry *f = ir_alloc(&d->mem, sizeof *f);
  *code = CL_OUT_OF_HOST_MEMORY;
  if (!f) return NULL;
  *f = (rt_cl_ferry){0};
  *code = equip(d, f);
  if (!*code) return f;
  sink(d, f);
  return NULL;
}

rt_cl_ferry *rt_cl_ferry_take(rt_opencl *d, cl_int *code) {
  *code = CL_SUCCESS;
  pthread_mutex_lock(&d->lock);
  rt_cl_ferry *f = d->ferries;
  if (f) d->ferries = f->next;
  pthread_mutex_unlock(&d->lock);
  return f ? f : build(d, code);
}

cl_int rt_cl_ferry_follow(rt_opencl *d, rt_cl_ferry *f) {
  cl_event all = NULL;
  if (rt_cl_is_idle(d)) return CL_SUCCESS;
  cl_int code = d->cl.EnqueueMarkerWithWaitList(d->queue, 0, NULL, &all);
  if (code) return code;
  code = d->cl.EnqueueBarrierWithWaitList(f->queue, 1, &all, NULL);
  if (!code) code = d->cl.Flush(d->queue);
  d->cl.ReleaseEvent(all);
  return code;
}

void rt_cl_ferry_give(rt_opencl *d, rt_cl_ferry *f) {
  if (!f) return;
  for (int i = 0; i < RT_CL_PIECES; i++) f->pieces[i].to = NULL; /* nobody wants it any more */
  if (rt_cl_ferry_settle(d, f) != CL_SUCCESS) {                  /* nobody knows what it still does */
    sink(d, f);
    return;
  }
  pthread_mutex_lock(&d->lock);
  f->next = d->ferries;
  d->ferries = f;
  pthread_mutex_unlock(&d->lock);
}

void rt_cl_ferries_free(rt_opencl *d) {
  for (rt_cl_ferry *f = d->ferries, *next; f; f = next) {
    next = f->next;
    sink(d, f);
  }
  d->ferries = NULL;
}

/* pieces */

/* The piece's command is done, and what it fetched is where it belongs. */
static cl_int settle(rt_opencl *d, rt_cl_piece *piece) {
  if (!piece->event) return CL_SUCCESS;
  cl_int code = d->cl.WaitForEvents(1, &piece->event);
  if (code) d->cl.WaitForEvents(1, &piece->event); /* it may use the piece */
  if (!code && piece->to) memcpy(piece->to, piece->at, piece->bytes);
  d->cl.ReleaseEvent(piece->event);
  piece->event = NULL;
  piece->to = NULL;
  return code;
}

cl_int rt_cl_ferry_settle(rt_opencl *d, rt_cl_ferry *f) {
  cl_int first = CL_SUCCESS;
  for (int i = 0; i < RT_CL_PIECES; i++) { /* in the order in which they were sent */
    cl_int code = settle(d, &f->pieces[(f->turn + i) % RT_CL_PIECES]);
    if (!first) first = code;
  }
  return first;
}

/* The next piece, free, for so many bytes at most. */
static cl_int next_piece(rt_opencl *d, rt_cl_ferry *f, size_t bytes, rt_cl_piece **out) {
  size_t most = piece_of(d);
  *out = &f->pieces[f->turn];
  cl_int code = settle(d, *out);
  (*out)->bytes = bytes < most ? bytes : most;
  if (!code) f->turn = (f->turn + 1) % RT_CL_PIECES;
  return code;
}

cl_int rt_cl_ferry_send(rt_opencl *d, rt_cl_ferry *f, cl_command_queue queue, void *to, const void *from,
                        size_t bytes) {
  size_t offset, sent = 0;
  cl_mem buffer = rt_cl_find(d, to, &offset);
  cl_int code = CL_SUCCESS;
  for (rt_cl_piece *piece; sent < bytes && !code; sent += piece->bytes) {
    if ((code = next_piece(d, f, bytes - sent, &piece))) break;
    memcpy(piece->at, (const uint8_t *)from + sent, piece->bytes);
    code = d->cl.EnqueueWriteBuffer(queue, buffer, CL_FALSE, offset + sent, piece->bytes, piece->at, 0, NULL,
                                    &piece->event);
    if (!code) code = d->cl.Flush(queue);
  }
  return code;
}

cl_int rt_cl_ferry_arrived(rt_opencl *d, rt_cl_ferry *f, cl_command_queue queue) {
  const rt_cl_piece *last = &f->pieces[(f->turn + RT_CL_PIECES - 1) % RT_CL_PIECES];
  return last->event ? d->cl.EnqueueBarrierWithWaitList(queue, 1, &last->event, NULL) : CL_SUCCESS;
}

cl_int rt_cl_ferry_fetch(rt_opencl *d, rt_cl_ferry *f, cl_command_queue queue, const cl_event *after,
                         void *to, const void *from, size_t bytes) {
  size_t offset, asked = 0;
  cl_mem buffer = rt_cl_find(d, from, &offset);
  cl_int code = CL_SUCCESS;
  for (rt_cl_piece *piece; asked < bytes && !code; asked += piece->bytes) {
    if ((code = next_piece(d, f, bytes - asked, &piece))) break;
    code = d->cl.EnqueueReadBuffer(queue, buffer, CL_FALSE, offset + asked, piece->bytes, piece->at,
                                   after != NULL, after, &piece->event);
    piece->to = (uint8_t *)to + asked;
    if (!code) code = d->cl.Flush(queue);
  }
  return code;
}
