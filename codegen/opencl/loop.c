/* Loops and rare values.
 *
 * A serial loop inside lane loops is written once, with a variable per carried value, unrolled value and
 * subvector. Loops whose iterations are lanes are no loops in the text; those that yield values combine their
 * lanes pairwise, lane i with lane i + n/2, halving n. */
#include "codegen/opencl/opencl.h"

#include <string.h>

/* One carried value of a loop. for_each calls `each` for every subvector of every unrolled value. */
typedef struct carried {
  tx_emitter *e;
  const cg_loop *loop;
  uint32_t slot, lanes, subvectors;
  tx_value **unrolled;
} carried;

static carried carried_of(tx_emitter *e, const cg_loop *loop, uint32_t slot, void **arrays) {
  uint32_t lanes = cg_width_of(&e->order, cg_carry_lanes(&e->order, loop, slot));
  return (carried){e, loop, slot, lanes, tx_subvectors(e, lanes), arrays ? arrays[slot] : NULL};
}

static void for_each(carried *c, void (*each)(carried *c, uint32_t copy)) {
  tx_emitter *e = c->e;
  const uint64_t *lanes = cg_carry_lanes(&e->order, c->loop, c->slot);
  cg_first_lane(&e->order, lanes);
  do {
    uint32_t copy = (uint32_t)cg_unroll_index(&e->order, lanes);
    for (e->subvector = 0; e->subvector < c->subvectors && !e->order.failed; e->subvector++) each(c, copy);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

/* loops that run */

static void declare_carried(carried *c, uint32_t copy) {
  tx_emitter *e = c->e;
  if (e->subvector == 0) c->unrolled[copy] = tx_values(e, c->subvectors);
  if (!c->unrolled[copy]) return;
  e->variable = copy * c->subvectors + e->subvector;
  c->unrolled[copy][e->subvector] =
      tx_variable(e, tx_fetch_value(e, ir_src(e->g, c->loop->node, 1 + c->slot), tx_width(e, c->lanes)));
}

static void **open_carried(tx_emitter *e, const cg_loop *loop) {
  void **arrays = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    carried c = carried_of(e, loop, i, arrays);
    tx_begin_node(e, c.subvectors * (uint32_t)cg_unroll_count(&e->order, cg_carry_lanes(&e->order, loop, i)));
    for_each(&c, declare_carried);
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
  if (own || v.level != TX_ATOM || strpbrk(v.text, ".(")) {
    e->number = 0, e->variables = 1;
    return tx_variable(e, v);
  }
  return v;
}

static void close_carried(tx_emitter *e, const cg_loop *loop, void **arrays) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < loop->carries; i++)
    count += carried_of(e, loop, i, arrays).subvectors *
             (uint32_t)cg_unroll_count(&e->order, cg_carry_lanes(&e->order, loop, i));
  const ir_mem *mem = e->nest->mem;
  next *all = ir_alloc(mem, count * sizeof *all);
  uint32_t at = 0;
  if (!all) cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    carried c = carried_of(e, loop, i, arrays);
    const uint64_t *lanes = cg_carry_lanes(&e->order, loop, i);
    cg_first_lane(&e->order, lanes);
    do
      for (e->subvector = 0; e->subvector < c.subvectors; e->subvector++)
        all[at++] = (next){c.unrolled[cg_unroll_index(&e->order, lanes)][e->subvector],
                           next_value(e, loop, i, tx_width(e, c.lanes), count == 1)};
    while (cg_next_lane(&e->order, lanes));
    e->subvector = 0;
  }
  for (uint32_t i = 0; i < at && !e->order.failed; i++)
    if (strcmp(all[i].to.text, all[i].value.text) != 0)
      tx_line(e, "%s = %s", all[i].to.text, all[i].value.text);
  ir_free(mem, all, count * sizeof *all);
}

