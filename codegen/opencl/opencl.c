/* A KERNEL node as OpenCL C: the function around what is emitted, and the entry point. */
#include "codegen/opencl/opencl.h"

#include <string.h>

/* `global const float *restrict b1, long o1, `: const where nothing is stored to the buffer, restrict where
 * it shares memory with no other. */
static void put_param(oc_emitter *e, ir_ref param, ir_text *out) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  if (slot == 0 && e->nest->in_place) may_alias = true;
  ir_textf(out, "global %s%s *%sb%u, long o%u, ", read_only || (may_alias && slot) ? "const " : "",
           oc_type(oc_storage_of(e, (ir_dtype)n->dtype), 1).text, may_alias ? "" : "restrict ", slot, slot);
}

static void put_pointer(oc_emitter *e, ir_ref param) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  oc_line(e, "global %s%s *p%u = b%u + o%u", read_only || (may_alias && slot) ? "const " : "",
          oc_type(oc_storage_of(e, (ir_dtype)n->dtype), 1).text, slot, slot, slot);
}

static void define_name(oc_emitter *e, ir_ref ref, unsigned kind, const char *name) {
  void **unrolled = cg_array(&e->order, 1);
  oc_value *value = oc_values(e, 1);
  if (!unrolled || !value) return;
  *value = (oc_value){.text = name, .kind = (uint8_t)kind, .level = OC_ATOM, .width = 1};
  *unrolled = value;
  cg_define(&e->order, ref, unrolled);
}

/* Parameters and variables: writes the function's arguments to the head, and pointers to the parameters'
 * first elements to the body. */
static void put_arguments(oc_emitter *e, const char *symbol) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  ir_textf(&e->head, "kernel __attribute__((reqd_work_group_size(%u, 1, 1))) void %s(", e->group, symbol);
  uint32_t first = (uint32_t)params + 1; /* of the variables */
  for (uint32_t i = 1; i < first && !e->order.failed; i++) {
    ir_ref ref = kernel->src[i];
    const ir_node *n = ir_get(e->g, ref);
    put_param(e, ref, &e->head);
    put_pointer(e, ref);
    define_name(e, ref, oc_kind_of(e, (ir_dtype)n->dtype), oc_text(e, "p%u", (unsigned)ir_arg_int(n)));
  }
  ir_text_str(&e->head, "global int *status, ");
  for (uint32_t i = first; i < kernel->nsrc && !e->order.failed; i++) {
    const char *name = oc_text(e, "v%u", (unsigned)(i - first));
    ir_textf(&e->head, "long %s, ", name);
    define_name(e, kernel->src[i], OC_LONG, name);
  }
  ir_text_str(&e->head, "long count, long grain) {\n");
  e->last_number = kernel->nsrc - first;
}

/* Defines the range of a vector loop as the work-item's lane: `lane`, or, of a vector of fewer lanes than the
 * group has work-items, `laneN`, which is declared once for each length N. */
static void put_lane(oc_emitter *e, ir_ref range, const cg_loop *loop, uint64_t *declared_lengths) {
  const char *name = "lane";
  if (loop->extent < e->group) {
    name = oc_text(e, "lane%d", (int)loop->extent);
    if (!(declared_lengths[loop->extent / 64] >> loop->extent % 64 & 1))
      oc_line(e, "int %s = min(lane, %d)", name, (int)loop->extent - 1);
    declared_lengths[loop->extent / 64] |= (uint64_t)1 << loop->extent % 64;
  }
  define_name(e, range, OC_INT, name);
}

static void put_local(oc_emitter *e, ir_ref local) {
  const ir_node *n = ir_get(e->g, local);
  int64_t size = 0;
  const char *name = oc_text(e, "l%u", (unsigned)ir_arg_int(n));
  unsigned kind = oc_storage_of(e, (ir_dtype)n->dtype);
  bool is_private = oc_is_private(e, local);
  ir_is_const(e->g, n->src[0], &size);
  if (is_private) size = oc_private_size(e, size);
  ir_textf(&e->head, "  %s%s %s[%lld]%s;\n", is_private ? "" : "local ", oc_type(kind, 1).text, name,
           (long long)size,
           e->lanes_are_items && !is_private && size > 1 ? " __attribute__((aligned(16)))" : "");
  define_name(e, local, kind, name);
  if (!is_private) e->nest->scratch += (uint64_t)size * oc_bytes(kind);
}

static void put_lanes_and_locals(oc_emitter *e) {
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  uint64_t declared_lengths[CG_MAX_LANES / 64 + 1] = {0}; /* set of lengths N that are declared */
  if (ir_reachable(e->g, &e->nest->kernel, 1, &live, &count, &cap) != IR_OK) {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  } else {
    oc_find_private(e, live, count);
    oc_find_outputs(e, live, count);
  }
  for (size_t i = 0; i < count && !e->order.failed; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    const cg_loop *loop = n->op == IR_OP_RANGE && e->nest->loop_of[live[i]]
                              ? &e->nest->loops[e->nest->loop_of[live[i]] - 1]
                              : NULL;
    if (loop && e->lanes_are_items && loop->binding == IR_VECTOR)
      put_lane(e, live[i], loop, declared_lengths);
    if (n->op == IR_OP_LOCAL) put_local(e, live[i]);
  }
  ir_free(e->nest->mem, live, cap * sizeof *live);
}

