/* Loops that run, and rare values. A loop inside lane loops is written once, with a variable per carried
 * value, unrolled value and subvector. */
#include "codegen/text/text.h"

#include <string.h>

/* carried values */

/* A carried value of a loop: `copies` unrolled values of `subvectors` variables each. */
typedef struct carried {
  const uint64_t *lanes;
  uint32_t width, copies, subvectors;
} carried;

static carried carried_of(const tx_emitter *e, const cg_loop *loop, uint32_t slot) {
  const uint64_t *lanes = cg_carry_lanes(&e->order, loop, slot);
  uint32_t width = cg_width_of(&e->order, lanes);
  return (carried){lanes, width, (uint32_t)cg_unroll_count(&e->order, lanes), tx_subvectors(e, width)};
}

/* Declares variables for all unrolled values of a node, with the values of `ref`. */
static void declare_all(tx_emitter *e, carried c, ir_ref ref, void **unrolled) {
  tx_begin_node(e, c.copies * c.subvectors);
  cg_first_lane(&e->order, c.lanes);
  do {
    uint32_t copy = (uint32_t)cg_unroll_index(&e->order, c.lanes);
    tx_value *values = unrolled[copy] = tx_values(e, c.subvectors);
    if (!values) return;
    for (e->subvector = 0; e->subvector < c.subvectors && !e->order.failed; e->subvector++) {
      e->variable = copy * c.subvectors + e->subvector;
      values[e->subvector] = tx_variable(e, tx_fetch_value(e, ref, tx_width(e, c.width)));
    }
    e->subvector = 0;
  } while (cg_next_lane(&e->order, c.lanes) && !e->order.failed);
}

void **tx_open_carried(tx_emitter *e, const cg_loop *loop) {
  void **arrays = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    declare_all(e, carried_of(e, loop, i), ir_src(e->g, loop->node, 1 + i), arrays[i]);
    if (loop->carry[i]) cg_define(&e->order, loop->carry[i], arrays[i]);
  }
  return arrays;
}

/* An assignment of a next value to a carried value's variable. Next values that may depend on other carried
 * variables get variables of their own, and all assignments come last. */
typedef struct next {
  tx_value to, value;
} next;

static tx_value next_value(tx_emitter *e, const cg_loop *loop, uint32_t slot, uint32_t width, bool alone) {
  ir_ref ref = ir_src(e->g, loop->node, 1 + loop->carries + slot);
  tx_value v = tx_fetch_value(e, ref, width);
  if (alone || v.literal) return v;
  bool own = false;
  for (uint32_t i = 0; i < loop->carries; i++) own |= loop->carry[i] == ref;
  if (own || v.level != TX_ATOM || !tx_is_name(v.text)) {
    e->number = 0, e->variables = 1;
    return tx_variable(e, v);
  }
  return v;
}

void tx_close_carried(tx_emitter *e, const cg_loop *loop, void **arrays) {
  const ir_mem *mem = e->nest->mem;
  size_t count = 0, at = 0;
  for (uint32_t i = 0; i < loop->carries; i++)
    count += (size_t)carried_of(e, loop, i).copies * carried_of(e, loop, i).subvectors;
  next *all = ir_alloc(mem, (count + 1) * sizeof *all);
  if (!all) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    carried c = carried_of(e, loop, i);
    void **unrolled = arrays[i];
    cg_first_lane(&e->order, c.lanes);
    do {
      const tx_value *to = unrolled[cg_unroll_index(&e->order, c.lanes)];
      for (e->subvector = 0; e->subvector < c.subvectors; e->subvector++)
        all[at++] = (next){to[e->subvector], next_value(e, loop, i, tx_width(e, c.width), count == 1)};
      e->subvector = 0;
    } while (cg_next_lane(&e->order, c.lanes));
  }
  for (size_t i = 0; i < at && !e->order.failed; i++)
    if (strcmp(all[i].to.text, all[i].value.text) != 0)
      tx_line(e, "%s = %s", all[i].to.text, all[i].value.text);
  if (all) ir_free(mem, all, (count + 1) * sizeof *all);
}

