/* Finding programs in the cache, and building them. An entry on disk (kind "plan") is a plan followed by the
 * image of all its kernels, so that a warm start opens one file. Each kernel is also an entry of its own
 * (kernel_cache.c), so that graphs share kernels: a new graph of known kernels compiles nothing. */
#include <string.h>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/image/bundle.h"
#include "runtime/program/kernel_cache.h"
#include "runtime/program/program.h"

static const char kind[] = "plan";

static rt_program *from_memory(rt_context *c, const void *key, size_t size) {
  pthread_mutex_lock(&c->lock);
  rt_program *p = rt_memo_find(&c->programs, key, size);
  if (p) rt_program_retain(p), c->lookups.from_memory++;
  pthread_mutex_unlock(&c->lock);
  return p;
}

static void count(rt_context *c, int64_t *what) {
  pthread_mutex_lock(&c->lock);
  ++*what;
  pthread_mutex_unlock(&c->lock);
}

rt_lookups rt_context_lookups(rt_context *c) {
  pthread_mutex_lock(&c->lock);
  rt_lookups lookups = c->lookups;
  lookups.programs = (int64_t)c->programs.count;
  lookups.kernels = (int64_t)c->kernels.count;
  pthread_mutex_unlock(&c->lock);
  return lookups;
}

/* Keeps the program in memory for later look-ups. If another thread has stored one under this key, returns
 * that one instead. */
static rt_program *keep_in_memory(rt_context *c, const void *key, size_t size, rt_program *p) {
  if (size == 0) return p;
  pthread_mutex_lock(&c->lock);
  rt_program *other = rt_memo_find(&c->programs, key, size);
  if (other) {
    rt_program_retain(other);
  } else {
    rt_program_retain(p);
    atomic_store_explicit(&p->cached, true, memory_order_relaxed);
    if (!rt_memo_put(&c->programs, key, size, p, 1)) {
      atomic_store_explicit(&p->cached, false, memory_order_relaxed);
      rt_program_release(p);
    }
  }
  pthread_mutex_unlock(&c->lock);
  if (other) rt_program_release(p);
  return other ? other : p;
}

/* Makes a program of a found entry, which is released or taken over by the code. The plan is read in
 * place. */
static ir_status load_program(rt_context *c, rt_found *found, rt_program **out, ir_error *error) {
  const uint8_t *bytes = found->payload;
  size_t size = rt_plan_size(bytes, found->size);
  rt_code code = {0};
  rt_plan plan;
  ir_status status = IR_OK;
  if (!rt_plan_read(bytes, size, &plan)) status = IR_ERR_INVALID; /* a miss */
  else if (found->size > size)
    status = c->device->table->adopt(c, plan.names, found, size, plan.head->kernels, &code, error);
  if (!status) status = rt_program_make(c, bytes, size, &code, out, error);
  rt_disk_release(found);
  if (!status) {
    uint32_t kernels = (*out)->plan.head->kernels;
    (*out)->stats =
        (rt_stats){.launches = (uint32_t)(*out)->launch_count, .kernels = kernels, .from_disk = kernels};
  }
  return status;
}

ir_status rt_program_find(rt_context *c, const void *key, size_t size, rt_program **out, ir_error *error) {
  *out = from_memory(c, key, size);
  if (*out) return IR_OK;
  rt_disk *disk = rt_context_disk(c, NULL);
  if (!disk) return count(c, &c->lookups.misses), IR_OK;
  rt_full_key full;
  ir_status status = rt_full_key_make(c, key, size, &full, error);
  rt_found found;
  if (!status && rt_disk_get(disk, kind, full.bytes, full.size, &found)) {
    ir_error own = {0};
    rt_program *p;
    status = load_program(c, &found, &p, &own);
    if (!status) *out = keep_in_memory(c, key, size, p);
    else if (ir_gives_up(status) || (status != IR_ERR_INVALID && rt_is_remote(c->device)))
      ir_fail(error, status, "%s", own.text);
    else { /* unusable: a miss */ status = IR_OK;
      rt_disk_remove(disk, kind, full.bytes, full.size);
      count(c, &c->lookups.invalidations);
    }
  }
  if (!status) count(c, *out ? &c->lookups.from_disk : &c->lookups.misses);
  rt_full_key_free(&full);
  return status;
}

/* Joins the bytes of an entry: the plan, then the image of its kernels if there are any. */
static ir_status join_entry(rt_context *c, const rt_plan_bytes *plan, const rt_flat *images, size_t count,
                            rt_flat *out, ir_error *error) {
  rt_flat image = {0};
  ir_status status = count ? rt_image_pack(&c->mem, images, count, &image, error) : IR_OK;
  if (status) return status;
  *out = (rt_flat){ir_alloc(&c->mem, plan->size + image.size), plan->size + image.size};
  if (out->bytes) {
    memcpy(out->bytes, plan->bytes, plan->size);
    if (image.size) memcpy(out->bytes + plan->size, image.bytes, image.size);
  } else {
    status = ir_fail(error, IR_ERR_MEMORY, "out of memory for %zu bytes of plan and code", out->size);
  }
  rt_flat_free(&c->mem, &image);
  return status;
}

