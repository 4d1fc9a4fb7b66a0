#include "ir/timer.h"
#include "test/lib/kernels.h"

#include <sys/mman.h>
#include <unistd.h>

#include "ir/parse/parse.h"
#include "runtime/cpu/target.h"
#include "test/lib/unit.h"

static rt_module module;
static bool module_ready;

static void free_module(void) { rt_module_free(&module); }

static rt_module *the_module(void) {
  ir_error error = {0};
  if (!module_ready && rt_module_init(&module, NULL, &error) != IR_OK) fail_msg("%s", error.text);
  if (!module_ready) atexit(free_module);
  module_ready = true;
  return &module;
}

int k_first_target(void) {
  static int turn;
  k_target found;
  int first = turn++ % level_step(2);
  return k_target_at(first, &found) ? first : 0;
}

bool k_target_at(int index, k_target *out) {
  ir_error error = {0};
  rt_target_host(&out->target);
  out->name = "host";
  if (index == 0) return true;
#if defined(__x86_64__)
  bool avx2 = out->target.vector_bytes >= 32 && out->target.has_fma && out->target.has_f16c;
  static const struct {
    const char *name, *settings;
    bool avx2;
  } rows[] = {
      {"AVX2", "features=+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt vector_bytes=32 registers=16", true},
      {"SSE4.1", "features=+sse4.1 vector_bytes=16 registers=16 fma=0 f16c=0", false},
      {"SSE2", "features=+sse2 vector_bytes=16 registers=16 fma=0 f16c=0", false}};
  int row = index - 1 + (avx2 ? 0 : 1);
  if (row >= (int)(sizeof rows / sizeof *rows)) return false;
  out->name = rows[row].name;
  if (rt_target_override(&out->target, rows[row].settings, &error) != IR_OK) fail_msg("%s", error.text);
  return true;
#else
  return false;
#endif
}

static double now(void) { return (double)ir_now_ns() * 1e-6; }

static cg_blob make(ir_graph *g, ir_ref kernel, const ir_target *target, cg_output want) {
  ir_error error = {0};
  cg_blob blob;
  if (rt_module_compile(the_module(), g, kernel, "kernel", target, want, &blob, &error) != IR_OK)
    fail_msg("%s", error.text);
  return blob;
}

ir_graph k_graph;
static ir_error graph_error;

int k_enter(void **state) {
  graph_error = (ir_error){0};
  return ir_graph_init(&k_graph, &ir_mem_libc, &graph_error);
}
int k_leave(void **state) {
  ir_graph_free(&k_graph);
  return 0;
}
void k_begin(void) {
  k_leave(NULL);
  assert_int_equal(k_enter(NULL), IR_OK);
}

static void free_code(void *of) {
  k_code *code = of;
  rt_image_unmap(&code->code);
  free(code->scratch);
  free(code);
}

k_code k_compile(ir_graph *g, ir_ref kernel, const ir_target *target) {
  ir_error error = {0};
  double start = now();
  cg_blob blob = make(g, kernel, target, CG_OBJECT);
  k_code made = {.milliseconds = now() - start};
  rt_flat flat;
  rt_terms terms = {.scratch = blob.scratch, .in_place = blob.in_place};
  if (rt_image_link(blob.bytes, blob.size, terms, g->mem, &flat, &error) != IR_OK) fail_msg("%s", error.text);
  if (rt_image_map(flat.bytes, flat.size, &made.code, &error) != IR_OK) fail_msg("%s", error.text);
  made.run = (cg_kernel)rt_code_find(&made.code, "kernel");
  assert_non_null(made.run);
  size_t units = (blob.scratch + CG_SCRATCH_ALIGN - 1) / CG_SCRATCH_ALIGN;
  if (units) assert_non_null(made.scratch = aligned_alloc(CG_SCRATCH_ALIGN, units * CG_SCRATCH_ALIGN));
  rt_flat_free(g->mem, &flat);
  cg_blob_free(&blob);
  k_code *kept = malloc(sizeof *kept);
  assert_non_null(kept);
  *kept = made;
  unit_keep(kept, free_code);
  return made;
}

char *k_text(ir_graph *g, ir_ref kernel, const ir_target *target, cg_output want) {
  cg_blob blob = make(g, kernel, target, want);
  char *text = strdup(blob.bytes);
  cg_blob_free(&blob);
  return text;
}