static void define_iteration(tx_emitter *e, const cg_loop *loop, tx_value at) {
  void **unrolled = cg_array(&e->order, 1);
  tx_value *value = tx_values(e, 1);
  if (!unrolled || !value) return;
  *value = at, *unrolled = value;
  cg_define(&e->order, loop->range, unrolled);
  e->order.open[loop - e->nest->loops] = true;
}

size_t oc_enter_iteration(tx_emitter *e, const cg_loop *loop, tx_value at, const ir_ref *loads,
                          uint32_t count) {
  size_t scope = e->order.log_count;
  define_iteration(e, loop, at);
  cg_begin_visit(&e->order);
  for (uint32_t i = 0; i < count; i++) {
    cg_access access = cg_access_of(e->nest, ir_src(e->g, loads[i], 1));
    if (access.base) cg_visit(&e->order, access.base);
    if (access.lane_term) cg_visit(&e->order, access.lane_term);
  }
  if (!e->order.failed) cg_emit_visited(&e->order, true);
  return scope;
}

void oc_leave_iteration(tx_emitter *e, const cg_loop *loop, size_t scope) {
  e->order.open[loop - e->nest->loops] = false;
  cg_forget_since(&e->order, scope);
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
  oc_forget_loads(e);
  return false;
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
  void **arrays = open_carried(e, loop);
  if (e->order.failed) return;
  if (oc_emit_matrix(e, loop, arrays ? arrays[0] : NULL)) {
    cg_forget_since(&e->order, scope);
    e->order.finals[number] = arrays;
    e->order.nesting--;
    return;
  }
  oc_barriers before = oc_of(e)->waits; /* hoisted code may not be run either */
  bool guarded = hoist_guarded(e, loop, first, end);
  oc_fetch fetch = oc_fetch_first(e, loop);
  put_unrolling(e, loop);
  tx_open(e, "for (%s %s = %s; %s < %s; %s++)", tx_type(e, kind, 1), name, first, name, end, name);
  oc_first_areas outer = oc_begin_iteration(e);
  ir_text next = oc_fetch_next(e, &fetch, kind, name, end);
  define_iteration(e, loop, tx_make(e, kind, 1, TX_ATOM, "%s", name));
  emit_iteration(e, loop, effect, &next);
  ir_text_free(&next);
  if (e->order.failed) return;
  close_carried(e, loop, arrays);
  oc_end_iteration(e, loop, outer);
  oc_leave_iteration(e, loop, scope);
  tx_close(e);
  if (guarded) tx_close(e);
  if (!cg_surely_runs(&e->order, loop)) oc_end_conditional(e, before);
  e->order.finals[number] = arrays;
  e->order.nesting--;
}

/* loops that are lanes */

/* Combines the two halves of a vector until one element is left. */
static tx_value tree_of_elements(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value v) {
  while (v.width > 1) {
    v = tx_temporary(e, v);
    tx_value low = v, high = v;
    low.width = high.width = v.width / 2;
    low.text = tx_text(e, "%s.lo", tx_parenthesised(e, v, TX_ATOM));
    high.text = tx_text(e, "%s.hi", tx_parenthesised(e, v, TX_ATOM));
    low.level = high.level = TX_ATOM;
    low.literal = high.literal = false;
    if (low.width == 1) low = tx_lane(e, dtype, v, 0), high = tx_lane(e, dtype, v, 1);
    v = tx_combine(e, op, dtype, low, high);
  }
  return v;
}

/* Combines partial[i] with partial[i + half], and halves until one is left. */
static tx_value combine_tree(tx_emitter *e, ir_op op, ir_dtype dtype, tx_value *partial, size_t count) {
  for (size_t half = count / 2; half; half /= 2)
    for (size_t i = 0; i < half; i++)
      partial[i] = tx_temporary(e, tx_combine(e, op, dtype, partial[i], partial[i + half]));
  return partial[0];
}

