/* Loops, rare values and prefixes.
 *
 * A serial loop inside lane loops is written once, with a variable per carried value and unrolled value.
 * Loops whose iterations are lanes are no loops in the text; those that yield values combine their lanes
 * pairwise, lane i with lane i + n/2, halving n. */
#include "codegen/c/c.h"

#include <string.h>

/* loops that run */

/* The unrolled values of carried value `slot`. */
static tx_value *unrolled_value(void **arrays, uint32_t slot, size_t copy) {
  void **unrolled = arrays[slot];
  return unrolled[copy];
}

static void **open_carried(tx_emitter *e, const cg_loop *loop) {
  void **arrays = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    void **unrolled = arrays[i];
    tx_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes));
    cg_first_lane(&e->order, lanes);
    do {
      size_t copy = cg_unroll_index(&e->order, lanes);
      tx_value *value = unrolled[copy] = tx_values(e, 1);
      if (!value) return NULL;
      e->variable = (uint32_t)copy;
      *value =
          tx_variable(e, tx_fetch_value(e, ir_src(e->g, loop->node, 1 + i), cg_width_of(&e->order, lanes)));
    } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
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

static void close_carried(tx_emitter *e, const cg_loop *loop, void **arrays) {
  size_t count = 0, at = 0;
  for (uint32_t i = 0; i < loop->carries; i++)
    count += cg_unroll_count(&e->order, cg_carry_lanes(&e->order, loop, i));
  const ir_mem *mem = e->nest->mem;
  next *all = ir_alloc(mem, (count + 1) * sizeof *all);
  if (!all) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    cg_first_lane(&e->order, lanes);
    do
      all[at++] = (next){*unrolled_value(arrays, i, cg_unroll_index(&e->order, lanes)),
                         next_value(e, loop, i, cg_width_of(&e->order, lanes), count == 1)};
    while (cg_next_lane(&e->order, lanes));
  }
  for (size_t i = 0; i < at && !e->order.failed; i++)
    if (strcmp(all[i].to.text, all[i].value.text) != 0)
      tx_line(e, "%s = %s", all[i].to.text, all[i].value.text);
  if (all) ir_free(mem, all, (count + 1) * sizeof *all);
}

static void define_iteration(tx_emitter *e, const cg_loop *loop, tx_value at) {
  void **unrolled = cg_array(&e->order, 1);
  tx_value *value = tx_values(e, 1);
  if (!unrolled || !value) return;
  *value = at, *unrolled = value;
  cg_define(&e->order, loop->range, unrolled);
  e->order.open[loop - e->nest->loops] = true;
}

/* Hoists the loads of a loop that may run zero times behind the condition that it runs. Returns true if there
 * are any; the block of the condition is then open. */
static bool hoist_guarded(tx_emitter *e, const cg_loop *loop, const char *first, const char *end) {
  if (cg_surely_runs(&e->order, loop)) return false;
  size_t before = e->out.len;
  tx_open(e, "if (%s < %s)", first, end);
  size_t inside = e->out.len;
  cg_hoist(&e->order, loop, true);
  if (e->out.failed || e->out.len > inside) return true;
  e->out.len = before;
  e->out.data[before] = '\0';
  e->depth--;
  return false;
}

void cc_emit_running(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  bool thread = loop->binding == IR_THREAD;
  if (!cg_before_loop(&e->order, loop)) return;
  size_t scope = e->order.log_count;
  const char *name = tx_text(e, "ridx%d", (int)ir_arg_int(ir_get(e->g, loop->range)));
  tx_value extent = thread ? tx_make(e, TX_I64, 1, TX_ATOM, "end") : tx_at(e, ir_src(e->g, loop->range, 0));
  const char *first = thread ? "begin" : "0", *end = tx_parenthesised(e, extent, TX_SUM);
  void **arrays = open_carried(e, loop);
  if (e->order.failed) return;
  bool guarded = hoist_guarded(e, loop, first, end);
  tx_open(e, "for (i64 %s = %s; %s < %s; %s++)", name, first, name, end, name);
  define_iteration(e, loop, tx_make(e, TX_I64, 1, TX_ATOM, "%s", name));
  if (loop->effect) cg_emit_effect(&e->order, loop->effect);
  if (n->dtype != IR_NONE) cg_need_next(&e->order, loop);
  if (e->order.failed) return;
  close_carried(e, loop, arrays);
  e->order.open[number] = false;
  cg_forget_since(&e->order, scope);
  tx_close(e);
  if (guarded) tx_close(e);
  e->order.finals[number] = arrays;
  e->order.nesting--;
}

/* loops that are lanes */

