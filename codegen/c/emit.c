/* A KERNEL node as a function of a C file. */
#include "codegen/c/c.h"

/* the function */

/* `const f32_anywhere *restrict p1 = buffers[1]`: const where nothing is stored to the buffer, restrict where
 * it shares memory with no other. */
static void put_param(tx_emitter *e, ir_ref param) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n), kind = tx_storage_of(e, (ir_dtype)n->dtype);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  if (slot == 0 && e->nest->in_place) may_alias = true;
  bool constant = read_only || (may_alias && slot);
  const char *name = tx_text(e, "p%u", slot);
  tx_line(e, "%s%s%s *%s%s = buffers[%u]", constant ? "const " : "", tx_type(e, kind, 1),
          constant ? "_anywhere" : "", may_alias ? "" : "restrict ", name, slot);
  tx_line(e, "(void)%s", name);
  tx_define_name(e, param, kind, name);
}

/* Lays out the locals in scratch memory. */
static void put_locals(tx_emitter *e) {
  enum { ALIGN = CG_SCRATCH_ALIGN };
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(e->g, &e->nest->kernel, 1, &live, &count, &cap) != IR_OK)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (size_t i = 0; i < count && !e->order.failed; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    int64_t size;
    if (n->op != IR_OP_LOCAL || !ir_is_const(e->g, n->src[0], &size)) continue;
    const char *name = tx_text(e, "l%u", (unsigned)ir_arg_int(n));
    unsigned kind = tx_storage_of(e, (ir_dtype)n->dtype);
    tx_line(e, "%s *restrict %s = (%s *)((char *)scratch + %llu)", tx_type(e, kind, 1), name,
            tx_type(e, kind, 1), (unsigned long long)e->nest->scratch);
    tx_define_name(e, live[i], kind, name);
    uint64_t bytes = (uint64_t)size * tx_bytes(kind);
    e->nest->scratch += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    cc_of(e)->scratch = true;
  }
  ir_free(e->g->mem, live, cap * sizeof *live);
}

static void put_body(tx_emitter *e) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  for (uint32_t i = 1; i < kernel->nsrc && !e->order.failed; i++) {
    if (i <= params) {
      put_param(e, kernel->src[i]);
      continue;
    }
    const char *name = tx_text(e, "v%u", (unsigned)(i - params - 1));
    tx_line(e, "i64 %s = vars[%u]", name, (unsigned)(i - params - 1));
    tx_line(e, "(void)%s", name);
    tx_define_name(e, kernel->src[i], TX_I64, name);
  }
  e->last_number = kernel->nsrc - 1 - (uint32_t)params;
  put_locals(e);
  if (!e->order.failed) cg_emit_effect(&e->order, kernel->src[0]);
  if (e->streams) tx_line(e, "VF_FENCE()");
}

static void put_function(tx_emitter *e, const char *symbol, bool is_static) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  e->depth = 1;
  put_body(e);
  tx_close(e);
  ir_text *out = &cc_of(e)->file->body;
  if (!is_static)
    ir_textf(out, "void %s(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch);\n",
             symbol);
  ir_textf(out, "%svoid %s(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch) {\n",
           is_static ? "static " : "", symbol);
  if (!params && !e->checks) ir_text_str(out, "  (void)buffers;\n");
  if (kernel->nsrc == 1 + (uint32_t)params) ir_text_str(out, "  (void)vars;\n");
  if (!tx_has_threads(e->nest)) ir_text_str(out, "  (void)begin, (void)end;\n");
  if (!cc_of(e)->scratch) ir_text_str(out, "  (void)scratch;\n");
  if (e->checks) ir_textf(out, "  i64 *status = buffers[%u];\n", (unsigned)params);
  cc_prune(e, &e->out);
}

ir_status cc_emit_kernel(cc_file *file, const cg_request *request, bool is_static, cg_blob *terms,
                         ir_error *error) {
  static const cg_emits emits = {.unrolled = tx_emit_unrolled,
                                 .serial_loop = cc_emit_running,
                                 .lane_loop = tx_emit_lanes,
                                 .store = tx_emit_store,
                                 .update = tx_emit_update};
  cg_nest nest;
  ir_status status = cg_nest_make(&nest, request->graph, request->kernel, false, error);
  if (status == IR_OK) {
    cc_own own = {.file = file};
    tx_emitter e = {.nest = &nest,
                    .g = &nest.graph,
                    .target = request->target,
                    .language = &cc_language,
                    .own = &own,
                    .vectors = TX_WHOLE};
    ir_text_init(&e.out, nest.mem);
    if (cg_order_open(&e.order, &nest, &emits, &e, error)) put_function(&e, request->symbol, is_static);
    if (e.order.failed) status = error->status;
    *terms = (cg_blob){.mem = file->mem,
                       .scratch = nest.scratch,
                       .in_place = nest.in_place,
                       .uses = nest.uses,
                       .checks = e.checks};
    if (e.order.nest) cg_order_close(&e.order);
    tx_text_free(&e);
  }
  cg_nest_free(&nest);
  return status;
}

ir_status cg_c(const cg_request *requests, size_t count, const ir_mem *mem, cg_blob *out, ir_error *error) {
  ir_error own = {0};
  cc_file file;
  ir_status status = IR_OK;
  cc_file_init(&file, mem);
  *out = (cg_blob){.mem = mem};
  for (size_t i = 0; i < count && status == IR_OK; i++) {
    if (i) ir_text_str(&file.body, "\n");
    status = cc_emit_kernel(&file, &requests[i], false, out, &own);
  }
  if (status == IR_OK) status = cc_file_text(&file, "", &out->bytes, &out->size, &own);
  cc_file_free(&file);
  return status == IR_OK ? IR_OK : ir_fail(error, status, "%s", own.text);
}
