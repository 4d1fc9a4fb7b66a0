/* Loops that run, and rare values. */
#include "codegen/opencl/opencl.h"

size_t oc_enter_iteration(tx_emitter *e, const cg_loop *loop, tx_value at, const ir_ref *loads,
                          uint32_t count) {
  size_t scope = e->order.log_count;
  tx_define_iteration(e, loop, at);
  cg_begin_visit(&e->order);
  for (uint32_t i = 0; i < count; i++) {
    cg_access access = cg_access_of(e->nest, ir_src(e->g, loads[i], 1));
    if (access.base) cg_visit(&e->order, access.base);
    if (access.lane_term) cg_visit(&e->order, access.lane_term);
  }
  if (!e->order.failed) cg_emit_visited(&e->order, true);
  return scope;
}

/* The body of one iteration. Stores to locals that only later iterations read are deferred until the next
 * values have been computed, so that the loads of what they store, like the loads of `next`, are in flight
 * meanwhile. */
static void emit_iteration(tx_emitter *e, const cg_loop *loop, bool effect, const ir_text *next) {
  uint32_t outer = oc_of(e)->late_depth;
  oc_of(e)->late_depth = effect ? 0 : e->depth;
  if (loop->effect) cg_emit_effect(&e->order, loop->effect);
  oc_of(e)->late_depth = outer;
  if (effect) return;
  ir_text late = oc_of(e)->late;
  ir_text_init(&oc_of(e)->late, e->nest->mem);
  if (next->len) ir_text_str(&e->out, ir_text_get(next));
  if (loop->effect) oc_before_values(e, loop);
  cg_need_next(&e->order, loop);
  if (late.failed) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  if (!late.failed && late.len) ir_text_str(&e->out, ir_text_get(&late));
  ir_text_free(&late);
}

static bool is_innermost(const tx_emitter *e, const cg_loop *loop) {
  const cg_nest *nest = e->nest;
  uint32_t number = (uint32_t)(loop - nest->loops);
  for (uint32_t l = 0; l < nest->loop_count; l++)
    if (l != number && !cg_is_lane(&nest->loops[l]) && cg_set_has(cg_deps(nest, nest->loops[l].node), number))
      return false;
  return true;
}

/* Work-item style: has the compiler unroll an innermost reduction of constant trip count, fully if that is at
 * most ALONE, else by ALONE, or TOGETHER where each iteration has several sums: so that several elements are
 * loaded at a time, and indices are constants. */
static void put_unrolling(tx_emitter *e, const cg_loop *loop) {
  enum {
    ALONE = 8,   /* iterations: eight loads of one sum are under way at a time */
    TOGETHER = 4 /* iterations: of several sums there are four times as many and more */
  };
  int64_t trip_count;
  if (!oc_are_items(e) || !loop->carries || loop->effect || !is_innermost(e, loop) ||
      !ir_is_const(e->g, ir_src(e->g, loop->range, 0), &trip_count))
    return;
  bool single = loop->carries == 1 && cg_unroll_count(&e->order, cg_carry_lanes(&e->order, loop, 0)) == 1;
  if (trip_count <= ALONE) ir_text_str(&e->out, "#pragma unroll\n");
  else ir_textf(&e->out, "#pragma unroll %d\n", single ? ALONE : TOGETHER);
}

void oc_emit_running(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  bool thread = loop->binding == IR_THREAD, effect = n->dtype == IR_NONE;
  if (effect) oc_before_effect(e, loop->node);
  if (!cg_before_loop(&e->order, loop)) return;
  size_t scope = e->order.log_count;
  unsigned kind = oc_are_items(e) ? tx_index_kind(e, loop->range) : TX_I64;
  const char *name = tx_text(e, "ridx%d", (int)ir_arg_int(ir_get(e->g, loop->range)));
  tx_value extent = thread ? tx_make(e, TX_I64, 1, TX_ATOM, "end") : tx_at(e, ir_src(e->g, loop->range, 0));
  const char *first = thread ? "begin" : "0", *end = tx_parenthesised(e, extent, TX_SUM);
  void **arrays = tx_open_carried(e, loop);
  if (e->order.failed) return;
  if (oc_emit_matrix(e, loop, arrays ? arrays[0] : NULL)) {
    cg_forget_since(&e->order, scope);
    e->order.finals[number] = arrays;
    e->order.nesting--;
    return;
  }
  oc_barriers before = oc_of(e)->waits; /* hoisted code may not be run either */
  bool guarded = tx_hoist_guarded(e, loop, first, end);
  oc_fetch fetch = oc_fetch_first(e, loop);
  put_unrolling(e, loop);
  const char *begin = thread && kind == TX_I32 && oc_has_ptx(e) ? "vf_low(begin)" : first;
  tx_open(e, "for (%s %s = %s; %s < %s; %s++)", tx_type(e, kind, 1), name, begin, name, end, name);
  oc_first_areas outer = oc_begin_iteration(e);
  ir_text next = oc_fetch_next(e, &fetch, kind, name, end);
  tx_define_iteration(e, loop, tx_make(e, kind, 1, TX_ATOM, "%s", name));
  emit_iteration(e, loop, effect, &next);
  ir_text_free(&next);
  if (e->order.failed) return;
  tx_close_carried(e, loop, arrays);
  oc_end_iteration(e, loop, outer);
  tx_leave_iteration(e, loop, scope);
  tx_close(e);
  if (guarded) tx_close(e);
  if (!cg_surely_runs(&e->order, loop)) oc_end_conditional(e, before);
  e->order.finals[number] = arrays;
  e->order.nesting--;
}

void oc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled) {
  tx_value some = tx_declare_rare(e, ref, unrolled);
  if (oc_needs_barrier(e, ir_src(e->g, ref, 1))) some = oc_group_any(e, some);
  oc_barriers before = oc_of(e)->waits;
  tx_emit_rare(e, ref, unrolled, some.text);
  oc_end_conditional(e, before);
}
