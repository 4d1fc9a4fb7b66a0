/* Contexts: settings, memory, lifetime; names and sizes of statuses and dtypes. */
#include <stdlib.h>
#include <string.h>

#include "frontend/api/api.h"
#include "frontend/api/compiling.h"
#include "frontend/session/lazy.h"

#define SAME(public, internal) _Static_assert((int)(public) == (int)(internal), #public " is " #internal)
SAME(VF_OK, IR_OK);
SAME(VF_ERR_INVALID, IR_ERR_INVALID);
SAME(VF_ERR_MEMORY, IR_ERR_MEMORY);
SAME(VF_ERR_IO, IR_ERR_IO);
SAME(VF_ERR_UNSUPPORTED, IR_ERR_UNSUPPORTED);
SAME(VF_ERR_COMPILE, IR_ERR_COMPILE);
SAME(VF_ERR_DEVICE, IR_ERR_DEVICE);
SAME(VF_ERR_RANGE, IR_ERR_RANGE);
SAME(VF_ERR_INTERNAL, IR_ERR_INTERNAL);
SAME(VF_ERR_VALUE, IR_ERR_VALUE);
SAME(VF_ERR_CANCELLED, IR_ERR_CANCELLED);
SAME(VF_LOG_WARNING, IR_LOG_WARNING);
SAME(VF_LOG_INFO, IR_LOG_INFO);
#define DTYPE(name, text, bytes, kind, npy, ctype) SAME(VF_##name, IR_##name);
#include "ir/dtype.def"
#undef DTYPE
SAME(sizeof(((vf_error *)0)->message), sizeof(((ir_error *)0)->text));

const char *vf_version(void) { return VF_VERSION; }
int vf_version_number(void) { return VF_VERSION_NUMBER; }

