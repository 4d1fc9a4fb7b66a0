/* Emission of nodes, and of a kernel as a whole. Each unrolled value of a node is an expression or a named
 * variable: index expressions are written where they are used, as in a listing, unless they are long or an
 * inner loop adds to them; everything else is a variable. */
#include "codegen/c/c.h"

#include <string.h>

#include "ir/print/print.h"

cc_value *cc_values(cc_emitter *e, uint32_t count) {
  /* pointers that take as many bytes as a value, rounded up: cg_array counts in these */
  enum { POINTERS = (sizeof(cc_value) + sizeof(void *) - 1) / sizeof(void *) };
  return cg_array(&e->order, (size_t)count * POINTERS);
}

cc_value cc_at(cc_emitter *e, ir_ref ref) {
  void **unrolled = e->order.values[ref];
  if (!unrolled)
    return cc_fail(e, IR_ERR_INTERNAL, "compile: node %u (%s) is used outside the loops that define it", ref,
                   ir_ops[ir_op_of(e->g, ref)].text);
  return *(const cc_value *)unrolled[cg_unroll_index(&e->order, cg_lanes(e->nest, ref))];
}

void cc_begin_node(cc_emitter *e, uint32_t variables) {
  e->number = 0;
  e->variables = variables;
  e->variable = 0;
}

static bool stays_inline(cc_emitter *e, ir_ref ref, cc_value v) {
  if (v.literal && v.width == 1) return true;
  if (v.level == CC_ATOM && cc_is_name(v.text)) return true; /* a name already */
  if (v.width > 1 || e->nest->freeze[ref] || !ir_is_expression(e->g, ref)) return false;
  return strlen(v.text) <= CG_INLINE_CHARACTERS;
}

void cc_emit_unrolled(void *emitter, ir_ref ref, void *out) {
  cc_emitter *e = emitter;
  void **unrolled = out;
  if (ir_op_of(e->g, ref) == IR_OP_RARE) {
    cc_emit_rare(e, ref, unrolled);
    return;
  }
  if (ir_op_of(e->g, ref) == IR_OP_LOAD && cc_emit_tile(e, ref, unrolled)) return;
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  cc_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes));
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    cc_value *value = cc_values(e, 1);
    if (!value) return;
    unrolled[copy] = value;
    e->variable = (uint32_t)copy;
    cc_value v = cc_emit_value(e, ref);
    *value = stays_inline(e, ref, v) ? v : cc_variable(e, v);
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* the function */

static void define_name(cc_emitter *e, ir_ref ref, unsigned kind, const char *name) {
  void **unrolled = cg_array(&e->order, 1);
  cc_value *value = cc_values(e, 1);
  if (!unrolled || !value) return;
  *value = (cc_value){.text = name, .kind = (uint8_t)kind, .level = CC_ATOM, .width = 1};
  *unrolled = value;
  cg_define(&e->order, ref, unrolled);
}

/* `const f32_anywhere *restrict p1 = buffers[1]`: const where nothing is stored to the buffer, restrict where
 * it shares memory with no other. */
static void put_param(cc_emitter *e, ir_ref param) {
  const ir_node *n = ir_get(e->g, param);
  unsigned slot = (unsigned)ir_arg_int(n), kind = cc_storage_of((ir_dtype)n->dtype);
  bool read_only = !e->nest->stored[param], may_alias = slot < 32 && e->nest->in_place >> slot & 1;
  if (slot == 0 && e->nest->in_place) may_alias = true;
  bool constant = read_only || (may_alias && slot);
  const char *name = cc_text(e, "p%u", slot);
  cc_line(e, "%s%s%s *%s%s = buffers[%u]", constant ? "const " : "", cc_type(kind, 1).text,
          constant ? "_anywhere" : "", may_alias ? "" : "restrict ", name, slot);
  cc_line(e, "(void)%s", name);
  define_name(e, param, kind, name);
}

