/* Register prefetch in a loop each of whose iterations stores vectors of inputs in locals, waits, and reduces
 * what the locals hold: what the next iteration stores is loaded into variables before this one reduces, so
 * that memory is read while sums are computed.
 *
 *   v = in[0];  for (r ...) { local = v;  wait;  v = in[r + 1];  sums of what is in local;  wait; }
 *
 * The last iteration loads its own elements a second time. Inputs are parameters to which the kernel stores
 * nothing. */
#include "codegen/opencl/opencl.h"

enum {
  /* vectors of eight f16 or bf16 that a work-item holds for the next iteration: 32 registers beside 128 sums
   * [6 in the tests]; where there are more, nothing is loaded early */
  MAX_VARIABLES = 8,
  MAX_TODO = 16 /* effects still to be looked at: of more, nothing is loaded early */
};

static bool is_input(const tx_emitter *e, ir_ref load) {
  const ir_node *n = ir_get(e->g, load);
  if (n->op != IR_OP_LOAD || ir_op_of(e->g, n->src[0]) != IR_OP_PARAM) return false;
  int64_t slot = ir_arg_int(ir_get(e->g, n->src[0]));
  return slot < 64 && !(oc_of(e)->outputs >> slot & 1);
}

/* Finds the loads whose values are all that the effect stores, in lane loops. Returns their number; 0 where
 * the effect does anything else. */
static uint32_t find_loads(const tx_emitter *e, ir_ref effect, ir_ref loads[OC_FETCHED]) {
  ir_ref todo[MAX_TODO] = {effect};
  uint32_t left = 1, count = 0;
  while (left) {
    ir_ref ref = todo[--left];
    const ir_node *n = ir_get(e->g, ref);
    bool lanes = n->op == IR_OP_LOOP && cg_is_lane(&e->nest->loops[e->nest->loop_of[ref] - 1]);
    if (n->op == IR_OP_SEQ || lanes) {
      if (left + n->nsrc > MAX_TODO) return 0;
      for (uint32_t i = n->nsrc; i-- > (lanes ? 1u : 0u);) todo[left++] = n->src[i];
    } else if (n->op == IR_OP_STORE && count < OC_FETCHED && !oc_is_ahead(e, ref) && is_input(e, n->src[2])) {
      loads[count++] = n->src[2];
    } else {
      return 0;
    }
  }
  return count;
}

/* Does the load's index depend on a value that the loop carries? Then the iteration before cannot compute
 * it. */
static bool depends_on_carried(tx_emitter *e, const cg_loop *loop, ir_ref load) {
  ir_ref *live = NULL, index = ir_src(e->g, load, 1);
  size_t count = 0, cap = 0;
  bool depends = false;
  if (ir_reachable(e->g, &index, 1, &live, &count, &cap) != IR_OK)
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (size_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < loop->carries; k++) depends |= live[i] == loop->carry[k];
  ir_free(e->nest->mem, live, cap * sizeof *live);
  return depends;
}

static void read_at(tx_emitter *e, const oc_fetch *f, tx_value at) {
  size_t scope = oc_enter_iteration(e, f->loop, at, f->load, f->count);
  for (uint32_t i = 0; i < f->count && !e->order.failed; i++) oc_read_vectors(e, f->load[i], f->first[i]);
  tx_leave_iteration(e, f->loop, scope);
}

oc_fetch oc_fetch_first(tx_emitter *e, const cg_loop *loop) {
  static const oc_fetch none = {0};
  oc_fetch f = {.loop = loop};
  uint32_t variables = 0;
  if (!oc_are_items(e) || !loop->effect || !loop->carries || !cg_surely_runs(&e->order, loop)) return none;
  f.count = find_loads(e, loop->effect, f.load);
  for (uint32_t i = 0; i < f.count; i++) {
    uint32_t vectors = oc_count_vector_loads(e, f.load[i]);
    variables += vectors;
    if (!vectors || depends_on_carried(e, loop, f.load[i])) return none;
  }
  if (variables > MAX_VARIABLES) return none;
  for (uint32_t i = 0; i < f.count; i++) f.first[i] = oc_declare_vectors(e, f.load[i]);
  if (f.count) read_at(e, &f, tx_literal(e, TX_I32, 0));
  return f;
}

ir_text oc_fetch_next(tx_emitter *e, const oc_fetch *f, unsigned kind, const char *counter, const char *end) {
  ir_text body = e->out, next = {0};
  if (!f->count) return next;
  ir_text_init(&e->out, e->nest->mem);
  const char *name = tx_text(e, "v%u", e->last_number++);
  tx_line(e, "%s %s = %s + 1 < %s ? %s + 1 : %s", tx_type(e, kind, 1), name, counter, end, counter, counter);
  read_at(e, f, tx_make(e, kind, 1, TX_ATOM, "%s", name));
  next = e->out, e->out = body;
  if (next.failed) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (uint32_t i = 0; i < f->count && !e->order.failed; i++) {
    void **unrolled = cg_array(&e->order, cg_unroll_count(&e->order, cg_lanes(e->nest, f->load[i])));
    if (!unrolled) break;
    oc_extract_vectors(e, f->load[i], f->first[i], unrolled);
    cg_define(&e->order, f->load[i], unrolled);
  }
  return next;
}
