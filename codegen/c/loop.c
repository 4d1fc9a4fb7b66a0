/* Loops that run, and rare values. */
#include "codegen/c/c.h"

void cc_emit_running(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  bool thread = loop->binding == IR_THREAD;
  if (!cg_before_loop(&e->order, loop)) return;
  size_t scope = e->order.log_count;
  const char *name = tx_text(e, "ridx%d", (int)ir_arg_int(ir_get(e->g, loop->range)));
  tx_value extent = thread ? tx_make(e, TX_I64, 1, TX_ATOM, "end") : tx_at(e, ir_src(e->g, loop->range, 0));
  const char *first = thread ? "begin" : "0", *end = tx_parenthesised(e, extent, TX_SUM);
  void **arrays = tx_open_carried(e, loop);
  if (e->order.failed) return;
  bool guarded = tx_hoist_guarded(e, loop, first, end);
  tx_open(e, "for (i64 %s = %s; %s < %s; %s++)", name, first, name, end, name);
  tx_define_iteration(e, loop, tx_make(e, TX_I64, 1, TX_ATOM, "%s", name));
  if (loop->effect) cg_emit_effect(&e->order, loop->effect);
  if (ir_dtype_of(e->g, loop->node) != IR_NONE) cg_need_next(&e->order, loop);
  if (e->order.failed) return;
  tx_close_carried(e, loop, arrays);
  tx_leave_iteration(e, loop, scope);
  tx_close(e);
  if (guarded) tx_close(e);
  e->order.finals[number] = arrays;
  e->order.nesting--;
}

void cc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled) {
  tx_value some = tx_declare_rare(e, ref, unrolled);
  tx_emit_rare(e, ref, unrolled, tx_text(e, "VF_UNLIKELY(%s)", some.text));
}