/* Loads the code in the entry, and adds the image that the device wants to keep with it, if memory allows.
 * Making that image may take as long as compiling, so it is made only where there is a cache on disk. */
static ir_status load_code(rt_context *c, const char *name, const rt_plan_bytes *plan, rt_flat *images,
                           rt_flat *entry, rt_code *code, ir_error *error) {
  const rt_device_table *device = c->device->table;
  size_t count = plan->kernel_count;
  rt_flat more;
  ir_status status = device->load(c, name, entry->bytes + plan->size, entry->size - plan->size,
                                  (uint32_t)count, code, error);
  if (status || !device->binary_image || !rt_context_disk(c, NULL)) return status;
  if (device->binary_image(c, code, &images[count], NULL) != IR_OK || !images[count].bytes) return IR_OK;
  if (join_entry(c, plan, images, count + 1, &more, NULL) != IR_OK) return IR_OK;
  rt_flat_free(&c->mem, entry);
  *entry = more;
  return IR_OK;
}

/* Gets the code of all kernels, and makes the entry and the program. images: room for the kernels' images and
 * one more. */
static ir_status assemble(rt_context *c, const char *name, ir_task *task, const rt_plan_bytes *plan,
                          rt_flat *images, rt_flat *entry, rt_program **out, ir_error *error) {
  rt_stats stats = {0};
  ir_status status = rt_kernels_get(c, name, task, plan->kernels, plan->kernel_count, images, &stats, error);
  if (status) return status;
  int64_t start = ir_timer_start(c->options.timer);
  rt_code code = {0};
  size_t count = plan->kernel_count;
  status = join_entry(c, plan, images, count, entry, error);
  ir_timer_lap(c->options.timer, &start, "assemble", -1, NULL);
  if (!status && count) status = load_code(c, name, plan, images, entry, &code, error);
  start = ir_timer_start(c->options.timer); /* the device notes the time of loading */
  for (size_t i = 0; i <= count; i++) rt_flat_free(&c->mem, &images[i]);
  if (!status) status = rt_program_make(c, entry->bytes, plan->size, &code, out, error);
  if (status) return status;
  ir_timer_lap(c->options.timer, &start, "assemble", -1, NULL);
  stats.launches = (uint32_t)(*out)->launch_count;
  (*out)->stats = stats;
  return IR_OK;
}

static void keep_on_disk(rt_context *c, const void *key, size_t size, const rt_flat *entry) {
  rt_disk *disk = size ? rt_context_disk(c, NULL) : NULL;
  rt_full_key full;
  if (!disk) return;
  if (!rt_full_key_make(c, key, size, &full, NULL))
    rt_disk_put(disk, kind, full.bytes, full.size, entry->bytes, entry->size);
  rt_full_key_free(&full);
}

/* They move from the plan to the program. */
static void keep_kernels(rt_plan_bytes *from, rt_program *to) {
  to->keys = from->kernels;
  to->key_count = from->kernel_count;
  to->key_cap = from->kernel_cap;
  from->kernels = NULL;
  from->kernel_count = from->kernel_cap = 0;
}

ir_status rt_program_build(rt_context *c, const char *name, const ir_graph *g, const ir_plan *plan,
                           const void *key, size_t size, rt_program **out, ir_error *error) {
  *out = NULL;
  rt_plan_bytes bytes;
  ir_error own = {0}; /* an error that the caller recorded earlier must not replace ours */
  int64_t start = ir_timer_start(c->options.timer);
  ir_status status = rt_plan_make(&c->mem, name, g, plan, &bytes, &own);
  ir_timer_lap(c->options.timer, &start, "plan", -1, NULL);
  if (!status) {
    size_t room = (bytes.kernel_count + 1) * sizeof(rt_flat);
    rt_flat entry = {0}, *images = ir_alloc(&c->mem, room);
    if (images)
      memset(images, 0, room), status = assemble(c, name, g->task, &bytes, images, &entry, out, &own);
    else status = ir_fail(&own, IR_ERR_MEMORY, "graph @%s: out of memory building it", name);
    if (!status && c->options.ahead) keep_kernels(&bytes, *out);
    if (!status) {
      start = ir_timer_start(c->options.timer);
      keep_on_disk(c, key, size, &entry);
      ir_timer_lap(c->options.timer, &start, "store", -1, NULL);
      *out = keep_in_memory(c, key, size, *out);
    }
    rt_flat_free(&c->mem, &entry);
    ir_free(&c->mem, images, room);
  }
  rt_plan_bytes_free(&c->mem, &bytes);
  return status ? ir_fail(error, status, "%s", own.text) : IR_OK;
}
