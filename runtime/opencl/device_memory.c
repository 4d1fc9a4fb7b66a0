/* Memory of an OpenCL device: buffers, and the addresses that identify them. */

#include "runtime/memory/layout.h"
#include "runtime/opencl/device.h"
#include "runtime/program/persistent.h"

/* addresses */

static uintptr_t region_of(const void *address) { return (uintptr_t)address >> RT_CL_SHIFT; }
static size_t offset_of(const void *address) {
  return (size_t)((uintptr_t)address & (((uintptr_t)1 << RT_CL_SHIFT) - 1));
}

/* Adds a region to the table. Returns its address; NULL: memory is short. */
static void *add_region(rt_opencl *d, rt_cl_region region) {
  uintptr_t place = 0;
  pthread_mutex_lock(&d->lock);
  if (d->free_region) {
    place = d->free_region;
    d->free_region = (size_t)d->regions[place - 1].bytes;
  } else if (region.bytes >> RT_CL_SHIFT == 0 &&
             IR_RESERVE(&d->mem, d->regions, d->region_cap, d->region_count + 1)) {
    place = ++d->region_count;
  }
  if (place) d->regions[place - 1] = region;
  pthread_mutex_unlock(&d->lock);
  return (void *)(place << RT_CL_SHIFT);
}

static size_t buffer_count(rt_opencl *d, size_t bytes) {
  size_t boundary = rt_cl_boundary(&d->base);
  return bytes / boundary + (bytes % boundary != 0);
}

/* Releases a region of which only the first `count` buffers exist. */
static void release_region(rt_opencl *d, rt_cl_region *r, size_t count) {
  for (size_t i = 0; i < count; i++) d->cl.ReleaseMemObject(r->buffers ? r->buffers[i] : r->buffer);
  if (r->buffers) ir_free(&d->mem, r->buffers, buffer_count(d, r->bytes) * sizeof *r->buffers);
}

void rt_cl_remove(rt_opencl *d, void *address) {
  uintptr_t place = region_of(address);
  if (!place) return;
  pthread_mutex_lock(&d->lock);
  rt_cl_region region = d->regions[place - 1];
  d->regions[place - 1] = (rt_cl_region){.bytes = d->free_region};
  d->free_region = place;
  pthread_mutex_unlock(&d->lock);
  release_region(d, &region, region.buffers ? buffer_count(d, region.bytes) : 1);
}

cl_mem rt_cl_find(rt_opencl *d, const void *address, size_t *offset) {
  uintptr_t place = region_of(address);
  *offset = 0;
  if (!place) return d->empty_buffer;
  pthread_mutex_lock(&d->lock);
  rt_cl_region region = d->regions[place - 1];
  pthread_mutex_unlock(&d->lock);
  *offset = offset_of(address);
  if (!region.buffers) return region.buffer;
  size_t boundary = rt_cl_boundary(&d->base), number = *offset / boundary;
  *offset %= boundary;
  return region.buffers[number];
}

static size_t bytes_of(rt_opencl *d, const void *address) {
  pthread_mutex_lock(&d->lock);
  size_t bytes = (size_t)d->regions[region_of(address) - 1].bytes;
  pthread_mutex_unlock(&d->lock);
  return bytes;
}

/* buffers */

/* Makes a buffer and its address. host NULL: in the device's memory; otherwise on the host's bytes. */
static ir_status make_buffer(rt_opencl *d, cl_mem_flags flags, void *host, size_t bytes, void **address,
                             ir_error *error) {
  cl_int code = CL_INVALID_BUFFER_SIZE;
  *address = NULL;
  ir_status status = rt_cl_ready(d, error);
  if (status) return status;
  cl_mem buffer = NULL; /* larger than the stated limit is tried too: some drivers allow it */
  if (bytes >> RT_CL_SHIFT == 0)
    buffer = d->cl.CreateBuffer(d->context, flags | (host ? CL_MEM_USE_HOST_PTR : 0), bytes, host, &code);
  if (!buffer && bytes > d->properties.buffer)
    return ir_fail(error, IR_ERR_MEMORY,
                   "device %s: a buffer of %zu bytes is too large; a buffer of this device has at most %llu",
                   d->properties.name, bytes, (unsigned long long)d->properties.buffer);
  if (!buffer) return rt_cl_fail(error, code, "device %s: a buffer of %zu bytes", d->properties.name, bytes);
  *address = add_region(d, (rt_cl_region){.buffer = buffer, .bytes = bytes});
  if (*address) return IR_OK;
  d->cl.ReleaseMemObject(buffer);
  return ir_fail(error, IR_ERR_MEMORY, "out of memory for a buffer");
}

cl_int rt_cl_unmap(rt_opencl *d, cl_command_queue queue, cl_mem buffer, void *mapped) {
  cl_int code = d->cl.EnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL);
  if (code) code = d->cl.EnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL);
  rt_cl_mapped *kept = code ? ir_alloc(&d->mem, sizeof *kept) : NULL;
  if (!kept || d->cl.RetainMemObject(buffer) != CL_SUCCESS) {
    ir_free(&d->mem, kept, kept ? sizeof *kept : 0);
    return code;
  }
  pthread_mutex_lock(&d->lock);
  *kept = (rt_cl_mapped){d->mapped, buffer, mapped};
  d->mapped = kept;
  pthread_mutex_unlock(&d->lock);
  return code;
}