static bool has_threads(const cg_nest *nest) {
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (nest->loops[l].binding == IR_THREAD) return true;
  return false;
}

static void put_kernel(oc_emitter *e, const char *symbol) {
  e->depth = 1;
  put_arguments(e, symbol);
  if (e->lanes_are_items && e->group > 1) oc_line(e, "int lane = get_local_id(0)");
  put_lanes_and_locals(e);
  if (has_threads(e->nest))
    oc_line(e, "long begin = get_group_id(0) * grain, end = min(begin + grain, count)");
  if (!e->order.failed) cg_emit_effect(&e->order, ir_src(e->g, e->nest->kernel, 0));
  if (e->streams) oc_line(e, "mem_fence(CLK_GLOBAL_MEM_FENCE)");
  oc_close(e);
  for (unsigned area = 0; area < 2; area++) {
    unsigned long long words = (e->exchange[area] + 7) / 8;
    if (words) ir_textf(&e->head, "  local ulong exchange%u[%llu];\n", area, words);
    e->nest->scratch += words * 8;
  }
  if (e->has_matrix) {
    enum { REGISTERS = 6 }; /* per work-item: four of rows, two of columns */
    ir_textf(&e->head, "  VF_MATRIX_LOCAL(%u)\n", REGISTERS * e->group);
    if (!strstr(e->target->features, "+ptx")) e->nest->scratch += (uint64_t)REGISTERS * e->group * 4;
  }
  if (e->has_flag) {
    ir_text_str(&e->head, "  local int some;\n");
    e->nest->scratch += 8;
  }
}

static ir_status check_lanes(const oc_emitter *e, const char *symbol, ir_error *error) {
  for (uint32_t l = 0; l < e->nest->loop_count; l++) {
    const cg_loop *loop = &e->nest->loops[l];
    if (loop->binding != IR_VECTOR) continue;
    if (e->lanes_are_items && loop->extent > e->target->group_items)
      return ir_fail(error, IR_ERR_UNSUPPORTED,
                     "compile: %s has groups of %lld work-items; groups of the target have at most %d",
                     symbol, (long long)loop->extent, e->target->group_items);
  }
  return IR_OK;
}

static ir_status copy_out(oc_emitter *e, cg_blob *out) {
  size_t size = e->head.len + e->out.len;
  if (e->head.failed || e->out.failed)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  if (e->order.failed) return e->order.error->status;
  char *text = ir_alloc(e->nest->mem, size + 1);
  if (!text) return ir_fail(e->order.error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
  memcpy(text, ir_text_get(&e->head), e->head.len);
  memcpy(text + e->head.len, ir_text_get(&e->out), e->out.len + 1);
  *out = (cg_blob){.mem = e->nest->mem,
                   .bytes = text,
                   .size = size,
                   .scratch = e->nest->scratch,
                   .in_place = e->nest->in_place};
  return IR_OK;
}

ir_status cg_opencl(const ir_graph *graph, ir_ref kernel, const char *symbol, const ir_target *target,
                    cg_blob *out, ir_error *error) {
  static const cg_emits emits = {oc_emit_unrolled,
                                 oc_emit_running,
                                 oc_emit_lanes,
                                 oc_before_effect,
                                 oc_emit_store,
                                 oc_emit_update,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 true};
  ir_error own = {0};
  *out = (cg_blob){0};
  cg_nest nest;
  bool items = target->group_items > 0;
  ir_status status = cg_nest_make(&nest, graph, kernel, items, &own);
  if (status == IR_OK) {
    oc_emitter e = {.nest = &nest,
                    .g = &nest.graph,
                    .target = target,
                    .lanes_are_items = items,
                    .group = items ? oc_group_size(&nest) : 1};
    oc_limit_in_place(&nest, e.group);
    ir_text_init(&e.out, nest.mem);
    ir_text_init(&e.head, nest.mem);
    ir_text_init(&e.late, nest.mem);
    status = check_lanes(&e, symbol, &own);
    if (status == IR_OK && cg_order_open(&e.order, &nest, &emits, &e, &own)) {
      put_kernel(&e, symbol);
      status = copy_out(&e, out);
    }
    if (e.order.nest) cg_order_close(&e.order);
    oc_text_free(&e);
    if (own.status != IR_OK) status = own.status;
  }
  cg_nest_free(&nest);
  return status == IR_OK ? IR_OK : ir_fail(error, status, "%s", own.text);
}
