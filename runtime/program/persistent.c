/* Arrays that outlive runs (rt_memory). */

#include "runtime/context.h"
#include "runtime/program/persistent.h"

/* Devices that share the host's memory can use an array in place if it is aligned to pages and fills them. */
enum { ALIGN = 64, PAGE = 4096 };

bool rt_memory_host(const ir_mem *mem, rt_memory *m, bool shared) {
  if (m->host) return true;
  size_t align = shared && m->bytes >= PAGE ? PAGE : ALIGN;
  if (m->bytes > PTRDIFF_MAX - 2 * align) return false;
  size_t padded = (m->bytes + align - 1) & ~(align - 1);
  void *block = ir_alloc(mem, padded + align);
  if (!block) return false;
  m->block = block;
  m->block_bytes = padded + align;
  m->host = (void *)(((uintptr_t)block + align - 1) & ~(uintptr_t)(align - 1));
  return true;
}

static ir_status short_of_memory(const rt_memory *m, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory for %zu bytes of elements", m->bytes);
}

ir_status rt_memory_make(rt_context *c, size_t bytes, rt_memory *out, ir_error *error) {
  *out = (rt_memory){.bytes = bytes};
  if (rt_is_remote(c->device)) return IR_OK;
  if (!rt_memory_host(&c->mem, out, false)) return short_of_memory(out, error);
  out->address = out->host;
  out->host_current = true;
  return IR_OK;
}

void rt_memory_adopt(rt_context *c, const void *elements, size_t bytes, rt_release release, void *user,
                     rt_memory *out) {
  static const uint64_t nothing[ALIGN / sizeof(uint64_t)];
  *out = (rt_memory){
      .bytes = bytes, .host_current = true, .adopted = elements, .release = release, .user = user};
  out->host = (void *)(uintptr_t)(bytes ? elements : nothing);
  if (!rt_is_remote(c->device)) out->address = out->host;
}

void *rt_memory_write(rt_context *c, rt_memory *m, ir_error *error) {
  if (!rt_memory_host(&c->mem, m, rt_is_remote(c->device))) {
    short_of_memory(m, error);
    return NULL;
  }
  m->host_current = true;
  return m->host;
}

const void *rt_memory_read(rt_context *c, rt_memory *m, ir_error *error) {
  if (m->host_current && m->host) return m->host;
  if (!rt_memory_host(&c->mem, m, rt_is_remote(c->device))) {
    short_of_memory(m, error);
    return NULL;
  }
  if (m->bytes && rt_is_remote(c->device) && c->device->table->memory_read(c->device, m, error) != IR_OK)
    return NULL;
  m->host_current = true;
  return m->host;
}

ir_status rt_memory_place(rt_context *c, rt_memory *m, bool keep, ir_error *error) {
  if (!rt_is_remote(c->device)) return IR_OK;
  if (m->bytes) {
    ir_status status = c->device->table->memory_place(c->device, m, keep, error);
    if (status) return status;
  }
  if (!keep) m->host_current = false;
  return IR_OK;
}

void rt_memory_free(rt_context *c, rt_memory *m) {
  if (m->address && rt_is_remote(c->device)) c->device->table->memory_free(c->device, m);
  if (m->block) ir_free(&c->mem, m->block, m->block_bytes);
  if (m->release) m->release(m->adopted, m->user);
  *m = (rt_memory){0};
}