static tx_value tree_of_lanes(tx_emitter *e, ir_op op, ir_dtype dtype, ir_ref body, uint32_t lanes) {
  tx_value partial[CG_MAX_LANES / TX_WIDEST + 1];
  uint32_t subvectors = tx_subvectors(e, lanes);
  for (e->subvector = 0; e->subvector < subvectors; e->subvector++)
    partial[e->subvector] = tx_fetch_value(e, body, tx_width(e, lanes));
  e->subvector = 0;
  return tree_of_elements(e, op, dtype, combine_tree(e, op, dtype, partial, subvectors));
}

static tx_value combine_unrolled(tx_emitter *e, ir_op op, ir_dtype dtype, uint32_t number, ir_ref body,
                                 uint32_t width) {
  size_t count = (size_t)e->nest->loops[number].extent;
  tx_value partial[CG_MAX_LANES];
  for (size_t i = 0; i < count; i++) {
    e->order.lane[number] = (int64_t)i;
    partial[i] = tx_fetch_value(e, body, width);
  }
  return combine_tree(e, op, dtype, partial, count);
}

/* One carried value of a loop that is lanes. */
typedef struct lane_fold {
  ir_op op;
  ir_dtype dtype;
  ir_ref init, body;
  carried c;
} lane_fold;

static void fold_unrolled(tx_emitter *e, const lane_fold *f, uint32_t number, uint32_t copy) {
  const cg_loop *loop = f->c.loop;
  tx_value tree = loop->binding == IR_UNROLL
                      ? combine_unrolled(e, f->op, f->dtype, number, f->body, tx_width(e, f->c.lanes))
                      : tree_of_lanes(e, f->op, f->dtype, f->body, (uint32_t)loop->extent);
  tx_value init = tx_fetch_value(e, f->init, tx_width(e, f->c.lanes));
  e->variable = copy * f->c.subvectors + e->subvector;
  f->c.unrolled[copy][e->subvector] = tx_variable(e, tx_combine(e, f->op, f->dtype, init, tree));
}

/* Combines all unrolled values over the work-items at once (oc_group_combine). */
static void fold_by_group(tx_emitter *e, const lane_fold *f, const uint64_t *lanes) {
  size_t count = cg_unroll_count(&e->order, lanes);
  tx_value *values = ir_alloc(e->nest->mem, count * sizeof *values);
  if (!values) {
    cg_order_fail(&e->order, IR_ERR_MEMORY, "out of memory emitting a kernel");
    return;
  }
  cg_first_lane(&e->order, lanes);
  do values[cg_unroll_index(&e->order, lanes)] = tx_fetch_value(e, f->body, 1);
  while (cg_next_lane(&e->order, lanes));
  oc_group_combine(e, f->op, f->dtype, (uint32_t)f->c.loop->extent, values, count);
  tx_begin_node(e, (uint32_t)count);
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    e->variable = (uint32_t)copy;
    *f->c.unrolled[copy] =
        tx_variable(e, tx_combine(e, f->op, f->dtype, tx_fetch_value(e, f->init, 1), values[copy]));
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  ir_free(e->nest->mem, values, count * sizeof *values);
}

