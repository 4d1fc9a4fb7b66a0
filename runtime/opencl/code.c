/* Code for an OpenCL device. The image of a kernel holds its OpenCL C text. A program's source is the prelude
 * and then the texts of all its kernels. The driver's binary of the program is kept with it in the cache, so
 * that the next process need not compile. */
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/opencl/device.h"

static const char binary_name[] = "binary"; /* name of the binary's image; kernels' names begin with vf_ */

enum { LOG_SHOWN = 600, NAMES_SHOWN = 300 }; /* bytes, in messages */

/* one kernel */

/* Does the kernel check indices? True also where memory is too short to find out. */
static bool checks(const ir_graph *g, ir_ref kernel) {
  ir_ref *all = NULL;
  size_t count = 0, cap = 0;
  bool found = ir_reachable(g, &kernel, 1, &all, &count, &cap) != IR_OK;
  for (size_t i = 0; i < count && !found; i++) {
    const ir_node *n = ir_get(g, all[i]);
    found = n->op == IR_OP_BOUND && ir_arg_mode(n) != IR_GATHER_FILL;
  }
  ir_free(g->mem, all, cap * sizeof *all);
  return found;
}

/* Bytes of arguments of a launch: two for each buffer, the status word, the variables, count and grain. */
static uint64_t argument_bytes(const ir_graph *g, ir_ref kernel) {
  const ir_node *n = ir_get(g, kernel);
  uint64_t vars = 0;
  for (uint32_t i = 0; i < n->nsrc; i++) vars += ir_op_of(g, n->src[i]) == IR_OP_VAR;
  return (2 * (uint64_t)ir_arg_int(n) + vars + 3) * sizeof(cl_long);
}

static ir_status check_limits(const rt_opencl *d, const ir_graph *g, ir_ref kernel, const char *symbol,
                              uint64_t scratch, ir_error *error) {
  uint64_t arguments = argument_bytes(g, kernel);
  if (scratch > d->properties.local)
    return ir_fail(error, IR_ERR_INTERNAL,
                   "compile: %s takes %llu bytes of local memory; device %s has %llu for a group", symbol,
                   (unsigned long long)scratch, d->properties.name, (unsigned long long)d->properties.local);
  if (arguments > d->properties.parameters && d->properties.parameters)
    return ir_fail(
        error, IR_ERR_UNSUPPORTED,
        "compile: %s takes %llu bytes of arguments, 16 for each array and 8 for each size variable; device "
        "%s passes at most %llu",
        symbol, (unsigned long long)arguments, d->properties.name,
        (unsigned long long)d->properties.parameters);
  return IR_OK;
}

ir_status rt_cl_compile(rt_context *c, const ir_graph *g, ir_ref kernel, const char *symbol, rt_flat *image,
                        ir_error *error) {
  const rt_opencl *d = (rt_opencl *)c->device;
  cg_blob text = {0};
  int64_t start = ir_timer_start(c->options.timer);
  ir_status status = c->options.compile ? c->options.compile(c->options.compile_user, g, kernel, symbol,
                                                             &c->target, &text, error)
                                        : cg_opencl(g, kernel, symbol, &c->target, &text, error);
  ir_timer_lap(c->options.timer, &start, "write", -1, symbol);
  rt_terms terms = {.scratch = text.scratch, .in_place = text.in_place, .checks = checks(g, kernel)};
  if (!status) status = check_limits(d, g, kernel, symbol, text.scratch, error);
  if (!status) status = rt_image_wrap(&c->mem, symbol, text.bytes, text.size, terms, image, error);
  if (text.bytes) cg_blob_free(&text);
  return status;
}

/* a program */

/* The prelude and the kernels' texts. A #line directive before each makes the compiler's messages name the
 * kernel. */
