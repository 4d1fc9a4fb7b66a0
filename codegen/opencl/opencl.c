/* A KERNEL node as OpenCL C: the function around what is emitted, and the entry point. */
#include "codegen/opencl/opencl.h"

#include <string.h>

/* `global const float *restrict b1, long o1, `: const where nothing is stored to the buffer, restrict where
 * it shares memory with no other. */
static void put_param(tx_emitter *e, ir_ref param, ir_text *out) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  if (slot == 0 && e->nest->in_place) may_alias = true;
  ir_textf(out, "global %s%s *%sb%u, long o%u, ", read_only || (may_alias && slot) ? "const " : "",
           tx_type(e, tx_storage_of(e, (ir_dtype)n->dtype), 1), may_alias ? "" : "restrict ", slot, slot);
}

static void put_pointer(tx_emitter *e, ir_ref param) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  tx_line(e, "global %s%s *p%u = b%u + o%u", read_only || (may_alias && slot) ? "const " : "",
          tx_type(e, tx_storage_of(e, (ir_dtype)n->dtype), 1), slot, slot, slot);
}

/* Parameters and variables: writes the function's arguments to the head, and pointers to the parameters'
 * first elements to the body. */
static void put_arguments(tx_emitter *e, const char *symbol) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  ir_textf(&oc_of(e)->head, "kernel __attribute__((reqd_work_group_size(%u, 1, 1))) void %s(",
           oc_of(e)->group, symbol);
  uint32_t first = (uint32_t)params + 1; /* of the variables */
  for (uint32_t i = 1; i < first && !e->order.failed; i++) {
    ir_ref ref = kernel->src[i];
    const ir_node *n = ir_get(e->g, ref);
    put_param(e, ref, &oc_of(e)->head);
    put_pointer(e, ref);
    tx_define_name(e, ref, tx_kind_of(e, (ir_dtype)n->dtype), tx_text(e, "p%u", (unsigned)ir_arg_int(n)));
  }
  ir_text_str(&oc_of(e)->head, "global int *status, ");
  for (uint32_t i = first; i < kernel->nsrc && !e->order.failed; i++) {
    const char *name = tx_text(e, "v%u", (unsigned)(i - first));
    ir_textf(&oc_of(e)->head, "long %s, ", name);
    tx_define_name(e, kernel->src[i], TX_I64, name);
  }
  ir_text_str(&oc_of(e)->head, "long count, long grain) {\n");
  e->last_number = kernel->nsrc - first;
}

/* Defines the range of a vector loop as the work-item's lane: `lane`, or, of a vector of fewer lanes than the
 * group has work-items, `laneN`, which is declared once for each length N. */
static void put_lane(tx_emitter *e, ir_ref range, const cg_loop *loop, uint64_t *declared_lengths) {
  const char *name = "lane";
  if (loop->extent < oc_of(e)->group) {
    name = tx_text(e, "lane%d", (int)loop->extent);
    if (!(declared_lengths[loop->extent / 64] >> loop->extent % 64 & 1))
      tx_line(e, "int %s = min(lane, %d)", name, (int)loop->extent - 1);
    declared_lengths[loop->extent / 64] |= (uint64_t)1 << loop->extent % 64;
  }
  tx_define_name(e, range, TX_I32, name);
}

static void put_local(tx_emitter *e, ir_ref local) {
  const ir_node *n = ir_get(e->g, local);
  int64_t size = 0;
  const char *name = tx_text(e, "l%u", (unsigned)ir_arg_int(n));
  unsigned kind = tx_storage_of(e, (ir_dtype)n->dtype);
  bool is_private = oc_is_private(e, local);
  ir_is_const(e->g, n->src[0], &size);
  if (is_private) size = oc_private_size(e, size);
  ir_textf(&oc_of(e)->head, "  %s%s %s[%lld]%s;\n", is_private ? "" : "local ", tx_type(e, kind, 1), name,
           (long long)size,
           oc_are_items(e) && !is_private && size > 1 ? " __attribute__((aligned(16)))" : "");
  tx_define_name(e, local, kind, name);
  if (!is_private) e->nest->scratch += (uint64_t)size * tx_bytes(kind);
}

static void put_lanes_and_locals(tx_emitter *e) {
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
    if (loop && oc_are_items(e) && loop->binding == IR_VECTOR) put_lane(e, live[i], loop, declared_lengths);
    if (n->op == IR_OP_LOCAL) put_local(e, live[i]);
  }
  ir_free(e->nest->mem, live, cap * sizeof *live);
}

bool oc_has_ptx(const tx_emitter *e) { return strstr(e->target->features, "+ptx") != NULL; }

