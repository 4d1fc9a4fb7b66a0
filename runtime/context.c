/* Contexts: what they own, and what they determine when first asked. */
#include "runtime/context.h"
#include "runtime/mesh/post.h"

#include <string.h>

#include "runtime/cache/identity.h"
#include "runtime/compiler/cc.h"
#include "runtime/cpu/target.h"
#include "runtime/program/kernel_cache.h"
#include "runtime/program/program.h"

enum { PROGRAMS_KEPT = 1024, KERNEL_BYTES_KEPT = 64 << 20 };

static bool copy_string(const ir_mem *mem, const char **string) {
  if (!*string) return true;
  size_t size = strlen(*string) + 1;
  char *copy = ir_alloc(mem, size);
  if (copy) memcpy(copy, *string, size);
  *string = copy;
  return copy != NULL;
}

static void free_string(const ir_mem *mem, const char *string) {
  if (string) ir_free(mem, (char *)(uintptr_t)string, strlen(string) + 1);
}

static void free_strings(rt_context *c) {
  free_string(&c->mem, c->options.cache_dir);
  free_string(&c->mem, c->options.target);
  free_string(&c->mem, c->options.device);
  free_string(&c->mem, c->options.compiling.program);
}

static ir_status short_of_memory(ir_error *error) {
  return ir_fail(error, IR_ERR_MEMORY, "out of memory making a context");
}

/* Make everything that rt_context_destroy expects. After a failure nothing of it remains. */
static ir_status set_up(rt_context *c, ir_error *error) {
  bool cache_dir = copy_string(&c->mem, &c->options.cache_dir),
       target = copy_string(&c->mem, &c->options.target), device = copy_string(&c->mem, &c->options.device),
       program = copy_string(&c->mem, &c->options.compiling.program);
  c->options.compiling.threads = c->options.threads;
  c->options.compiling.log = c->options.log;
  c->options.no_disk |= c->options.ahead;
  ir_status status =
      rt_device_open(&c->mem, c->options.device, c->options.separate_arrays, &c->device, error);
  c->by_cc = c->options.device && rt_device_is_c(c->options.device);
  bool lock = pthread_mutex_init(&c->lock, NULL) == 0,
       arenas = lock && !status &&
                rt_arenas_init(&c->arenas, c->device->table->blocks, c->device,
                               c->options.separate_arrays ? 0 : RT_ARENA_KEPT);
  rt_constants_init(&c->constants, &c->mem);
  if (arenas && rt_module_init(&c->codegen, &c->options.compiling, error) == IR_OK) {
    if (cache_dir && target && program && device) return IR_OK;
    rt_module_free(&c->codegen);
  }
  rt_constants_free(&c->constants);
  if (arenas) rt_arenas_free(&c->arenas);
  if (lock) pthread_mutex_destroy(&c->lock);
  if (!status) c->device->table->close(c->device);
  free_strings(c);
  return status ? status : short_of_memory(error);
}

ir_status rt_context_create(const ir_mem *mem, const rt_options *options, rt_context **out, ir_error *error) {
  *out = NULL;
  rt_context *c = ir_alloc(mem, sizeof *c);
  if (!c) return short_of_memory(error);
  memset(c, 0, sizeof *c);
  c->mem = *mem;
  if (options) c->options = *options;
  if (!c->options.progress) c->options.progress = &c->own_progress;
  ir_error limit = {0};
  ir_status status = c->options.cache_bytes > 0 || rt_disk_limit(&c->options.cache_bytes, &limit)
                         ? set_up(c, error)
                         : ir_fail(error, limit.status, "%s", limit.text);
  if (status) {
    ir_free(mem, c, sizeof *c);
    return status;
  }
  rt_memo_init(&c->programs, &c->mem, PROGRAMS_KEPT, rt_program_drop);
  rt_memo_init(&c->kernels, &c->mem, KERNEL_BYTES_KEPT, rt_kernel_drop);
  ir_text_init(&c->identity, &c->mem);
  ir_text_init(&c->machine, &c->mem);
  ir_error own = {0};
  c->pool = rt_pool_create(&c->mem, c->options.threads, &own);
  if (!c->pool) {
    rt_context_destroy(c);
    return ir_fail(error, own.status, "%s", own.text);
  }
  *out = c;
  return IR_OK;
}

ir_status rt_context_create_ahead(const rt_context *like, const char *target, rt_context **out,
                                  ir_error *error) {
  rt_options options = like->options;
  options.device = NULL;
  options.target = target;
  options.ahead = true;
  options.no_disk = true;
  return rt_context_create(&like->mem, &options, out, error);
}