/* Combines the two halves of a vector until one element is left. */
static tx_value tree_of_elements(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value v) {
  uint32_t order[CG_MAX_LANES];
  while (v.width > 1) {
    v = tx_temporary(e, v);
    uint32_t half = v.width / 2;
    for (uint32_t i = 0; i < v.width; i++) order[i] = i;
    tx_value low = half == 1 ? tx_lane(e, dtype, v, 0) : e->language->shuffle(e, v, v, order, half);
    tx_value high = half == 1 ? tx_lane(e, dtype, v, 1) : e->language->shuffle(e, v, v, order + half, half);
    v = tx_combine(e, op, dtype, low, high);
  }
  return v;
}

static tx_value combine_unrolled(tx_emitter *e, ir_op op, ir_dtype dtype, uint32_t number, ir_ref body,
                                 uint32_t width) {
  size_t count = (size_t)e->nest->loops[number].extent;
  tx_value partial[CG_MAX_LANES];
  for (size_t i = 0; i < count; i++) {
    e->order.lane[number] = (int64_t)i;
    partial[i] = tx_fetch_value(e, body, width);
  }
  for (size_t half = count / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++)
      partial[i] = tx_temporary(e, tx_combine(e, op, dtype, partial[i], partial[i + half]));
  return partial[0];
}

static void fold_lanes(tx_emitter *e, uint32_t number, uint32_t slot, ir_ref body, void **unrolled) {
  const cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  ir_ref last = n->src[1 + loop->carries + slot];
  ir_op op = ir_op_of(e->g, last);
  ir_dtype dtype = ir_dtype_of(e->g, last);
  const uint64_t *lanes = cg_carry_lanes(&e->order, loop, slot);
  uint32_t width = cg_width_of(&e->order, lanes);
  tx_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes));
  uint32_t variables = e->variables;
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    tx_value *value = unrolled[copy] = tx_values(e, 1);
    if (!value) return;
    tx_value tree = loop->binding == IR_UNROLL
                        ? combine_unrolled(e, op, dtype, number, body, width)
                        : tree_of_elements(e, op, dtype, tx_fetch_value(e, body, (uint32_t)loop->extent));
    tx_value init = tx_fetch_value(e, n->src[1 + slot], width);
    e->variables = variables, e->variable = (uint32_t)copy;
    *value = tx_variable(e, tx_combine(e, op, dtype, init, tree));
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

void cc_emit_lanes(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  void **results = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    ir_ref body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_order_fail(&e->order, IR_ERR_INTERNAL,
                    "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    fold_lanes(e, number, i, body, results[i]);
  }
  e->order.finals[number] = results;
}

/* rare values */

/* Whether any lane of any unrolled value's condition holds. */
static tx_value some_holds(tx_emitter *e, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  tx_value some = {0};
  cg_first_lane(&e->order, lanes);
  do {
    tx_value condition = tx_at(e, ir_src(e->g, ref, 0));
    if (some.text && some.width != condition.width) some = tx_any(e, some), condition = tx_any(e, condition);
    if (!some.text) some = condition;
    else if (strcmp(some.text, condition.text) != 0)
      some = tx_temporary(e, tx_both(e, some, condition, TX_OR));
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  return tx_any(e, some);
}

/* One branch for all unrolled values. What only the first value needs is computed behind that branch, and is
 * known only there. */
void cc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled) {
  const ir_node *n = ir_get(e->g, ref);
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t width = e->nest->width[ref];
  size_t log_count = e->order.log_count;
  if (++e->order.nesting > CG_MAX_NESTING)
    cg_order_fail(&e->order, IR_ERR_UNSUPPORTED, "compile: rare values nest deeper than %d", CG_MAX_NESTING);
  if (e->order.failed) return;
  tx_value some = some_holds(e, ref);
  tx_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes));
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    tx_value *value = unrolled[copy] = tx_values(e, 1);
    if (!value) return;
    e->variable = (uint32_t)copy;
    *value = tx_variable(e, tx_fetch_value(e, n->src[2], width));
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  tx_open(e, "if (VF_UNLIKELY(%s))", some.text);
  cg_begin_visit(&e->order);
  cg_visit(&e->order, n->src[1]);
  cg_emit_visited(&e->order, true);
  cg_first_lane(&e->order, lanes);
  do {
    tx_value *value = unrolled[cg_unroll_index(&e->order, lanes)];
    tx_line(e, "%s = %s", value->text,
            tx_select(e, tx_at(e, n->src[0]), tx_fetch_value(e, n->src[1], width), *value).text);
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  tx_close(e);
  cg_forget_since(&e->order, log_count);
  e->order.nesting--;
}