static void put_kernel(tx_emitter *e, const char *symbol) {
  e->depth = 1;
  put_arguments(e, symbol);
  if (oc_are_items(e) && oc_of(e)->group > 1)
    tx_line(e, "int lane = %s", oc_has_ptx(e) ? "vf_lane()" : "get_local_id(0)");
  put_lanes_and_locals(e);
  if (tx_has_threads(e->nest))
    tx_line(e, "long begin = get_group_id(0) * grain, end = min(begin + grain, count)");
  if (!e->order.failed) cg_emit_effect(&e->order, ir_src(e->g, e->nest->kernel, 0));
  if (e->streams) tx_line(e, "mem_fence(CLK_GLOBAL_MEM_FENCE)");
  tx_close(e);
  for (unsigned area = 0; area < 2; area++) {
    unsigned long long words = (oc_of(e)->exchange[area] + 7) / 8;
    if (words) ir_textf(&oc_of(e)->head, "  local ulong exchange%u[%llu];\n", area, words);
    e->nest->scratch += words * 8;
  }
  if (oc_of(e)->has_matrix) {
    enum { REGISTERS = 6 }; /* per work-item: four of rows, two of columns */
    ir_textf(&oc_of(e)->head, "  VF_MATRIX_LOCAL(%u)\n", REGISTERS * oc_of(e)->group);
    if (!oc_has_ptx(e)) e->nest->scratch += (uint64_t)REGISTERS * oc_of(e)->group * 4;
  }
  if (oc_of(e)->has_flag) {
    ir_text_str(&oc_of(e)->head, "  local int some;\n");
    e->nest->scratch += 8;
  }
}

static ir_status check_lanes(const tx_emitter *e, const char *symbol, ir_error *error) {
  for (uint32_t l = 0; l < e->nest->loop_count; l++) {
    const cg_loop *loop = &e->nest->loops[l];
    if (loop->binding != IR_VECTOR) continue;
    if (oc_are_items(e) && loop->extent > e->target->group_items)
      return ir_fail(error, IR_ERR_INTERNAL,
                     "compile: %s has groups of %lld work-items; groups of the target have at most %d",
                     symbol, (long long)loop->extent, e->target->group_items);
  }
  return IR_OK;
}

static ir_status copy_out(tx_emitter *e, cg_blob *out) {
  size_t size = oc_of(e)->head.len + e->out.len;
  if (oc_of(e)->head.failed || e->out.failed)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  if (e->order.failed) return e->order.error->status;
  char *text = ir_alloc(e->nest->mem, size + 1);
  if (!text) return ir_fail(e->order.error, IR_ERR_MEMORY, "out of memory keeping %zu bytes of code", size);
  memcpy(text, ir_text_get(&oc_of(e)->head), oc_of(e)->head.len);
  memcpy(text + oc_of(e)->head.len, ir_text_get(&e->out), e->out.len + 1);
  *out = (cg_blob){.mem = e->nest->mem,
                   .bytes = text,
                   .size = size,
                   .scratch = e->nest->scratch,
                   .in_place = e->nest->in_place};
  return IR_OK;
}

ir_status cg_opencl(const ir_graph *graph, ir_ref kernel, const char *symbol, const ir_target *target,
                    cg_blob *out, ir_error *error) {
  static const cg_emits emits = {.unrolled = tx_emit_unrolled,
                                 .serial_loop = oc_emit_running,
                                 .lane_loop = tx_emit_lanes,
                                 .before = oc_before_effect,
                                 .store = oc_emit_store,
                                 .update = oc_emit_update,
                                 .threads_run = true};
  ir_error own = {0};
  *out = (cg_blob){0};
  cg_nest nest;
  bool items = target->group_items > 0;
  ir_status status = cg_nest_make(&nest, graph, kernel, items, &own);
  if (status == IR_OK) {
    oc_own own_state = {.group = items ? oc_group_size(&nest) : 1};
    tx_emitter e = {.nest = &nest,
                    .g = &nest.graph,
                    .target = target,
                    .language = &oc_language,
                    .own = &own_state,
                    .vectors = items ? TX_ITEMS : TX_SUBVECTORS,
                    .soft_f64 = target->soft_f64};
    oc_limit_in_place(&nest, own_state.group);
    ir_text_init(&e.out, nest.mem);
    ir_text_init(&own_state.head, nest.mem);
    ir_text_init(&own_state.late, nest.mem);
    status = check_lanes(&e, symbol, &own);
    if (status == IR_OK && cg_order_open(&e.order, &nest, &emits, &e, &own)) {
      put_kernel(&e, symbol);
      status = copy_out(&e, out);
    }
    if (e.order.nest) cg_order_close(&e.order);
    tx_text_free(&e);
    ir_text_free(&own_state.head);
    ir_text_free(&own_state.late);
    if (own.status != IR_OK) status = own.status;
  }
  cg_nest_free(&nest);
  return status == IR_OK ? IR_OK : ir_fail(error, status, "%s", own.text);
}
