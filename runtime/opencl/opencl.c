/* OpenCL devices: choosing one, opening and closing it. */
#include "runtime/opencl/opencl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/opencl/device.h"

static const rt_device_table opencl_table;

/* choosing */

static bool contains_word(const char *name, const char *word) {
  size_t length = strlen(word);
  for (; *name; name++) {
    size_t i = 0;
    while (i < length && name[i] && tolower((unsigned char)name[i]) == tolower((unsigned char)word[i])) i++;
    if (i == length) return true;
  }
  return false;
}

static ir_status no_such(const rt_cl_properties *list, size_t count, const char *name, const char *why,
                         ir_error *error) {
  char names[600] = "";
  size_t used = 0;
  for (size_t i = 0; i < count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%sopencl:%zu (%.60s)", i ? ", " : "", i,
                             list[i].name);
  return ir_fail(error, IR_ERR_DEVICE, "device '%.80s' %s; there %s %s", name, why, count == 1 ? "is" : "are",
                 names);
}

/* Chooses a device. which: the text after "opencl:": a number, or a part of the name of a device or else of a
 * platform; NULL: the first device. */
static ir_status choose_device(const rt_cl_properties *list, size_t count, const char *name,
                               const char *which, size_t *out, ir_error *error) {
  size_t length = which ? strlen(which) : 0, found = 0;
  *out = 0;
  if (!which) return IR_OK;
  if (strspn(which, "0123456789") == length) {
    for (size_t i = 0; i < length && *out <= count; i++) *out = *out * 10 + (size_t)(which[i] - '0');
    return *out < count ? IR_OK : no_such(list, count, name, "is not there", error);
  }
  for (int platforms = 0; platforms < 2 && !found; platforms++)
    for (size_t i = 0; i < count; i++) {
      if (!contains_word(platforms ? list[i].platform_name : list[i].name, which)) continue;
      if (!found) *out = i;
      found++;
    }
  if (found == 1) return IR_OK;
  return no_such(list, count, name, found ? "is a part of several names" : "is not there", error);
}

static ir_status open_device(rt_opencl *d, const char *name, ir_error *error) {
  size_t count, chosen;
  rt_cl_properties *list = ir_alloc(&d->mem, RT_CL_DEVICES * sizeof *list);
  if (!list) return ir_fail(error, IR_ERR_MEMORY, "out of memory listing devices");
  ir_status status = rt_cl_list(&d->cl, list, &count, error);
  if (!status) status = choose_device(list, count, name, name[6] ? name + 7 : NULL, &chosen, error);
  if (!status) {
    d->properties = list[chosen];
    const char *lacks = rt_cl_missing_feature(&d->properties);
    if (lacks)
      status = ir_fail(error, IR_ERR_DEVICE, "device opencl:%zu (%s) cannot be used: %s", chosen,
                       d->properties.name, lacks);
  }
  ir_free(&d->mem, list, RT_CL_DEVICES * sizeof *list);
  return status;
}

ir_status rt_opencl_open(const ir_mem *mem, const char *name, bool separate_arrays, rt_device **out,
                         ir_error *error) {
  *out = NULL;
  rt_opencl *d = ir_alloc(mem, sizeof *d);
  if (!d) return ir_fail(error, IR_ERR_MEMORY, "out of memory making a context");
  *d = (rt_opencl){.base = {&opencl_table}, .mem = *mem};
  atomic_init(&d->sent, 0);
  atomic_init(&d->done, 0);
  ir_status status = rt_cl_load(NULL, &d->cl, error);
  if (!status) status = open_device(d, name, error);
  bool lock = !status && pthread_mutex_init(&d->lock, NULL) == 0;
  if (!status &&
      (!lock || !rt_arenas_init(&d->pool, &rt_cl_blocks, d, separate_arrays ? 0 : RT_ARENA_MOST))) {
    if (lock) pthread_mutex_destroy(&d->lock);
    status = ir_fail(error, IR_ERR_MEMORY, "out of memory making a context");
  }
  if (status) {
    rt_cl_unload(&d->cl);
    ir_free(mem, d, sizeof *d);
    return status;
  }
  *out = &d->base;
  return IR_OK;
}

static void close_device(rt_device *device) {
  rt_opencl *d = (rt_opencl *)device;
  if (d->queue) d->cl.Finish(d->queue);
  rt_cl_staging_free(d);
  rt_cl_unmap_all(d);
  rt_arenas_free(&d->pool);
  rt_cl_customs_free(d);
  if (d->empty_buffer) d->cl.ReleaseMemObject(d->empty_buffer);
  if (d->timed) d->cl.ReleaseCommandQueue(d->timed);
  if (d->queue) d->cl.ReleaseCommandQueue(d->queue);
  if (d->context) d->cl.ReleaseContext(d->context);
  ir_free(&d->mem, d->regions, d->region_cap * sizeof *d->regions);
  pthread_mutex_destroy(&d->lock);
  rt_cl_unload(&d->cl);
  ir_mem mem = d->mem;
  ir_free(&mem, d, sizeof *d);
}

/* running */

static ir_status make_ready(rt_opencl *d, ir_error *error) {
  cl_int code = CL_SUCCESS;
  if (d->queue) return IR_OK;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              (cl_context_properties)d->properties.platform, 0};
  if (!d->context) d->context = d->cl.CreateContext(properties, 1, &d->properties.id, NULL, NULL, &code);
  if (d->context && !d->empty_buffer)
    d->empty_buffer = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE, sizeof(cl_long), NULL, &code);
  if (d->empty_buffer) d->queue = d->cl.CreateCommandQueue(d->context, d->properties.id, 0, &code);
  return d->queue ? IR_OK : rt_cl_fail(error, code, "opening device %s", d->properties.name);
}