static ir_status put_source(rt_context *c, const rt_cl_code *code, ir_text *out, ir_error *error) {
  ir_status status = cg_opencl_prelude(&c->target, out);
  for (uint32_t i = 0; i < code->count && !status; i++) {
    rt_entry entry;
    if (!rt_image_entry(code->image, code->size, i, &entry))
      return ir_fail(error, IR_ERR_INTERNAL, "code: a kernel has no text");
    ir_textf(out, "\n#line 1 \"%s\"\n", entry.name);
    ir_text_add(out, (const char *)code->image + entry.offset, entry.size);
  }
  return status || out->failed ? ir_fail(error, IR_ERR_MEMORY, "out of memory for the text of a program")
                               : IR_OK;
}

/* The beginning of the compiler's log, without blanks at its ends. */
static void put_log(const rt_opencl *d, cl_program program, char *to, size_t room) {
  size_t size = 0;
  to[0] = '\0';
  d->cl.GetProgramBuildInfo(program, d->properties.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *log = size ? ir_alloc(&d->mem, size + 1) : NULL;
  if (!log) return;
  memset(log, 0, size + 1);
  if (d->cl.GetProgramBuildInfo(program, d->properties.id, CL_PROGRAM_BUILD_LOG, size, log, NULL) ==
      CL_SUCCESS) {
    const char *from = log + strspn(log, " \t\r\n");
    snprintf(to, room, "%s", from);
    for (size_t length = strlen(to); length && strchr(" \t\r\n", to[length - 1]);) to[--length] = '\0';
  }
  ir_free(&d->mem, log, size + 1);
}

/* -w: without it some drivers print the number of warnings. */
static cl_int build_program(const rt_opencl *d, cl_program program) {
  char options[128];
  snprintf(options, sizeof options, "-cl-std=CL1.2 -w%s",
           d->properties.divides ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
  return d->cl.BuildProgram(program, 1, &d->properties.id, options, NULL, NULL);
}

/* The names of the kernels, ` vf_a, vf_b`, for a message; empty where the log names one of them. */
static void put_names(const rt_cl_code *code, const char *log, char *to, size_t room) {
  enum { SHOWN = 4 };
  size_t used = 0;
  rt_entry entry;
  to[0] = '\0';
  for (uint32_t i = 0; i < code->count; i++)
    if (!rt_image_entry(code->image, code->size, i, &entry) || strstr(log, entry.name)) return;
  for (uint32_t i = 0; i < code->count && i < SHOWN && used < room; i++) {
    rt_image_entry(code->image, code->size, i, &entry);
    used += (size_t)snprintf(to + used, room - used, "%s %.60s", i ? "," : "", entry.name);
  }
  if (code->count > SHOWN && used < room)
    snprintf(to + used, room - used, " and %u more", (unsigned)(code->count - SHOWN));
}

/* Compiles `text`. `who` begins the messages. code: whose kernels the messages list; NULL: none. */
static ir_status build_from(rt_context *c, const char *who, const rt_cl_code *code, const ir_text *text,
                            cl_program *out, ir_error *error) {
  rt_opencl *d = (rt_opencl *)c->device;
  cl_int result = CL_SUCCESS;
  const char *source = ir_text_get(text);
  if (c->options.no_compile)
    return ir_fail(error, IR_ERR_COMPILE,
                   "VIEWFOLD_COMPILE=0: %s needs code of the compiler of device %s, which the cache does not "
                   "hold; run once without VIEWFOLD_COMPILE=0 to compile and keep it",
                   who, d->properties.name);
  if (text->failed) return ir_fail(error, IR_ERR_MEMORY, "out of memory for the text of a program");
  int64_t start = ir_timer_start(c->options.timer);
  cl_program program = d->cl.CreateProgramWithSource(d->context, 1, &source, &text->len, &result);
  if (program) result = build_program(d, program);
  ir_timer_lap(c->options.timer, &start, "driver", -1, NULL);
  *out = program;
  if (result == CL_SUCCESS) return IR_OK;
  char log[LOG_SHOWN] = "", names[NAMES_SHOWN] = "";
  if (program) put_log(d, program, log, sizeof log);
  if (code) put_names(code, log, names, sizeof names);
  if (program) d->cl.ReleaseProgram(program);
  *out = NULL;
  return rt_cl_fail(error, result, "%s: device %s compiles its kernels%s%s%s", who, d->properties.name, names,
                    log[0] ? ": " : "", log);
}

static ir_status build_source(rt_context *c, rt_cl_code *code, const char *name, ir_error *error) {
  char who[160];
  ir_text text;
  ir_text_init(&text, &c->mem);
  snprintf(who, sizeof who, "graph @%.140s", name);
  ir_status status = put_source(c, code, &text, error);
  if (!status) status = build_from(c, who, code, &text, &code->program, error);
  ir_text_free(&text);
  return status;
}

/* Loads a binary. NULL if the driver refuses it. */
static cl_program read_binary(const rt_opencl *d, const unsigned char *bytes, size_t size) {
  cl_int result = CL_SUCCESS, taken = CL_SUCCESS;
  cl_program program =
      d->cl.CreateProgramWithBinary(d->context, 1, &d->properties.id, &size, &bytes, &taken, &result);
  if (!program) return NULL;
  if (result == CL_SUCCESS && taken == CL_SUCCESS && build_program(d, program) == CL_SUCCESS) return program;
  d->cl.ReleaseProgram(program);
  return NULL;
}

/* Loads the binary that the image contains, if any. True if there is one and the driver refuses it. */
static bool binary_is_refused(rt_cl_code *code) {
  rt_entry entry;
  if (!rt_image_find(code->image, code->size, binary_name, &entry)) return false;
  code->program = read_binary(code->device, code->image + entry.offset, entry.size);
  return code->program == NULL;
}

/* The driver's binary of a program; bytes NULL: the driver has none, or memory is short. */
static rt_flat binary_of(const rt_opencl *d, const ir_mem *mem, cl_program program) {
  rt_flat flat = {0};
  if (d->cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof flat.size, &flat.size, NULL) ||
      !flat.size || !(flat.bytes = ir_alloc(mem, flat.size)))
    return (rt_flat){0};
  if (d->cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof flat.bytes, &flat.bytes, NULL))
    rt_flat_free(mem, &flat);
  return flat;
}