const char *vf_status_text(vf_status status) {
  static const char *const texts[] = {
      "success",        "invalid argument",     "out of memory", "input or output failed",
      "not supported",  "compilation failed",   "device failed", "index out of range",
      "internal error", "a NaN or an infinity", "cancelled"};
  return (unsigned)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

static bool is_dtype(vf_dtype dtype) { return (unsigned)dtype < IR_DTYPE_COUNT; }
const char *vf_dtype_name(vf_dtype dtype) {
  return ir_dtypes[is_dtype(dtype) ? (ir_dtype)dtype : IR_NONE].name;
}
size_t vf_dtype_bytes(vf_dtype dtype) {
  return is_dtype(dtype) && dtype != VF_NONE && dtype != VF_INDEX ? ir_dtypes[dtype].bytes : 0;
}
vf_dtype vf_dtype_parse(const char *name) {
  return name ? (vf_dtype)ir_dtype_parse(name, strlen(name)) : VF_NONE;
}

/* errors */

vf_status fe_report(vf_error *out, const ir_error *error) {
  if (out) {
    out->status = (vf_status)error->status;
    out->message[0] = '\0';
    if (error->status) memcpy(out->message, error->text, sizeof out->message);
  }
  return (vf_status)error->status;
}

unsigned fe_failures(const vf_context *c) { return atomic_load_explicit(&c->failures, memory_order_relaxed); }

void fe_report_as_memory(const vf_context *c, unsigned failures, ir_error *error) {
  bool other = error->status == IR_ERR_INVALID || error->status == IR_ERR_INTERNAL ||
               error->status == IR_ERR_UNSUPPORTED || error->status == IR_ERR_COMPILE;
  if (!other || fe_failures(c) == failures) return;
  ir_error_clear(error);
  ir_fail(error, IR_ERR_MEMORY, "out of memory");
}

/* memory */

static void *call_allocator(void *user, void *ptr, size_t old_size, size_t new_size) {
  vf_context *c = user;
  void *moved = c->allocator(c->allocator_user, ptr, old_size, new_size);
  if (!moved && new_size) atomic_fetch_add_explicit(&c->failures, 1, memory_order_relaxed);
  return moved;
}

static void *plain_memory(void *user, void *ptr, size_t old_size, size_t new_size) {
  return ir_mem_libc.fn(user, ptr, old_size, new_size);
}

enum { TEXT_HEAD = 16 }; /* bytes in front of a text given to the user: they hold the size of the block */

char *fe_text_out(vf_context *c, ir_text *text, ir_error *error) {
  size_t length = text->failed ? 0 : text->len, size = TEXT_HEAD + length + 1;
  char *block = text->failed ? NULL : ir_alloc(&c->mem, size);
  if (block) {
    memcpy(block, &size, sizeof size);
    memcpy(block + TEXT_HEAD, ir_text_get(text), length + 1);
  } else if (!error->status) {
    ir_fail(error, IR_ERR_MEMORY, "out of memory printing");
  }
  ir_text_free(text);
  return block ? block + TEXT_HEAD : NULL;
}

void vf_text_free(vf_context *c, char *text) {
  if (!c || !text) return;
  size_t size;
  memcpy(&size, text - TEXT_HEAD, sizeof size);
  ir_free(&c->mem, text - TEXT_HEAD, size);
}

/* settings */

static bool read_options(const vf_options *given, vf_options *out, ir_error *error) {
  *out = (vf_options){.size = sizeof *out};
  if (!given) return true;
  size_t known = given->size < sizeof *out ? given->size : sizeof *out;
  if (given->size < offsetof(vf_options, threads)) {
    ir_fail(error, IR_ERR_INVALID, "options: size is %zu; it must be sizeof(vf_options), which is %zu here",
            given->size, sizeof *out);
    return false;
  }
  for (size_t i = sizeof *out; i < given->size; i++)
    if (((const unsigned char *)given)[i]) {
      ir_fail(error, IR_ERR_INVALID,
              "options: byte %zu is set, which this version (%s) does not know; set size to "
              "sizeof(vf_options) of this version's header, and what is not used to 0",
              i, VF_VERSION);
      return false;
    }
  memcpy(out, given, known);
  return true;
}

static void read_compiling(vf_options *o, const fe_compile_settings *given) {
  if (given->forbidden) o->flags |= VF_NO_COMPILE;
  if (!o->compile_mode) o->compile_mode = given->how.process ? VF_COMPILE_PROCESS : VF_COMPILE_IN_PROCESS;
  if (!o->compile_seconds) o->compile_seconds = given->how.seconds;
  if (!o->compile_bytes) o->compile_bytes = given->how.bytes;
}

static bool read_environment(vf_options *o, fe_debug *debug, ir_error *error) {
  const char *threads = getenv("VIEWFOLD_THREADS"), *device = getenv("VIEWFOLD_DEVICE");
  fe_compile_settings compiling;
  if (o->threads == 0 && threads && *threads) {
    char *end;
    long count = strtol(threads, &end, 10);
    if (*end || count < 1 || count > 65536) {
      ir_fail(error, IR_ERR_INVALID, "VIEWFOLD_THREADS is '%.40s'; it must be a number from 1 to 65536",
              threads);
      return false;
    }
    o->threads = (int)count;
  }
  if (fe_compiling_read(&compiling, error) != IR_OK) return false;
  read_compiling(o, &compiling);
  if (!o->device && device && *device) {
    if (!rt_device_is_name(device)) {
      ir_fail(error, IR_ERR_INVALID,
              "VIEWFOLD_DEVICE is '%.80s'; there are cpu, c, opencl, opencl:NUMBER and opencl:PART OF NAME",
              device);
      return false;
    }
    o->device = device;
  }
  if (fe_debug_read(getenv("VIEWFOLD_DEBUG"), debug, error) != IR_OK) return false;
  if (debug->perf) o->flags |= VF_PERF_MAP;
  if (debug->nan) o->flags |= VF_STOP_AT_NAN;
  if (debug->inf) o->flags |= VF_STOP_AT_INF;
  bool relaxed;
  if (fe_precision_read(&relaxed, error) != IR_OK) return false;
  if (relaxed) o->flags |= VF_RELAXED;
  return true;
}

enum { FLAGS = VF_NO_DISK | VF_NO_COMPILE | VF_PERF_MAP | VF_STOP_AT_NAN | VF_STOP_AT_INF | VF_RELAXED };

static bool check_options(const vf_options *o, ir_error *error) {
  const char *negative = o->threads < 0           ? "threads"
                         : o->cache_bytes < 0     ? "cache_bytes"
                         : o->compile_seconds < 0 ? "compile_seconds"
                         : o->compile_bytes < 0   ? "compile_bytes"
                                                  : NULL;
  if (negative) ir_fail(error, IR_ERR_INVALID, "options: %s is negative; 0 stands for the default", negative);
  else if (o->compile_bytes && o->compile_bytes < RT_COMPILER_LEAST)
    ir_fail(error, IR_ERR_INVALID, "options: compile_bytes is %lld; LLVM needs %d, and 0 stands for no limit",
            (long long)o->compile_bytes, RT_COMPILER_LEAST);
  else if (o->compile_mode < VF_COMPILE_DEFAULT || o->compile_mode > VF_COMPILE_PROCESS)
    ir_fail(error, IR_ERR_INVALID,
            "options: compile_mode is %d; it must be VF_COMPILE_DEFAULT, VF_COMPILE_IN_PROCESS or "
            "VF_COMPILE_PROCESS",
            o->compile_mode);
  else if (o->flags & ~(uint32_t)FLAGS)
    ir_fail(error, IR_ERR_INVALID, "options: flags are %#x, of which this version (%s) knows %#x",
            (unsigned)o->flags, VF_VERSION, FLAGS);
  return error->status == IR_OK;
}

/* lifetime */

void fe_context_retain(vf_context *c) { atomic_fetch_add_explicit(&c->uses, 1, memory_order_relaxed); }

void fe_context_release(vf_context *c) {
  if (atomic_fetch_sub_explicit(&c->uses, 1, memory_order_acq_rel) != 1) return;
  fe_lazy_free(c);
  if (c->session) fe_graph_free(c->session);
  rt_context_destroy(c->runtime);
  fe_customs_free(&c->customs);
  fe_handle_ends(c);
  c->allocator(c->allocator_user, c, sizeof *c, 0);
}

vf_context *fe_context_create(const vf_options *options, const char *target, ir_progress *progress,
                              vf_error *error) {
  ir_error failure = {0};
  vf_options o;
  fe_debug debug;
  vf_context *c = NULL;
  if (read_options(options, &o, &failure) && read_environment(&o, &debug, &failure) &&
      check_options(&o, &failure)) {
    if (!o.allocator) o.allocator = plain_memory;
    c = o.allocator(o.allocator_user, NULL, 0, sizeof *c);
    if (!c) ir_fail(&failure, IR_ERR_MEMORY, "out of memory making a context");
  }
  if (c) {
    *c = (vf_context){.kind = FE_CONTEXT, .allocator = o.allocator, .allocator_user = o.allocator_user};
    c->mem = (ir_mem){call_allocator, c};
    atomic_init(&c->failures, 0);
    atomic_init(&c->uses, 1);
    fe_watch_init(&c->watch, &debug);
    c->relaxed = (o.flags & VF_RELAXED) != 0;
    c->log = fe_debug_log(&debug, false);
    c->progress = progress ? progress : &c->own_progress;
    fe_customs_init(&c->customs, c, &o);
    c->watched =
        (o.flags & VF_STOP_AT_NAN ? RT_WATCH_NAN : 0) | (o.flags & VF_STOP_AT_INF ? RT_WATCH_INF : 0);
    rt_options runtime = {.threads = o.threads,
                          .calls = fe_customs_calls(&c->customs),
                          .device = o.device,
                          .target = target ? target : o.target,
                          .cache_dir = o.cache_dir,
                          .cache_bytes = o.cache_bytes,
                          .log = &c->log,
                          .no_disk = (o.flags & VF_NO_DISK) != 0 || c->watch.bisects,
                          .compiling = {.process = o.compile_mode == VF_COMPILE_PROCESS,
                                        .program = o.compile_program,
                                        .seconds = o.compile_seconds,
                                        .bytes = o.compile_bytes},
                          .progress = c->progress,
                          .no_compile = (o.flags & VF_NO_COMPILE) != 0,
                          .perf_map = (o.flags & VF_PERF_MAP) != 0};
    if (rt_context_create(&c->mem, &runtime, &c->runtime, &failure) != IR_OK ||
        (o.target && rt_context_runs_here(c->runtime, &failure) != IR_OK)) {
      fe_report_as_memory(c, 0, &failure);
      rt_context_destroy(c->runtime);
      c->allocator(c->allocator_user, c, sizeof *c, 0);
      c = NULL;
    }
  }
  fe_report(error, &failure);
  return c;
}

vf_context *vf_context_create(const vf_options *options, vf_error *error) {
  return fe_context_create(options, NULL, NULL, error);
}

void vf_context_destroy(vf_context *c) {
  if (!fe_is(c, FE_CONTEXT)) return;
  fe_handle_ends(c); /* what was made of it lives on */
  fe_context_release(c);
}

/* log and progress */

static void tell(void *user, int level, const char *text) {
  const vf_context *c = user;
  c->told(c->told_user, (vf_log_level)level, text);
}

void vf_set_log(vf_context *c, vf_log_level most, vf_log_function log, void *user) {
  if (!fe_is(c, FE_CONTEXT)) return;
  c->told = log;
  c->told_user = user;
  c->log = (ir_log){log ? tell : NULL, c, (int)most};
}

void vf_cancel(vf_context *c) {
  if (fe_is(c, FE_CONTEXT)) ir_cancel(c->progress);
}

void vf_set_progress(vf_context *c, vf_progress_function progress, void *user) {
  if (fe_is(c, FE_CONTEXT)) ir_progress_set(c->progress, progress, user);
}