static const char *device_name(const rt_context *c) { return c->options.device ? c->options.device : "cpu"; }

ir_status rt_context_beside(rt_context *c, const char *device, rt_context **out, ir_error *error) {
  ir_status status = IR_OK;
  pthread_mutex_lock(&c->lock);
  rt_context *found = strcmp(device, device_name(c)) == 0 ? c : c->beside;
  while (found && found != c && strcmp(device, device_name(found)) != 0) found = found->next;
  if (!found) {
    rt_options options = c->options;
    options.device = device;
    options.target = NULL;
    status = rt_context_create(&c->mem, &options, &found, error);
    if (!status) found->next = c->beside, c->beside = found;
  }
  pthread_mutex_unlock(&c->lock);
  *out = found;
  return status;
}

ir_status rt_context_join(rt_context *c, rt_transport *transport, int64_t timeout_ns, ir_error *error) {
  if (!c->post) return rt_post_open(transport, timeout_ns, &c->post, error);
  transport->close(transport, false);
  return ir_fail(error, IR_ERR_INVALID, "the context has joined other processes already");
}

rt_post *rt_context_post(const rt_context *c) { return c->post; }

void rt_context_destroy(rt_context *c) {
  if (!c) return;
  for (rt_context *other = c->beside, *next; other; other = next) {
    next = other->next;
    rt_context_destroy(other);
  }
  rt_post_close(c->post);
  rt_memo_free(&c->programs);
  rt_memo_free(&c->kernels);
  rt_pool_destroy(c->pool);
  rt_disk_close(c->disk);
  ir_text_free(&c->identity);
  ir_text_free(&c->machine);
  rt_constants_free(&c->constants);
  rt_arenas_free(&c->arenas);
  c->device->table->close(c->device);
  rt_module_free(&c->codegen);
  pthread_mutex_destroy(&c->lock);
  free_strings(c);
  ir_mem mem = c->mem;
  ir_free(&mem, c, sizeof *c);
}

const ir_mem *rt_context_mem(const rt_context *c) { return &c->mem; }
bool rt_context_is_remote(const rt_context *c) { return rt_is_remote(c->device); }

int rt_context_threads(rt_context *c) { return rt_pool_threads(c->pool); }
const ir_timer *rt_context_timer(const rt_context *c) { return c->options.timer; }
rt_module *rt_context_codegen(rt_context *c) { return &c->codegen; }

/* Under the lock. */
static rt_disk *open_disk(rt_context *c, ir_error *error) {
  if (c->options.no_disk || c->disk) return c->disk;
  c->disk = rt_disk_open(&c->mem, c->options.cache_dir, c->options.cache_bytes, error);
  if (c->disk) rt_disk_tell(c->disk, c->options.log);
  return c->disk;
}

/* Settings of the target that were measured on a machine are kept on disk as rt_target_measured_text writes
 * them. */
static const char measured_kind[] = "measured";

static void read_measured(rt_context *c) {
  ir_error ignored = {0};
  rt_found found;
  ir_text text;
  rt_disk *disk = c->machine.len ? open_disk(c, &ignored) : NULL;
  if (!disk || !rt_disk_get(disk, measured_kind, c->machine.data, c->machine.len, &found)) return;
  ir_text_init(&text, &c->mem);
  ir_text_add(&text, (const char *)found.payload, found.size);
  rt_disk_release(&found);
  c->measured = !text.failed && rt_target_set_measured(&c->target, ir_text_get(&text), &ignored) == IR_OK;
  ir_text_free(&text);
}

/* c->code is this machine as it is. An object sorts by kernels: the runtime is not there. */
static void describe_code(rt_context *c) {
  ir_target here = c->code;
  if (c->options.ahead) c->target.sorts = false;
  c->code = c->target;
  if (!c->options.ahead) return;
  memcpy(c->code.triple, here.triple, sizeof here.triple);
  memcpy(c->code.features, here.features, sizeof here.features);
  c->code.has_fma = here.has_fma;
  c->code.has_f16c = here.has_f16c;
}

/* Who compiles: LLVM or, where it is not there, the C compiler. Where there is neither, kernels that LLVM has
 * compiled can be found in the cache. */