/* iterations */

void tx_define_iteration(tx_emitter *e, const cg_loop *loop, tx_value at) {
  void **unrolled = cg_array(&e->order, 1);
  tx_value *value = tx_values(e, 1);
  if (!unrolled || !value) return;
  *value = at, *unrolled = value;
  cg_define(&e->order, loop->range, unrolled);
  e->order.open[loop - e->nest->loops] = true;
}

void tx_leave_iteration(tx_emitter *e, const cg_loop *loop, size_t scope) {
  e->order.open[loop - e->nest->loops] = false;
  cg_forget_since(&e->order, scope);
}

bool tx_hoist_guarded(tx_emitter *e, const cg_loop *loop, const char *first, const char *end) {
  if (cg_surely_runs(&e->order, loop)) return false;
  size_t before = e->out.len;
  tx_open(e, "if (%s < %s)", first, end);
  size_t inside = e->out.len;
  cg_hoist(&e->order, loop, true);
  if (e->out.failed || e->out.len > inside) return true;
  e->out.len = before;
  e->out.data[before] = '\0';
  tx_leave_block(e);
  return false;
}

/* rare values */

static carried rare_of(const tx_emitter *e, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref];
  return (carried){lanes, width, (uint32_t)cg_unroll_count(&e->order, lanes), tx_subvectors(e, width)};
}

/* Whether any lane of any unrolled value's condition holds. */
static tx_value some_holds(tx_emitter *e, ir_ref ref, carried c) {
  tx_value some = {0};
  cg_first_lane(&e->order, c.lanes);
  do
    for (e->subvector = 0; e->subvector < c.subvectors; e->subvector++) {
      tx_value condition = tx_at(e, ir_src(e->g, ref, 0));
      if (some.text && some.width != condition.width)
        some = tx_any(e, some), condition = tx_any(e, condition);
      if (!some.text) some = condition;
      else if (strcmp(some.text, condition.text) != 0)
        some = tx_temporary(e, tx_both(e, some, condition, TX_OR));
    }
  while (cg_next_lane(&e->order, c.lanes) && !e->order.failed);
  e->subvector = 0;
  return tx_any(e, some);
}

tx_value tx_declare_rare(tx_emitter *e, ir_ref ref, void **unrolled) {
  carried c = rare_of(e, ref);
  if (++e->order.nesting > CG_MAX_NESTING)
    cg_order_fail(&e->order, IR_ERR_UNSUPPORTED, "compile: rare values nest deeper than %d", CG_MAX_NESTING);
  tx_value some = {.text = "0", .kind = TX_BOOL, .level = TX_ATOM, .width = 1};
  if (e->order.failed) return some;
  some = some_holds(e, ref, c);
  declare_all(e, c, ir_src(e->g, ref, 2), unrolled);
  return some;
}

void tx_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled, const char *some) {
  const ir_node *n = ir_get(e->g, ref);
  carried c = rare_of(e, ref);
  size_t scope = e->order.log_count;
  if (e->order.failed) return;
  tx_open(e, "if (%s)", some);
  cg_begin_visit(&e->order);
  cg_visit(&e->order, n->src[1]);
  cg_emit_visited(&e->order, true);
  cg_first_lane(&e->order, c.lanes);
  do {
    const tx_value *values = unrolled[cg_unroll_index(&e->order, c.lanes)];
    for (e->subvector = 0; e->subvector < c.subvectors && !e->order.failed; e->subvector++)
      tx_line(e, "%s = %s", values[e->subvector].text,
              tx_select(e, tx_at(e, n->src[0]), tx_fetch_value(e, n->src[1], tx_width(e, c.width)),
                        values[e->subvector])
                  .text);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, c.lanes) && !e->order.failed);
  tx_close(e);
  cg_forget_since(&e->order, scope);
  e->order.nesting--;
}
