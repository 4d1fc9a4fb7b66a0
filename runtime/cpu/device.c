/* The CPU as a device: machine code runs in this process, on its memory. */
#include "runtime/cpu/device.h"

#include "runtime/compiler/cc.h"
#include "runtime/context.h"
#include "runtime/cpu/target.h"

/* The only state is the allocator that blocks come from. */
typedef struct cpu {
  rt_device base;
  ir_mem mem;
} cpu;

static void close_cpu(rt_device *device) {
  cpu *d = (cpu *)device;
  ir_mem mem = d->mem;
  ir_free(&mem, d, sizeof *d);
}

static ir_status describe_target(rt_device *device, ir_target *out, ir_text *machine, ir_error *error) {
  (void)device, (void)error;
  rt_target_machine(out, machine);
  return IR_OK;
}

/* Links an object, which is freed, to an image. Returns `status` if that is a failure. */
static ir_status link_object(rt_context *c, ir_status status, cg_blob *object, const char *symbol,
                             rt_flat *image, ir_error *error) {
  int64_t start = ir_timer_start(c->options.timer);
  rt_terms terms = {.scratch = object->scratch, .in_place = object->in_place, .uses = object->uses};
  if (!status) status = rt_image_link(object->bytes, object->size, terms, &c->mem, image, error);
  if (object->bytes) cg_blob_free(object);
  ir_timer_lap(c->options.timer, &start, "link", -1, symbol);
  return status;
}

static ir_status compile_kernel(rt_context *c, const ir_graph *graph, ir_ref kernel, const char *symbol,
                                rt_flat *image, ir_error *error) {
  cg_blob object = {0};
  cg_request request = {graph, kernel, symbol, &c->code, CG_OBJECT, rt_level_for(&c->code), c->options.timer};
  ir_status status;
  if (c->options.compile)
    status = c->options.compile(c->options.compile_user, graph, kernel, symbol, &c->code, &object, error);
  else if (c->by_cc) status = rt_cc_compile(&request, &c->mem, &object, error);
  else status = rt_module_request(&c->codegen, &request, &object, error);
  return link_object(c, status, &object, symbol, image, error);
}

static bool ask(rt_context *c, const rt_kernel_key *key, ir_task *task, rt_compile_request *request) {
  if (c->options.compile || c->by_cc || !c->codegen.compiler) return false;
  *request = (rt_compile_request){.key = key,
                                  .symbol = key->symbol,
                                  .target = &c->code,
                                  .want = CG_OBJECT,
                                  .level = rt_level_for(&c->code),
                                  .timer = c->options.timer,
                                  .task = task,
                                  .mem = &c->mem};
  rt_compiler_ask(c->codegen.compiler, request);
  return true;
}

static ir_status await(rt_context *c, rt_compile_request *request, rt_flat *image, ir_error *error) {
  cg_blob object = {0};
  ir_status status = rt_compiler_await(c->codegen.compiler, request, &object, error);
  return link_object(c, status, &object, request->symbol, image, error);
}

static void tell_where(const rt_context *c, const char *name, const rt_code *code) {
  if (code->in_file)
    ir_say(c->options.log, IR_LOG_INFO,
           "code: graph @%s: the system lets no memory become executable that was written; the code is a "
           "copy in "
           "a sealed memory file",
           name);
}

static ir_status load_code(rt_context *c, const char *name, const void *image, size_t size, uint32_t kernels,
                           rt_code *out, ir_error *error) {
  (void)kernels;
  int64_t start = ir_timer_start(c->options.timer);
  ir_status status = rt_image_map(image, size, out, error);
  ir_timer_lap(c->options.timer, &start, "assemble", -1, NULL);
  tell_where(c, name, out);
  return status;
}

static ir_status adopt_code(rt_context *c, const char *name, rt_found *found, size_t offset, uint32_t kernels,
                            rt_code *out, ir_error *error) {
  (void)kernels;
  ir_status status =
      rt_image_adopt(found->map, found->map_size, found->offset + offset, found->size - offset, out, error);
  tell_where(c, name, out);
  if (out->map == found->map) *found = (rt_found){0};
  return status;
}

static bool allocate_block(void *device, size_t size, rt_block *out) {
  return rt_plain_blocks.allocate(&((cpu *)device)->mem, size, out);
}
static void release_block(void *device, rt_block *block) {
  rt_plain_blocks.release(&((cpu *)device)->mem, block);
}

static const rt_block_source blocks = {allocate_block, release_block};
static const rt_device_table cpu_table = {.close = close_cpu,
                                          .describe = describe_target,
                                          .compile = compile_kernel,
                                          .ask = ask,
                                          .await = await,
                                          .load = load_code,
                                          .adopt = adopt_code,
                                          .unload = rt_image_unmap,
                                          .blocks = &blocks};

ir_status rt_cpu_open(const ir_mem *mem, rt_device **out, ir_error *error) {
  *out = NULL;
  cpu *d = ir_alloc(mem, sizeof *d);
  if (!d) return ir_fail(error, IR_ERR_MEMORY, "out of memory making a context");
  *d = (cpu){{&cpu_table}, *mem};
  *out = &d->base;
  return IR_OK;
}