ir_ref k_parse(const char *text, const int64_t *numbers, const char *const *words) {
  ir_module kernels = {0};
  ir_text whole;
  ir_text_init(&whole, &ir_mem_libc);
  for (const char *at = text; *at; at++) {
    if (*at != '$') ir_textf(&whole, "%c", *at);
    else if (*++at >= 'a') ir_text_str(&whole, words[*at - 'a']);
    else ir_textf(&whole, "%lld", (long long)numbers[*at - '0']);
  }
  if (ir_parse_module(&k_graph, &ir_builder_raw, "kernel", whole.data, whole.len, &kernels))
    fail_msg("%s", k_graph.error->text);
  ir_ref kernel = kernels.graphs[0].root;
  ir_module_free(&kernels);
  ir_text_free(&whole);
  return kernel;
}

ir_ref k_param(ir_graph *g, ir_dtype dtype, int slot, int64_t size) {
  ir_ref elements = ir_index(g, size);
  return ir_make(g, IR_OP_PARAM, dtype, slot, &elements, 1);
}
ir_ref k_range(ir_graph *g, ir_ref extent, int axis) {
  return ir_make(g, IR_OP_RANGE, IR_INDEX, axis, &extent, 1);
}
ir_ref k_load(ir_graph *g, ir_ref param, ir_ref index) {
  ir_dtype dtype = ir_dtype_of(g, param);
  ir_ref zero = ir_is_float(dtype) ? ir_float(g, dtype, 0) : ir_int(g, dtype, 0);
  return ir_make(g, IR_OP_LOAD, dtype, 0, (ir_ref[]){param, index, ir_bool(g, true), zero}, 4);
}
ir_ref k_store(ir_graph *g, ir_ref param, ir_ref index, ir_ref value) {
  return ir_make(g, IR_OP_STORE, IR_NONE, 0, (ir_ref[]){param, index, value}, 3);
}
ir_ref k_loop(ir_graph *g, ir_ref range, int binding, ir_ref effect) {
  return ir_make(g, IR_OP_LOOP, IR_NONE, ir_pack_arg(0, binding), (ir_ref[]){range, effect}, 2);
}
ir_ref k_fold(ir_graph *g, ir_ref range, int binding, ir_op op, ir_ref init, ir_ref body) {
  ir_dtype dtype = ir_dtype_of(g, body);
  ir_ref carry = ir_make(g, IR_OP_CARRY, dtype, 0, &range, 1);
  ir_ref next = ir_make(g, op, dtype, 0, (ir_ref[]){carry, body}, 2);
  return ir_make(g, IR_OP_LOOP, dtype, ir_pack_arg(1, binding), (ir_ref[]){range, init, next}, 3);
}
ir_ref k_kernel_of(ir_graph *g, ir_ref effect, const ir_ref *params, uint32_t nparams, ir_ref var) {
  ir_ref src[64] = {effect};
  for (uint32_t i = 0; i < nparams; i++) src[1 + i] = params[i];
  src[1 + nparams] = var;
  return ir_make(g, IR_OP_KERNEL, IR_NONE, nparams, src, 1 + nparams + (var != 0));
}
ir_ref k_kernel(ir_graph *g, ir_ref effect, const ir_ref *params, uint32_t nparams) {
  return k_kernel_of(g, effect, params, nparams, 0);
}
ir_ref k_sum(ir_graph *g, ir_ref a, ir_ref b) {
  return ir_make(g, IR_OP_ADD, IR_INDEX, 0, (ir_ref[]){a, b}, 2);
}
ir_ref k_times(ir_graph *g, ir_ref a, int64_t factor) {
  return ir_make(g, IR_OP_MUL, IR_INDEX, 0, (ir_ref[]){a, ir_index(g, factor)}, 2);
}

k_fence k_fence_make(size_t bytes, bool at_end) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
  k_fence f = {.size = inside + 2 * page};
  f.map = mmap(NULL, f.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (inside) assert_int_equal(mprotect(f.map + page, inside, PROT_READ | PROT_WRITE), 0);
  f.memory = f.map + page + (at_end ? inside - bytes : 0);
  return f;
}
void k_fence_free(const k_fence *fence) { munmap(fence->map, fence->size); }