static void fold_lanes(tx_emitter *e, const lane_fold *f, uint32_t number) {
  const uint64_t *lanes = cg_carry_lanes(&e->order, f->c.loop, f->c.slot);
  size_t count = cg_unroll_count(&e->order, lanes);
  for (size_t i = 0; i < count; i++)
    if (!(f->c.unrolled[i] = tx_values(e, f->c.subvectors))) return;
  if (oc_are_items(e) && f->c.loop->binding == IR_VECTOR) {
    fold_by_group(e, f, lanes);
    return;
  }
  tx_begin_node(e, (uint32_t)count * f->c.subvectors);
  cg_first_lane(&e->order, lanes);
  do {
    uint32_t copy = (uint32_t)cg_unroll_index(&e->order, lanes);
    for (uint32_t subvector = 0; subvector < f->c.subvectors && !e->order.failed; subvector++) {
      e->subvector = subvector;
      fold_unrolled(e, f, number, copy);
    }
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
}

void oc_emit_lanes(void *emitter, uint32_t number) {
  tx_emitter *e = emitter;
  const cg_loop *loop = &e->nest->loops[number];
  const ir_node *n = ir_get(e->g, loop->node);
  void **results = cg_carried_arrays(&e->order, loop);
  for (uint32_t i = 0; i < loop->carries && !e->order.failed; i++) {
    ir_ref last = n->src[1 + loop->carries + i], body = cg_lane_body(e->nest, loop, i);
    if (!body) {
      cg_order_fail(&e->order, IR_ERR_INTERNAL,
                    "compile: a reduction over lanes is not of the form op(carried, body)");
      return;
    }
    lane_fold f = {ir_op_of(e->g, last), ir_dtype_of(e->g, last), n->src[1 + i], body,
                   carried_of(e, loop, i, results)};
    fold_lanes(e, &f, number);
  }
  e->order.finals[number] = results;
}

/* rare values */

/* Whether any lane of any unrolled value's condition holds. */
static tx_value some_holds(tx_emitter *e, ir_ref ref) {
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t subvectors = tx_subvectors(e, e->nest->width[ref]);
  tx_value some = {0};
  cg_first_lane(&e->order, lanes);
  do
    for (e->subvector = 0; e->subvector < subvectors; e->subvector++) {
      tx_value condition = tx_at(e, ir_src(e->g, ref, 0));
      if (some.text && some.width != condition.width)
        some = tx_any(e, some), condition = tx_any(e, condition);
      if (!some.text) some = condition;
      else if (strcmp(some.text, condition.text) != 0)
        some = tx_temporary(e, tx_both(e, some, condition, TX_OR));
    }
  while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  e->subvector = 0;
  return tx_any(e, some);
}

/* One branch for all unrolled values. What only the first value needs is computed behind that branch, and is
 * known only there. */
void oc_emit_rare(tx_emitter *e, ir_ref ref, void **unrolled) {
  const ir_node *n = ir_get(e->g, ref);
  const uint64_t *lanes = cg_lanes(e->nest, ref);
  uint32_t vector = e->nest->width[ref], subvectors = tx_subvectors(e, vector);
  size_t log_count = e->order.log_count;
  if (++e->order.nesting > CG_MAX_NESTING)
    cg_order_fail(&e->order, IR_ERR_UNSUPPORTED, "compile: rare values nest deeper than %d", CG_MAX_NESTING);
  if (e->order.failed) return;
  tx_value some = some_holds(e, ref);
  tx_begin_node(e, (uint32_t)cg_unroll_count(&e->order, lanes) * subvectors);
  cg_first_lane(&e->order, lanes);
  do {
    size_t copy = cg_unroll_index(&e->order, lanes);
    tx_value *values = unrolled[copy] = tx_values(e, subvectors);
    if (!values) return;
    for (e->subvector = 0; e->subvector < subvectors; e->subvector++) {
      e->variable = (uint32_t)copy * subvectors + e->subvector;
      values[e->subvector] = tx_variable(e, tx_fetch_value(e, n->src[2], tx_width(e, vector)));
    }
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  if (oc_needs_barrier(e, n->src[1])) some = oc_group_any(e, some);
  oc_barriers before = oc_of(e)->waits;
  tx_open(e, "if (%s)", some.text);
  cg_begin_visit(&e->order);
  cg_visit(&e->order, n->src[1]);
  cg_emit_visited(&e->order, true);
  cg_first_lane(&e->order, lanes);
  do {
    tx_value *values = unrolled[cg_unroll_index(&e->order, lanes)];
    for (e->subvector = 0; e->subvector < subvectors && !e->order.failed; e->subvector++)
      tx_line(e, "%s = %s", values[e->subvector].text,
              tx_select(e, tx_at(e, n->src[0]), tx_fetch_value(e, n->src[1], tx_width(e, vector)),
                        values[e->subvector])
                  .text);
    e->subvector = 0;
  } while (cg_next_lane(&e->order, lanes) && !e->order.failed);
  tx_close(e);
  oc_end_conditional(e, before);
  cg_forget_since(&e->order, log_count);
  e->order.nesting--;
}