/* Lays out the locals in scratch memory. */
static void put_locals(cc_emitter *e) {
  enum { ALIGN = CG_SCRATCH_ALIGN };
  ir_ref *live = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable(e->g, &e->nest->kernel, 1, &live, &count, &cap) != IR_OK)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (size_t i = 0; i < count && !e->order.failed; i++) {
    const ir_node *n = ir_get(e->g, live[i]);
    int64_t size;
    if (n->op != IR_OP_LOCAL || !ir_is_const(e->g, n->src[0], &size)) continue;
    const char *name = cc_text(e, "l%u", (unsigned)ir_arg_int(n));
    unsigned kind = cc_storage_of((ir_dtype)n->dtype);
    cc_line(e, "%s *restrict %s = (%s *)((char *)scratch + %llu)", cc_type(kind, 1).text, name,
            cc_type(kind, 1).text, (unsigned long long)e->nest->scratch);
    define_name(e, live[i], kind, name);
    uint64_t bytes = (uint64_t)size * cc_bytes(kind);
    e->nest->scratch += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    e->scratch = true;
  }
  ir_free(e->g->mem, live, cap * sizeof *live);
}

static bool has_threads(const cg_nest *nest) {
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (nest->loops[l].binding == IR_THREAD) return true;
  return false;
}

static void put_body(cc_emitter *e) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  for (uint32_t i = 1; i < kernel->nsrc && !e->order.failed; i++) {
    if (i <= params) {
      put_param(e, kernel->src[i]);
      continue;
    }
    const char *name = cc_text(e, "v%u", (unsigned)(i - params - 1));
    cc_line(e, "i64 %s = vars[%u]", name, (unsigned)(i - params - 1));
    cc_line(e, "(void)%s", name);
    define_name(e, kernel->src[i], CC_I64, name);
  }
  e->last_number = kernel->nsrc - 1 - (uint32_t)params;
  put_locals(e);
  if (!e->order.failed) cg_emit_effect(&e->order, kernel->src[0]);
  if (e->streams) cc_line(e, "VF_FENCE()");
}

static void put_function(cc_emitter *e, const char *symbol, bool is_static) {
  const ir_node *kernel = ir_get(e->g, e->nest->kernel);
  int64_t params = ir_arg_int(kernel);
  e->depth = 1;
  put_body(e);
  cc_close(e);
  ir_text *out = &e->file->body;
  if (!is_static)
    ir_textf(out, "void %s(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch);\n",
             symbol);
  ir_textf(out, "%svoid %s(void *const *buffers, const i64 *vars, i64 begin, i64 end, void *scratch) {\n",
           is_static ? "static " : "", symbol);
  if (!params && !e->checks) ir_text_str(out, "  (void)buffers;\n");
  if (kernel->nsrc == 1 + (uint32_t)params) ir_text_str(out, "  (void)vars;\n");
  if (!has_threads(e->nest)) ir_text_str(out, "  (void)begin, (void)end;\n");
  if (!e->scratch) ir_text_str(out, "  (void)scratch;\n");
  if (e->checks) ir_textf(out, "  i64 *status = buffers[%u];\n", (unsigned)params);
  cc_prune(e, &e->out);
}

ir_status cc_emit_kernel(cc_file *file, const cg_request *request, bool is_static, cg_blob *terms,
                         ir_error *error) {
  static const cg_emits emits = {cc_emit_unrolled,
                                 cc_emit_running,
                                 cc_emit_lanes,
                                 NULL,
                                 cc_emit_store,
                                 cc_emit_update,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 false};
  cg_nest nest;
  ir_status status = cg_nest_make(&nest, request->graph, request->kernel, false, error);
  if (status == IR_OK) {
    cc_emitter e = {.nest = &nest, .g = &nest.graph, .target = request->target, .file = file};
    ir_text_init(&e.out, nest.mem);
    if (cg_order_open(&e.order, &nest, &emits, &e, error)) put_function(&e, request->symbol, is_static);
    if (e.order.failed) status = error->status;
    *terms =
        (cg_blob){.mem = file->mem, .scratch = nest.scratch, .in_place = nest.in_place, .checks = e.checks};
    if (e.order.nest) cg_order_close(&e.order);
    cc_text_free(&e);
  }
  cg_nest_free(&nest);
  return status;
}

ir_status cg_c(const cg_request *requests, size_t count, const ir_mem *mem, cg_blob *out, ir_error *error) {
  ir_error own = {0};
  cc_file file;
  ir_status status = IR_OK;
  cc_file_init(&file, mem);
  *out = (cg_blob){0};
  for (size_t i = 0; i < count && status == IR_OK; i++) {
    if (i) ir_text_str(&file.body, "\n");
    status = cc_emit_kernel(&file, &requests[i], false, out, &own);
  }
  if (status == IR_OK) status = cc_file_text(&file, "", &out->bytes, &out->size, &own);
  cc_file_free(&file);
  return status == IR_OK ? IR_OK : ir_fail(error, status, "%s", own.text);
}