void rt_cl_unmap_all(rt_opencl *d) {
  for (rt_cl_mapped *at = d->mapped, *next; at; at = next) {
    next = at->next;
    d->cl.EnqueueUnmapMemObject(d->queue, at->buffer, at->address, 0, NULL, NULL);
    d->cl.Finish(d->queue);
    d->cl.ReleaseMemObject(at->buffer);
    ir_free(&d->mem, at, sizeof *at);
  }
  d->mapped = NULL;
}

ir_status rt_cl_wrap(rt_opencl *d, void *host, size_t bytes, bool writes, void **address, ir_error *error) {
  return make_buffer(d, writes ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY, host, bytes, address, error);
}

static bool allocate_block(void *device, size_t size, rt_block *out) {
  void *address;
  if (make_buffer(device, CL_MEM_READ_WRITE, NULL, size, &address, NULL) != IR_OK) return false;
  *out = (rt_block){.base = address, .size = size};
  return true;
}
static void release_block(void *device, rt_block *block) { rt_cl_remove(device, block->base); }

const rt_block_source rt_cl_blocks = {allocate_block, release_block};

/* several buffers with one address */

size_t rt_cl_boundary(rt_device *device) {
  uint64_t most = ((rt_opencl *)device)->properties.buffer;
  return most >> RT_CL_SHIFT ? 0 : (size_t)most & ~(size_t)(RT_LAYOUT_ALIGN - 1);
}

static bool allocate_split(rt_opencl *d, size_t size, rt_block *out) {
  size_t boundary = rt_cl_boundary(&d->base), count = buffer_count(d, size), made = 0;
  rt_cl_region region = {.buffers = ir_alloc(&d->mem, count * sizeof *region.buffers), .bytes = size};
  if (!region.buffers) return false;
  for (; made < count; made++) {
    size_t bytes = made + 1 < count ? boundary : size - made * boundary;
    region.buffers[made] = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
    if (!region.buffers[made]) break;
  }
  region.buffer = region.buffers[0];
  void *address = made == count ? add_region(d, region) : NULL;
  if (address) *out = (rt_block){.base = address, .size = size, .boundary = boundary};
  else release_region(d, &region, made);
  return address != NULL;
}

static bool allocate_or_split(void *device, size_t size, rt_block *out) {
  rt_opencl *d = device;
  size_t boundary = rt_cl_boundary(&d->base);
  if (allocate_block(device, size, out)) return true;
  return boundary && size > boundary && d->queue && allocate_split(d, size, out);
}

const rt_block_source rt_cl_split_blocks = {allocate_or_split, release_block};

/* arrays that outlive runs */

static ir_status fail_memory(rt_opencl *d, cl_int code, const char *what, size_t bytes, ir_error *error) {
  return rt_cl_fail(error, code, "device %s: %s %zu bytes", d->properties.name, what, bytes);
}

/* Transfers all elements, to the device if `there`, in order with the commands of the device's queue, and
 * waits. */
static cl_int transfer(rt_opencl *d, rt_memory *m, void *address, bool there) {
  cl_int code;
  rt_cl_staging *f = rt_cl_staging_acquire(d, &code);
  if (f)
    code = there ? rt_cl_staging_write(d, f, d->queue, address, m->host, m->bytes)
                 : rt_cl_staging_read(d, f, d->queue, NULL, m->host, address, m->bytes);
  if (!code) code = rt_cl_staging_finish(d, f);
  rt_cl_staging_release(d, f);
  return code;
}

ir_status rt_cl_memory_place(rt_device *device, rt_memory *m, bool keep, ir_error *error) {
  rt_opencl *d = (rt_opencl *)device;
  if (m->address) return IR_OK;
  if (d->properties.unified) {
    if (!rt_memory_host(&d->mem, m, true))
      return ir_fail(error, IR_ERR_MEMORY, "out of memory for %zu bytes of elements", m->bytes);
    return make_buffer(d, CL_MEM_READ_WRITE, m->host, m->bytes, &m->address, error);
  }
  rt_block block;
  if (!rt_arena_acquire(&d->pool, m->bytes, &block)) return rt_cl_no_room(d, "session", m->bytes, error);
  cl_int code = keep && m->host ? transfer(d, m, block.base, true) : CL_SUCCESS;
  if (code) rt_arena_release(&d->pool, &block);
  m->address = block.base;
  return code == CL_SUCCESS ? IR_OK : fail_memory(d, code, "writing", m->bytes, error);
}

ir_status rt_cl_memory_read(rt_device *device, rt_memory *m, ir_error *error) {
  rt_opencl *d = (rt_opencl *)device;
  size_t offset;
  cl_int code;
  if (!m->address) return IR_OK;
  if (d->properties.unified) {
    cl_mem buffer = rt_cl_find(d, m->address, &offset);
    void *there =
        d->cl.EnqueueMapBuffer(d->queue, buffer, CL_TRUE, CL_MAP_READ, 0, m->bytes, 0, NULL, NULL, &code);
    if (there) code = rt_cl_unmap(d, d->queue, buffer, there);
  } else {
    code = transfer(d, m, m->address, false);
  }
  return code == CL_SUCCESS ? IR_OK : fail_memory(d, code, "reading", m->bytes, error);
}

void rt_cl_memory_free(rt_device *device, rt_memory *m) {
  rt_opencl *d = (rt_opencl *)device;
  if (d->properties.unified) {
    rt_cl_finish(d); /* commands may use the host's memory, which is freed next */
    rt_cl_remove(d, m->address);
  } else { /* commands in the queue finish before those of the block's next user */
    rt_block block = {.base = m->address, .size = bytes_of(d, m->address)};
    rt_arena_release(&d->pool, &block);
  }
  m->address = NULL;
}