static ir_status describe_compiler(rt_context *c, ir_error *error) {
  char path[4096];
  bool asked = c->by_cc, missing = !asked && !rt_is_remote(c->device) && !c->options.compile &&
                                   !rt_module_find(RT_MODULE_FILE, path, sizeof path);
  ir_error found = {0};
  if (asked || missing) c->by_cc = rt_cc_identity(&c->identity, &found) == IR_OK;
  if (missing && c->by_cc)
    ir_say(c->options.log, IR_LOG_INFO,
           "compiler: there is no %s; kernels are compiled by the C compiler (device c)", path);
  if (asked && !c->by_cc) return ir_fail(error, found.status, "%s", found.text);
  if (c->by_cc) ir_textf(&c->identity, " source=%s", rt_source_id());
  else rt_identity_text(&c->identity);
  return IR_OK;
}

/* Under the lock: determine the target and the identity, once. Code also depends on LLVM's optimisation
 * level, which follows from the target (rt_level_for). */
static ir_status look_up(rt_context *c, ir_error *error) {
  if (c->looked_up) return IR_OK;
  ir_text_free(&c->machine);
  ir_text_init(&c->machine, &c->mem);
  ir_status status = c->device->table->describe(c->device, &c->target, &c->machine, error);
  if (!status && !c->machine.failed) read_measured(c);
  c->code = c->target;
  if (!status && c->options.target) status = rt_target_override(&c->target, c->options.target, error);
  if (status) return status;
  describe_code(c);
  ir_text_free(&c->identity);
  ir_text_init(&c->identity, &c->mem);
  rt_target_text(&c->target, &c->identity);
  ir_text_str(&c->identity, " ");
  status = describe_compiler(c, error);
  if (status) return status;
  if (c->identity.failed || c->machine.failed)
    return ir_fail(error, IR_ERR_MEMORY, "out of memory describing the target");
  c->looked_up = true;
  return IR_OK;
}

bool rt_context_measured(rt_context *c) { return rt_context_target(c, NULL) && c->measured; }

bool rt_context_keep_measured(rt_context *c, const char *settings) {
  rt_disk *disk = rt_context_disk(c, NULL);
  return disk && rt_context_target(c, NULL) && c->machine.len &&
         rt_disk_put(disk, measured_kind, c->machine.data, c->machine.len, settings, strlen(settings));
}

ir_status rt_context_runs_here(rt_context *c, ir_error *error) {
  ir_target here;
  const ir_target *made_for = rt_context_target(c, error);
  if (!made_for) return IR_ERR_UNSUPPORTED;
  if (rt_is_remote(c->device))
    return ir_fail(
        error, IR_ERR_UNSUPPORTED,
        "target: an OpenCL device describes itself, and runs no code for another target; leave the "
        "target out, or use device cpu");
  ir_status status = c->device->table->describe(c->device, &here, NULL, error);
  return status ? status : rt_target_runs_on(made_for, &here, error);
}

const ir_target *rt_context_target(rt_context *c, ir_error *error) {
  pthread_mutex_lock(&c->lock);
  ir_status status = look_up(c, error);
  pthread_mutex_unlock(&c->lock);
  return status ? NULL : &c->target;
}

ir_status rt_context_accepts(rt_context *c, const char *name, const ir_graph *g, ir_ref results,
                             const ir_ref *inputs, size_t count, ir_error *error) {
  const rt_device_table *table = c->device->table;
  return table->accepts ? table->accepts(c->device, name, g, results, inputs, count, error) : IR_OK;
}

rt_disk *rt_context_disk(rt_context *c, ir_error *error) {
  pthread_mutex_lock(&c->lock);
  rt_disk *disk = open_disk(c, error);
  pthread_mutex_unlock(&c->lock);
  return disk;
}

ir_status rt_full_key_make(rt_context *c, const void *what, size_t size, rt_full_key *out, ir_error *error) {
  *out = (rt_full_key){.mem = &c->mem};
  pthread_mutex_lock(&c->lock);
  ir_status status = look_up(c, error);
  pthread_mutex_unlock(&c->lock);
  if (status) return status;
  uint64_t length = size; /* the length comes first, so that different keys have different bytes */
  out->size = sizeof length + size + c->identity.len;
  out->bytes = ir_alloc(&c->mem, out->size);
  if (!out->bytes) return ir_fail(error, IR_ERR_MEMORY, "out of memory making a cache key");
  memcpy(out->bytes, &length, sizeof length);
  memcpy(out->bytes + sizeof length, what, size);
  memcpy(out->bytes + sizeof length + size, c->identity.data, c->identity.len);
  return IR_OK;
}

void rt_full_key_free(rt_full_key *key) {
  if (key->bytes) ir_free(key->mem, key->bytes, key->size);
  *key = (rt_full_key){0};
}