ir_status rt_cl_build_text(rt_context *c, const char *who, const ir_text *text, cl_program *out,
                           ir_error *error) {
  static const char kind[] = "opencl";
  rt_opencl *d = (rt_opencl *)c->device;
  rt_disk *disk = text->failed ? NULL : rt_context_disk(c, NULL);
  rt_full_key key = {0};
  rt_found found;
  *out = NULL;
  if (disk && rt_full_key_make(c, text->data, text->len, &key, NULL) == IR_OK &&
      rt_disk_get(disk, kind, key.bytes, key.size, &found)) {
    *out = read_binary(d, found.payload, found.size);
    rt_disk_release(&found);
  }
  ir_status status = *out ? IR_OK : build_from(c, who, NULL, text, out, error);
  rt_flat made = key.bytes && *out ? binary_of(d, &c->mem, *out) : (rt_flat){0};
  if (made.bytes) rt_disk_put(disk, kind, key.bytes, key.size, made.bytes, made.size);
  rt_flat_free(&c->mem, &made);
  if (key.bytes) rt_full_key_free(&key);
  return status;
}

/* Queries what is needed to launch kernel i: its name and the size of its work-groups. */
static ir_status query_kernel(rt_cl_code *code, uint32_t i, ir_error *error) {
  rt_opencl *d = code->device;
  rt_entry entry;
  cl_int result = CL_SUCCESS;
  size_t items[3] = {0}, most = 0;
  if (!rt_image_entry(code->image, code->size, i, &entry))
    return ir_fail(error, IR_ERR_INTERNAL, "code: a kernel has no text");
  cl_kernel kernel = d->cl.CreateKernel(code->program, entry.name, &result);
  if (!kernel) return rt_cl_fail(error, result, "device %s: kernel %s", d->properties.name, entry.name);
  d->cl.GetKernelWorkGroupInfo(kernel, d->properties.id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof items,
                               items, NULL);
  d->cl.GetKernelWorkGroupInfo(kernel, d->properties.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  d->cl.ReleaseKernel(kernel);
  code->kernels[i] = (rt_cl_kernel){entry.name, items[0] ? items[0] : 1, entry.terms.checks};
  if (items[0] <= most || !most) return IR_OK;
  return ir_fail(error, IR_ERR_UNSUPPORTED,
                 "device %s: kernel %s has groups of %zu work-items; the device takes at most %zu for it",
                 d->properties.name, entry.name, items[0], most);
}

static void drop_code(rt_cl_code *code) {
  rt_opencl *d = code->device;
  if (code->program) d->cl.ReleaseProgram(code->program);
  ir_free(&d->mem, code->image, code->size);
  ir_free(&d->mem, code, sizeof *code + code->count * sizeof *code->kernels);
}

static rt_cl_code *make_code(rt_opencl *d, const void *image, size_t size, uint32_t kernels) {
  size_t room = sizeof(rt_cl_code) + kernels * sizeof(rt_cl_kernel);
  rt_cl_code *code = ir_alloc(&d->mem, room);
  if (!code) return NULL;
  memset(code, 0, room);
  code->device = d;
  code->count = kernels;
  code->size = size;
  if ((code->image = ir_alloc(&d->mem, size))) {
    memcpy(code->image, image, size);
    return code;
  }
  ir_free(&d->mem, code, room);
  return NULL;
}

/* kept: the image is of a cache entry, which can be made again, so a binary that the driver refuses is an
 * error. */
static ir_status load_image(rt_context *c, const char *name, const void *image, size_t size, uint32_t kernels,
                            bool kept, rt_code *out, ir_error *error) {
  rt_opencl *d = (rt_opencl *)c->device;
  *out = (rt_code){0};
  ir_status status = rt_cl_ready(d, error);
  if (status) return status;
  if (!rt_context_target(c, error)) return IR_ERR_MEMORY;
  rt_cl_code *code = make_code(d, image, size, kernels);
  if (!code) return ir_fail(error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
  if (binary_is_refused(code) && kept && !c->options.no_compile) status = IR_ERR_INVALID; /* a miss */
  if (!status && !code->program) status = build_source(c, code, name, error);
  for (uint32_t i = 0; i < kernels && !status; i++) status = query_kernel(code, i, error);
  if (status) {
    drop_code(code);
    return status;
  }
  *out = (rt_code){.base = code->image, .size = code->size, .made = code};
  return IR_OK;
}

ir_status rt_cl_load_code(rt_context *c, const char *name, const void *image, size_t size, uint32_t kernels,
                          rt_code *out, ir_error *error) {
  return load_image(c, name, image, size, kernels, false, out, error);
}

ir_status rt_cl_adopt(rt_context *c, const char *name, rt_found *found, size_t offset, uint32_t kernels,
                      rt_code *out, ir_error *error) {
  return load_image(c, name, found->payload + offset, found->size - offset, kernels, true, out, error);
}

ir_status rt_cl_binary_image(rt_context *c, const rt_code *loaded, rt_flat *image, ir_error *error) {
  const rt_cl_code *code = loaded->made;
  *image = (rt_flat){0};
  int64_t start = ir_timer_start(c->options.timer);
  rt_flat binary = binary_of(code->device, &c->mem, code->program);
  ir_timer_lap(c->options.timer, &start, "driver", -1, NULL);
  if (!binary.bytes) return IR_OK;
  ir_status status =
      rt_image_wrap(&c->mem, binary_name, binary.bytes, binary.size, (rt_terms){0}, image, error);
  rt_flat_free(&c->mem, &binary);
  return status;
}

void rt_cl_unload_code(rt_code *code) {
  if (code->made) drop_code(code->made);
  *code = (rt_code){0};
}