ir_status rt_cl_ready(rt_opencl *d, ir_error *error) {
  pthread_mutex_lock(&d->lock);
  ir_status status = make_ready(d, error);
  pthread_mutex_unlock(&d->lock);
  return status;
}

cl_int rt_cl_drain(rt_opencl *d) {
  uint_fast64_t sent = atomic_load_explicit(&d->sent, memory_order_relaxed),
                done = atomic_load_explicit(&d->done, memory_order_acquire);
  cl_int code = d->cl.Finish(d->queue);
  if (code) d->cl.Finish(d->queue);
  while (done < sent && !atomic_compare_exchange_weak_explicit(&d->done, &done, sent, memory_order_release,
                                                               memory_order_acquire)) {}
  return code;
}

void rt_cl_finish(rt_opencl *d) {
  if (!rt_cl_is_idle(d)) rt_cl_drain(d);
}

ir_status rt_cl_no_room(rt_opencl *d, const char *name, size_t bytes, ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY,
                 "graph @%s: device %s has no room for a buffer of %zu bytes; it has %llu in all, and at "
                 "most %llu in one buffer",
                 name, d->properties.name, bytes, (unsigned long long)d->properties.memory,
                 (unsigned long long)d->properties.buffer);
}

static ir_status no_room(rt_device *device, const char *name, size_t bytes, ir_error *error) {
  return rt_cl_no_room((rt_opencl *)device, name, bytes, error);
}

static ir_status describe_target(rt_device *device, ir_target *out, ir_text *machine, ir_error *error) {
  (void)machine;
  (void)error;
  rt_cl_describe(&((rt_opencl *)device)->properties, out);
  return IR_OK;
}

static const rt_device_table opencl_table = {.close = close_device,
                                             .describe = describe_target,
                                             .accepts = rt_cl_accepts,
                                             .compile = rt_cl_compile,
                                             .load = rt_cl_load_code,
                                             .adopt = rt_cl_adopt,
                                             .unload = rt_cl_unload_code,
                                             .binary_image = rt_cl_binary_image,
                                             .blocks = &rt_cl_split_blocks,
                                             .boundary = rt_cl_boundary,
                                             .prepare = rt_cl_prepare,
                                             .retire = rt_cl_retire,
                                             .no_room = no_room,
                                             .run = rt_cl_run,
                                             .drop_run = rt_cl_drop_run,
                                             .launch = rt_cl_launch,
                                             .copy = rt_cl_copy,
                                             .read = rt_cl_read,
                                             .write = rt_cl_write,
                                             .read_predicate = rt_cl_read_predicate,
                                             .call = rt_cl_call,
                                             .memory_place = rt_cl_memory_place,
                                             .memory_read = rt_cl_memory_read,
                                             .memory_free = rt_cl_memory_free};

/* as text */

static void put_bytes(ir_text *out, uint64_t bytes) {
  if (bytes >= 1 << 20) ir_textf(out, "%llu MiB", (unsigned long long)(bytes >> 20));
  else ir_textf(out, "%llu KiB", (unsigned long long)(bytes >> 10));
}

static void put_missing(const rt_cl_properties *f, ir_text *out) {
  const char *what[] = {rt_cl_missing_feature(f), f->f64 ? NULL : "f64 (cl_khr_fp64)",
                        f->divides ? NULL : "correctly rounded division and square root of f32",
                        f->denormals ? NULL : "subnormal f32"};
  bool any = false;
  for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
    if (!what[i]) continue;
    ir_textf(out, "%s %s", any ? "," : "  missing   ", what[i]);
    any = true;
  }
  if (any) ir_text_str(out, "\n");
}

static void put_device(const rt_cl_properties *f, size_t number, ir_text *out) {
  ir_textf(out, "opencl:%zu: %s\n", number, f->name);
  ir_textf(out, "  platform   %s\n", f->platform_name);
  ir_textf(out, "  driver     %s, %s\n", f->driver, f->version);
  ir_textf(out, "  units      %u, vectors of %u f32, groups of at most %u\n", f->units, f->vector_floats,
           f->group);
  ir_text_str(out, "  memory     ");
  put_bytes(out, f->memory);
  ir_text_str(out, f->unified ? " shared with the host, at most " : ", at most ");
  put_bytes(out, f->buffer);
  ir_text_str(out, " in one buffer; local ");
  put_bytes(out, f->local);
  ir_text_str(out, "\n");
  put_missing(f, out);
}

ir_status rt_opencl_text(const ir_mem *mem, ir_text *out, ir_error *error) {
  rt_cl cl;
  ir_error own = {0};
  size_t count = 0;
  rt_cl_properties *list = ir_alloc(mem, RT_CL_DEVICES * sizeof *list);
  if (!list) return ir_fail(error, IR_ERR_MEMORY, "out of memory listing devices");
  if (rt_cl_load(NULL, &cl, &own) == IR_OK) rt_cl_list(&cl, list, &count, &own);
  if (own.status) ir_textf(out, "%s\n", own.text);
  for (size_t i = 0; i < count; i++) put_device(&list[i], i, out);
  rt_cl_unload(&cl);
  ir_free(mem, list, RT_CL_DEVICES * sizeof *list);
  return out->failed ? ir_fail(error, IR_ERR_MEMORY, "out of memory describing the devices") : IR_OK;
}
